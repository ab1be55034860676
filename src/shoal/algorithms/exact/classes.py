"""k-anonymity by classes: every released row equals enough others.

What a group of rows costs is the cheapest cells around it, and that never falls when rows are added. So a
group that can be divided into two allowed ones need not be considered, whatever the signs of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.amounts import carry_limbs, join_limbs, split_limbs
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.options import PRESENT, ColumnOptions, Floats, Ints, TableSpace
from shoal.kernels.groups import (
    GroupCosts,
    count_multiplicities,
    find_best_divisions,
    group_costs,
    pair_costs,
)
from shoal.support.progress import SearchFigures

Group = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
Allowed = Callable[[Sequence[Group]], NDArray[np.bool_]]
"""Whether each of some groups of rows satisfies the privacy goal."""

FEW = 16
"""Rows up to which a dynamic programme over all sets of rows is solved."""
MANY = 4000
"""Rows beyond which pairs of rows are too many to look at."""
_COUNTABLE = float(1 << 62)  # numbers of tables that fit 64 bits
_LISTED = 20_000  # optimal tables with sets that are counted one by one


@dataclass(frozen=True, slots=True, eq=False)
class RowDivision:
    """A division of the rows into classes, and what is proved of it."""

    groups: tuple[Group, ...]
    cost: float
    bound: float
    count: float | None = None
    """How many tables there are with that cost; None if they were not counted."""

    @property
    def is_proved(self) -> bool:
        """Whether no division costs less: see `TableSpace.settle_bound`."""
        return self.bound >= self.cost


@dataclass(frozen=True, eq=False)
class PartitionProblem:
    """The rows of a table, what groups of them cost and which are allowed."""

    space: TableSpace
    allowed: Allowed
    least: int
    """No group of fewer rows is allowed."""
    by_size: bool
    """Whether every group of that many rows is."""
    countable: bool
    """Whether two allowed groups are allowed as one."""
    kind: Ints
    """[rows] which rows are alike in everything that matters, numbered from 0."""

    @cached_property
    def _kernel_costs(self) -> tuple[GroupCosts, float]:
        return self.space.build_costs()

    def compute_costs(self, groups: Sequence[Group]) -> Floats:
        """What each group costs, all its rows together."""
        size = np.array([len(group) for group in groups])
        start = np.concatenate(([0], np.cumsum(size)))
        member = np.array([row for group in groups for row in group], np.int64)
        costs, always = self._kernel_costs
        return np.asarray((group_costs(costs, self.space.codes, start, member) + always) * size)

    def build_division(self, groups: Sequence[Group]) -> RowDivision:
        """A division of which nothing is proved yet."""
        cost = float(self.compute_costs(groups).sum())
        return RowDivision(tuple(groups), cost, self.space.settle_bound(self.row_bound(), cost))

    def row_bound(self) -> float:
        """A lower bound row by row: a row's group has ``least`` rows, and costs as much as any pair in it."""
        costs, always = self._kernel_costs
        if self.space.rows > MANY:
            return float(self.compute_costs([(row,) for row in range(self.space.rows)]).sum())
        pair = pair_costs(costs, self.space.codes)
        # With itself, a row has `least` partners: one of them is at least as dear as this.
        return float(np.sort(pair, axis=1)[:, self.least - 1].sum()) + always * len(pair)

    def list_boxes(self, group: Group) -> Iterator[Box]:
        """All cells that a group may be released with at its least cost."""
        best = [column.find_cheapest_cells(column.code[list(group)])[1] for column in self.space.columns]
        return product(*best)

    def describe_group(self, group: Group, box: Box) -> tuple[object, ...]:
        """What a reader sees of a group: ends of intervals, or the values present."""
        cells = zip(self.space.columns, box, strict=True)
        return tuple(
            frozenset(column.code[list(group)].tolist()) if ends[0] == PRESENT else ends
            for column, ends in cells
        )


