"""Cluster: k-member clustering inside the cells of a greedy partition, then refinement."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import check_budget, refine_proposal
from shoal.algorithms.space import ClusteringSpace, renumber_classes, split_equal_rows, transfer_classes
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError
from shoal.kernels.cluster import cluster_cells
from shoal.kernels.compiled import get_compile_progress
from shoal.kernels.refine import set_up
from shoal.support.parameters import check_fields

_SHARE = 1 << 14  # rows that one thread takes at a time


@dataclass(frozen=True, slots=True)
class Cluster(Algorithm):
    """Cuts the table into cells, grows classes in each of them row by row, then refines everything.

    A class takes in the row that widens it least until it satisfies the privacy models. Small cells make that
    near-linear in the number of rows, one cell for the whole table makes it quadratic. Where the greedy
    partition of a cell loses less than its clusters do, it is kept.

    References
    ----------
    J.-W. Byun, A. Kamra, E. Bertino, N. Li, "Efficient k-anonymization using clustering techniques",
    DASFAA 2007.
    """

    cell: int = 1600
    """Least number of rows in a cell (never less than 2k); 0 makes the whole table one cell."""
    sweeps: int = 16
    """Sweeps of refinement, see `Refine`."""
    seconds: float = 60.0
    """The budget of the refinement, see `Refine`."""
    counts_people = True
    links_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_budget("cluster", self.sweeps, self.seconds)
        if self.cell < 0:
            raise RecipeError(f"cell of algorithm cluster must be 0 or more, not {self.cell}")

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Cluster, then refine."""
        space = ClusteringSpace.from_table(problem, split_equal_rows(problem))
        greedy = transfer_classes(Mondrian().search(problem, on_progress), space.table)
        start = Proposal(space.table, cluster_rows(space, greedy, self.cell, problem.threads, on_progress))
        return refine_proposal(problem, start, self.sweeps, self.seconds, on_progress)


def cluster_rows(
    space: ClusteringSpace, greedy: NDArray[np.int32], cell: int, threads: int, on_progress: Progress = silent
) -> NDArray[np.int32]:
    """Clusters of every row, or its greedy class in the cells where those lose less."""
    cell_of = assign_cells(space, greedy, cell)
    clusters = _grow_clusters(space, cell_of, threads, on_progress)
    better = _measure_cell_losses(space, clusters, cell_of) < _measure_cell_losses(space, greedy, cell_of)
    # Greedy numbers begin after those of the clusters, so that no two classes become one.
    chosen = np.where(better[cell_of], clusters, greedy + int(clusters.max()) + 1)
    return renumber_classes(chosen)


def assign_cells(space: ClusteringSpace, greedy: NDArray[np.int32], cell: int) -> NDArray[np.int64]:
    """Cell of every row: greedy classes one after the other, which are neighbours in the tree of cuts."""
    if cell == 0:
        return np.zeros(greedy.size, np.int64)
    size = np.bincount(greedy, space.points.weight)
    # A cell of fewer rows than two classes need leaves nothing to choose.
    number = (np.cumsum(size) - size) // max(cell, 2 * space.rules.size)
    return np.asarray(np.unique(number, return_inverse=True)[1][greedy], np.int64)


def _grow_clusters(
    space: ClusteringSpace, cell_of: NDArray[np.int64], threads: int, on_progress: Progress
) -> NDArray[np.int64]:
    """Cluster of every row; -1 in cells where the privacy models were out of reach."""
    order = np.argsort(cell_of, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(cell_of))))
    fit = np.bincount(cell_of, space.points.weight) // max(space.rules.size, 1)
    # Every cell gets numbers for all classes that could fit it: threads never share a class.
    base = np.concatenate(([0], np.cumsum(np.minimum(fit, np.diff(start))))).astype(np.int64)
    boxes = space.make_boxes(int(base[-1]))
    halt = np.zeros(1, np.bool_)
    arguments = (space.points, space.measure, space.rules, space.ident, boxes, order, start, base)
    shares = np.unique(np.concatenate((np.searchsorted(start, np.arange(0, order.size, _SHARE)), [fit.size])))
    pool = ThreadPoolExecutor(max(threads, 1))
    todo = [pool.submit(cluster_cells, *arguments, *ends, halt) for ends in pairwise(shares.tolist())]
    try:
        for done, share in enumerate(todo, 1):
            while not wait([share], timeout=1.0).done:
                if (standing := get_compile_progress()) is not None:
                    on_progress(str(standing), standing.share)
            share.result()
            on_progress("clustering", done / len(todo))
    finally:
        halt[0] = True  # an interrupt is answered at once: the threads see this, but nobody waits for them
        pool.shutdown(wait=False, cancel_futures=True)
    return boxes.of


def _measure_cell_losses(
    space: ClusteringSpace, class_of: NDArray[np.integer], cell_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Loss of every cell, infinite where it has rows without a class."""
    boxes = space.make_boxes(max(int(class_of.max()) + 1, 1), class_of)
    set_up(space.points, space.measure, space.rules, space.ident, boxes)
    cost = np.where(class_of < 0, np.inf, boxes.cost[class_of])
    return np.bincount(cell_of, space.points.weight * cost).astype(np.float64)
