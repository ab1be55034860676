"""What the head of a column shows: its type, what is missing, and how its values are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.assessment.risks.subsets import ColumnSet
from shoal.codespace.encoding import find_column_type
from shoal.errors import InputError
from shoal.table import Column, ColumnType, Table, parse_values, to_strings
from shoal.table.frames import use_safe_name

_BARS = 12
_EXAMPLES = 3
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
    examples: tuple[tuple[str, float], ...] = ()
    """Some values with their shares of the rows: the quartiles of numbers and dates, else the commonest."""

    @property
    def is_ordered(self) -> bool:
        """Whether bars and examples are in the order of the values."""
        return self.type in _LINES

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
    alone = _measure_uniqueness(column.name, table.rows, counted["rows"])
    examples = _choose_examples(there, type, order, table.rows)
    return ColumnProfile(column.name, type, missing, alone, bars, ends, examples)


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
        some = tuple((str(text), 0.0) for text in few.head(_EXAMPLES))
        return ColumnProfile(column.name, type, missing, alone, (), ("", ""), some)
    if type not in _LINES or present.str.contains(_CODE).any():
        return None
    try:
        place = parse_values(present, type, column.name, None).to_physical().cast(pl.Float64).to_numpy()
    except InputError:
        return None
    rows, _ = np.histogram(place, _BARS)
    ends = str(present[int(place.argmin())]), str(present[int(place.argmax())])
    quartiles = _find_quartiles(place, np.ones(place.size))
    # How often one of so many values occurs says nothing.
    examples = tuple((str(present[at]), 0.0) for at in dict.fromkeys(quartiles))
    return ColumnProfile(column.name, type, missing, alone, tuple(rows.astype(int).tolist()), ends, examples)


def _measure_uniqueness(name: str, rows: int, times: pl.Series) -> ColumnSet:
    """How a column tells rows apart whose values occur so many times each."""
    times = times.cast(pl.Int64)
    pairs = int((times * (times - 1)).sum()) // 2
    return ColumnSet((name,), rows, len(times), int((times == 1).sum()), pairs)


def _choose_examples(
    counted: pl.DataFrame, type: ColumnType, order: list[str] | None, rows: int
) -> tuple[tuple[str, float], ...]:
    """A few distinct values, with the shares of the rows that have them."""
    if type in _LINES and counted.height:
        place = parse_values(counted["value"], type, "", order).to_physical().cast(pl.Float64).to_numpy()
        chosen = counted[list(dict.fromkeys(_find_quartiles(place, counted["rows"].to_numpy())))]
    else:
        chosen = counted.top_k(_EXAMPLES, by=["rows", "value"]).sort(
            "rows", descending=True, maintain_order=True
        )
    texts = map(str, to_strings(chosen["value"]))
    return tuple((text, times / rows) for text, times in zip(texts, chosen["rows"], strict=True))


def _find_quartiles(place: NDArray[np.float64], weight: NDArray[np.number]) -> list[int]:
    """Where the values stand below which are a quarter, half and three quarters of the rows."""
    order = np.argsort(place, kind="stable")
    below = np.cumsum(weight[order])
    at = np.searchsorted(below, below[-1] * np.array([0.25, 0.5, 0.75]))
    found: list[int] = order[np.minimum(at, order.size - 1)].tolist()
    return found


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