def solve_by_subsets(
    rows: PartitionProblem, limit: int, budget: Budget
) -> tuple[RowDivision, list[list[tuple[Group, Box]]]]:
    """The optimum of a small table by dynamic programming over its sets of rows, with all optimal tables.

    Returns
    -------
    the division with the number of optimal tables, and ``limit`` of these tables; there may be none, and no
    division but a bound, where two allowed groups need not be allowed as one
    """
    n = rows.space.rows
    member = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    value, ways = _subset_amounts(rows.space, member)
    budget.report_progress("dividing sets of rows", SearchFigures())
    groups = [tuple(np.flatnonzero(row).tolist()) for row in member[1:]]
    allowed = np.concatenate(([False], rows.allowed(groups)))
    times = count_multiplicities(allowed) * ways
    best, known, number, most = find_best_divisions(value, allowed, times)
    budget.count_states(len(member), int(np.count_nonzero(~allowed[1:])))
    if not known[-1]:
        return RowDivision((), np.inf, -np.inf), []
    found = _list_optimal_tables(rows, value, allowed, best, known)
    tables = list(islice(found, limit))
    count: float | None = float(number[-1]) if most[-1] < _COUNTABLE else None
    if any(column.sets for column in rows.space.columns):
        # A part of a class may release a smaller set, so multiplicities do not count: list all or none.
        count = float(len(tables) + sum(1 for _ in islice(found, _LISTED)))
        count = None if next(found, None) else count
    division = tuple(group for group, _ in tables[0]) if tables else ()
    least = rows.space.to_cost(join_limbs(best[-1:])[0])
    return RowDivision(division, least, least, count if rows.countable else None), tables


def _subset_amounts(space: TableSpace, member: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The exact amount of every set of rows as a group, and in how many ways its cells can be written."""
    total, ways = np.zeros((len(member), space.limbs), np.int64), np.ones(len(member), np.int64)
    for column, amount in zip(space.columns, space.amounts, strict=True):
        of, best = _cheapest_cells_of_subsets(column, member)
        steps = split_limbs([least * amount for least, _ in best], space.limbs)
        total = carry_limbs(total + steps[of])
        ways *= np.array([len(cells) for _, cells in best], np.int64)[of]
    # Every row of a group has its cells.
    return carry_limbs(total * member.sum(axis=1)[:, None]), ways


def _cheapest_cells_of_subsets(
    column: ColumnOptions, member: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], list[tuple[int, list[tuple[int, int]]]]]:
    """Which of the different cells each set of rows has, and the cells: their steps, and all with these."""
    codes, rank = np.unique(column.code, return_inverse=True)
    nothing: tuple[int, list[tuple[int, int]]] = (0, [(0, 0)])  # the set of no rows
    if column.sets:
        present = np.zeros((len(member), codes.size), np.bool_)
        for row, at in enumerate(rank):
            present[:, at] |= member[:, row]
        keys, of = np.unique(np.packbits(present, axis=1), axis=0, return_inverse=True)
        held = np.unpackbits(keys, axis=1, count=codes.size).astype(np.bool_)
        return of.ravel(), [
            column.find_cheapest_cells(codes[each]) if each.any() else nothing for each in held
        ]
    first = np.where(member, rank, codes.size).min(axis=1)
    last = np.where(member, rank, -1).max(axis=1)
    pairs, of = np.unique(np.stack([first, last], axis=1), axis=0, return_inverse=True)
    return of.ravel(), [
        column.find_cheapest_cells(codes[[a, b]]) if a <= b else nothing for a, b in pairs.tolist()
    ]


def _list_optimal_tables(
    rows: PartitionProblem, value: Ints, allowed: NDArray[np.bool_], best: Ints, known: NDArray[np.bool_]
) -> Iterator[list[tuple[Group, Box]]]:
    """All optimal tables: divisions whose classes all have distinct cells."""
    of_group, least = join_limbs(value), join_limbs(best)

    def extend_table(whole: int, table: list[tuple[Group, Box]]) -> Iterator[list[tuple[Group, Box]]]:
        if whole == 0:
            yield table
            return
        # The lowest row is in one class only: starting with it lists each division once.
        low = whole & -whole
        rest = part = whole ^ low
        while True:
            mask, others = low | part, rest ^ part
            fits = allowed[mask] and known[others]
            if fits and of_group[mask] + least[others] == least[whole]:
                group = tuple(i for i in range(rows.space.rows) if mask >> i & 1)
                for box in rows.list_boxes(group):
                    seen = rows.describe_group(group, box)
                    if all(rows.describe_group(*used) != seen for used in table):
                        yield from extend_table(others, [*table, (group, box)])
            if part == 0:
                return
            # The next smaller subset of `rest`, read as binary numbers.
            part = (part - 1) & rest

    yield from extend_table(len(least) - 1, [])
