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
from shoal.algorithms.exact.coverage import CoverOptions, Words, unpack_bits
from shoal.algorithms.exact.options import TIE, Ints
from shoal.algorithms.exact.solver import Programme, relax_programme, solve_programme
from shoal.kernels.coverage import k_scores
from shoal.support.progress import SearchFigures
from shoal.table.formats import import_optional

_SMALL = 8  # rows up to which branch and bound needs no better bound than the rows' cheapest options
_COUNTING = 50_000  # states after which counting ties is given up
_SLACK = 1e-6  # the solver's own tolerance


@dataclass(frozen=True, slots=True, eq=False)
class Optima:
    """The best choices found, one option per row each, and what is proved of them."""

    cost: float
    bound: float
    picks: tuple[Ints, ...]
    count: float | None = None
    """How many tables there are with that cost, all ways of writing them included; None if not counted."""

    @property
    def is_proved(self) -> bool:
        """Whether no choice costs less."""
        return self.bound >= self.cost - _SLACK


def has_k_matches(cover: Words, k: int) -> bool:
    """Whether every row could be ``k`` rows."""
    return bool((k_scores(cover) >= k).all())


def find_optimum(rows: Sequence[CoverOptions], k: int, start: Ints, budget: Budget) -> Optima:
    """The least cost of a table, and one that has it; ``start`` is some permitted choice."""
    need = [row.keep_undominated() for row in rows]
    first = Optima(_sum_costs(rows, start), _sum_cheapest(rows), (start,))
    if len(rows) <= _SMALL:
        tree = _BranchAndBound(need, k, first.cost - TIE, 1, budget)
        found = _translate_optima(tree.find_optima(), need, rows)
    else:
        found = _by_solver(need, rows, k, first, budget)
    better = found.picks and found.cost < first.cost - TIE
    return found if better else replace(first, bound=min(max(found.bound, first.bound), first.cost))


def all_optima(rows: Sequence[CoverOptions], k: int, best: Optima, limit: int, budget: Budget) -> Optima:
    """All choices of least cost, ``limit`` of them listed, and how many tables they stand for."""
    if not best.is_proved or budget.is_over:
        return best
    rest, at = _still_possible(rows, k, best.cost)
    counting = replace(budget.allot_share(1.0), iterations=min(_COUNTING, budget.nodes_left))
    tree = _BranchAndBound(rest, k, best.cost + TIE, limit, counting)
    found = tree.find_optima()
    if tree.stopped:
        return best
    picks = tuple(np.array([at[i][pick[i]] for i in range(len(rows))]) for pick in found.picks)
    return replace(best, picks=picks, count=found.count)


class _BranchAndBound:
    """Depth-first branch and bound over the rows.

    More coverage never hurts, so that a partial choice is hopeless exactly if it fails even when every row
    that is not decided yet covers all that it could.
    """

    def __init__(
        self, rows: Sequence[CoverOptions], k: int, upper: float, limit: int, budget: Budget
    ) -> None:
        self.rows, self.k, self.limit, self.budget = rows, k, limit, budget
        self.upper = upper
        """No choice that costs more is of interest."""
        self.ties = limit > 1
        self.doing = "listing optimal tables" if self.ties else "branch and bound"
        # Dear rows first: their options raise the bound soonest.
        self.order = np.argsort([-row.cost[0] for row in rows], kind="stable")
        least = np.array([rows[i].cost[0] for i in self.order])
        self.rest = np.append(np.cumsum(least[::-1])[::-1], 0.0)
        self.widest = np.stack([np.bitwise_or.reduce(row.cover, axis=0) for row in rows])
        self.cover = self.widest.copy()
        self.pick = np.zeros(len(rows), np.int64)
        self.found: list[Ints] = []
        self.cost = np.inf
        self.count = 0.0
        self.open = np.inf
        self.bound = self.rest[0]
        """The least that any choice can cost which was not looked at yet."""
        self.stopped = False

    def find_optima(self) -> Optima:
        """Search; the bound is the least that an open branch could cost."""
        if has_k_matches(self.cover, self.k):
            self._branch_on_row(0, 0.0, 1.0)
        return Optima(self.cost, min(self.open, self.upper), tuple(self.found), self.count)

    def _branch_on_row(self, depth: int, spent: float, ways: float) -> None:
        if depth == len(self.rows):
            self._record_leaf(spent, ways)
            return
        i = int(self.order[depth])
        row = self.rows[i]
        for at in range(row.cost.size):
            hope = spent + float(row.cost[at]) + self.rest[depth + 1]
            if hope > self.upper:
                self.budget.count_states(0, row.cost.size - at)
                break
            if depth == 0:  # options stand in order of rising cost
                self.bound = hope
            if self.stopped or not self.budget.count_states():
                self.stopped = True
                self.open = min(self.open, hope)
                break
            self.budget.report_progress(
                self.doing, SearchFigures(min(self.cost, self.upper), bound=self.bound)
            )
            self.cover[i] = row.cover[at]
            self.pick[i] = at
            if has_k_matches(self.cover, self.k):
                self._branch_on_row(depth + 1, spent + float(row.cost[at]), ways * float(row.ways[at]))
            else:
                self.budget.count_states(0, 1)
        self.cover[i] = self.widest[i]

    def _record_leaf(self, cost: float, ways: float) -> None:
        if cost < self.cost - TIE:
            self.found, self.count, self.cost = [], 0.0, cost
        self.upper = min(self.upper, cost + TIE if self.ties else cost - TIE)
        self.count += ways
        if len(self.found) < self.limit:
            self.found.append(self.pick.copy())


