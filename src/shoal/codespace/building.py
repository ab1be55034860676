"""From a column of a table to a hierarchy over its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.encoding import build_dictionary, find_column_type
from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.support.parameters import build_entry
from shoal.table import Column, ColumnType, Table, parse_values, read_table, to_strings
from shoal.table.frames import use_safe_name
from shoal.table.hierarchies import BUILDERS, Builder, Hierarchy, Values
from shoal.table.hierarchies.builders.learned import MOST_VALUES

_BINS = 8
"""Intervals of a number that groups are learned from."""
_COMMON = 100
"""Values of a category that groups are learned from; the others count as one."""


@dataclass(frozen=True, slots=True)
class BuiltHierarchy:
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
    return build_from_table(read_table(data), known, method, parameters, target).hierarchy


def build_from_table(
    table: Table, column: Column, method: str, parameters: Mapping[str, Any], target: str | None = None
) -> BuiltHierarchy:
    """Build a hierarchy over the values of a column, and tell how."""
    # First, so that a wrong name is told before any work.
    _check_target(table, column.name, method, target)
    distinct, number, _ = build_dictionary(table.column(column.name))
    kind, order, lost = find_column_type(distinct, column)
    if method == "auto":
        if parameters:
            raise RecipeError(f"parameters are those of a method: say which, of {quote(BUILDERS, 20)}")
        method = "learned" if target else _choose_method(distinct, kind, len(table.names) > 1)
    builder: Builder = build_entry("method", BUILDERS, method, parameters)
    others = [target] if target else [name for name in table.names if name != column.name]
    profile = _count_profiles(table, others, number, len(distinct)) if method == "learned" else None
    # Damaged numbers are no leaves: they count as missing in the release as well.
    present = np.flatnonzero(~distinct.is_in(list(lost)).to_numpy()) if lost else np.arange(len(distinct))
    raw = distinct.gather(present)
    value = to_strings(raw) if kind == "boolean" else parse_values(raw, kind, column.name, order)
    rows = np.bincount(number, minlength=len(distinct) + 1).astype(np.int64)[present]
    values = Values.from_distinct_values(
        to_strings(raw), value, rows, None if profile is None else profile[present]
    )
    return BuiltHierarchy(replace(builder.build(values), built_from_table=True), builder, lost)


def count_value_rows(table: Table, column: str) -> dict[str, int]:
    """How many rows hold each value of a column as text, missing ones left out."""
    text = to_strings(use_safe_name(table.column(column))).drop_nulls()
    return dict(text.alias("value").value_counts(name="rows").sort("value", maintain_order=True).iter_rows())


def _check_target(table: Table, column: str, method: str, target: str | None) -> None:
    if target is None:
        return
    if target not in table.names:
        raise RecipeError(unknown("target", target, table.names))
    if target == column:
        raise RecipeError(f"nothing can be learned about '{target}' from itself: name another target")
    if method not in ("auto", "learned"):
        raise RecipeError(f"the method {method} does not learn, so it has no target")


def _choose_method(distinct: pl.Series, kind: ColumnType, others: bool) -> str:
    """The method for a column where none is asked for."""
    by_type = {"integer": "intervals", "float": "intervals", "date": "dates", "datetime": "dates"}
    if kind in by_type:
        return by_type[kind]
    if kind == "ordered":
        return "order"
    if kind == "string" and _is_code(to_strings(distinct)):
        return "mask"
    return "learned" if others and 2 < len(distinct) <= MOST_VALUES else "frequency"


def _is_code(text: pl.Series) -> bool:
    """Whether values look like postcodes: all as long, with digits, three characters or more."""
    length = text.str.len_chars().unique(maintain_order=True)
    return len(length) == 1 and int(length[0]) > 2 and bool(text.str.contains("[0-9]").all())


def _count_profiles(
    table: Table, others: Sequence[str], number: NDArray[np.uint32], size: int
) -> NDArray[np.int64]:
    """How many rows each of ``size`` values shares with the values of other columns, those side by side."""
    if not others:
        raise InputError("groups are learned from other columns, and the table has none")
    return np.hstack([_count_pairs(*_bin_values(table.column(name)), number, size) for name in others])


def _count_pairs(
    code: NDArray[np.int64], kinds: int, number: NDArray[np.uint32], size: int
) -> NDArray[np.int64]:
    # A contingency table in one pass; its last row belongs to null and is cut off.
    pairs = np.bincount(number.astype(np.int64) * kinds + code, minlength=(size + 1) * kinds)
    return pairs.reshape(size + 1, kinds)[:size].astype(np.int64)


def _bin_values(series: pl.Series) -> tuple[NDArray[np.int64], int]:
    """A column as few codes: numbers in intervals of as many rows, the commonest of other values."""
    distinct, number, _ = build_dictionary(series)
    rows = np.bincount(number, minlength=len(distinct) + 1)
    kind, order, lost = find_column_type(distinct, Column(series.name))
    if kind in ("integer", "float", "date", "datetime") and len(distinct) > _BINS and not lost:
        value = parse_values(distinct, kind, series.name, order).rank("dense").to_numpy()
        at = np.argsort(value, kind="stable")
        below = np.empty(at.size, np.int64)
        # Rows below a value tell its bin: bins then hold about as many rows each.
        below[at] = np.cumsum(rows[at]) - rows[at]
        code = np.append(below * _BINS // max(len(number), 1), _BINS)
        return code[number].astype(np.int64), _BINS + 1
    # Equally common values by name, so that the order in which they were found does not matter.
    name = np.append(to_strings(distinct).rank("ordinal").to_numpy(), 0)
    rank = np.argsort(np.lexsort((name, -rows)), kind="stable")
    return np.minimum(rank, _COMMON)[number].astype(np.int64), min(len(rows), _COMMON + 1)
