"""Boxes around rows, several codes to a machine word, so that one operation compares them all.

The rows of a node lie between two *corners*: a least and a greatest code on every axis. The axes on which the
corners differ are the *fields* of a word, each ``bits`` wide with its highest bit always 0. Rows and boxes
are pairs of words: codes less the lower corner in the first, the upper corner less codes in the second. So
the box around two boxes is the greater of both, field by field, and zero is the empty box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import LEVELS, START, TREE, Axes
from shoal.kernels.compiled import inline_kernel, inner_kernel
from shoal.kernels.signatures import Matrix

LOWER, UPPER = 0, 1
"""Rows of `Boxes.corner` and `Boxes.bound`."""
PLACE, WEIGHT = 0, 1
"""Columns of `Boxes.grid`."""

_ONE = np.uint64(1)  # numba turns a word combined with a plain integer into a float


class NodeBoxes(NamedTuple):
    """Memory for the rows of a node and their boxes, reused from node to node.

    A *bucket* holds the rows that lie at one place of an axis; buckets are in ascending order.
    """

    corner: Matrix[np.int64]
    """[2, d] the corners: bounds of the node, not always tight."""
    bound: Matrix[np.int64]
    """[2, d] its tight bounds."""
    field: NDArray[np.int64]
    """[d] the axis of each field."""
    row: NDArray[np.uint64]
    """One or more pairs of words per row."""
    bucket: NDArray[np.int64]
    """[rows] bucket of each row."""
    grid: Matrix[np.int64]
    """[buckets, 2] of each bucket: the PLACE on the axis that it stands for and the WEIGHT of its rows."""
    box: NDArray[np.uint64]
    """As many words per bucket, and for the running box of `sweep_buckets` after them."""
    extent: NDArray[np.float64]
    """[d] width of the running box along every axis."""


class WordPacking(NamedTuple):
    """How codes are packed into words."""

    fields: int
    pairs: int
    """Pairs of words per row."""
    each: int
    """Fields per word."""
    bits: np.uint64
    """Bits per field."""
    mask: np.uint64
    """All bits of the first field."""
    guard: np.uint64
    """The highest bit of every field."""


@inline_kernel
def _max_by_field(x: np.uint64, y: np.uint64, packing: WordPacking) -> np.uint64:
    """The greater of two words, field by field (L. Lamport, "Multiple byte processing", CACM 18(8), 1975)."""
    # A guard bit survives the subtraction where x >= y, and keeps the borrow inside its field.
    keep = ((x | packing.guard) - y) & packing.guard
    # Each guard bit that is left becomes a mask over the other bits of its field.
    keep -= keep >> (packing.bits - _ONE)
    return y ^ ((x ^ y) & keep)


@inner_kernel
def _plan_packing(boxes: NodeBoxes) -> WordPacking:
    """Fit the axes on which the corners differ into few words."""
    fields = 0
    longest = 1
    for j in range(boxes.field.size):
        length = boxes.corner[UPPER, j] - boxes.corner[LOWER, j]
        if length > 0:
            boxes.field[fields] = j
            fields += 1
            longest |= length  # only its number of bits counts
    # As many fields per word as the longest axis allows: 8 of 7 bits, 4 of 15, 2 of 31 or 1 of 63.
    # The bit that each field has left is its guard.
    each = 8
    while longest >> (63 // each) > 0:
        each //= 2
    bits = np.uint64(64 // each)
    top = _ONE << (bits - _ONE)
    guard = top
    for _ in range(1, each):
        guard = guard << bits | top
    return WordPacking(fields, (fields + each - 1) // each, each, bits, top | (top - _ONE), guard)


@inner_kernel
def pack_rows(codes: NDArray[np.unsignedinteger], start: int, stop: int, boxes: NodeBoxes) -> WordPacking:
    """Pack the rows of a node, and find its tight bounds."""
    corner, bound, field, row = boxes.corner, boxes.bound, boxes.field, boxes.row
    packing = _plan_packing(boxes)
    bits = packing.bits
    for j in range(field.size):
        # Right for axes that are no field: the node has one code there. The others follow below.
        bound[LOWER, j] = bound[UPPER, j] = corner[LOWER, j]
    for p in range(packing.pairs):
        first = p * packing.each
        last = min(first + packing.each, packing.fields) - 1
        # The last field goes in first, so that the first one has the lowest bits.
        lower = np.uint64(0)
        span = np.uint64(0)
        for f in range(last, first - 1, -1):
            j = field[f]
            lower = (lower << bits) + np.uint64(corner[LOWER, j])
            span = (span << bits) + np.uint64(corner[UPPER, j] - corner[LOWER, j])
        # The greatest distance from the lower corner, and from the upper one, over all rows.
        most = np.uint64(0)
        least = np.uint64(0)
        at = 2 * p
        for i in range(start, stop):
            word = np.uint64(0)
            for f in range(last, first - 1, -1):
                word = (word << bits) + np.uint64(codes[i, field[f]])
            word -= lower  # of all fields at once: what overflowed before falls into place
            row[at] = word
            row[at + 1] = span - word
            most = _max_by_field(most, word, packing)
            least = _max_by_field(least, span - word, packing)
            at += 2 * packing.pairs
        for f in range(first, last + 1):
            j = field[f]
            bound[LOWER, j] = corner[UPPER, j] - np.int64(least & packing.mask)
            bound[UPPER, j] = corner[LOWER, j] + np.int64(most & packing.mask)
            most >>= bits
            least >>= bits
    return packing


@inner_kernel
def enclose_buckets(packing: WordPacking, boxes: NodeBoxes, rows: int, buckets: int) -> None:
    """Find the box of every bucket around the rows in it."""
    row, bucket, box = boxes.row, boxes.bucket, boxes.box
    # Words as indices, too: numba makes signed ones count from the end where they are negative.
    words = np.uint64(2 * packing.pairs)
    for w in range(np.uint64(buckets) * words):
        box[w] = 0
    source = np.uint64(0)
    for i in range(np.uint64(rows)):
        at = np.uint64(bucket[i]) * words
        end = at + words
        while at != end:
            box[at] = _max_by_field(box[at], row[source], packing)
            at += _ONE
            source += _ONE


@inline_kernel
def sweep_buckets(
    axes: Axes,
    packing: WordPacking,
    boxes: NodeBoxes,
    buckets: int,
    first: int,
    last: int,
    skip: int,
    before: NDArray[np.float64],
    into: int,
) -> float:
    """Extend a running box from bucket ``first`` up or down to ``last`` without ``skip``; return its cost.

    The cost before each bucket goes into ``before[into]``. Widths are computed anew only where they change.
    """
    weight, shape, position, node, node_width = axes
    corner, field, grid, box, extent = boxes.corner, boxes.field, boxes.grid, boxes.box, boxes.extent
    bits, mask, pairs = packing.bits, packing.mask, packing.pairs
    # The running box lies behind the boxes of the buckets.
    run = 2 * pairs * buckets
    for w in range(2 * pairs):
        box[run + w] = 0
    for j in range(extent.size):
        extent[j] = 0.0
    cost = 0.0
    # One loop for both directions keeps the code short that is inlined into each caller.
    step = 1 if first <= last else -1
    g = first - step
    while g != last:
        g += step
        before[into, g] = cost
        if grid[g, WEIGHT] == 0 or g == skip:
            continue
        for p in range(pairs):
            at = 2 * (pairs * g + p)
            to = run + 2 * p
            most = _max_by_field(box[to], box[at], packing)
            least = _max_by_field(box[to + 1], box[at + 1], packing)
            # A field has changed if the box grew at either of its ends.
            changed = (most ^ box[to]) | (least ^ box[to + 1])
            box[to] = most
            box[to + 1] = least
            f = p * packing.each
            while changed != 0:
                if changed & mask != 0:
                    j = field[f]
                    lo = corner[UPPER, j] - np.int64(least & mask)
                    hi = corner[LOWER, j] + np.int64(most & mask)
                    if shape[LEVELS, j] == 0:  # `width`, written out
                        start = shape[START, j]
                        extended = min(1.0, position[start + hi] - position[start + lo])
                    else:
                        start = shape[TREE, j]
                        while node[start + lo] != node[start + hi]:
                            start += shape[START, j + 1] - shape[START, j]
                        extended = node_width[start + lo]
                    cost += weight[j] * (extended - extent[j])
                    extent[j] = extended
                changed >>= bits
                most >>= bits
                least >>= bits
                f += 1
    return cost