def _by_solver(
    need: Sequence[CoverOptions], rows: Sequence[CoverOptions], k: int, first: Optima, budget: Budget
) -> Optima:
    budget.report_progress("relaxing", SearchFigures(first.cost, bound=first.bound))
    bound = lower_bound(need, k, budget.seconds_left)
    if bound >= first.cost - _SLACK:
        return replace(first, bound=bound)
    answer = solve_programme(_build_programme(need, k), budget, SearchFigures(first.cost, bound=bound))
    answer = replace(answer, bound=max(answer.bound, bound))
    if answer.x is None:
        return Optima(np.inf, first.cost if answer.proved else answer.bound, ())
    sizes = [row.cost.size for row in need]
    parts = np.split(answer.x[: sum(sizes)], np.cumsum(sizes)[:-1])
    pick = np.array([int(np.argmax(part)) for part in parts])
    if not has_k_matches(np.stack([row.cover[at] for row, at in zip(need, pick, strict=True)]), k):
        return Optima(np.inf, answer.bound, ())  # the solver's tolerance was too wide for this table
    return _translate_optima(Optima(_sum_costs(need, pick), answer.bound, (pick,)), need, rows)


def _translate_optima(found: Optima, need: Sequence[CoverOptions], rows: Sequence[CoverOptions]) -> Optima:
    """The same with the options' numbers among all ``rows`` instead of among those that were needed."""
    return replace(found, picks=tuple(translate_pick(pick, need, rows) for pick in found.picks))


def translate_pick(pick: Ints, need: Sequence[CoverOptions], rows: Sequence[CoverOptions]) -> Ints:
    """A choice among ``need`` as one among ``rows``, which have all of those options."""
    return np.array([_find_option(rows[i], need[i].cover[at]) for i, at in enumerate(pick)])


def _find_option(row: CoverOptions, cover: Words) -> int:
    return int(np.flatnonzero((row.cover == cover).all(axis=1))[0])


def _still_possible(
    rows: Sequence[CoverOptions], k: int, cost: float
) -> tuple[list[CoverOptions], list[Ints]]:
    """The options that an optimal choice can have: any other would raise a lower bound above ``cost``."""
    if len(rows) <= _SMALL:
        return list(rows), [np.arange(row.cost.size) for row in rows]
    relaxed = relax_programme(_build_programme(rows, k))
    sizes = np.cumsum([row.cost.size for row in rows])
    kept = relaxed.reduced[: sizes[-1]] <= cost - relaxed.value + _SLACK
    at = [np.flatnonzero(part) for part in np.split(kept, sizes[:-1])]
    return [row.select_options(part) for row, part in zip(rows, at, strict=True)], at


def _build_programme(rows: Sequence[CoverOptions], k: int) -> Programme:
    """Pick an option per row; k - 1 covered rows each must count, on arcs that carry a circulation.

    An arc lies inside a component exactly if it lies on a cycle, hence in a circulation.
    """
    sparse = import_optional("scipy.sparse", "shoal[scipy]")

    n = len(rows)
    cost = np.concatenate([row.cost for row in rows])
    of = np.repeat(np.arange(n), [row.cost.size for row in rows])
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
            [-n * covers, None, same],  # flows only there,
            [None, same, -same],  # and counts only if it flows
            [None, out, None],
            [None, None, out - into],
            [covered, None, None],  # implied, and what makes the bound tight: some other row covers each
        ],
        format="csr",
    )
    low = [1.0] * n + [-np.inf] * (3 * many) + [k - 1.0] * n + [0.0] * n + [1.0] * n
    high = [1.0] * n + [0.0] * (3 * many) + [np.inf] * n + [0.0] * n + [np.inf] * n
    upper = np.concatenate([np.ones(of.size + many), np.full(many, float(n))])
    whole = np.arange(upper.size) < of.size
    costs = np.concatenate([cost, np.zeros(2 * many)])
    return Programme(costs, table, np.array(low), np.array(high), upper, whole)


def lower_bound(rows: Sequence[CoverOptions], k: int, seconds: float = np.inf) -> float:
    """No permitted choice costs less than this; quick, and often the optimum itself."""
    return max(relax_programme(_build_programme(rows, k), seconds).value, _sum_cheapest(rows))


def _sum_costs(rows: Sequence[CoverOptions], pick: Ints) -> float:
    return float(sum(row.cost[at] for row, at in zip(rows, pick, strict=True)))


def _sum_cheapest(rows: Sequence[CoverOptions]) -> float:
    return float(sum(row.cost[0] for row in rows))
