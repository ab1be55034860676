"""k-anonymity by classes: every released row equals enough others.

What a group of rows costs is the cheapest cells around it, and that never falls when rows are added. So a
group that can be divided into two allowed ones need not be considered, whatever the signs of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.amounts import carry_limbs, join_limbs, split_limbs
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.options import PRESENT, TIE, ColumnOptions, Floats, Ints, TableSpace
from shoal.algorithms.exact.solver import Answer, Programme, relax_programme, solve_programme
from shoal.kernels.groups import (
    GroupCosts,
    count_multiplicities,
    find_best_divisions,
    find_worthwhile_groups,
    group_costs,
    pair_costs,
)
from shoal.support.arithmetic import weighted_sum
from shoal.support.progress import SearchFigures
from shoal.table.formats import import_optional

Group = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
Allowed = Callable[[Sequence[Group]], NDArray[np.bool_]]
"""Whether each of some groups of rows satisfies the privacy goal."""

FEW = 16
"""Rows up to which a dynamic programme over all sets of rows is solved."""
MANY = 4000
"""Rows beyond which pairs of rows are too many to look at."""
_SLACK = 1e-6  # the solver's own tolerance, for what it is given beyond need
_NOTHING = -1e-11  # reduced costs above this are 0 to a float
_COUNTABLE = float(1 << 62)  # numbers of tables that fit 64 bits
_LISTED = 20_000  # optimal tables with sets that are counted one by one
_COLUMNS = 200_000  # groups that are given to the solver at most
_PARTS = 30_000_000  # parts of groups that one search for worthwhile groups looks at; a few seconds


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


def solve_by_columns(rows: PartitionProblem, start: RowDivision, budget: Budget) -> RowDivision:
    """The optimum of a larger table by column generation.

    Groups are the columns of a set-partitioning programme. Its relaxation is solved over a few of them;
    `worthwhile` searches all others for those that would lower it, until there are none: the value is then a
    lower bound. An optimum can only have groups whose reduced cost is within the gap, and those are all given
    to the solver.
    """
    master = _MasterProblem(rows, start)
    bound = master.generate_columns(start.cost, budget.allot_share(0.5))
    found = master.best_of_known(start, bound, budget)
    if found.is_proved or budget.is_over or not rows.by_size:
        return found  # with other models an optimum may need larger groups than are searched
    return master.solve_within_gap(found, budget)


class _MasterProblem:
    """Set partitioning over the groups known so far; rows that are alike are one row taken several times."""

    def __init__(self, rows: PartitionProblem, start: RowDivision) -> None:
        self.rows = rows
        self.example, self.times = np.unique(rows.kind, return_index=True, return_counts=True)[1:]
        self.codes = rows.space.codes[self.example]
        self.costs, self.always = rows.space.build_costs()
        self.pair = pair_costs(self.costs, self.codes)
        # A larger group can be divided into two allowed ones, which cost no more.
        self.most = 2 * rows.least - 1
        self.known: dict[Group, float] = {}
        self.bound = start.bound
        self.price = np.zeros(self.times.size)
        self.add_groups(self._to_kinds(group) for group in start.groups)
        self.add_groups(_shorten_group(group, rows.least) for group in [*self.known])
        self.add_groups(self._list_nearest_groups())

    def _to_kinds(self, group: Group) -> Group:
        return tuple(sorted(rows_kind for rows_kind in self.rows.kind[list(group)].tolist()))

    def _list_nearest_groups(self) -> Iterator[Group]:
        """Every row with those that are cheapest beside it."""
        for row in range(self.times.size):
            order = np.argsort(self.pair[row], kind="stable")
            group = np.repeat(order, np.minimum(self.times[order], self.rows.least))
            others = group[group != row]
            yield tuple(sorted([row, *others[: self.rows.least - 1].tolist()]))

    def add_groups(self, groups: Iterator[Group] | Sequence[Group]) -> int:
        """Take up groups of kinds; returns how many were new."""
        new = [group for group in dict.fromkeys(groups) if group and group not in self.known]
        if new:
            size = np.array([len(group) for group in new])
            start = np.concatenate(([0], np.cumsum(size)))
            member = np.array([kind for group in new for kind in group], np.int64)
            cost = (group_costs(self.costs, self.codes, start, member) + self.always) * size
            self.known.update(zip(new, cost.tolist(), strict=True))
        return len(new)

    def build_programme(self, groups: Sequence[Group]) -> Programme:
        sparse = import_optional("scipy.sparse", "shoal[scipy]")

        kind = [kind for group in groups for kind in group]
        column = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        shape = (self.times.size, len(groups))
        rows = sparse.csr_array(
            sparse.coo_array((np.ones(len(kind)), (kind, column)), shape=shape)
        )  # equal entries add up
        most = np.array([min(self.times[kind] // group.count(kind) for kind in group) for group in groups])
        cost = np.array([self.known[group] for group in groups])
        times = self.times.astype(np.float64)
        return Programme(cost, rows, times, times, most.astype(np.float64), np.ones(cost.size, np.bool_))

    def price_groups(
        self, below: float, records: bool, capacity: int, budget: Budget
    ) -> tuple[list[Group], float, bool]:
        """Groups whose reduced cost is below ``below``; the least; and whether all were searched."""
        order = np.argsort(-self.price, kind="stable")
        found, least, nodes, cut = find_worthwhile_groups(
            self.costs,
            self.codes[order],
            self.times[order],
            self.pair[np.ix_(order, order)],
            self.price[order] - self.always,
            (self.rows.least, self.most),
            below,
            records,
            capacity,
            min(_PARTS, budget.nodes_left),
        )
        budget.count_states(abs(nodes), cut)
        groups = [tuple(sorted(order[group[group >= 0]].tolist())) for group in found]
        return groups, float(least), nodes >= 0

    def generate_columns(self, best: float, budget: Budget) -> float:
        """Solve the relaxation over all groups there are; returns the best lower bound that was proved."""
        while True:
            budget.report_progress("pricing groups", SearchFigures(best, bound=self.bound))
            relaxed = relax_programme(drop_upper_bounds(self.build_programme([*self.known])))
            self.price = relaxed.price
            groups, least, complete = self.price_groups(_NOTHING, True, 50_000, budget)
            if complete:
                # No more than rows / least groups can each lower the value by the least reduced cost. The
                # prices bound it by themselves, however precise the solver is.
                slack = min(least, _NOTHING) * (self.rows.space.rows // self.rows.least)
                self.bound = max(self.bound, float(weighted_sum(relaxed.price, self.times)) + slack)
            if budget.is_over or not self.add_groups(groups):
                return self.bound

    def best_of_known(self, start: RowDivision, bound: float, budget: Budget) -> RowDivision:
        """The best division into groups that are known and allowed."""
        settled = replace(start, bound=self.rows.space.settle_bound(bound, start.cost))
        if settled.is_proved:
            return settled
        groups = [
            group
            for group, fine in zip(self.known, self._are_groups_allowed([*self.known]), strict=True)
            if fine
        ]
        answer = self._solve_over_groups(groups, start, budget.allot_share(0.5))
        return self._keep_better(answer, groups, start, bound)

    def solve_within_gap(self, best: RowDivision, budget: Budget) -> RowDivision:
        """Give the solver every group that an optimum could have."""
        # A group whose reduced cost exceeds the gap makes any division cost more than the best.
        gap = best.cost - self.bound + _SLACK
        groups, _, complete = self.price_groups(gap, False, _COLUMNS, budget)
        self.add_groups(groups)
        every = list(dict.fromkeys([*groups, *map(self._to_kinds, best.groups)]))
        fine = [group for group, ok in zip(every, self._are_groups_allowed(every), strict=True) if ok]
        answer = self._solve_over_groups(fine, best, budget)
        # The solver's bound is about the groups it was given: it counts only if none is missing.
        bound = max(self.bound, answer.bound) if complete else self.bound
        return self._keep_better(answer, fine, best, bound)

    def _solve_over_groups(self, groups: Sequence[Group], best: RowDivision, budget: Budget) -> Answer:
        if not groups:
            return Answer(None, -np.inf, 0, False)
        figures = SearchFigures(best.cost, bound=self.bound)
        return solve_programme(self.build_programme(groups), budget, figures)

    def _keep_better(
        self, answer: Answer, groups: Sequence[Group], best: RowDivision, bound: float
    ) -> RowDivision:
        times = np.zeros(len(groups), np.int64) if answer.x is None else np.rint(answer.x).astype(np.int64)
        # If not, the solver's tolerance was too wide, or it found nothing.
        if groups and (self.build_programme(groups).rows @ times == self.times).all():
            found = self._to_rows(
                [group for group, often in zip(groups, times, strict=True) for _ in range(often)]
            )
            # Added up anew: the solver's own sum is only as exact as its tolerance.
            cost = float(self.rows.compute_costs(found).sum())
            if cost < best.cost - TIE:
                best = RowDivision(tuple(found), cost, bound)
        return replace(best, bound=self.rows.space.settle_bound(bound, best.cost))

    def _to_rows(self, groups: Sequence[Group]) -> list[Group]:
        """Groups of kinds as groups of rows."""
        rows_of = [np.flatnonzero(self.rows.kind == kind).tolist() for kind in range(self.times.size)]
        return [tuple(rows_of[kind].pop() for kind in group) for group in groups]

    def _are_groups_allowed(self, groups: Sequence[Group]) -> NDArray[np.bool_]:
        rows_of = [np.flatnonzero(self.rows.kind == kind).tolist() for kind in range(self.times.size)]
        examples = []
        for group in groups:
            taken = dict.fromkeys(group, 0)
            example = []
            for kind in group:
                example.append(rows_of[kind][taken[kind]])
                taken[kind] += 1
            examples.append(tuple(example))
        return self.rows.allowed(examples)


def drop_upper_bounds(programme: Programme) -> Programme:
    """Without upper bounds, which the rows imply: so that all of the price is in the rows."""
    return replace(programme, upper=np.full(programme.upper.size, np.inf))


def _shorten_group(group: Group, least: int) -> Group:
    return group[:least] if len(group) >= 2 * least else ()
