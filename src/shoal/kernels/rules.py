"""Privacy models as the search sees them: counts in, verdict out.

The verifier does not use this file: it has its own count of the released values, and the models their own
arithmetic. Both compare ratios of whole numbers, rounded once, so that they agree on the very border too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import as_int64, inline_kernel, inner_kernel
from shoal.kernels.kinds import (
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    LIKENESS,
    MAPPED,
    ORDERED,
    PEOPLE,
    POPULATION,
    PRESENCE,
    RECURSIVE,
    SHARE,
    TRANSPORT,
    Rule,
)
from shoal.kernels.logarithms import exp, log
from shoal.kernels.signatures import Matrix

_CLEARED = 1 << 32  # more than a unit is counted in a class, see `clear_histogram`
_MOST_CLEARED = 1 << 62
_ROUNDING = 1e-12  # relative; far more than logarithms of whole numbers are off
_FEW = 32  # pairs of rows up to which Grassberger's sum is taken; then its series is as accurate as a float
_CONSTANT = 1.2703628454614782  # Euler's constant and the logarithm of 2
_PRIMES = as_int64(2147483647), as_int64(2147483629)  # below 2^31: products of remainders fit 64 bits
_ONE = as_int64(1)
_ZERO = as_int64(0)  # all that a plain zero is handed to would be compiled twice

KIND, FIRST, LAST, OPTION, BOUND, PLACE, TOTAL = range(7)
"""Columns of `Rules.test`."""


class Rules(NamedTuple):
    """What every class must satisfy.

    The values of all sensitive columns are numbered through, column after column, so that a
    class has one histogram; each rule looks at its own column's part of it.
    """

    size: int
    """Least number of rows."""
    test: Matrix[np.int64]
    """[r, 7] KIND; FIRST, LAST: where the rule's column begins and ends; OPTION; BOUND, PLACE: where what
    belongs to the rule begins in `bound` and `place`; TOTAL: the sum of the column's part of `whole`."""
    limit: NDArray[np.float64]
    """[r] the rule's parameter."""
    values: int
    """Length of the histogram; 0 when no rule looks at a sensitive column."""
    entry: NDArray[np.int64]
    """[u + 1] where each weighted row's entries begin in `value` and `times`."""
    value: NDArray[np.int32]
    times: NDArray[np.int64]
    """[entries] how many rows have the value; where people are counted, the number of the unit, which is a
    person with the value: it counts once in a class."""
    whole: NDArray[np.int64]
    """[values] histogram of the whole table."""
    rows: int
    """Number of rows of the whole table."""
    bound: NDArray[np.float64]
    place: NDArray[np.int64]
    """For TRANSPORT the values in an order in which nodes are contiguous, then the nodes level by level."""
    units: int
    """How many units there are; 0 where rows are counted. The last value of the histogram is people."""


def assemble_rules(
    size: int,
    rules: Sequence[Rule],
    columns: Mapping[str, tuple[int, int]],
    entries: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]],
    units: int = 0,
) -> Rules:
    """Lay out rules for the kernels.

    Parameters
    ----------
    columns : mapping
        Where each sensitive column's values begin and end.
    entries
        `Rules.entry`, `Rules.value` and `Rules.times`.
    units : int
        `Rules.units`; if people are counted, the last column is that of people.
    """
    test = np.zeros((len(rules), 7), np.int64)
    bounds, places = [np.empty(0)], [np.empty(0, np.int64)]
    for r, rule in enumerate(rules):
        begin = sum(map(len, bounds)), sum(map(len, places))
        first, last = columns[rule.column]
        if rule.levels is not None:  # values after the last that occurs need no place
            last = first + rule.levels.shape[1]
        test[r] = (rule.kind, first, last, rule.option, *begin, 0)
        if rule.bound is not None:
            bounds.append(rule.bound)
        if rule.levels is not None:
            places.append(_order_places(rule.levels))
    values = max(last for _, last in columns.values()) if rules else 0
    whole, rows = np.zeros(0, np.int64), 0
    if rules:
        # bincount sums floats, which are exact for whole numbers below 2^53.
        whole = np.rint(np.bincount(entries[1], entries[2], values)).astype(np.int64)
        # Every row has one value in each sensitive column, so any of them tells the number of rows;
        # the population does not, since it counts people, too.
        some = next((rule.column for rule in rules if rule.column != POPULATION), POPULATION)
        rows = int(whole[slice(*columns[some])].sum())
    limit = np.array([rule.limit for rule in rules], np.float64)
    bound, place = np.concatenate(bounds), np.concatenate(places)
    return Rules(size, test, limit, values, *entries, whole, rows, bound, place, units)


