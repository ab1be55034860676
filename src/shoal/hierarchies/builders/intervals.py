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
from shoal.hierarchies.builders.levels import Groups, Level, check_factor, fewer, grouped, grown, level_of
from shoal.hierarchies.builders.values import Values
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.parameters import check

Floats: TypeAlias = NDArray[np.floating]

_MOST = 20
"""Intervals on the first level, where the width is not said."""
_HAIR = 8 * np.finfo(np.float64).eps
"""How far below a whole number a quotient may lie: 0.3 / 0.1 does, but 0.3 lies in [0.3, 0.4)."""
_EXACT = 2**53
_LEAST = 1e-300


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
        check(self)
        check_factor(self.factor)
        if not all(math.isfinite(width) and width > 0 for width in self.widths):
            raise InputError(f"widths are greater than 0, not {_texts(self.widths)}")
        for below, above in pairwise(self.widths):
            if above <= below or not math.isclose(above / below, round(above / below), rel_tol=1e-9):
                raise InputError(
                    f"intervals of {above:g} do not hold whole intervals of {below:g}: "
                    "give each width as a multiple of the one before"
                )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of numbers."""
        number = values.numbers()
        width = self.widths[0] if self.widths else _readable_width(number, values.whole)
        base = self._numbered(number, width)
        several = len(self.widths) > 1
        ratios = [round(above / width) for above in self.widths] if several else self._ratios(base)
        whole = values.whole and width.is_integer() and self.start.is_integer()
        return grown(values.leaves, self._levels(base, width, ratios, whole))

    def _numbered(self, number: Floats, width: float) -> Groups:
        """The interval of each number, counted from the start."""
        with np.errstate(over="ignore"):
            quotient = (number - self.start) / width
        nearest = np.round(quotient)
        on_edge = np.abs(quotient - nearest) <= _HAIR * np.abs(nearest)
        interval = np.where(on_edge, nearest, np.floor(quotient))
        interval[(quotient == 0) & (number < self.start)] = -1  # too small to be told from zero
        if np.abs(interval).max() > _EXACT:
            largest = np.abs(number).max()
            raise InputError(f"intervals of {width:g} are too narrow for numbers as large as {largest:g}")
        return interval.astype(np.int64)

    def _levels(self, base: Groups, width: float, ratios: Sequence[int], whole: bool) -> list[Level]:
        """Intervals as wide as each of the ``ratios`` says, in those of the first level."""
        groups = [base // ratio for ratio in ratios]
        with np.errstate(over="ignore"):  # an end that is no number any more is left open
            lows = [self.start + group * ratio * width for group, ratio in zip(groups, ratios, strict=True)]
            highs = [
                self.start + (group + 1) * ratio * width for group, ratio in zip(groups, ratios, strict=True)
            ]
        scale = Scale(whole, any(low[0] < 0 for low in lows))
        return [scale.level(*each) for each in zip(groups, lows, highs, strict=True)]

    def _ratios(self, base: Groups) -> list[int]:
        """The width of each level in intervals of the first; a level that joins nothing is left out."""
        levels = grouped(base, self.factor)
        kept = fewer(levels, len(base)) if not self.widths else sorted({0, *fewer(levels, len(base))})
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
        check(self)
        check_factor(self.factor)
        if self.parts < 2:
            raise InputError(f"parts is how many intervals there are: 2 or more, not {self.parts}")

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of numbers."""
        number = values.numbers()
        distinct, at = np.unique(number, return_inverse=True)
        rows = np.bincount(at, values.rows)
        middle = np.cumsum(rows) - rows / 2
        _, first, part = np.unique(
            np.floor(self.parts * middle / rows.sum()), return_index=True, return_inverse=True
        )
        edges = np.append(distinct[first], number.max())
        return _between(values, part[at].astype(np.int64), edges, self.factor)


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
        check(self)
        check_factor(self.factor)
        if not self.boundaries or any(not low < high for low, high in pairwise(self.boundaries)):
            raise InputError(
                f"boundaries must ascend, each greater than the one before, not {_texts(self.boundaries)}"
            )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of numbers."""
        edges = np.array([-math.inf, *self.boundaries, math.inf])
        part = np.searchsorted(edges[1:-1], values.numbers(), side="right").astype(np.int64)
        return _between(values, part, edges, self.factor)


@dataclass(frozen=True, slots=True)
class Scale:
    """How intervals are written: ``20-24`` for whole numbers, ``[2.5, 5)`` for others."""

    whole: bool
    negative: bool

    def level(
        self, group: Groups, low: Floats, high: Floats, closed: NDArray[np.bool_] | None = None
    ) -> Level:
        """A level of intervals, given the ends of that of each value."""
        return level_of(
            group, lambda leaf: self.text(low[leaf], high[leaf], closed is not None and bool(closed[leaf]))
        )

    def text(self, low: float, high: float, closed: bool = False) -> str:
        """The interval from ``low`` up to ``high``, which belongs to it only if it is ``closed``."""
        if math.isinf(low):
            return f"<{self.number(high)}"
        if math.isinf(high):
            return f">={self.number(low)}"
        if not self.whole:
            return f"[{self.number(low)}, {self.number(high)}{']' if closed else ')'}"
        last = high if closed else high - 1
        dash = ".." if self.negative else "-"
        return self.number(low) if last <= low else f"{self.number(low)}{dash}{self.number(last)}"

    def number(self, value: float) -> str:
        """A number as short as it can be."""
        return str(int(value)) if self.whole else f"{value + 0.0:.12g}"


def _between(values: Values, part: Groups, edges: Floats, factor: int) -> Hierarchy:
    """The hierarchy of intervals; that numbered ``part`` of each value goes from one edge to the next."""
    inner = edges[np.isfinite(edges)]
    scale = Scale(values.whole and bool((inner == np.floor(inner)).all()), bool(inner.min() < 0))
    levels: list[Level] = []
    for exponent, group in enumerate(grouped(part, factor)):
        begin = group * factor**exponent
        end = np.minimum(begin + factor**exponent, len(edges) - 1)
        levels.append(scale.level(group, edges[begin], edges[end], end == len(edges) - 1))
    return grown(values.leaves, levels)


def _readable_width(number: Floats, whole: bool) -> float:
    """The narrowest width of the kind 1, 2, 5, 10, ... that makes few intervals."""
    span = float(number.max() / _MOST - number.min() / _MOST)
    vast = float(np.abs(number).max()) / (_EXACT / 8)
    # A width of 1 would repeat whole numbers, and intervals must be told apart where numbers are vast.
    least = max(span, 2.0 if whole else 0.0, vast, _LEAST) if span or vast else 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-12))


def _texts(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers) or "none"
