"""The quasi-identifiers as the kernels see them: one axis of integer codes per column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import inline_kernel
from shoal.kernels.signatures import Matrix

START, LEVELS, TREE = 0, 1, 2
"""Rows of `Axes.shape`."""


class Axes(NamedTuple):
    """All axes of a table, laid end to end.

    A *line* releases any interval of codes; a *tree* releases only the leaf intervals of its nodes.
    """

    weight: NDArray[np.float64]
    """[d] what one unit of width costs."""
    shape: Matrix[np.int64]
    """[3, d + 1] START: where each axis begins in `position`; LEVELS: levels of a tree, 0 for a line;
    TREE: where each tree begins in `node` and `node_width`."""
    position: NDArray[np.float64]
    """Place of each code on its axis, scaled so that the whole axis has width 1."""
    node: NDArray[np.int32]
    """Per tree, level by level, the node above each code."""
    node_width: NDArray[np.float64]
    """Width of each of those nodes."""


# The two functions below run in the innermost loops: they take the arrays of `Axes` one by one, because
# reaching into a tuple of arrays there makes numba count references, which costs more than the work itself.


@inline_kernel
def common_level(shape: NDArray[np.int64], node: NDArray[np.int32], j: int, lo: int, hi: int) -> int:
    """Lowest level of tree ``j`` at which codes ``lo`` and ``hi`` have one node above them."""
    size = shape[START, j + 1] - shape[START, j]
    at = shape[TREE, j]
    level = 0
    # Ends at the root at the latest: it is the last level, and above all codes.
    while node[at + lo] != node[at + hi]:
        level += 1
        at += size
    return level


@inline_kernel
def measure_interval(
    shape: NDArray[np.int64],
    position: NDArray[np.float64],
    node: NDArray[np.int32],
    node_width: NDArray[np.float64],
    j: int,
    lo: int,
    hi: int,
) -> float:
    """Width of the smallest permitted interval around ``lo..hi`` on axis ``j``, from 0 to 1."""
    start = shape[START, j]
    if shape[LEVELS, j] == 0:
        # A missing value lies one whole axis below the numbers, so that mixing it in costs everything.
        return float(min(1.0, position[start + hi] - position[start + lo]))
    size = shape[START, j + 1] - start
    # `node_width` is laid out as `node` is: level by level, one entry per code.
    return float(node_width[shape[TREE, j] + common_level(shape, node, j, lo, hi) * size + lo])