def set_whole(rules: Rules, whole: NDArray[np.int64], rows: int) -> Rules:
    """Rules that compare with another whole table: its histogram, and its number of rows."""
    test = rules.test.copy()
    test[:, TOTAL] = [int(whole[first:last].sum()) for first, last in test[:, [FIRST, LAST]]]
    return rules._replace(test=test, whole=whole, rows=rows)


@inner_kernel
def count_slots(rules: Rules) -> int:
    """Length of a row of a histogram: its values and, where people are counted, what tells them apart."""
    # A counter for every unit, and one more that tells which of these are of the present class.
    return rules.values + rules.units + 1 if rules.units > 0 else rules.values


@inline_kernel
def clear_histogram(rules: Rules, histogram: NDArray[np.int64], side: int) -> None:
    """Make ``histogram[side]`` that of a class without rows."""
    for value in range(rules.values):
        histogram[side, value] = 0
    if rules.units == 0:
        return
    # Counters up to this mark are as good as 0: so clearing takes no time for people who are elsewhere.
    mark = rules.values + rules.units
    histogram[side, mark] += _CLEARED
    if histogram[side, mark] > _MOST_CLEARED:
        for slot in range(rules.values, mark + 1):
            histogram[side, slot] = 0


def _order_places(levels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The values ordered by their nodes, the highest level first, and the nodes in that order."""
    # The last key counts most, and nodes nest: so those of every level become consecutive.
    order = np.lexsort(levels)
    return np.concatenate([order, levels[:, order].ravel()]).astype(np.int64)


def estimate_usual_counts(rules: Rules) -> NDArray[np.int64]:
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


@inline_kernel
def add_row(rules: Rules, row: int, histogram: NDArray[np.int64], side: int) -> None:
    """Add the sensitive values of one weighted row to ``histogram[side]``, if any rule looks at them."""
    if rules.values == 0:
        return
    if rules.units > 0:
        _add_people(rules, row, histogram, side)
        return
    for at in range(rules.entry[row], rules.entry[row + 1]):
        histogram[side, rules.value[at]] += rules.times[at]


@inline_kernel
def _add_people(rules: Rules, row: int, histogram: NDArray[np.int64], side: int) -> None:
    """The same where people are counted: a unit that is in the class already adds nothing."""
    mark = histogram[side, rules.values + rules.units]
    for at in range(rules.entry[row], rules.entry[row + 1]):
        slot = rules.values + rules.times[at]
        if histogram[side, slot] <= mark:
            histogram[side, slot] = mark
            histogram[side, rules.value[at]] += 1
        histogram[side, slot] += 1


@inline_kernel
def lacks_people(rules: Rules, histogram: NDArray[np.int64], side: int) -> bool:
    """Whether a class has fewer people than it needs, where people are counted."""
    # The last rule is about people, and so is the last value.
    return rules.units > 0 and histogram[side, rules.values - 1] < rules.limit[rules.limit.size - 1]


@inline_kernel
def asks_only_people(rules: Rules) -> bool:
    """Whether a class needs a number of people and nothing else: then counting them can stop there."""
    return rules.units > 0 and rules.limit.size == 1


@inner_kernel
def brings_person(rules: Rules, row: int, histogram: NDArray[np.int64], side: int) -> bool:
    """Whether a weighted row has somebody who is not in ``histogram[side]``."""
    mark = histogram[side, rules.values + rules.units]
    # Units are numbered column by column, so that the entries of people are the last of a row.
    for at in range(rules.entry[row + 1] - 1, rules.entry[row] - 1, -1):
        if rules.value[at] != rules.values - 1:
            break
        if histogram[side, rules.values + rules.times[at]] <= mark:
            return True
    return False


@inner_kernel
def take_people(
    rules: Rules, row: int, histogram: NDArray[np.int64], side: int, both: int, rest: int
) -> None:
    """Take people out of ``histogram[rest]`` whose last row, ``row``, has just come to ``histogram[side]``.

    ``histogram[both]`` has all rows.
    """
    here, there = histogram[side, rules.values + rules.units], histogram[both, rules.values + rules.units]
    for at in range(rules.entry[row], rules.entry[row + 1]):
        slot = rules.values + rules.times[at]
        if histogram[side, slot] - here == histogram[both, slot] - there:
            histogram[rest, rules.value[at]] -= 1


@inner_kernel
def is_satisfied(rules: Rules, histogram: NDArray[np.int64], side: int) -> bool:
    """Whether a class with the histogram ``histogram[side]`` satisfies every rule (its size aside)."""
    test, limit, whole, bound, place = rules.test, rules.limit, rules.whole, rules.bound, rules.place
    for r in range(limit.size):
        kind, first, last, option = test[r, KIND], test[r, FIRST], test[r, LAST], test[r, OPTION]
        # Most kinds need the total, the largest count or both, so one pass finds them for all.
        total = _ZERO
        distinct = 0
        largest = 0
        for v in range(first, last):
            count = histogram[side, v]
            total += count
            largest = max(largest, count)
            if count > 0:
                distinct += 1
        # Each row has one value, but people can have several, so that their sum is another number.
        rows, members = rules.rows, total
        if rules.units > 0:
            rows, members = test[r, TOTAL], histogram[side, rules.values - 1]
        if kind == DISTINCT:
            holds = distinct >= limit[r] and largest < members
        elif kind == PEOPLE:
            holds = total >= limit[r]
        elif kind == MAPPED:
            holds = histogram[side, first + 1] >= limit[r]
        elif kind == PRESENCE:
            size, people = histogram[side, first], histogram[side, first + 1]
            holds = people > 0 and bound[test[r, BOUND]] <= size / people <= limit[r]
        elif kind == SHARE:
            holds = largest / members <= limit[r]
        elif kind == ENTROPY and option != 0:
            holds = distinct >= limit[r] and _has_estimated_entropy(
                histogram, side, first, last, total, limit[r]
            )
        elif kind == ENTROPY:
            # Fewer than l values cannot have the entropy of l: that saves the logarithms.
            holds = (
                distinct * largest == total
                if distinct == limit[r]
                else distinct > limit[r] and _has_entropy(histogram, side, first, last, total, limit[r])
            )
        elif kind == RECURSIVE:
            tail = total - _sum_largest(histogram, side, first, last, option - 1)
            holds = tail > 0 and largest / tail < limit[r]
        elif kind == TRANSPORT:
            work = _measure_tree_work(
                histogram, side, first, last, whole, place, test[r, PLACE], option, total, rows
            )
            holds = work / (2.0 * option * total * rows) <= limit[r]
        elif kind == ORDERED:
            work = _measure_ordered_work(histogram, side, first, last, whole, total, rows)
            holds = work / (np.float64(option) * total * rows) <= limit[r]
        elif kind == LIKENESS:
            holds = _is_within_likeness(
                histogram, side, first, last, whole, bound, test[r, BOUND], total, rows
            )
        else:
            holds = _is_within_disclosure(histogram, side, first, last, whole, limit[r], option, total, rows)
        if not holds:
            return False
    return True


@inner_kernel
def _has_entropy(
    histogram: NDArray[np.int64], side: int, first: int, last: int, total: int, limit: float
) -> bool:
    """Whether a class of more than ``limit`` values has the entropy of ``limit`` equally frequent ones."""
    weighed = 0.0
    for v in range(first, last):
        if histogram[side, v] > 0:
            weighed += histogram[side, v] * log(float(histogram[side, v]))
    effective = exp(log(float(total)) - weighed / total)
    if limit != np.rint(limit) or abs(effective - limit) > _ROUNDING * limit:
        return effective >= limit
    # Too near for logarithms: what has exactly this entropy holds, and all else counts as less.
    return _equals_power(histogram, side, first, last, total, limit, _PRIMES[0]) and _equals_power(
        histogram, side, first, last, total, limit, _PRIMES[1]
    )


@inner_kernel
def _has_estimated_entropy(
    histogram: NDArray[np.int64], side: int, first: int, last: int, total: int, limit: float
) -> bool:
    """Whether Grassberger's estimate of the entropy is that of ``limit`` equally frequent values."""
    weighed = 0.0
    for v in range(first, last):
        if histogram[side, v] > 0:
            weighed += histogram[side, v] * _estimate_logarithm(histogram[side, v])
    # No estimate equals the logarithm of a whole number: what is too near to tell counts as less.
    return exp(_estimate_logarithm(total) - weighed / total) >= limit * (1 + _ROUNDING)


@inner_kernel
def _estimate_logarithm(count: int) -> float:
    """Grassberger's G: what stands for the logarithm of a count in his estimate of an entropy."""
    half = count // 2
    if half <= _FEW:
        summed = 0.0
        for k in range(1, half + 1):
            summed += 2.0 / (2.0 * k - 1.0)
        return summed - _CONSTANT
    # The asymptotic series of the digamma function at half + 1/2.
    rest = 1.0 / (float(half) * float(half))
    return log(2.0 * half) + rest * (1.0 / 24.0 - rest * (7.0 / 960.0 - rest * (31.0 / 8064.0)))


@inner_kernel
def _equals_power(
    histogram: NDArray[np.int64], side: int, first: int, last: int, total: int, limit: float, prime: int
) -> bool:
    """Whether n^n equals l^n times the product of all c^c, as far as the remainders by a prime tell."""
    product = _raise_power(int(limit), total, prime)
    for v in range(first, last):
        if histogram[side, v] > 0:
            product = product * _raise_power(histogram[side, v], histogram[side, v], prime) % prime
    return product == _raise_power(total, total, prime)


@inner_kernel
def _raise_power(base: int, power: int, prime: int) -> int:
    """The remainder of a power by a prime."""
    found = _ONE
    factor, left = base % prime, power
    while left > 0:
        if left % 2 == 1:
            found = found * factor % prime
        factor = factor * factor % prime
        left //= 2
    return found


@inner_kernel
def _sum_largest(histogram: NDArray[np.int64], side: int, first: int, last: int, number: int) -> int:
    """Sum of the ``number`` largest counts: each is looked for among those not yet taken."""
    taken = np.int64(0)
    before, at_before = np.int64(-1), last
    # Not sorted: `number` is small, and the histogram has to stay as it is.
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


@inner_kernel
def _measure_tree_work(
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
            # `place` begins with the order of the values; the nodes of each level follow.
            v = first + place[at + i]
            extra += histogram[side, v] * rows - whole[v] * total
            node = at + level * size + i
            if i + 1 == size or place[node] != place[node + 1]:
                work += abs(extra)
                extra = np.int64(0)
    return float(work)


@inner_kernel
def _measure_ordered_work(
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


@inner_kernel
def _is_within_likeness(
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
            # (c/n - q/N) / (q/N) in whole numbers, divided once, as the model itself does.
            common = whole[v] * total
            if (count * rows - common) / common > bound[at + v - first]:
                return False
    return True


@inner_kernel
def _is_within_disclosure(
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
            # Absent from the class: the logarithm is minus infinity, which only the strict form
            # counts.
            if absent != 0 and there > 0:
                return False
        elif here / there >= limit or there / here >= limit:
            return False
    return True
