"""Prices of rows that no cell of a table of trees is too cheap for, level vector by level vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel

_HALVINGS = 30  # of the factor by which prices are lowered; the lower end is kept, which is safe
_LITTLE = 1e-12  # above a cell's cost by rounding


@inner_kernel
def _measure_excess(
    rows: NDArray[np.int64],
    first: int,
    last: int,
    price: NDArray[np.float64],
    factor: float,
    most: float,
    weight: NDArray[np.int64],
    size: int,
) -> float:
    """By how much the prices of any ``size`` rows or more of a cell can exceed its cost ``most`` for them.

    Rows stand by descending price: the dearest ``size`` of them, and all others with a price above the cost.
    """
    taken = 0
    sum_ = 0.0
    for at in range(first, last):
        here = weight[rows[at]]
        if price[rows[at]] * factor <= most:
            here = min(here, size - taken)
        if here <= 0:
            break
        taken += here
        sum_ += here * (price[rows[at]] * factor - most)
    return sum_


@entry_kernel
def lower_prices(
    order: NDArray[np.int64],
    cell: NDArray[np.int32],
    price: NDArray[np.float64],
    cost: NDArray[np.float64],
    weight: NDArray[np.int64],
    size: int,
    factor: NDArray[np.float64],
) -> int:
    """Lower the ``factor`` of all rows of a cell whose prices are too high for what the cell loses.

    Parameters
    ----------
    order : int64[n]
        Rows by cell, those of a cell by descending price.
    cost : float64[n]
        What a row loses in its cell.
    size : int
        Least number of rows of a class.
    factor : float64[n]
        Changed in place.

    Returns
    -------
    the number of cells that were too cheap
    """
    found = 0
    first = 0
    while first < order.size:
        last = first
        rows = 0
        while last < order.size and cell[order[last]] == cell[order[first]]:
            rows += weight[order[last]]
            last += 1
        most = cost[order[first]]
        if rows >= size and _measure_excess(order, first, last, price, 1.0, most, weight, size) > _LITTLE:
            # With the first, no row's price is above what it loses in this cell.
            low, high = most / price[order[first]], 1.0
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                if _measure_excess(order, first, last, price, middle, most, weight, size) > 0.0:
                    high = middle
                else:
                    low = middle
            for at in range(first, last):
                factor[order[at]] = min(factor[order[at]], low)
            found += 1
        first = last
    return found
