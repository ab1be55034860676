"""Classes as boxes: how wide a class is, and how wide it would be with one row more, less or exchanged.

Rows are stored by what widens a class along each axis, so that the loops need no look-ups: a place on a
*line*, a leaf of a *tree*, one bit of a *set* of values. A class keeps its outermost places twice (with and
without the outermost row), so that taking any one row away costs no look at the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import as_int64, inline_kernel, inner_kernel
from shoal.kernels.rules import Rules
from shoal.kernels.signatures import Cube, Matrix

LO, HI, LO2, HI2 = 0, 1, 2, 3
"""Rows of a class in `Boxes.line` and `Boxes.tree`: least and greatest; the same with one row left out."""
ANY, TWICE = 0, 1
"""Rows of a class in `Boxes.bits`: values present, and values present in two rows or more."""


ZERO = as_int64(0)
NOBODY = as_int64(-1)
"""No row, or no class."""


class Points(NamedTuple):
    """Weighted rows in the space that the search measures in."""

    place: Matrix[np.float64]
    """[n, lines] place on each line, times the line's weight."""
    leaf: Matrix[np.int32]
    """[n, trees] leaf of each tree."""
    bits: Matrix[np.uint64]
    """[n, words] one bit per set; a set with many values has several words."""
    weight: NDArray[np.int64]
    """[n]"""


class WidthCosts(NamedTuple):
    """What width costs."""

    whole: NDArray[np.float64]
    """[lines] cost of a whole line."""
    root: Matrix[np.int64]
    """[2, trees] where each tree begins in `node`, and its number of leaves."""
    node: NDArray[np.int32]
    """Per tree, level by level, the node above each leaf."""
    node_cost: NDArray[np.float64]
    """Cost of each of those nodes."""
    unit: NDArray[np.float64]
    """[words] cost of one more value of the set that a word belongs to."""
    base: float
    """Cost of the one value that every set has at least, not to be counted."""


class ClassBoxes(NamedTuple):
    """Classes; those without rows are free to be used.

    All numbers of rows and classes are of one type: each other type would be compiled once more.
    """

    line: Cube[np.float64]
    """[classes, 4, lines]"""
    tree: Cube[np.int32]
    """[classes, 4, trees]"""
    bits: Cube[np.uint64]
    """[classes, 2, words]"""
    total: NDArray[np.int64]
    """[classes] weight."""
    cost: NDArray[np.float64]
    """[classes] cost of each row of the class."""
    head: NDArray[np.int64]
    """[classes] first member, -1 where there is none."""
    link: Matrix[np.int64]
    """[2, n] the member after and the member before each row, -1 at the ends."""
    of: NDArray[np.int64]
    """[n] class of each row, -1 for none."""
    tally: Matrix[np.int32]
    """[classes, values] how often each class has each sensitive value; empty where nobody asks, or where it
    would take too much memory and is counted anew each time."""


@inline_kernel
def tree_cost(
    root: NDArray[np.int64],
    node: NDArray[np.int32],
    node_cost: NDArray[np.float64],
    t: int,
    lo: int,
    hi: int,
) -> float:
    """Cost of the smallest node of tree ``t`` above the leaves ``lo..hi``."""
    at = root[0, t]
    while node[at + lo] != node[at + hi]:
        at += root[1, t]
    return node_cost[at + lo]  # type: ignore[no-any-return]


@inline_kernel
def cost_with(
    line: NDArray[np.float64],
    tree: NDArray[np.int32],
    bits: NDArray[np.uint64],
    cost: NDArray[np.float64],
    c: int,
    place: NDArray[np.float64],
    leaf: NDArray[np.int32],
    mark: NDArray[np.uint64],
    r: int,
    whole: NDArray[np.float64],
    root: NDArray[np.int64],
    node: NDArray[np.int32],
    node_cost: NDArray[np.float64],
    unit: NDArray[np.float64],
) -> float:
    """Cost of a row of class ``c`` once row ``r`` has joined it."""
    sum_ = cost[c]
    for j in range(whole.size):
        # Only where the row lies outside of the box does the cost change. A width never costs more
        # than the whole line: a missing value lies one whole line below the others.
        p = place[r, j]
        lo = line[c, LO, j]
        hi = line[c, HI, j]
        if p < lo:
            sum_ += min(whole[j], hi - p) - min(whole[j], hi - lo)
        elif p > hi:
            sum_ += min(whole[j], p - lo) - min(whole[j], hi - lo)
    for t in range(root.shape[1]):
        v = leaf[r, t]
        lo_leaf = tree[c, LO, t]
        hi_leaf = tree[c, HI, t]
        # A node has consecutive leaves, so one between the outermost is below their node already.
        if v < lo_leaf or v > hi_leaf:
            sum_ -= tree_cost(root, node, node_cost, t, lo_leaf, hi_leaf)
            sum_ += tree_cost(root, node, node_cost, t, min(v, lo_leaf), max(v, hi_leaf))
    for w in range(unit.size):
        if mark[r, w] & ~bits[c, ANY, w]:
            sum_ += unit[w]
    return float(sum_)


