"""Neighbourhoods: a few classes that are near each other, divided anew as well as possible.

Every row gets a *price* such that no group costs less than its rows are worth. What a group costs beyond
that is its *surplus*. A division costs the prices of all rows and the surpluses of its groups. So only groups
whose surplus is less than that of the present division can be part of a better one. Few are, and a search
depth first goes through all divisions into these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import ZERO
from shoal.kernels.compiled import entry_kernel, inner_kernel, maker_kernel
from shoal.kernels.groups import group_cost
from shoal.kernels.linked_classes import LocalSearchInput
from shoal.kernels.rules import add_row, clear_histogram, count_slots, is_satisfied
from shoal.kernels.signatures import Matrix

_LEAST_GAIN = 1e-9  # smaller differences in cost are rounding
_GROUPS = 20_000  # a neighbourhood with more is left as it is
_LOOKS = 500_000  # and so is one for which more rows have to be looked at to list them
_STATES = 20_000  # groups that the search of one neighbourhood tries at most

_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two marks become one by it


class _Neighbourhood(NamedTuple):
    """Rows of a few classes, and the groups that could be classes of theirs."""

    row: NDArray[np.int64]
    price: NDArray[np.float64]
    """[rows] by place in `row`, as all that follows."""
    group: NDArray[np.int64]
    """[groups] places as bits."""
    cost: NDArray[np.float64]
    """[groups] of all rows of a group together; later the surplus."""
    first: NDArray[np.int64]
    """[rows] the group of least surplus among those whose lowest place this is, or -1."""
    after: NDArray[np.int64]
    """[groups] the one with the next surplus."""
    part: NDArray[np.int64]
    """[rows] places of a group that is being made."""
    member: NDArray[np.int64]
    """[rows] and its rows."""
    tried: NDArray[np.int64]
    """[rows] groups that the search has chosen so far."""
    best: NDArray[np.int64]
    """[rows] groups of the best division."""
    histogram: Matrix[np.int64]


@maker_kernel
def _make_neighbourhood(given: LocalSearchInput, most: int) -> _Neighbourhood:
    """Memory for up to so many rows."""
    return _Neighbourhood(
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(_GROUPS, np.int64),
        np.empty(_GROUPS),
        np.empty(most, np.int64),
        np.empty(_GROUPS, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.zeros((1, count_slots(given.rules)), np.int64),
    )


@maker_kernel
def _gather_rows(
    given: LocalSearchInput, of: NDArray[np.int64], size: NDArray[np.int64], seed: int, room: _Neighbourhood
) -> int:
    """The rows of the class of ``seed`` and of the classes nearest to it, as many as fit; how many."""
    taken = np.zeros(size.size, np.bool_)
    if size[of[seed]] > room.row.size:
        return 0
    taken[of[seed]] = True
    room.row[0] = seed
    count, begin, at = size[of[seed]], 0, 1
    while begin < at:
        # One row stands for each class: first come the near rows of the seed, then those of the others.
        for step in range(given.near.shape[1]):
            row = given.near[room.row[begin], step]
            if not taken[of[row]] and count + size[of[row]] <= room.row.size:
                taken[of[row]] = True
                count += size[of[row]]
                room.row[at] = row
                at += 1
        begin += 1
    at = 0
    for row in range(of.size):
        if taken[of[row]]:
            room.row[at] = row
            at += 1
    return at


@maker_kernel
def _set_first_prices(given: LocalSearchInput, room: _Neighbourhood, n: int) -> None:
    """Prices by pairs: a row's group has at least ``size`` rows, and costs each as much as any pair in it."""
    near = np.empty(n)
    for a in range(n):
        for b in range(n):
            near[b] = given.pair[room.row[a], room.row[b]]
        near.sort()
        # The row itself is among them.
        room.price[a] = near[max(given.rules.size, 1) - 1]


@inner_kernel
def _is_group_allowed(given: LocalSearchInput, room: _Neighbourhood, size: int) -> bool:
    """Whether ``room.member[:size]`` may be a class."""
    rules = given.rules
    if size < rules.size:
        return False
    if rules.values == 0:
        return True
    clear_histogram(rules, room.histogram, ZERO)
    for i in range(size):
        add_row(rules, room.member[i], room.histogram, 0)
    return is_satisfied(rules, room.histogram, 0)


