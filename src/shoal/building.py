"""From a column of a table to a hierarchy over its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encoding import column_type, dictionary
from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.hierarchies import BUILDERS, Builder, Hierarchy, Values
from shoal.hierarchies.builders.learned import MOST_VALUES
from shoal.parameters import build
from shoal.table import Column, ColumnType, Table, as_text, parse, read
from shoal.table.frames import unpatterned

_BINS = 8
"""Intervals of a number that groups are learned from."""
_COMMON = 100
"""Values of a category that groups are learned from; the others count as one."""


@dataclass(frozen=True, slots=True)
class Built:
    """A hierarchy and how it was made."""

    hierarchy: Hierarchy
    builder: Builder
    left_out: tuple[str, ...] = ()
    """Texts that count as missing among numbers."""


def build_hierarchy(
    data: object,
    column: str,
    method: str = "auto",
    *,
    target: str | None = None,
    type: ColumnType | None = None,
    order: Sequence[str] | None = None,
    **parameters: Any,
) -> Hierarchy:
    """Build a hierarchy over the values of a column.

    Parameters
    ----------
    data : path, or a frame of pandas, polars or pyarrow
    column : str
    method : str
        ``intervals``, ``quantiles``, ``boundaries``, ``mask``, ``dates``, ``order``, ``frequency`` or
        ``learned``; by default what suits the column's type.
    target : str, optional
        The column that groups are learned from, instead of all others.
    type, order
        The type of the column, and the order of its values if it is ordered, where they cannot be inferred.
    **parameters
        Those of the builder, such as ``widths=(5, 10, 20)``.

    Examples
    --------
    >>> import polars as pl
    >>> ages = pl.DataFrame({"age": [21, 24, 38]})
    >>> build_hierarchy(ages, "age", "intervals", widths=(10, 20)).to_rows()
    [('21', '20-29', '20-39', '*'), ('24', '20-29', '20-39', '*'), ('38', '30-39', '20-39', '*')]
    """
    known = Column(column, type, tuple(order) if order else None)
    return grow(read(data), known, method, parameters, target).hierarchy


def grow(
    table: Table, column: Column, method: str, parameters: Mapping[str, Any], target: str | None = None
) -> Built:
    """Build a hierarchy over the values of a column, and tell how."""
    _check_target(table, column.name, method, target)
    distinct, number, _ = dictionary(table.column(column.name))
    kind, order, lost = column_type(distinct, column)
    if method == "auto":
        if parameters:
            raise RecipeError(f"parameters are those of a method: say which, of {quote(BUILDERS, 20)}")
        method = "learned" if target else _suitable(distinct, kind, len(table.names) > 1)
    builder: Builder = build("method", BUILDERS, method, parameters)
    others = [target] if target else [name for name in table.names if name != column.name]
    profile = _profile(table, others, number, len(distinct)) if method == "learned" else None
    present = np.flatnonzero(~distinct.is_in(list(lost)).to_numpy()) if lost else np.arange(len(distinct))
    raw = distinct.gather(present)
    value = as_text(raw) if kind == "boolean" else parse(raw, kind, column.name, order)
    rows = np.bincount(number, minlength=len(distinct) + 1).astype(np.int64)[present]
    values = Values.compared(as_text(raw), value, rows, None if profile is None else profile[present])
    return Built(builder.build(values), builder, lost)


def value_rows(table: Table, column: str) -> dict[str, int]:
    """How many rows hold each value of a column as text, missing ones left out."""
    text = as_text(unpatterned(table.column(column))).drop_nulls()
    return dict(text.alias("value").value_counts(name="rows").sort("value").iter_rows())


def _check_target(table: Table, column: str, method: str, target: str | None) -> None:
    if target is None:
        return
    if target not in table.names:
        raise RecipeError(unknown("target", target, table.names))
    if target == column:
        raise RecipeError(f"nothing can be learned about '{target}' from itself: name another target")
    if method not in ("auto", "learned"):
        raise RecipeError(f"the method {method} does not learn, so it has no target")


def _suitable(distinct: pl.Series, kind: ColumnType, others: bool) -> str:
    """The method for a column where none is asked for."""
    by_type = {"integer": "intervals", "float": "intervals", "date": "dates", "datetime": "dates"}
    if kind in by_type:
        return by_type[kind]
    if kind == "ordered":
        return "order"
    if kind == "string" and _is_code(as_text(distinct)):
        return "mask"
    return "learned" if others and 2 < len(distinct) <= MOST_VALUES else "frequency"


def _is_code(text: pl.Series) -> bool:
    """Whether values look like postcodes: all as long, with digits, three characters or more."""
    length = text.str.len_chars().unique()
    return len(length) == 1 and int(length[0]) > 2 and bool(text.str.contains("[0-9]").all())


def _profile(table: Table, others: Sequence[str], number: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """How many rows each of ``size`` values shares with the values of other columns, those side by side."""
    if not others:
        raise InputError("groups are learned from other columns, and the table has none")
    return np.hstack([_shared(*_coarse(table.column(name)), number, size) for name in others])


def _shared(code: NDArray[np.int64], kinds: int, number: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    pairs = np.bincount(number.astype(np.int64) * kinds + code, minlength=(size + 1) * kinds)
    return pairs.reshape(size + 1, kinds)[:size].astype(np.int64)


def _coarse(series: pl.Series) -> tuple[NDArray[np.int64], int]:
    """A column as few codes: numbers in intervals of as many rows, the commonest of other values."""
    distinct, number, _ = dictionary(series)
    rows = np.bincount(number, minlength=len(distinct) + 1)
    kind, order, lost = column_type(distinct, Column(series.name))
    if kind in ("integer", "float", "date", "datetime") and len(distinct) > _BINS and not lost:
        place = np.argsort(np.argsort(parse(distinct, kind, series.name, order).to_physical().to_numpy()))
        below = np.cumsum(rows[:-1][np.argsort(place)])[place] - rows[:-1]
        code = np.append(below * _BINS // max(len(number), 1), _BINS)
        return code[number].astype(np.int64), _BINS + 1
    # Equally common values by name, so that the order in which they were found does not matter.
    name = np.append(as_text(distinct).rank("ordinal").to_numpy(), 0)
    rank = np.argsort(np.lexsort((name, -rows)))
    return np.minimum(rank, _COMMON)[number].astype(np.int64), min(len(rows), _COMMON + 1)
