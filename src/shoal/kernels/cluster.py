"""k-member clustering: grow classes one by one, each time by the row that widens the class least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import (
    NOBODY,
    ZERO,
    ClassBoxes,
    Points,
    WidthCosts,
    clear_box,
    cost_with,
    empty_class,
    join_class,
    rebuild_box,
    widen_box,
)
from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.rules import (
    Rules,
    add_row,
    brings_person,
    clear_histogram,
    count_slots,
    is_satisfied,
    lacks_people,
)

LEAST = 1e-9
"""Smaller differences in cost are rounding."""


@inner_kernel
def keeps_rules(
    rules: Rules,
    boxes: ClassBoxes,
    ident: NDArray[np.int64],
    histogram: NDArray[np.int64],
    c: int,
    without: int,
    extra: int,
) -> bool:
    """Whether class ``c`` satisfies the rules without the row ``without`` and with ``extra`` (-1: none).

    Its size is not looked at.
    """
    # Callers check the size, so without rules about values there is nothing left to check.
    if rules.limit.size == 0:
        return True
    tally = boxes.tally
    if tally.size == 0:
        clear_histogram(rules, histogram, ZERO)
        r = boxes.head[c]
        while r >= 0:
            if r != without:
                add_row(rules, ident[r], histogram, 0)
            r = boxes.link[0, r]
    else:
        for value in range(rules.values):
            histogram[0, value] = tally[c, value]
        if without >= 0:
            row = ident[without]
            for at in range(rules.entry[row], rules.entry[row + 1]):
                histogram[0, rules.value[at]] -= rules.times[at]
    if extra >= 0:
        add_row(rules, ident[extra], histogram, 0)
    return is_satisfied(rules, histogram, 0)


@inner_kernel
def seed_box(
    points: Points, rules: Rules, ident: NDArray[np.int64], boxes: ClassBoxes, c: int, r: int
) -> None:
    """Start class ``c`` with row ``r``."""
    empty_class(boxes, c)
    join_class(boxes, rules, ident, r, c)
    clear_box(boxes.line, boxes.tree, boxes.bits, c)
    widen_box(boxes.line, boxes.tree, boxes.bits, c, points.place, points.leaf, points.bits, r)
    boxes.total[c] = points.weight[r]
    boxes.cost[c] = 0.0


@inner_kernel
def _find_cheapest_row(
    points: Points,
    measure: WidthCosts,
    boxes: ClassBoxes,
    c: int,
    pool: NDArray[np.int64],
    first: int,
    last: int,
    bound: NDArray[np.float64],
    rules: Rules,
    ident: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> tuple[int, float, int]:
    """Find the row among ``pool[first:last]`` with which class ``c`` costs least; sharpen ``bound``.

    A class that lacks people, by its ``histogram``, is offered rows of others only.

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
    fresh = lacks_people(rules, histogram, ZERO)
    for i in range(first, last):
        # A lower bound at or above the best so far saves the evaluation.
        if bound[i] < least and (not fresh or brings_person(rules, ident[pool[i]], histogram, ZERO)):
            bound[i] = cost_with(
                line, tree, bits, cost, c, spot, leaf, mark, pool[i], whole, root, node, node_cost, unit
            )
            looked += 1
            if bound[i] < least:
                least = bound[i]
                best = i
    return best, least, looked


@inner_kernel
def k_member(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
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
        if rules.units > 0:
            clear_histogram(rules, histogram, ZERO)
            add_row(rules, ident[seed], histogram, ZERO)
        # The cost with a row never falls while a class grows, so what it was before is a lower bound.
        for i in range(taken, size):
            bound[i] = -1.0
        farthest = -1.0
        far = seed
        # One pass is made even if the seed is enough for a class: it finds the next seed.
        done = _is_class_done(rules, boxes, ident, histogram, c)
        while taken < size and (not done or farthest < 0.0):
            best, least, looked = _find_cheapest_row(
                points, measure, boxes, c, pool, taken, size, bound, rules, ident, histogram
            )
            work += looked
            # All bounds were -1, so the first pass evaluated every row beside the seed alone.
            if farthest < 0.0:
                for i in range(taken, size):
                    if bound[i] > farthest:
                        farthest = bound[i]
                        far = pool[i]
            if done or best < 0:
                break
            r = pool[best]
            pool[best] = pool[taken]
            pool[taken] = r
            bound[best] = bound[taken]
            taken += 1
            left -= weight[r]
            total[c] += weight[r]
            # A row inside the box leaves it as it is. LO2, HI2 and TWICE then miss it until the box
            # is built anew below.
            if least > cost[c]:
                widen_box(boxes.line, boxes.tree, boxes.bits, c, points.place, points.leaf, points.bits, r)
                cost[c] = least
            join_class(boxes, rules, ident, r, c)
            if rules.units > 0:
                add_row(rules, ident[r], histogram, ZERO)
            done = _is_class_done(rules, boxes, ident, histogram, c)
        if not done:  # its rows are the last of all: they go where they fit
            taken -= _undo_class(boxes, c, pool, taken)
            break
        classes += 1
        at = taken
        # The farthest row may have joined the class since; then the next one in the pool is the
        # seed.
        while at < size and pool[at] != far:
            at += 1
        if at == size:
            at = taken
    if classes == 0:
        return 0, work
    for k in range(classes):
        rebuild_box(points, measure, boxes, ids[k])
    for i in range(taken, size):
        added = join_cheapest_class(
            points, measure, rules, ident, boxes, ids, classes, pool[i], np.inf, histogram
        )
        if added == np.inf:
            return 0, work
        # Every class was evaluated, and one of average size was built anew.
        work += classes + size // classes
    return classes, work


@inner_kernel
def _is_class_done(
    rules: Rules, boxes: ClassBoxes, ident: NDArray[np.int64], histogram: NDArray[np.int64], c: int
) -> bool:
    """Whether a growing class satisfies the rules; where people are counted, ``histogram`` grows with it."""
    if boxes.total[c] < rules.size:
        return False
    if rules.units > 0:
        return is_satisfied(rules, histogram, ZERO)
    return keeps_rules(rules, boxes, ident, histogram, c, NOBODY, NOBODY)


@inner_kernel
def _undo_class(boxes: ClassBoxes, c: int, pool: NDArray[np.int64], taken: int) -> int:
    """Undo an unfinished class, whose rows are the last that were taken; return how many they were."""
    count = 0
    # Rows are taken one class after the other, so those of the last class are at the end.
    while taken - count > 0 and boxes.of[pool[taken - count - 1]] == c:
        count += 1
        boxes.of[pool[taken - count]] = -1
    empty_class(boxes, c)
    return count


@inner_kernel
def join_cheapest_class(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
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
        # The loss is the weight times the cost per row: members pay for the wider box, too.
        added = (total[c] + weight[r]) * grown - total[c] * cost[c]
        if added < least and keeps_rules(rules, boxes, ident, histogram, c, NOBODY, r):
            least = added
            best = c
    if best < 0:
        return np.inf
    join_class(boxes, rules, ident, r, best)
    rebuild_box(points, measure, boxes, best)
    return least


@entry_kernel
def join_cheapest_classes(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    rows: NDArray[np.int64],
    ids: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> None:
    """Let each of ``rows`` join the class of ``ids`` where it adds least to the loss, if the rules allow."""
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    for r in rows:
        if halt[0]:
            break
        join_cheapest_class(points, measure, rules, ident, boxes, ids, ids.size, r, np.inf, histogram)


@entry_kernel
def cluster_cells(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
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
    histogram = np.zeros((1, count_slots(rules)), np.int64)
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
