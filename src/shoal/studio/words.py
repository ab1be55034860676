"""Goals and settings in plain words, with the term of the field beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.privacy import Model, model_name
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import DeclaredSetting, list_form_settings
from shoal.support.language import format_number, mark, translate_message
from shoal.support.language import translate as _
from shoal.support.parameters import describe_parameters, name_of

_ROLES = {
    "quasi": mark("recognisable"),
    "sets": mark("several values in a cell"),
    "sensitive": mark("sensitive"),
    "identifier": mark("left out"),
    "plain": mark("kept as it is"),
}
_PERSON = mark("the one that says whose row it is")


def describe_model(model: Model) -> str:
    """What a model asks for."""
    return describe_asked(model_name(model), describe_parameters(model))


def describe_asked(name: str, asked: Mapping[str, Any]) -> str:
    """What a model asks for, by its name and its parameters."""
    if asked.get("table"):  # of several tables that nobody can join, each keeps the goal by itself
        alone = {key: value for key, value in asked.items() if key != "table"}
        return f"{asked['table']}: {describe_asked(name, alone)}"
    of = _(" of {column}", column=asked["column"]) if asked.get("column") else ""
    if name == "k":
        return _("groups of at least {k} (k = {k})", k=asked["k"])
    if name == "distinct-l":
        values = of or _(" of each sensitive column")
        return _("at least {l} values{values} in every group (l = {l})", l=asked["l"], values=values)
    if name == "t":
        return _("the mix{of} of every group near that of the table (t = {t})", of=of, t=asked["t"])
    # The path of a population is one within the studio; people know its name.
    told = {key: Path(str(value)).name if key == "population" else value for key, value in asked.items()}
    listed = ", ".join(f"{key} = {value}" for key, value in told.items())
    return f"{name} ({listed})" if listed else name


def format_achieved(achieved: object) -> str:
    """What a model reached."""
    if isinstance(achieved, Mapping):
        return ", ".join(
            _("{name} = {value:.4g}", name=name, value=value) for name, value in achieved.items()
        )
    return format_number(achieved, ".4g") if isinstance(achieved, float) else str(achieved)


def describe_goal(recipe: Recipe) -> str:
    """What was asked for, in a sentence."""
    return _(" and ").join(describe_model(model) for model in recipe.models)


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
            yield _("{name} is {new}, and was {old}", name=name, new=new, old=old)
    if before.models != after.models:
        yield _("the goal is {after}", after=describe_goal(after))
    if before.algorithm != after.algorithm:
        yield _(
            "the algorithm is {algorithms}, with the parameters that you chose",
            algorithms=name_of(ALGORITHMS, after.algorithm),
        )
    if before.suppress != after.suppress:
        yield _("{suppress:g} % of the rows may be left out", suppress=100 * after.suppress)
    if before.events != after.events:
        yield _("the further tables are {tables}", tables=", ".join(after.events) or _("none"))
    for what in ("trees", "types", "orders", "weights", "fold", "strict", "reading"):
        if getattr(before, what) != getattr(after, what):
            yield _("{part} changed", part=_(_PARTS[what]))
    for setting in list_form_settings():
        if (value := getattr(after, setting.name)) != getattr(before, setting.name):
            yield describe_setting(setting, value)


def describe_setting(setting: DeclaredSetting, value: object) -> str:
    """What the studio calls a setting, and its value."""
    words = setting.info.words.get(str(value))
    shown = translate_message(words) if words else _("not set") if value is None else str(value)
    label = translate_message(setting.info.label)
    return f"{label[:1].lower()}{label[1:]}: {shown}"


_PARTS = {
    "trees": "hierarchies",
    "types": "types",
    "orders": mark("orders of values"),
    "weights": mark("how much columns matter"),
    "fold": mark("which spellings count as one"),
    "strict": mark("whether severe findings are released"),
    "reading": mark("how the file is read"),
}


def name_role(role: str) -> str:
    """What the studio calls a role."""
    more = {"set": _(_ROLES["sets"]), "person": _(_PERSON)}
    return more.get(role) or _(_ROLES[role])


def _list_columns(*recipes: Recipe) -> list[str]:
    found = [name for recipe in recipes for role in _ROLES for name in getattr(recipe, role)]
    people = [recipe.person for recipe in recipes if recipe.person is not None]
    return list(dict.fromkeys([*found, *people]))


def _find_role(recipe: Recipe, name: str) -> str:
    if name == recipe.person:
        return _(_PERSON)
    return next(
        (_(words) for role, words in _ROLES.items() if name in getattr(recipe, role)), _("without a role")
    )
