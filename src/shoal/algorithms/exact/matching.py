"""k-anonymity by matching: every generalised row could be k of the original rows.

The attacker knows all original rows. An arc leads from i to j where the generalised row i covers the original
row j; the k-score of i is the number of rows that i is assigned to in *some* perfect matching.

References
----------
A. Gionis, A. Mazza, T. Tassa, "k-anonymization revisited", ICDE 2008.
T. Tassa, "Finding all maximally-matchable edges in a bipartite graph", TCS 423, 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.coverage import CoverOptions, Words, pack_bits, unpack_bits
from shoal.algorithms.exact.options import Floats, Ints
from shoal.algorithms.exact.solver import Programme, relax_programme, solve_programme
from shoal.kernels.coverage import k_scores
from shoal.support.progress import SearchFigures
from shoal.table.formats import import_optional

SMALL = 8
"""Rows up to which branch and bound needs no better bound than the rows' cheapest options."""
_COUNTING = 50_000  # states after which counting ties is given up
_SLACK = 1e-5  # what the solver's tolerance can hide
_COUNTABLE = float(1 << 53)  # numbers of tables up to which floats hold every one


@dataclass(frozen=True, slots=True, eq=False)
class Optima:
    """The best choices found, one option per row each, and what is proved of them."""

    amount: int
    """What they cost exactly."""
    cost: float
    bound: float
    picks: tuple[Ints, ...]
    count: float | None = None
    """How many tables there are with that cost, all ways of writing them included; None if not counted."""

    @property
    def is_proved(self) -> bool:
        """Whether no choice costs less: see `TableSpace.settle_bound`."""
        return self.bound >= self.cost


def has_k_matches(cover: Words, k: int) -> bool:
    """Whether every row could be ``k`` rows."""
    return bool((k_scores(cover) >= k).all())


def find_optimum(rows: Sequence[CoverOptions], k: int, start: Ints, budget: Budget) -> Optima:
    """The least cost of a table, and one that has it; ``start`` is some permitted choice."""
    space, amount = rows[0].space, _sum_amounts(rows, start)
    cost = space.to_cost(amount)
    first = Optima(amount, cost, space.settle_bound(_sum_cheapest(rows), cost), (start,))
    need = [row.keep_undominated() for row in rows]
    if len(rows) > SMALL:
        return _find_by_solver(need, rows, k, first, budget)
    tree = _BranchAndBound(need, k, amount, 0, budget)
    tree.visit_tree()
    if tree.picks:
        pick = translate_pick(tree.picks[0], need, rows)
        first = Optima(tree.upper, space.to_cost(tree.upper), first.bound, (pick,))
    # A search that looked at everything has proved it; else the bound is the least of an open branch.
    return replace(first, bound=min(tree.bound, first.cost) if tree.stopped else first.cost)


def all_optima(rows: Sequence[CoverOptions], k: int, best: Optima, limit: int, budget: Budget) -> Optima:
    """All choices of least cost, ``limit`` of them listed, and how many tables they stand for.

    It also finds out which of the choices that a solver cannot tell apart costs least.
    """
    # What floats hold for the least may still be above it by what they cannot tell.
    close = best.bound >= best.cost - _SLACK * len(rows)
    if not close or budget.is_over:
        return best
    rest, at = _still_possible(rows, k, best.cost)
    counting = replace(budget.allot_share(1.0), iterations=min(_COUNTING, budget.nodes_left))
    tree = _BranchAndBound(rest, k, best.amount, limit, counting)
    tree.visit_tree()
    if tree.stopped or not tree.picks:
        return best
    picks = tuple(np.array([at[i][pick[i]] for i in range(len(rows))]) for pick in tree.picks)
    cost = rows[0].space.to_cost(tree.upper)
    return Optima(tree.upper, cost, cost, picks, tree.count if tree.count < _COUNTABLE else None)


