"""What the head of a column shows: its type, what is missing, and how its values are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.encoding import column_type
from shoal.errors import InputError
from shoal.risk.subsets import ColumnSet
from shoal.table import Column, ColumnType, Table, as_text, parse
from shoal.table.frames import unpatterned

_BARS = 12
_MANY = 10_000
_CODE = r"^[+-]?0[0-9]"  # digits that begin so are no number
_LINES = ("integer", "float", "date", "datetime")


@dataclass(frozen=True, slots=True)
class Profile:
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
    def values(self) -> int:
        """Different ones."""
        return self.alone.classes - (self.missing > 0)

    def head(self) -> dict[str, object]:
        """What the page draws, as plain values."""
        return {
            "name": self.name,
            "type": self.type,
            "missing": self.missing,
            "values": self.values,
            "bars": list(self.bars),
            "ends": list(self.ends),
        }


def profile(table: Table, name: str) -> Profile:
    """Count a column of a table."""
    series, column = unpatterned(table.column(name)).alias("value"), Column(name, na=table.na)
    if series.dtype == pl.String and int(series.approx_n_unique()) > _MANY:  # type: ignore[arg-type]
        return _long(table, series, column) or _short(table, series, column)
    return _short(table, series, column)


def _short(table: Table, series: pl.Series, column: Column) -> Profile:
    """A column by its distinct values."""
    counted = series.value_counts(name="rows")
    there = counted.filter(counted["value"].is_not_null())
    type, order, lost = column_type(there["value"], column)
    if lost:
        there = there.filter(~there["value"].is_in(list(lost)))
    bars, ends = _bars(there, type, order)
    missing = table.rows - int(there["rows"].sum())
    return Profile(column.name, type, missing, _alone(column.name, table.rows, counted["rows"]), bars, ends)


def _long(table: Table, series: pl.Series, column: Column) -> Profile | None:
    """A column of many different texts: a few tell its type, which is then true of all, or it is None.

    Distinct texts are counted by their hashes, and their regular expressions are not asked a million times.
    """
    present = series.drop_nulls()
    few = present.head(10 * _MANY).unique().head(_MANY)
    type = column_type(few, column)[0]
    alone = _alone(column.name, table.rows, series.hash().unique_counts())
    missing = table.rows - len(present)
    if type == "string" and few.str.contains("^[A-Za-z]").mean() > 0.5:  # type: ignore[operator]
        # No number, date or truth value begins with a letter, but for markers of missing ones.
        return Profile(column.name, type, missing, alone, (), ("", ""))
    if type not in _LINES or present.str.contains(_CODE).any():
        return None
    try:
        place = parse(present, type, column.name, None).to_physical().cast(pl.Float64).to_numpy()
    except InputError:
        return None
    rows, _ = np.histogram(place, _BARS)
    ends = str(present[int(place.argmin())]), str(present[int(place.argmax())])
    return Profile(column.name, type, missing, alone, tuple(rows.astype(int).tolist()), ends)


def _alone(name: str, rows: int, times: pl.Series) -> ColumnSet:
    """How a column tells rows apart whose values occur so many times each."""
    times = times.cast(pl.Int64)
    pairs = int((times * (times - 1)).sum()) // 2
    return ColumnSet((name,), rows, len(times), int((times == 1).sum()), pairs)


def _bars(
    counted: pl.DataFrame, type: ColumnType, order: list[str] | None
) -> tuple[tuple[int, ...], tuple[str, str]]:
    if counted.height < 2:
        return (), ("", "")
    if type in _LINES:
        return _ranges(counted, type, order)
    if int(counted["rows"].max()) == 1:  # type: ignore[arg-type]
        return (), ("", "")
    # Equally common values by name, so that a reload draws the same picture.
    common = counted.top_k(_BARS, by=["rows", "value"]).sort("rows", descending=True)
    first, *_, last = as_text(common["value"])
    return tuple(common["rows"].to_list()), (str(first), str(last))


def _ranges(
    counted: pl.DataFrame, type: ColumnType, order: list[str] | None
) -> tuple[tuple[int, ...], tuple[str, str]]:
    place = parse(counted["value"], type, "", order).to_physical().cast(pl.Float64).to_numpy()
    rows, _ = np.histogram(place, _BARS, weights=counted["rows"].to_numpy())
    text = as_text(counted["value"])
    ends = str(text[int(place.argmin())]), str(text[int(place.argmax())])
    return tuple(rows.astype(int).tolist()), ends
