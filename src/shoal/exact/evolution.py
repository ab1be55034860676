"""Evolution of tables: the engines of the genetic search and of the exact search's first guesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.exact.coverage import Choices
from shoal.exact.options import TIE, Floats, Ints, Space
from shoal.kernels.breeding import Genes, breed, settle
from shoal.kernels.groups import pair_costs
from shoal.kernels.random import seeded
from shoal.kernels.regrouping import Matter, breed_classes
from shoal.kernels.rules import Rules

_NEAR = 10  # neighbours whose classes a row may join
_ROWS = 10_000  # rows that a generation of large tables works on: so many children times rows


class Population(Protocol):
    """Tables in order of rising cost, all of them permitted."""

    costs: Floats

    @property
    def bred(self) -> int:
        """Number of children in a generation."""
        ...

    def next(self, mutation: float) -> None:
        """Breed a generation."""
        ...


class Picks:
    """Tables that are permitted by matching: an option per row."""

    def __init__(self, rows: Sequence[Choices], k: int, size: int, seed: int) -> None:
        most = max(row.cost.size for row in rows)
        cover = np.zeros((len(rows), most, rows[0].cover.shape[1]), np.uint64)
        cost = np.zeros((len(rows), most))
        count = np.array([row.cost.size for row in rows])
        for i, row in enumerate(rows):
            cover[i, : count[i]] = row.cover
            cost[i, : count[i]] = row.cost
        self.genes = Genes(cover.reshape(-1, cover.shape[2]), cost, count, k)
        self.state = seeded(seed)
        widest = [int(np.argmax(np.bitwise_count(row.cover).sum(axis=1))) for row in rows]
        self.picks = np.tile(np.array(widest, np.int64), (size, 1))
        self.costs = np.empty(size)
        settle(self.genes, self.picks, self.costs, self.state)
        self._sort()

    @property
    def bred(self) -> int:
        """All but the best tenth."""
        return self.costs.size - self._kept

    @property
    def _kept(self) -> int:
        return -(-self.costs.size // 10)

    def next(self, mutation: float) -> None:
        """Keep the best tenth and replace the others."""
        breed(self.genes, self.picks, self.costs, self._kept, mutation, self.state)
        self._sort()

    def _sort(self) -> None:
        order = np.argsort(self.costs, kind="stable")
        self.picks, self.costs = self.picks[order], self.costs[order]


class Classes:
    """Divisions of rows, or of some of the rows, into allowed classes; ``rules`` are about these."""

    def __init__(
        self, space: Space, rules: Rules, start: Ints, size: int, seed: int, rows: Ints | None = None
    ) -> None:
        costs, self.always = space.costs()
        codes = space.codes if rows is None else space.codes[rows]
        pair = pair_costs(costs, codes).astype(np.float32)
        self.matter = Matter(costs, codes, rules, _nearest(pair), pair)
        self.state = seeded(seed)
        n = codes.shape[0]
        self.visits = max(20, min(150, 500 // rules.size))
        self.children = np.empty((max(2, min(size // 5, _ROWS // n)), n), np.int64)
        self.size = max(2, min(size, 2 * _ROWS // n))
        self.of = np.empty((1, n), np.int64)
        self.costs = np.empty(1)
        breed_classes(self.matter, start[None, :], self.of, self.costs, -1.0, 100 * n, self.state)
        self.costs += self.always * n

    @property
    def bred(self) -> int:
        """Fewer where the table is large."""
        return len(self.children)

    def next(self, mutation: float) -> None:
        """Breed children; of them and their parents the best survive, no two of one cost."""
        costs = np.empty(self.children.shape[0])
        breed_classes(self.matter, self.of, self.children, costs, mutation, self.visits, self.state)
        of = np.concatenate([self.of, self.children])
        costs = np.concatenate([self.costs, costs + self.always * self.of.shape[1]])
        order = np.argsort(costs, kind="stable")
        order = order[np.isfinite(costs[order])]  # a child that found no permitted form costs infinitely much
        fresh = np.append(True, np.diff(costs[order]) > TIE)
        kept = order[fresh][: self.size]
        self.of, self.costs = of[kept], costs[kept]


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how wildly a population evolves."""

    generations: int
    mutation_rate: int
    patience: int


Watch = Callable[[int, float, float], bool]
"""Is told the generation, its best and its mean cost before the next one; True ends the evolution."""


def evolve(population: Population, plan: Plan, bound: float, watch: Watch) -> tuple[tuple[float, float], ...]:
    """Breed until the bound is reached, nothing improves for long, or whoever watches ends it.

    The chance of a mutation is m/(m + 100), where m begins at the mutation rate and doubles every tenth of
    the run. Returns the best and the mean cost after each generation.
    """
    history = [_figures(population)]
    improved = 0
    for generation in range(1, plan.generations + 1):
        best, mean = history[-1]
        stale = generation - improved > plan.patience
        if watch(generation - 1, best, mean) or stale or best <= bound + TIE:
            break
        m = plan.mutation_rate * 2 ** ((generation - 1) * 10 // plan.generations)
        population.next(m / (m + 100))
        history.append(_figures(population))
        if history[-1][0] < best - TIE:
            improved = generation
    return tuple(history)


def _figures(population: Population) -> tuple[float, float]:
    return float(population.costs[0]), float(population.costs.mean())


def _nearest(pair: NDArray[np.floating]) -> NDArray[np.int32]:
    """The rows that are cheapest beside each row."""
    most = min(_NEAR, pair.shape[0] - 1)
    apart = pair.copy()
    np.fill_diagonal(apart, np.inf)
    near = np.argpartition(apart, most - 1, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(apart, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1).astype(np.int32)
