"""Peel: release what can be released with the least loss, then what can with a little more, and so on."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.levels import Ladder, draw_node_words
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import check_budget, refine_proposal
from shoal.algorithms.space import (
    ClusteringSpace,
    Worker,
    renumber_classes,
    split_equal_rows,
    start_worker,
)
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError
from shoal.kernels.cluster import join_cheapest_classes
from shoal.kernels.peel import merge_leftover_rows, peel_classes
from shoal.kernels.refine import set_up
from shoal.kernels.rules import estimate_usual_counts
from shoal.support.arithmetic import weighted_sum
from shoal.support.parameters import check_fields

_VISITS = 8  # of a level vector at most: more do not find better classes
_OFFERS = 1 << 28  # how often rows that are left over are offered to classes, at most, in all


@dataclass(frozen=True, slots=True)
class Peel(Algorithm):
    """Takes cells in the order of their loss, and releases those that satisfy the models.

    A level vector says for every column how far up its hierarchy all values go. Rows that are equal then, and
    enough, become a class and leave; the rest waits. Every vector is visited several times and releases its
    narrow cells first, since its wide ones lose more than the narrow ones of other vectors. Where there are
    too many of one sensitive value among equal rows, as many wait, too. Rows that no vector released join the
    class where that adds least to the loss. Then the classes are refined. A number or date without a
    hierarchy is divided into ever fewer equal parts; a flat category is kept or given up. Suits columns with
    hierarchies, and models that compare how frequent sensitive values are.

    References
    ----------
    F. Prasser, R. Bild, K. A. Kuhn, "A generic method for assessing the quality of de-identified health
    data", MIE 2016 (local recoding by repeated full-domain generalisation).
    """

    vectors: int = 20_000
    """How many visits of level vectors there are, at most: up to eight of each. Where there are more vectors,
    so many of them by chance are visited once."""
    sweeps: int = 4
    """Sweeps of refinement, see `Refine`."""
    seconds: float = 60.0
    """The budget of the refinement, see `Refine`."""
    works_on_counted_rows = True
    counts_people = True
    links_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_budget("peel", self.sweeps, self.seconds)
        if self.vectors < 1:
            raise RecipeError(f"vectors of algorithm peel must be 1 or more, not {self.vectors}")

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Peel, then refine."""
        with start_worker(on_progress) as run:
            start = build_peel_proposal(problem, self.vectors, run)
        return refine_proposal(problem, start, self.sweeps, self.seconds, on_progress)


def build_peel_proposal(problem: Problem, most: int, run: Worker) -> Proposal:
    """Classes by ``most`` visits of level vectors."""
    # Trimming takes single rows out of a group, so equal rows must not stand as one.
    table = split_equal_rows(problem, every=True) if problem.has_value_limits else problem.table
    rules = problem.build_rules(table)
    problem.refuse_negative_weights("peel")
    ladders = [Ladder.from_domain(domain) for domain in problem.domains]
    vectors = _list_level_vectors([ladder.top_level + 1 for ladder in ladders], most, problem.seed)
    vectors, lost = _order_visits(problem, table, ladders, vectors, most // len(vectors))
    word, begin = draw_node_words(ladders)
    cost = [ladder.width.ravel() * weight for ladder, weight in zip(ladders, problem.weights, strict=True)]
    starts = np.stack([begin[j][vectors[:, j]] for j in range(len(ladders))], axis=1)
    usual = estimate_usual_counts(rules)
    arguments = table.codes, table.weight, rules, usual, word, np.concatenate(cost), starts, lost
    class_of = run(peel_classes, *arguments)
    if (class_of < 0).any():
        class_of = _place_remaining_rows(problem, table, class_of, run)
    return Proposal(table, renumber_classes(class_of), nodes=len(vectors))


def _order_visits(
    problem: Problem,
    table: FrequencyTable,
    ladders: list[Ladder],
    vectors: NDArray[np.int64],
    visits: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Which vector comes when, and what a row loses at most in the cells that it then releases."""
    # All are sums over the columns, each known from the level alone.
    mean, least, greatest = np.zeros((3, len(vectors)))
    for j, (ladder, weight) in enumerate(zip(ladders, problem.weights, strict=True)):
        level = vectors[:, j]
        times = table.count_codes(j, ladder.domain.size)
        here = ladder.width[:, times > 0]
        mean += (weight * weighted_sum(ladder.width, times) / table.rows)[level]
        least += (weight * here.min(axis=1))[level]
        greatest += (weight * here.max(axis=1))[level]
    visits = min(max(visits, 1), _VISITS)
    if visits == 1:
        order = np.argsort(mean, kind="stable")
        return vectors[order], np.full(len(order), np.inf)
    share = np.arange(1, visits + 1) / visits
    most = (least[:, None] + np.outer(greatest - least, share)).ravel()
    order = np.argsort(most, kind="stable")
    # The last visit releases whatever there is, however sums were rounded.
    most[visits - 1 :: visits] = np.inf
    return vectors[order // visits], most[order]


def _place_remaining_rows(
    problem: Problem, table: FrequencyTable, class_of: NDArray[np.int64], run: Worker
) -> NDArray[np.int64]:
    """Let rows without a class join the one where they add least to the loss, or several that they undo."""
    space = ClusteringSpace.from_table(problem, table)
    rest, classes = np.flatnonzero(class_of < 0), int(class_of.max()) + 1
    boxes = space.make_boxes(max(classes, 1), class_of)
    arguments = (space.points, space.measure, space.rules, space.ident, boxes)
    set_up(*arguments)
    # The classes that were made last are wide already.
    offered = np.arange(max(0, classes - _OFFERS // rest.size), classes)
    run(join_cheapest_classes, *arguments, rest, offered)
    # No class could take these rows: with the last ones, which are widest, they become one class.
    if (boxes.of < 0).any():
        run(merge_leftover_rows, space.rules, table.weight, boxes.of)
    return boxes.of


def _list_level_vectors(heights: list[int], most: int, seed: int) -> NDArray[np.int64]:
    """All level vectors, or ``most`` of them by chance, with the last one among them."""
    number = prod(heights)
    if number <= most:
        return np.stack([level.ravel() for level in np.indices(heights)], axis=1)
    random = np.random.default_rng(seed)
    chosen = [random.integers(0, height, most - 1) for height in heights]
    last = [height - 1 for height in heights]
    # The last vector makes all rows equal; without it, many could be left without a class.
    return np.concatenate((np.unique(np.stack(chosen, axis=1), axis=0), [last]))
