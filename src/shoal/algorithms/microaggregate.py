"""Microaggregate: classes of similar numbers, each released as its centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.cluster import cells
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.space import Run, Space, carried, numbered, pieces, worker
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError, quote
from shoal.kernels.mdav import mdav
from shoal.parameters import check
from shoal.recoding import Centre, Proposal


@dataclass(frozen=True, slots=True)
class Microaggregate:
    """Groups rows with similar numbers and releases every group as its centre, so that numbers stay numbers.

    MDAV: around the row farthest from the middle of all, the nearest rows make a group; so do those around
    the row farthest from that one; and so on with the rest. Distances are Euclidean, columns standardised.
    The centre is a value of the column (that nearest the mean, or the median), so dates stay dates too.
    Quadratic in the rows of a cell.

    References
    ----------
    J. Domingo-Ferrer, J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14(1), 2002.
    """

    centre: Centre = "mean"
    """Release the value nearest the mean of a class, or its median."""
    cell: int = 20_000
    """Least number of rows in the greedy cells that larger tables are cut into first; 0 for one cell."""

    def __post_init__(self) -> None:
        check(self)
        if self.cell < 0:
            raise RecipeError(f"cell of algorithm microaggregate must be 0 or more, not {self.cell}")

    @property
    def category_order(self) -> CategoryOrder:
        """Of no importance: it takes no categories."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Group the rows, cell by cell."""
        _check(problem)
        space = Space.of(problem, pieces(problem))
        greedy = carried(Mondrian().search(problem, on_progress), space.table)
        cell_of = cells(space, greedy, self.cell)
        class_of, last = np.empty(cell_of.size, np.int64), int(cell_of.max())
        with worker(on_progress) as run:
            for cell in range(last + 1):
                rows = np.flatnonzero(cell_of == cell)
                # Greedy classes keep the privacy models where groups cannot; their numbers must not meet.
                groups = _groups(space, rows, run)
                number = np.where(groups < 0, last + 1, cell) * cell_of.size
                class_of[rows] = number + np.where(groups < 0, greedy[rows], groups)
                on_progress("grouping", (cell + 1) / (last + 1))
        return Proposal(space.table, numbered(class_of), centre=self.centre)


def _check(problem: Problem) -> None:
    """Refuse columns of which there is no mean, and goals that one number for a class cannot meet."""
    if problem.population is not None:
        raise RecipeError(
            "algorithm microaggregate releases one number for a class, which nobody need have: "
            "take another one for models with a population"
        )
    if other := [domain.name for domain in problem.domains if not domain.ranges]:
        raise RecipeError(
            f"algorithm microaggregate takes numbers, dates and ordered columns only, and {quote(other)} "
            "cannot be put in order: leave them out of the quasi-identifiers or choose another algorithm"
        )
    if missing := [domain.name for domain in problem.domains if domain.missing is not None]:
        raise RecipeError(
            f"algorithm microaggregate cannot take means with values missing in {quote(missing)}: "
            "take --missing drop or another algorithm"
        )


def _groups(space: Space, rows: NDArray[np.int64], run: Run) -> NDArray[np.int64]:
    """Groups of some rows by MDAV, -1 where the privacy models are out of reach."""
    x, weight = space.points.place[rows], space.points.weight[rows]
    mean = np.average(x, axis=0, weights=weight)
    deviation = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    # The places are scaled by the columns' weights: standardise, and put the weights back.
    scale = np.where(deviation > 0, space.measure.whole / np.where(deviation > 0, deviation, 1.0), 0.0)
    groups: NDArray[np.int64] = run(mdav, x * scale, weight, space.rules, space.ident[rows])
    return groups
