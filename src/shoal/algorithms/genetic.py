"""Genetic search: evolution of tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shoal.algorithms.mingen import by_cheapest_cells, class_rows, first_classes, matching_k, rowwise
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError
from shoal.exact import coverage, matching
from shoal.exact.budget import Budget
from shoal.exact.evolution import Classes, Picks, Plan, Population, Watch, evolve
from shoal.exact.options import TIE, Ints, Space
from shoal.frequency import CodedRows, FrequencyTable
from shoal.kernels.rules import Rules
from shoal.parameters import check
from shoal.progress import Figures
from shoal.recoding import Proposal

History = tuple[tuple[float, float], ...]

_BLOCK = 2000  # rows that evolve together; a larger table falls into blocks of neighbouring classes


@dataclass(frozen=True, slots=True)
class Genetic:
    """Evolution: tables are crossed and mutated, every child is mended and improved, the best survive.

    With semantics=matching small tables evolve row by row, from everything generalised; all others evolve
    class by class from Mondrian's proposal, and never end with more loss than it. Minimises distortion,
    certainty or ncp.

    References
    ----------
    E. Falkenauer, "Genetic algorithms and grouping problems", Wiley, 1998 (crossing divisions).
    P. Moscato, "On evolution, search, optimization, genetic algorithms and martial arts", Caltech C3P 826,
    1989 (improving every child).
    """

    population: int = 100
    """Number of tables that live at once; fewer where the table is large."""
    generations: int = 1000
    """Generations at most; a table of several blocks shares them among the blocks."""
    mutation_rate: int = 10
    """A mutation has the chance m/(m + 100); m begins here and doubles every tenth of the run."""
    semantics: Literal["classes", "matching"] = "classes"
    """classes: every row equals k - 1 others; matching: every row could be k of the original rows."""
    patience: int = 50
    """Generations without improvement after which the search ends."""
    seconds: float | None = None
    """Time after which the search ends; what the clock ends may end otherwise the next time."""

    def __post_init__(self) -> None:
        check(self)
        for name, least in (("population", 2), ("generations", 1), ("mutation_rate", 0), ("patience", 1)):
            if getattr(self, name) < least:
                raise RecipeError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if self.seconds is not None and self.seconds <= 0:
            raise RecipeError(f"seconds must be above 0, not {self.seconds}; leave it out for no limit")

    @property
    def category_order(self) -> CategoryOrder:
        """By frequency, as Mondrian, from whose proposal it starts."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Evolve a table."""
        table = problem.rows.one_by_one(in_order=True)
        space = Space.of(problem.domains, table.codes, problem.loss, problem.weights, sets=True)
        run = _Run(self, problem, table, space, Budget(self.seconds, None, on_progress, space.scale))
        if self.semantics == "matching":
            k = matching_k(problem, "genetic")
            with suppress(coverage.TooManyError):
                return run.by_matching(k)
        return run.by_classes()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    settings: Genetic
    problem: Problem
    table: FrequencyTable
    space: Space
    budget: Budget

    def by_matching(self, k: int) -> Proposal:
        """Evolve a small table row by row."""
        rows = [row.solving() for row in coverage.choices(self.space, k, self.budget)]
        bound = matching.lower_bound(rows, k)
        population = Picks(rows, k, self.settings.population, self.problem.seed)
        plan = self._plan(1.0)
        history = evolve(population, plan, bound, self._watch(population, plan, bound))
        picked = enumerate(population.picks[0])
        boxes = [
            next(coverage.boxes(self.space, i, rows[i].cover[at], float(rows[i].cost[at])))
            for i, at in picked
        ]
        return self._described(rowwise(self.table, boxes), history, bound)

    def by_classes(self) -> Proposal:
        """Evolve Mondrian's classes, block by block."""
        start = first_classes(self.problem)
        class_of = np.empty(start.size, np.int64)
        histories, classes = [], 0
        blocks = list(_blocks(start))
        bound = class_rows(self.problem, self.space).row_bound() if len(blocks) == 1 else None
        for number, rows in enumerate(blocks):
            plan = self._plan(min(1.0, _BLOCK / start.size) if len(blocks) > 1 else 1.0)
            rules, begin = self._rules(rows), np.unique(start[rows], return_inverse=True)[1]
            population = Classes(
                self.space, rules, begin.astype(np.int64), self.settings.population, self.problem.seed, rows
            )
            watch = self._watch(population, plan, bound, (number, len(blocks)))
            histories.append(evolve(population, plan, -np.inf if bound is None else bound, watch))
            class_of[rows] = population.of[0] + classes
            classes += int(population.of[0].max()) + 1
        found = by_cheapest_cells(self.table, self.space, class_of)
        return self._described(found, _together(histories), bound)

    def _plan(self, share: float) -> Plan:
        generations = max(1, round(self.settings.generations * share))
        return Plan(generations, self.settings.mutation_rate, self.settings.patience)

    def _watch(
        self, population: Population, plan: Plan, bound: float | None, block: tuple[int, int] = (0, 1)
    ) -> Watch:
        """Count tables and tell every generation; losses are those of the block."""
        number, blocks = block
        doing = "evolving" if blocks == 1 else f"evolving block {number + 1} of {blocks}"

        def watch(generation: int, best: float, mean: float) -> bool:
            self.budget.visit(population.bred if generation else 0)
            done = (number + generation / plan.generations) / blocks
            self.budget.tell(doing, Figures(best, mean, bound, generation), done)
            return self.budget.over

        return watch

    def _rules(self, rows: Ints) -> Rules:
        """The privacy goal for some of the rows."""
        every = self.problem.rows
        some = CodedRows(
            tuple(codes[rows] for codes in every.quasi),
            every.sizes,
            tuple(codes[rows] for codes in every.sensitive),
            every.sensitive_sizes,
        )
        return self.problem.rules(some.one_by_one(in_order=True))

    def _described(self, proposal: Proposal, history: History, bound: float | None) -> Proposal:
        scale, (best, _) = self.space.scale, history[-1]
        reached = bound is not None and best <= bound + TIE
        notes = []
        if self.settings.semantics == "matching" and proposal.cells is None:
            notes.append(
                f"tables of more than {coverage.ROWS} rows evolve class by class, whatever the semantics"
            )
        return replace(
            proposal,
            nodes=self.budget.nodes,
            optimal=True if reached else None,
            lower_bound=None if bound is None else min(bound, best) * scale,
            notes=tuple(notes),
            history=tuple((low * scale, mean * scale) for low, mean in history),
        )


def _blocks(class_of: Ints) -> Iterator[Ints]:
    """Rows of neighbouring classes, in blocks that can evolve by themselves; Mondrian numbers them so."""
    size = np.bincount(class_of)
    block = (
        (np.cumsum(size) - size) // _BLOCK if class_of.size > 2 * _BLOCK else np.zeros(size.size, np.int64)
    )
    of_row = block[class_of]
    for each in np.unique(of_row):
        yield np.flatnonzero(of_row == each)


def _together(histories: list[History]) -> History:
    """Sums over blocks; one that ended early stays as it was."""
    longest = max(map(len, histories))
    padded = [[*history, *[history[-1]] * (longest - len(history))] for history in histories]
    return tuple(tuple(row) for row in np.sum(padded, axis=0).tolist())
