"""Microaggregate: classes of similar numbers, each released as its centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.cluster import assign_cells
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.space import (
    ClusteringSpace,
    Worker,
    renumber_classes,
    split_equal_rows,
    start_worker,
    transfer_classes,
)
from shoal.codespace.recoding import Centre, Proposal
from shoal.errors import RecipeError, quote
from shoal.kernels.mdav import find_mdav_groups
from shoal.kernels.regroup import improve_groups
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class Microaggregate(Algorithm):
    """Groups rows with similar numbers and releases every group as its centre, so that numbers stay numbers.

    MDAV: around the row farthest from the middle of all, the nearest rows make a group; so do those around
    the row farthest from that one; and so on with the rest. Then rows change places, and groups are given up
    or divided, as long as that brings rows nearer to their centroids. Distances are Euclidean, columns
    standardised. Means are rounded to what the column can hold, so that days stay days. Quadratic in the rows
    of a cell.

    References
    ----------
    J. Domingo-Ferrer, J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14(1), 2002.
    """

    centre: Centre = "mean"
    """Release the mean of a class, which nobody need have, or its median, which somebody has."""
    cell: int = 20_000
    """Least number of rows in the greedy cells that larger tables are cut into first; 0 for one cell."""
    sweeps: int = 50
    """How often all rows are looked at to make the groups of MDAV tighter; 0 for MDAV alone."""
    counts_people = True
    releases_one_value = True

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("cell", "sweeps"):
            if getattr(self, name) < 0:
                raise RecipeError(
                    f"{name} of algorithm microaggregate must be 0 or more, not {getattr(self, name)}"
                )

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Group the rows, cell by cell."""
        _check_problem(problem)
        space = ClusteringSpace.from_table(problem, split_equal_rows(problem))
        greedy = transfer_classes(Mondrian().search(problem, on_progress), space.table)
        cell_of = assign_cells(space, greedy, self.cell)
        class_of, last = np.empty(cell_of.size, np.int64), int(cell_of.max())
        with start_worker(on_progress) as run:
            for cell in range(last + 1):
                rows = np.flatnonzero(cell_of == cell)
                # Greedy classes keep the privacy models where groups cannot; their numbers must not meet.
                groups = _group_rows(space, rows, self.sweeps, run)
                number = np.where(groups < 0, last + 1, cell) * cell_of.size
                class_of[rows] = number + np.where(groups < 0, greedy[rows], groups)
                on_progress("grouping", (cell + 1) / (last + 1))
        return Proposal(space.table, renumber_classes(class_of), centre=self.centre)


def _check_problem(problem: Problem) -> None:
    """Refuse columns of which there is no mean, and goals that one number for a class cannot meet."""
    if problem.population is not None:
        raise RecipeError(
            "algorithm microaggregate releases one number for a class, which nobody need have: "
            "take another one for models with a population"
        )
    if other := [domain.name for domain in problem.domains if not domain.has_ranges]:
        raise RecipeError(
            f"algorithm microaggregate takes numbers, dates and ordered columns only, and {quote(other)} "
            "cannot be put in order: leave them out of the quasi-identifiers or choose another algorithm"
        )
    if missing := [domain.name for domain in problem.domains if domain.missing is not None]:
        raise RecipeError(
            f"algorithm microaggregate cannot take means with values missing in {quote(missing)}: "
            "take --missing drop or another algorithm"
        )


def _group_rows(
    space: ClusteringSpace, rows: NDArray[np.int64], sweeps: int, run: Worker
) -> NDArray[np.int64]:
    """Groups of some rows by MDAV, made tighter; -1 where the privacy models are out of reach."""
    x, weight = space.points.place[rows], space.points.weight[rows]
    mean = np.average(x, axis=0, weights=weight)
    deviation = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    # The places are scaled by the columns' weights: standardise, and put the weights back.
    scale = np.where(deviation > 0, space.measure.whole / np.where(deviation > 0, deviation, 1.0), 0.0)
    groups: NDArray[np.int64] = run(find_mdav_groups, x * scale, weight, space.rules, space.ident[rows])
    if sweeps == 0 or groups[0] < 0:
        return groups
    # Squared lengths are compared: around the mean they are small, and their digits count.
    return np.asarray(
        run(improve_groups, (x - mean) * scale, weight, space.rules, space.ident[rows], groups, sweeps)
    )
