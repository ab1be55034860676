"""Top-down partitioning: cut a set of weighted rows in two until no cut is allowed.

The rows of a node lie next to each other and are moved in place, so that every class is a slice
in the end and threads can work on different slices. A node's result depends on its own rows only.
Loops are written out and buffers reused: slices and sorts cost more to compile than they save.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import LEVELS, START, TREE, Axes, common_level, width
from shoal.kernels.compiled import entry, inline, inner
from shoal.kernels.rules import Rules, add_row, satisfied

CLASSIC, NEAREST, GREEDY = 0, 1, 2

WHOLE = -1
"""`Cut.ties` of a cut that divides no ties."""

_SAMPLE = 1 << 14  # a node with more rows is scored on about this many: the top cuts need no more
_LOPSIDED = 16  # greedy parts have at least 1/16 of a node where they can, so that depth stays logarithmic
_FEW = 64  # nodes with more children are cut between children: taking one after the other would be quadratic


class Rows(NamedTuple):
    """Weighted rows, in an order that the kernels change."""

    codes: NDArray[np.unsignedinteger]
    """[u, d]"""
    weight: NDArray[np.int64]
    ident: NDArray[np.int64]
    """Which row of the frequency table stands here."""


class Cut(NamedTuple):
    """Rows with ``lo <= code <= hi`` on ``axis`` go left; of those equal to ``hi`` only ``ties``."""

    axis: int
    lo: int
    hi: int
    ties: int


class Buffers(NamedTuple):
    """Room to work in, reused from node to node.

    A *bucket* holds the rows of a node that lie at one place of an axis; buckets are in ascending order.
    """

    bucket: NDArray[np.int64]
    """[rows] bucket of each row."""
    order: NDArray[np.int64]
    """[rows]"""
    grid: NDArray[np.int64]
    """[buckets + 1, 2 + 2 d] of each bucket: the PLACE on the axis that it stands for, the WEIGHT of its
    rows, and from BOX on their least and greatest code on every axis. The last line is spare."""
    extent: NDArray[np.float64]
    """[d] width of the running box of `_sweep` along every axis."""
    score: NDArray[np.float64]
    """[2, buckets]"""
    histogram: NDArray[np.int64]
    """[3, values] sensitive values of the left side, the right side and the node."""


PLACE, WEIGHT, BOX = 0, 1, 2
"""Columns of `Buffers.grid`."""


@inner
def _buffers(rows: int, axes: Axes, values: int) -> Buffers:
    d = axes.weight.size
    longest = 0
    for j in range(d):
        longest = max(longest, axes.shape[START, j + 1] - axes.shape[START, j])
    buckets = min(longest, 2 * rows + 64)
    return Buffers(
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty((buckets + 1, 2 + 2 * d), np.int64),
        np.empty(d, np.float64),
        np.empty((2, buckets), np.float64),
        np.empty((3, values), np.int64),
    )


# Functions that run once per axis of every node take arrays, not the tuples that hold them: reaching into
# a tuple makes numba count references, which at that rate costs more than the work itself.


@inner
def bounds(rows: Rows, start: int, stop: int, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> int:
    """Write the tight bounds of a node into ``lo`` and ``hi``; return its weight."""
    codes, weight = rows.codes, rows.weight
    for j in range(lo.size):
        lo[j] = codes[start, j]
        hi[j] = lo[j]
    total = weight[start]
    for i in range(start + 1, stop):
        total += weight[i]
        for j in range(lo.size):
            code = np.int64(codes[i, j])
            if code < lo[j]:
                lo[j] = code
            elif code > hi[j]:
                hi[j] = code
    return int(total)


@inner
def weigh(rows: Rows, start: int, stop: int, cut: Cut) -> tuple[int, int]:
    """Weight of the left side of a cut that divides no ties, and of the node."""
    codes, weight = rows.codes, rows.weight
    left = 0
    total = 0
    for i in range(start, stop):
        total += weight[i]
        if cut.lo <= codes[i, cut.axis] <= cut.hi:
            left += weight[i]
    return left, total


@inline
def _child_level(shape: NDArray[np.int64], node: NDArray[np.int32], axis: int, lo: int, hi: int) -> int:
    """Level of the children of the common node of ``lo..hi``; -1 on a line."""
    return -1 if shape[LEVELS, axis] == 0 else common_level(shape, node, axis, lo, hi) - 1


@inline
def _place(shape: NDArray[np.int64], node: NDArray[np.int32], axis: int, level: int, code: int) -> int:
    """Where an axis may be cut: at each code, or on a tree around each node of ``level``."""
    if level < 0:
        return code
    size = shape[START, axis + 1] - shape[START, axis]
    return node[shape[TREE, axis] + level * size + code]  # type: ignore[no-any-return]


@inner
def _sort(values: NDArray[np.int64], size: int) -> None:
    """Shell sort: short to compile, and the inputs are short (Ciura's gaps, continued)."""
    gap = 1
    while gap < size // 2:
        gap = int(gap * 2.25) + 1
    while gap > 0:
        for i in range(gap, size):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = 0 if gap == 1 else max(1, int(gap / 2.25))


@inner
def _fill_buckets(
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    start: int,
    stop: int,
    step: int,
    shape: NDArray[np.int64],
    node: NDArray[np.int32],
    axis: int,
    level: int,
    lo: int,
    hi: int,
    bucket: NDArray[np.int64],
    order: NDArray[np.int64],
    grid: NDArray[np.int64],
) -> int:
    """Assign each row its bucket along ``axis`` and weigh the buckets; return how many there are."""
    count = 0
    at = shape[TREE, axis] + level * (shape[START, axis + 1] - shape[START, axis])
    for i in range(start, stop, step):
        bucket[count] = codes[i, axis] if level < 0 else node[at + codes[i, axis]]  # `_place`, written out
        count += 1
    low = _place(shape, node, axis, level, lo)
    size = _place(shape, node, axis, level, hi) - low + 1
    if size <= 2 * count + 64:
        for g in range(size):
            grid[g, PLACE] = low + g
        for at in range(count):
            bucket[at] -= low
    else:  # few rows on a long axis: sorting them beats counting empty places
        size = _rank(bucket, order, grid, count)
    for g in range(size):
        grid[g, WEIGHT] = 0
    at = 0
    for i in range(start, stop, step):
        grid[bucket[at], WEIGHT] += weights[i]
        at += 1
    return size


@inner
def _rank(bucket: NDArray[np.int64], order: NDArray[np.int64], grid: NDArray[np.int64], count: int) -> int:
    """Turn the places in ``bucket`` into ranks; return how many distinct ones there are."""
    for at in range(count):
        order[at] = bucket[at]
    _sort(order, count)
    size = 0
    for at in range(count):
        if at == 0 or order[at] != order[at - 1]:
            grid[size, PLACE] = order[at]
            size += 1
    for at in range(count):
        first = 0
        last = size - 1
        while first < last:
            middle = (first + last) // 2
            if grid[middle, PLACE] < bucket[at]:
                first = middle + 1
            else:
                last = middle
        bucket[at] = first
    return size


@inner
def _fill_boxes(
    codes: NDArray[np.unsignedinteger],
    start: int,
    stop: int,
    step: int,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    bucket: NDArray[np.int64],
    grid: NDArray[np.int64],
    size: int,
) -> None:
    """Find the box of every bucket that has rows."""
    d = lo.size
    spare = grid.shape[0] - 1  # lists the axes along which the node extends
    extending = 0
    for j in range(d):
        if lo[j] < hi[j]:
            grid[spare, extending] = j
            extending += 1
    for g in range(size):
        grid[g, BOX] = -1
    at = 0
    for i in range(start, stop, step):
        g = bucket[at]
        at += 1
        if grid[g, BOX] < 0:
            for j in range(d):
                grid[g, BOX + j] = grid[g, BOX + d + j] = codes[i, j]
            continue
        for w in range(extending):
            j = grid[spare, w]
            code = np.int64(codes[i, j])
            if code < grid[g, BOX + j]:
                grid[g, BOX + j] = code
            elif code > grid[g, BOX + d + j]:
                grid[g, BOX + d + j] = code


@inner
def _sweep(
    weight: NDArray[np.float64],
    shape: NDArray[np.int64],
    position: NDArray[np.float64],
    node: NDArray[np.int32],
    node_width: NDArray[np.float64],
    grid: NDArray[np.int64],
    extent: NDArray[np.float64],
    score: NDArray[np.float64],
    into: int,
    first: int,
    last: int,
    step: int,
    cost: float,
) -> float:
    """Extend a running box over the buckets ``first..last``; return its cost.

    The cost before each bucket goes into ``score[into]``; a negative cost stands for the empty box.
    Widths are computed anew only where they change.
    """
    d = weight.size
    run = grid.shape[0] - 1
    for g in range(first, last + step, step):
        score[into, g] = cost
        if grid[g, WEIGHT] == 0:
            continue
        if cost < 0.0:
            cost = 0.0
            for j in range(d):
                grid[run, BOX + j] = grid[run, BOX + d + j] = grid[g, BOX + j]
                extent[j] = 0.0
        for j in range(d):
            lo = min(grid[run, BOX + j], grid[g, BOX + j])
            hi = max(grid[run, BOX + d + j], grid[g, BOX + d + j])
            if lo < grid[run, BOX + j] or hi > grid[run, BOX + d + j]:
                grid[run, BOX + j] = lo
                grid[run, BOX + d + j] = hi
                # `width`, written out: a call from here would count references for every bucket.
                if shape[LEVELS, j] == 0:
                    start = shape[START, j]
                    extended = min(1.0, position[start + hi] - position[start + lo])
                else:
                    at = shape[TREE, j]
                    while node[at + lo] != node[at + hi]:
                        at += shape[START, j + 1] - shape[START, j]
                    extended = node_width[at + lo]
                cost += weight[j] * (extended - extent[j])
                extent[j] = extended
    return cost


@inner
def _greedy_score(before: float, left: int, left_cost: float, right: int, right_cost: float) -> float:
    """How good a cut is; the least is the best.

    The loss that it saves, over the root of both sides' weights. Even cuts are weighed down by that, because
    they use up more of what can still be cut: a part that is cut off a large node leaves nearly all of it.
    """
    saved = before - left * left_cost - right * right_cost
    return -saved / np.sqrt(np.float64(left) * right)


@inner
def _score_line(
    weight: NDArray[np.float64],
    shape: NDArray[np.int64],
    position: NDArray[np.float64],
    node: NDArray[np.int32],
    node_width: NDArray[np.float64],
    grid: NDArray[np.int64],
    extent: NDArray[np.float64],
    score: NDArray[np.float64],
    size: int,
    total: int,
    least: int,
) -> float:
    """Score the cut after each bucket, infinite where a side is too small; return the cost of the node."""
    _sweep(weight, shape, position, node, node_width, grid, extent, score, 1, size - 1, 0, -1, -1.0)
    whole = _sweep(weight, shape, position, node, node_width, grid, extent, score, 0, 0, size - 1, 1, -1.0)
    left = 0
    for g in range(size):
        left += grid[g, WEIGHT]
        up_to = score[0, g + 1] if g + 1 < size else whole
        allowed = grid[g, WEIGHT] > 0 and min(left, total - left) >= least
        if allowed:
            score[0, g] = _greedy_score(total * whole, left, up_to, total - left, score[1, g])
        else:
            score[0, g] = np.inf
    return whole


@inner
def _score_tree(
    weight: NDArray[np.float64],
    shape: NDArray[np.int64],
    position: NDArray[np.float64],
    node: NDArray[np.int32],
    node_width: NDArray[np.float64],
    grid: NDArray[np.int64],
    extent: NDArray[np.float64],
    score: NDArray[np.float64],
    size: int,
    total: int,
    least: int,
) -> None:
    """Score the cut around each bucket, infinite where a side is too small."""
    whole = _sweep(weight, shape, position, node, node_width, grid, extent, score, 1, 0, size - 1, 1, -1.0)
    for g in range(size):
        left = grid[g, WEIGHT]
        score[0, g] = np.inf
        if left > 0 and min(left, total - left) >= least:
            rest = _sweep(
                weight, shape, position, node, node_width, grid, extent, score, 1, 0, g - 1, 1, -1.0
            )
            rest = _sweep(
                weight, shape, position, node, node_width, grid, extent, score, 1, g + 1, size - 1, 1, rest
            )
            own = _sweep(weight, shape, position, node, node_width, grid, extent, score, 1, g, g, 1, -1.0)
            score[0, g] = _greedy_score(total * whole, left, own, total - left, rest)


@inner
def _score_median(
    grid: NDArray[np.int64], score: NDArray[np.float64], size: int, total: int, least: int, around: bool
) -> None:
    """Distance of each allowed cut from the median."""
    before = 0
    for g in range(size):
        before += grid[g, WEIGHT]
        left = grid[g, WEIGHT] if around else before
        allowed = grid[g, WEIGHT] > 0 and min(left, total - left) >= least
        score[0, g] = abs(2.0 * left - total) if allowed else np.inf


@inner
def _least(score: NDArray[np.float64], size: int, best: float) -> int:
    """First bucket with the least score under ``best``; -1 if there is none."""
    found = -1
    for g in range(size):
        if score[0, g] < best:
            best = score[0, g]
            found = g
    return found


@inner
def _least_allowed(
    rows: Rows, start: int, stop: int, rules: Rules, use: Buffers, size: int, best: float, around: bool
) -> int:
    """First bucket with the least score under ``best`` whose cut satisfies the rules; -1 if there is none."""
    count = stop - start
    _group(use.bucket, use.order, use.score, count, size)
    _count(rules, rows, start, stop, use.histogram, 2)
    found = -1
    at = 0
    for g in range(size):
        if around or g == 0:
            for value in range(rules.values):
                use.histogram[0, value] = 0
        while at < count and use.bucket[use.order[at]] == g:
            add_row(rules, rows.ident[start + use.order[at]], use.histogram, 0)
            at += 1
        if use.score[0, g] < best and _sides_satisfied(rules, use.histogram):
            best = use.score[0, g]
            found = g
    return found


@inner
def _group(
    bucket: NDArray[np.int64], order: NDArray[np.int64], score: NDArray[np.float64], count: int, size: int
) -> None:
    """List the rows bucket by bucket in ``order`` (counting sort; ``score[1]`` holds the counters)."""
    for g in range(size):
        score[1, g] = 0.0
    for at in range(count):
        score[1, bucket[at]] += 1.0
    first = 0.0
    for g in range(size):
        number = score[1, g]
        score[1, g] = first
        first += number
    for at in range(count):
        g = bucket[at]
        order[int(score[1, g])] = at
        score[1, g] += 1.0


@inner
def _count(rules: Rules, rows: Rows, start: int, stop: int, histogram: NDArray[np.int64], side: int) -> None:
    """Count the sensitive values of a node."""
    for value in range(rules.values):
        histogram[side, value] = 0
    for i in range(start, stop):
        add_row(rules, rows.ident[i], histogram, side)


@inner
def _sides_satisfied(rules: Rules, histogram: NDArray[np.int64]) -> bool:
    """Whether the left side and what the node has beside it both satisfy the rules."""
    for value in range(rules.values):
        histogram[1, value] = histogram[2, value] - histogram[0, value]
    return satisfied(rules, histogram, 0) and satisfied(rules, histogram, 1)


@inner
def _allowed(rows: Rows, start: int, stop: int, rules: Rules, cut: Cut, use: Buffers) -> bool:
    """Whether both sides of one given cut satisfy the rules (their sizes aside)."""
    if rules.limit.size == 0:
        return True
    left = _sides(rows.codes, start, stop, cut, use.order)
    _count(rules, rows, start, stop, use.histogram, 2)
    for value in range(rules.values):
        use.histogram[0, value] = 0
    for at in range(left):
        add_row(rules, rows.ident[use.order[at]], use.histogram, 0)
    return _sides_satisfied(rules, use.histogram)


@inner
def _as_cut(
    shape: NDArray[np.int64],
    node: NDArray[np.int32],
    axis: int,
    level: int,
    around: bool,
    place: int,
    lo: int,
    hi: int,
) -> Cut:
    """The cut ``around`` the node ``place`` of a tree, or after a place of any axis."""
    if level < 0:
        return Cut(axis, 0, place, WHOLE)
    first = lo
    while _place(shape, node, axis, level, first) != place:
        first += 1
    last = first
    while last < hi and _place(shape, node, axis, level, last + 1) == place:
        last += 1
    return Cut(axis, first if around else 0, last, WHOLE)


@inner
def _median_cut(grid: NDArray[np.int64], axis: int, total: int) -> tuple[int, Cut]:
    """The cut that fills the left side with exactly half of the rows, dividing ties, and its bucket."""
    g = 0
    before = 0
    while before + grid[g, WEIGHT] < total // 2:
        before += grid[g, WEIGHT]
        g += 1
    return g, Cut(axis, 0, grid[g, PLACE], total // 2 - before)


@inner
def _greedy_cut(
    rows: Rows,
    start: int,
    stop: int,
    step: int,
    axes: Axes,
    rules: Rules,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    least: int,
    divide: bool,
    use: Buffers,
) -> Cut:
    """The best cut over all axes.

    With a ``step`` above 1 only every so-maniest row is looked at, and the rules are not.
    """
    codes, weights = rows.codes, rows.weight
    weight, shape, position, node, node_width = (
        axes.weight,
        axes.shape,
        axes.position,
        axes.node,
        axes.node_width,
    )
    bucket, order, grid, extent, score = use.bucket, use.order, use.grid, use.extent, use.score
    cut = Cut(-1, 0, 0, WHOLE)
    best = np.inf
    total = 0
    for i in range(start, stop, step):
        total += weights[i]
    small = rules.size
    if step > 1:
        least = total // _LOPSIDED
        small = total // _FEW
    for axis in range(lo.size):
        if lo[axis] == hi[axis]:
            continue
        level = _child_level(shape, node, axis, lo[axis], hi[axis])
        size = _fill_buckets(
            codes,
            weights,
            start,
            stop,
            step,
            shape,
            node,
            axis,
            level,
            lo[axis],
            hi[axis],
            bucket,
            order,
            grid,
        )
        _fill_boxes(codes, start, stop, step, lo, hi, bucket, grid, size)
        around = level >= 0 and size <= _FEW
        if around:
            _score_tree(weight, shape, position, node, node_width, grid, extent, score, size, total, small)
            whole = 0.0
        else:
            whole = _score_line(
                weight, shape, position, node, node_width, grid, extent, score, size, total, least
            )
        if rules.limit.size == 0 or step > 1:
            found = _least(score, size, best)
        else:
            found = _least_allowed(rows, start, stop, rules, use, size, best, around)
        if found >= 0:
            best = score[0, found]
            cut = _as_cut(shape, node, axis, level, around, grid[found, PLACE], lo[axis], hi[axis])
        if divide and level < 0 and step == 1:
            middle, halves = _median_cut(grid, axis, total)
            left = _sweep(
                weight, shape, position, node, node_width, grid, extent, score, 1, 0, middle, 1, -1.0
            )
            right = _sweep(
                weight, shape, position, node, node_width, grid, extent, score, 1, middle, size - 1, 1, -1.0
            )
            half = total // 2
            middle_score = _greedy_score(total * whole, half, left, total - half, right)
            if middle_score < best and _allowed(rows, start, stop, rules, halves, use):
                best = middle_score
                cut = halves
    return cut


@inner
def _nearest_cut(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    rules: Rules,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    total: int,
    divide: bool,
    use: Buffers,
) -> Cut:
    """On the widest axis that has an allowed cut, the one nearest the median."""
    weight, shape, position, node, node_width = (
        axes.weight,
        axes.shape,
        axes.position,
        axes.node,
        axes.node_width,
    )
    codes, weights, bucket, order, grid, score = (
        rows.codes,
        rows.weight,
        use.bucket,
        use.order,
        use.grid,
        use.score,
    )
    tried = np.zeros(lo.size, np.bool_)
    while True:
        axis = -1
        widest = -np.inf
        for j in range(lo.size):
            if lo[j] < hi[j] and not tried[j]:
                extent = weight[j] * width(shape, position, node, node_width, j, lo[j], hi[j])
                if extent > widest:
                    axis = j
                    widest = extent
        if axis < 0:
            return Cut(-1, 0, 0, WHOLE)
        tried[axis] = True
        level = -1 if divide else _child_level(shape, node, axis, lo[axis], hi[axis])
        size = _fill_buckets(
            codes, weights, start, stop, 1, shape, node, axis, level, lo[axis], hi[axis], bucket, order, grid
        )
        if divide:
            _, cut = _median_cut(grid, axis, total)
            if _allowed(rows, start, stop, rules, cut, use):
                return cut
            continue
        around = level >= 0 and size <= _FEW
        _score_median(grid, score, size, total, rules.size, around)
        if rules.limit.size == 0:
            found = _least(score, size, np.inf)
        else:
            found = _least_allowed(rows, start, stop, rules, use, size, np.inf, around)
        if found >= 0:
            return _as_cut(shape, node, axis, level, around, grid[found, PLACE], lo[axis], hi[axis])


@inner
def _classic_cut(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    rules: Rules,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    total: int,
    divide: bool,
    use: Buffers,
) -> Cut:
    """The published program's rule: the widest axis by bounds that are tightened only when tried.

    Trees are cut like lines of leaves. ``lo`` and ``hi`` come from the parent and are updated.
    """
    shape, position, node = axes.shape, axes.position, axes.node
    codes, weights, bucket, order, grid = rows.codes, rows.weight, use.bucket, use.order, use.grid
    tried = np.zeros(lo.size, np.bool_)
    while True:
        axis = -1
        widest = -1.0
        for j in range(lo.size):
            extent = position[shape[START, j] + hi[j]] - position[shape[START, j] + lo[j]]
            if not tried[j] and extent > widest:
                axis = j
                widest = extent
        if axis < 0:
            return Cut(-1, 0, 0, WHOLE)
        tried[axis] = True
        size = _fill_buckets(
            codes, weights, start, stop, 1, shape, node, axis, -1, lo[axis], hi[axis], bucket, order, grid
        )
        first = 0
        while grid[first, WEIGHT] == 0:
            first += 1
        while grid[size - 1, WEIGHT] == 0:
            size -= 1
        lo[axis] = grid[first, PLACE]
        hi[axis] = grid[size - 1, PLACE]
        if lo[axis] == hi[axis]:
            continue
        middle, cut = _median_cut(grid, axis, total)
        if not divide:
            cut = Cut(axis, 0, cut.hi, WHOLE)
            left = 0
            for g in range(middle + 1):
                left += grid[g, WEIGHT]
            if min(left, total - left) < rules.size:
                continue
        if _allowed(rows, start, stop, rules, cut, use):
            return cut


@inner
def _sides(
    codes: NDArray[np.unsignedinteger], start: int, stop: int, cut: Cut, order: NDArray[np.int64]
) -> int:
    """List the rows of both sides in ``order``, left ones first; return how many go left.

    Ties are divided as the published program does: the last ones join the left side, backwards.
    """
    left = 0
    for i in range(start, stop):
        code = np.int64(codes[i, cut.axis])
        if cut.lo <= code <= cut.hi and (cut.ties == WHOLE or code < cut.hi):
            order[left] = i
            left += 1
    wanted = left + max(cut.ties, 0)
    last_tie = stop
    while left < wanted:
        last_tie -= 1
        if codes[last_tie, cut.axis] == cut.hi:
            order[left] = last_tie
            left += 1
    at = left
    for i in range(start, stop):
        if not cut.lo <= codes[i, cut.axis] <= cut.hi:
            order[at] = i
            at += 1
    for i in range(start, start if cut.ties == WHOLE else last_tie):
        if codes[i, cut.axis] == cut.hi:
            order[at] = i
            at += 1
    return left


@inner
def _move(rows: Rows, start: int, count: int, order: NDArray[np.int64]) -> None:
    """Put the rows named by ``order`` at ``start`` and after."""
    codes, weight, ident = rows.codes, rows.weight, rows.ident
    d = codes.shape[1]
    moved_codes = np.empty((count, d), codes.dtype)
    moved_weight = np.empty(count, weight.dtype)
    moved_ident = np.empty(count, ident.dtype)
    for at in range(count):
        i = order[at]
        for j in range(d):
            moved_codes[at, j] = codes[i, j]
        moved_weight[at] = weight[i]
        moved_ident[at] = ident[i]
    for at in range(count):
        for j in range(d):
            codes[start + at, j] = moved_codes[at, j]
        weight[start + at] = moved_weight[at]
        ident[start + at] = moved_ident[at]


@inner
def _split(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    rules: Rules,
    how: int,
    divide: bool,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    use: Buffers,
) -> tuple[int, Cut]:
    """Cut a node in two, moving its rows; return where the right side begins (``stop`` for a leaf).

    ``lo`` and ``hi`` are the node's bounds: recomputed, except for the classic rule, which inherits them.
    """
    if how == CLASSIC:
        total = 0
        for i in range(start, stop):
            total += rows.weight[i]
    else:
        total = bounds(rows, start, stop, lo, hi)
    cut = Cut(-1, 0, 0, WHOLE)
    if total < 2 * rules.size:
        return stop, cut
    if how == CLASSIC:
        cut = _classic_cut(rows, start, stop, axes, rules, lo, hi, total, divide, use)
    elif how == NEAREST:
        cut = _nearest_cut(rows, start, stop, axes, rules, lo, hi, total, divide, use)
    else:
        # First on a sample of a large node, then with both parts of some size, then any cut at all.
        step = (stop - start) // _SAMPLE
        least = max(rules.size, total // _LOPSIDED)
        while cut.axis < 0 and least > 0:
            cut = _greedy_cut(rows, start, stop, max(step, 1), axes, rules, lo, hi, least, divide, use)
            if step > 1:
                if cut.axis >= 0 and not _holds(rows, start, stop, rules, cut, use):
                    cut = Cut(-1, 0, 0, WHOLE)
                step = 1
            else:
                least = rules.size if least > rules.size else 0
    if cut.axis < 0:
        return stop, cut
    left = _sides(rows.codes, start, stop, cut, use.order)
    _move(rows, start, stop - start, use.order)
    return start + left, cut


@inner
def _holds(rows: Rows, start: int, stop: int, rules: Rules, cut: Cut, use: Buffers) -> bool:
    """Whether a cut found on a sample is allowed on all rows."""
    left, total = weigh(rows, start, stop, cut)
    return min(left, total - left) >= rules.size and _allowed(rows, start, stop, rules, cut, use)


@entry
def grow(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    rules: Rules,
    how: int,
    divide: bool,
    bounds_of: NDArray[np.int64],
    leaf: NDArray[np.bool_],
    halt: NDArray[np.bool_],
    deep: bool,
) -> tuple[int, int]:
    """Partition a node down to its leaves, or cut it once if not ``deep``.

    ``leaf`` is marked where each leaf begins.

    Parameters
    ----------
    how : CLASSIC, NEAREST or GREEDY
    divide : bool
        Whether rows with equal codes may be divided (relaxed partitioning); all weights are 1 then.
    bounds_of : int64[3, 2, d]
        Bounds of the node; those of the children after the one cut of a shallow call.
    halt : bool[1]
        Set by another thread to end the work early.

    Returns
    -------
    nodes visited, and where the right side of the first cut begins (``stop`` if there was none)
    """
    use = _buffers(stop - start, axes, rules.values)
    d = axes.weight.size
    todo = np.empty((64, 2), np.int64)  # the smaller side goes first, so a stack of 64 never fills
    stacked = np.empty((65, 2, d), np.int64)
    lo = np.empty(d, np.int64)
    hi = np.empty(d, np.int64)
    todo[0, 0], todo[0, 1] = start, stop
    for j in range(d):
        stacked[0, 0, j], stacked[0, 1, j] = bounds_of[0, 0, j], bounds_of[0, 1, j]
    waiting = 1
    nodes = 0
    first_middle = stop
    while waiting > 0 and not halt[0]:
        waiting -= 1
        first, last = todo[waiting]
        for j in range(d):
            lo[j], hi[j] = stacked[waiting, 0, j], stacked[waiting, 1, j]
        middle, cut = _split(rows, first, last, axes, rules, how, divide, lo, hi, use)
        if nodes == 0:
            first_middle = middle
        nodes += 1
        if middle == last:
            leaf[first] = True
            continue
        left_first = middle - first <= last - middle
        for side in range(2):
            at = waiting + (side if not left_first else 1 - side)
            todo[at, 0] = middle if side else first
            todo[at, 1] = last if side else middle
            for j in range(d):
                stacked[at, 0, j], stacked[at, 1, j] = lo[j], hi[j]
            if how == CLASSIC and side == 0:
                stacked[at, 1, cut.axis] = cut.hi
            elif how == CLASSIC:
                stacked[at, 0, cut.axis] = _least_code(rows.codes, middle, last, cut.axis)
            for j in range(d):
                bounds_of[1 + side, 0, j], bounds_of[1 + side, 1, j] = stacked[at, 0, j], stacked[at, 1, j]
        waiting += 2
        if not deep:
            break
    return nodes, first_middle


@inner
def _least_code(codes: NDArray[np.unsignedinteger], start: int, stop: int, axis: int) -> int:
    least = np.int64(codes[start, axis])
    for i in range(start + 1, stop):
        least = min(least, np.int64(codes[i, axis]))
    return int(least)
