"""Branch and price: the optimum of tables with too many sets of rows to list.

The relaxation of the whole table is tightened by cuts. If few groups are left that a better division can
have, a solver decides among them. If not, the search branches: on two rows that are in one class or not
(D. Ryan, B. Foster, "An integer programming approach to scheduling", 1981) and on the number of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.classes import PartitionProblem, RowDivision
from shoal.algorithms.exact.columns import Branch, MasterProblem, RelaxedBranch
from shoal.support.progress import SearchFigures

_KINDS = 500  # rows up to which cuts and branches are tried: they take tables of rows by rows
_STALLED = 1e-4  # share of the cost by which a round of cuts should raise the bound
_PATIENCE = 3  # rounds of cuts that may fail to
_TRIED = 6  # pairs of rows of which the best to branch on is found by trying
_WHOLE = 1e-6  # how far from a whole number a share may be

Suggest = Callable[[Budget], Iterable[RowDivision]]
"""Divisions that may be better than the first one, found within a budget."""


def solve_by_columns(
    rows: PartitionProblem, start: RowDivision, budget: Budget, suggest: Suggest | None = None
) -> RowDivision:
    """The optimum of a larger table, or what can be said of it within the budget."""
    master = MasterProblem(rows, start)
    best, relaxed = start, master.generate_columns(master.whole, start, start.bound, budget.allot_share(0.5))
    few = master.times.size <= _KINDS
    if few and not _is_proved(rows, best, relaxed.bound):
        relaxed = _tighten_by_cuts(master, relaxed, best, budget.allot_share(0.4))
    bound = max(start.bound, relaxed.bound)
    # With other models a proof is rare, whatever the table.
    if suggest is not None and rows.by_size and not _is_proved(rows, best, bound):
        best = master.add_divisions(suggest(budget.allot_share(0.2)), best)
    if not _is_proved(rows, best, bound):
        best = master.solve_over_known(best, bound, budget.allot_share(0.25))
    # With other models an optimum may need larger groups than are searched.
    if not _is_proved(rows, best, bound) and not budget.is_over and rows.by_size:
        best, bound = master.solve_within_gap(relaxed, best, bound, budget.allot_share(0.5))
    if few and not _is_proved(rows, best, bound) and not budget.is_over and rows.by_size:
        best, bound = _branch_on_rows(master, relaxed, best, bound, budget)
    return replace(best, bound=rows.space.settle_bound(bound, best.cost))


def _is_proved(rows: PartitionProblem, best: RowDivision, bound: float) -> bool:
    """Whether nothing that costs at least ``bound`` is better."""
    return rows.space.settle_bound(bound, best.cost) >= best.cost


def _tighten_by_cuts(
    master: MasterProblem, relaxed: RelaxedBranch, best: RowDivision, budget: Budget
) -> RelaxedBranch:
    """Add cuts, and the groups that these make worthwhile, while that raises the bound."""
    stalled = 0
    while stalled < _PATIENCE and not budget.is_over:
        price = master.add_cuts(relaxed)
        if price is None:
            break
        before = relaxed
        root = replace(master.whole, bound=before.bound, price=price)
        relaxed = master.generate_columns(root, best, before.bound, budget)
        if _is_proved(master.rows, best, relaxed.bound):
            break
        stalled = stalled + 1 if relaxed.bound - before.bound < _STALLED * abs(best.cost) else 0
    return relaxed


def _branch_on_rows(
    master: MasterProblem, relaxed: RelaxedBranch, best: RowDivision, bound: float, budget: Budget
) -> tuple[RowDivision, float]:
    """Search branch by branch, the one with the lowest bound first; the best division and a bound."""
    opened = [(bound, 0, replace(master.whole, bound=bound, price=relaxed.price))]
    number = 0
    closed = np.inf  # the least bound of the branches that cannot be divided further
    while opened and opened[0][0] <= closed and not budget.is_over:
        lowest, _, branch = heappop(opened)
        if _is_proved(master.rows, best, lowest):
            return best, max(bound, min(lowest, closed))
        budget.report_progress("branching", SearchFigures(best.cost, bound=lowest))
        relaxed = master.generate_columns(branch, best, lowest, budget)
        best = master.keep_better([*master.known], relaxed.share, best)
        if budget.is_over:
            heappush(opened, (relaxed.bound, number + 1, branch))
        elif not _is_proved(master.rows, best, relaxed.bound):
            divided = list(_divide_branch(master, branch, relaxed))
            closed = closed if divided else min(closed, relaxed.bound)
            for child in divided:
                number += 1
                heappush(opened, (child.bound, number, child))
    left = min([closed, best.cost, *(low for low, _, _ in opened)])
    return best, max(bound, left)


def _divide_branch(master: MasterProblem, branch: Branch, relaxed: RelaxedBranch) -> Iterator[Branch]:
    """Two branches that have all divisions of one, chosen so that both cost more; none if all is whole."""
    begin = replace(branch, bound=relaxed.bound, price=relaxed.price)
    divisions = list(_list_divisions(master, begin, relaxed))
    if divisions:
        gains = []
        for division in divisions:
            risen = [master.relax(child)[0].value - relaxed.value for child in division]
            # Both should rise: a little of each is better than much of one.
            gains.append(max(risen[0], _WHOLE) * max(risen[1], _WHOLE))
        yield from divisions[int(np.argmax(gains))]


def _share_groups(members: NDArray[np.bool_], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rows, rows] how much of the groups that two rows share is used.

    Group by group: a product of matrices adds up in an order that differs between processors.
    """
    together = np.zeros((members.shape[0],) * 2)
    for group, used in zip(members.T, share, strict=True):
        rows = np.flatnonzero(group)
        together[np.ix_(rows, rows)] += used
    return together


def _list_divisions(
    master: MasterProblem, branch: Branch, relaxed: RelaxedBranch
) -> Iterator[tuple[Branch, Branch]]:
    """Ways to divide a branch: by the number of groups, and by pairs of rows that are half together."""
    used = np.flatnonzero(relaxed.share > _WHOLE)
    every = [*master.known]
    share = relaxed.share[used]
    number = float(share.sum())
    if abs(number - round(number)) > _WHOLE:
        yield (
            replace(branch, most=int(np.floor(number))),
            replace(branch, fewest=int(np.ceil(number))),
        )
    single = np.flatnonzero(master.times == 1)
    together = np.triu(_share_groups(master.count_members([every[i] for i in used])[single] > 0, share), 1)
    half = np.minimum(together, 1 - together)
    for at in np.argsort(-half, axis=None, kind="stable")[:_TRIED].tolist():
        a, b = divmod(at, single.size)
        if half[a, b] > _WHOLE:
            pair = (int(single[a]), int(single[b]))
            yield (
                replace(branch, apart=(*branch.apart, pair)),
                replace(branch, together=(*branch.together, pair)),
            )
