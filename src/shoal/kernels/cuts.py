"""The cut of a node: greedy, nearest to the middle of the widest axis, or classic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import START, Axes, measure_interval
from shoal.kernels.boxes import (
    LOWER,
    PLACE,
    UPPER,
    WEIGHT,
    NodeBoxes,
    WordPacking,
    enclose_buckets,
    pack_rows,
)
from shoal.kernels.buckets import can_be_cut, child_level, fill_buckets, find_place, tighten_bounds
from shoal.kernels.compiled import inner_kernel
from shoal.kernels.cut_scores import (
    box_costs,
    find_least_allowed,
    find_least_score,
    greedy_score,
    is_cut_allowed,
    score_line,
    score_median,
    score_tree,
)
from shoal.kernels.cut_workspace import FEW, LOPSIDED, NONE, SCORE, WHOLE, Cut, CutWorkspace, WeightedRows
from shoal.kernels.rules import Rules


@inner_kernel
def _make_cut(
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
    while find_place(shape, node, axis, level, first) != place:
        first += 1
    last = first
    while last < hi and find_place(shape, node, axis, level, last + 1) == place:
        last += 1
    return Cut(axis, first if around else 0, last, WHOLE)


@inner_kernel
def _median_cut(grid: NDArray[np.int64], axis: int, total: int) -> tuple[int, Cut]:
    """The cut that fills the left side with exactly half of the rows, dividing ties, and its bucket."""
    g = 0
    before = 0
    while before + grid[g, WEIGHT] < total // 2:
        before += grid[g, WEIGHT]
        g += 1
    return g, Cut(axis, 0, grid[g, PLACE], total // 2 - before)


@inner_kernel
def find_best_on_axis(
    rows: WeightedRows,
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
    packing: WordPacking,
    boxes: NodeBoxes,
    use: CutWorkspace,
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
    level = child_level(axes.shape, axes.node, axis, lo, hi)
    size = fill_buckets(rows, start, stop, alike, axes, axis, level, lo, hi, boxes, use.order, not divide)
    around = level >= 0 and size <= FEW
    halve = divide and level < 0  # ties are divided on lines only
    if not halve and not can_be_cut(grid, size, total, small if around else least, around):
        return best, cut
    enclose_buckets(packing, boxes, stop - start, size)
    middle, halves = _median_cut(grid, axis, total)
    whole = lower = upper = 0.0
    if around:
        score_tree(axes, packing, boxes, score, size, total, small)
    else:
        whole, lower, upper = box_costs(axes, packing, boxes, score, size, middle if halve else NONE)
        score_line(grid, score, size, total, least, whole)
    # Rules take long to check: only if some cut beats the best so far are they looked at.
    found = find_least_score(score, size, best)
    if tests is not None and found >= 0:
        found = find_least_allowed(rows, start, stop, tests, boxes.bucket, use, size, best, found, around)
    if found >= 0:
        best = score[SCORE, found]
        cut = _make_cut(axes.shape, axes.node, axis, level, around, grid[found, PLACE], lo, hi)
    if halve:
        half = total // 2
        middle_score = greedy_score(total * whole, half, lower, total - half, upper)
        if middle_score < best and is_cut_allowed(rows, start, stop, tests, halves, use):
            best = middle_score
            cut = halves
    return best, cut


@inner_kernel
def _best_cut(
    rows: WeightedRows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    total: int,
    least: int,
    small: int,
    divide: bool,
    boxes: NodeBoxes,
    use: CutWorkspace,
) -> Cut:
    """The best cut over all axes."""
    packing = pack_rows(rows.codes, start, stop, boxes)
    cut = Cut(-1, 0, 0, WHOLE)
    best = np.inf
    for axis in range(axes.weight.size):
        # A later axis must be strictly better, so the first of ties wins.
        best, better = find_best_on_axis(
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


@inner_kernel
def greedy_cut(
    rows: WeightedRows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    small: int,
    total: int,
    divide: bool,
    boxes: NodeBoxes,
    use: CutWorkspace,
) -> Cut:
    """The best cut with both parts of some size; else any at all."""
    cut = Cut(-1, 0, 0, WHOLE)
    least = max(small, total // LOPSIDED)
    while least > 0 and cut.axis < 0:
        cut = _best_cut(rows, start, stop, axes, tests, total, least, small, divide, boxes, use)
        least = small if least > small else 0
    # The children begin with tight bounds, which makes their words shorter.
    for j in range(boxes.field.size):
        boxes.corner[LOWER, j], boxes.corner[UPPER, j] = boxes.bound[LOWER, j], boxes.bound[UPPER, j]
    return cut


@inner_kernel
def measure_extents(axes: Axes, corner: NDArray[np.int64], extent: NDArray[np.float64]) -> None:
    """How wide a node with tight bounds is along every axis; minus infinity where it has one code."""
    weight, shape, position, node, node_width = axes
    for j in range(weight.size):
        lo, hi = corner[LOWER, j], corner[UPPER, j]
        # Never chosen: an axis with one code cannot be cut.
        extent[j] = -np.inf
        if lo < hi:
            extent[j] = weight[j] * measure_interval(shape, position, node, node_width, j, lo, hi)


@inner_kernel
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


@inner_kernel
def find_nearest_on_axis(
    rows: WeightedRows,
    start: int,
    stop: int,
    alike: int,
    axes: Axes,
    axis: int,
    tests: Rules | None,
    total: int,
    small: int,
    divide: bool,
    boxes: NodeBoxes,
    use: CutWorkspace,
) -> Cut:
    """The allowed cut of an axis that is nearest the median, if there is one."""
    shape, node = axes.shape, axes.node
    lo, hi = boxes.corner[LOWER, axis], boxes.corner[UPPER, axis]
    # Relaxed cuts treat a tree as a line of leaves.
    level = NONE if divide else child_level(shape, node, axis, lo, hi)
    size = fill_buckets(rows, start, stop, alike, axes, axis, level, lo, hi, boxes, use.order, False)
    none = Cut(-1, 0, 0, WHOLE)
    if divide:
        _, cut = _median_cut(boxes.grid, axis, total)
        return cut if is_cut_allowed(rows, start, stop, tests, cut, use) else none
    around = level >= 0 and size <= FEW
    score_median(boxes.grid, use.score, size, total, small, around)
    found = find_least_score(use.score, size, np.inf)
    if tests is not None and found >= 0:
        found = find_least_allowed(rows, start, stop, tests, boxes.bucket, use, size, np.inf, found, around)
    if found < 0:
        return none
    return _make_cut(shape, node, axis, level, around, boxes.grid[found, PLACE], lo, hi)


@inner_kernel
def nearest_cut(
    rows: WeightedRows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    small: int,
    total: int,
    divide: bool,
    boxes: NodeBoxes,
    use: CutWorkspace,
) -> Cut:
    """On the widest axis that has an allowed cut, the one nearest the median."""
    tighten_bounds(rows, start, stop, boxes.corner)
    measure_extents(axes, boxes.corner, boxes.extent)
    cut = Cut(-1, 0, 0, WHOLE)
    axis = take_widest(boxes.extent)
    while axis >= 0 and cut.axis < 0:
        cut = find_nearest_on_axis(
            rows, start, stop, stop - start, axes, axis, tests, total, small, divide, boxes, use
        )
        axis = take_widest(boxes.extent)
    return cut


@inner_kernel
def classic_cut(
    rows: WeightedRows,
    start: int,
    stop: int,
    axes: Axes,
    tests: Rules | None,
    small: int,
    total: int,
    divide: bool,
    boxes: NodeBoxes,
    use: CutWorkspace,
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
        size = fill_buckets(
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
            False,
        )
        first = 0
        # Tighten the bounds of this axis only, now that its buckets are counted.
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
            # Strict: all ties go left, if enough rows are left on the right.
            cut = Cut(axis, 0, cut.hi, WHOLE)
            left = 0
            for g in range(middle + 1):
                left += grid[g, WEIGHT]
            if min(left, total - left) < small:
                continue
        if is_cut_allowed(rows, start, stop, tests, cut, use):
            return cut
