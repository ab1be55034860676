"""MDAV: groups of the nearest rows around those farthest from the middle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import NOBODY, ZERO
from shoal.kernels.compiled import entry_kernel, inner_kernel, maker_kernel
from shoal.kernels.rules import Rules, add_row, clear_histogram, count_slots, is_satisfied
from shoal.kernels.signatures import Matrix


@inner_kernel
def _measure_distances(
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
        # Squared: the order is the same, and a root is saved.
        far[i] = sum_
        if sum_ > far[farthest]:
            farthest = i
    return farthest


@inner_kernel
def _compute_centroid(
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


@inner_kernel
def _form_group(
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
    # `middle` is the seed from here on: the caller measures the next farthest row from it.
    for j in range(middle.size):
        middle[j] = x[pool[seed], j]
    clear_histogram(rules, histogram, ZERO)
    _measure_distances(x, pool, taken, middle, far)
    total = 0
    while taken < pool.size:
        # The seed itself is at distance 0 and comes first.
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
        if total >= rules.size and is_satisfied(rules, histogram, 0):
            return taken, True
    return taken, False


@maker_kernel
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
    # Groups that break the rules with this row are not asked a second time.
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
        clear_histogram(rules, histogram, ZERO)
        for i in range(at):
            if label[i] == best:
                add_row(rules, ident[pool[i]], histogram, 0)
        add_row(rules, ident[pool[at]], histogram, 0)
        if is_satisfied(rules, histogram, 0):
            label[at] = best
            return True
        refused[best] = True


@entry_kernel
def find_mdav_groups(
    x: Matrix[np.float64],
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
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    left = ZERO
    for r in range(n):
        left += weight[r]
    taken = ZERO
    groups = ZERO
    kept = True
    # The paper makes two groups while 3k rows are left, then one from 2k on: the check inside the
    # loop does both.
    while left >= 2 * rules.size and kept and taken < n and not halt[0]:
        # Two groups per middle: around the row farthest from it, and around the one farthest from that row.
        for side in range(2):
            if left < 2 * rules.size or taken == n or not kept:
                break
            if side == 0:
                _compute_centroid(x, weight, pool, taken, middle)
            farthest = _measure_distances(x, pool, taken, middle, far)
            start = taken
            taken, kept = _form_group(x, weight, rules, ident, pool, taken, farthest, middle, far, histogram)
            for i in range(start, taken):
                left -= weight[pool[i]]
            if kept:
                ends[groups] = taken
                groups += 1
            else:
                # The rows of a failed group stay in the pool; they join groups below.
                taken = start
    if taken < n:  # what is left is a group if it can be one
        _, kept = _form_group(x, weight, rules, ident, pool, taken, taken, middle, far, histogram)
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
