"""What does the same as a recipe: the command line, and Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from shlex import quote as shell
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.privacy import KAnonymity, model_text
from shoal.recipes.event_tables import name_table
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import ROLES, list_plain_settings, list_settings
from shoal.support.filenames import file_names
from shoal.support.parameters import call_text, describe_parameters, name_of
from shoal.table import ReadOptions

HIERARCHIES = "hierarchies"
"""The folder in which hierarchies that a recipe holds as values are expected as files."""


def command_line(recipe: Recipe) -> str:
    """The command that does what the recipe does, one option per part.

    Hierarchies that the recipe holds as values have no option: they are expected in the folder
    ``hierarchies``, one file each, as `hierarchy_files` names them.
    """
    return " ".join(
        ["shoal anonymize", shell(recipe.input) if recipe.input else "TABLE", *_list_options(recipe)]
    )


def hierarchy_files(recipe: Recipe) -> dict[str, str]:
    """Where the hierarchies that a recipe holds as values are expected as files, by column."""
    return {column: f"{HIERARCHIES}/{name}" for column, name in file_names(recipe.trees).items()}


def _list_options(recipe: Recipe) -> Iterator[str]:
    for role in ROLES:
        names = getattr(recipe, role)
        if role == "quasi" and recipe.reading.quasi_line is not None:
            names = (f"line:{recipe.reading.quasi_line}",)
        # A comma separates names, so a name that has one gets an option of its own.
        joined = ",".join(name for name in names if "," not in name)
        yield from (f"--{role} {shell(each)}" for each in (joined, *(n for n in names if "," in n)) if each)
    yield from _list_reading_options(recipe.reading)
    yield from (
        f"--events {shell(path if name == name_table(path) else f'{name}={path}')}"
        for name, path in recipe.events.items()
        if path
    )
    yield from (f"--type {shell(f'{name}={type}')}" for name, type in recipe.types.items())
    yield from (
        f"--order {shell(f'{name}={_join_values(values)}')}" for name, values in recipe.orders.items()
    )
    yield from (f"--hierarchies {shell(source)}" for source in recipe.hierarchies)
    yield from (f"--hierarchies {shell(f'{name}={path}')}" for name, path in hierarchy_files(recipe).items())
    for model in recipe.models:
        plain = isinstance(model, KAnonymity) and model.columns is None
        yield f"-k {model.k}" if plain else f"--model {shell(model_text(model))}"  # type: ignore[attr-defined]
    yield from _list_search_options(recipe)
    for option, edges in (("--top", recipe.top), ("--bottom", recipe.bottom)):
        yield from (f"{option} {shell(f'{name}={edge}')}" for name, edge in edges.items())
    yield from (f"--mean {shell(name)}" for name in recipe.mean)
    yield from (f"--keyed {shell(name)}" for name in recipe.keyed)
    yield from _list_plain_options(recipe)
    if recipe.fold is not None:
        # An empty list has no option to repeat: the word none says it.
        yield from (f"--fold {shell(name)}" for name in recipe.fold or ("none",))
    yield from (f"--accept {shell(f'{name}={reason}')}" for name, reason in recipe.accept.items())
    if recipe.output:
        yield f"-o {shell(recipe.output)}"


def _list_search_options(recipe: Recipe) -> Iterator[str]:
    name = name_of(ALGORITHMS, recipe.algorithm)
    said = describe_parameters(recipe.algorithm)
    known = [field.name for field in fields(recipe.algorithm)]  # type: ignore[arg-type]
    usual = describe_parameters(ALGORITHMS[name]()) if said else {}
    if name != "auto":
        yield f"--algorithm {name}"
    for key, value in said.items():
        if usual.get(key) != value:
            yield f"--set {shell(f'{key}={_join_values(value)}')}"
    # A column that is called like a parameter says that it is a column.
    for column, separator in recipe.sets.items():
        marked = f"column:{column}" if column in known else column
        yield f"--set {shell(f'{marked}={separator}')}"
    yield from (f"--weight {shell(f'{name}={weight:g}')}" for name, weight in recipe.weights.items())


def _list_plain_options(recipe: Recipe) -> Iterator[str]:
    """The options of plain settings that are not what they are without being said."""
    for each in list_plain_settings():
        value = getattr(recipe, each.name)
        if value != each.default:
            name = each.option.names[0]
            yield name if value is True else f"{name} {shell(str(value))}"


def _join_values(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _list_reading_options(options: ReadOptions) -> Iterator[str]:
    if options.delimiter is not None:
        yield f"--delimiter {shell(options.delimiter)}"
    if options.encoding is not None:
        yield f"--encoding {shell(options.encoding)}"
    if not options.header:
        yield "--no-header"
    for marker in options.na:
        yield f"--na {shell(marker)}"
    if options.sheet is not None:
        yield f"--sheet {shell(options.sheet)}"
    if options.query is not None:
        yield f"--query {shell(options.query)}"
    if options.decimal != ".":
        yield f"--decimal {options.decimal}"


def python_snippet(recipe: Recipe) -> str:
    """A few lines of Python that do what the recipe does; by its file where arguments cannot say all."""
    if not _fits_arguments(recipe):
        return 'import shoal\n\nrelease = shoal.run(shoal.Recipe.from_toml("recipe.toml"))\n'
    lines = ["import shoal", "", "release = shoal.anonymize(", f"    {recipe.input!r},"]
    lines += [f"    {name}={value!r}," for name, value in _collect_arguments(recipe).items()]
    return "\n".join([*lines, ")", "print(release.report.ncp, release.report.smallest_class)", ""])


def _fits_arguments(recipe: Recipe) -> bool:
    """Whether `shoal.anonymize` has an argument for everything that is said."""
    unfit = [each for each in list_plain_settings() if not each.info.argument]
    if any(getattr(recipe, each.name) != each.default for each in unfit):
        return False
    # Of reading it has the markers of missing values; of hierarchies one source, or trees by column.
    sources = len(recipe.hierarchies) + bool(recipe.trees)
    return replace(recipe.reading, na=()) == ReadOptions() and sources <= 1


def _collect_arguments(recipe: Recipe) -> dict[str, Any]:
    """The arguments of `shoal.anonymize` that are said."""
    name = name_of(ALGORITHMS, recipe.algorithm)
    special = {
        "models": [model_text(model) for model in recipe.models],
        "algorithm": call_text(name, recipe.algorithm) if describe_parameters(recipe.algorithm) else name,
        "hierarchies": recipe.hierarchies[0] if recipe.hierarchies else hierarchy_files(recipe),
        "orders": {column: list(values) for column, values in recipe.orders.items()},
    }
    usual = {"algorithm": "auto", "hierarchies": {}}
    said = {}
    for each in list_settings():
        value = special.get(each.name, getattr(recipe, each.name))
        if each.info.argument and value != usual.get(each.name, each.default):
            said[each.name] = _to_literal(value)
    return said | ({"na": list(recipe.reading.na)} if recipe.reading.na else {})


def _to_literal(value: Any) -> Any:
    """A value as one would write it: a list for a tuple, a plain mapping."""
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
