"""Groups of rows: what they cost, and how a small table is best divided into them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import measure_interval
from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.signatures import Matrix

LIMB_BITS = 48
"""Bits of a limb: whole numbers of any size are digits to the base 2^48, so that sums of many still fit."""
LIMB_MASK = (1 << LIMB_BITS) - 1


class GroupCosts(NamedTuple):
    """What the cheapest cells around a group of rows cost, column by column.

    As in `Axes`, a column is a *line* or a *tree*; where `unit` is not 0 it is neither, and a cell becomes
    the set of the values in the group.
    """

    weight: NDArray[np.float64]
    """[d]"""
    unit: NDArray[np.float64]
    """[d] what each further value of a set costs, before the weight."""
    shape: Matrix[np.int64]
    position: NDArray[np.float64]
    node: NDArray[np.int32]
    node_cost: NDArray[np.float64]


@inner_kernel
def group_cost(costs: GroupCosts, codes: NDArray[np.int64], member: NDArray[np.int64], size: int) -> float:
    """What each row of the group ``member[:size]`` costs."""
    total = 0.0
    for j in range(codes.shape[1]):
        if costs.unit[j] > 0.0:
            # Each member against those before it: groups are small, and this needs no memory.
            different = 0
            for a in range(size):
                seen = False
                for b in range(a):
                    if codes[member[a], j] == codes[member[b], j]:
                        seen = True
                        break
                if not seen:
                    different += 1
            total += costs.weight[j] * min(1.0, (different - 1) * costs.unit[j])
        else:
            lo = codes[member[0], j]
            hi = lo
            for a in range(1, size):
                code = codes[member[a], j]
                lo = min(lo, code)
                hi = max(hi, code)
            total += costs.weight[j] * measure_interval(
                costs.shape, costs.position, costs.node, costs.node_cost, j, lo, hi
            )
    return total


@entry_kernel
def group_costs(
    costs: GroupCosts, codes: Matrix[np.int64], start: NDArray[np.int64], member: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What each row of each group costs; group ``g`` is ``member[start[g]:start[g + 1]]``."""
    result = np.empty(start.size - 1)
    for g in range(result.size):
        result[g] = group_cost(costs, codes, member[start[g] : start[g + 1]], start[g + 1] - start[g])
    return result


@entry_kernel
def pair_costs(costs: GroupCosts, codes: Matrix[np.int64]) -> NDArray[np.float64]:
    """[n, n] what each of two rows costs if they are a group."""
    n = codes.shape[0]
    result = np.zeros((n, n))
    member = np.empty(2, np.int64)
    for a in range(n):
        for b in range(a, n):
            member[0] = a
            member[1] = b
            result[a, b] = group_cost(costs, codes, member, 2)
            result[b, a] = result[a, b]
    return result


@entry_kernel
def cheapest_partners(pair: Matrix[np.float32], most: int) -> NDArray[np.int32]:
    """[n, most] the other rows that are cheapest beside each row, cheapest first; of ties the first rows.

    Fewer than ``most`` where there are no more rows.
    """
    n = pair.shape[0]
    most = min(most, n - 1)
    near = np.empty((n, most), np.int32)
    for row in range(n):
        found = 0
        for other in range(n):
            if other == row or (found == most and pair[row, other] >= pair[row, near[row, most - 1]]):
                continue
            # Insert into the short list. Only a cheaper row moves ahead, so the first of ties stays
            # first.
            at = min(found, most - 1)
            while at > 0 and pair[row, other] < pair[row, near[row, at - 1]]:
                near[row, at] = near[row, at - 1]
                at -= 1
            near[row, at] = other
            found = min(found + 1, most)
    return near


@inner_kernel
def _add_limbs(a: NDArray[np.int64], b: NDArray[np.int64], total: NDArray[np.int64]) -> None:
    """Add two whole numbers that are given as limbs, the highest first."""
    carry = 0
    for i in range(total.size - 1, 0, -1):
        digit = a[i] + b[i] + carry
        total[i] = digit & LIMB_MASK
        carry = digit >> LIMB_BITS
    # Only the highest limb has a sign, and room for all that is carried.
    total[0] = a[0] + b[0] + carry


@inner_kernel
def _compare_limbs(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Below 0 if ``a`` is less than ``b``, 0 if they are equal, above 0 if it is more."""
    for i in range(a.size):
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    return 0


@entry_kernel
def find_best_divisions(
    value: Matrix[np.int64], allowed: NDArray[np.bool_], times: NDArray[np.int64]
) -> tuple[Matrix[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]:
    """For every set of rows (a bit mask), the least value of groups that divide it, and in how many ways.

    Parameters
    ----------
    value : int64[2^n, limbs]
        Of each group, as limbs, the highest first.
    allowed : bool[2^n]
    times : int64[2^n]
        How often a division that has the group counts; may be negative, see `count_multiplicities`.

    Returns
    -------
    the least values; which sets can be divided at all; the numbers of ways, modulo 2^64; and numbers that the
    ways do not exceed
    """
    # Sets are numbered by their bits, so all parts of a set come before it.
    best = np.zeros(value.shape, np.int64)
    known = np.zeros(allowed.size, np.bool_)
    ways = np.zeros(allowed.size, np.int64)
    most = np.zeros(allowed.size)
    total = np.empty(value.shape[1], np.int64)
    known[0] = True
    ways[0] = 1
    most[0] = 1.0
    for whole in range(1, allowed.size):
        low = whole & -whole  # the lowest row goes into some group: fix that, or divisions count many times
        rest = whole ^ low
        part = rest
        while True:
            # `part` runs through all subsets of `rest`, the empty one last.
            group, others = low | part, rest ^ part
            if allowed[group] and known[others]:
                _add_limbs(value[group], best[others], total)
                order = _compare_limbs(total, best[whole]) if known[whole] else -1
                if order < 0:
                    best[whole] = total
                    known[whole] = True
                    ways[whole] = 0
                    most[whole] = 0.0
                if order <= 0:
                    # What is carried beyond 64 bits cancels out, unless the result itself is as large.
                    ways[whole] += times[group] * ways[others]
                    most[whole] += abs(float(times[group])) * most[others]
            if part == 0:
                break
            part = (part - 1) & rest
    return best, known, ways, most


@entry_kernel
def count_multiplicities(allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Signs that make divisions count tables: how often each set of rows counts as a group.

    Two groups with the same released cells are one class. The multiplicities are such that all divisions of
    an allowed set into groups that share their cells sum to 1: a logarithm, in the algebra of set functions.
    """
    result = np.zeros(allowed.size, np.int64)
    for whole in range(1, allowed.size):
        low = whole & -whole
        rest = whole ^ low
        # With f the allowed sets and g the result: f(S) is the sum of g(T) f(S - T) over all parts
        # T that have the lowest row. Solved for g(S).
        total = 1 if allowed[whole] else 0
        part = rest
        while part != 0:
            part = (part - 1) & rest
            if allowed[rest ^ part]:
                total -= result[low | part]
        result[whole] = total
    return result
