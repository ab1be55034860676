"""Numbers in intervals: of equal width, with equally many rows, or between given boundaries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.support.arithmetic import first_digit
from shoal.support.parameters import check_fields
from shoal.table.hierarchies.builders.levels import (
    Groups,
    Level,
    build_from_levels,
    check_factor,
    find_coarser_levels,
    group_neighbours,
    make_level,
)
from shoal.table.hierarchies.builders.values import Values
from shoal.table.hierarchies.hierarchy import Hierarchy

Floats: TypeAlias = NDArray[np.floating]

_MOST = 20
"""Intervals on the first level, where the width is not said."""
_HAIR = 8 * np.finfo(np.float64).eps
"""How far below a whole number a quotient may lie: 0.3 / 0.1 does, but 0.3 lies in [0.3, 0.4)."""
_EXACT = 2**53  # floats beyond do not tell whole numbers apart
_LEAST = 1e-300  # narrower widths come near the smallest floats


@dataclass(frozen=True, slots=True)
class EqualWidth:
    """Intervals of equal width, such as 20-24, 20-29, 20-39.

    Parameters
    ----------
    widths : tuple of float
        The width on each level, each a multiple of the one before. One width alone is multiplied by
        ``factor`` on each further level; without any, the first is chosen so that there are at most 20.
    factor : int
        How many intervals become one on the next level, where widths do not say.
    start : float
        Where an interval begins; others follow below and above.
    """

    widths: tuple[float, ...] = ()
    factor: int = 2
    start: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_factor(self.factor)
        if not all(math.isfinite(width) and width > 0 for width in self.widths):
            raise InputError(f"widths are greater than 0, not {_join_numbers(self.widths)}")
        for below, above in pairwise(self.widths):
            if above <= below or not math.isclose(above / below, round(above / below), rel_tol=1e-9):
                raise InputError(
                    f"intervals of {above:g} do not hold whole intervals of {below:g}: "
                    "give each width as a multiple of the one before"
                )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of numbers."""
        number = values.to_floats()
        width = self.widths[0] if self.widths else _choose_readable_width(number, values.has_integers)
        base = self._number_intervals(number, width)
        # Several widths state all levels; a single one is multiplied by the factor.
        several = len(self.widths) > 1
        ratios = [round(above / width) for above in self.widths] if several else self._choose_ratios(base)
        # 20-24 is right only where no value or edge lies between two whole numbers.
        whole = values.has_integers and width.is_integer() and self.start.is_integer()
        return build_from_levels(values.leaves, self._build_levels(base, width, ratios, whole))

    def _number_intervals(self, number: Floats, width: float) -> Groups:
        """The interval of each number, counted from the start."""
        with np.errstate(over="ignore"):
            # What overflows is infinite, and refused below as too large.
            quotient = (number - self.start) / width
        nearest = np.round(quotient)
        on_edge = np.abs(quotient - nearest) <= _HAIR * np.abs(nearest)
        interval = np.where(on_edge, nearest, np.floor(quotient))
        interval[(quotient == 0) & (number < self.start)] = -1  # too small to be told from zero
        if np.abs(interval).max() > _EXACT:
            largest = np.abs(number).max()
            raise InputError(f"intervals of {width:g} are too narrow for numbers as large as {largest:g}")
        return interval.astype(np.int64)

    def _build_levels(self, base: Groups, width: float, ratios: Sequence[int], whole: bool) -> list[Level]:
        """Intervals as wide as each of the ``ratios`` says, in those of the first level."""
        groups = [base // ratio for ratio in ratios]
        with np.errstate(over="ignore"):  # an end that is no number any more is left open
            lows = [self.start + group * ratio * width for group, ratio in zip(groups, ratios, strict=True)]
            highs = [
                self.start + (group + 1) * ratio * width for group, ratio in zip(groups, ratios, strict=True)
            ]
        # Values ascend, so the first end is the lowest. All levels count: one hierarchy writes
        # its ranges in one way.
        scale = IntervalLabels(whole, any(low[0] < 0 for low in lows))
        return [scale.build_level(*each) for each in zip(groups, lows, highs, strict=True)]

    def _choose_ratios(self, base: Groups) -> list[int]:
        """The width of each level in intervals of the first; a level that joins nothing is left out."""
        levels = group_neighbours(base, self.factor)
        # A width that was asked for stays, even if it joins nothing.
        kept = (
            find_coarser_levels(levels, len(base))
            if not self.widths
            else sorted({0, *find_coarser_levels(levels, len(base))})
        )
        return [self.factor**at for at in kept]


@dataclass(frozen=True, slots=True)
class EqualFrequency:
    """Intervals with about equally many rows in each.

    Parameters
    ----------
    parts : int
        How many intervals on the first level; fewer where single values are very common.
    factor : int
        How many intervals become one on the next level.
    """

    parts: int = 8
    factor: int = 2

    def __post_init__(self) -> None:
        check_fields(self)
        check_factor(self.factor)
        if self.parts < 2:
            raise InputError(f"parts is how many intervals there are: 2 or more, not {self.parts}")

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of numbers."""
        number = values.to_floats()
        distinct, at = np.unique(number, return_inverse=True)
        rows = np.bincount(at, values.rows)
        # A value belongs where the middle of its rows lies; beside a common one parts stay empty.
        middle = np.cumsum(rows) - rows / 2
        _, first, part = np.unique(
            np.floor(self.parts * middle / rows.sum()), return_index=True, return_inverse=True
        )
        # Parts that no value falls into are gone; the last edge is a value and belongs to its part.
        edges = np.append(distinct[first], number.max())
        return _build_from_edges(values, part[at].astype(np.int64), edges, self.factor)


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Intervals between given boundaries, such as <18, 18-64, >=65.

    Parameters
    ----------
    boundaries : tuple of float
        Where an interval begins, ascending.
    factor : int
        How many intervals become one on the next level.
    """

    boundaries: tuple[float, ...]
    factor: int = 2

    def __post_init__(self) -> None:
        check_fields(self)
        check_factor(self.factor)
        if not self.boundaries or any(not low < high for low, high in pairwise(self.boundaries)):
            raise InputError(
                "boundaries must ascend, each greater than the one before, not "
                f"{_join_numbers(self.boundaries)}"
            )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of numbers."""
        edges = np.array([-math.inf, *self.boundaries, math.inf])
        # A boundary belongs to the interval that it begins.
        part = np.searchsorted(edges[1:-1], values.to_floats(), side="right").astype(np.int64)
        return _build_from_edges(values, part, edges, self.factor)


@dataclass(frozen=True, slots=True)
class IntervalLabels:
    """How intervals are written: ``20-24`` for whole numbers, ``[2.5, 5)`` for others."""

    whole: bool
    negative: bool

    def build_level(
        self, group: Groups, low: Floats, high: Floats, closed: NDArray[np.bool_] | None = None
    ) -> Level:
        """A level of intervals, given the ends of that of each value."""
        return make_level(
            group,
            lambda leaf: self.render_interval(
                low[leaf], high[leaf], closed is not None and bool(closed[leaf])
            ),
        )

    def render_interval(self, low: float, high: float, closed: bool = False) -> str:
        """The interval from ``low`` up to ``high``, which belongs to it only if it is ``closed``."""
        if math.isinf(low):
            return f"<{self.render_number(high)}"
        if math.isinf(high):
            return f">={self.render_number(low)}"
        if not self.whole:
            return f"[{self.render_number(low)}, {self.render_number(high)}{']' if closed else ')'}"
        last = high if closed else high - 1
        dash = ".." if self.negative else "-"
        return (
            self.render_number(low)
            if last <= low
            else f"{self.render_number(low)}{dash}{self.render_number(last)}"
        )

    def render_number(self, value: float) -> str:
        """A number as short as it can be."""
        # Adding 0.0 makes 0 of -0.0.
        return str(int(value)) if self.whole else f"{value + 0.0:.12g}"


def _build_from_edges(values: Values, part: Groups, edges: Floats, factor: int) -> Hierarchy:
    """The hierarchy of intervals; that numbered ``part`` of each value goes from one edge to the next."""
    inner = edges[np.isfinite(edges)]
    scale = IntervalLabels(
        values.has_integers and bool((inner == np.floor(inner)).all()), bool(inner.min() < 0)
    )
    levels: list[Level] = []
    for exponent, group in enumerate(group_neighbours(part, factor)):
        begin = group * factor**exponent
        # The last group of a level may hold fewer intervals than the factor.
        end = np.minimum(begin + factor**exponent, len(edges) - 1)
        levels.append(scale.build_level(group, edges[begin], edges[end], end == len(edges) - 1))
    return build_from_levels(values.leaves, levels)


def _choose_readable_width(number: Floats, whole: bool) -> float:
    """The narrowest width of the kind 1, 2, 5, 10, ... that makes few intervals."""
    span = float(number.max() / _MOST - number.min() / _MOST)
    vast = float(np.abs(number).max()) / (_EXACT / 8)
    # A width of 1 would repeat whole numbers, and intervals must be told apart where numbers are vast.
    least = max(span, 2.0 if whole else 0.0, vast, _LEAST) if span or vast else 1.0
    power = float(f"1e{first_digit(least)}")
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-12))


def _join_numbers(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers) or "none"
