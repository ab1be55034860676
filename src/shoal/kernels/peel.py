"""Peeling: level vectors one after the other, each releasing the groups of equal rows that keep the rules.

A vector comes several times: at first it releases its narrow cells only, and the wide ones when no other
vector has narrower ones to offer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.rules import (
    FIRST,
    LAST,
    Rules,
    add_row,
    clear_histogram,
    count_slots,
    is_satisfied,
)
from shoal.kernels.signatures import Matrix

ALL, SOME = 0, 1
"""Histograms of a group: of all its rows, and of what is left of them."""
_STEPS = 6  # halvings in search of how much a group has to give up

# Spreads keys over the table, as in `collapse`.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner_kernel
def _number_groups(
    key: NDArray[np.uint64],
    weight: NDArray[np.int64],
    left: NDArray[np.int32],
    count: int,
    slots: NDArray[np.int32],
    group: NDArray[np.int32],
    distinct: NDArray[np.uint64],
    total: NDArray[np.int64],
) -> int:
    """Number equal ones of ``key[:count]`` alike in ``group``, and weigh them; return how many there are.

    Those with -1 in ``group`` are passed over.
    """
    # Half full at most, so that linear probing finds its place soon.
    bits = 1
    while (1 << bits) < 2 * count:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    for slot in range(1 << bits):
        slots[slot] = -1
    groups = 0
    for i in range(count):
        if group[i] < 0:
            continue
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


@inner_kernel
def _trim_groups(
    rules: Rules,
    left: NDArray[np.int32],
    count: int,
    group: NDArray[np.int32],
    groups: int,
    total: NDArray[np.int64],
    first: NDArray[np.int32],
    after: NDArray[np.int32],
    weight: NDArray[np.int64],
    usual: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> None:
    """Take out of the groups that do not keep the rules what they have too much of.

    Rows that are taken out have -1 in ``group``; ``total`` of a group that this does not help becomes 0.
    """
    for g in range(groups):
        first[g] = -1
    for i in range(count):
        g = group[i]
        if g >= 0 and total[g] >= rules.size:
            # Chain the rows of each group that is large enough; the others fail anyway.
            after[i] = first[g]
            first[g] = i
    for g in range(groups):
        if total[g] < rules.size:
            continue
        clear_histogram(rules, histogram, ALL)
        i = first[g]
        while i >= 0:
            add_row(rules, left[i], histogram, ALL)
            i = after[i]
        if not is_satisfied(rules, histogram, ALL):
            level = _find_level(rules, usual, histogram)
            total[g] = 0
            if level > 0:
                total[g] = _cut_group(rules, left, group, g, first, after, weight, level, usual, histogram)


@inner_kernel
def _find_level(rules: Rules, usual: NDArray[np.int64], histogram: NDArray[np.int64]) -> float:
    """How many times what is usual a group may keep of each value, at most; 0 if nothing helps it."""
    high = 0.0
    for value in range(rules.values):
        kept = histogram[ALL, value]
        if usual[value] > 0 and kept > 0:
            high = max(high, kept / usual[value])
            kept = usual[value]
        histogram[SOME, value] = kept
    # With exactly what is usual of the values that it has, a group comes as near to the rules as it can.
    if high == 0 or not is_satisfied(rules, histogram, SOME):
        return 0.0
    # Low levels leave too few rows, high ones break the rules: look for the highest between.
    low, best = 0.0, 0.0
    for _ in range(_STEPS):
        level = (low + high) / 2
        enough = _cap_histogram(rules, usual, histogram, level)
        if enough and not is_satisfied(rules, histogram, SOME):
            high = level
            continue
        low = level
        best = level if enough else best
    return best


@inner_kernel
def _cap_histogram(
    rules: Rules, usual: NDArray[np.int64], histogram: NDArray[np.int64], level: float
) -> bool:
    """Count what is left at a level; return whether that is enough rows."""
    most = 0
    for value in range(rules.values):
        kept = histogram[ALL, value]
        if usual[value] > 0:
            # Of a value that the group has, one row stays at least.
            kept = min(kept, max(1, int(level * usual[value])))
        histogram[SOME, value] = kept
    for r in range(rules.limit.size):
        # Columns lose different rows, so the one with the fewest left decides.
        rows = 0
        for value in range(rules.test[r, FIRST], rules.test[r, LAST]):
            rows += histogram[SOME, value]
        most = rows if r == 0 else min(most, rows)
    return most >= rules.size


@inner_kernel
def _cut_group(
    rules: Rules,
    left: NDArray[np.int32],
    group: NDArray[np.int32],
    g: int,
    first: NDArray[np.int32],
    after: NDArray[np.int32],
    weight: NDArray[np.int64],
    level: float,
    usual: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> int:
    """Take the rows above a level out of a group; return how many are left, 0 if these break the rules."""
    total = 0
    clear_histogram(rules, histogram, SOME)
    i = first[g]
    while i >= 0:
        row = left[i]
        fits = True
        for at in range(rules.entry[row], rules.entry[row + 1]):
            value = rules.value[at]
            most = max(1, int(level * usual[value]))
            # In the order of the chain: a row that would exceed the level of any value goes.
            more = 1 if rules.units > 0 else rules.times[at]
            if usual[value] > 0 and histogram[SOME, value] + more > most:
                fits = False
        if fits:
            add_row(rules, row, histogram, SOME)
            total += weight[row]
        else:
            group[i] = -1
        i = after[i]
    # Whole rows go, so fewer may be left of a value than planned: check once more.
    if total >= rules.size and is_satisfied(rules, histogram, SOME):
        return total
    i = first[g]
    while i >= 0:
        group[i] = g  # the group has all its rows again
        i = after[i]
    return 0


@entry_kernel
def merge_leftover_rows(
    rules: Rules,
    weight: NDArray[np.int64],
    class_of: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> None:
    """Let the rows without a class join the last classes, as many as it takes to keep the rules."""
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    classes = class_of.max() + 1
    total = 0
    last = classes
    while True:
        for r in range(class_of.size):
            # First the rows without a class, then class after class, from the last one back.
            if class_of[r] == (-1 if last == classes else last):
                total += weight[r]
                add_row(rules, r, histogram, 0)
                class_of[r] = classes
        if last == 0 or (total >= rules.size and is_satisfied(rules, histogram, 0)):
            break
        last -= 1
    for r in range(class_of.size):
        if class_of[r] == classes:
            class_of[r] = last


@entry_kernel
def peel_classes(
    codes: Matrix[np.unsignedinteger],
    weight: NDArray[np.int64],
    rules: Rules,
    usual: NDArray[np.int64],
    word: NDArray[np.uint64],
    cost: NDArray[np.float64],
    vectors: Matrix[np.int64],
    most: NDArray[np.float64],
    halt: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Class of every row; -1 where no vector found it one.

    Parameters
    ----------
    codes : uint[n, d]
    usual : int64[values]
        How many of each sensitive value there are in a class that keeps the rules well, up to a factor; 0 for
        values that the rules never have too many of.
    word : uint64[...]
        Words that are added up to the key of a generalised row.
    cost : float64[...]
        What a row loses in the node that each of them stands for.
    vectors : int64[v, d]
        For each level vector and axis, where the words of that level begin in ``word``.
    most : float64[v]
        What a row loses at most in a cell that the vector releases.
    """
    n, d = codes.shape
    class_of = np.full(n, -1)
    left = np.arange(n).astype(np.int32)
    key = np.empty(n, np.uint64)
    distinct = np.empty(n, np.uint64)
    group, first, after = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    total = np.empty(n, np.int64)
    slots = np.empty(4 * n + 4, np.int32)
    histogram = np.zeros((2, count_slots(rules)), np.int64)
    count = n
    classes = 0
    for v in range(vectors.shape[0]):
        if count == 0 or halt[0]:
            break
        for i in range(count):
            # Random words: equal sums mean that the level vector makes the rows equal.
            sum_ = np.uint64(0)
            lost = 0.0
            for j in range(d):
                at = vectors[v, j] + codes[left[i], j]
                sum_ += word[at]
                lost += cost[at]
            key[i] = sum_
            group[i] = 0 if lost <= most[v] else -1
        groups = _number_groups(key, weight, left, count, slots, group, distinct, total)
        if rules.limit.size > 0:
            _trim_groups(rules, left, count, group, groups, total, first, after, weight, usual, histogram)
        before = classes
        for g in range(groups):
            if total[g] >= rules.size:
                # A total below zero says that the group has become a class, and which one.
                total[g] = -1 - classes
                classes += 1
        if classes > before:
            rest = 0
            for i in range(count):
                if group[i] >= 0 and total[group[i]] < 0:
                    class_of[left[i]] = -1 - total[group[i]]
                else:
                    # Rows without a class move to the front, for the next vector.
                    left[rest] = left[i]
                    rest += 1
            count = rest
    return class_of
