"""Samarati: the lowest height at which some level vector does, by binary search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.datafly import climb_levels
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.fulldomain import FullDomain, LatticeNode, check_levels
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.recoding import Proposal
from shoal.support.parameters import check_fields

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Samarati(Algorithm):
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

    seconds: float | None = 60.0
    """Time after which it ends with the lowest height found so far, and the best vector seen there, or with
    the levels of `Datafly` if they lose less; none for no limit. What the clock ends may end otherwise the
    next time."""
    counts_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_levels(self.levels, self.coding, self.seconds)

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Halve the heights, then compare the vectors of the lowest one that does."""
        space = FullDomain("samarati", problem, self.levels, self.coding)
        budget = Budget(self.seconds, on_progress=on_progress)
        # A quick and good vector first, so that the limit never costs more than that algorithm would.
        quick = climb_levels(space, budget)
        height, seen = _find_lowest_height(space, budget)
        best = _find_best_vector(space, height, budget, seen)
        if budget.is_over and quick.is_permitted:
            best = _choose_cheaper(space, quick, best)
        if best is None:
            raise space.make_timeout_error(self.seconds) if budget.is_over else space.make_unreachable_error()
        notes: tuple[str, ...] = ()
        if budget.is_over:
            notes = (
                f"the limit of {self.seconds:g} seconds was reached: levels of less height, or of the same "
                "height with less loss, may do as well",
            )
        return space.build_proposal(space.evaluate_vector(best), nodes=budget.nodes, notes=notes)


def _choose_cheaper(space: FullDomain, quick: LatticeNode, best: Ints | None) -> Ints:
    """Of two vectors, neither of which need be the best, the one that loses less."""
    is_cheaper = best is None or quick.loss < space.evaluate_vector(best).loss
    return quick.vector if is_cheaper else best  # type: ignore[return-value]


def _find_lowest_height(space: FullDomain, budget: Budget) -> tuple[int, LatticeNode | None]:
    """The lowest height with a permitted vector that there was time to find, and such a vector, if seen."""
    low, high = 0, int((space.high - space.low).sum())
    seen: LatticeNode | None = None
    # `high` has a permitted vector or is the top, whose one vector is looked at in any case.
    while low < high and not budget.is_over:
        middle = (low + high) // 2
        found = _find_first_vector(space, middle, budget)
        if found is not None:
            high, seen = middle, found
        # A height is ruled out only if all of its vectors were looked at.
        elif not budget.is_over:
            low = middle + 1
        budget.on_progress("halving the heights", 1 / (1 + high - low))
    return high, seen


def _find_first_vector(space: FullDomain, height: int, budget: Budget) -> LatticeNode | None:
    """The first permitted vector of a height, if there was time to find one."""
    for vector in list_vectors(space, height):
        node = space.evaluate_vector(vector)
        if node.is_permitted:
            budget.count_states()
            return node
        if not budget.count_states():
            return None
    return None


def _find_best_vector(
    space: FullDomain, height: int, budget: Budget, seen: LatticeNode | None
) -> Ints | None:
    """The permitted vector of a height that suppresses least, of those that there was time to look at."""
    best = None if seen is None else _rank_node(seen)
    for vector in list_vectors(space, height):
        if budget.is_over and best is not None:
            break
        node = space.evaluate_vector(vector)
        if node.is_permitted and (best is None or _rank_node(node) < best):
            best = _rank_node(node)
        if budget.is_over:  # of the greatest height there is one vector, which is always looked at
            break
    return None if best is None else np.array(best[2])


def _rank_node(node: LatticeNode) -> tuple[int, float, tuple[int, ...]]:
    return node.figures.suppressed, node.loss, tuple(node.vector)


def list_vectors(space: FullDomain, height: int) -> Iterator[Ints]:
    """All permitted level vectors of which the levels add up to a height above the lowest."""
    heights = (space.high - space.low).tolist()

    def extend_steps(j: int, left: int) -> Iterator[tuple[int, ...]]:
        if j == len(heights):
            yield ()
            return
        # At least what the columns after this one cannot take.
        for level in range(max(0, left - sum(heights[j + 1 :])), min(heights[j], left) + 1):
            yield from ((level, *rest) for rest in extend_steps(j + 1, left - level))

    for steps in extend_steps(0, height):
        yield space.low + np.array(steps, np.int64)
