"""Anneal a partition: changes that raise the loss are kept at times, so that it gets out of dead ends.

A step takes a row without which its class would be narrower, and one of the rows nearest to it. The row moves
to that one's class, or changes places with a row of that class; now and then a class is divided, dissolved or
made anew. A change that raises the loss by ``d`` is kept with probability ``exp(-d / temperature)``.
"""

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
    tree_cost,
)
from shoal.kernels.cluster import LEAST, join_cheapest_class, keeps_rules
from shoal.kernels.compiled import as_int64, entry_kernel, inline_kernel, inner_kernel
from shoal.kernels.logarithms import log
from shoal.kernels.random import draw_below, draw_uniform
from shoal.kernels.refine import RefineWorkspace
from shoal.kernels.rules import Rules
from shoal.kernels.signatures import Matrix

_DISSOLVE, _DIVIDE, _CREATE = 0, 1, 2
_KINDS = 3  # of changes to a class as a whole
_RARE = 1024  # one step in so many is one of each kind
_TRIES = as_int64(4)  # to find a near row of another class
_SKIPPED = as_int64(32)  # of so many rows without which no class would be narrower, one is taken
_CHECKED = as_int64(1024)  # after so many steps it looks whether it is to halt


class Region(NamedTuple):
    """Rows and classes that one thread changes."""

    rows: NDArray[np.int64]
    """Along a curve, so that what is near in the table is near in memory."""
    near: Matrix[np.int32]
    """[n, m] rows of the whole table that are nearest to each row; -1 where there are no more."""
    place: NDArray[np.int64]
    """[classes] the region of each class."""
    here: int
    """The one of these that may be changed. Of other regions no more is read than that they are others."""
    edge: NDArray[np.bool_]
    """[n] whether the class of a row would be narrower without it."""
    most: int
    """Greatest weight of a class that takes a row in."""


@inner_kernel
def _cost_pair(points: Points, measure: WidthCosts, r: int, s: int) -> float:
    """Cost of each row of a class of two rows."""
    sum_ = 0.0
    for j in range(measure.whole.size):
        sum_ += min(measure.whole[j], abs(points.place[r, j] - points.place[s, j]))
    for t in range(measure.root.shape[1]):
        lo, hi = points.leaf[r, t], points.leaf[s, t]
        sum_ += tree_cost(measure.root, measure.node, measure.node_cost, t, min(lo, hi), max(lo, hi))
    for w in range(measure.unit.size):
        if points.bits[r, w] & ~points.bits[s, w]:
            sum_ += measure.unit[w]
    return sum_


