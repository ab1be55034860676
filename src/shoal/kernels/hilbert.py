"""Space-filling order, and the best way to cut a sequence of rows into classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import ZERO, ClassBoxes, Points, WidthCosts, clear_box, cost_with, widen_box
from shoal.kernels.compiled import entry_kernel
from shoal.kernels.rules import Rules, add_row, clear_histogram, count_slots, is_satisfied
from shoal.kernels.signatures import Matrix


@entry_kernel
def hilbert_keys(grid: Matrix[np.uint32], bits: int) -> NDArray[np.uint64]:
    """Place of each point on the Hilbert curve through a grid of ``2**bits`` steps along each axis.

    Parameters
    ----------
    grid : uint32[n, d]
        Coordinates; ``d * bits`` is at most 64.

    References
    ----------
    J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004.
    """
    n, d = grid.shape
    keys = np.empty(n, np.uint64)
    x = np.empty(d, np.uint32)
    top = np.uint32(1 << (bits - 1))
    for i in range(n):
        for j in range(d):
            x[j] = grid[i, j]
        bit = top
        while bit > 1:  # undo the excess work: from the top bit down, invert or exchange the lower bits
            lower = np.uint32(bit - 1)
            for j in range(d):
                if x[j] & bit:
                    x[0] ^= lower
                else:
                    swapped = (x[0] ^ x[j]) & lower
                    x[0] ^= swapped
                    x[j] ^= swapped
            bit >>= np.uint32(1)
        for j in range(1, d):  # Gray encoding
            x[j] ^= x[j - 1]
        # The Gray code goes on through the bits: each set bit of the last axis flips all lower
        # bits.
        flip = np.uint32(0)
        bit = top
        while bit > 1:
            if x[d - 1] & bit:
                flip ^= np.uint32(bit - 1)
            bit >>= np.uint32(1)
        key = np.uint64(0)
        for b in range(bits - 1, -1, -1):
            for j in range(d):
                key = (key << np.uint64(1)) | np.uint64(((x[j] ^ flip) >> np.uint32(b)) & np.uint32(1))
        keys[i] = key
    return keys


@entry_kernel
def cut_sequence(
    points: Points,
    measure: WidthCosts,
    rules: Rules,
    ident: NDArray[np.int64],
    order: NDArray[np.int64],
    boxes: ClassBoxes,
    reach: int,
    first: int,
    last: int,
    best: NDArray[np.float64],
    back: NDArray[np.int64],
    halt: NDArray[np.bool_],
) -> None:
    """Find for each end of a class in ``first + 1 .. last`` where that class best begins.

    ``best[i]`` becomes the least loss of ``order[:i]`` cut into classes that keep the rules, infinite where
    there is no such cut, and ``back[i]`` the beginning of its last class. ``boxes`` lends one box.

    Without rules other than size the result is optimal: a class that could be cut in two need not be looked
    at. With them, no class of more than ``reach`` rows is looked at.

    References
    ----------
    G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis, "Fast data anonymization with low information loss",
    VLDB 2007.
    """
    line, tree, bits, cost = boxes.line, boxes.tree, boxes.bits, boxes.cost
    spot, leaf, mark, weight = points.place, points.leaf, points.bits, points.weight
    whole, root, node, node_cost, unit = (
        measure.whole,
        measure.root,
        measure.node,
        measure.node_cost,
        measure.unit,
    )
    plain = rules.limit.size == 0
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    box = ZERO
    for end in range(first + 1, last + 1):
        if halt[0]:
            return
        best[end] = np.inf
        back[end] = -1
        total = 0
        latest = 0  # weight of the shortest class that ends here
        clear_histogram(rules, histogram, ZERO)
        # best[i] is known for all i < end: try every beginning of the last class, the shortest
        # first.
        for i in range(end - 1, -1, -1):
            r = order[i]
            if i == end - 1:
                clear_box(line, tree, bits, box)
                widen_box(line, tree, bits, box, spot, leaf, mark, r)
                cost[box] = 0.0
            else:
                grown = cost_with(
                    line, tree, bits, cost, box, spot, leaf, mark, r, whole, root, node, node_cost, unit
                )
                # A row inside the box changes nothing: this box never loses a row, so LO2 is not
                # needed.
                if grown > cost[box]:
                    widen_box(line, tree, bits, box, spot, leaf, mark, r)
                    cost[box] = grown
            total += weight[r]
            if not plain:
                add_row(rules, ident[r], histogram, 0)
            if total < rules.size:
                continue
            if latest == 0:
                latest = total
            loss = best[i] + total * cost[box]
            if loss < best[end] and (plain or is_satisfied(rules, histogram, 0)):
                best[end] = loss
                back[end] = i
            # A longer class could be cut into two that are large enough and cost no more.
            if plain and total - latest >= rules.size:
                break
            if not plain and total >= reach:
                break
            # No class that begins earlier costs less than this box does, and none is better than nothing.
            if total * cost[box] > best[end]:
                break
