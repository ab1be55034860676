"""The nearest of many boxes for every row, and the place of numbers among sorted ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.boxes import LOWER, UPPER
from shoal.kernels.compiled import entry_kernel, inline_kernel, inner_kernel
from shoal.kernels.signatures import Cube, Matrix

LINE, INTERVAL, SET = 0, 1, 2
"""What lies outside of a box: on a line as far as it is, else by 1, unless it is in the interval or set."""

_LOOK = 12  # nodes that are looked at after a first box was found
_COUNT, _LEAST, _MOST = 0, 1, 2  # of the boxes with their middle in a bin
_BINS = 64  # places where a node may be divided along an axis
_ENOUGH = 4  # boxes that are not divided further
_EVEN = 0.01  # what it counts that both sides are even, beside that they do not overlap


class ReleasedBoxes(NamedTuple):
    """The boxes of classes."""

    kind: NDArray[np.int64]
    """[d] LINE, INTERVAL or SET."""
    bound: Cube[np.float64]
    """[boxes, 2, d] LOWER and UPPER ends; of a set its least and its greatest code."""
    first: Matrix[np.int64]
    """[boxes, d] where the codes of a set begin in ``member``."""
    last: Matrix[np.int64]
    """[boxes, d] and where those after them do."""
    member: NDArray[np.int64]
    """Codes of sets, ascending in each."""


class BoxTree(NamedTuple):
    """Boxes in groups, each group divided in two again and again, with a box around every part."""

    item: NDArray[np.int64]
    """The boxes, part by part."""
    root: NDArray[np.int64]
    """[groups] the node of each group; -1 if it has no boxes."""
    start: NDArray[np.int64]
    """[nodes] where the items of a node begin."""
    stop: NDArray[np.int64]
    """[nodes] where those after them do."""
    right: NDArray[np.int64]
    """[nodes] the right child, 0 for a leaf; the left one comes next after its parent."""
    axis: NDArray[np.int64]
    """[nodes] the axis that a node is divided on."""
    plane: NDArray[np.float64]
    """[nodes] and where: between its two sides, or in the middle of where they overlap."""
    bound: Cube[np.float64]
    """[nodes, 2, d] the box around a node."""


@inner_kernel
def _enclose_items(
    bound: NDArray[np.float64],
    item: NDArray[np.int64],
    start: int,
    stop: int,
    around: NDArray[np.float64],
    node: int,
) -> None:
    """Write the box around a node."""
    for j in range(bound.shape[2]):
        lo, hi = np.inf, -np.inf
        for at in range(start, stop):
            lo, hi = min(lo, bound[item[at], LOWER, j]), max(hi, bound[item[at], UPPER, j])
        around[node, LOWER, j], around[node, UPPER, j] = lo, hi


@inline_kernel
def _find_bin(low: float, high: float, around: NDArray[np.float64], node: int, axis: int) -> int:
    """Which of the bins of a node the middle of a box lies in."""
    lo, hi = around[node, LOWER, axis], around[node, UPPER, axis]
    return min(int(_BINS * ((low + high) / 2 - lo) / (hi - lo)), _BINS - 1)


@inner_kernel
def _choose_side(
    bound: NDArray[np.float64],
    item: NDArray[np.int64],
    start: int,
    stop: int,
    around: NDArray[np.float64],
    node: int,
    bins: NDArray[np.float64],
) -> tuple[int, int, float]:
    """The axis, and the bin after which it is cut, where both sides overlap least and are most even.

    And the place between the two sides.
    """
    least = np.inf
    axis = -1
    place = 0
    plane = 0.0
    for j in range(bound.shape[2]):
        extent = around[node, UPPER, j] - around[node, LOWER, j]
        if not extent > 0.0:
            continue
        for b in range(_BINS):
            bins[_COUNT, b], bins[_LEAST, b], bins[_MOST, b] = 0.0, np.inf, -np.inf
        for at in range(start, stop):
            low, high = bound[item[at], LOWER, j], bound[item[at], UPPER, j]
            b = _find_bin(low, high, around, node, j)
            bins[_COUNT, b] += 1.0
            bins[_LEAST, b] = min(bins[_LEAST, b], low)
            bins[_MOST, b] = max(bins[_MOST, b], high)
        for b in range(_BINS - 2, -1, -1):  # the least of all bins from here on
            bins[_LEAST, b] = min(bins[_LEAST, b], bins[_LEAST, b + 1])
        left, most = 0.0, -np.inf
        for b in range(_BINS - 1):
            left += bins[_COUNT, b]
            most = max(most, bins[_MOST, b])
            if left == 0.0 or left == stop - start:
                continue
            overlap = max(0.0, most - bins[_LEAST, b + 1]) / extent
            score = overlap + _EVEN * abs(2.0 * left / (stop - start) - 1.0)
            if score < least:
                least = score
                axis, place, plane = j, b, (most + bins[_LEAST, b + 1]) / 2
    return axis, place, plane


@inner_kernel
def _divide_items(
    bound: NDArray[np.float64],
    item: NDArray[np.int64],
    start: int,
    stop: int,
    around: NDArray[np.float64],
    node: int,
    axis: int,
    place: int,
) -> int:
    """Move the boxes with their middle in a bin up to ``place`` to the front; return where others begin."""
    middle = start
    for at in range(start, stop):
        low, high = bound[item[at], LOWER, axis], bound[item[at], UPPER, axis]
        if _find_bin(low, high, around, node, axis) <= place:
            item[middle], item[at] = item[at], item[middle]
            middle += 1
    return middle


@entry_kernel
def build_box_tree(boxes: ReleasedBoxes, item: NDArray[np.int64], group: NDArray[np.int64]) -> BoxTree:
    """Divide groups of boxes; ``group`` is where each group begins in ``item``, whose order is changed."""
    bound = boxes.bound
    room = 2 * item.size + 1
    root = np.full(group.size - 1, -1, np.int64)
    begin, end = np.empty(room, np.int64), np.empty(room, np.int64)
    right, axis_of = np.zeros(room, np.int64), np.zeros(room, np.int64)
    plane_of, around = np.zeros(room, np.float64), np.empty((room, 2, bound.shape[2]), np.float64)
    todo, bins = np.empty((item.size + 2, 3), np.int64), np.empty((3, _BINS), np.float64)
    nodes = 0
    for g in range(root.size):
        if group[g] == group[g + 1]:
            continue
        root[g] = nodes
        todo[0, 0], todo[0, 1], todo[0, 2] = group[g], group[g + 1], -1
        waiting = 1
        while waiting > 0:
            waiting -= 1
            start, stop, parent = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
            if parent >= 0:
                right[parent] = nodes
            begin[nodes], end[nodes] = start, stop
            _enclose_items(bound, item, start, stop, around, nodes)
            axis = -1
            if stop - start > _ENOUGH:
                axis, place, plane = _choose_side(bound, item, start, stop, around, nodes, bins)
            if axis >= 0:  # boxes whose middles are all equal stay together
                middle = _divide_items(bound, item, start, stop, around, nodes, axis, place)
                axis_of[nodes], plane_of[nodes] = axis, plane
                # The left side is on top, and so comes next; the right one is told where its parent is.
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = middle, stop, nodes
                todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = start, middle, -1
                waiting += 2
            nodes += 1
    return BoxTree(
        item,
        root,
        begin[:nodes].copy(),
        end[:nodes].copy(),
        right[:nodes].copy(),
        axis_of[:nodes].copy(),
        plane_of[:nodes].copy(),
        around[:nodes].copy(),
    )


@inline_kernel
def _measure_outside(
    kind: NDArray[np.int64],
    bound: NDArray[np.float64],
    box: int,
    place: NDArray[np.float64],
    row: int,
    best: float,
) -> float:
    """How far a row lies outside of a box, of sets as if they were intervals; or more than ``best``."""
    total = 0.0
    for j in range(kind.size):
        at = place[row, j]
        if kind[j] == LINE:
            total += max(0.0, bound[box, LOWER, j] - at, at - bound[box, UPPER, j])
        elif at < bound[box, LOWER, j] or at > bound[box, UPPER, j]:
            total += 1.0
        if total > best:
            break
    return total


@inner_kernel
def _count_left_out(boxes: ReleasedBoxes, box: int, place: NDArray[np.float64], row: int) -> float:
    """Of how many sets a row has no member although it lies between their ends."""
    kind, bound, first, last, member = boxes
    count = 0.0
    for j in range(kind.size):
        at = place[row, j]
        if kind[j] != SET or at < bound[box, LOWER, j] or at > bound[box, UPPER, j]:
            continue
        low, high = first[box, j], last[box, j]
        while low < high:
            middle = (low + high) // 2
            if member[middle] < at:
                low = middle + 1
            else:
                high = middle
        if low == last[box, j] or member[low] != at:
            count += 1.0
    return count


@inner_kernel
def _find_near_box(
    boxes: ReleasedBoxes,
    tree: BoxTree,
    place: NDArray[np.float64],
    row: int,
    root: int,
    todo: NDArray[np.int64],
    away: NDArray[np.float64],
) -> int:
    """The nearest of the boxes that are looked at, the first of equally near ones."""
    item, start, stop, right = tree.item, tree.start, tree.stop, tree.right
    kind, bound, around = boxes.kind, boxes.bound, tree.bound
    best = np.inf
    found = -1
    seen = 0
    todo[0], away[0] = root, 0.0
    waiting = 1
    while waiting > 0 and seen < _LOOK:
        waiting -= 1
        node = todo[waiting]
        # A part as near as the best is looked at, too: it may have an earlier box.
        if away[waiting] > best:
            continue
        seen += found >= 0
        if right[node] > 0:
            # The side that the row lies on goes on top: most of the other need not be looked at then.
            near, far = node + 1, right[node]
            if place[row, tree.axis[node]] > tree.plane[node]:
                near, far = far, near
            todo[waiting] = far
            away[waiting] = _measure_outside(kind, around, far, place, row, best)
            todo[waiting + 1], away[waiting + 1] = near, 0.0
            waiting += 2
            continue
        for at in range(start[node], stop[node]):
            box = item[at]
            distance = _measure_outside(kind, bound, box, place, row, best)
            if distance <= best:
                distance += _count_left_out(boxes, box, place, row)
            if distance < best or (distance == best and box < found):
                best = distance
                found = box
    return found


@entry_kernel
def find_near_boxes(
    boxes: ReleasedBoxes, tree: BoxTree, group: NDArray[np.int64], place: Matrix[np.float64]
) -> NDArray[np.int64]:
    """A box of its group that each row is near to; -1 if the group has none.

    It is the nearest of those that are looked at, at first where the row comes to by the tree. All of them,
    of which there may be very many, are not compared.
    """
    found = np.full(group.size, -1, np.int64)
    room = tree.start.size + 1
    todo, away = np.empty(room, np.int64), np.empty(room, np.float64)
    for row in range(group.size):
        root = tree.root[group[row]]
        if root >= 0:
            found[row] = _find_near_box(boxes, tree, place, row, root, todo, away)
    return found


@inline_kernel
def _find_cell(x: float, low: float, scale: float, cells: int) -> int:
    """Which of so many equal parts of a range a number lies in; 0 where a float cannot tell."""
    return min(int((x / 2 - low / 2) * scale), cells - 1) if scale > 0.0 else 0


@inline_kernel
def _find_scale(known: NDArray[np.float64], cells: int) -> float:
    """Parts per unit of half the range; halves, since the whole of vast numbers need not be finite."""
    half = known[-1] / 2 - known[0] / 2
    return cells / half if half * 1e300 > cells else 0.0


@entry_kernel
def count_before(known: NDArray[np.float64], cells: int) -> NDArray[np.int64]:
    """How many of ``known``, which ascend, lie before each of so many equal parts of their range."""
    before = np.zeros(cells + 1, np.int64)
    scale = _find_scale(known, cells)
    for at in range(known.size):
        before[_find_cell(known[at], known[0], scale, cells) + 1] += 1
    for cell in range(cells):
        before[cell + 1] += before[cell]
    return before


@entry_kernel
def find_places(
    value: NDArray[np.float64], known: NDArray[np.float64], before: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The place of each value among ascending numbers, between two places where it lies between two.

    Beyond the ends it is the first or the last place, and NaN stays NaN. ``before`` is from `count_before`:
    it tells where to look, which spares most steps of a bisection in a long array.
    """
    cells = before.size - 1
    scale = _find_scale(known, cells)
    place = np.empty(value.size, np.float64)
    for i in range(value.size):
        x = value[i]
        if not known[0] < x < known[-1]:
            place[i] = x if np.isnan(x) else (0.0 if x <= known[0] else known.size - 1.0)
            continue
        cell = _find_cell(x, known[0], scale, cells)
        low, high = before[cell], before[cell + 1]
        while low < high:
            middle = (low + high) // 2
            if known[middle] <= x:
                low = middle + 1
            else:
                high = middle
        # Now `low` is the first that is greater.
        least, most = known[low - 1] / 2, known[low] / 2
        place[i] = low - 1 + (x / 2 - least) / (most - least)
    return place


@entry_kernel
def read_between(table: NDArray[np.float64], place: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a table has at each place, on the line between two entries where the place lies between two."""
    found = np.empty(place.size, np.float64)
    for i in range(place.size):
        at = min(max(place[i], 0.0), table.size - 1.0)
        low = int(at)
        found[i] = table[low]
        if low < at:
            found[i] += (at - low) * (table[low + 1] - table[low])
    return found
