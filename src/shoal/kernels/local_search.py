"""Divisions of rows into classes: local search by moves, swaps and splits, and crossover of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel, maker_kernel
from shoal.kernels.linked_classes import (
    LONG,
    TINY,
    LinkedClasses,
    LocalSearchInput,
    LocalSearchWorkspace,
    class_cost,
    find_free_class,
    is_class_allowed,
    link_row,
    make_search_workspace,
    queue_class,
    unlink_row,
)
from shoal.kernels.random import draw_below, draw_uniform, shuffle_order
from shoal.kernels.signatures import Matrix


@inner_kernel
def _exchange_rows(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    row: int,
    to: int,
    back: int,
    saved: float,
    new: float,
) -> None:
    """Carry out a move, or with ``back`` a swap, after which the two classes cost ``saved`` and ``new``."""
    c = division.of[row]
    unlink_row(division, row)
    if back >= 0:
        unlink_row(division, back)
        link_row(division, back, c)
    link_row(division, row, to)
    division.cost[c] = saved
    division.cost[to] = new
    # What the rows of both classes can gain has changed with the classes.
    queue_class(division, workspace, c)
    queue_class(division, workspace, to)


@inner_kernel
def _improve_row(
    given: LocalSearchInput, division: LinkedClasses, workspace: LocalSearchWorkspace, row: int
) -> bool:
    """Move a row to the class of a near one, or swap it with a row there, if that costs less."""
    c = division.of[row]
    without = class_cost(given, division, workspace, c, row, -1)
    movable = is_class_allowed(given, division, workspace, c, row, -1)
    pair = given.pair
    new = 0.0
    best = -TINY
    best_to, best_back = -1, -1
    best_saved, best_new = 0.0, 0.0
    last = -1
    for step in range(given.near.shape[1]):
        to = division.of[given.near[row, step]]
        # Near rows often share a class: do not try it twice in a row.
        if to in (c, last):
            continue
        last = to
        now = division.cost[c] + division.cost[to]
        if movable:
            new = class_cost(given, division, workspace, to, -1, row)
            if without + new - now < best and is_class_allowed(given, division, workspace, to, -1, row):
                best, best_to, best_back = without + new - now, to, -1
                best_saved, best_new = without, new
        if division.size[to] > LONG or division.size[c] > LONG:
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
            # Without its dearest partner the row still has the second dearest.
            least = (second if other == dear else dearest) * division.size[to]
            if least + without - now < best:
                new = class_cost(given, division, workspace, to, other, row)
            if least + without - now < best and new + without - now < best:
                saved = class_cost(given, division, workspace, c, row, other)
                if (
                    saved + new - now < best
                    and is_class_allowed(given, division, workspace, to, other, row)
                    and is_class_allowed(given, division, workspace, c, row, other)
                ):
                    best, best_to, best_back = saved + new - now, to, other
                    best_saved, best_new = saved, new
            other = division.after[other]
    if best_to < 0:
        return False
    _exchange_rows(given, division, workspace, row, best_to, best_back, best_saved, best_new)
    return True


@inner_kernel
def _split_class(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    c: int,
    state: NDArray[np.uint64],
) -> None:
    """Split a large class between two rows that are far apart, where both parts are allowed and it saves."""
    size = division.size[c]
    if size < 2 * given.rules.size or size > LONG:
        return
    fresh = find_free_class(division)
    if fresh < 0:
        return
    count = 0
    row = division.head[c]
    while row >= 0:
        workspace.members[count] = row
        count += 1
        row = division.after[row]
    a = workspace.members[draw_below(state, count)]
    b = a
    far = -np.inf
    for i in range(count):
        apart = given.pair[a, workspace.members[i]]
        if apart > far and workspace.members[i] != a:
            far = apart
            b = workspace.members[i]
    # Rows nearer to b than to a come first, and move over first.
    for i in range(count):
        row = workspace.members[i]
        workspace.key[i] = given.pair[b, row] - given.pair[a, row]
    for i in range(1, count):  # by insertion: there are few
        key, row = workspace.key[i], workspace.members[i]
        at = i
        while at > 0 and workspace.key[at - 1] > key:
            workspace.key[at] = workspace.key[at - 1]
            workspace.members[at] = workspace.members[at - 1]
            at -= 1
        workspace.key[at] = key
        workspace.members[at] = row
    old = division.cost[c]
    best, best_at = old - TINY, -1
    for i in range(count):
        unlink_row(division, workspace.members[i])
        link_row(division, workspace.members[i], fresh)
        # Every place between the two is tried at which both parts are large enough.
        if i + 1 < given.rules.size or count - i - 1 < given.rules.size:
            continue
        total = class_cost(given, division, workspace, c, -1, -1) + class_cost(
            given, division, workspace, fresh, -1, -1
        )
        if (
            total < best
            and is_class_allowed(given, division, workspace, c, -1, -1)
            and is_class_allowed(given, division, workspace, fresh, -1, -1)
        ):
            best, best_at = total, i
    # Rows behind the best place return; without one (-1) all of them do.
    for i in range(best_at + 1, count):
        unlink_row(division, workspace.members[i])
        link_row(division, workspace.members[i], c)
    division.cost[c] = class_cost(given, division, workspace, c, -1, -1)
    division.cost[fresh] = class_cost(given, division, workspace, fresh, -1, -1)


@inner_kernel
def _insert_row(
    given: LocalSearchInput, division: LinkedClasses, workspace: LocalSearchWorkspace, row: int
) -> bool:
    """Put a row without a class where it costs least; False if it is allowed nowhere."""
    best, best_to, best_new = np.inf, -1, 0.0
    for step in range(given.near.shape[1]):
        to = division.of[given.near[row, step]]
        if to < 0 or to == best_to:
            continue
        new = class_cost(given, division, workspace, to, -1, row)
        if new - division.cost[to] < best and is_class_allowed(given, division, workspace, to, -1, row):
            best, best_to, best_new = new - division.cost[to], to, new
    if best_to < 0:  # nothing near has a class: any will do
        for to in range(division.head.size):
            if division.head[to] >= 0 and is_class_allowed(given, division, workspace, to, -1, row):
                best_to = to
                best_new = class_cost(given, division, workspace, to, -1, row)
                break
    if best_to < 0:
        return False
    link_row(division, row, best_to)
    division.cost[best_to] = best_new
    return True


@inner_kernel
def _dissolve_class(division: LinkedClasses, workspace: LocalSearchWorkspace, c: int, loose: int) -> int:
    """Take all rows out of a class; returns how many rows are loose now."""
    while division.head[c] >= 0:
        row = division.head[c]
        unlink_row(division, row)
        workspace.loose[loose] = row
        loose += 1
    division.cost[c] = 0.0
    return loose


@inner_kernel
def _form_classes(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    loose: int,
    state: NDArray[np.uint64],
) -> int:
    """Make new classes of loose rows that are cheap together; returns how many rows are left."""
    while loose >= given.rules.size:
        fresh = find_free_class(division)
        if fresh < 0:
            break
        at = draw_below(state, loose)
        taken = 0
        while taken < loose:
            row = workspace.loose[at]
            # Rows that are taken move to the end, where `loose` stops counting them.
            workspace.loose[at] = workspace.loose[loose - 1 - taken]
            workspace.loose[loose - 1 - taken] = row
            link_row(division, row, fresh)
            taken += 1
            if taken >= given.rules.size and is_class_allowed(given, division, workspace, fresh, -1, -1):
                break
            best = np.inf
            for i in range(loose - taken):
                cost = class_cost(given, division, workspace, fresh, -1, workspace.loose[i])
                if cost < best:
                    best = cost
                    at = i
        # All loose rows together break the rules: they stay loose.
        if not is_class_allowed(given, division, workspace, fresh, -1, -1):
            while division.head[fresh] >= 0:
                unlink_row(division, division.head[fresh])
            break
        loose -= taken
        division.cost[fresh] = class_cost(given, division, workspace, fresh, -1, -1)
        queue_class(division, workspace, fresh)
    return loose


@inner_kernel
def _place_loose_rows(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    loose: int,
    state: NDArray[np.uint64],
) -> bool:
    """Find classes for all loose rows; False if there is none for some."""
    # New classes or fuller ones: which is better differs, so chance decides.
    if draw_uniform(state) < 0.5:
        loose = _form_classes(given, division, workspace, loose, state)
    for i in range(loose):
        row = workspace.loose[i]
        if not _insert_row(given, division, workspace, row):
            return False
        queue_class(division, workspace, division.of[row])
    return True


@inner_kernel
def _improve_queued_rows(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    visits: int,
    state: NDArray[np.uint64],
) -> None:
    """Improve the rows in the queue, and those whose classes change by that."""
    while workspace.ends[1] > 0:
        row = workspace.queue[workspace.ends[0]]
        workspace.ends[0] = (workspace.ends[0] + 1) % workspace.queue.size
        workspace.ends[1] -= 1
        workspace.queued[row] = False
        # Without visits left the queue is only emptied, so that no row stays marked.
        if visits > 0:
            visits -= 1
            if division.size[division.of[row]] >= 2 * given.rules.size:
                _split_class(given, division, workspace, division.of[row], state)
            _improve_row(given, division, workspace, row)


@maker_kernel
def _read_division(
    given: LocalSearchInput, of: NDArray[np.int64], capacity: int, workspace: LocalSearchWorkspace
) -> LinkedClasses:
    n = of.size
    division = LinkedClasses(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.full(capacity, -1, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
    )
    for row in range(n):
        link_row(division, row, of[row])
    for c in range(capacity):
        if division.head[c] >= 0:
            division.cost[c] = class_cost(given, division, workspace, c, -1, -1)
    return division


@maker_kernel
def _write_division(division: LinkedClasses, of: NDArray[np.int64]) -> float:
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


@inner_kernel
def _queue_all_rows(workspace: LocalSearchWorkspace, state: NDArray[np.uint64]) -> None:
    """Put every row into the queue, in random order."""
    for row in range(workspace.queue.size):
        workspace.queue[row] = row
        workspace.queued[row] = True
    shuffle_order(state, workspace.queue, workspace.queue.size)
    workspace.ends[0] = 0
    workspace.ends[1] = workspace.queue.size


@inner_kernel
def _inject_classes(
    division: LinkedClasses,
    other: LinkedClasses,
    workspace: LocalSearchWorkspace,
    classes: int,
    state: NDArray[np.uint64],
) -> None:
    """Take over classes of another division where they cost less than their rows do now."""
    first = draw_below(state, other.head.size)
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
            # Each row bears an equal part of what its present class costs.
            spent += division.cost[now] / division.size[now]
            same = same and now == division.of[other.head[c]]
            row = other.after[row]
        fresh = find_free_class(division)
        if same or fresh < 0 or other.cost[c] >= spent or draw_uniform(state) < 0.5:
            continue
        row = other.head[c]
        while row >= 0:
            now = division.of[row]
            # An estimate, until the crossover computes the cost of what is left.
            division.cost[now] -= division.cost[now] / division.size[now]
            unlink_row(division, row)
            link_row(division, row, fresh)
            row = other.after[row]
        division.cost[fresh] = other.cost[c]
        taken += 1


@inner_kernel
def _make_child(
    given: LocalSearchInput,
    division: LinkedClasses,
    other: LinkedClasses,
    workspace: LocalSearchWorkspace,
    mutation: float,
    visits: int,
    state: NDArray[np.uint64],
) -> bool:
    """Make a child in place: take classes of the other parent, dissolve some, improve the result."""
    n = division.of.size
    # About a tenth of the classes at most, so that the child stays like its first parent.
    _inject_classes(division, other, workspace, 1 + n // (10 * given.rules.size), state)
    loose = 0
    for c in range(division.head.size):
        if division.head[c] < 0:
            continue
        cost = class_cost(given, division, workspace, c, -1, -1)
        # The class lost rows to others: its rows are worth another look.
        if abs(cost - division.cost[c]) > TINY:
            division.cost[c] = cost
            queue_class(division, workspace, c)
        if not is_class_allowed(given, division, workspace, c, -1, -1):
            loose = _dissolve_class(division, workspace, c, loose)
    # Mutation: dissolve classes along a random walk from row to near row.
    row = draw_below(state, n)
    for _ in range(1 + draw_below(state, 1 + int(10 * mutation))):
        if division.of[row] >= 0 and division.size[division.of[row]] <= LONG:
            loose = _dissolve_class(division, workspace, division.of[row], loose)
        if given.near.shape[1] > 0:  # a row that is the only one has no neighbours
            row = given.near[row, draw_below(state, given.near.shape[1])]
    if not _place_loose_rows(given, division, workspace, loose, state):
        return False
    _improve_queued_rows(given, division, workspace, visits, state)
    return True


@entry_kernel
def make_children(
    given: LocalSearchInput,
    parents: Matrix[np.int64],
    children: Matrix[np.int64],
    costs: NDArray[np.float64],
    mutation: float,
    visits: int,
    state: NDArray[np.uint64],
) -> None:
    """Fill ``children`` by crossover of ``parents``, which are in order of cost, and fill ``costs``.

    With a negative ``mutation`` the children are the parents themselves, one by one, improved.
    """
    size, n = parents.shape
    # Twice as many as can be left in the end: crossover adds classes before it dissolves any.
    capacity = 2 * n // given.rules.size + 2
    for each in range(children.shape[0]):
        workspace = make_search_workspace(given)
        if mutation < 0.0:
            division = _read_division(given, parents[each % size], capacity, workspace)
            _queue_all_rows(workspace, state)
            _improve_queued_rows(given, division, workspace, visits, state)
            fine = True
        else:
            a = min(draw_below(state, size), draw_below(state, size))  # the better of two
            b = min(draw_below(state, size), draw_below(state, size))
            division = _read_division(given, parents[a], capacity, workspace)
            other = _read_division(given, parents[b], capacity, workspace)
            fine = _make_child(given, division, other, workspace, mutation, visits, state)
        costs[each] = _write_division(division, children[each]) if fine else np.inf
