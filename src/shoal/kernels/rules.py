"""Privacy models as the search sees them: counts in, verdict out.

The verifier does not use this file: it has its own count of the released values, and the models their own
arithmetic. Both compare ratios of whole numbers, rounded once, so that they agree on the very border too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import inner
from shoal.kernels.kinds import (
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    LIKENESS,
    MAPPED,
    ORDERED,
    POPULATION,
    PRESENCE,
    RECURSIVE,
    SHARE,
    TRANSPORT,
    Rule,
)

KIND, FIRST, LAST, OPTION, BOUND, PLACE = range(6)
"""Columns of `Rules.test`."""


class Rules(NamedTuple):
    """What every class must satisfy.

    The values of all sensitive columns are numbered through, column after column, so that a
    class has one histogram; each rule looks at its own column's part of it.
    """

    size: int
    """Least number of rows."""
    test: NDArray[np.int64]
    """[r, 6] KIND; FIRST, LAST: where the rule's column begins and ends; OPTION; BOUND, PLACE: where what
    belongs to the rule begins in `bound` and `place`."""
    limit: NDArray[np.float64]
    """[r] the rule's parameter."""
    values: int
    """Length of the histogram; 0 when no rule looks at a sensitive column."""
    entry: NDArray[np.int64]
    """[u + 1] where each weighted row's entries begin in `value` and `times`."""
    value: NDArray[np.int32]
    times: NDArray[np.int64]
    whole: NDArray[np.int64]
    """[values] histogram of the whole table."""
    rows: int
    """Number of rows of the whole table."""
    bound: NDArray[np.float64]
    place: NDArray[np.int64]
    """For TRANSPORT the values in an order in which nodes are contiguous, then the nodes level by level."""


def assemble(
    size: int,
    rules: Sequence[Rule],
    columns: Mapping[str, tuple[int, int]],
    entries: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]],
) -> Rules:
    """Lay out rules for the kernels.

    Parameters
    ----------
    columns : mapping
        Where each sensitive column's values begin and end.
    entries
        `Rules.entry`, `Rules.value` and `Rules.times`.
    """
    test = np.zeros((len(rules), 6), np.int64)
    bounds, places = [np.empty(0)], [np.empty(0, np.int64)]
    for r, rule in enumerate(rules):
        begin = sum(map(len, bounds)), sum(map(len, places))
        first, last = columns[rule.column]
        if rule.levels is not None:  # values after the last that occurs need no place
            last = first + rule.levels.shape[1]
        test[r] = (rule.kind, first, last, rule.option, *begin)
        if rule.bound is not None:
            bounds.append(rule.bound)
        if rule.levels is not None:
            places.append(_places(rule.levels))
    values = max(last for _, last in columns.values()) if rules else 0
    whole, rows = np.zeros(0, np.int64), 0
    if rules:
        whole = np.rint(np.bincount(entries[1], entries[2], values)).astype(np.int64)
        some = next((rule.column for rule in rules if rule.column != POPULATION), POPULATION)
        rows = int(whole[slice(*columns[some])].sum())
    limit = np.array([rule.limit for rule in rules], np.float64)
    bound, place = np.concatenate(bounds), np.concatenate(places)
    return Rules(size, test, limit, values, *entries, whole, rows, bound, place)


