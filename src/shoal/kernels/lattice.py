"""Full-domain groups: rows that a level vector makes equal, made from groups of lower levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.logarithms import log2
from shoal.kernels.rules import Rules, add_row, clear_histogram, count_slots, is_satisfied
from shoal.kernels.signatures import Matrix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

SUPPRESSED, SMALL, CLASSES, LARGE, KEPT_SQUARES, SQUARES = range(6)
"""What `summarize_groups` counts: rows in groups that do not hold, and in those that are too small;
groups that hold, and those that are large enough; the sum of the squared sizes of those that hold;
and of all, where each row of a group that is too small counts as the least size."""


@entry_kernel
def merge_groups(
    codes: Matrix[np.unsignedinteger],
    row: NDArray[np.int32],
    weight: NDArray[np.int64],
    key: NDArray[np.uint64],
    word: NDArray[np.uint64],
    axis: NDArray[np.int64],
    old: NDArray[np.int64],
    new: NDArray[np.int64],
    keys: NDArray[np.uint64],
    group: NDArray[np.int32],
    total: NDArray[np.int64],
    first: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> int:
    """Make groups of groups; return how many there are.

    Parameters
    ----------
    codes : uint[n, d]
        The codes of all rows.
    row, weight, key
        Of the groups to begin with: some row, the number of rows, the sum of the words.
    axis : int64[a]
        The columns whose level is another now.
    old, new : int64[a]
        Where the words of their old and new level begin in ``word``.
    keys, group, total, first
        Filled: the sum of words of each new group, the new group of each old one, the number of rows and the
        first old group of each new one.
    slots : int32[]
        Memory for a table of twice the groups, rounded up to a power of 2.
    """
    # Half full at most, so that linear probing finds its place soon.
    bits = 4
    while (1 << bits) < 2 * weight.size:
        bits += 1
    for slot in range(1 << bits):
        slots[slot] = -1
    mask = np.uint64((1 << bits) - 1)
    groups = 0
    for i in range(weight.size):
        # The words are random, so equal sums mean equal nodes. Only those of changed columns are
        # exchanged.
        sum_ = key[i]
        for a in range(axis.size):
            code = codes[row[i], axis[a]]
            sum_ += word[new[a] + code] - word[old[a] + code]
        place = (sum_ * _GOLDEN) >> np.uint64(64 - bits)
        while slots[place] >= 0 and keys[slots[place]] != sum_:
            place = (place + np.uint64(1)) & mask
        g = slots[place]
        if g < 0:
            g = np.int32(groups)  # of one type with what `slots` holds
            slots[place] = g
            keys[g] = sum_
            total[g] = 0
            first[g] = i
            groups += 1
        group[i] = g
        total[g] += weight[i]
    return groups


@inner_kernel
def _keep_units(
    rules: Rules,
    chain: NDArray[np.int32],
    g: int,
    histogram: NDArray[np.int64],
    value: NDArray[np.int32],
    times: NDArray[np.int64],
    at: int,
) -> int:
    """Write the units of group ``g`` from ``at`` on, each once; return where the next ones begin."""
    mark = histogram[0, rules.values + rules.units]
    i = chain[0, g]
    while i >= 0:
        for entry in range(rules.entry[i], rules.entry[i + 1]):
            slot = rules.values + rules.times[entry]
            if histogram[0, slot] > mark:
                histogram[0, slot] = mark  # it is written now
                value[at] = rules.value[entry]
                times[at] = rules.times[entry]
                at += 1
        i = chain[1, i]
    return at


@entry_kernel
def check_groups(
    rules: Rules,
    group: NDArray[np.int32],
    count: int,
    total: NDArray[np.int64],
    groups: int,
    keep: bool,
    most: int,
    holds: NDArray[np.bool_],
    chain: Matrix[np.int32],
    start: NDArray[np.int64],
    value: NDArray[np.int32],
    times: NDArray[np.int64],
) -> None:
    """Fill ``holds``: whether each group keeps the rules, whose entries are those of the old groups.

    Parameters
    ----------
    count
        Number of old groups.
    keep
        Whether to fill ``start``, ``value`` and ``times``: the entries of the new groups.
    most
        Once more rows than so many are in groups that do not hold, the others are not looked at, unless their
        entries are to be kept; they do not hold then.
    chain : int32[2, ...]
        Memory for the first member of each group and the one after each member.
    """
    failing = 0
    for g in range(groups):
        holds[g] = total[g] >= rules.size
        failing += 0 if holds[g] else total[g]
    for g in range(groups):
        chain[0, g] = -1
    # Backwards, so that each chain lists its members in ascending order.
    for i in range(count - 1, -1, -1):
        chain[1, i] = chain[0, group[i]]
        chain[0, group[i]] = i
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    at = 0
    for g in range(groups):
        start[g] = at
        # Once too many rows fail, the level vector is rejected whatever the other groups are.
        if not keep and (not holds[g] or failing > most):
            holds[g] = False
            continue
        i = chain[0, g]
        while i >= 0:
            add_row(rules, i, histogram, 0)
            i = chain[1, i]
        if holds[g] and not is_satisfied(rules, histogram, 0):
            holds[g] = False
            failing += total[g]
        if rules.units > 0:
            at = _keep_units(rules, chain, g, histogram, value, times, at) if keep else at
            clear_histogram(rules, histogram, 0)
            continue
        for v in range(rules.values):
            if keep and histogram[0, v] > 0:
                value[at] = v
                times[at] = histogram[0, v]
                at += 1
            histogram[0, v] = 0  # ready for the next group
    start[groups] = at


@entry_kernel
def summarize_groups(
    total: NDArray[np.int64], holds: NDArray[np.bool_], groups: int, size: int
) -> NDArray[np.float64]:
    """Count rows and groups, see `SUPPRESSED` and the others."""
    found = np.zeros(6)
    for g in range(groups):
        rows = np.float64(total[g])
        # Each row of a small group counts as if its group had the least size.
        found[SQUARES] += rows * max(rows, size)
        if total[g] < size:
            found[SMALL] += rows
        else:
            found[LARGE] += 1
        if holds[g]:
            found[CLASSES] += 1
            found[KEPT_SQUARES] += rows * rows
        else:
            found[SUPPRESSED] += rows
    return found


@entry_kernel
def sum_suppressed(
    codes: Matrix[np.unsignedinteger],
    row: NDArray[np.int32],
    total: NDArray[np.int64],
    holds: NDArray[np.bool_],
    groups: int,
    amount: NDArray[np.float64],
    begin: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Per column, the sum over the rows in groups that do not hold of ``amount``, which begins there."""
    sums = np.zeros(codes.shape[1])
    for g in range(groups):
        if not holds[g]:
            for j in range(codes.shape[1]):
                sums[j] += total[g] * amount[begin[j] + codes[row[g], j]]
    return sums