class _BranchAndBound:
    """Depth-first branch and bound over the rows, in exact amounts.

    More coverage never hurts, so that a partial choice is hopeless exactly if it fails even when every row
    that is not decided yet covers all that it could.
    """

    def __init__(self, rows: Sequence[CoverOptions], k: int, upper: int, limit: int, budget: Budget) -> None:
        """Search for what costs less than ``upper``; with a ``limit`` for all that costs no more."""
        self.rows, self.k, self.limit, self.budget = rows, k, limit, budget
        self.upper = upper
        """The least amount so far."""
        self.doing = "listing optimal tables" if limit else "branch and bound"
        # Dear rows first: their options raise the bound soonest.
        self.order = sorted(range(len(rows)), key=lambda i: -rows[i].amount[0])
        self.rest = [0]
        for i in reversed(self.order):
            self.rest.insert(0, self.rest[0] + rows[i].amount[0])
        self.widest = np.stack([np.bitwise_or.reduce(row.cover, axis=0) for row in rows])
        self.cover = self.widest.copy()
        self.pick = np.zeros(len(rows), np.int64)
        self.picks: list[Ints] = []
        self.count = 0.0
        self.open = self.rest[0]
        """The least that any choice can cost which was not looked at yet."""
        self.stopped = False

    @property
    def bound(self) -> float:
        """What no choice can cost less than, once the search has stopped."""
        return self.rows[0].space.to_cost(self.open)

    def visit_tree(self) -> None:
        """Search, until there is nothing left or the budget is over."""
        if has_k_matches(self.cover, self.k):
            self._branch_on_row(0, 0, 1.0)

    def _is_hopeless(self, amount: int) -> bool:
        return amount > self.upper or (amount == self.upper and not self.limit)

    def _branch_on_row(self, depth: int, spent: int, ways: float) -> None:
        if depth == len(self.rows):
            self._record_leaf(spent, ways)
            return
        i = self.order[depth]
        row = self.rows[i]
        for at in range(row.size):
            hope = spent + row.amount[at] + self.rest[depth + 1]
            if self._is_hopeless(hope):
                self.budget.count_states(0, row.size - at)
                break
            if self.stopped or not self._count_state(depth, hope):
                self.open = min(self.open, hope) if self.stopped else hope
                self.stopped = True
                break
            self.cover[i] = row.cover[at]
            self.pick[i] = at
            if has_k_matches(self.cover, self.k):
                self._branch_on_row(depth + 1, spent + row.amount[at], ways * float(row.ways[at]))
            else:
                self.budget.count_states(0, 1)
        self.cover[i] = self.widest[i]

    def _count_state(self, depth: int, hope: int) -> bool:
        """Whether there is budget left to look at a state."""
        if depth == 0:  # options stand in order of rising cost
            self.open = hope
        space = self.rows[0].space
        self.budget.report_progress(
            self.doing, SearchFigures(space.to_cost(self.upper), bound=space.to_cost(self.open))
        )
        return self.budget.count_states()

    def _record_leaf(self, amount: int, ways: float) -> None:
        if amount < self.upper or not self.limit:
            self.picks, self.count, self.upper = [], 0.0, amount
        self.count += ways
        if len(self.picks) < max(self.limit, 1):
            self.picks.append(self.pick.copy())


def _find_by_solver(
    need: Sequence[CoverOptions], rows: Sequence[CoverOptions], k: int, first: Optima, budget: Budget
) -> Optima:
    space = rows[0].space
    budget.report_progress("relaxing", SearchFigures(first.cost, bound=first.bound))
    bound = lower_bound(need, k, budget.seconds_left)
    first = replace(first, bound=space.settle_bound(bound, first.cost))
    if first.is_proved:
        return first
    answer = solve_programme(_build_programme(need, k), budget, SearchFigures(first.cost, bound=bound))
    # If it is certain that there is nothing better, nothing better is what was found.
    bound = first.cost if answer.x is None and answer.proved else max(answer.bound, bound)
    pick = None if answer.x is None else _read_pick(answer.x, need)
    # If not, the solver's tolerance was too wide for this table.
    if pick is not None and has_k_matches(
        np.stack([row.cover[at] for row, at in zip(need, pick, strict=True)]), k
    ):
        amount = _sum_amounts(need, pick)
        if amount < first.amount:
            first = Optima(amount, space.to_cost(amount), bound, (translate_pick(pick, need, rows),))
    return replace(first, bound=space.settle_bound(bound, first.cost))


def _read_pick(x: Floats, rows: Sequence[CoverOptions]) -> Ints:
    """The option of every row that the solver chose."""
    sizes = [row.size for row in rows]
    parts = np.split(x[: sum(sizes)], np.cumsum(sizes)[:-1])
    return np.array([int(np.argmax(part)) for part in parts])


def translate_pick(pick: Ints, need: Sequence[CoverOptions], rows: Sequence[CoverOptions]) -> Ints:
    """A choice among ``need`` as one among ``rows``, which have all of those options."""
    return np.array([_find_option(rows[i], need[i].cover[at]) for i, at in enumerate(pick)])