@entry_kernel
def note_near_rows(
    points: Points,
    measure: WidthCosts,
    order: NDArray[np.int64],
    first: int,
    last: int,
    reach: int,
    near: Matrix[np.int32],
    apart: Matrix[np.float32],
    halt: NDArray[np.bool_],
) -> None:
    """Note those neighbours of the rows ``order[first:last]`` that are nearer than what was noted before.

    Parameters
    ----------
    reach : int
        How many neighbours on either side to look at.
    near, apart : int32[n, m], float32[n, m]
        The nearest rows so far, nearest first, and what a class of the two costs; -1 where there are none.
    """
    most = near.shape[1]
    for t in range(first, last):
        if halt[0]:
            break
        r = order[t]
        for step in range(2 * reach):
            at = t + (step // 2 + 1) * (1 if step & 1 else -1)
            if at < 0 or at >= order.size:
                continue
            s = order[at]
            # Rounded as it is kept, so that a row is found again among those equally far.
            cost = np.float32(_cost_pair(points, measure, r, s))
            if near[r, most - 1] >= 0 and cost >= apart[r, most - 1]:
                continue
            known = False
            for i in range(most):
                known = near[r, i] == s
                if known or near[r, i] < 0 or apart[r, i] > cost:
                    break
            if known:
                continue
            i = most - 1
            while i > 0 and (near[r, i - 1] < 0 or apart[r, i - 1] > cost):
                near[r, i] = near[r, i - 1]
                apart[r, i] = apart[r, i - 1]
                i -= 1
            near[r, i] = s
            apart[r, i] = cost


@inner_kernel
def _measure_class(points: Points, measure: WidthCosts, boxes: ClassBoxes, c: int, region: Region) -> int:
    """Compute a class's box anew, and which of its rows it would be narrower without; return the work."""
    line, tree, bits, cost = boxes.line, boxes.tree, boxes.bits, boxes.cost
    spot, leaf, mark = points.place, points.leaf, points.bits
    members = rebuild_box(points, measure, boxes, c)
    r = boxes.head[c]
    while r >= 0:
        # A class of one row has no second-outermost row, which this needs to know.
        region.edge[r] = (
            members > 1
            and cost_without(
                line,
                tree,
                bits,
                cost,
                c,
                spot,
                leaf,
                mark,
                r,
                measure.whole,
                measure.root,
                measure.node,
                measure.node_cost,
                measure.unit,
            )
            < cost[c] - LEAST
        )
        r = boxes.link[0, r]
    return 2 * members


@inner_kernel
def _move_row(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    r: int,
    b: int,
    limit: float,
    histogram: NDArray[np.int64],
) -> tuple[float, int]:
    """Let a row join class ``b``, if its own can spare it and the loss rises by less than ``limit``.

    Returns
    -------
    by how much the loss falls (NaN if the row stays), and the work done in evaluations of one row
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
    a = boxes.of[r]
    if total[a] - weight[r] < rules.size or total[b] + weight[r] > region.most:
        return np.nan, ZERO
    shrunk = cost_without(line, tree, bits, cost, a, spot, leaf, mark, r, whole, root, node, node_cost, unit)
    grown = cost_with(line, tree, bits, cost, b, spot, leaf, mark, r, whole, root, node, node_cost, unit)
    gain = total[a] * cost[a] + total[b] * cost[b]
    gain -= (total[a] - weight[r]) * shrunk + (total[b] + weight[r]) * grown
    if not (
        gain > -limit
        and keeps_rules(rules, boxes, ident, histogram, a, r, NOBODY)
        and keeps_rules(rules, boxes, ident, histogram, b, NOBODY, r)
    ):
        return np.nan, ZERO + 2
    leave_class(boxes, rules, ident, r)
    join_class(boxes, rules, ident, r, b)
    work = _measure_class(points, measure, boxes, a, region) + _measure_class(
        points, measure, boxes, b, region
    )
    return gain, work + 2


@inner_kernel
def _swap_rows(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    r: int,
    s: int,
    limit: float,
    histogram: NDArray[np.int64],
) -> tuple[float, int]:
    """Let two rows change places, if the loss rises by less than ``limit``; returns as `_move_row` does."""
    line, tree, bits, cost, total = boxes.line, boxes.tree, boxes.bits, boxes.cost, boxes.total
    spot, leaf, mark, weight = points.place, points.leaf, points.bits, points.weight
    whole, root, node, node_cost, unit = (
        measure.whole,
        measure.root,
        measure.node,
        measure.node_cost,
        measure.unit,
    )
    a, b = boxes.of[r], boxes.of[s]
    total_a = total[a] - weight[r] + weight[s]
    total_b = total[b] - weight[s] + weight[r]
    if min(total_a, total_b) < rules.size or max(total_a, total_b) > region.most:
        return np.nan, ZERO + 1
    gain = total[a] * cost[a] + total[b] * cost[b]
    work = ZERO
    for side in range(2):  # one call for both classes: each one is compiled on its own
        # The first class may show already that it is too much.
        if gain > -limit:
            work += 1
            box, goes, comes = (b, s, r) if side else (a, r, s)
            gain -= (total_b if side else total_a) * cost_exchanged(
                line, tree, bits, cost, box, spot, leaf, mark, goes, comes, whole, root, node, node_cost, unit
            )
    if not (
        gain > -limit
        and keeps_rules(rules, boxes, ident, histogram, a, r, s)
        and keeps_rules(rules, boxes, ident, histogram, b, s, r)
    ):
        return np.nan, work
    leave_class(boxes, rules, ident, r)
    leave_class(boxes, rules, ident, s)
    join_class(boxes, rules, ident, r, b)
    join_class(boxes, rules, ident, s, a)
    work += _measure_class(points, measure, boxes, a, region)
    return gain, work + _measure_class(points, measure, boxes, b, region)


@inner_kernel
def _change_row(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    r: int,
    limit: float,
    workspace: RefineWorkspace,
) -> tuple[float, int]:
    """Let a row go to the class of a near one, alone or for one of its rows; gain and work."""
    near, of, state = region.near, boxes.of, workspace.random
    other = NOBODY
    for _ in range(_TRIES):
        s = near[r, draw_below(state, near.shape[1])]
        if s >= 0 and of[s] != of[r] and of[s] >= 0 and region.place[of[s]] == region.here:
            other = s
            break
    # A class of one row has no second-outermost row, which taking one away needs to know.
    if other < 0 or boxes.link[0, boxes.head[of[r]]] < 0:
        return 0.0, ZERO + 1
    b = of[other]
    gain, work = _move_row(points, measure, rules, ident, boxes, region, r, b, limit, workspace.histogram)
    if not np.isnan(gain):
        return gain, work
    if boxes.link[0, boxes.head[b]] < 0:
        return 0.0, work + 1
    # Any row of that class may come back.
    s = other
    for _ in range(draw_below(state, rules.size)):
        s = boxes.link[0, s] if boxes.link[0, s] >= 0 else boxes.head[b]
    gain, more = _swap_rows(points, measure, rules, ident, boxes, region, r, s, limit, workspace.histogram)
    return 0.0 if np.isnan(gain) else gain, work + more


@inner_kernel
def _list_near_classes(
    points: Points, boxes: ClassBoxes, region: Region, r: int, c: int, workspace: RefineWorkspace
) -> int:
    """List in ``workspace.ids`` the classes of rows near to one of class ``c`` that can take it."""
    seen, near = workspace.seen, region.near
    workspace.clock[0] += 1
    now = workspace.clock[0]
    seen[c] = now
    count = ZERO
    for i in range(near.shape[1]):
        if near[r, i] < 0:
            break
        b = boxes.of[near[r, i]]
        if b < 0 or region.place[b] != region.here or seen[b] == now:
            continue
        seen[b] = now
        if boxes.total[b] + points.weight[r] <= region.most:
            workspace.ids[count] = b
            count += 1
    return count


@inner_kernel
def _dissolve_class(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    c: int,
    limit: float,
    workspace: RefineWorkspace,
) -> tuple[float, int]:
    """Let every row of a class join the cheapest class near to it; gain and work."""
    pool, of = workspace.pool, boxes.of
    rows = ZERO
    r = boxes.head[c]
    while r >= 0:
        if rows == pool.shape[1]:
            return 0.0, rows
        pool[0, rows] = r
        rows += 1
        r = boxes.link[0, r]
    gain = boxes.total[c] * boxes.cost[c]
    placed = ZERO
    work = rows
    while placed < rows:
        r = pool[0, placed]
        count = _list_near_classes(points, boxes, region, r, c, workspace)
        leave_class(boxes, rules, ident, r)
        # What it adds elsewhere must stay below what the class costs, and the limit.
        added = join_cheapest_class(
            points,
            measure,
            rules,
            ident,
            boxes,
            workspace.ids,
            count,
            r,
            gain + limit,
            workspace.histogram,
        )
        work += 2 * count + 1
        if added == np.inf:
            join_class(boxes, rules, ident, r, c)
            break
        work += _measure_class(points, measure, boxes, of[r], region)
        gain -= added
        placed += 1
    if placed == rows:
        rebuild_box(points, measure, boxes, c)
        workspace.free[0] += 1
        workspace.free[workspace.free[0]] = c
        return gain, work
    for i in range(placed):
        r = pool[0, i]
        b = of[r]
        leave_class(boxes, rules, ident, r)
        join_class(boxes, rules, ident, r, c)
        work += _measure_class(points, measure, boxes, b, region)
    return 0.0, work + _measure_class(points, measure, boxes, c, region)


@inner_kernel
def _start_class(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    seed: int,
    divide: bool,
    limit: float,
    workspace: RefineWorkspace,
) -> tuple[float, int]:
    """Make a class of a row and those nearest to it: of its own class, or of all that can spare one.

    Returns
    -------
    gain and work
    """
    pool, free, near, histogram = workspace.pool, workspace.free, region.near, workspace.histogram
    total, cost, weight = boxes.total, boxes.cost, points.weight
    own = boxes.of[seed]
    if free[0] == 0 or (divide and total[own] < 2 * rules.size):
        return 0.0, ZERO + 1
    c = free[free[0]]
    gain = 0.0
    rows, taken, work = ZERO, ZERO, ZERO
    empty_class(boxes, c)
    for i in range(-1, near.shape[1]):
        r = seed if i < 0 else near[seed, i]
        if r < 0 or taken >= rules.size or rows == pool.shape[1]:
            break
        b = boxes.of[r]
        if b < 0 or region.place[b] != region.here or b == c or (divide and b != own):
            continue
        # Rows leave only where enough stay, and where those keep the rules.
        work += 1
        if total[b] - weight[r] < rules.size or not keeps_rules(rules, boxes, ident, histogram, b, r, NOBODY):
            continue
        gain += total[b] * cost[b]
        leave_class(boxes, rules, ident, r)
        join_class(boxes, rules, ident, r, c)
        work += _measure_class(points, measure, boxes, b, region)
        gain -= total[b] * cost[b]
        pool[0, rows], pool[2, rows] = r, b
        rows += 1
        taken += weight[r]
    work += _measure_class(points, measure, boxes, c, region)
    gain -= total[c] * cost[c]
    enough = taken >= rules.size and keeps_rules(rules, boxes, ident, histogram, c, NOBODY, NOBODY)
    if enough and gain > -limit:
        free[0] -= 1
        return gain, work
    for i in range(rows):
        leave_class(boxes, rules, ident, pool[0, i])
        join_class(boxes, rules, ident, pool[0, i], pool[2, i])
        work += _measure_class(points, measure, boxes, pool[2, i], region)
    return 0.0, work + rebuild_box(points, measure, boxes, c)


@inline_kernel
def _change_class(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    r: int,
    kind: int,
    limit: float,
    workspace: RefineWorkspace,
) -> tuple[float, int]:
    """Dissolve or divide the class of a row, or make one around it; gain and work."""
    if kind == _DISSOLVE:
        return _dissolve_class(points, measure, rules, ident, boxes, region, boxes.of[r], limit, workspace)
    return _start_class(points, measure, rules, ident, boxes, region, r, kind == _DIVIDE, limit, workspace)


@entry_kernel
def anneal_classes(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    boxes: ClassBoxes,
    region: Region,
    temperature: float,
    allowed: int,
    workspace: RefineWorkspace,
    halt: NDArray[np.bool_],
) -> tuple[float, int]:
    """Change the classes of a region at random, as the temperature allows.

    Parameters
    ----------
    temperature : float
        In the unit of the loss: weight times cost of a row.
    allowed : int
        Work after which it ends.

    Returns
    -------
    by how much the loss fell, and the work done in evaluations of one row
    """
    rows, of, state = region.rows, boxes.of, workspace.random
    saved = 0.0
    work, steps, skipped = ZERO, ZERO, ZERO
    for i in range(rows.size):
        if boxes.head[of[rows[i]]] == rows[i]:
            work += _measure_class(points, measure, boxes, of[rows[i]], region)
    at = ZERO + draw_below(state, rows.size)
    while work < allowed:
        r = rows[at]
        at = at + 1 if at + 1 < rows.size else ZERO
        # What lies within its class frees nothing by leaving; still it makes room, so some of these go, too.
        if not region.edge[r]:
            skipped += 1
            if skipped % _SKIPPED > 0:
                continue
        steps += 1
        if steps % _CHECKED == 0 and halt[0]:
            break
        limit = -temperature * log(1.0 - draw_uniform(state))
        kind = draw_below(state, _RARE)
        if kind < _KINDS:
            gain, more = _change_class(
                points, measure, rules, ident, boxes, region, r, kind, limit, workspace
            )
        else:
            gain, more = _change_row(points, measure, rules, ident, boxes, region, r, limit, workspace)
        saved += gain
        work += more
    return saved, work