@maker_kernel
def _list_groups(given: LocalSearchInput, room: _Neighbourhood, n: int, slack: float) -> tuple[int, int]:
    """List the groups whose surplus is below ``slack``; returns how many, and the rows looked at.

    Too many are as none.
    """
    least = given.rules.size
    # A class of twice as many rows can be divided, if their number is all that counts.
    longest = min(n, 2 * least - 1 if given.rules.values == 0 else n)
    dearest = 0.0
    for a in range(n):
        dearest = max(dearest, room.price[a])
    worth = np.zeros(n + 1)
    bits = np.zeros(n + 1, np.int64)
    count, looks, depth, at = 0, 0, 0, 0
    while True:
        if at == n or depth == longest:
            # Back to the part without its last row.
            if depth == 0:
                break
            depth -= 1
            at = room.part[depth] + 1
            continue
        room.part[depth] = at
        room.member[depth] = room.row[at]
        worth[depth + 1] = worth[depth] + room.price[at]
        bits[depth + 1] = bits[depth] | (np.int64(1) << at)
        depth += 1
        looks += depth
        each = group_cost(given.costs, given.codes, room.member, depth)
        # Further rows cost at least as much each, and are worth at most the dearest price.
        end = max(depth, least) if each >= dearest else longest
        if each * end - worth[depth] - (end - depth) * dearest < slack:
            if each * depth - worth[depth] < slack and _is_group_allowed(given, room, depth):
                room.group[count] = bits[depth]
                room.cost[count] = each * depth
                count += 1
            looks += given.rules.values
        else:
            depth -= 1
        at += 1
        if count == _GROUPS or looks > _LOOKS:
            return 0, looks
    return count, looks


@inner_kernel
def _raise_prices(room: _Neighbourhood, n: int, count: int) -> None:
    """Raise prices until no row can be worth more; then ``cost`` is the surplus."""
    for a in range(n):
        room.price[a] = np.inf
    for g in range(count):
        size = 0
        for a in range(n):
            size += (room.group[g] >> a) & 1
        for a in range(n):
            if (room.group[g] >> a) & 1:
                room.price[a] = min(room.price[a], room.cost[g] / size)
    for g in range(count):
        for a in range(n):
            if (room.group[g] >> a) & 1:
                room.cost[g] -= room.price[a]
    for a in range(n):
        least = np.inf
        for g in range(count):
            if (room.group[g] >> a) & 1:
                least = min(least, room.cost[g])
        for g in range(count):
            if (room.group[g] >> a) & 1:
                room.cost[g] -= least
        room.price[a] += least


@maker_kernel
def _search_divisions(room: _Neighbourhood, n: int, count: int, slack: float) -> tuple[int, int]:
    """Find the division of least surplus below ``slack``: its groups are in ``room.best``.

    Returns how many these are, 0 if there is none, and how many were tried.
    """
    order = np.argsort(room.cost[:count], kind="mergesort")
    for a in range(n):
        room.first[a] = -1
    for i in range(count - 1, -1, -1):
        g = order[i]
        if room.cost[g] < slack:
            low = 0
            while not (room.group[g] >> low) & 1:
                low += 1
            room.after[g] = room.first[low]
            room.first[low] = g
    spent = np.zeros(n + 1)
    full = (np.int64(1) << n) - 1
    taken, depth, found, states = np.int64(0), 0, 0, 0
    g = room.first[0]
    while states < _STATES:
        # Groups come with rising surplus: behind one that is too dear there are only dearer ones.
        while g >= 0 and spent[depth] + room.cost[g] < slack and room.group[g] & taken:
            states += 1
            g = room.after[g]
        if g < 0 or spent[depth] + room.cost[g] >= slack:
            if depth == 0:
                break
            depth -= 1
            g = room.tried[depth]
            taken ^= room.group[g]
            g = room.after[g]
            continue
        states += 1
        room.tried[depth] = g
        spent[depth + 1] = spent[depth] + room.cost[g]
        taken |= room.group[g]
        depth += 1
        if taken == full:
            slack = spent[depth] - _LEAST_GAIN
            found = depth
            for i in range(depth):
                room.best[i] = room.tried[i]
            depth -= 1
            taken ^= room.group[g]
            g = room.after[g]
            continue
        low = 0
        while (taken >> low) & 1:
            low += 1
        g = room.first[low]
    return found, states


