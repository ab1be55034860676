"""k-member clustering: grow classes one by one, each time by the row that widens the class least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import (
    NOBODY,
    ZERO,
    Boxes,
    Measure,
    Points,
    absorb,
    clear,
    cost_with,
    empty,
    join,
    rebuild,
)
from shoal.kernels.compiled import entry, inner
from shoal.kernels.rules import Rules, add_row, satisfied

LEAST = 1e-9
"""Smaller differences in cost are rounding."""


@inner
def keeps_rules(
    rules: Rules,
    boxes: Boxes,
    ident: NDArray[np.int64],
    histogram: NDArray[np.int64],
    c: int,
    without: int,
    extra: int,
) -> bool:
    """Whether class ``c`` satisfies the rules without the row ``without`` and with ``extra`` (-1: none).

    Its size is not looked at.
    """
    if rules.limit.size == 0:
        return True
    tally = boxes.tally
    for value in range(histogram.shape[1]):
        histogram[0, value] = tally[c, value] if tally.size > 0 else 0
    if tally.size == 0:
        r = boxes.head[c]
        while r >= 0:
            if r != without:
                add_row(rules, ident[r], histogram, 0)
            r = boxes.link[0, r]
    elif without >= 0:
        row = ident[without]
        for at in range(rules.entry[row], rules.entry[row + 1]):
            histogram[0, rules.value[at]] -= rules.times[at]
    if extra >= 0:
        add_row(rules, ident[extra], histogram, 0)
    return satisfied(rules, histogram, 0)


@inner
def seed_box(points: Points, rules: Rules, ident: NDArray[np.int64], boxes: Boxes, c: int, r: int) -> None:
    """Start class ``c`` with row ``r``."""
    empty(boxes, c)
    join(boxes, rules, ident, r, c)
    clear(boxes.line, boxes.tree, boxes.bits, c)
    absorb(boxes.line, boxes.tree, boxes.bits, c, points.place, points.leaf, points.bits, r)
    boxes.total[c] = points.weight[r]
    boxes.cost[c] = 0.0


@inner
def _cheapest(
    points: Points,
    measure: Measure,
    boxes: Boxes,
    c: int,
    pool: NDArray[np.int64],
    first: int,
    last: int,
    bound: NDArray[np.float64],
) -> tuple[int, float, int]:
    """Find the row among ``pool[first:last]`` with which class ``c`` costs least; sharpen ``bound``.

    Returns
    -------
    its place in the pool, that cost, and how many rows were evaluated
    """
    line, tree, bits, cost = boxes.line, boxes.tree, boxes.bits, boxes.cost
    spot, leaf, mark = points.place, points.leaf, points.bits
    whole, root, node = measure.whole, measure.root, measure.node
    node_cost, unit = measure.node_cost, measure.unit
    best = NOBODY
    least = np.inf
    looked = ZERO
    for i in range(first, last):
        if bound[i] < least:
            bound[i] = cost_with(
                line, tree, bits, cost, c, spot, leaf, mark, pool[i], whole, root, node, node_cost, unit
            )
            looked += 1
            if bound[i] < least:
                least = bound[i]
                best = i
    return best, least, looked


@inner
def k_member(
    points: Points,
    measure: Measure,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: Boxes,
    pool: NDArray[np.int64],
    size: int,
    ids: NDArray[np.int64],
    start: int,
    bound: NDArray[np.float64],
    histogram: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> tuple[int, int]:
    """Cluster the rows ``pool[:size]`` into the free classes ``ids``; the pool's order changes.

    The first class grows around ``pool[start]``, every further one around the row farthest from the seed
    before it. Rows that are left over join the class that they widen least.

    Returns
    -------
    number of classes (0 if the rules cannot be kept), and the work done in evaluations of one row
    """
    cost, total, weight = boxes.cost, boxes.total, points.weight
    left = 0
    for i in range(size):
        left += weight[pool[i]]
    taken = ZERO  # rows pool[:taken] have a class
    classes = ZERO
    work = ZERO
    at = start
    while left >= rules.size and taken < size and classes < ids.size and not halt[0]:
        c = ids[classes]
        seed = pool[at]
        pool[at] = pool[taken]
        pool[taken] = seed
        taken += 1
        seed_box(points, rules, ident, boxes, c, seed)
        left -= weight[seed]
        # The cost with a row never falls while a class grows, so what it was before is a lower bound.
        for i in range(taken, size):
            bound[i] = -1.0
        farthest = -1.0
        far = seed
        done = total[c] >= rules.size and keeps_rules(rules, boxes, ident, histogram, c, NOBODY, NOBODY)
        while taken < size and (not done or farthest < 0.0):
            best, least, looked = _cheapest(points, measure, boxes, c, pool, taken, size, bound)
            work += looked
            if farthest < 0.0:
                for i in range(taken, size):
                    if bound[i] > farthest:
                        farthest = bound[i]
                        far = pool[i]
            if done:
                break
            r = pool[best]
            pool[best] = pool[taken]
            pool[taken] = r
            bound[best] = bound[taken]
            taken += 1
            left -= weight[r]
            total[c] += weight[r]
            if least > cost[c]:
                absorb(boxes.line, boxes.tree, boxes.bits, c, points.place, points.leaf, points.bits, r)
                cost[c] = least
            join(boxes, rules, ident, r, c)
            done = total[c] >= rules.size and keeps_rules(rules, boxes, ident, histogram, c, NOBODY, NOBODY)
        if not done:  # its rows are the last of all: they go where they fit
            taken -= _release(boxes, c, pool, taken)
            break
        classes += 1
        at = taken
        while at < size and pool[at] != far:
            at += 1
        if at == size:
            at = taken
    if classes == 0:
        return 0, work
    for k in range(classes):
        rebuild(points, measure, boxes, ids[k])
    for i in range(taken, size):
        added = place(points, measure, rules, ident, boxes, ids, classes, pool[i], np.inf, histogram)
        if added == np.inf:
            return 0, work
        work += classes + size // classes
    return classes, work


@inner
def _release(boxes: Boxes, c: int, pool: NDArray[np.int64], taken: int) -> int:
    """Undo an unfinished class, whose rows are the last that were taken; return how many they were."""
    count = 0
    while taken - count > 0 and boxes.of[pool[taken - count - 1]] == c:
        count += 1
        boxes.of[pool[taken - count]] = -1
    empty(boxes, c)
    return count


@inner
def place(
    points: Points,
    measure: Measure,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: Boxes,
    ids: NDArray[np.int64],
    classes: int,
    r: int,
    limit: float,
    histogram: NDArray[np.int64],
) -> float:
    """Let row ``r`` join the class of ``ids[:classes]`` where it adds least to the loss; return what it adds.

    Where that is not below ``limit``, or the rules allow it nowhere, it joins none, and adds infinitely.
    """
    line, tree, bits, cost, total = boxes.line, boxes.tree, boxes.bits, boxes.cost, boxes.total
    spot, leaf, mark, weight = points.place, points.leaf, points.bits, points.weight
    whole, root, node, node_cost, unit = (
        measure.whole,
        measure.root,
        measure.node,
        measure.node_cost,
        measure.unit,
    )
    best = NOBODY
    least = limit
    for k in range(classes):
        c = ids[k]
        grown = cost_with(line, tree, bits, cost, c, spot, leaf, mark, r, whole, root, node, node_cost, unit)
        added = (total[c] + weight[r]) * grown - total[c] * cost[c]
        if added < least and keeps_rules(rules, boxes, ident, histogram, c, NOBODY, r):
            least = added
            best = c
    if best < 0:
        return np.inf
    join(boxes, rules, ident, r, best)
    rebuild(points, measure, boxes, best)
    return least


@entry
def place_all(
    points: Points,
    measure: Measure,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: Boxes,
    rows: NDArray[np.int64],
    ids: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> None:
    """Let each of ``rows`` join the class of ``ids`` where it adds least to the loss, if the rules allow."""
    histogram = np.zeros((1, rules.values), np.int64)
    for r in rows:
        if halt[0]:
            break
        place(points, measure, rules, ident, boxes, ids, ids.size, r, np.inf, histogram)


@entry
def cluster_cells(
    points: Points,
    measure: Measure,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: Boxes,
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    base: NDArray[np.int64],
    first: int,
    last: int,
    halt: NDArray[np.bool_],
) -> None:
    """Cluster the rows of each of the cells ``first .. last - 1`` by themselves.

    ``boxes.of`` holds the result: -1 for the rows of a cell in which the rules cannot be kept.

    Parameters
    ----------
    order : int64[n]
        Rows, cell by cell.
    start, base : int64[cells + 1]
        Where each cell begins in ``order``, and its first class; cells are independent, so that several
        threads can work on different ones.
    """
    longest = 0
    most = 0
    for cell in range(first, last):
        longest = max(longest, start[cell + 1] - start[cell])
        most = max(most, base[cell + 1] - base[cell])
    pool = np.empty(longest, np.int64)
    ids = np.empty(most, np.int64)
    bound = np.empty(longest)
    histogram = np.zeros((1, rules.values), np.int64)
    for cell in range(first, last):
        size = start[cell + 1] - start[cell]
        classes = base[cell + 1] - base[cell]
        for i in range(size):
            pool[i] = order[start[cell] + i]
        for k in range(classes):
            ids[k] = base[cell] + k
        made, _ = k_member(
            points,
            measure,
            rules,
            ident,
            boxes,
            pool,
            size,
            ids[:classes],
            ZERO,
            bound,
            histogram,
            halt,
        )
        if made == 0:
            for i in range(size):
                boxes.of[pool[i]] = -1
