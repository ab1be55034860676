"""Column generation: the relaxation of a division into groups, over all groups there are.

Groups are the columns of a set-partitioning programme. Its relaxation is solved over a few of them. The
prices of its rows tell which others would lower it; those are added until there are none. What prices prove
does not depend on how precise the solver is: see `MasterProblem.measure_bound`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.classes import Group, PartitionProblem, RowDivision
from shoal.algorithms.exact.options import TIE, Floats, Ints
from shoal.algorithms.exact.solver import Answer, Programme, Relaxation, relax_programme, solve_programme
from shoal.kernels.groups import group_costs, pair_costs
from shoal.kernels.pricing import (
    RowPrices,
    UsedGroups,
    find_violated_cuts,
    find_violated_sets,
    find_worthwhile_groups,
)
from shoal.support.arithmetic import weighted_sum
from shoal.support.progress import SearchFigures
from shoal.table.formats import import_optional

Pair = tuple[int, int]

_SLACK = 1e-6  # the solver's own tolerance, for what it is given beyond need
_NOTHING = -1e-11  # reduced costs above this are 0 to a float
_COLUMNS = 25_000  # groups with which the solver gets to the end in time
_FRESH = 50_000  # groups that are added at once at most
_LOOKS = 200_000_000  # candidates that one search for groups looks at; some ten seconds
_RATE = 20_000_000  # candidates that it looks at in a second, about
_TRUST = 0.5  # share of the best prices so far in those that are tried next
_EXCESS = 0.02  # parts by which a cut is exceeded at least
_SETS = ((2, 5), (3, 5), (3, 8), (4, 7), (5, 9))  # steps and sizes of cuts beyond three rows
_PER_ROW = 5  # cuts with the same row that are added at once at most
_CUTS = 150  # cuts that are added at once at most


class RowCut(NamedTuple):
    """Some rows, of which whole groups have ``step`` rows only so often."""

    rows: Group
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Some of all divisions: which rows they have together and apart, and how many groups."""

    fewest: int
    most: int
    apart: tuple[Pair, ...] = ()
    together: tuple[Pair, ...] = ()
    bound: float = -np.inf
    """None of them costs less."""
    price: Floats | None = None
    """The prices that prove it."""


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedBranch:
    """What the relaxation says of a branch."""

    bound: float
    price: Floats
    """The prices that prove the bound: of the rows, of the number of groups, and of the cuts."""
    value: float
    """Of the relaxation over the groups known; the same as the bound where the search came to its end."""
    share: Floats
    """[groups known] how much of each the relaxation takes."""


