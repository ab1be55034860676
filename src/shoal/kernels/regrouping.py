"""Divisions of rows into classes, improved by moves, swaps and splits, and bred from one another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import START, width
from shoal.kernels.compiled import entry, inline, inner
from shoal.kernels.groups import Costs
from shoal.kernels.random import below, shuffle, uniform
from shoal.kernels.rules import Rules, add_row, satisfied

_LONG = 64  # larger classes are neither split nor searched for partners to swap: it would take quadratic time
_TINY = 1e-12
LO, HI, DIFFERENT, TICKET = 0, 1, 2, 3
"""Rows of `Scratch.cells`."""


class Matter(NamedTuple):
    """What a division is of: rows, what groups of them cost, and which groups are allowed."""

    costs: Costs
    codes: NDArray[np.int64]
    """[n, d]"""
    rules: Rules
    near: NDArray[np.int32]
    """[n, m] rows that are cheap beside each row."""
    pair: NDArray[np.float32]
    """[n, n] what each of two rows costs if they are a class."""


class Division(NamedTuple):
    """A division: the rows of each class as a linked list."""

    of: NDArray[np.int64]
    """[n] class of each row, -1 while it has none."""
    after: NDArray[np.int64]
    before: NDArray[np.int64]
    head: NDArray[np.int64]
    """[classes] -1 where a class is empty."""
    size: NDArray[np.int64]
    cost: NDArray[np.float64]
    """[classes] of all rows of a class together."""


class Scratch(NamedTuple):
    """Memory to work in."""

    cells: NDArray[np.int64]
    """[4, d] LO, HI: ends of the cells so far; DIFFERENT: values so far; TICKET: number of the count."""
    seen: NDArray[np.int64]
    """Per code of all columns, the ticket of the last count that met it."""
    histogram: NDArray[np.int64]
    queue: NDArray[np.int64]
    """Rows to look at; a ring."""
    ends: NDArray[np.int64]
    """Where the queue begins, and how long it is."""
    queued: NDArray[np.bool_]
    loose: NDArray[np.int64]
    members: NDArray[np.int64]
    key: NDArray[np.float64]


@inner
def _scratch(matter: Matter) -> Scratch:
    n, d = matter.codes.shape
    return Scratch(
        np.zeros((4, d), np.int64),
        np.zeros(matter.costs.position.size, np.int64),
        np.zeros((1, matter.rules.values), np.int64),
        np.empty(n, np.int64),
        np.zeros(2, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
    )


@inner
def _link(division: Division, row: int, to: int) -> None:
    first = division.head[to]
    division.of[row] = to
    division.after[row] = first
    division.before[row] = -1
    if first >= 0:
        division.before[first] = row
    division.head[to] = row
    division.size[to] += 1


@inner
def _unlink(division: Division, row: int) -> None:
    c = division.of[row]
    if division.before[row] >= 0:
        division.after[division.before[row]] = division.after[row]
    else:
        division.head[c] = division.after[row]
    if division.after[row] >= 0:
        division.before[division.after[row]] = division.before[row]
    division.size[c] -= 1
    division.of[row] = -1


@inline
def _take_up(
    unit: NDArray[np.float64],
    shape: NDArray[np.int64],
    codes: NDArray[np.int64],
    cells: NDArray[np.int64],
    seen: NDArray[np.int64],
    row: int,
    started: bool,
) -> None:
    """Widen the cells by one row."""
    for j in range(codes.shape[1]):
        code = codes[row, j]
        if unit[j] > 0.0:
            if not started:
                cells[DIFFERENT, j] = 0
            if seen[shape[START, j] + code] != cells[TICKET, 0]:
                seen[shape[START, j] + code] = cells[TICKET, 0]
                cells[DIFFERENT, j] += 1
        elif not started:
            cells[LO, j] = code
            cells[HI, j] = code
        else:
            cells[LO, j] = min(cells[LO, j], code)
            cells[HI, j] = max(cells[HI, j], code)


@inner
def _cost(
    weight: NDArray[np.float64],
    unit: NDArray[np.float64],
    shape: NDArray[np.int64],
    position: NDArray[np.float64],
    node: NDArray[np.int32],
    node_cost: NDArray[np.float64],
    codes: NDArray[np.int64],
    cells: NDArray[np.int64],
    seen: NDArray[np.int64],
    after: NDArray[np.int64],
    first: int,
    without: int,
    extra: int,
) -> float:
    """What the class that begins at ``first`` costs without one row (or -1) and with another (or -1)."""
    # Arrays one by one: see `axes`.
    cells[TICKET, 0] += 1
    size = 0
    row = first
    while row >= 0:
        if row != without:
            _take_up(unit, shape, codes, cells, seen, row, size > 0)
            size += 1
        row = after[row]
    if extra >= 0:
        _take_up(unit, shape, codes, cells, seen, extra, size > 0)
        size += 1
    if size == 0:
        return 0.0
    total = 0.0
    for j in range(codes.shape[1]):
        if unit[j] > 0.0:
            total += weight[j] * min(1.0, (cells[DIFFERENT, j] - 1) * unit[j])
        else:
            total += weight[j] * width(shape, position, node, node_cost, j, cells[LO, j], cells[HI, j])
    return total * size


@inner
def _class_cost(
    matter: Matter, division: Division, scratch: Scratch, c: int, without: int, extra: int
) -> float:
    """What class ``c`` costs without one of its rows (or -1) and with another (or -1)."""
    costs = matter.costs
    return _cost(
        costs.weight,
        costs.unit,
        costs.shape,
        costs.position,
        costs.node,
        costs.node_cost,
        matter.codes,
        scratch.cells,
        scratch.seen,
        division.after,
        division.head[c],
        without,
        extra,
    )


@inner
def _allowed(matter: Matter, division: Division, scratch: Scratch, c: int, without: int, extra: int) -> bool:
    """Whether class ``c`` would be allowed without one of its rows (or -1) and with another (or -1)."""
    rules = matter.rules
    size = division.size[c] - (1 if without >= 0 else 0) + (1 if extra >= 0 else 0)
    if size < rules.size:
        return False
    if rules.values == 0:
        return True
    for value in range(rules.values):
        scratch.histogram[0, value] = 0
    row = division.head[c]
    while row >= 0:
        if row != without:
            add_row(rules, row, scratch.histogram, 0)
        row = division.after[row]
    if extra >= 0:
        add_row(rules, extra, scratch.histogram, 0)
    return satisfied(rules, scratch.histogram, 0)


@inner
def _wake(division: Division, scratch: Scratch, c: int) -> None:
    """Put the rows of a class into the queue."""
    row = division.head[c]
    while row >= 0:
        if not scratch.queued[row]:
            scratch.queued[row] = True
            scratch.queue[(scratch.ends[0] + scratch.ends[1]) % scratch.queue.size] = row
            scratch.ends[1] += 1
        row = division.after[row]


@inner
def _exchange(
    matter: Matter,
    division: Division,
    scratch: Scratch,
    row: int,
    to: int,
    back: int,
    saved: float,
    new: float,
) -> None:
    """Carry out a move, or with ``back`` a swap, after which the two classes cost ``saved`` and ``new``."""
    c = division.of[row]
    _unlink(division, row)
    if back >= 0:
        _unlink(division, back)
        _link(division, back, c)
    _link(division, row, to)
    division.cost[c] = saved
    division.cost[to] = new
    _wake(division, scratch, c)
    _wake(division, scratch, to)


@inner
def _improve(matter: Matter, division: Division, scratch: Scratch, row: int) -> bool:
    """Move a row to the class of a near one, or swap it with a row there, if that costs less."""
    c = division.of[row]
    without = _class_cost(matter, division, scratch, c, row, -1)
    movable = _allowed(matter, division, scratch, c, row, -1)
    pair = matter.pair
    new = 0.0
    best = -_TINY
    best_to, best_back = -1, -1
    best_saved, best_new = 0.0, 0.0
    last = -1
    for step in range(matter.near.shape[1]):
        to = division.of[matter.near[row, step]]
        if to in (c, last):
            continue
        last = to
        now = division.cost[c] + division.cost[to]
        if movable:
            new = _class_cost(matter, division, scratch, to, -1, row)
            if without + new - now < best and _allowed(matter, division, scratch, to, -1, row):
                best, best_to, best_back = without + new - now, to, -1
                best_saved, best_new = without, new
        if division.size[to] > _LONG or division.size[c] > _LONG:
            continue
        # The row costs its new class as much as its dearest pair there: mostly that rules a swap out.
        dear, dearest, second = -1, -np.inf, -np.inf
        other = division.head[to]
        while other >= 0:
            if pair[row, other] > dearest:
                dear, dearest, second = other, pair[row, other], dearest
            else:
                second = max(second, pair[row, other])
            other = division.after[other]
        other = division.head[to]
        while other >= 0:
            least = (second if other == dear else dearest) * division.size[to]
            if least + without - now < best:
                new = _class_cost(matter, division, scratch, to, other, row)
            if least + without - now < best and new + without - now < best:
                saved = _class_cost(matter, division, scratch, c, row, other)
                if (
                    saved + new - now < best
                    and _allowed(matter, division, scratch, to, other, row)
                    and _allowed(matter, division, scratch, c, row, other)
                ):
                    best, best_to, best_back = saved + new - now, to, other
                    best_saved, best_new = saved, new
            other = division.after[other]
    if best_to < 0:
        return False
    _exchange(matter, division, scratch, row, best_to, best_back, best_saved, best_new)
    return True


@inner
def _free(division: Division) -> int:
    """A class without rows, or -1."""
    for c in range(division.head.size):
        if division.head[c] < 0:
            return c
    return -1


@inner
def _split(matter: Matter, division: Division, scratch: Scratch, c: int, state: NDArray[np.uint64]) -> None:
    """Split a large class between two rows that are far apart, where both parts are allowed and it saves."""
    size = division.size[c]
    if size < 2 * matter.rules.size or size > _LONG:
        return
    fresh = _free(division)
    if fresh < 0:
        return
    count = 0
    row = division.head[c]
    while row >= 0:
        scratch.members[count] = row
        count += 1
        row = division.after[row]
    a = scratch.members[below(state, count)]
    b = a
    far = -np.inf
    for i in range(count):
        apart = matter.pair[a, scratch.members[i]]
        if apart > far and scratch.members[i] != a:
            far = apart
            b = scratch.members[i]
    for i in range(count):
        row = scratch.members[i]
        scratch.key[i] = matter.pair[b, row] - matter.pair[a, row]
    for i in range(1, count):  # by insertion: there are few
        key, row = scratch.key[i], scratch.members[i]
        at = i
        while at > 0 and scratch.key[at - 1] > key:
            scratch.key[at] = scratch.key[at - 1]
            scratch.members[at] = scratch.members[at - 1]
            at -= 1
        scratch.key[at] = key
        scratch.members[at] = row
    old = division.cost[c]
    best, best_at = old - _TINY, -1
    for i in range(count):
        _unlink(division, scratch.members[i])
        _link(division, scratch.members[i], fresh)
        if i + 1 < matter.rules.size or count - i - 1 < matter.rules.size:
            continue
        total = _class_cost(matter, division, scratch, c, -1, -1) + _class_cost(
            matter, division, scratch, fresh, -1, -1
        )
        if (
            total < best
            and _allowed(matter, division, scratch, c, -1, -1)
            and _allowed(matter, division, scratch, fresh, -1, -1)
        ):
            best, best_at = total, i
    for i in range(best_at + 1, count):
        _unlink(division, scratch.members[i])
        _link(division, scratch.members[i], c)
    division.cost[c] = _class_cost(matter, division, scratch, c, -1, -1)
    division.cost[fresh] = _class_cost(matter, division, scratch, fresh, -1, -1)


@inner
def _insert(matter: Matter, division: Division, scratch: Scratch, row: int) -> bool:
    """Put a row without a class where it costs least; False if it is allowed nowhere."""
    best, best_to, best_new = np.inf, -1, 0.0
    for step in range(matter.near.shape[1]):
        to = division.of[matter.near[row, step]]
        if to < 0 or to == best_to:
            continue
        new = _class_cost(matter, division, scratch, to, -1, row)
        if new - division.cost[to] < best and _allowed(matter, division, scratch, to, -1, row):
            best, best_to, best_new = new - division.cost[to], to, new
    if best_to < 0:  # nothing near has a class: any will do
        for to in range(division.head.size):
            if division.head[to] >= 0 and _allowed(matter, division, scratch, to, -1, row):
                best_to = to
                best_new = _class_cost(matter, division, scratch, to, -1, row)
                break
    if best_to < 0:
        return False
    _link(division, row, best_to)
    division.cost[best_to] = best_new
    return True


@inner
def _dissolve(division: Division, scratch: Scratch, c: int, loose: int) -> int:
    """Take all rows out of a class; returns how many rows are loose now."""
    while division.head[c] >= 0:
        row = division.head[c]
        _unlink(division, row)
        scratch.loose[loose] = row
        loose += 1
    division.cost[c] = 0.0
    return loose


@inner
def _gather(
    matter: Matter, division: Division, scratch: Scratch, loose: int, state: NDArray[np.uint64]
) -> int:
    """Make new classes of loose rows that are cheap together; returns how many rows are left."""
    while loose >= matter.rules.size:
        fresh = _free(division)
        if fresh < 0:
            break
        at = below(state, loose)
        taken = 0
        while taken < loose:
            row = scratch.loose[at]
            scratch.loose[at] = scratch.loose[loose - 1 - taken]
            scratch.loose[loose - 1 - taken] = row
            _link(division, row, fresh)
            taken += 1
            if taken >= matter.rules.size and _allowed(matter, division, scratch, fresh, -1, -1):
                break
            best = np.inf
            for i in range(loose - taken):
                cost = _class_cost(matter, division, scratch, fresh, -1, scratch.loose[i])
                if cost < best:
                    best = cost
                    at = i
        if not _allowed(matter, division, scratch, fresh, -1, -1):
            while division.head[fresh] >= 0:
                _unlink(division, division.head[fresh])
            break
        loose -= taken
        division.cost[fresh] = _class_cost(matter, division, scratch, fresh, -1, -1)
        _wake(division, scratch, fresh)
    return loose


@inner
def _house(
    matter: Matter, division: Division, scratch: Scratch, loose: int, state: NDArray[np.uint64]
) -> bool:
    """Find classes for all loose rows; False if there is none for some."""
    if uniform(state) < 0.5:
        loose = _gather(matter, division, scratch, loose, state)
    for i in range(loose):
        row = scratch.loose[i]
        if not _insert(matter, division, scratch, row):
            return False
        _wake(division, scratch, division.of[row])
    return True


@inner
def _settle(
    matter: Matter, division: Division, scratch: Scratch, visits: int, state: NDArray[np.uint64]
) -> None:
    """Improve the rows in the queue and those that they disturb."""
    while scratch.ends[1] > 0:
        row = scratch.queue[scratch.ends[0]]
        scratch.ends[0] = (scratch.ends[0] + 1) % scratch.queue.size
        scratch.ends[1] -= 1
        scratch.queued[row] = False
        if visits > 0:
            visits -= 1
            if division.size[division.of[row]] >= 2 * matter.rules.size:
                _split(matter, division, scratch, division.of[row], state)
            _improve(matter, division, scratch, row)


@inner
def _read(matter: Matter, of: NDArray[np.int64], capacity: int, scratch: Scratch) -> Division:
    n = of.size
    division = Division(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.full(capacity, -1, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
    )
    for row in range(n):
        _link(division, row, of[row])
    for c in range(capacity):
        if division.head[c] >= 0:
            division.cost[c] = _class_cost(matter, division, scratch, c, -1, -1)
    return division


@inner
def _write(division: Division, of: NDArray[np.int64]) -> float:
    """Number the classes from 0, in the order of their first rows; returns the cost."""
    name = np.full(division.head.size, -1, np.int64)
    count = 0
    total = 0.0
    for row in range(of.size):
        c = division.of[row]
        if name[c] < 0:
            name[c] = count
            count += 1
            total += division.cost[c]
        of[row] = name[c]
    return total


@inner
def _wake_all(scratch: Scratch, state: NDArray[np.uint64]) -> None:
    """Put every row into the queue, in random order."""
    for row in range(scratch.queue.size):
        scratch.queue[row] = row
        scratch.queued[row] = True
    shuffle(state, scratch.queue, scratch.queue.size)
    scratch.ends[0] = 0
    scratch.ends[1] = scratch.queue.size


@inner
def _inject(
    division: Division, other: Division, scratch: Scratch, classes: int, state: NDArray[np.uint64]
) -> None:
    """Take over classes of another division where they cost less than their rows do now."""
    first = below(state, other.head.size)
    taken = 0
    for step in range(other.head.size):
        c = (first + step) % other.head.size
        if other.head[c] < 0 or taken >= classes:
            continue
        spent = 0.0
        same = other.size[c] == division.size[division.of[other.head[c]]]
        row = other.head[c]
        while row >= 0:
            now = division.of[row]
            spent += division.cost[now] / division.size[now]
            same = same and now == division.of[other.head[c]]
            row = other.after[row]
        fresh = _free(division)
        if same or fresh < 0 or other.cost[c] >= spent or uniform(state) < 0.5:
            continue
        row = other.head[c]
        while row >= 0:
            now = division.of[row]
            division.cost[now] -= division.cost[now] / division.size[now]
            _unlink(division, row)
            _link(division, row, fresh)
            row = other.after[row]
        division.cost[fresh] = other.cost[c]
        taken += 1


@inner
def _cross(
    matter: Matter,
    division: Division,
    other: Division,
    scratch: Scratch,
    mutation: float,
    visits: int,
    state: NDArray[np.uint64],
) -> bool:
    """Make a child in place: classes of the other parent, some neighbouring ones dissolved, all settled."""
    n = division.of.size
    _inject(division, other, scratch, 1 + n // (10 * matter.rules.size), state)
    loose = 0
    for c in range(division.head.size):
        if division.head[c] < 0:
            continue
        cost = _class_cost(matter, division, scratch, c, -1, -1)
        if abs(cost - division.cost[c]) > _TINY:
            division.cost[c] = cost
            _wake(division, scratch, c)
        if not _allowed(matter, division, scratch, c, -1, -1):
            loose = _dissolve(division, scratch, c, loose)
    row = below(state, n)
    for _ in range(1 + below(state, 1 + int(10 * mutation))):
        if division.of[row] >= 0 and division.size[division.of[row]] <= _LONG:
            loose = _dissolve(division, scratch, division.of[row], loose)
        if matter.near.shape[1] > 0:  # a row that is the only one has no neighbours
            row = matter.near[row, below(state, matter.near.shape[1])]
    if not _house(matter, division, scratch, loose, state):
        return False
    _settle(matter, division, scratch, visits, state)
    return True


@entry
def breed_classes(
    matter: Matter,
    parents: NDArray[np.int64],
    children: NDArray[np.int64],
    costs: NDArray[np.float64],
    mutation: float,
    visits: int,
    state: NDArray[np.uint64],
) -> None:
    """Fill ``children`` with divisions bred from ``parents``, which are in order of cost, and ``costs``.

    With a negative ``mutation`` the children are their parents themselves, one by one, settled.
    """
    size, n = parents.shape
    capacity = 2 * n // matter.rules.size + 2
    for each in range(children.shape[0]):
        scratch = _scratch(matter)
        if mutation < 0.0:
            division = _read(matter, parents[each % size], capacity, scratch)
            _wake_all(scratch, state)
            _settle(matter, division, scratch, visits, state)
            fine = True
        else:
            a = min(below(state, size), below(state, size))  # the better of two
            b = min(below(state, size), below(state, size))
            division = _read(matter, parents[a], capacity, scratch)
            other = _read(matter, parents[b], capacity, scratch)
            fine = _cross(matter, division, other, scratch, mutation, visits, state)
        costs[each] = _write(division, children[each]) if fine else np.inf
