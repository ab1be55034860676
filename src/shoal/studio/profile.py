"""What the head of a column shows: its type, what is missing, and how its values are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.assessment.risks.subsets import ColumnSet
from shoal.codespace.encoding import find_column_type
from shoal.errors import InputError
from shoal.table import Column, ColumnType, Table, parse_values, to_strings
from shoal.table.frames import use_safe_name

_BARS = 12
_MANY = 10_000
_CODE = r"^[+-]?0[0-9]"  # digits that begin so are no number
_LINES = ("integer", "float", "date", "datetime")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column, counted once when its table is opened."""

    name: str
    type: ColumnType
    """As it would be inferred."""
    missing: int
    alone: ColumnSet
    """How it tells rows apart."""
    bars: tuple[int, ...]
    """Rows per range of a number or date, or per value, the commonest first; empty where all differ."""
    ends: tuple[str, str]
    """What the first and the last bar stand for."""

    @property
    def distinct_values(self) -> int:
        """Number of distinct values, without missing ones."""
        return self.alone.classes - (self.missing > 0)

    def describe_head(self) -> dict[str, object]:
        """What the page draws, as plain values."""
        return {
            "name": self.name,
            "type": self.type,
            "missing": self.missing,
            "values": self.distinct_values,
            "bars": list(self.bars),
            "ends": list(self.ends),
        }


def profile_column(table: Table, name: str) -> ColumnProfile:
    """Count a column of a table."""
    series, column = use_safe_name(table.column(name)).alias("value"), Column(name, na=table.na)
    if series.dtype == pl.String and int(series.approx_n_unique()) > _MANY:  # type: ignore[arg-type]
        return _profile_many_strings(table, series, column) or _profile_distinct_values(table, series, column)
    return _profile_distinct_values(table, series, column)


def _profile_distinct_values(table: Table, series: pl.Series, column: Column) -> ColumnProfile:
    """A column by its distinct values."""
    counted = series.value_counts(name="rows")
    there = counted.filter(counted["value"].is_not_null())
    type, order, lost = find_column_type(there["value"], column)
    if lost:
        there = there.filter(~there["value"].is_in(list(lost)))
    bars, ends = _count_bars(there, type, order)
    missing = table.rows - int(there["rows"].sum())
    return ColumnProfile(
        column.name, type, missing, _measure_uniqueness(column.name, table.rows, counted["rows"]), bars, ends
    )


def _profile_many_strings(table: Table, series: pl.Series, column: Column) -> ColumnProfile | None:
    """A column of many distinct strings. A few tell its type; None if that does not hold for all.

    Distinct strings are counted by their hashes, since a regular expression on each takes too long.
    """
    present = series.drop_nulls()
    few = present.head(10 * _MANY).unique(maintain_order=True).head(_MANY)
    type = find_column_type(few, column)[0]
    alone = _measure_uniqueness(column.name, table.rows, series.hash().unique_counts())
    missing = table.rows - len(present)
    if type == "string" and few.str.contains("^[A-Za-z]").mean() > 0.5:  # type: ignore[operator]
        # No number, date or truth value begins with a letter, but for markers of missing ones.
        return ColumnProfile(column.name, type, missing, alone, (), ("", ""))
    if type not in _LINES or present.str.contains(_CODE).any():
        return None
    try:
        place = parse_values(present, type, column.name, None).to_physical().cast(pl.Float64).to_numpy()
    except InputError:
        return None
    rows, _ = np.histogram(place, _BARS)
    ends = str(present[int(place.argmin())]), str(present[int(place.argmax())])
    return ColumnProfile(column.name, type, missing, alone, tuple(rows.astype(int).tolist()), ends)


def _measure_uniqueness(name: str, rows: int, times: pl.Series) -> ColumnSet:
    """How a column tells rows apart whose values occur so many times each."""
    times = times.cast(pl.Int64)
    pairs = int((times * (times - 1)).sum()) // 2
    return ColumnSet((name,), rows, len(times), int((times == 1).sum()), pairs)


def _count_bars(
    counted: pl.DataFrame, type: ColumnType, order: list[str] | None
) -> tuple[tuple[int, ...], tuple[str, str]]:
    if counted.height < 2:
        return (), ("", "")
    if type in _LINES:
        return _count_ranges(counted, type, order)
    if int(counted["rows"].max()) == 1:  # type: ignore[arg-type]
        return (), ("", "")
    # Equally common values by name, so that a reload draws the same picture.
    common = counted.top_k(_BARS, by=["rows", "value"]).sort("rows", descending=True, maintain_order=True)
    first, *_, last = to_strings(common["value"])
    return tuple(common["rows"].to_list()), (str(first), str(last))


def _count_ranges(
    counted: pl.DataFrame, type: ColumnType, order: list[str] | None
) -> tuple[tuple[int, ...], tuple[str, str]]:
    place = parse_values(counted["value"], type, "", order).to_physical().cast(pl.Float64).to_numpy()
    rows, _ = np.histogram(place, _BARS, weights=counted["rows"].to_numpy())
    text = to_strings(counted["value"])
    ends = str(text[int(place.argmin())]), str(text[int(place.argmax())])
    return tuple(rows.astype(int).tolist()), ends
