"""Cluster: k-member clustering inside the cells of a greedy partition, then refinement."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.refine import check_budget, refined
from shoal.algorithms.space import Space, carried, numbered, pieces
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError
from shoal.kernels.cluster import cluster_cells
from shoal.kernels.compiled import is_compiled
from shoal.kernels.refine import set_up
from shoal.parameters import check
from shoal.recoding import Proposal

_SHARE = 1 << 14  # rows that one thread takes at a time


@dataclass(frozen=True, slots=True)
class Cluster:
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

    def __post_init__(self) -> None:
        check(self)
        check_budget("cluster", self.sweeps, self.seconds)
        if self.cell < 0:
            raise RecipeError(f"cell of algorithm cluster must be 0 or more, not {self.cell}")

    @property
    def category_order(self) -> CategoryOrder:
        """By frequency, as the greedy partition that it starts from."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Cluster, then refine."""
        space = Space.of(problem, pieces(problem))
        greedy = carried(Mondrian().search(problem, on_progress), space.table)
        start = Proposal(space.table, clustered(space, greedy, self.cell, problem.threads, on_progress))
        return refined(problem, start, self.sweeps, self.seconds, on_progress)


def clustered(
    space: Space, greedy: NDArray[np.int32], cell: int, threads: int, on_progress: Progress = silent
) -> NDArray[np.int32]:
    """Clusters of every row, or its greedy class in the cells where those lose less."""
    cell_of = cells(space, greedy, cell)
    clusters = _clusters(space, cell_of, threads, on_progress)
    better = _loss(space, clusters, cell_of) < _loss(space, greedy, cell_of)
    chosen = np.where(better[cell_of], clusters, greedy + int(clusters.max()) + 1)
    return numbered(chosen)


def cells(space: Space, greedy: NDArray[np.int32], cell: int) -> NDArray[np.int64]:
    """Cell of every row: greedy classes one after the other, which are neighbours in the tree of cuts."""
    if cell == 0:
        return np.zeros(greedy.size, np.int64)
    size = np.bincount(greedy, space.points.weight)
    number = (np.cumsum(size) - size) // max(cell, 2 * space.rules.size)
    return np.asarray(np.unique(number, return_inverse=True)[1][greedy], np.int64)


def _clusters(
    space: Space, cell_of: NDArray[np.int64], threads: int, on_progress: Progress
) -> NDArray[np.int64]:
    """Cluster of every row; -1 in cells where the privacy models were out of reach."""
    order = np.argsort(cell_of, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(cell_of))))
    fit = np.bincount(cell_of, space.points.weight) // max(space.rules.size, 1)
    base = np.concatenate(([0], np.cumsum(np.minimum(fit, np.diff(start))))).astype(np.int64)
    boxes = space.boxes(int(base[-1]))
    halt = np.zeros(1, np.bool_)
    arguments = (space.points, space.measure, space.rules, space.ident, boxes, order, start, base)
    shares = np.unique(np.concatenate((np.searchsorted(start, np.arange(0, order.size, _SHARE)), [fit.size])))
    pool = ThreadPoolExecutor(max(threads, 1))
    todo = [pool.submit(cluster_cells, *arguments, *ends, halt) for ends in pairwise(shares.tolist())]
    try:
        for done, share in enumerate(todo, 1):
            while not wait([share], timeout=1.0).done:
                if not is_compiled(cluster_cells):
                    on_progress("compiling kernels, once on this machine", 0.0)
            share.result()
            on_progress("clustering", done / len(todo))
    finally:
        halt[0] = True  # an interrupt is answered at once: the threads see this, but nobody waits for them
        pool.shutdown(wait=False, cancel_futures=True)
    return boxes.of


def _loss(space: Space, class_of: NDArray[np.integer], cell_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Loss of every cell, infinite where it has rows without a class."""
    boxes = space.boxes(max(int(class_of.max()) + 1, 1), class_of)
    set_up(space.points, space.measure, space.rules, space.ident, boxes)
    cost = np.where(class_of < 0, np.inf, boxes.cost[class_of])
    return np.bincount(cell_of, space.points.weight * cost).astype(np.float64)
