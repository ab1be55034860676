"""Peeling: level vectors one after the other, each releasing the groups of equal rows that keep the rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry, inner
from shoal.kernels.rules import Rules, add_row, satisfied

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner
def _grouped(
    key: NDArray[np.uint64],
    weight: NDArray[np.int64],
    left: NDArray[np.int32],
    count: int,
    slots: NDArray[np.int32],
    group: NDArray[np.int32],
    distinct: NDArray[np.uint64],
    total: NDArray[np.int64],
) -> int:
    """Number equal ones of ``key[:count]`` alike in ``group``, and weigh them; return how many there are."""
    bits = 1
    while (1 << bits) < 2 * count:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    for slot in range(1 << bits):
        slots[slot] = -1
    groups = 0
    for i in range(count):
        slot = (key[i] * _GOLDEN) >> np.uint64(64 - bits)
        while slots[slot] >= 0 and distinct[slots[slot]] != key[i]:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = groups
            distinct[groups] = key[i]
            total[groups] = 0
            groups += 1
        group[i] = slots[slot]
        total[group[i]] += weight[left[i]]
    return groups


@inner
def _refuse(
    rules: Rules,
    left: NDArray[np.int32],
    count: int,
    group: NDArray[np.int32],
    groups: int,
    total: NDArray[np.int64],
    first: NDArray[np.int32],
    after: NDArray[np.int32],
    histogram: NDArray[np.int64],
) -> None:
    """Set ``total`` of the groups that are large enough, but do not keep the other rules, to 0."""
    for g in range(groups):
        first[g] = -1
    for i in range(count):
        g = group[i]
        if total[g] >= rules.size:
            after[i] = first[g]
            first[g] = i
    for g in range(groups):
        if total[g] < rules.size:
            continue
        for value in range(rules.values):
            histogram[0, value] = 0
        i = first[g]
        while i >= 0:
            add_row(rules, left[i], histogram, 0)
            i = after[i]
        if not satisfied(rules, histogram, 0):
            total[g] = 0


@inner
def _give_back(
    rules: Rules,
    weight: NDArray[np.int64],
    class_of: NDArray[np.int64],
    classes: int,
    histogram: NDArray[np.int64],
) -> None:
    """Let the rows without a class join the last classes, as many as it takes to keep the rules."""
    total = 0
    for value in range(rules.values):
        histogram[0, value] = 0
    last = classes
    while True:
        for r in range(class_of.size):
            if class_of[r] == (-1 if last == classes else last):
                total += weight[r]
                add_row(rules, r, histogram, 0)
                class_of[r] = classes
        if last == 0 or (total >= rules.size and satisfied(rules, histogram, 0)):
            break
        last -= 1
    for r in range(class_of.size):
        if class_of[r] == classes:
            class_of[r] = last


@entry
def peel(
    codes: NDArray[np.unsignedinteger],
    weight: NDArray[np.int64],
    rules: Rules,
    word: NDArray[np.uint64],
    vectors: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Class of every row.

    Parameters
    ----------
    codes : uint[n, d]
    word : uint64[...]
        Words that are added up to the key of a generalised row.
    vectors : int64[v, d]
        For each level vector and axis, where the words of that level begin in ``word``.
    """
    n, d = codes.shape
    class_of = np.full(n, -1)
    left = np.arange(n).astype(np.int32)
    key = np.empty(n, np.uint64)
    distinct = np.empty(n, np.uint64)
    group, first, after = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    total = np.empty(n, np.int64)
    slots = np.empty(4 * n + 4, np.int32)
    histogram = np.zeros((1, rules.values), np.int64)
    count = n
    classes = 0
    for v in range(vectors.shape[0]):
        if count == 0 or halt[0]:
            break
        for i in range(count):
            sum_ = np.uint64(0)
            for j in range(d):
                sum_ += word[vectors[v, j] + codes[left[i], j]]
            key[i] = sum_
        groups = _grouped(key, weight, left, count, slots, group, distinct, total)
        if rules.limit.size > 0:
            _refuse(rules, left, count, group, groups, total, first, after, histogram)
        before = classes
        for g in range(groups):
            if total[g] >= rules.size:
                total[g] = -1 - classes
                classes += 1
        if classes > before:
            rest = 0
            for i in range(count):
                if total[group[i]] < 0:
                    class_of[left[i]] = -1 - total[group[i]]
                else:
                    left[rest] = left[i]
                    rest += 1
            count = rest
    if count > 0:
        _give_back(rules, weight, class_of, classes, histogram)
    return class_of
