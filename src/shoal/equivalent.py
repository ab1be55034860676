"""What does the same as a recipe: the command line, and Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from shlex import quote as shell
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.parameters import call_text, describe, name_of
from shoal.privacy import KAnonymity, model_text
from shoal.recipe import ROLES, Recipe
from shoal.table import ReadOptions

HIERARCHIES = "hierarchies"
"""The folder in which hierarchies that a recipe holds as values are expected as files."""


def command_line(recipe: Recipe) -> str:
    """The command that does what the recipe does, one option per part.

    Hierarchies that the recipe holds as values have no option: they are expected in the folder
    ``hierarchies``, one ``<column>.csv`` each.
    """
    return " ".join(["shoal anonymize", shell(recipe.input) if recipe.input else "TABLE", *_options(recipe)])


def _options(recipe: Recipe) -> Iterator[str]:
    for role in ROLES:
        names = getattr(recipe, role)
        joined = ",".join(name for name in names if "," not in name)
        yield from (f"--{role} {shell(each)}" for each in (joined, *(n for n in names if "," in n)) if each)
    yield from _reading(recipe.reading)
    yield from (f"--type {shell(f'{name}={type}')}" for name, type in recipe.types.items())
    yield from (f"--order {shell(f'{name}={_text(values)}')}" for name, values in recipe.orders.items())
    yield from (f"--hierarchies {shell(source)}" for source in recipe.hierarchies)
    yield from (f"--hierarchies {shell(f'{column}={HIERARCHIES}/{column}.csv')}" for column in recipe.trees)
    for model in recipe.models:
        yield f"-k {model.k}" if isinstance(model, KAnonymity) else f"--model {shell(model_text(model))}"
    yield from _search(recipe)
    yield from _differing(recipe, ("render", "seed", "threads", "missing", "memory", "category_order"))
    if recipe.delimiter is not None:
        yield f"--out-delimiter {shell(recipe.delimiter)}"
    if recipe.safe_csv:
        yield "--safe-csv"
    if recipe.output:
        yield f"-o {shell(recipe.output)}"


def _search(recipe: Recipe) -> Iterator[str]:
    name = name_of(ALGORITHMS, recipe.algorithm)
    said = describe(recipe.algorithm)
    usual = describe(ALGORITHMS[name]()) if said else {}
    if name != "auto":
        yield f"--algorithm {name}"
    for key, value in said.items():
        if usual.get(key) != value:
            yield f"--set {shell(f'{key}={_text(value)}')}"
    yield from _differing(recipe, ("loss", "suppress"))
    yield from (f"--weight {shell(f'{name}={weight:g}')}" for name, weight in recipe.weights.items())


def _differing(recipe: Recipe, names: tuple[str, ...]) -> Iterator[str]:
    """Settings that are not what they are without being said."""
    usual = {field.name: field.default for field in fields(Recipe)}
    for name in names:
        if (value := getattr(recipe, name)) != usual[name]:
            yield f"--{name.replace('_', '-')} {shell(str(value))}"


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _reading(options: ReadOptions) -> Iterator[str]:
    if options.delimiter is not None:
        yield f"--delimiter {shell(options.delimiter)}"
    if options.encoding is not None:
        yield f"--encoding {shell(options.encoding)}"
    if not options.header:
        yield "--no-header"
    for marker in options.na:
        yield f"--na {shell(marker)}"


def python_snippet(recipe: Recipe) -> str:
    """A few lines of Python that do what the recipe does; by its file where arguments cannot say all."""
    reading = replace(recipe.reading, na=())
    if reading != ReadOptions() or recipe.delimiter or recipe.safe_csv or recipe.category_order:
        return 'import shoal\n\nrelease = shoal.run(shoal.Recipe.from_toml("recipe.toml"))\n'
    lines = ["import shoal", "", "release = shoal.anonymize(", f"    {recipe.input!r},"]
    lines += [f"    {name}={value!r}," for name, value in _arguments(recipe).items()]
    if recipe.trees:
        files = {column: f"{HIERARCHIES}/{column}.csv" for column in recipe.trees}
        lines.append(f"    hierarchies={files!r},")
    return "\n".join([*lines, ")", "print(release.report.ncp, release.report.smallest_class)", ""])


def _arguments(recipe: Recipe) -> dict[str, Any]:
    """The arguments of `shoal.anonymize` that are said."""
    said: dict[str, Any] = {role: list(getattr(recipe, role)) for role in ROLES}
    said["models"] = [model_text(model) for model in recipe.models]
    name = name_of(ALGORITHMS, recipe.algorithm)
    said["algorithm"] = call_text(name, recipe.algorithm) if describe(recipe.algorithm) else name
    if said["algorithm"] == "auto":
        del said["algorithm"]
    usual = {field.name: field.default for field in fields(Recipe)}
    for key in ("loss", "suppress", "missing", "render", "seed", "threads", "memory", "output"):
        if getattr(recipe, key) != usual[key]:
            said[key] = getattr(recipe, key)
    for key in ("types", "weights"):
        said[key] = dict(getattr(recipe, key))
    said["orders"] = {name: list(values) for name, values in recipe.orders.items()}
    said["na"] = list(recipe.reading.na)
    return {key: value for key, value in said.items() if value not in ([], {}, ())}
