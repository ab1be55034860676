"""Which groups of rows are worth more than they cost, where every row has a price.

Column generation asks this again and again (C. Barnhart et al., "Branch-and-price: column generation for
solving huge integer programs", Operations Research 46(3), 1998). Groups are searched depth first. A part of a
group has *candidates*, rows that may still join it. How dear a candidate makes the part is known exactly, and
bounds what any larger group costs; what no such group can be worth is dropped from the whole branch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import START, measure_interval
from shoal.kernels.compiled import entry_kernel, inner_kernel, maker_kernel
from shoal.kernels.groups import GroupCosts
from shoal.kernels.signatures import Matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RowPrices(NamedTuple):
    """What rows are worth to a group, and what it pays besides."""

    price: Floats
    """[n] groups are searched by their first row, so dear rows had better be first."""
    times: Ints
    """[n] how often each row may be taken; rows with equal codes are one."""
    cut_start: Ints
    """[n + 1] where the cuts of each row begin in `cut_of`."""
    cut_of: Ints
    """The cuts that hold a row: sets of rows, see `find_violated_cuts`."""
    step: Ints
    """[cuts] a group pays whenever it has so many rows more of a cut."""
    fee: Floats
    """[cuts] what it pays then."""
    apart: Matrix[np.bool_]
    """[n, n] rows that may not be in one group."""
    team: Ints
    """[n] rows with the same number are in one group."""
    team_size: Ints
    """[n] by that number."""


class _Parts(NamedTuple):
    """The part of a group at each depth, and its candidates."""

    member: Ints
    taken: Ints
    """[n] how often each row is in it."""
    in_team: Ints
    """[n] how many rows of each team are in it."""
    held: Ints
    """[cuts] how many rows of each cut are in it."""
    present: Ints
    """By place in `GroupCosts.position`, how many rows have that code."""
    low: Matrix[np.int64]
    """[depth, columns] the least code; `high` the greatest, `different` how many there are."""
    high: Matrix[np.int64]
    different: Matrix[np.int64]
    spent: Floats
    """[depth] the prices of its rows, less what it pays."""
    cost: Floats
    """[depth] of one row."""
    missing: Ints
    """[depth] how many rows must join because their teams have begun."""
    candidate: Matrix[np.int64]
    """[depth, n]"""
    cost_with: Matrix[np.float64]
    """What each row costs once the candidate has joined."""
    worth: Matrix[np.float64]
    """The price of the candidate, less what it makes the group pay for certain."""
    many: Ints
    following: Ints
    """[depth] which candidate is next."""


class _Scratch(NamedTuple):
    """Room for the bound of a part."""

    order: Ints
    best: Floats
    with_all: Matrix[np.float64]
    """[n, rows that join] the least that a group can be worth below 0 if this candidate is its dearest."""
    with_one: Matrix[np.float64]
    """The same, before the last of these rows has joined."""


@entry_kernel
def find_worthwhile_groups(
    costs: GroupCosts,
    codes: Matrix[np.int64],
    prices: RowPrices,
    sizes: tuple[int, int],
    limits: tuple[float, float],
    records: bool,
    capacity: int,
    effort: tuple[int, int],
) -> tuple[NDArray[np.int64], float, int, int, bool]:
    """Groups whose cost less the prices of their rows is below a limit.

    Parameters
    ----------
    sizes : pair of int
        Least and greatest number of rows in a group.
    limits : pair of float
        What each group pays besides, and the limit.
    records : bool
        For each first row, only groups better than those found before with it.
    effort : pair of int
        How many parts and how many candidates are looked at, at most.

    Returns
    -------
    groups (padded with -1), the least of their costs less prices (at most 0), the number of parts looked at,
    how many candidates were dropped, and whether nothing was left out for want of capacity or effort
    """
    n = prices.price.size
    least, most = sizes
    each, below = limits
    part = _make_parts(n, most, codes.shape[1], costs.position.size, prices.fee.size)
    room = _Scratch(np.empty(n, np.int64), np.empty(most), np.empty((n, most + 1)), np.empty((n, most + 1)))
    found = np.full((capacity, most), -1, np.int64)
    count, nodes, looks, dropped = 0, 0, 0, 0
    best = 0.0
    part.many[0] = n
    for first in range(n):
        part.candidate[0, first] = first
    for first in range(n):
        limit = below
        part.spent[0] = -each
        _add_row(costs, codes, prices, part, 0, first)
        depth = 1
        # Rows before the first one had their turn: groups with them are found already.
        part.following[0] = first
        is_new = True
        while depth > 0:
            if is_new:
                is_new = False
                nodes += 1
                total = depth * part.cost[depth] - part.spent[depth]
                if depth >= least and part.missing[depth] == 0 and total < limit:
                    for a in range(depth):
                        found[count, a] = part.member[a]
                    count += 1
                    best = min(best, total)
                    if records:
                        limit = total
                if count == capacity or nodes >= effort[0] or looks >= effort[1]:
                    return found[:count], best, nodes, dropped, False
                if depth < most:
                    looks += _list_candidates(costs, codes, prices, part, depth)
                    dropped += _drop_candidates(prices, part, room, depth, least, most, limit)
                else:
                    part.many[depth] = 0
                part.following[depth] = 0
            if part.following[depth] < part.many[depth]:
                at = part.following[depth]
                _add_row(costs, codes, prices, part, depth, part.candidate[depth, at])
                depth += 1
                is_new = True
            else:
                depth -= 1
                _remove_row(costs, codes, prices, part, part.member[depth])
                part.following[depth] += 1
    return found[:count], best, nodes, dropped, True


@maker_kernel
def _make_parts(n: int, most: int, columns: int, places: int, cuts: int) -> _Parts:
    return _Parts(
        np.empty(most, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(cuts, np.int64),
        np.zeros(places, np.int64),
        np.zeros((most + 1, columns), np.int64),
        np.zeros((most + 1, columns), np.int64),
        np.zeros((most + 1, columns), np.int64),
        np.zeros(most + 1),
        np.zeros(most + 1),
        np.zeros(most + 1, np.int64),
        np.zeros((most + 1, n), np.int64),
        np.zeros((most + 1, n)),
        np.zeros((most + 1, n)),
        np.zeros(most + 1, np.int64),
        np.zeros(most + 1, np.int64),
    )


@inner_kernel
def _measure_cost(costs: GroupCosts, codes: Matrix[np.int64], part: _Parts, depth: int, row: int) -> float:
    """What each row of the part costs once another row has joined it."""
    shape, position, node, node_cost = costs.shape, costs.position, costs.node, costs.node_cost
    total = 0.0
    for j in range(codes.shape[1]):
        code = codes[row, j]
        if costs.unit[j] > 0.0:
            more = part.different[depth, j] - (part.present[shape[START, j] + code] > 0)
            total += costs.weight[j] * min(1.0, more * costs.unit[j])
        else:
            low, high = code, code
            if depth > 0:
                low, high = min(low, part.low[depth, j]), max(high, part.high[depth, j])
            total += costs.weight[j] * measure_interval(shape, position, node, node_cost, j, low, high)
    return total


@inner_kernel
def _add_row(
    costs: GroupCosts, codes: Matrix[np.int64], prices: RowPrices, part: _Parts, depth: int, row: int
) -> None:
    """Let a row join the part."""
    part.cost[depth + 1] = _measure_cost(costs, codes, part, depth, row)
    for j in range(codes.shape[1]):
        code = codes[row, j]
        place = costs.shape[START, j] + code
        part.low[depth + 1, j] = min(part.low[depth, j], code) if depth > 0 else code
        part.high[depth + 1, j] = max(part.high[depth, j], code) if depth > 0 else code
        part.different[depth + 1, j] = part.different[depth, j] + (part.present[place] == 0)
        part.present[place] += 1
    worth = prices.price[row]
    for q in range(prices.cut_start[row], prices.cut_start[row + 1]):
        cut = prices.cut_of[q]
        part.held[cut] += 1
        if part.held[cut] % prices.step[cut] == 0:
            worth -= prices.fee[cut]
    team = prices.team[row]
    size = prices.team_size[team]
    part.missing[depth + 1] = part.missing[depth]
    if size > 1:
        part.missing[depth + 1] += -1 if part.in_team[team] > 0 else size - 1
    part.in_team[team] += 1
    part.taken[row] += 1
    part.spent[depth + 1] = part.spent[depth] + worth
    part.member[depth] = row


@inner_kernel
def _remove_row(
    costs: GroupCosts, codes: Matrix[np.int64], prices: RowPrices, part: _Parts, row: int
) -> None:
    """Undo what `_add_row` did beyond its own depth."""
    for j in range(codes.shape[1]):
        part.present[costs.shape[START, j] + codes[row, j]] -= 1
    for q in range(prices.cut_start[row], prices.cut_start[row + 1]):
        part.held[prices.cut_of[q]] -= 1
    part.in_team[prices.team[row]] -= 1
    part.taken[row] -= 1


@inner_kernel
def _list_candidates(
    costs: GroupCosts, codes: Matrix[np.int64], prices: RowPrices, part: _Parts, depth: int
) -> int:
    """List the rows that may still join the part; returns how many were looked at."""
    many, awaited = 0, 0
    begin, end = part.following[depth - 1], part.many[depth - 1]
    last = part.member[depth - 1]
    for at in range(begin, end):
        row = part.candidate[depth - 1, at]
        if part.taken[row] >= prices.times[row] or prices.apart[last, row]:
            continue
        worth = prices.price[row]
        for q in range(prices.cut_start[row], prices.cut_start[row + 1]):
            # If the next row of a cut pays, any x further ones pay at least x / step times.
            cut = prices.cut_of[q]
            if (part.held[cut] + 1) % prices.step[cut] == 0:
                worth -= prices.fee[cut] / prices.step[cut]
        team = prices.team[row]
        awaited += part.in_team[team] > 0 and prices.team_size[team] > 1
        part.candidate[depth, many] = row
        part.cost_with[depth, many] = _measure_cost(costs, codes, part, depth, row)
        part.worth[depth, many] = worth
        many += 1
    # A team that has begun and cannot be completed makes all of it useless.
    part.many[depth] = many if awaited >= part.missing[depth] else 0
    return int(end - begin)


@inner_kernel
def _drop_candidates(
    prices: RowPrices, part: _Parts, room: _Scratch, depth: int, least: int, most: int, limit: float
) -> int:
    """Drop candidates that no group below the limit can have; returns how many these are."""
    many, slots = part.many[depth], most - depth
    need = max(least - depth, part.missing[depth], 1)
    _sort_by_cost(part, room, depth)
    _bound_groups(prices, part, room, depth, slots)
    kept = 0
    for at in range(many - 1, -1, -1):
        i = room.order[at]
        worth, hope = part.worth[depth, i], np.inf
        for t in range(need, slots + 1):
            # A group that has this candidate costs as much as with it, or as with a dearer one.
            if at < many - 1:
                room.with_all[at, t] = min(room.with_all[at, t], room.with_all[at + 1, t])
                room.with_one[at, t] = min(room.with_one[at, t], room.with_one[at + 1, t])
            # The rows that join with it are the best there are, or all but the last of these and it.
            hope = min(hope, max(room.with_all[at, t], room.with_one[at, t] - worth))
        if hope >= limit:
            part.cost_with[depth, i] = np.inf
    for i in range(many):
        if part.cost_with[depth, i] < np.inf:
            part.candidate[depth, kept] = part.candidate[depth, i]
            part.cost_with[depth, kept] = part.cost_with[depth, i]
            part.worth[depth, kept] = part.worth[depth, i]
            kept += 1
    part.many[depth] = kept
    return int(many - kept)


@inner_kernel
def _bound_groups(prices: RowPrices, part: _Parts, room: _Scratch, depth: int, slots: int) -> None:
    """What groups are at best if rows join up to each candidate, in order of cost; by how many join."""
    size = 0
    for at in range(part.many[depth]):
        i = room.order[at]
        row, worth = part.candidate[depth, i], part.worth[depth, i]
        for _ in range(min(prices.times[row] - part.taken[row], slots)):
            if size == slots and worth <= room.best[size - 1]:
                break
            # Insert into the short list of those worth most.
            place = min(size, slots - 1)
            while place > 0 and room.best[place - 1] < worth:
                room.best[place] = room.best[place - 1]
                place -= 1
            room.best[place] = worth
            size = min(size + 1, slots)
        spent, cost = part.spent[depth], part.cost_with[depth, i]
        for t in range(1, slots + 1):
            room.with_one[at, t] = (depth + t) * cost - spent if t <= size else np.inf
            if t <= size:
                spent += room.best[t - 1]
            room.with_all[at, t] = (depth + t) * cost - spent if t <= size else np.inf


@inner_kernel
def _sort_by_cost(part: _Parts, room: _Scratch, depth: int) -> None:
    """Number the candidates in order of rising cost (Shell sort)."""
    many = part.many[depth]
    for i in range(many):
        room.order[i] = i
    gap = many // 2
    while gap > 0:
        for i in range(gap, many):
            moved, place = room.order[i], i
            while place >= gap and (
                part.cost_with[depth, room.order[place - gap]] > part.cost_with[depth, moved]
            ):
                room.order[place] = room.order[place - gap]
                place -= gap
            room.order[place] = moved
        gap //= 2


@entry_kernel
def find_violated_cuts(
    groups: Matrix[np.int64],
    share: NDArray[np.float64],
    times: NDArray[np.int64],
    least: float,
    capacity: int,
) -> tuple[Matrix[np.int64], NDArray[np.float64]]:
    """Sets of up to three rows of which shares of groups use more than whole groups can.

    Of rows that are there ``m`` times in all, with ``m`` odd, whole groups take at most ``(m - 1) / 2``
    pairs (M. Jepsen et al., "Subset-row inequalities applied to the vehicle-routing problem with time
    windows", Operations Research 56(2), 2008).

    Parameters
    ----------
    groups : int64[n, groups]
        How often each group has each row.
    share : float64[groups]
    least : float
        By how many pairs, at least.

    Returns
    -------
    the sets, [cuts, 3], padded with -1; and by how many pairs each is exceeded
    """
    n = groups.shape[0]
    found, excess = np.empty((capacity, 3), np.int64), np.empty(capacity)
    count = 0
    together = np.zeros((n, n), np.bool_)
    for g in range(share.size):
        for i in range(n):
            for j in range(n):
                together[i, j] |= groups[i, g] > 0 and groups[j, g] > 0
    for i in range(n):
        for j in range(-1, n):
            if j == i or (j >= 0 and not together[i, j]):
                continue
            for k in range(-1, n):
                # No other row, or two that share groups with the first: each set once.
                if (k >= 0 and (k <= j or j < 0 or k == i or not together[i, k])) or (k < 0 <= j < i):
                    continue
                if k >= 0 and together[j, k] and j < i:
                    continue
                over = _count_excess(groups, share, times, i, j, k)
                if over > least and count < capacity:
                    found[count, 0], found[count, 1], found[count, 2] = i, j, k
                    excess[count] = over
                    count += 1
    return found[:count], excess[:count]


@inner_kernel
def _count_excess(groups: Matrix[np.int64], share: Floats, times: Ints, i: int, j: int, k: int) -> float:
    """How many pairs of these rows the groups use beyond what whole groups can; -1 stands for no row."""
    total = times[i] + (times[j] if j >= 0 else 0) + (times[k] if k >= 0 else 0)
    if total % 2 == 0:
        return 0.0
    over = -float(total // 2)
    for g in range(share.size):
        held = groups[i, g] + (groups[j, g] if j >= 0 else 0) + (groups[k, g] if k >= 0 else 0)
        over += (held // 2) * share[g]
    return over


class UsedGroups(NamedTuple):
    """Groups of which the relaxation takes a share, row by row."""

    start: Ints
    """[n + 1] where the groups of each row begin in `group`."""
    group: Ints
    often: Ints
    """How often that group has the row."""
    share: Floats
    """[groups]"""


@entry_kernel
def find_violated_sets(
    used: UsedGroups, times: Ints, step: int, size: int, least: float
) -> tuple[Matrix[np.int64], NDArray[np.float64]]:
    """Sets of ``size`` rows of which shares of groups have ``step`` rows more often than whole groups can.

    Whole groups have ``size // step`` times ``step`` of the rows at most: a cut of Chvatal and Gomory. It is
    looked for around every group: rows join and are exchanged while that raises what is used.

    Returns
    -------
    the sets, [cuts, size], padded with -1; and by how much each is exceeded
    """
    n, many = times.size, used.share.size
    found, excess = np.full((many, size), -1, np.int64), np.empty(many)
    # Almost enough rows are worth something too, or no exchange would seem to help.
    score = np.empty(size + 1)
    for rows in range(size + 1):
        score[rows] = rows // step + 1e-3 * min(rows, step) ** 2
    held, inside = np.empty(many, np.int64), np.empty(n, np.bool_)
    count = 0
    for first in range(many):
        held[:] = 0
        inside[:] = False
        if not _fill_set(used, times, score, held, inside, first, size):
            continue
        while _exchange_rows(used, times, score, held, inside):
            pass
        over = -float(size // step)
        for g in range(many):
            over += (held[g] // step) * used.share[g]
        if over > least:
            place = 0
            for row in range(n):
                if inside[row]:
                    found[count, place] = row
                    place += 1
            excess[count] = over
            count += 1
    return found[:count], excess[:count]


@inner_kernel
def _fill_set(
    used: UsedGroups,
    times: Ints,
    score: Floats,
    held: Ints,
    inside: NDArray[np.bool_],
    first: int,
    size: int,
) -> bool:
    """Take the rows of a group, and then those that raise the score most; whether that makes the size."""
    left = size
    for row in range(times.size):
        for q in range(used.start[row], used.start[row + 1]):
            if used.group[q] == first and times[row] <= left:
                left -= times[row]
                inside[row] = True
                _move_row(used, held, row, 1)
    while left > 0:
        best, taken = -1.0, -1
        for row in range(times.size):
            if not inside[row] and times[row] <= left:
                gain = _measure_gain(used, score, held, row)
                if gain > best:
                    best, taken = gain, row
        if taken < 0:
            return False
        left -= times[taken]
        inside[taken] = True
        _move_row(used, held, taken, 1)
    return True


@inner_kernel
def _exchange_rows(
    used: UsedGroups, times: Ints, score: Floats, held: Ints, inside: NDArray[np.bool_]
) -> bool:
    """Exchange the two rows that raise the score most; whether any do."""
    best, leaving, joining = 1e-9, -1, -1
    for old in range(times.size):
        if not inside[old]:
            continue
        _move_row(used, held, old, -1)
        lost = _measure_gain(used, score, held, old)
        for row in range(times.size):
            if not inside[row] and times[row] == times[old]:
                gain = _measure_gain(used, score, held, row) - lost
                if gain > best:
                    best, leaving, joining = gain, old, row
        _move_row(used, held, old, 1)
    if leaving < 0:
        return False
    inside[leaving], inside[joining] = False, True
    _move_row(used, held, leaving, -1)
    _move_row(used, held, joining, 1)
    return True


@inner_kernel
def _move_row(used: UsedGroups, held: Ints, row: int, by: int) -> None:
    """Let a row join the set, or leave it."""
    for q in range(used.start[row], used.start[row + 1]):
        held[used.group[q]] += by * used.often[q]


@inner_kernel
def _measure_gain(used: UsedGroups, score: Floats, held: Ints, row: int) -> float:
    """By how much a row that joins the set raises the score."""
    gain = 0.0
    for q in range(used.start[row], used.start[row + 1]):
        g = used.group[q]
        gain += used.share[g] * (score[held[g] + used.often[q]] - score[held[g]])
    return gain
