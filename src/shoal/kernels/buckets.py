"""The rows of a node in buckets: one for every code of an axis, or one for every child of a tree's node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import LEVELS, START, TREE, Axes, common_level
from shoal.kernels.boxes import (
    LOWER,
    PLACE,
    UPPER,
    WEIGHT,
    NodeBoxes,
)
from shoal.kernels.compiled import inline_kernel, inner_kernel
from shoal.kernels.cut_workspace import SPARE, WeightedRows

_FINE = 32  # nodes of so few rows are cut between any two codes
_COARSE = 128  # larger ones between any two of so many buckets at most, on a line of more codes


@inner_kernel
def tighten_bounds(rows: WeightedRows, start: int, stop: int, corner: NDArray[np.int64]) -> None:
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


@inline_kernel
def child_level(shape: NDArray[np.int64], node: NDArray[np.int32], axis: int, lo: int, hi: int) -> int:
    """Level of the children of the common node of ``lo..hi``; -1 on a line."""
    return -1 if shape[LEVELS, axis] == 0 else common_level(shape, node, axis, lo, hi) - 1


@inline_kernel
def find_place(shape: NDArray[np.int64], node: NDArray[np.int32], axis: int, level: int, code: int) -> int:
    """Where an axis may be cut: at each code, or on a tree around each node of ``level``."""
    if level < 0:
        return code
    size = shape[START, axis + 1] - shape[START, axis]
    return node[shape[TREE, axis] + level * size + code]  # type: ignore[no-any-return]


@inline_kernel
def fill_buckets(
    rows: WeightedRows,
    start: int,
    stop: int,
    alike: int,
    axes: Axes,
    axis: int,
    level: int,
    lo: int,
    hi: int,
    boxes: NodeBoxes,
    order: NDArray[np.int64],
    coarse: bool,
) -> int:
    """Assign each row its bucket along ``axis`` and weigh the buckets; return how many there are.

    ``alike`` is the number of rows of the node, of which these may be a summary. ``coarse`` permits that a
    bucket of a long line holds several neighbouring codes.
    """
    shape, node, bucket, grid = axes.shape, axes.node, boxes.bucket, boxes.grid
    low = find_place(shape, node, axis, level, lo)
    size = find_place(shape, node, axis, level, hi) - low + 1
    # By the rows of the node, not by those at hand: a summary must choose as all rows would.
    most = 2 * alike + 64
    if coarse and level < 0 and alike > _FINE and size > most:
        return _fill_coarse_buckets(rows, start, stop, axis, low, size, min(most, _COARSE), boxes)
    for g in range(size if size <= most else 0):
        grid[g, PLACE] = low + g
        grid[g, WEIGHT] = 0
    at = shape[TREE, axis] + level * (shape[START, axis + 1] - shape[START, axis])
    for i in range(start, stop):
        place = np.int64(rows.codes[i, axis])
        if level >= 0:
            place = np.int64(node[at + place])  # `find_place`, written out
        bucket[i - start] = place - low
        if size <= most:
            grid[place - low, WEIGHT] += rows.weight[i]
    if size > most:  # few rows on a long axis: sorting them beats counting empty places
        size = _rank_values(bucket, order, stop - start)
        for g in range(size):
            grid[g, PLACE] = low + order[g]
            grid[g, WEIGHT] = 0
        for i in range(start, stop):
            grid[bucket[i - start], WEIGHT] += rows.weight[i]
    return size


@inner_kernel
def _fill_coarse_buckets(
    rows: WeightedRows, start: int, stop: int, axis: int, low: int, size: int, most: int, boxes: NodeBoxes
) -> int:
    """Assign rows to buckets of so many neighbouring codes that there are at most ``most`` buckets."""
    codes, weight, bucket, grid = rows.codes, rows.weight, boxes.bucket, boxes.grid
    bits = 0
    while (size - 1) >> bits >= most:
        bits += 1
    size = ((size - 1) >> bits) + 1
    for g in range(size):
        # A cut is made after the last code of a bucket.
        grid[g, PLACE] = low + ((g + 1) << bits) - 1
        grid[g, WEIGHT] = 0
    for i in range(start, stop):
        at = (np.int64(codes[i, axis]) - low) >> bits
        bucket[i - start] = at
        grid[at, WEIGHT] += weight[i]
    return size


@inner_kernel
def _rank_values(values: NDArray[np.int64], order: NDArray[np.int64], count: int) -> int:
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
    # Distinct values move to the front; each value is then found among them by bisection.
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


@inner_kernel
def can_be_cut(grid: NDArray[np.int64], size: int, total: int, least: int, around: bool) -> bool:
    """Whether any cut leaves enough rows on both sides."""
    before = 0
    for g in range(size):
        before += grid[g, WEIGHT]
        # Around a bucket: its rows against all others. After it: all rows so far against the rest.
        left = grid[g, WEIGHT] if around else before
        if min(left, total - left) >= least:
            return True
    return False


@inner_kernel
def order_by_bucket(
    bucket: NDArray[np.int64], order: NDArray[np.int64], score: NDArray[np.float64], count: int, size: int
) -> None:
    """List the rows bucket by bucket in ``order`` (counting sort, with the counters in ``score``)."""
    for g in range(size):
        score[SPARE, g] = 0.0
    for at in range(count):
        # Counts are exact in floats, and the row of `score` is free here.
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
