"""What the search for a cut works on: weighted rows, a cut, and memory that is reused from node to node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import START, Axes
from shoal.kernels.boxes import (
    NodeBoxes,
)
from shoal.kernels.compiled import as_int64, inner_kernel, maker_kernel
from shoal.kernels.signatures import Matrix

CLASSIC, NEAREST, GREEDY = 0, 1, 2

WHOLE = -1
"""`Cut.ties` of a cut that divides no ties."""

# Numba compiles a function anew for every plain integer that it is called with, but only once for these.
NONE, FIRST = as_int64(-1), as_int64(0)
BEFORE, AFTER, SCORE, SPARE = as_int64(0), as_int64(1), as_int64(2), as_int64(3)
"""Rows of `CutWorkspace.score`."""
LEFT, RIGHT, BOTH = as_int64(0), as_int64(1), as_int64(2)
"""Rows of `CutWorkspace.histogram`."""

LOPSIDED = 1024  # greedy parts are at least this share of a node where they can, so that depth stays bounded
FEW = 64  # nodes with more children are cut between children: taking one after the other would be quadratic


class WeightedRows(NamedTuple):
    """Weighted rows, in an order that the kernels change."""

    codes: Matrix[np.unsignedinteger]
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


class CutWorkspace(NamedTuple):
    """Memory to work in, reused from node to node."""

    order: NDArray[np.int64]
    """[rows]"""
    score: Matrix[np.float64]
    """[4, buckets] of each bucket: the costs of the boxes BEFORE and AFTER it, and the SCORE of its cut."""
    histogram: Matrix[np.int64]
    """[3, slots] sensitive values on the LEFT, on the RIGHT and on BOTH sides."""
    tried: NDArray[np.bool_]
    """[d]"""


@inner_kernel
def _most_buckets(axes: Axes, rows: int) -> int:
    """How many buckets a node of so many rows has at most."""
    longest = 0
    for j in range(axes.weight.size):
        longest = max(longest, axes.shape[START, j + 1] - axes.shape[START, j])
    # Longer axes are ranked instead, and have a bucket per row at most; see `fill_buckets`.
    return min(longest, 2 * rows + 64)


@maker_kernel
def make_workspace(axes: Axes, count: int, alike: int, slots: int) -> tuple[NodeBoxes, CutWorkspace]:
    """Memory for cutting a node of ``alike`` rows, of which ``count`` are at hand, and what is below it.

    ``slots`` is the length of a row of its histogram, see `shoal.kernels.rules.count_slots`.
    """
    d = axes.weight.size
    buckets = _most_buckets(axes, max(count, alike))
    boxes = NodeBoxes(
        np.empty((2, d), np.int64),
        np.empty((2, d), np.int64),
        np.empty(d, np.int64),
        # Codes are below 2^31, so at least two fit a word: 2 ceil(d / 2) <= d + 1 words per row.
        np.empty(count * (d + 1), np.uint64),
        np.empty(count, np.int64),
        np.empty((buckets, 2), np.int64),
        np.empty((buckets + 1) * (d + 1), np.uint64),
        np.empty(d, np.float64),
    )
    use = CutWorkspace(
        np.empty(count, np.int64),
        np.empty((4, buckets), np.float64),
        np.zeros((3, slots), np.int64),
        np.empty(d, np.bool_),
    )
    return boxes, use