@inline_kernel
def cost_without(
    line: NDArray[np.float64],
    tree: NDArray[np.int32],
    bits: NDArray[np.uint64],
    cost: NDArray[np.float64],
    c: int,
    place: NDArray[np.float64],
    leaf: NDArray[np.int32],
    mark: NDArray[np.uint64],
    r: int,
    whole: NDArray[np.float64],
    root: NDArray[np.int64],
    node: NDArray[np.int32],
    node_cost: NDArray[np.float64],
    unit: NDArray[np.float64],
) -> float:
    """Cost of a row of class ``c``, which has two rows at least, once row ``r`` has left it."""
    sum_ = cost[c]
    for j in range(whole.size):
        p = place[r, j]
        lo = line[c, LO, j]
        hi = line[c, HI, j]
        # Only an outermost row narrows the box. With equal rows LO2 is LO, and nothing changes.
        if p in (lo, hi):
            left = line[c, LO2, j] if p == lo else lo
            right = line[c, HI2, j] if p == hi else hi
            sum_ += min(whole[j], right - left) - min(whole[j], hi - lo)
    for t in range(root.shape[1]):
        v = leaf[r, t]
        lo_leaf = tree[c, LO, t]
        hi_leaf = tree[c, HI, t]
        if v in (lo_leaf, hi_leaf):
            sum_ -= tree_cost(root, node, node_cost, t, lo_leaf, hi_leaf)
            left_leaf = tree[c, LO2, t] if v == lo_leaf else lo_leaf
            right_leaf = tree[c, HI2, t] if v == hi_leaf else hi_leaf
            sum_ += tree_cost(root, node, node_cost, t, left_leaf, right_leaf)
    for w in range(unit.size):
        # A value that no second row has leaves the set with the row.
        if mark[r, w] & ~bits[c, TWICE, w]:
            sum_ -= unit[w]
    return float(sum_)


@inline_kernel
def cost_exchanged(
    line: NDArray[np.float64],
    tree: NDArray[np.int32],
    bits: NDArray[np.uint64],
    cost: NDArray[np.float64],
    c: int,
    place: NDArray[np.float64],
    leaf: NDArray[np.int32],
    mark: NDArray[np.uint64],
    r: int,
    s: int,
    whole: NDArray[np.float64],
    root: NDArray[np.int64],
    node: NDArray[np.int32],
    node_cost: NDArray[np.float64],
    unit: NDArray[np.float64],
) -> float:
    """Cost of a row of class ``c``, which has two rows at least, once ``s`` has taken the place of ``r``."""
    sum_ = cost[c]
    for j in range(whole.size):
        p = place[r, j]
        q = place[s, j]
        lo = line[c, LO, j]
        hi = line[c, HI, j]
        if p in (lo, hi) or q < lo or q > hi:
            left = line[c, LO2, j] if p == lo else lo
            right = line[c, HI2, j] if p == hi else hi
            sum_ += min(whole[j], max(right, q) - min(left, q)) - min(whole[j], hi - lo)
    for t in range(root.shape[1]):
        v = leaf[r, t]
        u = leaf[s, t]
        lo_leaf = tree[c, LO, t]
        hi_leaf = tree[c, HI, t]
        if v in (lo_leaf, hi_leaf) or u < lo_leaf or u > hi_leaf:
            sum_ -= tree_cost(root, node, node_cost, t, lo_leaf, hi_leaf)
            left_leaf = tree[c, LO2, t] if v == lo_leaf else lo_leaf
            right_leaf = tree[c, HI2, t] if v == hi_leaf else hi_leaf
            sum_ += tree_cost(root, node, node_cost, t, min(left_leaf, u), max(right_leaf, u))
    for w in range(unit.size):
        gone = mark[r, w] & ~bits[c, TWICE, w]
        if gone:
            sum_ -= unit[w]
        # The newcomer may bring back the very value that has just gone.
        if mark[s, w] & ~(bits[c, ANY, w] & ~gone):
            sum_ += unit[w]
    return float(sum_)


@inner_kernel
def clear_box(line: NDArray[np.float64], tree: NDArray[np.int32], bits: NDArray[np.uint64], c: int) -> None:
    """Make the box of class ``c`` that of no row."""
    # Empty intervals, so that `min` and `max` with the first row give that row. One row leaves LO2
    # and HI2 empty: they need a second.
    for j in range(line.shape[2]):
        line[c, LO, j] = line[c, LO2, j] = np.inf
        line[c, HI, j] = line[c, HI2, j] = -np.inf
    for t in range(tree.shape[2]):
        tree[c, LO, t] = tree[c, LO2, t] = np.iinfo(np.int32).max
        tree[c, HI, t] = tree[c, HI2, t] = -1
    for w in range(bits.shape[2]):
        bits[c, ANY, w] = bits[c, TWICE, w] = 0


