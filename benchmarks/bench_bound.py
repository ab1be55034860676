"""How little any release of Adult with these hierarchies can lose, k = 5 and 10: a bound, and a proof of it.

Every class has a cell (a node per column) and at least k rows. Give every row a price, such that no k or more
rows of any cell have prices above what the cell loses for them; then the prices of all rows together are at
most what any release loses. Prices start with the cheapest cell of each row that has k rows, rise a little in
every sweep, and are lowered wherever they break the rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from numba import njit

from measure import DATA, Figures, need
from shoal.algorithms import Problem
from shoal.algorithms.auto import Auto
from shoal.algorithms.levels import Ladder
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Recoding
from shoal.engines.memory import prepare_table
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

FOLDER = DATA / "adult"
SWEEPS = 6  # --sweeps N raises the bound further: each takes about a quarter of a minute
RISE = 0.3


def main() -> None:
    sweeps = int(sys.argv[sys.argv.index("--sweeps") + 1]) if "--sweeps" in sys.argv else SWEEPS
    for k in (5, 10):
        figures = Figures(f"Adult with the hierarchies of eight columns, k = {k}")
        problem = asked(k)
        nearest, auto = lost(problem, Mondrian(cut="nearest")), lost(problem, Auto())
        figures.add("nearest", 100 * nearest, "%")
        figures.add("auto", 100 * auto, "%")
        figures.add("auto, of nearest", 100 * auto / nearest, "%")
        for number, bound in enumerate(bounds(problem, k, sweeps)):
            figures.add(f"no release loses less than, after {number} sweeps", 100 * bound, "%", 100 * auto)
        figures.add("which is, of nearest", 100 * bound / nearest, "%")
        figures.close()


def asked(k: int) -> Problem:
    table = read_table(need(FOLDER / "adult_9col.csv"))
    quasi = tuple(name for name in table.names if name != "salary-class")
    trees = (str(FOLDER / "hierarchies"),)
    return prepare_table(
        Recipe(quasi, (KAnonymity(k),), plain=("salary-class",), hierarchies=trees), table
    ).problem


def lost(problem: Problem, algorithm: Mondrian | Auto) -> float:
    recoding = Recoding.from_proposal(algorithm.search(problem), problem.domains)
    return LOSSES["ncp"]().measure(recoding, problem.weights).value


def bounds(problem: Problem, k: int, sweeps: int) -> Iterator[float]:
    """Bounds on the mean width of a cell, from the simplest on."""
    weight = problem.table.weight
    scale = weight.sum() * len(problem.domains)
    price = np.full(weight.size, np.inf)
    for cell, cost in cells(problem):
        rows = np.bincount(cell, weight)[cell]
        price = np.where((rows >= k) & (cost < price), cost, price)
    yield float(weight @ price / scale)
    rise = RISE
    for _ in range(sweeps):
        higher = sustained(problem, price * (1 + rise), k)
        if weight @ higher > weight @ price:
            price = higher
        else:
            rise /= 2
        yield float(weight @ price / scale)


def sustained(problem: Problem, price: np.ndarray, k: int) -> np.ndarray:
    """Prices that keep the rule: each is lowered as much as the worst of its cells asks for."""
    factor = np.ones(price.size)
    for cell, cost in cells(problem):
        if (price > cost).any():
            order = np.lexsort((-price, cell))
            lower(order, cell, price, cost, problem.table.weight, k, factor)
    return price * factor


def cells(problem: Problem) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each level vector the cell of every row, and what it loses there."""
    codes = problem.table.codes.astype(np.int64)
    ladders = [Ladder.from_domain(domain) for domain in problem.domains]
    node = [ladder.node[:, codes[:, j]] for j, ladder in enumerate(ladders)]
    width = [ladder.width[:, codes[:, j]] for j, ladder in enumerate(ladders)]
    for vector in product(*(range(ladder.top_level + 1) for ladder in ladders)):
        key = np.zeros(len(codes), np.int64)
        for j, level in enumerate(vector):
            key = key * (ladders[j].node[level].max() + 1) + node[j][level]
        yield np.unique(key, return_inverse=True)[1], sum(width[j][level] for j, level in enumerate(vector))


@njit
def lower(order, cell, price, cost, weight, k, factor):
    """Set the factor of every row in a cell that its prices are too high for."""
    first = 0
    while first < order.size:
        last = first
        rows = 0
        while last < order.size and cell[order[last]] == cell[order[first]]:
            rows += weight[order[last]]
            last += 1
        most = cost[order[first]]
        if rows >= k and above(order[first:last], price, 1.0, most, weight, k) > 1e-12:
            low, high = most / price[order[first]], 1.0  # with the first all prices are below
            for _ in range(30):
                middle = (low + high) / 2
                if above(order[first:last], price, middle, most, weight, k) > 0:
                    high = middle
                else:
                    low = middle
            for r in order[first:last]:
                factor[r] = min(factor[r], low)
        first = last


@njit
def above(rows, price, factor, most, weight, k):
    """By how much the k rows of highest price, and any others with a price above ``most``, exceed it."""
    taken = 0
    sum_ = 0.0
    for r in rows:
        here = weight[r]
        if price[r] * factor <= most:
            here = min(here, k - taken)
        if here <= 0:
            break
        taken += here
        sum_ += here * (price[r] * factor - most)
    return sum_


if __name__ == "__main__":
    main()
