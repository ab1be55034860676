"""Datafly: the column with the most values goes up a level, until few enough rows are left to suppress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.fulldomain import FullDomain, LatticeNode, check_levels
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.recoding import Proposal
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class Datafly(Algorithm):
    """Full-domain generalisation by a greedy rule: the column with the most distinct values goes up a level.

    Until no more rows lie in groups that fail the models than may be suppressed; these are. Fast and simple,
    and known to generalise more than it needs to: for teaching and comparison.

    References
    ----------
    L. Sweeney, "Datafly: a system for providing anonymity in medical data", Database Security XI, 1998.
    """

    levels: str | None = None
    """Levels that a column may go to, as ``age=1..3,sex=0``; either end may be left out."""
    coding: str | None = None
    """Values outside of which all are one group, as ``age=20..70``; see `Lattice`."""
    seconds: float | None = 60.0
    """Time after which it takes the highest permitted levels at once; none for no limit. What the clock ends
    may end otherwise the next time."""
    counts_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_levels(self.levels, self.coding, self.seconds)

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Climb."""
        space = FullDomain("datafly", problem, self.levels, self.coding)
        budget = Budget(self.seconds, on_progress=on_progress)
        node = climb_levels(space, budget)
        notes: tuple[str, ...] = ()
        # It stopped below the top because the time was over: the top is the last chance.
        if not node.is_permitted and (node.vector < space.high).any():
            node = space.evaluate_vector(space.high)
            if not node.is_permitted:
                raise space.make_timeout_error(self.seconds)
            notes = (f"the limit of {self.seconds:g} seconds was reached: the highest levels were taken",)
        if not node.is_permitted:
            raise space.make_unreachable_error()
        return space.build_proposal(node, nodes=budget.nodes, notes=notes)


def climb_levels(space: FullDomain, budget: Budget) -> LatticeNode:
    """The first permitted vector on the way up, or the highest that there was time for."""
    node = space.evaluate_vector(space.low)
    while budget.count_states() and not node.is_permitted and (node.vector < space.high).any():
        codes = space.table.codes[node.grouping.row]
        # Sweeney's rule counts distinct values as released so far; a column at its top counts 0.
        values = [
            np.unique(ladder.node[level][codes[:, j]]).size if level < space.high[j] else 0
            for j, (ladder, level) in enumerate(zip(space.ladders, node.vector, strict=True))
        ]
        higher = node.vector.copy()
        higher[int(np.argmax(values))] += 1
        node = space.evaluate_vector(higher)
    return node