@inner_kernel
def widen_box(
    line: NDArray[np.float64],
    tree: NDArray[np.int32],
    bits: NDArray[np.uint64],
    c: int,
    place: NDArray[np.float64],
    leaf: NDArray[np.int32],
    mark: NDArray[np.uint64],
    r: int,
) -> None:
    """Widen the box of class ``c`` by row ``r``."""
    for j in range(place.shape[1]):
        p = place[r, j]
        # LO2 before LO: it takes the old LO or the new row, whichever is not the least now.
        line[c, LO2, j] = min(line[c, LO2, j], max(p, line[c, LO, j]))
        line[c, LO, j] = min(line[c, LO, j], p)
        line[c, HI2, j] = max(line[c, HI2, j], min(p, line[c, HI, j]))
        line[c, HI, j] = max(line[c, HI, j], p)
    for t in range(leaf.shape[1]):
        v = leaf[r, t]
        tree[c, LO2, t] = min(tree[c, LO2, t], max(v, tree[c, LO, t]))
        tree[c, LO, t] = min(tree[c, LO, t], v)
        tree[c, HI2, t] = max(tree[c, HI2, t], min(v, tree[c, HI, t]))
        tree[c, HI, t] = max(tree[c, HI, t], v)
    for w in range(mark.shape[1]):
        # TWICE before ANY, which afterwards has the row's own bit.
        bits[c, TWICE, w] |= bits[c, ANY, w] & mark[r, w]
        bits[c, ANY, w] |= mark[r, w]


@inner_kernel
def rebuild_box(points: Points, measure: WidthCosts, boxes: ClassBoxes, c: int) -> int:
    """Compute a class's box, weight and cost from its members; return how many there are."""
    line, tree, bits, link = boxes.line, boxes.tree, boxes.bits, boxes.link
    place, leaf, mark, weight = points.place, points.leaf, points.bits, points.weight
    clear_box(line, tree, bits, c)
    total = 0
    members = ZERO
    r = boxes.head[c]
    while r >= 0:
        widen_box(line, tree, bits, c, place, leaf, mark, r)
        total += weight[r]
        members += 1
        r = link[0, r]
    boxes.total[c] = total
    boxes.cost[c] = 0.0 if total == 0 else _box_cost(measure, line, tree, bits, c)
    return members


@inner_kernel
def _box_cost(
    measure: WidthCosts,
    line: NDArray[np.float64],
    tree: NDArray[np.int32],
    bits: NDArray[np.uint64],
    c: int,
) -> float:
    whole, root, node, node_cost, unit = (
        measure.whole,
        measure.root,
        measure.node,
        measure.node_cost,
        measure.unit,
    )
    # Bits are counted below, one unit each; `base` is the first value of every set, which is free.
    sum_ = -measure.base
    for j in range(whole.size):
        sum_ += min(whole[j], line[c, HI, j] - line[c, LO, j])
    for t in range(root.shape[1]):
        sum_ += tree_cost(root, node, node_cost, t, tree[c, LO, t], tree[c, HI, t])
    for w in range(unit.size):
        left = bits[c, ANY, w]
        while left:
            left &= left - np.uint64(1)  # clears the lowest bit that is set
            sum_ += unit[w]
    return float(sum_)


@inline_kernel
def _count_row(boxes: ClassBoxes, rules: Rules, row: int, c: int, sign: int) -> None:
    # Kept up to date only where it fits into memory.
    if boxes.tally.size > 0:
        for at in range(rules.entry[row], rules.entry[row + 1]):
            boxes.tally[c, rules.value[at]] += sign * rules.times[at]


@inner_kernel
def empty_class(boxes: ClassBoxes, c: int) -> None:
    """Forget the members of class ``c``; the box is not updated."""
    boxes.head[c] = -1
    if boxes.tally.size > 0:
        for value in range(boxes.tally.shape[1]):
            boxes.tally[c, value] = 0


@inner_kernel
def join_class(boxes: ClassBoxes, rules: Rules, ident: NDArray[np.int64], r: int, c: int) -> None:
    """Make row ``r`` a member of class ``c``; the box is not updated."""
    # The list is linked both ways, so that any row leaves in constant time.
    _count_row(boxes, rules, ident[r], c, 1)
    head, link = boxes.head, boxes.link
    link[0, r] = head[c]
    link[1, r] = -1
    if head[c] >= 0:
        link[1, head[c]] = r
    head[c] = r
    boxes.of[r] = c


@inner_kernel
def leave_class(boxes: ClassBoxes, rules: Rules, ident: NDArray[np.int64], r: int) -> None:
    """Take row ``r`` out of its class; the box is not updated."""
    _count_row(boxes, rules, ident[r], boxes.of[r], -1)
    head, link = boxes.head, boxes.link
    after, before = link[0, r], link[1, r]
    if after >= 0:
        link[1, after] = before
    if before >= 0:
        link[0, before] = after
    else:
        head[boxes.of[r]] = after
    boxes.of[r] = -1
