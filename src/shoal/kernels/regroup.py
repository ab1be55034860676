"""Groups of rows made tighter: rows change places, groups are given up or divided."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.classes import NOBODY, ZERO
from shoal.kernels.compiled import entry_kernel, inner_kernel, maker_kernel
from shoal.kernels.rules import Rules, add_row, clear_histogram, count_slots, is_satisfied
from shoal.kernels.signatures import Matrix

_NEAR = 8  # groups that a row may go to: those with the nearest centroids
_LITTLE = 1e-9  # a share of all squared distances that is not worth a change


class Groups(NamedTuple):
    """Groups of rows, and what is known of each."""

    of: NDArray[np.int64]
    """[rows] the group of each."""
    slot: NDArray[np.int64]
    """[rows] where it stands among the members of its group."""
    member: Matrix[np.int64]
    """[groups, most] the rows of each group."""
    members: NDArray[np.int64]
    """[groups] how many they are."""
    weight: NDArray[np.int64]
    """[groups]"""
    total: Matrix[np.float64]
    """[groups, axes] sums of the places of the rows."""
    centroid: Matrix[np.float64]
    """[groups, axes] their means."""


@inner_kernel
def _leave(groups: Groups, x: Matrix[np.float64], weight: NDArray[np.int64], row: int) -> None:
    """Take a row out of its group."""
    group, slot = groups.of[row], groups.slot[row]
    groups.members[group] -= 1
    last = groups.member[group, groups.members[group]]
    groups.member[group, slot] = last
    groups.slot[last] = slot
    groups.weight[group] -= weight[row]
    for j in range(x.shape[1]):
        groups.total[group, j] -= weight[row] * x[row, j]
        groups.centroid[group, j] = groups.total[group, j] / max(groups.weight[group], 1)


@inner_kernel
def _join(groups: Groups, x: Matrix[np.float64], weight: NDArray[np.int64], row: int, group: int) -> None:
    """Put a row, which is in no group, into one."""
    groups.of[row] = group
    groups.slot[row] = groups.members[group]
    groups.member[group, groups.members[group]] = row
    groups.members[group] += 1
    groups.weight[group] += weight[row]
    for j in range(x.shape[1]):
        groups.total[group, j] += weight[row] * x[row, j]
        groups.centroid[group, j] = groups.total[group, j] / groups.weight[group]


@inner_kernel
def _measure_pull(groups: Groups, group: int) -> float:
    """Squared length of the sum over the weight: the greater, the less is lost by releasing the mean."""
    if groups.weight[group] == 0:
        return 0.0
    sum_ = 0.0
    for j in range(groups.total.shape[1]):
        sum_ += groups.total[group, j] * groups.total[group, j]
    return float(sum_ / groups.weight[group])


@inner_kernel
def _measure_change(
    groups: Groups, x: Matrix[np.float64], weight: NDArray[np.int64], group: int, out: int, into: int
) -> float:
    """How the pull of a group changes if a row leaves and another one joins; either can be `NOBODY`."""
    after = groups.weight[group]
    if out >= 0:
        after -= weight[out]
    if into >= 0:
        after += weight[into]
    sum_ = 0.0
    for j in range(x.shape[1]):
        total = groups.total[group, j]
        if out >= 0:
            total -= weight[out] * x[out, j]
        if into >= 0:
            total += weight[into] * x[into, j]
        sum_ += total * total
    return (sum_ / after if after > 0 else 0.0) - _measure_pull(groups, group)


@inner_kernel
def _keeps_rules(
    groups: Groups,
    rules: Rules,
    ident: NDArray[np.int64],
    group: int,
    histogram: NDArray[np.int64],
) -> bool:
    """Whether a group has all that every class must have."""
    if groups.members[group] == 0:
        return True
    if groups.weight[group] < rules.size:
        return False
    if rules.values == 0:
        return True
    clear_histogram(rules, histogram, ZERO)
    for i in range(groups.members[group]):
        add_row(rules, ident[groups.member[group, i]], histogram, 0)
    return is_satisfied(rules, histogram, 0)


@inner_kernel
def _find_near_groups(
    groups: Groups,
    x: Matrix[np.float64],
    row: int,
    order: NDArray[np.int64],
    key: NDArray[np.float64],
    near: NDArray[np.int64],
    far: NDArray[np.float64],
) -> int:
    """Write the groups with the nearest centroids, other than the row's own; return how many there are.

    ``order`` has the groups along the first axis, and ``key`` their places on it when it was made: from the
    place of the row on both ways, until the first axis alone is too far.
    """
    found = 0
    right = np.searchsorted(key, x[row, 0])
    left = right - 1
    while left >= 0 or right < key.size:
        below = x[row, 0] - key[left] if left >= 0 else np.inf
        above = key[right] - x[row, 0] if right < key.size else np.inf
        bound = far[found - 1] if found == near.size else np.inf
        least = min(below, above)
        if least * least >= bound:
            break
        if below < above:
            group = order[left]
            left -= 1
        else:
            group = order[right]
            right += 1
        if group == groups.of[row] or groups.members[group] == 0:
            continue
        sum_ = 0.0
        for j in range(x.shape[1]):
            step = groups.centroid[group, j] - x[row, j]
            sum_ += step * step
        if sum_ >= bound:
            continue
        at = found if found < near.size else found - 1
        while at > 0 and far[at - 1] > sum_:
            near[at], far[at] = near[at - 1], far[at - 1]
            at -= 1
        near[at], far[at] = group, sum_
        if found < near.size:
            found += 1
    return found


@inner_kernel
def _move_row(
    groups: Groups,
    x: Matrix[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    row: int,
    near: NDArray[np.int64],
    found: int,
    little: float,
    histogram: NDArray[np.int64],
) -> float:
    """Make the best change of places of a row, if one gains something; return what was gained."""
    own = groups.of[row]
    gain = little
    into, other = NOBODY, NOBODY
    leaves = groups.weight[own] - weight[row] >= rules.size
    without = _measure_change(groups, x, weight, own, row, NOBODY)
    for i in range(found):
        group = near[i]
        if leaves and groups.members[group] < groups.member.shape[1]:
            change = without + _measure_change(groups, x, weight, group, NOBODY, row)
            if change > gain:
                gain, into, other = change, group, NOBODY
        for m in range(groups.members[group]):
            partner = groups.member[group, m]
            less = weight[row] - weight[partner]
            if groups.weight[own] - less < rules.size or groups.weight[group] + less < rules.size:
                continue
            change = _measure_change(groups, x, weight, own, row, partner)
            change += _measure_change(groups, x, weight, group, partner, row)
            if change > gain:
                gain, into, other = change, group, partner
    if into < 0:
        return 0.0
    _change_places(groups, x, weight, row, into, other)
    if _keeps_rules(groups, rules, ident, own, histogram) and _keeps_rules(
        groups, rules, ident, into, histogram
    ):
        return gain
    _change_places(groups, x, weight, row, own, other)
    return 0.0


@inner_kernel
def _change_places(
    groups: Groups, x: Matrix[np.float64], weight: NDArray[np.int64], row: int, group: int, other: int
) -> None:
    """Let a row go to a group, and another one, if there is one, to the group that it comes from."""
    own = groups.of[row]
    _leave(groups, x, weight, row)
    if other >= 0:
        _leave(groups, x, weight, other)
        _join(groups, x, weight, other, own)
    _join(groups, x, weight, row, group)


@inner_kernel
def _give_up_group(
    groups: Groups,
    x: Matrix[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    group: int,
    little: float,
    order: NDArray[np.int64],
    key: NDArray[np.float64],
    near: NDArray[np.int64],
    far: NDArray[np.float64],
    moved: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> float:
    """Let every row of a group join the nearest other one, if that gains something; return the gain."""
    count = groups.members[group]
    gain = 0.0
    done = 0
    for i in range(count):
        moved[i] = groups.member[group, i]
    for i in range(count):
        found = _find_near_groups(groups, x, moved[i], order, key, near, far)
        best, change = NOBODY, -np.inf
        for n in range(found):
            if groups.members[near[n]] < groups.member.shape[1]:
                more = _measure_change(groups, x, weight, near[n], NOBODY, moved[i])
                if more > change:
                    best, change = near[n], more
        if best < 0:
            gain = -np.inf
            break
        gain += change + _measure_change(groups, x, weight, group, moved[i], NOBODY)
        _change_places(groups, x, weight, moved[i], best, NOBODY)
        done += 1
    holds = gain > little
    for i in range(done):
        holds = holds and _keeps_rules(groups, rules, ident, groups.of[moved[i]], histogram)
    if holds:
        return gain
    for i in range(done):
        _change_places(groups, x, weight, moved[i], group, NOBODY)
    return 0.0


@inner_kernel
def _divide_group(
    groups: Groups,
    x: Matrix[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    group: int,
    empty: int,
    moved: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> float:
    """Let the row farthest from the centroid and those nearest to it be a group of their own."""
    before = _measure_pull(groups, group)
    done = 0
    while groups.weight[empty] < rules.size and groups.weight[group] > 0:
        best, most = NOBODY, -np.inf
        for m in range(groups.members[group]):
            row = groups.member[group, m]
            sum_ = 0.0
            for j in range(x.shape[1]):
                # At first how far from the rest; then how near to the first.
                step = x[row, j] - (groups.centroid[group, j] if done == 0 else x[moved[0], j])
                sum_ += step * step
            far = sum_ if done == 0 else -sum_
            if far > most:
                best, most = row, far
        moved[done] = best
        done += 1
        _change_places(groups, x, weight, best, empty, NOBODY)
    gain = _measure_pull(groups, group) + _measure_pull(groups, empty) - before
    if (
        groups.members[group] > 0
        and _keeps_rules(groups, rules, ident, group, histogram)
        and _keeps_rules(groups, rules, ident, empty, histogram)
        and gain > 0.0
    ):
        return gain
    for i in range(done):
        _change_places(groups, x, weight, moved[i], group, NOBODY)
    return 0.0


@maker_kernel
def _collect_groups(
    x: Matrix[np.float64], weight: NDArray[np.int64], of: NDArray[np.int64], most: int
) -> Groups:
    """Groups with room for changes, and an empty one at the end."""
    number = of.max() + 2
    groups = Groups(
        np.full(of.size, -1),
        np.zeros(of.size, np.int64),
        np.empty((number, most), np.int64),
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        np.zeros((number, x.shape[1])),
        np.zeros((number, x.shape[1])),
    )
    for row in range(of.size):
        _join(groups, x, weight, row, of[row])
    return groups


@entry_kernel
def improve_groups(
    x: Matrix[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    of: NDArray[np.int64],
    sweeps: int,
    halt: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Groups with smaller squared distances from their centroids, all of which keep the rules.

    Parameters
    ----------
    of : int64[n]
        The group of every row.
    sweeps : int
        How often all rows are looked at, at most.
    """
    most = max(np.bincount(of).max(), 2 * rules.size) + 1
    groups = _collect_groups(x, weight, of, most)
    near, far = np.empty(_NEAR, np.int64), np.empty(_NEAR)
    moved = np.empty(most, np.int64)
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    whole = 0.0
    for row in range(of.size):
        for j in range(x.shape[1]):
            whole += weight[row] * x[row, j] * x[row, j]
    little = _LITTLE * whole
    for _ in range(sweeps):
        gain = 0.0
        # Not kept up to date within a sweep: a group that has moved is found a little early or late.
        order = np.argsort(groups.centroid[:, 0], kind="mergesort")
        key = groups.centroid[:, 0][order]
        for row in range(of.size):
            if halt[0]:
                return groups.of
            found = _find_near_groups(groups, x, row, order, key, near, far)
            gain += _move_row(groups, x, weight, rules, ident, row, near, found, little, histogram)
        for group in range(groups.members.size):
            if groups.members[group] > 0 and groups.weight[group] < 2 * rules.size:
                gain += _give_up_group(
                    groups, x, weight, rules, ident, group, little, order, key, near, far, moved, histogram
                )
        gain += _divide_groups(groups, x, weight, rules, ident, moved, histogram)
        if gain <= 1e4 * little:
            break
    return groups.of


@inner_kernel
def _divide_groups(
    groups: Groups,
    x: Matrix[np.float64],
    weight: NDArray[np.int64],
    rules: Rules,
    ident: NDArray[np.int64],
    moved: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> float:
    """Divide groups that are large enough for two, as long as there are empty ones to take the rows."""
    gain = 0.0
    empty = 0
    for group in range(groups.members.size):
        if groups.weight[group] >= 2 * rules.size:
            while empty < groups.members.size and groups.members[empty] > 0:
                empty += 1
            if empty == groups.members.size:
                break
            gain += _divide_group(groups, x, weight, rules, ident, group, empty, moved, histogram)
    return gain
