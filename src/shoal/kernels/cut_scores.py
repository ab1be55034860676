"""Scores of cuts: what the boxes on both sides cost, and which cuts the rules permit.

In what follows ``tests`` is None where no rule looks at a sensitive column: numba then leaves out, and need
not compile, what counts sensitive values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import Axes
from shoal.kernels.boxes import (
    WEIGHT,
    NodeBoxes,
    WordPacking,
    sweep_buckets,
)
from shoal.kernels.buckets import order_by_bucket
from shoal.kernels.compiled import inline_kernel, inner_kernel
from shoal.kernels.cut_workspace import (
    AFTER,
    BEFORE,
    BOTH,
    FIRST,
    LEFT,
    NONE,
    RIGHT,
    SCORE,
    SPARE,
    WHOLE,
    Cut,
    CutWorkspace,
    WeightedRows,
)
from shoal.kernels.rules import (
    Rules,
    add_row,
    asks_only_people,
    clear_histogram,
    is_satisfied,
    lacks_people,
    take_people,
)


@inner_kernel
def greedy_score(before: float, left: int, left_cost: float, right: int, right_cost: float) -> float:
    """How good a cut is; the least is the best.

    The loss that it saves, over the root of both sides' weights. Even cuts are weighed down by that, because
    they use up more of what can still be cut: a part that is cut off a large node leaves nearly all of it.
    """
    saved = before - left * left_cost - right * right_cost
    # As floats: the product of two weights may be too large for 64 bits.
    return float(-saved / np.sqrt(np.float64(left) * right))


@inline_kernel
def box_costs(
    axes: Axes, packing: WordPacking, boxes: NodeBoxes, score: NDArray[np.float64], size: int, middle: int
) -> tuple[float, float, float]:
    """Find the costs BEFORE and AFTER each bucket; return that of the node.

    And, unless ``middle`` is NONE, those of its halves if the rows of that bucket are divided between them.
    """
    # The turns: all buckets downwards, all upwards, then the two halves with `middle` in both.
    whole = lower = upper = 0.0
    for turn in range(2 if middle < 0 else 4):  # one call in a loop: four would be compiled four times
        first = size - 1 if turn == 0 else middle if turn == 3 else 0
        last = 0 if turn == 0 else middle if turn == 2 else size - 1
        into = AFTER if turn == 0 else BEFORE if turn == 1 else SPARE
        cost = sweep_buckets(axes, packing, boxes, size, first, last, NONE, score, into)
        if turn == 1:
            whole = cost
        elif turn == 2:
            lower = cost
        else:
            upper = cost
    return whole, lower, upper


@inner_kernel
def score_line(
    grid: NDArray[np.int64], score: NDArray[np.float64], size: int, total: int, least: int, whole: float
) -> None:
    """Score the cut after each bucket, infinite where a side is too small."""
    left = 0
    for g in range(size):
        left += grid[g, WEIGHT]
        score[SCORE, g] = np.inf
        # A cut after an empty bucket is the same as the one before it.
        if grid[g, WEIGHT] > 0 and min(left, total - left) >= least:
            up_to = score[BEFORE, g + 1] if g + 1 < size else whole
            score[SCORE, g] = greedy_score(total * whole, left, up_to, total - left, score[AFTER, g])


@inner_kernel
def score_tree(
    axes: Axes,
    packing: WordPacking,
    boxes: NodeBoxes,
    score: NDArray[np.float64],
    size: int,
    total: int,
    least: int,
) -> None:
    """Score the cut around each bucket, infinite where a side is too small."""
    whole = sweep_buckets(axes, packing, boxes, size, FIRST, size - 1, NONE, score, SPARE)
    for g in range(size):
        left = boxes.grid[g, WEIGHT]
        score[SCORE, g] = np.inf
        if left > 0 and min(left, total - left) >= least:
            # Two sweeps for each child: quadratic, which is why `FEW` bounds the children.
            rest = sweep_buckets(axes, packing, boxes, size, FIRST, size - 1, g, score, SPARE)
            own = sweep_buckets(axes, packing, boxes, size, g, g, NONE, score, SPARE)
            score[SCORE, g] = greedy_score(total * whole, left, own, total - left, rest)


@inner_kernel
def score_median(
    grid: NDArray[np.int64], score: NDArray[np.float64], size: int, total: int, least: int, around: bool
) -> None:
    """Distance of each allowed cut from the median."""
    before = 0
    for g in range(size):
        before += grid[g, WEIGHT]
        left = grid[g, WEIGHT] if around else before
        allowed = grid[g, WEIGHT] > 0 and min(left, total - left) >= least
        score[SCORE, g] = abs(2.0 * left - total) if allowed else np.inf


@inner_kernel
def find_least_score(score: NDArray[np.float64], size: int, best: float) -> int:
    """First bucket with the least score under ``best``; -1 if there is none."""
    found = -1
    for g in range(size):
        if score[SCORE, g] < best:
            best = score[SCORE, g]
            found = g
    return found


# In what follows ``tests`` is None where no rule looks at a sensitive column: numba then leaves out, and need
# not compile, what is only there for such rules.


@inner_kernel
def find_least_allowed(
    rows: WeightedRows,
    start: int,
    stop: int,
    tests: Rules,
    bucket: NDArray[np.int64],
    use: CutWorkspace,
    size: int,
    best: float,
    least: int,
    around: bool,
) -> int:
    """First bucket with the least score under ``best`` whose cut satisfies the rules; -1 if there is none.

    ``least`` is the first bucket with the least score, whether or not its cut does.
    """
    order, score, histogram = use.order, use.score, use.histogram
    count = stop - start
    if asks_only_people(tests) and _has_people_beside(
        tests, rows, start, stop, bucket, histogram, least, around
    ):
        return least
    order_by_bucket(bucket, order, score, count, size)
    if asks_only_people(tests) and not around:
        return _find_least_between_people(tests, rows, start, stop, bucket, use, best)
    _count_values(tests, rows, start, stop, histogram)
    found = -1
    at = 0
    for g in range(size):
        # Cuts after a bucket keep adding to the left side; a cut around one starts anew.
        if around or g == 0:
            _clear_left(tests, histogram)
        while at < count and bucket[order[at]] == g:
            _add_left(tests, rows.ident[start + order[at]], histogram)
            at += 1
        if score[SCORE, g] < best and _are_sides_satisfied(tests, histogram):
            best = score[SCORE, g]
            found = g
    return found


@inline_kernel
def _has_people_beside(
    tests: Rules,
    rows: WeightedRows,
    start: int,
    stop: int,
    bucket: NDArray[np.int64],
    histogram: NDArray[np.int64],
    place: int,
    around: bool,
) -> bool:
    """Whether there are enough people on both sides of the cut after, or around, the bucket ``place``."""
    clear_histogram(tests, histogram, LEFT)
    clear_histogram(tests, histogram, RIGHT)
    for at in range(stop - start):
        side = LEFT if bucket[at] == place or (bucket[at] < place and not around) else RIGHT
        if _add_lacking(tests, rows.ident[start + at], histogram, side):
            return True
    return False


@inline_kernel
def _add_lacking(tests: Rules, row: int, histogram: NDArray[np.int64], side: int) -> bool:
    """Add a row to a side if that has too few people; whether neither side has too few now."""
    # Most rows come after their side has enough: of these nobody is looked up.
    if not lacks_people(tests, histogram, side):
        return False
    add_row(tests, row, histogram, side)
    return not lacks_people(tests, histogram, LEFT) and not lacks_people(tests, histogram, RIGHT)


@inner_kernel
def _find_least_between_people(
    tests: Rules,
    rows: WeightedRows,
    start: int,
    stop: int,
    bucket: NDArray[np.int64],
    use: CutWorkspace,
    best: float,
) -> int:
    """First bucket with the least score under ``best`` after which both sides have enough people."""
    # The more buckets, the more people: so there is a first that is enough, and a last that leaves enough.
    first = _find_enough_people(tests, rows, start, stop, bucket, use, False)
    last = _find_enough_people(tests, rows, start, stop, bucket, use, True) - 1
    found = -1
    for g in range(first, last + 1):
        if use.score[SCORE, g] < best:
            best = use.score[SCORE, g]
            found = g
    return found


@inner_kernel
def _find_enough_people(
    tests: Rules,
    rows: WeightedRows,
    start: int,
    stop: int,
    bucket: NDArray[np.int64],
    use: CutWorkspace,
    backwards: bool,
) -> int:
    """The bucket up to which there are enough people; or ``backwards`` the one from which on there are."""
    clear_histogram(tests, use.histogram, LEFT)
    count = stop - start
    at = 0
    for step in range(count):
        at = use.order[count - 1 - step if backwards else step]
        add_row(tests, rows.ident[start + at], use.histogram, LEFT)
        if not lacks_people(tests, use.histogram, LEFT):
            break
    # A node has enough people itself, so that the loop ends before its rows do.
    return int(bucket[at])


@inner_kernel
def _count_values(
    tests: Rules, rows: WeightedRows, start: int, stop: int, histogram: NDArray[np.int64]
) -> None:
    """Count the sensitive values of a node."""
    clear_histogram(tests, histogram, BOTH)
    for i in range(start, stop):
        add_row(tests, rows.ident[i], histogram, BOTH)


@inner_kernel
def _clear_left(tests: Rules, histogram: NDArray[np.int64]) -> None:
    """All rows of a node on its right side."""
    clear_histogram(tests, histogram, LEFT)
    if tests.units > 0:
        for value in range(tests.values):
            histogram[RIGHT, value] = histogram[BOTH, value]


@inner_kernel
def _add_left(tests: Rules, row: int, histogram: NDArray[np.int64]) -> None:
    """Move a row to the left side."""
    add_row(tests, row, histogram, LEFT)
    # Somebody with rows on both sides is on both; without people, the right side is a difference.
    if tests.units > 0:
        take_people(tests, row, histogram, LEFT, BOTH, RIGHT)


@inner_kernel
def _are_sides_satisfied(tests: Rules, histogram: NDArray[np.int64]) -> bool:
    """Whether the left side and what the node has beside it both satisfy the rules."""
    if tests.units == 0:
        for value in range(tests.values):
            histogram[RIGHT, value] = histogram[BOTH, value] - histogram[LEFT, value]
    return is_satisfied(tests, histogram, LEFT) and is_satisfied(tests, histogram, RIGHT)


@inner_kernel
def is_cut_allowed(
    rows: WeightedRows, start: int, stop: int, tests: Rules | None, cut: Cut, use: CutWorkspace
) -> bool:
    """Whether both sides of one given cut satisfy the rules (their sizes aside)."""
    if tests is None:
        return True
    people = asks_only_people(tests)
    if people:
        clear_histogram(tests, use.histogram, LEFT)
        clear_histogram(tests, use.histogram, RIGHT)
    else:
        _count_values(tests, rows, start, stop, use.histogram)
        _clear_left(tests, use.histogram)
    ties = cut.ties
    # Backwards, since the last of the ties go left; the rows are moved in the same way later.
    for i in range(stop - 1, start - 1, -1):
        code = np.int64(rows.codes[i, cut.axis])
        tie = code == cut.hi and cut.ties != WHOLE
        left = cut.lo <= code <= cut.hi and (not tie or ties > 0)
        ties -= 1 if left and tie else 0
        if people:
            if _add_lacking(tests, rows.ident[i], use.histogram, LEFT if left else RIGHT):
                return True
        elif left:
            _add_left(tests, rows.ident[i], use.histogram)
    return not people and _are_sides_satisfied(tests, use.histogram)
