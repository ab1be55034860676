"""The columns of a release and their types, which follow from the recipe and the columns of the table alone.

What the rows hold never matters: a pipeline reads the releases of many days as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import RecipeError, quote, unknown
from shoal.table import read_table
from shoal.table.formats import import_optional
from shoal.table.hierarchies import Hierarchy, read_hierarchies
from shoal.table.native import state_nested_type

if TYPE_CHECKING:
    from shoal.recipes.recipe import Recipe

Pair = tuple[str, str]

_STATED: dict[str | None, pl.DataType] = {
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "date": pl.Date(),
}
"""What texts become whose type is stated, where low and high are released."""


def collect_hierarchies(recipe: Recipe, names: Sequence[str]) -> Mapping[str, Hierarchy]:
    """The hierarchies of a recipe by column, from its files and as values."""
    found: dict[str, Hierarchy] = {}
    for source in recipe.hierarchies:
        found |= read_hierarchies(source, names)
    return {**found, **recipe.trees}


def has_own_types(recipe: Recipe) -> bool:
    """Whether quasi-identifiers are released in the types that they came in, and not as texts."""
    return recipe.render == "representative" or recipe.algorithm.releases_one_value


def keeps_unchanged_types(recipe: Recipe) -> bool:
    """Whether a column to which nothing happened keeps its type, and is text on other days: as in 0.1."""
    return recipe.edition == 1


def choose_cell_types(recipe: Recipe, native: Iterable[pl.DataType]) -> tuple[pl.DataType, ...]:
    """The types that quasi-identifiers are rendered in, given those that they came in."""
    own = has_own_types(recipe) or keeps_unchanged_types(recipe)
    return tuple(
        dtype if own or name in recipe.mean else pl.String()
        for name, dtype in zip(recipe.quasi, native, strict=True)
    )


def list_bounds(recipe: Recipe, schema: Mapping[str, pl.DataType]) -> dict[str, tuple[Pair, pl.DataType]]:
    """By column that is released as low and high, their names and their type."""
    if recipe.render != "bounds":
        return {}
    trees = collect_hierarchies(recipe, list(schema))
    found = {
        name: (name_bounds(name), dtype)
        for name in recipe.quasi
        if name not in trees and (dtype := _find_bound_type(recipe, name, schema[name])) is not None
    }
    for name, (pair, _) in found.items():
        if taken := [each for each in pair if each in schema]:
            raise RecipeError(f"'{name}' is released as {quote(pair)}, but there is a column {quote(taken)}")
    return found


def name_bounds(name: str) -> Pair:
    """The two columns that a column becomes."""
    return f"{name}_low", f"{name}_high"


def _find_bound_type(recipe: Recipe, name: str, dtype: pl.DataType) -> pl.DataType | None:
    """The type of low and high; None for a column that has none of which it is known beforehand."""
    stated = recipe.types.get(name)
    if name == recipe.relative:
        return pl.Int64()
    if name in recipe.orders or stated in ("string", "ordered", "boolean"):
        return None
    if dtype.is_numeric() or dtype in (pl.Date, pl.Datetime):
        return dtype
    return _STATED.get(stated) if dtype == pl.String else None


def find_released_quasi(recipe: Recipe, names: Iterable[str]) -> tuple[str, ...]:
    """The quasi-identifiers by the names that they have in a release with columns ``names``."""
    if recipe.render != "bounds":
        return recipe.quasi
    there = set(names)
    found = ((name,) if name in there else name_bounds(name) for name in recipe.quasi)
    return tuple(each for columns in found for each in columns)


def describe_schema(recipe: Recipe, source: Any) -> pl.Schema:
    """The columns of a release by ``recipe`` and their types, as polars names them."""
    if recipe.events:
        raise RecipeError("a release of several tables has no single schema: ask for that of each table")
    schema = read_input_schema(recipe, source)
    for name in recipe.quasi:
        if name not in schema:
            raise RecipeError(unknown("column", name, list(schema)))
    cells = choose_cell_types(recipe, (schema[name] for name in recipe.quasi))
    if keeps_unchanged_types(recipe) and any(dtype != pl.String for dtype in cells):
        raise RecipeError(
            "by a recipe of version 0.1 the types of a release depend on the rows: write recipe = 2 in it"
        )
    texts = dict.fromkeys(
        (*recipe.sets, *recipe.keyed, *((recipe.person,) if recipe.pseudonym else ())), pl.String()
    )
    types = {**schema, **dict(zip(recipe.quasi, cells, strict=True)), **texts}
    bounds, left_out = list_bounds(recipe, schema), set(recipe.left_out(list(schema)))
    released = {
        each: dtype
        for name in schema
        if name not in left_out
        for each, dtype in _list_columns(name, types[name], bounds)
    }
    return pl.Schema(state_types(released))


def _list_columns(
    name: str, dtype: pl.DataType, bounds: Mapping[str, tuple[Pair, pl.DataType]]
) -> list[tuple[str, pl.DataType]]:
    if name not in bounds:
        return [(name, dtype)]
    pair, of_bounds = bounds[name]
    return [(each, of_bounds) for each in pair]


def state_types(schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Types without what only rows tell: a release lists the categories that occur, so they are left out."""
    return {
        name: pl.Enum([]) if dtype == pl.Enum else state_nested_type(dtype) if dtype.is_nested() else dtype
        for name, dtype in schema.items()
    }


_NAMES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "boolean": pl.Boolean(),
    "datetime": pl.Datetime("us"),
}


def _read_type(name: str, dtype: Any) -> pl.DataType:
    """A type of polars, or the one that is called so; Python's own are those that a frame of them has."""
    called = {**{key: kind for key, kind in _STATED.items() if key}, **_NAMES}
    if isinstance(dtype, str) and dtype in called:
        return called[dtype]
    try:
        found = _make_type(dtype) if isinstance(dtype, type | pl.DataType) else None
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        found = None
    if found is None:
        raise RecipeError(
            f"the type of column '{name}' is one of polars, as pl.Int64, or a name such as {quote(called)}, "
            f"not {dtype!r}"
        )
    return found


def _make_type(dtype: Any) -> pl.DataType:
    return pl.Series([], dtype=dtype).dtype


def read_input_schema(recipe: Recipe, source: Any) -> dict[str, pl.DataType]:
    """The columns of a table and their types: of a mapping, a schema of polars or pyarrow, or a table."""
    if isinstance(source, Mapping):
        return {name: _read_type(name, dtype) for name, dtype in source.items()}
    if type(source).__module__.startswith("pyarrow") and type(source).__name__ == "Schema":
        pyarrow = import_optional("pyarrow", "shoal[arrow]")
        source = pyarrow.Table.from_pylist([], schema=source)
    elif isinstance(source, pl.LazyFrame):
        return dict(source.collect_schema())
    table = read_table(source, recipe.reading, may_be_empty=True, uncounted=recipe.list_uncounted)
    return {**table.frame.schema, **{name: series.dtype for name, series in table.nested.items()}}
