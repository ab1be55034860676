"""Samarati: the lowest height at which some level vector does, by binary search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.fulldomain import FullDomain, check_levels
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.encoding import CategoryOrder
from shoal.parameters import check
from shoal.recoding import Proposal

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Samarati:
    """Full-domain generalisation of least height: the sum of the levels of all columns is as small as can be.

    The height is found by binary search: if some level vector of a height satisfies the models with as few
    suppressed rows as permitted, some of every greater height does. Of the vectors of that height the one
    that suppresses least is taken, and of several such the one that loses least. For teaching and comparison.

    References
    ----------
    P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
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
        """Halve the heights, then compare the vectors of the lowest one that does."""
        space = FullDomain("samarati", problem, self.levels, self.coding)
        low, high = 0, int((space.high - space.low).sum())
        nodes = 0
        while low < high:
            middle = (low + high) // 2
            found = False
            for vector in vectors_of(space, middle):
                nodes += 1
                if found := space.look(vector).permitted:
                    break
            low, high = (low, middle) if found else (middle + 1, high)
            on_progress("halving the heights", 1 / (1 + high - low))
        best = self._best(space, low)
        return space.proposal(space.look(best), nodes=nodes)

    def _best(self, space: FullDomain, height: int) -> Ints:
        """The permitted vector of a height that suppresses least."""
        permitted = [
            (node.figures.suppressed, node.loss, tuple(node.vector))
            for node in map(space.look, vectors_of(space, height))
            if node.permitted
        ]
        if not permitted:
            raise space.refused()
        return np.array(min(permitted)[2])


def vectors_of(space: FullDomain, height: int) -> Iterator[Ints]:
    """All permitted level vectors of which the levels add up to a height above the lowest."""
    room = (space.high - space.low).tolist()

    def below(j: int, left: int) -> Iterator[tuple[int, ...]]:
        if j == len(room):
            yield ()
            return
        for level in range(max(0, left - sum(room[j + 1 :])), min(room[j], left) + 1):
            yield from ((level, *rest) for rest in below(j + 1, left - level))

    for steps in below(0, height):
        yield space.low + np.array(steps, np.int64)