@entry_kernel
def measure_suppressed_entropy(
    codes: Matrix[np.unsignedinteger],
    row: NDArray[np.int32],
    total: NDArray[np.int64],
    holds: NDArray[np.bool_],
    groups: int,
    node: NDArray[np.int64],
    begin: NDArray[np.int64],
    nodes: int,
) -> NDArray[np.float64]:
    """Per column, the bits that tell the nodes of rows in groups that do not hold from one another."""
    bits = np.zeros(codes.shape[1])
    count = np.zeros(nodes)
    for j in range(codes.shape[1]):
        rows = 0.0
        for v in range(nodes):
            count[v] = 0.0
        for g in range(groups):
            if not holds[g]:
                count[node[begin[j] + codes[row[g], j]]] += total[g]
                rows += total[g]
        for v in range(nodes):
            if count[v] > 0:
                # Summed over the nodes: the entropy of the column times the number of rows.
                bits[j] += count[v] * log2(rows / count[v])
    return bits


@entry_kernel
def raise_bounds(
    least: NDArray[np.float64], shape: NDArray[np.int64], vector: NDArray[np.int64], value: float, up: bool
) -> None:
    """Raise what is known of every vector below ``vector``, or above it, to at least ``value``.

    What is known of the vectors of a lattice of this shape lies in ``least`` in lexicographic order.
    """
    d = shape.size
    now = vector.copy() if up else np.zeros(d, np.int64)
    first = now.copy()
    last = shape - 1 if up else vector
    # How far apart two vectors lie that differ by one level of a column.
    step = np.ones(d, np.int64)
    for j in range(d - 2, -1, -1):
        step[j] = step[j + 1] * shape[j + 1]
    at = (now * step).sum()
    # Levels of the last column lie side by side: one run for each setting of the others.
    run = last[d - 1] - first[d - 1] + 1
    while True:
        for i in range(at, at + run):
            least[i] = max(least[i], value)
        j = d - 2
        while j >= 0 and now[j] == last[j]:
            at -= (now[j] - first[j]) * step[j]
            now[j] = first[j]
            j -= 1
        if j < 0:
            return
        now[j] += 1
        at += step[j]


@entry_kernel
def find_smallest_below(
    vectors: Matrix[np.int64], sizes: NDArray[np.int64], count: int, vector: NDArray[np.int64]
) -> int:
    """Which of the first ``count`` vectors below ``vector`` has the smallest size; the first is below all."""
    best = 0
    for i in range(1, count):
        # The size first: it is one comparison, the vector up to d.
        if sizes[i] < sizes[best]:
            below = True
            for j in range(vector.size):
                if vectors[i, j] > vector[j]:
                    below = False
                    break
            if below:
                best = i
    return best


@entry_kernel
def find_path_up(floor: NDArray[np.float64], shape: NDArray[np.int64], at: int) -> NDArray[np.int64]:
    """Numbers of vectors from ``at`` to the last: after each the one above it that has the least floor."""
    d = shape.size
    level = np.empty(d, np.int64)
    step = np.empty(d, np.int64)
    left, size = at, 1
    steps = 1
    # The number of a vector has its levels as digits, the last column's lowest.
    for j in range(d - 1, -1, -1):
        level[j] = left % shape[j]
        left //= shape[j]
        step[j] = size
        size *= shape[j]
        steps += shape[j] - 1 - level[j]
    way = np.empty(steps, np.int64)
    way[0] = at
    for i in range(1, steps):
        best = -1
        for j in range(d):
            if level[j] + 1 < shape[j] and (best < 0 or floor[at + step[j]] < floor[at + step[best]]):
                best = j
        level[best] += 1
        at += step[best]
        way[i] = at
    return way
