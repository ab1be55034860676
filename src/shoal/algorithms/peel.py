"""Peel: release what can be released with the least loss, then what can with a little more, and so on."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.levels import Ladder, words
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.refine import check_budget, refined
from shoal.algorithms.space import Run, Space, numbered, pieces, worker
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError
from shoal.frequency import FrequencyTable
from shoal.kernels.cluster import place_all
from shoal.kernels.peel import give_back, peel
from shoal.kernels.refine import set_up
from shoal.kernels.rules import usual
from shoal.parameters import check
from shoal.recoding import Proposal

_OFFERS = 1 << 28  # how often rows that are left over are offered to classes, at most, in all


@dataclass(frozen=True, slots=True)
class Peel:
    """Takes level vectors in the order of their loss; each releases the groups that satisfy the models.

    A level vector says for every column how far up its hierarchy all values go. Rows that are equal then, and
    enough, become a class and leave; the rest waits for the next vector. Where there are too many of one
    sensitive value among them, as many wait, too. Rows that no vector released join the class where that adds
    least to the loss. Then the classes are refined. A number or date without a hierarchy is divided into ever
    fewer equal parts; a flat category is kept or given up. Suits columns with hierarchies, and models that
    compare how frequent sensitive values are.

    References
    ----------
    F. Prasser, R. Bild, K. A. Kuhn, "A generic method for assessing the quality of de-identified health
    data", MIE 2016 (local recoding by repeated full-domain generalisation).
    """

    vectors: int = 20_000
    """How many level vectors are tried, at most; where there are more, so many of them by chance."""
    sweeps: int = 4
    """Sweeps of refinement, see `Refine`."""
    seconds: float = 60.0
    """The budget of the refinement, see `Refine`."""

    def __post_init__(self) -> None:
        check(self)
        check_budget("peel", self.sweeps, self.seconds)
        if self.vectors < 1:
            raise RecipeError(f"vectors of algorithm peel must be 1 or more, not {self.vectors}")

    @property
    def category_order(self) -> CategoryOrder:
        """By frequency, as what it is refined with."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Peel, then refine."""
        with worker(on_progress) as run:
            start = peeled(problem, self.vectors, run)
        return refined(problem, start, self.sweeps, self.seconds, on_progress)


def peeled(problem: Problem, most: int, run: Run) -> Proposal:
    """Classes by ``most`` level vectors."""
    table = pieces(problem, every=True) if problem.trims else problem.table
    rules = problem.rules(table)
    if (problem.weights < 0).any():
        raise RecipeError("peel takes weights from 0 up; mingen and genetic take any")
    ladders = [Ladder.of(domain) for domain in problem.domains]
    costs = [
        weight * np.array([np.dot(table.values(j, ladder.domain.size), width) for width in ladder.width])
        for j, (ladder, weight) in enumerate(zip(ladders, problem.weights, strict=True))
    ]
    vectors = _vectors([ladder.top + 1 for ladder in ladders], most, problem.seed)
    loss = sum(cost[vectors[:, j]] for j, cost in enumerate(costs))
    vectors = vectors[np.argsort(loss, kind="stable")]
    word, begin = words(ladders)
    starts = np.stack([begin[j][vectors[:, j]] for j in range(len(ladders))], axis=1)
    class_of = run(peel, table.codes, table.weight, rules, usual(rules), word, starts)
    if (class_of < 0).any():
        class_of = _with_rest(problem, table, class_of, run)
    return Proposal(table, numbered(class_of), nodes=len(vectors))


def _with_rest(
    problem: Problem, table: FrequencyTable, class_of: NDArray[np.int64], run: Run
) -> NDArray[np.int64]:
    """Let rows without a class join the one where they add least to the loss, or several that they undo."""
    space = Space.of(problem, table)
    rest, classes = np.flatnonzero(class_of < 0), int(class_of.max()) + 1
    boxes = space.boxes(max(classes, 1), class_of)
    arguments = (space.points, space.measure, space.rules, space.ident, boxes)
    set_up(*arguments)
    # The classes that were made last are wide already.
    offered = np.arange(max(0, classes - _OFFERS // rest.size), classes)
    run(place_all, *arguments, rest, offered)
    if (boxes.of < 0).any():
        run(give_back, space.rules, table.weight, boxes.of)
    return boxes.of


def _vectors(heights: list[int], most: int, seed: int) -> NDArray[np.int64]:
    """All level vectors, or ``most`` of them by chance, with the last one among them."""
    number = prod(heights)
    if number <= most:
        return np.stack([level.ravel() for level in np.indices(heights)], axis=1)
    random = np.random.default_rng(seed)
    chosen = [random.integers(0, height, most - 1) for height in heights]
    last = [height - 1 for height in heights]
    return np.concatenate((np.unique(np.stack(chosen, axis=1), axis=0), [last]))
