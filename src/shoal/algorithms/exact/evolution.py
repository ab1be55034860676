"""Evolution of tables: the engines of the genetic search and of the exact search's first guesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.algorithms.exact.coverage import CoverOptions
from shoal.algorithms.exact.options import TIE, Floats, Ints, TableSpace
from shoal.kernels.crossover import RowOptions, improve_population, replace_generation
from shoal.kernels.groups import cheapest_partners, pair_costs
from shoal.kernels.linked_classes import LocalSearchInput
from shoal.kernels.local_search import make_children
from shoal.kernels.random import make_random_state
from shoal.kernels.rules import Rules

_NEAR = 10  # neighbours whose classes a row may join
_ROWS = 10_000  # rows that a generation of large tables works on: so many children times rows


class TablePopulation(Protocol):
    """Tables in order of rising cost, all of them permitted."""

    costs: Floats

    @property
    def child_count(self) -> int:
        """Number of children in a generation."""
        ...

    def advance_generation(self, mutation: float) -> None:
        """Replace the population by the next generation."""
        ...


class MatchingPopulation:
    """Tables that are permitted by matching: an option per row."""

    def __init__(
        self, rows: Sequence[CoverOptions], k: int, size: int, seed: int, starts: Sequence[Ints] = ()
    ) -> None:
        """Begin with some permitted choices and with everything generalised, each improved row by row."""
        most = max(row.cost.size for row in rows)
        cover = np.zeros((len(rows), most, rows[0].cover.shape[1]), np.uint64)
        cost = np.zeros((len(rows), most))
        count = np.array([row.cost.size for row in rows])
        for i, row in enumerate(rows):
            cover[i, : count[i]] = row.cover
            cost[i, : count[i]] = row.cost
        self.genes = RowOptions(cover.reshape(-1, cover.shape[2]), cost, count, k)
        self.state = make_random_state(seed)
        # More coverage never hurts, so that the widest options make a permitted table.
        widest = [int(np.argmax(np.bitwise_count(row.cover).sum(axis=1))) for row in rows]
        self.picks = np.tile(np.array(widest, np.int64), (size, 1))
        for number, start in enumerate(starts[:size]):
            self.picks[number] = start
        self.costs = np.empty(size)
        improve_population(self.genes, self.picks, self.costs, self.state)
        self._sort_by_cost()

    @property
    def child_count(self) -> int:
        """All but the best tenth."""
        return self.costs.size - self._survivor_count

    @property
    def _survivor_count(self) -> int:
        return -(-self.costs.size // 10)

    def advance_generation(self, mutation: float) -> None:
        """Keep the best tenth and replace the others."""
        replace_generation(self.genes, self.picks, self.costs, self._survivor_count, mutation, self.state)
        self._sort_by_cost()

    def _sort_by_cost(self) -> None:
        order = np.argsort(self.costs, kind="stable")
        self.picks, self.costs = self.picks[order], self.costs[order]


def build_local_search(
    space: TableSpace, rules: Rules, rows: Ints | None = None
) -> tuple[LocalSearchInput, float]:
    """The rows of a table, or some of them, as local search takes them; and what every row costs besides."""
    costs, always = space.build_costs()
    codes = space.codes if rows is None else space.codes[rows]
    # n * n numbers: as float32 they take half the memory.
    pair = pair_costs(costs, codes).astype(np.float32)
    return LocalSearchInput(costs, codes, rules, cheapest_partners(pair, _NEAR), pair), always


class ClassPopulation:
    """Divisions of rows, or of some of the rows, into allowed classes; ``rules`` are about these."""

    def __init__(
        self, space: TableSpace, rules: Rules, starts: Ints, size: int, seed: int, rows: Ints | None = None
    ) -> None:
        """Begin with divisions, [starts, rows], each improved by local search."""
        self.given, self.always = build_local_search(space, rules, rows)
        self.state = make_random_state(seed)
        n = self.given.codes.shape[0]
        self.visits = max(20, min(150, 500 // rules.size))
        self.children = np.empty((max(2, min(size // 5, _ROWS // n)), n), np.int64)
        self.size = max(2, min(size, 2 * _ROWS // n))
        of, improved = np.empty(starts.shape, np.int64), np.empty(len(starts))
        # A mutation below 0 asks for no crossover: the starts themselves are improved by local search.
        make_children(self.given, starts, of, improved, -1.0, 100 * n, self.state)
        self._keep_best(of, improved + self.always * n)

    @property
    def child_count(self) -> int:
        """Fewer where the table is large."""
        return len(self.children)

    def advance_generation(self, mutation: float) -> None:
        """Make children by crossover; of all tables the best survive, no two of one cost."""
        costs = np.empty(self.children.shape[0])
        make_children(self.given, self.of, self.children, costs, mutation, self.visits, self.state)
        every = np.concatenate([self.costs, costs + self.always * self.of.shape[1]])
        self._keep_best(np.concatenate([self.of, self.children]), every)

    def _keep_best(self, of: Ints, costs: Floats) -> None:
        """Let the best of some divisions survive."""
        order = np.argsort(costs, kind="stable")
        order = order[np.isfinite(costs[order])]  # a child that found no permitted form costs infinitely much
        # Equal costs mostly mean equal divisions, and copies would crowd out all others.
        fresh = np.append(True, np.diff(costs[order]) > TIE)
        kept = order[fresh][: self.size]
        self.of, self.costs = of[kept], costs[kept]


@dataclass(frozen=True, slots=True)
class EvolutionPlan:
    """How long and how wildly a population evolves."""

    generations: int
    mutation_rate: int
    patience: int


Watch = Callable[[int, float, float], bool]
"""Is told the generation, its best and its mean cost before the next one; True ends the evolution."""


def evolve_population(
    population: TablePopulation, plan: EvolutionPlan, bound: float, watch: Watch
) -> tuple[tuple[float, float], ...]:
    """Make generations until the bound is reached, nothing improves for long, or ``watch`` ends it.

    The chance of a mutation is m/(m + 100), where m begins at the mutation rate and doubles every tenth of
    the run. Returns the best and the mean cost after each generation.
    """
    history = [_summarise_costs(population)]
    improved = 0
    for generation in range(1, plan.generations + 1):
        best, mean = history[-1]
        stale = generation - improved > plan.patience
        if watch(generation - 1, best, mean) or stale or best <= bound + TIE:
            break
        m = plan.mutation_rate * 2 ** ((generation - 1) * 10 // plan.generations)
        population.advance_generation(m / (m + 100))
        history.append(_summarise_costs(population))
        if history[-1][0] < best - TIE:
            improved = generation
    return tuple(history)


def _summarise_costs(population: TablePopulation) -> tuple[float, float]:
    return float(population.costs[0]), float(population.costs.mean())
