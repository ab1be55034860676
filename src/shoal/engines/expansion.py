"""Released ranges as numbers: ``[20-35]`` becomes a low of 20 and a high of 35."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import polars as pl

from shoal.codespace.domain import ANY
from shoal.engines.release import Release
from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.recipes.schema import name_bounds
from shoal.support.typed_frames import FrameT
from shoal.table import Column, Table, infer_type, parse_values, read_released
from shoal.table.frames import use_safe_name

if TYPE_CHECKING:
    from shoal.table import ColumnType

BoundType = Literal["integer", "float", "date", "datetime"]
_BOUND_TYPES = ("integer", "float", "date", "datetime")
_DTYPES: dict[str, pl.DataType] = {"integer": pl.Int64(), "float": pl.Float64(), "date": pl.Date()}
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_SIDE = r"^(?<sign>[<>])=?(?<edge>[^<>=].*)$"
_RANGES = (
    rf"^\[(?<low>{_NUMBER})(?:\.\.|-)(?<high>{_NUMBER})\]$",
    r"^\[(?<low>[^\[\]{}]+?)\.\.(?<high>[^\[\]{}]+)\]$",  # of dates and times
)


@overload
def expand(
    source: Release[FrameT], columns: Sequence[str] | Mapping[str, BoundType] | None = None
) -> FrameT: ...


@overload
def expand(
    source: str | os.PathLike[str], columns: Sequence[str] | Mapping[str, BoundType] | None = None
) -> pl.DataFrame: ...


@overload
def expand(source: FrameT, columns: Sequence[str] | Mapping[str, BoundType] | None = None) -> FrameT: ...


def expand(source: Any, columns: Sequence[str] | Mapping[str, BoundType] | None = None) -> Any:
    """Turn columns of released ranges into two columns, ``C_low`` and ``C_high``, of numbers or dates.

    A single value is its own low and high. What stands for everything (``*``), and a missing value, have
    neither. What lies on one side of an edge (``>70``, ``<=30``) has the edge for one, and none on the other
    side.

    Parameters
    ----------
    source : Release, path or frame
        What was released.
    columns : list of names, or mapping from names to types, optional
        Which columns. Types are ``integer``, ``float``, ``date`` and ``datetime``; without them they are
        found in the ranges. Of a `Release`, all columns are taken that the run knew as such; of anything
        else, all columns in which there are ranges and nothing but numbers, dates and times.

    Returns
    -------
    frame
        Of the same kind as came in; of a `Release`, as its ``frame``.

    Examples
    --------
    >>> import polars as pl
    >>> expand(pl.DataFrame({"age": ["[20-35]", "41", "*"]}), {"age": "integer"}).rows()
    [(20, 35), (41, 41), (None, None)]
    """
    if isinstance(columns, str):
        raise RecipeError(f"columns is a list of column names; write [{columns!r}] for one column")
    given = source.frame if isinstance(source, Release) else source
    table = read_released(given, may_be_empty=True)
    chosen = _choose_columns(source, table, columns)
    pairs = {name: name_bounds(name) for name in chosen}
    if taken := [each for pair in pairs.values() for each in pair if each in table.names]:
        raise InputError(f"{table.origin}: there is already a column {quote(taken)}")
    new: dict[str, pl.Series] = {}
    for name, kind in chosen.items():
        new |= zip(pairs[name], _read_ranges(table.column(name), name, kind), strict=True)
    return table.split_columns(pairs).build_release(new, None, ())


def _choose_columns(
    source: Any, table: Table, columns: Sequence[str] | Mapping[str, BoundType] | None
) -> dict[str, ColumnType]:
    """The columns that are expanded, with their types."""
    stated: dict[str, Any] = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns or ())
    if absent := [name for name in stated if name not in table.names]:
        raise InputError(f"{table.origin}: {unknown('column', absent[0], table.names)}")
    if wrong := [kind for kind in stated.values() if kind not in (*_BOUND_TYPES, None)]:
        raise RecipeError(unknown("type", str(wrong[0]), _BOUND_TYPES))
    if columns is None and isinstance(source, Release):
        return {name: kind for name, kind in _list_known(source) if name in table.names}
    if columns is None:
        found = {name: _find_type(table.column(name)) for name in table.names if _has_ranges(table, name)}
        return {name: kind for name, kind in found.items() if kind is not None}
    return {name: kind or _require_type(table.column(name), name) for name, kind in stated.items()}


def _list_known(release: Release) -> list[tuple[str, ColumnType]]:
    known: Mapping[str, Column] = release.columns
    return [
        (name, kind)
        for name in release.recipe.quasi
        if name in known
        and known[name].hierarchy is None
        and (kind := known[name].type) is not None
        and kind in _BOUND_TYPES
    ]


def _split_ranges(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The texts of low and high of each cell; a cell that is no range is both."""
    text = use_safe_name(cells).cast(pl.String)
    text = text.set(text.is_in([ANY]), None)
    low, high = text, text
    for pattern in _RANGES:
        parts = text.str.extract_groups(pattern).struct.unnest()
        is_range = parts["low"].is_not_null()
        low, high = (
            pl.select(pl.when(is_range).then(parts[end]).otherwise(so_far)).to_series()
            for end, so_far in (("low", low), ("high", high))
        )
    parts = text.str.extract_groups(_SIDE).struct.unnest()
    above, below = ((parts["sign"] == sign).fill_null(False) for sign in "><")
    edge = parts["edge"]
    return (
        low.zip_with(~above, edge).set(below, None),
        high.zip_with(~below, edge).set(above, None),
    )


def _has_ranges(table: Table, name: str) -> bool:
    cells = table.column(name)
    return cells.dtype == pl.String and cells.str.contains(r"^(?:\[.*\]|[<>].*)$").any()


def _find_type(cells: pl.Series) -> ColumnType | None:
    """The type of the ends of ranges, if all are numbers, dates or times."""
    ends = pl.concat(_split_ranges(cells.unique(maintain_order=True)))
    found = infer_type(ends.unique(maintain_order=True))
    return found.type if found.type in _BOUND_TYPES and not found.extra_na else None


def _require_type(cells: pl.Series, name: str) -> ColumnType:
    if (found := _find_type(cells)) is None:
        raise InputError(
            f"column '{name}' has cells that are neither ranges nor values of numbers, dates or times"
        )
    return found


def _read_ranges(cells: pl.Series, name: str, kind: ColumnType) -> tuple[pl.Series, pl.Series]:
    """The low and the high value of each cell."""
    distinct = cells.unique(maintain_order=True)
    values = parse_values(pl.concat(_split_ranges(distinct)), kind, name)
    values = values.cast(_DTYPES[kind]) if kind in _DTYPES else values
    low, high = values.head(len(distinct)), values.tail(len(distinct))
    return cells.replace_strict(distinct, low), cells.replace_strict(distinct, high)