class MasterProblem:
    """Set partitioning over the groups known so far; rows that are alike are one row taken several times."""

    def __init__(self, rows: PartitionProblem, start: RowDivision) -> None:
        self.rows = rows
        self.example, self.times = np.unique(rows.kind, return_index=True, return_counts=True)[1:]
        self.codes = rows.space.codes[self.example]
        self.costs, self.always = rows.space.build_costs()
        # A larger group can be divided into two allowed ones, which cost no more.
        self.most = 2 * rows.least - 1
        self.known: dict[Group, int] = {}
        self.cost: list[float] = []
        self.cuts: list[RowCut] = []
        self.whole = Branch(1, rows.space.rows // rows.least, bound=start.bound)
        self.add_groups(self._to_kinds(group) for group in start.groups)
        self.add_groups(_shorten_group(group, rows.least) for group in [*self.known])
        self.add_groups(self._list_nearest_groups())

    def _to_kinds(self, group: Group) -> Group:
        return tuple(sorted(self.rows.kind[list(group)].tolist()))

    def _list_nearest_groups(self) -> Iterator[Group]:
        """Every row with those that are cheapest beside it."""
        pair = pair_costs(self.costs, self.codes)
        for row in range(self.times.size):
            order = np.argsort(pair[row], kind="stable")
            group = np.repeat(order, np.minimum(self.times[order], self.rows.least))
            others = group[group != row]
            yield tuple(sorted([row, *others[: self.rows.least - 1].tolist()]))

    def add_groups(self, groups: Iterable[Group]) -> int:
        """Take up groups of kinds; returns how many were new."""
        new = [group for group in dict.fromkeys(groups) if group and group not in self.known]
        if new:
            start, member = _join_groups(new)
            cost = (group_costs(self.costs, self.codes, start, member) + self.always) * np.diff(start)
            self.known.update(zip(new, range(len(self.known), len(self.known) + len(new)), strict=True))
            self.cost.extend(cost.tolist())
        return len(new)

    def add_divisions(self, divisions: Iterable[RowDivision], best: RowDivision) -> RowDivision:
        """Take up the groups of further divisions; returns the best of all."""
        for division in divisions:
            self.add_groups(self._to_kinds(group) for group in division.groups)
            best = division if division.cost < best.cost - TIE else best
        return best

    # The programme.

    def build_programme(self, groups: Sequence[Group], branch: Branch) -> Programme:
        """Divide the rows into some of the groups: limits by row, of the number of groups, and by cut."""
        sparse = import_optional("scipy.sparse", "shoal[scipy]")

        rows = self._count_rows(groups)
        number = sparse.csr_array(np.ones((1, len(groups))))
        cost = np.array([self.cost[self.known[group]] for group in groups])
        times = self.times.astype(np.float64)
        parts = np.array([self._count_parts(cut) for cut in self.cuts], np.float64)
        return Programme(
            cost,
            sparse.csr_array(sparse.vstack([rows, number, self._use_of_cuts(rows)])),
            np.concatenate([times, [branch.fewest], np.full(parts.size, -np.inf)]),
            np.concatenate([times, [branch.most], parts]),
            np.full(cost.size, np.inf),
            np.ones(cost.size, np.bool_),
        )

    def _count_rows(self, groups: Sequence[Group]) -> object:
        """[kinds, groups] how often each group has each row; sparse."""
        sparse = import_optional("scipy.sparse", "shoal[scipy]")

        start, member = _join_groups(groups)
        shape = (self.times.size, len(groups))
        rows = sparse.csc_array((np.ones(member.size), member, start), shape=shape)
        rows.sum_duplicates()
        return rows

    def _use_of_cuts(self, rows: object) -> object:
        """[cuts, groups] how many parts of each cut every group has; sparse."""
        sparse = import_optional("scipy.sparse", "shoal[scipy]")

        start, member = _join_groups([cut.rows for cut in self.cuts])
        cuts = sparse.csr_array(
            (np.ones(member.size), member, start), shape=(len(self.cuts), self.times.size)
        )
        parts = sparse.csr_array(cuts @ rows)
        steps = np.array([cut.step for cut in self.cuts], np.int64)
        parts.data = np.floor(parts.data / np.repeat(steps, np.diff(parts.indptr)))
        return parts

    def _count_parts(self, cut: RowCut) -> int:
        """How many parts, of so many rows as its step, of a cut whole groups have at most."""
        return int(self.times[list(cut.rows)].sum()) // cut.step

    # The relaxation.

    def relax(self, branch: Branch) -> tuple[Relaxation, NDArray[np.intp]]:
        """Solve the relaxation over the known groups of a branch, and say which these are."""
        sparse = import_optional("scipy.sparse", "shoal[scipy]")

        every = [*self.known]
        at = self._find_groups_of(branch, every)
        programme = self.build_programme([every[i] for i in at], branch)
        # Rows that no known group of the branch has are bought, dearly, and so is a group that has none:
        # there is always a solution.
        bought = sparse.eye_array(programme.low.size, self.times.size + 1)
        dear = np.full(self.times.size + 1, max(self.cost))
        return relax_programme(
            Programme(
                np.concatenate([programme.cost, dear]),
                sparse.csr_array(sparse.hstack([programme.rows, bought])),
                programme.low,
                programme.high,
                np.full(at.size + dear.size, np.inf),
                np.zeros(at.size + dear.size, np.bool_),
            )
        ), at

    def _find_groups_of(self, branch: Branch, groups: Sequence[Group]) -> NDArray[np.intp]:
        """Which of the groups have what is together, and not what is apart."""
        fine = np.ones(len(groups), np.bool_)
        if branch.apart or branch.together:
            has = self.count_members(groups) > 0
            for a, b in branch.apart:
                fine &= ~(has[a] & has[b])
            for a, b in branch.together:
                fine &= has[a] == has[b]
        return np.flatnonzero(fine)

    def count_members(self, groups: Sequence[Group]) -> Ints:
        """[kinds, groups] how often each group has each row."""
        start, member = _join_groups(groups)
        result = np.zeros((self.times.size, len(groups)), np.int64)
        np.add.at(result, (member, np.repeat(np.arange(len(groups)), np.diff(start))), 1)
        return result

    def generate_columns(
        self, branch: Branch, best: RowDivision, told: float, budget: Budget
    ) -> RelaxedBranch:
        """Solve the relaxation over all groups of a branch, until that is done or the branch is beaten."""
        centre = self._fit_price(branch.price)
        bound, central = branch.bound, -np.inf if centre is None else branch.bound
        while True:
            budget.report_progress("pricing groups", SearchFigures(best.cost, bound=max(told, bound)))
            relaxed, at = self.relax(branch)
            new = 0
            # Prices that jump about prove little: first those half-way to the best so far are tried.
            for trust in (0.0,) if centre is None else (_TRUST, 0.0):
                price = relaxed.price if centre is None else trust * centre + (1 - trust) * relaxed.price
                groups, least, complete = self.price_groups(price, branch, _NOTHING, _FRESH, budget, True)
                proved = self.measure_bound(price, least, branch) if complete else -np.inf
                if centre is None or proved > central:
                    centre, central = price, proved
                bound = max(bound, proved)
                new = self.add_groups(groups)
                if new:
                    break
            assert centre is not None
            beaten = self.rows.space.settle_bound(bound, best.cost) >= best.cost
            if budget.is_over or not new or beaten:
                share = np.zeros(len(self.known))
                share[at] = relaxed.x[: at.size]
                return RelaxedBranch(bound, centre, relaxed.value, share)

    def _fit_price(self, price: Floats | None) -> Floats | None:
        """Prices of a time when there were fewer cuts."""
        size = self.times.size + 1 + len(self.cuts)
        return None if price is None else np.append(price, np.zeros(size - price.size))

    def measure_bound(self, price: Floats, least: float, branch: Branch) -> float:
        """What no division of a branch costs less than, if no group's reduced cost is below ``least``."""
        n = self.times.size
        each, fee = price[n], np.maximum(-price[n + 1 :], 0.0)
        parts = np.array([self._count_parts(cut) for cut in self.cuts], np.float64)
        number = branch.fewest if each > 0 else branch.most
        value = float(weighted_sum(price[:n], self.times)) - float(weighted_sum(fee, parts))
        # So many groups can each lower the value by the least reduced cost.
        return value + float(each) * number + min(least, _NOTHING) * branch.most

    def price_groups(
        self, price: Floats, branch: Branch, below: float, capacity: int, budget: Budget, records: bool
    ) -> tuple[list[Group], float, bool]:
        """Groups of a branch whose reduced cost is below ``below``; the least; whether all were searched."""
        n = self.times.size
        row_price, team = self._level_teams(price[:n], branch)
        order = np.argsort(-row_price, kind="stable")
        looks = min(_LOOKS, int(min(budget.seconds_left, _LOOKS) * _RATE) + _RATE // 10)
        found, least, nodes, cut, complete = find_worthwhile_groups(
            self.costs,
            self.codes[order],
            self._order_prices(row_price, np.maximum(-price[n + 1 :], 0.0), team, branch, order),
            (self.rows.least, self.most),
            (-float(price[n]), below),
            records,
            capacity,
            (budget.nodes_left, looks),
        )
        budget.count_states(nodes, cut)
        groups = [tuple(sorted(order[group[group >= 0]].tolist())) for group in found]
        return groups, float(least), complete

    def _level_teams(self, price: Floats, branch: Branch) -> tuple[Floats, Ints]:
        """The prices, and which rows are together: those share theirs, as only the sum of them matters."""
        team = np.arange(price.size)
        for a, b in branch.together:
            team[team == max(team[a], team[b])] = min(team[a], team[b])
        mean = np.bincount(team, price, price.size) / np.maximum(np.bincount(team, minlength=price.size), 1)
        return mean[team], team

    def _order_prices(
        self, price: Floats, fee: Floats, team: Ints, branch: Branch, order: NDArray[np.intp]
    ) -> RowPrices:
        """Everything about prices, for the kernel: by rows in an order."""
        paid = np.flatnonzero(fee > 0)
        cuts_of: list[list[int]] = [[] for _ in range(price.size)]
        for number, at in enumerate(paid.tolist()):
            for row in self.cuts[at].rows:
                cuts_of[row].append(number)
        start, member = _join_groups([tuple(cuts_of[row]) for row in order.tolist()])
        apart = np.zeros((price.size, price.size), np.bool_)
        for a, b in branch.apart:
            apart[a, b] = apart[b, a] = True
        return RowPrices(
            price[order] - self.always,
            self.times[order],
            start,
            member,
            np.array([self.cuts[at].step for at in paid.tolist()], np.int64),
            fee[paid],
            np.ascontiguousarray(apart[np.ix_(order, order)]),
            team[order],
            np.bincount(team, minlength=price.size),
        )

    def add_cuts(self, relaxed: RelaxedBranch) -> Floats | None:
        """Add cuts that the relaxation exceeds; returns the prices with these, or None if there are none."""
        n = self.times.size
        there, often = set(self.cuts), np.zeros(n, np.int64)
        fresh: list[RowCut] = []
        for cut, _ in sorted(self._list_violated_cuts(relaxed), key=lambda each: -each[1]):
            rows = list(cut.rows)
            if len(fresh) < _CUTS and cut not in there and often[rows].max() < _PER_ROW:
                often[rows] += 1
                there.add(cut)
                fresh.append(cut)
        if not fresh:
            return None
        # What costs nothing is dropped: the solver's time grows with every cut.
        kept = np.flatnonzero(relaxed.price[n + 1 :] < 0)
        self.cuts = [*(self.cuts[i] for i in kept), *fresh]
        return self._fit_price(np.concatenate([relaxed.price[: n + 1], relaxed.price[n + 1 :][kept]]))

    def _list_violated_cuts(self, relaxed: RelaxedBranch) -> Iterator[tuple[RowCut, float]]:
        """Cuts that the relaxation exceeds, and by how much."""
        used = np.flatnonzero(relaxed.share > _SLACK)
        every = [*self.known]
        groups = np.ascontiguousarray(self.count_members([every[i] for i in used]))
        share = relaxed.share[used]
        row, group = np.nonzero(groups)
        start = np.searchsorted(row, np.arange(self.times.size + 1))
        by_row = UsedGroups(start, np.ascontiguousarray(group), groups[row, group], share)
        found = [(2, *find_violated_cuts(groups, share, self.times, _EXCESS, 100_000))]
        for step, size in _SETS:
            if step <= self.most:
                found.append((step, *find_violated_sets(by_row, self.times, step, size, _EXCESS)))
        for step, sets, excess in found:
            for rows, over in zip(sets.tolist(), excess.tolist(), strict=True):
                yield RowCut(tuple(sorted(row for row in rows if row >= 0)), step), over

    # Whole groups.

    def solve_over_known(self, best: RowDivision, bound: float, budget: Budget) -> RowDivision:
        """The best division into groups that are known and allowed."""
        return self._solve_over_groups([*self.known], best, bound, budget)[0]

    def solve_within_gap(
        self, relaxed: RelaxedBranch, best: RowDivision, bound: float, budget: Budget
    ) -> tuple[RowDivision, float]:
        """The best division and a bound, by every group that a better one can have, if these are few."""
        price, whole = relaxed.price, self.whole
        _, least, complete = self.price_groups(price, whole, _NOTHING, _FRESH, budget, True)
        # A group whose reduced cost exceeds the gap makes any division cost more than the best.
        gap = best.cost - self.measure_bound(price, least, whole) + _SLACK
        groups: list[Group] = []
        if complete:
            groups, _, complete = self.price_groups(price, whole, gap, _COLUMNS, budget, False)
        if not complete:
            return best, bound
        self.add_groups(groups)
        every = list(dict.fromkeys([*groups, *map(self._to_kinds, best.groups)]))
        best, answer = self._solve_over_groups(every, best, bound, budget)
        # Nothing is missing, so what is proved of these groups is proved of all.
        return best, max(bound, answer.bound)

    def _solve_over_groups(
        self, groups: Sequence[Group], best: RowDivision, bound: float, budget: Budget
    ) -> tuple[RowDivision, Answer]:
        fine = self._are_groups_allowed(groups)
        groups = [group for group, ok in zip(groups, fine, strict=True) if ok]
        if not groups:
            return best, Answer(None, -np.inf, 0, False)
        programme = self.build_programme(groups, self.whole)
        most = np.array([min(self.times[kind] // group.count(kind) for kind in group) for group in groups])
        answer = solve_programme(
            replace(programme, upper=most.astype(np.float64)), budget, SearchFigures(best.cost, bound=bound)
        )
        return best if answer.x is None else self.keep_better(groups, answer.x, best), answer

    def keep_better(self, groups: Sequence[Group], share: Floats, best: RowDivision) -> RowDivision:
        """The division into whole groups, if it is one and costs less."""
        often = np.rint(share).astype(np.int64)
        chosen = [group for group, times in zip(groups, often.tolist(), strict=True) for _ in range(times)]
        member = np.array([kind for group in chosen for kind in group], np.int64)
        # If not, the solver's tolerance was too wide.
        if not np.array_equal(np.bincount(member, minlength=self.times.size), self.times):
            return best
        found = self._to_rows(chosen)
        # Added up anew: the solver's own sum is only as exact as its tolerance.
        cost = float(self.rows.compute_costs(found).sum())
        return replace(best, groups=tuple(found), cost=cost) if cost < best.cost - TIE else best

    def _to_rows(self, groups: Sequence[Group]) -> list[Group]:
        """Groups of kinds as groups of rows."""
        rows_of = [np.flatnonzero(self.rows.kind == kind).tolist() for kind in range(self.times.size)]
        return [tuple(rows_of[kind].pop() for kind in group) for group in groups]

    def _are_groups_allowed(self, groups: Sequence[Group]) -> NDArray[np.bool_]:
        if self.rows.by_size:
            return np.ones(len(groups), np.bool_)
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


def _join_groups(groups: Sequence[Group]) -> tuple[Ints, Ints]:
    """Where each group begins, and the members of all."""
    start = np.cumsum([0, *map(len, groups)], dtype=np.int64)
    return start, np.array([kind for group in groups for kind in group], np.int64)


def _shorten_group(group: Group, least: int) -> Group:
    return group[:least] if len(group) >= 2 * least else ()
