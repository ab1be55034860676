"""Dates in weeks, months, quarters, years and decades, or by the day of the week."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import polars as pl

from shoal.errors import InputError, quote, unknown
from shoal.support.parameters import check_fields
from shoal.table.hierarchies.builders.levels import Level, build_from_levels, make_level
from shoal.table.hierarchies.builders.values import Values
from shoal.table.hierarchies.hierarchy import Hierarchy

Span = Literal["day", "week", "month", "quarter", "year", "decade", "weekday"]

_INSIDE: dict[str, tuple[str, ...]] = {
    "day": ("week", "month", "quarter", "year", "decade", "weekday"),
    "month": ("quarter", "year", "decade"),
    "quarter": ("year", "decade"),
    "year": ("decade",),
}
"""What each lies in whole. A week may lie in two months and two years, a day of the week in all of them."""

_TEXT: dict[str, Callable[[pl.Series], pl.Series]] = {
    "day": lambda time: time.dt.strftime("%Y-%m-%d"),
    "week": lambda time: time.dt.strftime("%G-W%V"),
    "month": lambda time: time.dt.strftime("%Y-%m"),
    "quarter": lambda time: time.dt.strftime("%Y-Q") + time.dt.quarter().cast(pl.String),
    "year": lambda time: time.dt.strftime("%Y"),
    "decade": lambda time: (time.dt.year() // 10 * 10).cast(pl.String) + "s",
    "weekday": lambda time: time.dt.strftime("%A"),
}


@dataclass(frozen=True, slots=True)
class Dates:
    """Dates and times in spans of the calendar.

    Parameters
    ----------
    spans : tuple of str
        Each level's span, from the narrowest: day, week, month, quarter, year, decade, weekday. By default
        month, year and decade, and for times the day before these. Each must lie whole in the next; weeks and
        days of the week lie in nothing but the root.
    """

    spans: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        for span in self.spans:
            if span not in get_args(Span):
                raise InputError(unknown("span of dates", span, get_args(Span)))
        for inner, outer in pairwise(self.spans):
            if outer not in _INSIDE.get(inner, ()):
                may = quote(_INSIDE.get(inner, ())) or "nothing but the root"
                raise InputError(
                    f"a {inner} does not lie in one {outer}, so these levels would not be nested; "
                    f"above {inner} there can be {may}"
                )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of dates or times."""
        time = values.to_times()
        # A column of dates has days as leaves; for times the day is a level of its own.
        default = ("month", "year", "decade") if time.dtype == pl.Date else ("day", "month", "year", "decade")
        return build_from_levels(values.leaves, [_build_level(time, span) for span in self.spans or default])


def _build_level(time: pl.Series, span: str) -> Level:
    text = _TEXT[span](time)
    # Days of the week come round again; all other spans are runs of time in order.
    number = time.dt.weekday() if span == "weekday" else text.rle_id()
    return make_level(number.to_numpy().astype(np.int64), lambda leaf: str(text[leaf]))
