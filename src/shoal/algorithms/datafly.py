"""Datafly: the column with the most values goes up a level, until few enough rows are left to suppress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms.fulldomain import FullDomain, Node, check_levels
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.encoding import CategoryOrder
from shoal.parameters import check
from shoal.recoding import Proposal


@dataclass(frozen=True, slots=True)
class Datafly:
    """Full-domain generalisation by a greedy rule: the column with the most different values goes up a level.

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

    def __post_init__(self) -> None:
        check(self)
        check_levels(self.levels, self.coding)

    @property
    def category_order(self) -> CategoryOrder:
        """Any will do: a flat category has no neighbours here."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Climb."""
        space = FullDomain("datafly", problem, self.levels, self.coding)
        node = climbed(space)
        if not node.permitted:
            raise space.refused()
        return space.proposal(node, nodes=int((node.vector - space.low).sum()) + 1)


def climbed(space: FullDomain) -> Node:
    """The first permitted vector on the way up, or the highest of all."""
    node = space.look(space.low)
    while not node.permitted and (node.vector < space.high).any():
        codes = space.table.codes[node.grouping.row]
        values = [
            np.unique(ladder.node[level][codes[:, j]]).size if level < space.high[j] else 0
            for j, (ladder, level) in enumerate(zip(space.ladders, node.vector, strict=True))
        ]
        higher = node.vector.copy()
        higher[int(np.argmax(values))] += 1
        node = space.look(higher)
    return node