def _places(levels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The values ordered by their nodes, the highest level first, and the nodes in that order."""
    order = np.lexsort(levels)
    return np.concatenate([order, levels[:, order].ravel()]).astype(np.int64)


def usual(rules: Rules) -> NDArray[np.int64]:
    """How often a class that keeps the rules well has each value, up to a factor.

    What it is compared with, or equally often; 0 for values that no class can have too often.
    """
    counts = np.zeros(rules.values, np.int64)
    for kind, first, last in rules.test[:, [KIND, FIRST, LAST]]:
        if kind in (TRANSPORT, ORDERED, LIKENESS, DISCLOSURE):
            counts[first:last] = rules.whole[first:last]
        elif kind in (SHARE, ENTROPY, RECURSIVE):
            counts[first:last] = 1
    return counts


@inner
def add_row(rules: Rules, row: int, histogram: NDArray[np.int64], side: int) -> None:
    """Add the sensitive values of one weighted row to ``histogram[side]``, if any rule looks at them."""
    if rules.values == 0:
        return
    for at in range(rules.entry[row], rules.entry[row + 1]):
        histogram[side, rules.value[at]] += rules.times[at]


@inner
def satisfied(rules: Rules, histogram: NDArray[np.int64], side: int) -> bool:
    """Whether a class with the histogram ``histogram[side]`` satisfies every rule (its size aside)."""
    test, limit, whole, bound, place = rules.test, rules.limit, rules.whole, rules.bound, rules.place
    rows = rules.rows
    for r in range(limit.size):
        kind, first, last, option = test[r, KIND], test[r, FIRST], test[r, LAST], test[r, OPTION]
        total = 0
        distinct = 0
        largest = 0
        for v in range(first, last):
            count = histogram[side, v]
            total += count
            largest = max(largest, count)
            if count > 0:
                distinct += 1
        if kind == DISTINCT:
            holds = distinct >= limit[r]
        elif kind == MAPPED:
            holds = histogram[side, first + 1] >= limit[r]
        elif kind == PRESENCE:
            size, people = histogram[side, first], histogram[side, first + 1]
            holds = people > 0 and bound[test[r, BOUND]] <= size / people <= limit[r]
        elif kind == SHARE:
            holds = largest / total <= limit[r]
        elif kind == ENTROPY:
            holds = distinct >= limit[r] and _effective(histogram, side, first, last, total) >= limit[r]
        elif kind == RECURSIVE:
            tail = total - _largest(histogram, side, first, last, option - 1)
            holds = tail > 0 and largest / tail < limit[r]
        elif kind == TRANSPORT:
            work = _transport(histogram, side, first, last, whole, place, test[r, PLACE], option, total, rows)
            holds = work / (2.0 * option * total * rows) <= limit[r]
        elif kind == ORDERED:
            work = _ordered(histogram, side, first, last, whole, total, rows)
            holds = work / (np.float64(option) * total * rows) <= limit[r]
        elif kind == LIKENESS:
            holds = _likeness(histogram, side, first, last, whole, bound, test[r, BOUND], total, rows)
        else:
            holds = _disclosure(histogram, side, first, last, whole, limit[r], option, total, rows)
        if not holds:
            return False
    return True


@inner
def _effective(histogram: NDArray[np.int64], side: int, first: int, last: int, total: int) -> float:
    """Number of equally frequent values that would have the same entropy."""
    weighed = 0.0
    for v in range(first, last):
        if histogram[side, v] > 0:
            weighed += histogram[side, v] * np.log(histogram[side, v])
    effective = np.exp(np.log(total) - weighed / total)
    nearest = np.rint(effective)
    # l equally frequent values have exactly l; logarithms give that only up to rounding.
    return nearest if abs(effective - nearest) < 1e-9 * nearest else effective  # type: ignore[no-any-return]


@inner
def _largest(histogram: NDArray[np.int64], side: int, first: int, last: int, number: int) -> int:
    """Sum of the ``number`` largest counts: each is looked for among those not yet taken."""
    taken = np.int64(0)
    before, at_before = np.int64(-1), last
    for step in range(number):
        best, at_best = np.int64(-1), last
        for v in range(first, last):
            count = histogram[side, v]
            left = step == 0 or count < before or (count == before and v > at_before)
            if left and count > best:
                best, at_best = count, v
        if best <= 0:
            break
        taken += best
        before, at_before = best, at_best
    return int(taken)


@inner
def _transport(
    histogram: NDArray[np.int64],
    side: int,
    first: int,
    last: int,
    whole: NDArray[np.int64],
    place: NDArray[np.int64],
    at: int,
    levels: int,
    total: int,
    rows: int,
) -> float:
    """Sum over levels and nodes of abs(c N - q n)."""
    size = last - first
    work = np.int64(0)
    for level in range(1, levels + 1):
        extra = np.int64(0)
        for i in range(size):
            v = first + place[at + i]
            extra += histogram[side, v] * rows - whole[v] * total
            node = at + level * size + i
            if i + 1 == size or place[node] != place[node + 1]:
                work += abs(extra)
                extra = np.int64(0)
    return float(work)


@inner
def _ordered(
    histogram: NDArray[np.int64],
    side: int,
    first: int,
    last: int,
    whole: NDArray[np.int64],
    total: int,
    rows: int,
) -> float:
    """Sum over values of abs(sum so far of c N - q n)."""
    extra = np.int64(0)
    work = 0.0  # as many values as rows would overflow a whole number
    for v in range(first, last):
        extra += histogram[side, v] * rows - whole[v] * total
        work += abs(extra)
    return work


@inner
def _likeness(
    histogram: NDArray[np.int64],
    side: int,
    first: int,
    last: int,
    whole: NDArray[np.int64],
    bound: NDArray[np.float64],
    at: int,
    total: int,
    rows: int,
) -> bool:
    for v in range(first, last):
        count = histogram[side, v]
        if count > 0:
            common = whole[v] * total
            if (count * rows - common) / common > bound[at + v - first]:
                return False
    return True


@inner
def _disclosure(
    histogram: NDArray[np.int64],
    side: int,
    first: int,
    last: int,
    whole: NDArray[np.int64],
    limit: float,
    absent: int,
    total: int,
    rows: int,
) -> bool:
    for v in range(first, last):
        here, there = histogram[side, v] * rows, whole[v] * total
        if here == 0:
            if absent != 0 and there > 0:
                return False
        elif here / there >= limit or there / here >= limit:
            return False
    return True
