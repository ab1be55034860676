"""Classes as linked lists of rows, which local search changes row by row, and what a class costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import START, measure_interval
from shoal.kernels.classes import ZERO
from shoal.kernels.compiled import inline_kernel, inner_kernel, maker_kernel
from shoal.kernels.groups import GroupCosts
from shoal.kernels.rules import Rules, add_row, clear_histogram, count_slots, is_satisfied
from shoal.kernels.signatures import Matrix

LONG = 64  # larger classes are neither split nor searched for partners to swap: it would take quadratic time
TINY = 1e-12  # smaller differences in cost are rounding


LO, HI, DISTINCT, TICKET = 0, 1, 2, 3
"""Rows of `LocalSearchWorkspace.cells`."""


class LocalSearchInput(NamedTuple):
    """The input of the search: rows, what groups of them cost, and which groups are allowed."""

    costs: GroupCosts
    codes: Matrix[np.int64]
    """[n, d]"""
    rules: Rules
    near: Matrix[np.int32]
    """[n, m] rows that are cheap beside each row."""
    pair: Matrix[np.float32]
    """[n, n] what each of two rows costs if they are a class."""


class LinkedClasses(NamedTuple):
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


class LocalSearchWorkspace(NamedTuple):
    """Memory to work in."""

    cells: Matrix[np.int64]
    """[4, d] LO, HI: ends of the cells so far; DISTINCT: values so far; TICKET: number of the count."""
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


@maker_kernel
def make_search_workspace(given: LocalSearchInput) -> LocalSearchWorkspace:
    """Memory for one search."""
    n, d = given.codes.shape
    return LocalSearchWorkspace(
        np.zeros((4, d), np.int64),
        np.zeros(given.costs.position.size, np.int64),
        np.zeros((1, count_slots(given.rules)), np.int64),
        np.empty(n, np.int64),
        np.zeros(2, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
    )


@inner_kernel
def link_row(division: LinkedClasses, row: int, to: int) -> None:
    """Put a row at the head of the list of a class."""
    first = division.head[to]
    division.of[row] = to
    division.after[row] = first
    division.before[row] = -1
    if first >= 0:
        division.before[first] = row
    division.head[to] = row
    division.size[to] += 1


@inner_kernel
def unlink_row(division: LinkedClasses, row: int) -> None:
    """Take a row out of the list of its class."""
    c = division.of[row]
    if division.before[row] >= 0:
        division.after[division.before[row]] = division.after[row]
    else:
        division.head[c] = division.after[row]
    if division.after[row] >= 0:
        division.before[division.after[row]] = division.before[row]
    division.size[c] -= 1
    division.of[row] = -1


@inline_kernel
def _widen_cells(
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
                cells[DISTINCT, j] = 0
            if seen[shape[START, j] + code] != cells[TICKET, 0]:
                seen[shape[START, j] + code] = cells[TICKET, 0]
                cells[DISTINCT, j] += 1
        elif not started:
            cells[LO, j] = code
            cells[HI, j] = code
        else:
            cells[LO, j] = min(cells[LO, j], code)
            cells[HI, j] = max(cells[HI, j], code)


@inner_kernel
def _cost_of_members(
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
    # A new number for each count: what earlier ones left in `seen` need not be cleared.
    cells[TICKET, 0] += 1
    size = 0
    row = first
    while row >= 0:
        if row != without:
            _widen_cells(unit, shape, codes, cells, seen, row, size > 0)
            size += 1
        row = after[row]
    if extra >= 0:
        _widen_cells(unit, shape, codes, cells, seen, extra, size > 0)
        size += 1
    if size == 0:
        return 0.0
    total = 0.0
    for j in range(codes.shape[1]):
        if unit[j] > 0.0:
            total += weight[j] * min(1.0, (cells[DISTINCT, j] - 1) * unit[j])
        else:
            total += weight[j] * measure_interval(
                shape, position, node, node_cost, j, cells[LO, j], cells[HI, j]
            )
    # Every row of the class bears the cost of its cells.
    return total * size


@inner_kernel
def class_cost(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    c: int,
    without: int,
    extra: int,
) -> float:
    """What class ``c`` costs without one of its rows (or -1) and with another (or -1)."""
    costs = given.costs
    return _cost_of_members(
        costs.weight,
        costs.unit,
        costs.shape,
        costs.position,
        costs.node,
        costs.node_cost,
        given.codes,
        workspace.cells,
        workspace.seen,
        division.after,
        division.head[c],
        without,
        extra,
    )


@inner_kernel
def is_class_allowed(
    given: LocalSearchInput,
    division: LinkedClasses,
    workspace: LocalSearchWorkspace,
    c: int,
    without: int,
    extra: int,
) -> bool:
    """Whether class ``c`` would be allowed without one of its rows (or -1) and with another (or -1)."""
    rules = given.rules
    size = division.size[c] - (1 if without >= 0 else 0) + (1 if extra >= 0 else 0)
    if size < rules.size:
        return False
    if rules.values == 0:
        return True
    clear_histogram(rules, workspace.histogram, ZERO)
    row = division.head[c]
    while row >= 0:
        if row != without:
            add_row(rules, row, workspace.histogram, 0)
        row = division.after[row]
    if extra >= 0:
        add_row(rules, extra, workspace.histogram, 0)
    return is_satisfied(rules, workspace.histogram, 0)


@inner_kernel
def queue_class(division: LinkedClasses, workspace: LocalSearchWorkspace, c: int) -> None:
    """Put the rows of a class into the queue."""
    row = division.head[c]
    while row >= 0:
        # Each row is queued once at most, so a ring of n places never overflows.
        if not workspace.queued[row]:
            workspace.queued[row] = True
            workspace.queue[(workspace.ends[0] + workspace.ends[1]) % workspace.queue.size] = row
            workspace.ends[1] += 1
        row = division.after[row]


@inner_kernel
def find_free_class(division: LinkedClasses) -> int:
    """A class without rows, or -1."""
    for c in range(division.head.size):
        if division.head[c] < 0:
            return c
    return -1
