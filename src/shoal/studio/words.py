"""Goals and settings in plain words, with the term of the field beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.privacy import Model, model_name
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import list_form_settings
from shoal.support.parameters import describe_parameters, name_of

_ROLES = {
    "quasi": "recognisable",
    "sets": "several values in a cell",
    "sensitive": "sensitive",
    "identifier": "left out",
    "plain": "kept as it is",
}
_PERSON = "the one that says whose row it is"


def describe_model(model: Model) -> str:
    """What a model asks for."""
    return describe_asked(model_name(model), describe_parameters(model))


def describe_asked(name: str, asked: Mapping[str, Any]) -> str:
    """What a model asks for, by its name and its parameters."""
    if asked.get("table"):  # of several tables that nobody can join, each keeps the goal by itself
        alone = {key: value for key, value in asked.items() if key != "table"}
        return f"{asked['table']}: {describe_asked(name, alone)}"
    of = f" of {asked['column']}" if asked.get("column") else ""
    if name == "k":
        return f"groups of at least {asked['k']} (k = {asked['k']})"
    if name == "distinct-l":
        values = of or " of each sensitive column"
        return f"at least {asked['l']} values{values} in every group (l = {asked['l']})"
    if name == "t":
        return f"the mix{of} of every group near that of the table (t = {asked['t']})"
    # The path of a population is one within the studio; people know its name.
    told = {key: Path(str(value)).name if key == "population" else value for key, value in asked.items()}
    listed = ", ".join(f"{key} = {value}" for key, value in told.items())
    return f"{name} ({listed})" if listed else name


def format_achieved(achieved: object) -> str:
    """What a model reached."""
    if isinstance(achieved, Mapping):
        return ", ".join(f"{name} = {value:.4g}" for name, value in achieved.items())
    return f"{achieved:.4g}" if isinstance(achieved, float) else str(achieved)


def describe_goal(recipe: Recipe) -> str:
    """What was asked for, in a sentence."""
    return " and ".join(describe_model(model) for model in recipe.models)


def summarize_goal(models: Mapping[str, Mapping[str, Any]]) -> str:
    """What was asked for, in a few signs: the first parameter of every model."""
    found = {name: next(iter(values.items()), None) for name, values in models.items()}
    return ", ".join(name if each is None else f"{each[0]} = {each[1]}" for name, each in found.items())


def summarize_models(recipe: Recipe) -> str:
    """What a recipe asks for, in a few signs."""
    return summarize_goal({model_name(model): describe_parameters(model) for model in recipe.models})


def list_changes(before: Recipe, after: Recipe) -> Iterator[str]:
    """What is another in the second recipe."""
    for name in _list_columns(before, after):
        if (old := _find_role(before, name)) != (new := _find_role(after, name)):
            yield f"{name} is {new}, and was {old}"
    if before.models != after.models:
        yield f"the goal is {describe_goal(after)}"
    if before.algorithm != after.algorithm:
        yield f"the algorithm is {name_of(ALGORITHMS, after.algorithm)}, with the parameters that you chose"
    if before.suppress != after.suppress:
        yield f"{100 * after.suppress:g} % of the rows may be left out"
    if before.events != after.events:
        yield f"the further tables are {', '.join(after.events) or 'none'}"
    for what in ("trees", "types", "orders", "weights", "fold", "strict", "reading"):
        if getattr(before, what) != getattr(after, what):
            yield f"{_PARTS[what]} changed"
    for setting in list_form_settings():
        if (value := getattr(after, setting.name)) != getattr(before, setting.name):
            shown = setting.info.words.get(str(value), "not set" if value is None else str(value))
            yield f"{setting.info.label[:1].lower()}{setting.info.label[1:]}: {shown}"


_PARTS = {
    "trees": "hierarchies",
    "types": "types",
    "orders": "orders of values",
    "weights": "how much columns matter",
    "fold": "which spellings count as one",
    "strict": "whether severe findings are released",
    "reading": "how the file is read",
}


def name_role(role: str) -> str:
    """What the studio calls a role."""
    more = {"set": _ROLES["sets"], "person": _PERSON}
    return more.get(role) or _ROLES[role]


def _list_columns(*recipes: Recipe) -> list[str]:
    found = [name for recipe in recipes for role in _ROLES for name in getattr(recipe, role)]
    people = [recipe.person for recipe in recipes if recipe.person is not None]
    return list(dict.fromkeys([*found, *people]))


def _find_role(recipe: Recipe, name: str) -> str:
    if name == recipe.person:
        return _PERSON
    return next((words for role, words in _ROLES.items() if name in getattr(recipe, role)), "without a role")
