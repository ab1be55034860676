"""Improve a partition step by step: move, swap, dissolve, regroup; only what lowers the loss is kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import (
    NOBODY,
    ZERO,
    ClassBoxes,
    Points,
    WidthCosts,
    cost_exchanged,
    cost_with,
    cost_without,
    empty_class,
    join_class,
    leave_class,
    rebuild_box,
)
from shoal.kernels.cluster import LEAST, join_cheapest_class, k_member, keeps_rules
from shoal.kernels.compiled import as_int64, entry_kernel, inner_kernel
from shoal.kernels.random import draw_below
from shoal.kernels.rules import Rules
from shoal.kernels.signatures import Matrix

MOVE, DISSOLVE, REGROUP = 0, 1, 2
"""What `improve_partition` tries."""

_NONE, _MOVED, _SWAPPED = 0, 1, 2
_SPREAD = as_int64(16)  # how many neighbours a class is dissolved into at most
_REACH = 8  # neighbours of a row on either side whose classes count as neighbours of its class
_PASSES = 4  # over a pool that was regrouped; further ones hardly find anything


class RefineWorkspace(NamedTuple):
    """Memory to work in, and what is remembered between calls."""

    seen: NDArray[np.int64]
    """[classes] when each class was last looked at."""
    clock: NDArray[np.int64]
    """[1] counts the rows and pools looked at."""
    random: NDArray[np.uint64]
    """[1] state of the random numbers."""
    histogram: Matrix[np.int64]
    """[1, values]"""
    free: NDArray[np.int64]
    """[classes + 1] how many classes are free, and which, the last one to be taken first."""
    pool: Matrix[np.int64]
    """[3, rows] rows of a pool, the same in their first order, and the classes they were in."""
    ids: NDArray[np.int64]
    """[classes] classes of a pool."""
    bound: NDArray[np.float64]
    """[rows]"""


@entry_kernel
def set_up(
    points: Points, measure: WidthCosts, rules: Rules, ident: NDArray[np.int64], boxes: ClassBoxes
) -> float:
    """Link the rows to the classes that ``boxes.of`` names, measure all boxes; return the loss."""
    for c in range(boxes.head.size):
        empty_class(boxes, c)
    # Backwards: every row becomes the head, so members end up in ascending order.
    for r in range(boxes.of.size - 1, -1, -1):
        if boxes.of[r] >= 0:
            join_class(boxes, rules, ident, r, boxes.of[r])
    loss = 0.0
    for c in range(boxes.head.size):
        rebuild_box(points, measure, boxes, c)
        loss += boxes.total[c] * boxes.cost[c]
    return loss


@inner_kernel
def _best_exchange(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    histogram: NDArray[np.int64],
    r: int,
    b: int,
    best: float,
) -> tuple[float, int, int]:
    """Look for the row of class ``b`` that is best exchanged for ``r``, if that gains more than ``best``.

    Returns
    -------
    the gain, the row (`NOBODY` if none gains more), and the work done in evaluations of one row
    """
    line, tree, bits, cost, total = boxes.line, boxes.tree, boxes.bits, boxes.cost, boxes.total
    spot, leaf, mark, weight = points.place, points.leaf, points.bits, points.weight
    whole, root, node = measure.whole, measure.root, measure.node
    node_cost, unit = measure.node_cost, measure.unit
    size, other_rules = rules.size, rules.limit.size > 0
    a = boxes.of[r]
    before = total[a] * cost[a] + total[b] * cost[b]
    other = NOBODY
    work = ZERO
    s = boxes.head[b]
    while s >= 0:
        total_a = total[a] - weight[r] + weight[s]
        total_b = total[b] - weight[s] + weight[r]
        if total_a >= size and total_b >= size:
            gain = before
            for side in range(2):  # one call for both classes: each one is compiled on its own
                # The first class may show already that the swap cannot be the best.
                if gain > best:
                    work += 1
                    box, goes, comes = (b, s, r) if side else (a, r, s)
                    gain -= (total_b if side else total_a) * cost_exchanged(
                        line,
                        tree,
                        bits,
                        cost,
                        box,
                        spot,
                        leaf,
                        mark,
                        goes,
                        comes,
                        whole,
                        root,
                        node,
                        node_cost,
                        unit,
                    )
            # Checking the rules of a class counts as one evaluation.
            work += 2 * (gain > best and other_rules)
            if (
                gain > best
                and keeps_rules(rules, boxes, ident, histogram, a, r, s)
                and keeps_rules(rules, boxes, ident, histogram, b, s, r)
            ):
                best = gain
                other = s
        s = boxes.link[0, s]
    return best, other, work


@inner_kernel
def _move_and_swap_rows(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    order: NDArray[np.int64],
    first: int,
    last: int,
    stop: int,
    reach: int,
    allowed: int,
    workspace: RefineWorkspace,
    halt: NDArray[np.bool_],
) -> tuple[float, int]:
    """Offer the rows ``order[first:last]`` to the classes of their neighbours in ``order[:stop]``.

    A row moves where its class can spare it, or takes the place of another row: whatever saves most.

    Returns
    -------
    the loss saved, and the work done in evaluations of one row
    """
    line, tree, bits, cost, total = boxes.line, boxes.tree, boxes.bits, boxes.cost, boxes.total
    head, link, of = boxes.head, boxes.link, boxes.of
    spot, leaf, mark, weight = points.place, points.leaf, points.bits, points.weight
    whole, root, node, node_cost, unit = (
        measure.whole,
        measure.root,
        measure.node,
        measure.node_cost,
        measure.unit,
    )
    seen, clock, histogram = workspace.seen, workspace.clock, workspace.histogram
    size, other_rules = rules.size, rules.limit.size > 0
    saved = 0.0
    work = ZERO
    for t in range(first, last):
        if halt[0] or work > allowed:
            break
        clock[0] += 1
        now = clock[0]
        r = order[t]
        a = of[r]
        # Nothing to gain: no class, a class without loss, or a row that is alone in its class.
        if a < 0 or total[a] * cost[a] < LEAST or (head[a] == r and link[0, r] < 0):
            continue
        shrunk = cost_without(
            line, tree, bits, cost, a, spot, leaf, mark, r, whole, root, node, node_cost, unit
        )
        work += 1
        if total[a] * (cost[a] - shrunk) < LEAST:
            continue  # its class gains nothing without it; a swap may still take it
        spare = total[a] - weight[r] >= size
        before_a = total[a] * cost[a]
        best = LEAST
        what = _NONE
        into = NOBODY
        other = NOBODY
        seen[a] = now
        for step in range(2 * reach):
            # Alternately behind and ahead: nearer neighbours first.
            neighbour = t + (step // 2 + 1) * (1 if step & 1 else -1)
            if neighbour < 0 or neighbour >= stop:
                continue
            b = of[order[neighbour]]
            # Each class is tried once per row, however many neighbours are in it.
            if b < 0 or seen[b] == now:
                continue
            seen[b] = now
            grown = cost_with(
                line, tree, bits, cost, b, spot, leaf, mark, r, whole, root, node, node_cost, unit
            )
            work += 1
            before_b = total[b] * cost[b]
            if spare:
                gain = before_a + before_b - (total[a] - weight[r]) * shrunk - (total[b] + weight[r]) * grown
                work += 2 * (gain > best and other_rules)
                if (
                    gain > best
                    and keeps_rules(rules, boxes, ident, histogram, a, r, NOBODY)
                    and keeps_rules(rules, boxes, ident, histogram, b, NOBODY, r)
                ):
                    best = gain
                    what = _MOVED
                    into = b
            # A class of one row has no second-outermost row, which an exchange needs to know.
            if link[0, head[b]] < 0:
                continue
            gain, s, looked = _best_exchange(points, measure, rules, ident, boxes, histogram, r, b, best)
            work += looked
            if s >= 0:
                best, what, into, other = gain, _SWAPPED, b, s
        if what == _NONE:
            continue
        leave_class(boxes, rules, ident, r)
        join_class(boxes, rules, ident, r, into)
        if what == _SWAPPED:
            leave_class(boxes, rules, ident, other)
            join_class(boxes, rules, ident, other, a)
        work += rebuild_box(points, measure, boxes, a) + rebuild_box(points, measure, boxes, into)
        saved += best
    return saved, work


@inner_kernel
def _list_neighbours(
    boxes: ClassBoxes,
    order: NDArray[np.int64],
    rank: NDArray[np.int64],
    c: int,
    most: int,
    workspace: RefineWorkspace,
) -> int:
    """List in ``workspace.ids`` the class ``c`` and up to ``most - 1`` classes of its members' neighbours."""
    of, link, seen, ids = boxes.of, boxes.link, workspace.seen, workspace.ids
    workspace.clock[0] += 1
    now = workspace.clock[0]
    seen[c] = now
    ids[0] = c
    count = ZERO + 1
    # The nearest neighbours of all members first, so that `most` leaves out the far ones.
    for step in range(2 * _REACH):
        r = boxes.head[c]
        while r >= 0:
            at = rank[r] + (step // 2 + 1) * (1 if step & 1 else -1)
            r = link[0, r]
            if at < 0 or at >= order.size:
                continue
            b = of[order[at]]
            if b >= 0 and seen[b] != now and count < most:
                seen[b] = now
                ids[count] = b
                count += 1
        if count == most:
            break
    return count


@inner_kernel
def _dissolve_class(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    order: NDArray[np.int64],
    rank: NDArray[np.int64],
    c: int,
    workspace: RefineWorkspace,
) -> tuple[float, int]:
    """Distribute the rows of class ``c`` over its neighbours, if that lowers the loss."""
    classes = _list_neighbours(boxes, order, rank, c, _SPREAD, workspace)
    # The list begins with the class itself, which cannot take its own rows.
    workspace.ids[0] = workspace.ids[classes - 1]
    classes -= 1
    rows = ZERO
    r = boxes.head[c]
    while r >= 0:
        if rows == workspace.pool.shape[1]:
            return 0.0, rows
        workspace.pool[0, rows] = r
        rows += 1
        r = boxes.link[0, r]
    saved = boxes.total[c] * boxes.cost[c]
    placed = ZERO
    # `saved` is the loss of the class less what its rows have added elsewhere so far.
    while placed < rows and saved > LEAST and classes > 0:
        r = workspace.pool[0, placed]
        leave_class(boxes, rules, ident, r)
        added = join_cheapest_class(
            points, measure, rules, ident, boxes, workspace.ids, classes, r, saved, workspace.histogram
        )
        if added == np.inf:
            join_class(boxes, rules, ident, r, c)
            saved = 0.0
        else:
            placed += 1
            saved -= added
    work = (placed + 1) * (classes + rows)  # each row is measured with every class and makes one anew
    if placed == rows and saved > LEAST:
        rebuild_box(points, measure, boxes, c)
        workspace.free[0] += 1
        workspace.free[workspace.free[0]] = c
        return saved, work
    # It does not pay: the rows return, and the classes that took them are built anew.
    for i in range(placed):
        r = workspace.pool[0, i]
        b = boxes.of[r]
        leave_class(boxes, rules, ident, r)
        join_class(boxes, rules, ident, r, c)
        rebuild_box(points, measure, boxes, b)
    return 0.0, work


@inner_kernel
def _regroup_classes(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    order: NDArray[np.int64],
    rank: NDArray[np.int64],
    c: int,
    most: int,
    allowed: int,
    workspace: RefineWorkspace,
    halt: NDArray[np.bool_],
) -> tuple[float, int]:
    """Cluster a class and its neighbours anew, and improve that; keep it if it lowers the loss.

    With ``most`` = 1 this splits a class that is large enough.
    """
    head, link, total, cost = boxes.head, boxes.link, boxes.total, boxes.cost
    pool, ids, free = workspace.pool, workspace.ids, workspace.free
    classes = _list_neighbours(boxes, order, rank, c, most, workspace)
    before = 0.0
    rows = ZERO
    weight = ZERO
    for k in range(classes):
        before += total[ids[k]] * cost[ids[k]]
        weight += total[ids[k]]
        r = head[ids[k]]
        while r >= 0 and rows < pool.shape[1]:
            pool[0, rows] = pool[1, rows] = r
            pool[2, rows] = ids[k]
            rows += 1
            r = link[0, r]
        if r >= 0:  # more rows than the pool holds
            return 0.0, rows
    if before < LEAST or weight < 2 * rules.size:
        return 0.0, rows
    # More classes than before may fit: borrow free ones, as many as the weight allows.
    available = classes
    while available < weight // rules.size and free[0] > 0 and available < ids.size:
        ids[available] = free[free[0]]
        free[0] -= 1
        available += 1
    for k in range(available):
        empty_class(boxes, ids[k])
    made, work = k_member(
        points,
        measure,
        rules,
        ident,
        boxes,
        pool[0],
        rows,
        ids[:available],
        draw_below(workspace.random, rows),
        workspace.bound,
        workspace.histogram,
        halt,
    )
    after = np.inf
    if made > 0:
        after = 0.0
        for k in range(made):
            after += total[ids[k]] * cost[ids[k]]
        for _ in range(_PASSES):
            saved, more = _move_and_swap_rows(
                points,
                measure,
                rules,
                ident,
                boxes,
                pool[0],
                ZERO,
                rows,
                rows,
                rows,
                allowed - work,
                workspace,
                halt,
            )
            after -= saved
            work += more
            if saved < LEAST or work > allowed:
                break
    keep = after < before - LEAST and not halt[0]
    if not keep:
        for k in range(available):
            empty_class(boxes, ids[k])
        # The first order and the old classes, kept beside the pool, bring everything back.
        for i in range(rows):
            join_class(boxes, rules, ident, pool[1, i], pool[2, i])
    for k in range(available):
        rebuild_box(points, measure, boxes, ids[k])
        # A class that ended up without rows is free again.
        if head[ids[k]] < 0:
            free[0] += 1
            free[free[0]] = ids[k]
    return before - after if keep else 0.0, work


@entry_kernel
def improve_partition(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    order: NDArray[np.int64],
    rank: NDArray[np.int64],
    first: int,
    last: int,
    how: int,
    most: int,
    allowed: int,
    workspace: RefineWorkspace,
    halt: NDArray[np.bool_],
) -> tuple[float, int]:
    """Improve a partition along an order of its rows.

    Parameters
    ----------
    order, rank : int64[n]
        Rows so that neighbours are alike; and where each row stands in it.
    first, last : int
        Which of them to look at: rows to move or swap, or rows whose classes to dissolve or regroup.
    how : MOVE, DISSOLVE or REGROUP
    most : int
        MOVE: how many neighbours on either side to look at. REGROUP: how many classes to cluster together.
    allowed : int
        Work after which it ends.

    Returns
    -------
    the loss saved, and the work done in evaluations of one row
    """
    if how == MOVE:
        return _move_and_swap_rows(
            points,
            measure,
            rules,
            ident,
            boxes,
            order,
            first,
            last,
            order.size,
            most,
            allowed,
            workspace,
            halt,
        )
    saved = 0.0
    work = ZERO
    for t in range(first, last):
        if work > allowed or halt[0]:
            break
        c = boxes.of[order[t]]
        # Each class once: when its head comes along.
        if c < 0 or boxes.head[c] != order[t] or boxes.total[c] * boxes.cost[c] < LEAST:
            continue
        if how == DISSOLVE:
            gain, more = _dissolve_class(points, measure, rules, ident, boxes, order, rank, c, workspace)
        else:
            left = allowed - work
            gain, more = _regroup_classes(
                points, measure, rules, ident, boxes, order, rank, c, most, left, workspace, halt
            )
        saved += gain
        work += more
    return saved, work