def cover_groups(rows: Sequence[CoverOptions], groups: Sequence[Sequence[int]]) -> Ints:
    """The cheapest option of each row that covers all rows of its group; such a choice is permitted."""
    pick = np.zeros(len(rows), np.int64)
    for group in groups:
        members = np.zeros((1, len(rows)), np.bool_)
        members[0, list(group)] = True
        for i in group:
            fits = ~(pack_bits(members) & ~rows[i].cover).any(axis=1)
            pick[i] = int(np.argmax(fits))  # options stand in order of rising cost; the widest covers all
    return pick


def _find_option(row: CoverOptions, cover: Words) -> int:
    return int(np.flatnonzero((row.cover == cover).all(axis=1))[0])


def _still_possible(
    rows: Sequence[CoverOptions], k: int, cost: float
) -> tuple[list[CoverOptions], list[Ints]]:
    """The options that an optimal choice can have: any other would raise a lower bound above ``cost``."""
    if len(rows) <= SMALL:
        return list(rows), [np.arange(row.size) for row in rows]
    relaxed = relax_programme(_build_programme(rows, k))
    sizes = np.cumsum([row.size for row in rows])
    kept = relaxed.reduced[: sizes[-1]] <= cost - relaxed.value + _SLACK * len(rows)
    at = [np.flatnonzero(part) for part in np.split(kept, sizes[:-1])]
    return [row.select_options(part) for row, part in zip(rows, at, strict=True)], at


def _build_programme(rows: Sequence[CoverOptions], k: int) -> Programme:
    """Pick an option per row; k - 1 covered rows each must count, on arcs that carry a circulation.

    An arc lies inside a component exactly if it lies on a cycle, hence in a circulation.
    """
    sparse = import_optional("scipy.sparse", "shoal[scipy]")

    n = len(rows)
    most = n * max(k - 1, 1)  # each arc that counts has a cycle, and all of these may share an arc
    cost = np.concatenate([row.cost for row in rows])
    of = np.repeat(np.arange(n), [row.size for row in rows])
    option, to = np.nonzero(unpack_bits(np.concatenate([row.cover for row in rows]), n))
    option, to = option[of[option] != to], to[of[option] != to]
    arcs, arc = np.unique(of[option] * n + to, return_inverse=True)
    tail, head, many = arcs // n, arcs % n, arcs.size

    def build_matrix(row: NDArray[np.intp], column: NDArray[np.intp], shape: tuple[int, int]) -> Any:
        return sparse.csr_array(sparse.coo_array((np.ones(row.size), (row, column)), shape=shape))

    ids = np.arange(many)
    one = build_matrix(of, np.arange(of.size), (n, of.size))
    covers = build_matrix(arc, option, (many, of.size))
    covered = build_matrix(to, option, (n, of.size))
    out, into = build_matrix(tail, ids, (n, many)), build_matrix(head, ids, (n, many))
    same = sparse.eye_array(many)
    table = sparse.block_array(
        [
            [one, None, None],  # one option per row
            [-covers, same, None],  # an arc counts only where it is covered,
            [-most * covers, None, same],  # flows only there,
            [None, same, -same],  # and counts only if it flows
            [None, out, None],
            [None, None, out - into],
            [covered, None, None],  # implied by k above 1, and what makes the bound tight: others cover each
        ],
        format="csr",
    )
    low = [1.0] * n + [-np.inf] * (3 * many) + [k - 1.0] * n + [0.0] * n + [min(k - 1.0, 1.0)] * n
    high = [1.0] * n + [0.0] * (3 * many) + [np.inf] * n + [0.0] * n + [np.inf] * n
    upper = np.concatenate([np.ones(of.size + many), np.full(many, float(most))])
    whole = np.arange(upper.size) < of.size
    costs = np.concatenate([cost, np.zeros(2 * many)])
    return Programme(costs, table, np.array(low), np.array(high), upper, whole)


def lower_bound(rows: Sequence[CoverOptions], k: int, seconds: float = np.inf) -> float:
    """No permitted choice costs less than this; quick, and often the optimum itself."""
    return max(relax_programme(_build_programme(rows, k), seconds).value, _sum_cheapest(rows))


def _sum_amounts(rows: Sequence[CoverOptions], pick: Ints) -> int:
    return sum(row.amount[at] for row, at in zip(rows, pick, strict=True))


def _sum_cheapest(rows: Sequence[CoverOptions]) -> float:
    return float(sum(row.cost[0] for row in rows))
