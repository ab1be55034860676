"""MDAV: groups of the nearest rows around those farthest from the middle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import NOBODY, ZERO
from shoal.kernels.compiled import entry, inner
from shoal.kernels.rules import Rules, add_row, satisfied


@inner
def _distances(
    x: NDArray[np.float64],
    pool: NDArray[np.int64],
    taken: int,
    middle: NDArray[np.float64],
    far: NDArray[np.float64],
) -> int:
    """Write how far from ``middle`` the rows ``pool[taken:]`` are, squared; return where the farthest is."""
    farthest = taken
    for i in range(taken, pool.size):
        sum_ = 0.0
        for j in range(middle.size):
            step = x[pool[i], j] - middle[j]
            sum_ += step * step
        far[i] = sum_
        if sum_ > far[farthest]:
            farthest = i
    return farthest


@inner
def _middle(
    x: NDArray[np.float64],
    weight: NDArray[np.int64],
    pool: NDArray[np.int64],
    taken: int,
    middle: NDArray[np.float64],
) -> None:
    """Write the weighted mean of the rows ``pool[taken:]``."""
    for j in range(middle.size):
        sum_ = 0.0
        total = 0
        for i in range(taken, pool.size):
            sum_ += weight[pool[i]] * x[pool[i], j]
            total += weight[pool[i]]
        middle[j] = sum_ / total


@inner
def _group(
    x: NDArray[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    pool: NDArray[np.int64],
    taken: int,
    seed: int,
    middle: NDArray[np.float64],
    far: NDArray[np.float64],
    histogram: NDArray[np.int64],
) -> tuple[int, bool]:
    """Move the row at ``seed`` and those nearest to it to the front, until together they keep the rules.

    Returns
    -------
    where the rest begins, and whether the rules are kept
    """
    for j in range(middle.size):
        middle[j] = x[pool[seed], j]
    for value in range(rules.values):
        histogram[0, value] = 0
    _distances(x, pool, taken, middle, far)
    total = 0
    while taken < pool.size:
        nearest = taken
        for i in range(taken + 1, pool.size):
            if far[i] < far[nearest]:
                nearest = i
        r = pool[nearest]
        pool[nearest], far[nearest] = pool[taken], far[taken]
        pool[taken] = r
        taken += 1
        total += weight[r]
        add_row(rules, ident[r], histogram, 0)
        if total >= rules.size and satisfied(rules, histogram, 0):
            return taken, True
    return taken, False


@inner
def _join_nearest(
    x: NDArray[np.float64],
    rules: Rules,
    ident: NDArray[np.int64],
    pool: NDArray[np.int64],
    groups: int,
    label: NDArray[np.int64],
    at: int,
    histogram: NDArray[np.int64],
) -> bool:
    """Let the row at ``at`` join the group of the nearest row whose group still keeps the rules with it."""
    refused = np.zeros(groups, np.bool_)
    while True:
        best = NOBODY
        least = np.inf
        for i in range(at):
            if label[i] >= 0 and not refused[label[i]]:
                sum_ = 0.0
                for j in range(x.shape[1]):
                    step = x[pool[i], j] - x[pool[at], j]
                    sum_ += step * step
                if sum_ < least:
                    least = sum_
                    best = label[i]
        if best < 0:
            return False
        for value in range(rules.values):
            histogram[0, value] = 0
        for i in range(at):
            if label[i] == best:
                add_row(rules, ident[pool[i]], histogram, 0)
        add_row(rules, ident[pool[at]], histogram, 0)
        if satisfied(rules, histogram, 0):
            label[at] = best
            return True
        refused[best] = True


@entry
def mdav(
    x: NDArray[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Group of every row, all -1 if the rules cannot be kept.

    Parameters
    ----------
    x : float64[n, d]
        Rows in a space where distance matters.

    References
    ----------
    J. Domingo-Ferrer, V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
    Data Mining and Knowledge Discovery 11(2), 2005 (MDAV-generic).
    """
    n, d = x.shape
    pool = np.arange(n)
    ends = np.empty(n, np.int64)
    middle = np.empty(d)
    far = np.empty(n)
    histogram = np.zeros((1, rules.values), np.int64)
    left = ZERO
    for r in range(n):
        left += weight[r]
    taken = ZERO
    groups = ZERO
    kept = True
    while left >= 2 * rules.size and kept and taken < n and not halt[0]:
        # Two groups per middle: around the row farthest from it, and around the one farthest from that row.
        for side in range(2):
            if left < 2 * rules.size or taken == n or not kept:
                break
            if side == 0:
                _middle(x, weight, pool, taken, middle)
            farthest = _distances(x, pool, taken, middle, far)
            start = taken
            taken, kept = _group(x, weight, rules, ident, pool, taken, farthest, middle, far, histogram)
            for i in range(start, taken):
                left -= weight[pool[i]]
            if kept:
                ends[groups] = taken
                groups += 1
            else:
                taken = start
    if taken < n:  # what is left is a group if it can be one
        _, kept = _group(x, weight, rules, ident, pool, taken, taken, middle, far, histogram)
        if kept:
            ends[groups] = n
            groups += 1
            taken = n
    label = np.full(n, -1)
    first = 0
    for g in range(groups):
        for i in range(first, ends[g]):
            label[i] = g
        first = ends[g]
    of = np.full(n, -1)
    for i in range(taken, n):
        if not _join_nearest(x, rules, ident, pool, groups, label, i, histogram):
            return of
    for i in range(n):
        of[pool[i]] = label[i]
    return of
