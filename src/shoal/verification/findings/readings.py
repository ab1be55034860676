"""How the texts of a column may be read to tell in which order they lie: as numbers or as dates.

Dates whose day comes before the year, such as 31.12.2020, lie in another order than their texts. Whether
03/04/2020 is in March or in April does not matter here: rows that are sorted by one of the two readings are
sorted, and the finding says which reading it was.
"""

from __future__ import annotations

import re

import polars as pl

from shoal.table.types import MISSING_MARKERS, NUMBER

_PARTS = {"day": r"[0-9]{1,2}", "month": r"[0-9]{1,2}", "year": r"[0-9]{4}|[0-9]{2}"}
_TIME = (
    r"(?:[T ]\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:\.[0-9]+)?))?"
    r"\s*(?P<noon>[AaPp][Mm])?)?"
)
_SHORT, _CENTURY = 2, 69  # years of two digits from 69 on are of the twentieth century, as POSIX has it

BY_NAME = ""
"""The reading of texts as they are, and of values that have an order of their own."""
NUMBERS = "number"
DAY_ORDERS = ("day.month.year", "month/day/year", "year-month-day")
"""Readings of dates. Any of the signs . / - may separate the parts, and a time may follow."""
READINGS = (NUMBERS, *DAY_ORDERS)


def read_column(column: str, reading: str) -> pl.Expr:
    """The texts of a column as numbers that lie in the order of a reading; null where one does not fit."""
    if reading == NUMBERS:
        return pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    return _read_days(column, reading)


def read_texts(text: pl.Series, reading: str) -> pl.Series | None:
    """The same for texts that are at hand; None if some of them do not fit and mark no missing value."""
    # One text rules most readings out, at little cost.
    if not may_be_read(text.drop_nulls().first(), reading):  # type: ignore[arg-type]
        return None
    read = text.alias("0").to_frame().select(read_column("0", reading)).to_series()
    return read if is_read(text, read) else None


def is_read(text: pl.Series, read: pl.Series) -> bool:
    """Whether all texts could be read, apart from markers of missing values."""
    unread = text.filter(read.is_null() & text.is_not_null())
    return bool(unread.str.strip_chars().is_in(MISSING_MARKERS).all())


def may_be_read(text: str | None, reading: str) -> bool:
    """Whether one text of a column does not rule a reading out."""
    if text is None or text.strip() in MISSING_MARKERS:
        return True
    pattern = NUMBER if reading == NUMBERS else _write_pattern(reading)
    return re.match(pattern, text.strip()) is not None


def _read_days(column: str, order: str) -> pl.Expr:
    found = pl.col(column).str.strip_chars().str.extract_groups(_write_pattern(order)).struct
    day, month, year, hour, minute = (
        found[part].cast(pl.Int64) for part in ("day", "month", "year", "hour", "minute")
    )
    is_short, noon = found["year"].str.len_chars() == _SHORT, found["noon"].str.to_lowercase()
    century = pl.when(~is_short).then(0).when(year < _CENTURY).then(2000).otherwise(1900)
    days = ((year + century) * 12 + month) * 31 + day
    hour = pl.when(noon.is_null()).then(hour).otherwise(hour % 12 + 12 * (noon == "pm"))
    seconds = hour.fill_null(0) * 3600 + minute.fill_null(0) * 60
    seconds += found["second"].cast(pl.Float64).fill_null(0.0)
    is_date = month.is_between(1, 12) & day.is_between(1, 31)
    return pl.when(is_date).then(days * 86400 + seconds).alias(column)


def _write_pattern(order: str) -> str:
    first, second, third = (f"(?P<{part}>{_PARTS[part]})" for part in re.split(r"[./-]", order))
    return rf"^{first}[./-]{second}[./-]{third}{_TIME}$"
