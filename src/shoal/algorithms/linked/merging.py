"""Cells that are merged with the cells nearest to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import Rows
from shoal.algorithms.problem import Problem

_MERGED = 0.25  # share of the cells to be merged that are, before all are looked at anew


@dataclass(frozen=True, slots=True, eq=False)
class MergedCells:
    """Cells of rows, or of people as wide rows, which are merged with each other."""

    problem: Problem
    """The columns in which they have widths."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """[cells, columns] the least and the greatest code."""
    size: NDArray[np.int64]
    """[cells] number of rows."""
    table: NDArray[np.int64] | None = None
    """[cells] the table that its rows are of, where there are several: only cells of one table are merged."""

    @classmethod
    def from_rows(
        cls, problem: Problem, cell: NDArray[np.int64], table_of: NDArray[np.int64] | None = None
    ) -> MergedCells:
        """The cells of rows; of those that are left out the cell is -1."""
        kept = np.flatnonzero(cell >= 0)
        cells, columns = int(cell.max()) + 1, len(problem.domains)
        low = np.full((cells, columns), np.iinfo(np.int64).max)
        high = np.full((cells, columns), -1)
        for j, codes in enumerate(problem.rows.quasi):
            np.minimum.at(low[:, j], cell[kept], codes[kept].astype(np.int64))
            np.maximum.at(high[:, j], cell[kept], codes[kept].astype(np.int64))
        table = None
        if table_of is not None:
            table = np.zeros(cells, np.int64)
            table[cell[kept]] = table_of[kept]
        return cls(problem, low, high, np.bincount(cell[kept], minlength=cells), table)

    def select(self, cells: Rows) -> MergedCells:
        """Some of the cells."""
        table = None if self.table is None else self.table[cells]
        return MergedCells(self.problem, self.low[cells], self.high[cells], self.size[cells], table)

    def find_nearest(self, chosen: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """For each chosen cell, the cell with which it is merged at least cost, and this cost.

        It is infinite where there is no other cell to merge it with.
        """
        own = self._compute_widths(self.low, self.high)
        wide = np.zeros((chosen.size, self.size.size))
        for j, domain in enumerate(self.problem.domains):
            low = np.minimum(self.low[chosen][:, None, j], self.low[None, :, j])
            high = np.maximum(self.high[chosen][:, None, j], self.high[None, :, j])
            width = domain.compute_widths(*domain.snap(low.ravel(), high.ravel()))
            wide += self.problem.weights[j] * width.reshape(wide.shape)
        cost = self.size[chosen][:, None] * (wide - own[chosen][:, None]) + self.size * (wide - own)
        cost[np.arange(chosen.size), chosen] = np.inf
        if self.table is not None:
            cost[self.table[chosen][:, None] != self.table] = np.inf
        nearest = cost.argmin(axis=1)
        return nearest, cost[np.arange(chosen.size), nearest]

    def _compute_widths(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        widths = [
            domain.compute_widths(*domain.snap(low[:, j], high[:, j]))
            for j, domain in enumerate(self.problem.domains)
        ]
        return np.asarray(sum(self.problem.weights[j] * width for j, width in enumerate(widths)), np.float64)


def merge_cheapest(
    cell: NDArray[np.int64], chosen: Rows, nearest: Rows, cost: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Merge the cheapest of some cells with the cells nearest to them, each cell once."""
    number = np.arange(int(cell.max()) + 1)
    order = np.argsort(cost, kind="stable")
    taken = np.zeros(number.size, np.bool_)
    for at in order[: max(1, int(_MERGED * chosen.size))].tolist():
        one, other = int(chosen[at]), int(nearest[at])
        if not taken[one] and not taken[other]:
            number[one] = other
            taken[one] = taken[other] = True
    return np.append(number, -1)[cell]


def renumber_cells(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same cells, numbered without gaps; -1 stays -1."""
    number = np.unique(cell, return_inverse=True)[1]
    return np.asarray(number - int((cell < 0).any()), np.int64)
