"""Prices of rows that prove how little any release can lose.

Every class is a box with at least a given number of rows. If the prices of no possible class's rows add up to
more than what the class loses, then no release loses less than all prices together. A price may rise until
some class with the row would break that. Which class that is, a search finds that divides all boxes around
the row in two again and again: those that reach a value, and those that do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.signatures import Cube, Matrix

LINE, TREE, SET = 0, 1, 2
"""What an axis is."""
_NODES = 64  # boxes that wait for their turn at most: the search goes deep first
_MOST = 1 << 12  # candidates: a row with more keeps the price that is safe without them
_NONE = -1


class PricedAxes(NamedTuple):
    """Axes, whose codes ascend with what they are on a line, or are the leaves of a tree."""

    kind: NDArray[np.int64]
    """[d]"""
    start: NDArray[np.int64]
    """[d] where what belongs to the axis begins in ``place`` or ``node``."""
    size: NDArray[np.int64]
    """[d] number of codes."""
    whole: NDArray[np.float64]
    """[d] cost of the whole of a line; of one more value of a set."""
    place: NDArray[np.float64]
    """Place of each code on its line."""
    node: NDArray[np.int64]
    """Per tree, level by level, the node above each leaf."""
    node_cost: NDArray[np.float64]
    """And what it costs."""


@inner_kernel
def _axis_cost(axes: PricedAxes, j: int, lo: int, hi: int) -> float:
    """Cost of a range of codes, or of the values whose bits are in ``lo``."""
    kind = axes.kind[j]
    if kind == LINE:
        at = axes.start[j]
        return float(min(axes.whole[j], axes.place[at + hi] - axes.place[at + lo]))
    if kind == TREE:
        at = axes.start[j]
        while axes.node[at + lo] != axes.node[at + hi]:
            at += axes.size[j]
        return float(axes.node_cost[at + lo])
    values = -1
    left = np.uint64(lo)
    while left:
        left &= left - np.uint64(1)  # clears the lowest bit that is set
        values += 1
    return float(max(values, 0) * axes.whole[j])


@inner_kernel
def _cost_with(axes: PricedAxes, codes: NDArray[np.int64], s: int, box: NDArray[np.int64], at: int) -> float:
    """Cost of a row of the box once row ``s`` is in it."""
    sum_ = 0.0
    for j in range(axes.kind.size):
        lo, hi, code = box[at, 0, j], box[at, 1, j], codes[s, j]
        if axes.kind[j] == SET:
            sum_ += _axis_cost(axes, j, lo | code, 0)
        else:
            sum_ += _axis_cost(axes, j, min(lo, code), max(hi, code))
    return sum_


@inner_kernel
def _is_inside(axes: PricedAxes, codes: NDArray[np.int64], s: int, box: NDArray[np.int64], at: int) -> bool:
    """Whether row ``s`` lies in the outer box."""
    for j in range(axes.kind.size):
        lo, hi, code = box[at, 2, j], box[at, 3, j], codes[s, j]
        if axes.kind[j] == SET:
            if code & ~lo:
                return False
        elif code < lo or code > hi:
            return False
    return True


@inner_kernel
def _widen(axes: PricedAxes, codes: NDArray[np.int64], s: int, box: NDArray[np.int64], at: int) -> None:
    """Widen the inner box so that row ``s`` is in it."""
    for j in range(axes.kind.size):
        code = codes[s, j]
        if axes.kind[j] == SET:
            box[at, 0, j] |= code
        else:
            box[at, 0, j] = min(box[at, 0, j], code)
            box[at, 1, j] = max(box[at, 1, j], code)


class PriceRoom(NamedTuple):
    """Memory for the search around one row."""

    box: Cube[np.int64]
    """[nodes, 4, d] least and greatest code of the inner box, which a class fills at least, and of the outer
    one, which it does not leave. Of a set, the values in it as bits."""
    near: NDArray[np.int64]
    """[candidates] rows."""
    cost: NDArray[np.float64]
    """[candidates] cost of the inner box with each; infinite where the row is outside."""
    chosen: NDArray[np.int64]
    """[candidates] rows of the cheapest class as far as the bound tells."""
    best: NDArray[np.float64]
    """[rows] the cheapest so far, ascending."""
    whose: NDArray[np.int64]
    """[rows] and what they belong to."""


class RowTree(NamedTuple):
    """Rows in groups, each group divided in two again and again; groups stand before their parts."""

    order: NDArray[np.int64]
    """[n] the rows, group by group."""
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    """[nodes] where the rows of a group begin and end."""
    skip: NDArray[np.int64]
    """[nodes] the next group that is not part of this one; the next one at all, if it has no parts."""
    bound: Cube[np.int64]
    """[nodes, 2, d] least and greatest code; of a set, the values in it as bits."""


@inner_kernel
def _list_candidates(
    axes: PricedAxes, codes: NDArray[np.int64], tree: RowTree, r: int, reach: float, room: PriceRoom
) -> tuple[int, int]:
    """List the rows that cost less than ``reach`` with ``r``; how many, and the work. Too many: -1."""
    count, work, node = 0, 0, 0
    while node < tree.start.size:
        sum_ = 0.0
        for j in range(axes.kind.size):
            code, lo, hi = codes[r, j], tree.bound[node, 0, j], tree.bound[node, 1, j]
            if axes.kind[j] == SET:
                if not code & lo:
                    sum_ += axes.whole[j]
            elif code < lo:
                sum_ += _axis_cost(axes, j, code, lo)
            elif code > hi:
                sum_ += _axis_cost(axes, j, hi, code)
            if sum_ >= reach:
                break
        work += 1
        if sum_ >= reach:
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for at in range(tree.start[node], tree.stop[node]):
                s = tree.order[at]
                sum_ = 0.0
                for j in range(axes.kind.size):
                    a, b = codes[r, j], codes[s, j]
                    if a != b:
                        lo, hi = (a | b, 0) if axes.kind[j] == SET else (min(a, b), max(a, b))
                        sum_ += _axis_cost(axes, j, lo, hi)
                        if sum_ >= reach:
                            break
                work += 1
                if sum_ < reach and s != r:
                    if count == room.near.size:
                        return -1, work
                    room.near[count] = s
                    count += 1
        node += 1
    return count, work


@inner_kernel
def _keep_least(value: float, owner: int, filled: int, number: int, room: PriceRoom) -> int:
    """Take a value into the list of the ``number`` least ones; how many there are."""
    if filled == number and value >= room.best[number - 1]:
        return filled
    at = min(filled, number - 1)
    while at > 0 and room.best[at - 1] > value:
        room.best[at] = room.best[at - 1]
        room.whose[at] = room.whose[at - 1]
        at -= 1
    room.best[at] = value
    room.whose[at] = owner
    return min(filled + 1, number)


@inner_kernel
def _bound_node(
    axes: PricedAxes,
    codes: NDArray[np.int64],
    price: NDArray[np.float64],
    floor: NDArray[np.float64],
    r: int,
    at: int,
    count: int,
    others: int,
    room: PriceRoom,
) -> tuple[float, int]:
    """A bound on what classes of a node cost beyond the prices of their rows but ``r``; and `room.chosen`.

    Infinite where too few rows are in the outer box. How many are chosen comes second.
    """
    inf = np.inf
    base = 0.0
    for j in range(axes.kind.size):
        base += _axis_cost(axes, j, room.box[at, 0, j], room.box[at, 1, j])
    inside = 0
    for i in range(count):
        s = room.near[i]
        room.cost[i] = inf
        if _is_inside(axes, codes, s, room.box, at):
            room.cost[i] = max(_cost_with(axes, codes, s, room.box, at), floor[s])
            if others > 0:
                inside = _keep_least(room.cost[i], i, inside, others, room)
    if inside < others:
        return inf, 0
    # At least so many others are in the class, so it costs what the last of the cheapest of them does.
    level = max(base, floor[r])
    if others > 0:
        level = max(level, room.best[others - 1])
    taken, filled = 0, 0
    sum_ = level
    for i in range(count):
        if room.cost[i] < inf:
            beyond = max(room.cost[i], level) - price[room.near[i]]
            if beyond < 0.0:  # it is worth more than it costs: the more of these the better
                room.chosen[taken] = room.near[i]
                sum_ += beyond
                taken += 1
            elif others > 0:
                filled = _keep_least(beyond, i, filled, others, room)
    for i in range(max(others - taken, 0)):
        room.chosen[taken] = room.near[room.whose[i]]
        sum_ += room.best[i]
        taken += 1
    return sum_, taken


@inner_kernel
def _divide_node(
    axes: PricedAxes, codes: NDArray[np.int64], at: int, taken: int, top: int, room: PriceRoom
) -> int:
    """Divide a node along the axis that the chosen rows widen most, into ``at`` and ``top``; 0 if none is.

    The chosen rows' box is at ``top`` when this is called.
    """
    box = room.box
    best, axis = 1e-12, _NONE
    for j in range(axes.kind.size):
        more = _axis_cost(axes, j, box[top, 0, j], box[top, 1, j]) - _axis_cost(
            axes, j, box[at, 0, j], box[at, 1, j]
        )
        if more > best:
            best, axis = more, j
    if axis < 0:
        return 0
    lo, hi = box[top, 0, axis], box[top, 1, axis]
    for side in range(4):
        for j in range(axes.kind.size):
            box[top, side, j] = box[at, side, j]
    if axes.kind[axis] == SET:
        # Classes that have a value, and classes that do not.
        value = lo & ~box[at, 0, axis]
        value &= -value
        box[at, 0, axis] |= value
        box[top, 2, axis] &= ~value
        return 1
    if axes.kind[axis] == TREE:
        # Classes below the lowest node above all, and those that need the node above that.
        first = axes.start[axis]
        size = axes.size[axis]
        while axes.node[first + box[at, 0, axis]] != axes.node[first + box[at, 1, axis]]:
            first += size
        for level in range(2):
            left = right = box[at, 0, axis]
            here = axes.node[first + left]
            while left > 0 and axes.node[first + left - 1] == here:
                left -= 1
            while right < size - 1 and axes.node[first + right + 1] == here:
                right += 1
            if level == 0:
                box[top, 2, axis] = max(box[top, 2, axis], left)
                box[top, 3, axis] = min(box[top, 3, axis], right)
                # Levels that repeat the node, or do not cost more, are one with it.
                cost = axes.node_cost[first + left]
                while axes.node_cost[first + size + left] <= cost:
                    first += size
                first += size
            else:
                box[at, 0, axis], box[at, 1, axis] = left, right
                # What must reach beyond may not be where the outer box ends.
                box[at, 2, axis] = min(box[at, 2, axis], left)
                box[at, 3, axis] = max(box[at, 3, axis], right)
        return 1
    # Classes that reach the middle between both boxes, on the side that is wider, and those that do not.
    if hi - box[at, 1, axis] >= box[at, 0, axis] - lo:
        value = (box[at, 1, axis] + hi + 1) // 2
        box[at, 1, axis] = value
        box[top, 3, axis] = value - 1
    else:
        value = (box[at, 0, axis] + lo) // 2
        box[at, 0, axis] = value
        box[top, 2, axis] = value + 1
    return 1


@inner_kernel
def _solve_row(
    axes: PricedAxes,
    codes: NDArray[np.int64],
    price: NDArray[np.float64],
    floor: NDArray[np.float64],
    r: int,
    count: int,
    size: int,
    most: float,
    nodes: int,
    room: PriceRoom,
) -> tuple[float, int]:
    """What every class with row ``r`` costs beyond the prices of its other rows, or ``most`` if that is less.

    Returns
    -------
    a bound on it, precise if ``nodes`` are enough; and the work done
    """
    box, d = room.box, axes.kind.size
    for j in range(d):
        box[0, 0, j] = box[0, 1, j] = codes[r, j]
        box[0, 2, j], box[0, 3, j] = (-1, 0) if axes.kind[j] == SET else (0, axes.size[j] - 1)
    top, best, proved, work, looked = 1, most, most, 0, 0
    while top > 0:
        top -= 1
        least, taken = _bound_node(axes, codes, price, floor, r, top, count, size - 1, room)
        work += count
        looked += 1
        if least >= best:
            continue
        # What the chosen rows really cost, together.
        for j in range(d):
            box[top + 1, 0, j], box[top + 1, 1, j] = box[top, 0, j], box[top, 1, j]
        for i in range(taken):
            _widen(axes, codes, room.chosen[i], box, top + 1)
        cost = 0.0
        for j in range(d):
            cost += _axis_cost(axes, j, box[top + 1, 0, j], box[top + 1, 1, j])
        real = cost
        for i in range(taken):
            real += cost - price[room.chosen[i]]
        best = min(best, max(real, least))
        if real <= least + 1e-12 or looked >= nodes or top + 3 > _NODES:
            proved = min(proved, least)
        elif _divide_node(axes, codes, top, taken, top + 1, room):
            top += 2
        else:
            proved = min(proved, least)
    return min(proved, best), work


@entry_kernel
def raise_prices(
    axes: PricedAxes,
    codes: Matrix[np.int64],
    tree: RowTree,
    first: int,
    last: int,
    size: int,
    reach: float,
    part: float,
    nodes: int,
    allowed: int,
    open_: NDArray[np.bool_],
    floor: NDArray[np.float64],
    price: NDArray[np.float64],
    halt: NDArray[np.bool_],
) -> int:
    """Raise the prices of the rows ``tree.order[first:last]`` as far as others allow; return the work done.

    Parameters
    ----------
    size : int
        Least number of rows of a class.
    reach : float
        Rows that cost as much as this with a row are not looked at: no price is above it, but where ``floor``
        is.
    part : float
        The part of what is possible by which a price rises; 0 sets ``floor`` instead, from prices of 0.
    nodes : int
        Boxes that are looked at for a row, at most.
    allowed : int
        Work after which it ends.
    open_ : bool[n]
        Rows whose prices may rise.
    floor : float64[n]
        What every class with the row loses at least, per row.
    price : float64[n]
        Changed in place.
    """
    d = axes.kind.size
    room = PriceRoom(
        np.zeros((_NODES + 2, 4, d), np.int64),
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST),
        np.zeros(_MOST, np.int64),
        np.zeros(max(size, 1)),
        np.zeros(max(size, 1), np.int64),
    )
    work = 0
    for t in range(first, last):
        if work > allowed or halt[0]:
            break
        r = tree.order[t]
        if not open_[r] or (part > 0.0 and floor[r] >= reach):
            continue
        near, count = reach, -1
        while count < 0:
            count, more = _list_candidates(axes, codes, tree, r, near, room)
            work += more
            if count < 0 and part > 0.0:
                break
            if count < 0:  # a class with a row farther than this costs at least as much
                near /= 2.0
        if count < 0:
            continue
        limit = near if part > 0.0 else size * near
        found, more = _solve_row(axes, codes, price, floor, r, count, size, limit, nodes, room)
        work += more
        if part == 0.0:
            floor[r] = max(floor[r], found / size)
        else:
            price[r] += part * max(found - price[r], 0.0)
    return work
