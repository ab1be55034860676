"""Top-down partitioning: cut a set of weighted rows in two until no cut is allowed.

The rows of a node lie next to each other and are moved in place, so that every class is a slice
in the end and threads can work on different slices. A node's result depends on its own rows only.
Loops are written out and buffers reused: slices and sorts cost more to compile than they save.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import LEVELS, START, TREE, Axes, common_level, width
from shoal.kernels.boxes import LOWER, PLACE, UPPER, WEIGHT, Boxes, Packing, enclose, pack, sweep
from shoal.kernels.compiled import entry, inline, inner, typed
from shoal.kernels.rules import Rules, add_row, satisfied

CLASSIC, NEAREST, GREEDY = 0, 1, 2

WHOLE = -1
"""`Cut.ties` of a cut that divides no ties."""

# Numba compiles a function anew for every plain integer that it is called with, but only once for these.
NONE, FIRST = typed(-1), typed(0)
BEFORE, AFTER, SCORE, SPARE = typed(0), typed(1), typed(2), typed(3)
"""Rows of `Buffers.score`."""
LEFT, RIGHT, BOTH = typed(0), typed(1), typed(2)
"""Rows of `Buffers.histogram`."""

LOPSIDED = 1024  # greedy parts are at least this share of a node where they can, so that depth stays bounded
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
    """Room to work in, reused from node to node."""

    order: NDArray[np.int64]
    """[rows]"""
    score: NDArray[np.float64]
    """[4, buckets] of each bucket: the costs of the boxes BEFORE and AFTER it, and the SCORE of its cut."""
    histogram: NDArray[np.int64]
    """[3, values] sensitive values on the LEFT, on the RIGHT and on BOTH sides."""
    tried: NDArray[np.bool_]
    """[d]"""


@inner
def _most_buckets(axes: Axes, rows: int) -> int:
    """How many buckets a node of so many rows has at most."""
    longest = 0
    for j in range(axes.weight.size):
        longest = max(longest, axes.shape[START, j + 1] - axes.shape[START, j])
    return min(longest, 2 * rows + 64)


@inner
def tighten(rows: Rows, start: int, stop: int, corner: NDArray[np.int64]) -> None:
    """Write the tight bounds of a node into ``corner``."""
    codes = rows.codes
    d = codes.shape[1]
    for j in range(d):
        corner[LOWER, j] = corner[UPPER, j] = codes[start, j]
    for i in range(start + 1, stop):
        for j in range(d):
            code = np.int64(codes[i, j])
            if code < corner[LOWER, j]:
                corner[LOWER, j] = code
            elif code > corner[UPPER, j]:
                corner[UPPER, j] = code


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


@inline
def _fill_buckets(
    rows: Rows,
    start: int,
    stop: int,
    alike: int,
    axes: Axes,
    axis: int,
    level: int,
    lo: int,
    hi: int,
    boxes: Boxes,
    order: NDArray[np.int64],
) -> int:
    """Assign each row its bucket along ``axis`` and weigh the buckets; return how many there are.

    ``alike`` is the number of rows of the node, of which these may be a summary.
    """
    shape, node, bucket, grid = axes.shape, axes.node, boxes.bucket, boxes.grid
    low = _place(shape, node, axis, level, lo)
    size = _place(shape, node, axis, level, hi) - low + 1
    most = 2 * alike + 64
    for g in range(size if size <= most else 0):
        grid[g, PLACE] = low + g
        grid[g, WEIGHT] = 0
    at = shape[TREE, axis] + level * (shape[START, axis + 1] - shape[START, axis])
    for i in range(start, stop):
        place = np.int64(rows.codes[i, axis])
        if level >= 0:
            place = np.int64(node[at + place])  # `_place`, written out
        bucket[i - start] = place - low
        if size <= most:
            grid[place - low, WEIGHT] += rows.weight[i]
    if size > most:  # few rows on a long axis: sorting them beats counting empty places
        size = _rank(bucket, order, stop - start)
        for g in range(size):
            grid[g, PLACE] = low + order[g]
            grid[g, WEIGHT] = 0
        for i in range(start, stop):
            grid[bucket[i - start], WEIGHT] += rows.weight[i]
    return size


@inner
def _rank(values: NDArray[np.int64], order: NDArray[np.int64], count: int) -> int:
    """Turn ``values`` into ranks and list what is ranked in ``order``; return how many that are."""
    for at in range(count):
        order[at] = values[at]
    gap = 1  # Shell sort (Ciura's gaps, continued): short to compile, and the inputs are short
    while gap < count // 2:
        gap = int(gap * 2.25) + 1
    while gap > 0:
        for i in range(gap, count):
            value = order[i]
            j = i
            while j >= gap and order[j - gap] > value:
                order[j] = order[j - gap]
                j -= gap
            order[j] = value
        gap = 0 if gap == 1 else max(1, int(gap / 2.25))
    size = 1
    for at in range(1, count):
        if order[at] != order[size - 1]:
            order[size] = order[at]
            size += 1
    for at in range(count):
        first = 0
        last = size - 1
        while first < last:
            middle = (first + last) // 2
            if order[middle] < values[at]:
                first = middle + 1
            else:
                last = middle
        values[at] = first
    return size


@inner
def _can_be_cut(grid: NDArray[np.int64], size: int, total: int, least: int, around: bool) -> bool:
    """Whether any cut leaves enough rows on both sides."""
    before = 0
    for g in range(size):
        before += grid[g, WEIGHT]
        left = grid[g, WEIGHT] if around else before
        if min(left, total - left) >= least:
            return True
    return False


@inner
def _greedy_score(before: float, left: int, left_cost: float, right: int, right_cost: float) -> float:
    """How good a cut is; the least is the best.

    The loss that it saves, over the root of both sides' weights. Even cuts are weighed down by that, because
    they use up more of what can still be cut: a part that is cut off a large node leaves nearly all of it.
    """
    saved = before - left * left_cost - right * right_cost
    return float(-saved / np.sqrt(np.float64(left) * right))


@inline
def _box_costs(
    axes: Axes, packing: Packing, boxes: Boxes, score: NDArray[np.float64], size: int, middle: int
) -> tuple[float, float, float]:
    """Find the costs BEFORE and AFTER each bucket; return that of the node.

    And, unless ``middle`` is NONE, those of its halves if the rows of that bucket are divided between them.
    """
    whole = lower = upper = 0.0
    for turn in range(2 if middle < 0 else 4):  # one call in a loop: four would be compiled four times
        first = size - 1 if turn == 0 else middle if turn == 3 else 0
        last = 0 if turn == 0 else middle if turn == 2 else size - 1
        into = AFTER if turn == 0 else BEFORE if turn == 1 else SPARE
        cost = sweep(axes, packing, boxes, size, first, last, NONE, score, into)
        if turn == 1:
            whole = cost
        elif turn == 2:
            lower = cost
        else:
            upper = cost
    return whole, lower, upper


@inner
def _score_line(
    grid: NDArray[np.int64], score: NDArray[np.float64], size: int, total: int, least: int, whole: float
) -> None:
    """Score the cut after each bucket, infinite where a side is too small."""
    left = 0
    for g in range(size):
        left += grid[g, WEIGHT]
        score[SCORE, g] = np.inf
        if grid[g, WEIGHT] > 0 and min(left, total - left) >= least:
            up_to = score[BEFORE, g + 1] if g + 1 < size else whole
            score[SCORE, g] = _greedy_score(total * whole, left, up_to, total - left, score[AFTER, g])


@inner
def _score_tree(
    axes: Axes,
    packing: Packing,
    boxes: Boxes,
    score: NDArray[np.float64],
    size: int,
    total: int,
    least: int,
) -> None:
    """Score the cut around each bucket, infinite where a side is too small."""
    whole = sweep(axes, packing, boxes, size, FIRST, size - 1, NONE, score, SPARE)
    for g in range(size):
        left = boxes.grid[g, WEIGHT]
        score[SCORE, g] = np.inf
        if left > 0 and min(left, total - left) >= least:
            rest = sweep(axes, packing, boxes, size, FIRST, size - 1, g, score, SPARE)
            own = sweep(axes, packing, boxes, size, g, g, NONE, score, SPARE)
            score[SCORE, g] = _greedy_score(total * whole, left, own, total - left, rest)


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
        score[SCORE, g] = abs(2.0 * left - total) if allowed else np.inf


@inner
def _least(score: NDArray[np.float64], size: int, best: float) -> int:
    """First bucket with the least score under ``best``; -1 if there is none."""
    found = -1
    for g in range(size):
        if score[SCORE, g] < best:
            best = score[SCORE, g]
            found = g
    return found


# In what follows ``tests`` is None where no rule looks at a sensitive column: numba then leaves out, and need
# not compile, what is only there for such rules.


@inner
def _least_allowed(
    rows: Rows,
    start: int,
    stop: int,
    tests: Rules,
    bucket: NDArray[np.int64],
    use: Buffers,
    size: int,
    best: float,
    around: bool,
) -> int:
    """First bucket with the least score under ``best`` whose cut satisfies the rules; -1 if there is none."""
    order, score, histogram = use.order, use.score, use.histogram
    count = stop - start
    _group(bucket, order, score, count, size)
    _count(tests, rows, start, stop, histogram)
    found = -1
    at = 0
    for g in range(size):
        if around or g == 0:
            for value in range(tests.values):
                histogram[LEFT, value] = 0
        while at < count and bucket[order[at]] == g:
            add_row(tests, rows.ident[start + order[at]], histogram, LEFT)
            at += 1
        if score[SCORE, g] < best and _sides_satisfied(tests, histogram):
            best = score[SCORE, g]
            found = g
    return found


@inner
def _group(
    bucket: NDArray[np.int64], order: NDArray[np.int64], score: NDArray[np.float64], count: int, size: int
) -> None:
    """List the rows bucket by bucket in ``order`` (counting sort, with the counters in ``score``)."""
    for g in range(size):
        score[SPARE, g] = 0.0
    for at in range(count):
        score[SPARE, bucket[at]] += 1.0
    first = 0.0
    for g in range(size):
        number = score[SPARE, g]
        score[SPARE, g] = first
        first += number
    for at in range(count):
        g = bucket[at]
        order[int(score[SPARE, g])] = at
        score[SPARE, g] += 1.0


@inner
def _count(tests: Rules, rows: Rows, start: int, stop: int, histogram: NDArray[np.int64]) -> None:
    """Count the sensitive values of a node."""
    for value in range(tests.values):
        histogram[BOTH, value] = 0
    for i in range(start, stop):
        add_row(tests, rows.ident[i], histogram, BOTH)


@inner
def _sides_satisfied(tests: Rules, histogram: NDArray[np.int64]) -> bool:
    """Whether the left side and what the node has beside it both satisfy the rules."""
    for value in range(tests.values):
        histogram[RIGHT, value] = histogram[BOTH, value] - histogram[LEFT, value]
    return satisfied(tests, histogram, LEFT) and satisfied(tests, histogram, RIGHT)


@inner
def _allowed(rows: Rows, start: int, stop: int, tests: Rules | None, cut: Cut, use: Buffers) -> bool:
    """Whether both sides of one given cut satisfy the rules (their sizes aside)."""
    if tests is None:
        return True
    for value in range(tests.values):
        use.histogram[LEFT, value] = 0
        use.histogram[BOTH, value] = 0
    ties = cut.ties
    for i in range(stop - 1, start - 1, -1):
        add_row(tests, rows.ident[i], use.histogram, BOTH)
        code = np.int64(rows.codes[i, cut.axis])
        tie = code == cut.hi and cut.ties != WHOLE
        if cut.lo <= code <= cut.hi and (not tie or ties > 0):
            add_row(tests, rows.ident[i], use.histogram, LEFT)
            ties -= tie
    return _sides_satisfied(tests, use.histogram)


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
def best_on(
    rows: Rows,
    start: int,
    stop: int,
    alike: int,
    axes: Axes,
    axis: int,
    tests: Rules | None,
    total: int,
    least: int,
    small: int,
    divide: bool,
    packing: Packing,
    boxes: Boxes,
    use: Buffers,
    best: float,
) -> tuple[float, Cut]:
    """The best cut on an axis into parts of ``least`` rows, or ``small`` for the children of a tree.

    And its score, if that is under ``best``; else ``best`` and no cut.
    """
    score, grid = use.score, boxes.grid
    cut = Cut(-1, 0, 0, WHOLE)
    lo, hi = boxes.bound[LOWER, axis], boxes.bound[UPPER, axis]
    if lo == hi:
        return best, cut
    level = _child_level(axes.shape, axes.node, axis, lo, hi)
    size = _fill_buckets(rows, start, stop, alike, axes, axis, level, lo, hi, boxes, use.order)
    around = level >= 0 and size <= _FEW
    halve = divide and level < 0
    if not halve and not _can_be_cut(grid, size, total, small if around else least, around):
        return best, cut
    enclose(packing, boxes, stop - start, size)
    middle, halves = _median_cut(grid, axis, total)
    whole = lower = upper = 0.0
    if around:
        _score_tree(axes, packing, boxes, score, size, total, small)
    else:
        whole, lower, upper = _box_costs(axes, packing, boxes, score, size, middle if halve else NONE)
        _score_line(grid, score, size, total, least, whole)
    found = _least(score, size, best)
    if tests is not None and found >= 0:
        found = _least_allowed(rows, start, stop, tests, boxes.bucket, use, size, best, around)
    if found >= 0:
        best = score[SCORE, found]
        cut = _as_cut(axes.shape, axes.node, axis, level, around, grid[found, PLACE], lo, hi)
    if halve:
        half = total // 2
        middle_score = _greedy_score(total * whole, half, lower, total - half, upper)
        if middle_score < best and _allowed(rows, start, stop, tests, halves, use):
            best = middle_score
            cut = halves
    return best, cut


@inner
def _best_cut(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    total: int,
    least: int,
    small: int,
    divide: bool,
    boxes: Boxes,
    use: Buffers,
) -> Cut:
    """The best cut over all axes."""
    packing = pack(rows.codes, start, stop, boxes)
    cut = Cut(-1, 0, 0, WHOLE)
    best = np.inf
    for axis in range(axes.weight.size):
        best, better = best_on(
            rows,
            start,
            stop,
            stop - start,
            axes,
            axis,
            tests,
            total,
            least,
            small,
            divide,
            packing,
            boxes,
            use,
            best,
        )
        if better.axis >= 0:
            cut = better
    return cut


@inner
def _greedy_cut(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    small: int,
    total: int,
    divide: bool,
    boxes: Boxes,
    use: Buffers,
) -> Cut:
    """The best cut with both parts of some size; else any at all."""
    cut = Cut(-1, 0, 0, WHOLE)
    least = max(small, total // LOPSIDED)
    while least > 0 and cut.axis < 0:
        cut = _best_cut(rows, start, stop, axes, tests, total, least, small, divide, boxes, use)
        least = small if least > small else 0
    for j in range(boxes.field.size):
        boxes.corner[LOWER, j], boxes.corner[UPPER, j] = boxes.bound[LOWER, j], boxes.bound[UPPER, j]
    return cut


@inner
def extents(axes: Axes, corner: NDArray[np.int64], extent: NDArray[np.float64]) -> None:
    """How wide a node with tight bounds is along every axis; minus infinity where it has one code."""
    weight, shape, position, node, node_width = axes
    for j in range(weight.size):
        lo, hi = corner[LOWER, j], corner[UPPER, j]
        extent[j] = -np.inf
        if lo < hi:
            extent[j] = weight[j] * width(shape, position, node, node_width, j, lo, hi)


@inner
def take_widest(extent: NDArray[np.float64]) -> int:
    """The widest axis, which is not taken again; -1 if there is none left."""
    axis = NONE
    widest = -np.inf
    for j in range(extent.size):
        if extent[j] > widest:
            axis = j
            widest = extent[j]
    if axis >= 0:
        extent[axis] = -np.inf
    return axis


@inner
def nearest_on(
    rows: Rows,
    start: int,
    stop: int,
    alike: int,
    axes: Axes,
    axis: int,
    tests: Rules | None,
    total: int,
    small: int,
    divide: bool,
    boxes: Boxes,
    use: Buffers,
) -> Cut:
    """The allowed cut of an axis that is nearest the median, if there is one."""
    shape, node = axes.shape, axes.node
    lo, hi = boxes.corner[LOWER, axis], boxes.corner[UPPER, axis]
    level = NONE if divide else _child_level(shape, node, axis, lo, hi)
    size = _fill_buckets(rows, start, stop, alike, axes, axis, level, lo, hi, boxes, use.order)
    none = Cut(-1, 0, 0, WHOLE)
    if divide:
        _, cut = _median_cut(boxes.grid, axis, total)
        return cut if _allowed(rows, start, stop, tests, cut, use) else none
    around = level >= 0 and size <= _FEW
    _score_median(boxes.grid, use.score, size, total, small, around)
    found = _least(use.score, size, np.inf)
    if tests is not None and found >= 0:
        found = _least_allowed(rows, start, stop, tests, boxes.bucket, use, size, np.inf, around)
    if found < 0:
        return none
    return _as_cut(shape, node, axis, level, around, boxes.grid[found, PLACE], lo, hi)


@inner
def _nearest_cut(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    small: int,
    total: int,
    divide: bool,
    boxes: Boxes,
    use: Buffers,
) -> Cut:
    """On the widest axis that has an allowed cut, the one nearest the median."""
    tighten(rows, start, stop, boxes.corner)
    extents(axes, boxes.corner, boxes.extent)
    cut = Cut(-1, 0, 0, WHOLE)
    axis = take_widest(boxes.extent)
    while axis >= 0 and cut.axis < 0:
        cut = nearest_on(rows, start, stop, stop - start, axes, axis, tests, total, small, divide, boxes, use)
        axis = take_widest(boxes.extent)
    return cut


@inner
def _classic_cut(
    rows: Rows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    small: int,
    total: int,
    divide: bool,
    boxes: Boxes,
    use: Buffers,
) -> Cut:
    """The published program's rule: the widest axis by bounds that are tightened only when tried.

    Trees are cut like lines of leaves. The corners come from the parent and are updated.
    """
    shape, position, grid = axes.shape, axes.position, boxes.grid
    corner = boxes.corner
    for j in range(axes.weight.size):
        use.tried[j] = False
    while True:
        axis = NONE
        widest = -1.0
        for j in range(axes.weight.size):
            extent = (
                position[shape[START, j] + corner[UPPER, j]] - position[shape[START, j] + corner[LOWER, j]]
            )
            if not use.tried[j] and extent > widest:
                axis = j
                widest = extent
        if axis < 0:
            return Cut(-1, 0, 0, WHOLE)
        use.tried[axis] = True
        size = _fill_buckets(
            rows,
            start,
            stop,
            stop - start,
            axes,
            axis,
            NONE,
            corner[LOWER, axis],
            corner[UPPER, axis],
            boxes,
            use.order,
        )
        first = 0
        while grid[first, WEIGHT] == 0:
            first += 1
        while grid[size - 1, WEIGHT] == 0:
            size -= 1
        corner[LOWER, axis] = grid[first, PLACE]
        corner[UPPER, axis] = grid[size - 1, PLACE]
        if corner[LOWER, axis] == corner[UPPER, axis]:
            continue
        middle, cut = _median_cut(grid, axis, total)
        if not divide:
            cut = Cut(axis, 0, cut.hi, WHOLE)
            left = 0
            for g in range(middle + 1):
                left += grid[g, WEIGHT]
            if min(left, total - left) < small:
                continue
        if _allowed(rows, start, stop, tests, cut, use):
            return cut


@inline
def _copy(source: Rows, i: int, target: Rows, at: int) -> None:
    for j in range(source.codes.shape[1]):
        target.codes[at, j] = source.codes[i, j]
    target.weight[at] = source.weight[i]
    target.ident[at] = source.ident[i]


@inner
def _part(rows: Rows, start: int, stop: int, cut: Cut, spare: Rows) -> int:
    """Move the rows of both sides of a cut together, left ones first; return where the right side begins.

    Ties are divided as the published program does: the last ones join the left side, backwards.
    """
    left = start
    right = 0
    end = stop - start
    tied = end  # ties fill the spare rows from the end
    for i in range(start, stop):
        code = np.int64(rows.codes[i, cut.axis])
        if cut.ties != WHOLE and code == cut.hi:
            tied -= 1
            _copy(rows, i, spare, tied)
        elif cut.lo <= code <= cut.hi:
            _copy(rows, i, rows, left)
            left += 1
        else:
            _copy(rows, i, spare, right)
            right += 1
    for at in range(tied, tied + max(cut.ties, 0)):
        _copy(spare, at, rows, left)
        left += 1
    middle = left
    for at in range(right):
        _copy(spare, at, rows, left)
        left += 1
    for at in range(end - 1, tied + max(cut.ties, 0) - 1, -1):
        _copy(spare, at, rows, left)
        left += 1
    return middle


@inner
def _least_code(codes: NDArray[np.unsignedinteger], start: int, stop: int, axis: int) -> int:
    least = np.int64(codes[start, axis])
    for i in range(start + 1, stop):
        least = min(least, np.int64(codes[i, axis]))
    return int(least)


@inner
def work_space(axes: Axes, count: int, alike: int, values: int) -> tuple[Boxes, Buffers]:
    """Room for cutting a node of ``alike`` rows, of which ``count`` are at hand, and what is below it."""
    d = axes.weight.size
    buckets = _most_buckets(axes, max(count, alike))
    boxes = Boxes(
        np.empty((2, d), np.int64),
        np.empty((2, d), np.int64),
        np.empty(d, np.int64),
        np.empty(count * (d + 1), np.uint64),
        np.empty(count, np.int64),
        np.empty((buckets, 2), np.int64),
        np.empty((buckets + 1) * (d + 1), np.uint64),
        np.empty(d, np.float64),
    )
    use = Buffers(
        np.empty(count, np.int64),
        np.empty((4, buckets), np.float64),
        np.empty((3, values), np.int64),
        np.empty(d, np.bool_),
    )
    return boxes, use


def _grower(how: int) -> Callable[..., Any]:
    """Make the kernel for one way of cutting, so that each is compiled only when it is used."""

    def grow(
        rows: Rows,
        start: int,
        stop: int,
        axes: Axes,
        tests: Rules | None,
        values: int,
        small: int,
        divide: bool,
        bounds_of: NDArray[np.int64],
        leaf: NDArray[np.bool_],
        halt: NDArray[np.bool_],
        deep: bool,
    ) -> tuple[int, int, Cut]:
        count = stop - start
        d = axes.weight.size
        boxes, use = work_space(axes, count, count, values)
        spare = Rows(
            np.empty((count, d), rows.codes.dtype), np.empty(count, np.int64), np.empty(count, np.int64)
        )
        todo = np.empty((64, 2), np.int64)  # the smaller side goes first, so a stack of 64 never fills
        stacked = np.empty((65, 2, d), np.int64)
        corner = boxes.corner
        todo[0, 0], todo[0, 1] = start, stop
        for j in range(d):
            stacked[0, LOWER, j], stacked[0, UPPER, j] = bounds_of[0, LOWER, j], bounds_of[0, UPPER, j]
        waiting = 1
        nodes = 0
        first_middle = stop
        first_cut = Cut(-1, 0, 0, WHOLE)
        while waiting > 0 and not halt[0]:
            waiting -= 1
            first, last = todo[waiting, 0], todo[waiting, 1]
            for j in range(d):
                corner[LOWER, j], corner[UPPER, j] = stacked[waiting, LOWER, j], stacked[waiting, UPPER, j]
            total = FIRST  # a typed zero
            for i in range(first, last):
                total += rows.weight[i]
            cut = Cut(-1, 0, 0, WHOLE)
            if total >= 2 * small:
                if how == CLASSIC:
                    cut = _classic_cut(rows, first, last, axes, tests, small, total, divide, boxes, use)
                elif how == NEAREST:
                    cut = _nearest_cut(rows, first, last, axes, tests, small, total, divide, boxes, use)
                else:
                    cut = _greedy_cut(rows, first, last, axes, tests, small, total, divide, boxes, use)
            middle = last
            if cut.axis >= 0:
                middle = _part(rows, first, last, cut, spare)
            if nodes == 0:
                first_middle = middle
                first_cut = cut
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
                    stacked[at, LOWER, j], stacked[at, UPPER, j] = corner[LOWER, j], corner[UPPER, j]
                if how == CLASSIC and side == 0:
                    stacked[at, UPPER, cut.axis] = cut.hi
                elif how == CLASSIC:
                    stacked[at, LOWER, cut.axis] = _least_code(rows.codes, middle, last, cut.axis)
                for j in range(d):
                    bounds_of[1 + side, LOWER, j] = stacked[at, LOWER, j]
                    bounds_of[1 + side, UPPER, j] = stacked[at, UPPER, j]
            waiting += 2
            if not deep:
                break
        return nodes, first_middle, first_cut

    return entry(grow)


KERNELS = {how: _grower(how) for how in (CLASSIC, NEAREST, GREEDY)}
"""The compiled part of `grow`."""


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
) -> tuple[int, int, Cut]:
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
    nodes visited; where the right side of the first cut begins (``stop`` if there was none); that cut
    """
    tests = rules if rules.limit.size > 0 else None
    nodes, middle, cut = KERNELS[how](
        rows, start, stop, axes, tests, rules.values, rules.size, divide, bounds_of, leaf, halt, deep
    )
    return int(nodes), int(middle), Cut(*cut)