@inner_kernel
def _measure_classes(given: LocalSearchInput, of: NDArray[np.int64], room: _Neighbourhood, n: int) -> float:
    """What the present classes of the rows cost."""
    total = 0.0
    for a in range(n):
        size = 0
        for b in range(n):
            if of[room.row[b]] == of[room.row[a]]:
                if b < a:
                    break  # counted with its first row
                room.member[size] = room.row[b]
                size += 1
        if size > 0:
            total += size * group_cost(given.costs, given.codes, room.member, size)
    return total


@inner_kernel
def _mark_rows(room: _Neighbourhood, n: int) -> np.uint64:
    """A number by which the same rows are known again."""
    mark = np.uint64(n)
    for a in range(n):
        mark = (mark ^ np.uint64(room.row[a])) * _MIX
    return mark


@inner_kernel
def _holds_mark(marks: NDArray[np.uint64], many: int, mark: np.uint64) -> bool:
    """Whether one of the first ``many`` marks is this one."""
    at = 0
    while at < many and marks[at] != mark:
        at += 1
    return at < many


@inner_kernel
def _sum_prices(room: _Neighbourhood, n: int) -> float:
    """What all rows are worth."""
    total = 0.0
    for a in range(n):
        total += room.price[a]
    return total


@maker_kernel
def _find_better_division(
    given: LocalSearchInput, room: _Neighbourhood, n: int, now: float
) -> tuple[int, int]:
    """Find the best division if it costs less than ``now``; returns as `_search_divisions` does."""
    _set_first_prices(given, room, n)
    count, looks = _list_groups(given, room, n, now - _sum_prices(room, n) - _LEAST_GAIN)
    if count == 0:
        return 0, looks
    _raise_prices(room, n, count)
    slack = now - _sum_prices(room, n) - _LEAST_GAIN
    # A row that is in no group has an infinite price.
    if slack <= 0.0:
        return 0, looks
    found, states = _search_divisions(room, n, count, slack)
    return found, looks + states


@inner_kernel
def _number_classes(
    of: NDArray[np.int64], size: NDArray[np.int64], room: _Neighbourhood, n: int, found: int
) -> None:
    """Make the groups in ``room.best`` the classes of the rows."""
    for a in range(n):
        size[of[room.row[a]]] -= 1
    free = 0
    for i in range(found):
        while size[free] > 0:
            free += 1
        for a in range(n):
            if (room.group[room.best[i]] >> a) & 1:
                of[room.row[a]] = free
                size[free] += 1


@entry_kernel
def divide_neighbourhoods(
    given: LocalSearchInput, of: NDArray[np.int64], most: int, steps: int
) -> tuple[float, int]:
    """Divide the neighbourhood of every row anew where that costs less, until none can be divided better.

    Parameters
    ----------
    of : [n]
        The class of each row; changed in place.
    most : int
        Rows of a neighbourhood, at most; below 63.
    steps : int
        Rows that are looked at; a neighbourhood that is begun is finished.

    Returns
    -------
    what was saved, and how many rows were looked at
    """
    n = of.size
    room = _make_neighbourhood(given, most)
    size = np.zeros(n + 1, np.int64)
    for row in range(n):
        size[of[row]] += 1
    tried = np.empty(n, np.uint64)  # neighbourhoods since the last change
    saved, spent, idle, seed, many = 0.0, 0, 0, 0, 0
    while idle < n and spent < steps:
        rows = _gather_rows(given, of, size, seed, room)
        seed = (seed + 1) % n
        idle += 1
        spent += rows
        mark = _mark_rows(room, rows)
        if rows < 2 * given.rules.size or _holds_mark(tried, many, mark):
            continue
        tried[many] = mark
        many += 1
        now = _measure_classes(given, of, room, rows)
        found, looks = _find_better_division(given, room, rows, now)
        spent += looks
        if found > 0:
            _number_classes(of, size, room, rows, found)
            saved += now - _measure_classes(given, of, room, rows)
            idle, many = 0, 0
    return saved, spent
