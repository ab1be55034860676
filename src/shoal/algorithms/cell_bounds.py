"""A bound for tables of trees, whose cells can all be looked at: one node per column, level vector by level
vector.

Every class has a cell and at least so many rows. Every row gets a price, such that no so many or more rows of
any cell have prices above what the cell loses for them; so no release loses less than all prices together.
Prices begin with the cheapest cell of each row that has enough rows, rise in every sweep, and are lowered
wherever they break the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.levels import Ladder
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.codespace.frequency import rank_rows
from shoal.kernels.cell_prices import lower_prices
from shoal.kernels.collapse import first_seen
from shoal.support.arithmetic import weighted_sum

_VECTORS = 1 << 15  # level vectors beyond which a sweep would take too long
_STEP = 25e-9  # seconds that a row takes to be grouped, sorted and judged by one of them, about
_LOOKS = 4  # at all cells: with fewer of them, prices do not rise far enough
_RISE = 0.3  # of every price in a sweep, at first
_ROUNDING = 1e-9
_ROOM = 1 << 62  # keys of several columns fit 64 bits up to here


def is_for_cell_prices(problem: Problem, seconds: float) -> bool:
    """Whether all columns have trees, of so few levels that all level vectors can be looked at some times."""
    levels = [0 if each.hierarchy is None else len(each.hierarchy.nodes) for each in problem.domains]
    each = prod(levels) * problem.table.weight.size * _STEP
    return 0 < prod(levels) <= _VECTORS and _LOOKS * each <= seconds


def find_bound_by_cells(problem: Problem, size: int, seconds: float, on_progress: Progress = silent) -> float:
    """What every release loses at least, from 0 to 1.

    Parameters
    ----------
    size : int
        Least number of rows of a class.
    seconds : float
        As for `shoal.algorithms.bounds.find_lower_bound`; one look at all cells is taken in any case.
    """
    cells = _TreeCells(problem)
    each = cells.vectors * cells.weight.size * _STEP
    price = cells.find_cheapest(size)
    left = seconds - each
    best, rise = cells.weigh(price), _RISE
    while left > each:
        left -= each
        higher = cells.lower(price * (1 + rise), size)
        if cells.weigh(higher) > best:
            price, best = higher, cells.weigh(higher)
        else:
            rise /= 2
        on_progress("bounding the loss", min(1 - left / seconds, 1.0))
    return max(best * (1 - _ROUNDING) - _ROUNDING, 0.0)


class _TreeCells:
    """All cells that rows can be in."""

    def __init__(self, problem: Problem) -> None:
        codes = problem.table.codes.astype(np.int64)
        self.weight = problem.table.weight
        ladders = [Ladder.from_domain(domain) for domain in problem.domains]
        self._node = [ladder.node[:, codes[:, j]].astype(np.uint64) for j, ladder in enumerate(ladders)]
        self._nodes = [[int(level.max()) + 1 for level in ladder.node] for ladder in ladders]
        self._cost = [ladder.width[:, codes[:, j]] * problem.weights[j] for j, ladder in enumerate(ladders)]
        # A level that repeats the one below has the same cells.
        alike = [ladder.lowest_alike() for ladder in ladders]
        self._levels = [[i for i, lowest in enumerate(each.tolist()) if lowest == i] for each in alike]
        self.vectors = prod(map(len, self._levels))
        self._whole = float(problem.weights.sum())

    def weigh(self, price: NDArray[np.float64]) -> float:
        """All prices together, as a share of what would be lost at most."""
        # A suppressed row loses everything, whatever the others do.
        lost = weighted_sum(np.minimum(price, self._whole), self.weight.astype(np.float64))
        return float(lost / (self.weight.sum() * self._whole))

    def _iterate_vectors(
        self, price: NDArray[np.float64]
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """The cell of every row and what the row loses there, for level vectors where some price is more."""
        for vector in product(*self._levels):
            cost = np.zeros(self.weight.size)
            for j, level in enumerate(vector):
                cost += self._cost[j][level]
            if not (price > cost).any():
                continue
            columns = [self._node[j][level] for j, level in enumerate(vector)]
            sizes = [self._nodes[j][level] for j, level in enumerate(vector)]
            yield _number_rows(columns, sizes), cost

    def find_cheapest(self, size: int) -> NDArray[np.float64]:
        """What each row loses in the cheapest cell that has rows enough: no class with it is cheaper."""
        price = np.full(self.weight.size, self._whole)
        for cell, cost in self._iterate_vectors(price):
            rows = np.bincount(cell, self.weight)[cell]
            # In place: what is passed over is decided by the prices of now.
            np.copyto(price, cost, where=(rows >= size) & (cost < price))
        return price

    def lower(self, price: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """Prices that keep the rule: each is lowered as much as the worst of its cells asks for."""
        factor = np.ones(price.size)
        by_price = np.argsort(-price, kind="stable")
        for cell, cost in self._iterate_vectors(price):
            # Of 16 bits, a stable sort takes the time of counting.
            short = cell.astype(np.uint16) if cell.size <= 1 << 16 else cell
            order = by_price[np.argsort(short[by_price], kind="stable")]
            lower_prices(order, cell, price, cost, self.weight, size, factor)
        return price * factor


def _number_rows(columns: list[NDArray[np.uint64]], sizes: list[int]) -> NDArray[np.int32]:
    """Numbers of rows that are alike in all columns."""
    if prod(sizes) > _ROOM:
        return rank_rows(columns, sizes)
    key = np.zeros(columns[0].size, np.uint64)
    for column, size in zip(columns, sizes, strict=True):
        if size > 1:
            key *= np.uint64(size)
            key += column
    # In no order: sorting them would take longer than all else.
    number = np.empty(key.size, np.int32)
    first_seen(key, number)
    return number
