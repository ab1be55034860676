"""Evolution: tables that are bred from the best tables so far, in the hope of better ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from shoal.teach.tables import CellOption, TeachingTable, sum_losses
from shoal.teach.textbook.anonymity import Meaning, find_matches, score_by_classes, score_by_components
from shoal.teach.textbook.brute_force import Memory, name_row

Cells = list[list[CellOption]]


class Individual(NamedTuple):
    """A table of the population, and how fit it is."""

    cells: Cells
    fitness: float
    is_safe: bool
    loss: float


class Generation(NamedTuple):
    """The population, the fittest first, and the mutation rate of its children."""

    number: int
    crowd: list[Individual]
    rate: float


@dataclass(frozen=True, slots=True)
class Evolution:
    """The rules by which tables are judged and bred."""

    table: TeachingTable
    k: int
    meaning: Meaning
    mutation_rate: float
    doubling: bool
    random: Random
    matches: Memory

    def breed_generations(self, population: int, generations: int) -> Iterator[Generation]:
        """A random first population, and what follows from it."""
        crowd = [self.judge_table(self.draw_table()) for _ in range(population)]
        for number in range(generations + 1):
            crowd.sort(key=lambda each: -each.fitness)
            tenth = min(10 * number // generations, 9)
            rate = self.mutation_rate * 2 ** (tenth if self.doubling else 0)
            yield Generation(number, crowd, rate)
            best = crowd[: population // 10]
            chance = rate / (rate + 100)
            crowd = best + [
                self.judge_table(
                    self.combine_tables(best[child % len(best)], self.random.choice(best), chance)
                )
                for child in range(population - len(best))
            ]

    def draw_table(self) -> Cells:
        """A random table: each cell is written in one of its ways."""
        return [[self.random.choice(options) for options in row] for row in self.table.options]

    def judge_table(self, cells: Cells) -> Individual:
        """Fitness in two stages: the average k-score over k until the table is safe, then little loss."""
        scores, loss = self.score_rows(cells), sum(map(sum_losses, cells)) / self.table.unit
        if min(scores) < self.k:
            return Individual(cells, sum(scores) / len(scores) / self.k, False, loss)
        size = len(cells) * len(cells[0])
        # A table that loses nothing is fitter than one that loses the least that there is, half a unit of it.
        return Individual(cells, self.k * size / max(loss, 0.5 / self.table.unit), True, loss)

    def score_rows(self, cells: Cells) -> list[int]:
        """The k-score of each row."""
        if self.meaning == "classes":
            return score_by_classes(cells)
        people = self.table.people
        return score_by_components(
            [self.matches.recall(name_row(row), find_matches, row, people) for row in cells]
        )

    def combine_tables(self, one: Individual, other: Individual, chance: float) -> Cells:
        """A child: each cell comes from one parent or the other, or is a mutation."""
        return [
            [
                self.random.choice(options) if self.random.random() < chance else self.random.choice(pair)
                for pair, options in zip(zip(mine, yours, strict=True), every, strict=True)
            ]
            for mine, yours, every in zip(one.cells, other.cells, self.table.options, strict=True)
        ]
