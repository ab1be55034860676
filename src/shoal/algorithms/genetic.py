"""Genetic search: evolution of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shoal.algorithms.exact import coverage, matching
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.evolution import (
    ClassPopulation,
    EvolutionPlan,
    MatchingPopulation,
    TablePopulation,
    Watch,
    evolve_population,
)
from shoal.algorithms.exact.options import Ints, TableSpace
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.small_tables import (
    build_cheapest_proposal,
    build_partition_problem,
    build_rowwise_proposal,
    find_first_classes,
    matching_k,
    watch_evolution,
)
from shoal.codespace.frequency import CodedRows, FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError
from shoal.kernels.rules import Rules
from shoal.support.parameters import check_fields
from shoal.support.progress import SearchFigures

History = tuple[tuple[float, float], ...]

_BLOCK = 2000  # rows that evolve together; a larger table falls into blocks of neighbouring classes


@dataclass(frozen=True, slots=True)
class Genetic(Algorithm):
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
    seconds: float | None = 60.0
    """Time after which the search ends with the best so far; none for no limit. What the clock ends may end
    otherwise the next time."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name, least in (("population", 2), ("generations", 1), ("mutation_rate", 0), ("patience", 1)):
            if getattr(self, name) < least:
                raise RecipeError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if self.seconds is not None and self.seconds <= 0:
            raise RecipeError(f"seconds must be above 0, not {self.seconds}; leave it out for no limit")

    @property
    def is_cell_level(self) -> bool:
        """With matching semantics: a row is hidden among those it could be, not among equal ones."""
        return self.semantics == "matching"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Evolve a table."""
        table = problem.rows.one_by_one(in_order=True)
        space = TableSpace.from_codes(problem.domains, table.codes, problem.loss, problem.weights, sets=True)
        run = _EvolutionRun(self, problem, table, space, Budget(self.seconds, None, on_progress, space.scale))
        if self.semantics == "matching":
            k = matching_k(problem, "genetic")
            # Too many rows or options to evolve row by row: classes are permitted by matching, too.
            with suppress(coverage.TooManyError):
                return run.evolve_by_matching(k)
        return run.evolve_by_classes()


def evolve_default_classes(problem: Problem, space: TableSpace, budget: Budget) -> Ints:
    """The class of each row that the search finds with its default parameters."""
    table = problem.rows.one_by_one(in_order=True)
    run = _EvolutionRun(Genetic(), problem, table, space, budget, "evolving a first table")
    return run.evolve_blocks()[0]


def evolve_default_picks(
    problem: Problem, rows: Sequence[coverage.CoverOptions], k: int, budget: Budget
) -> Ints:
    """[tables, rows] the options that the search by matching ends with by default, the best table first."""
    settings = Genetic()
    population = MatchingPopulation(rows, k, settings.population, problem.seed)
    plan = EvolutionPlan(settings.generations, settings.mutation_rate, settings.patience)
    evolve_population(population, plan, -np.inf, watch_evolution(population, budget))
    return population.picks


@dataclass(frozen=True, slots=True, eq=False)
class _EvolutionRun:
    settings: Genetic
    problem: Problem
    table: FrequencyTable
    space: TableSpace
    budget: Budget
    doing: str = "evolving"

    def evolve_by_matching(self, k: int) -> Proposal:
        """Evolve a small table row by row."""
        rows = [row.keep_undominated() for row in coverage.list_cover_options(self.space, k, self.budget)]
        # It spares generations where it is reached: not worth more than half of the time.
        bound = matching.lower_bound(rows, k, self.budget.seconds_left / 2)
        population = MatchingPopulation(rows, k, self.settings.population, self.problem.seed)
        plan = self._make_plan(1.0)
        history = evolve_population(population, plan, bound, self._make_watch(population, plan, bound))
        picked = enumerate(population.picks[0])
        boxes = [
            next(coverage.list_boxes(self.space, i, rows[i].cover[at], rows[i].amount[at]))
            for i, at in picked
        ]
        return self._describe_result(build_rowwise_proposal(self.table, boxes), history, bound)

    def evolve_by_classes(self) -> Proposal:
        """Evolve Mondrian's classes, block by block."""
        class_of, history, bound = self.evolve_blocks()
        return self._describe_result(
            build_cheapest_proposal(self.table, self.space, class_of), history, bound
        )

    def evolve_blocks(self) -> tuple[Ints, History, float | None]:
        """The classes, how they evolved, and a lower bound on their cost."""
        start = find_first_classes(self.problem)
        class_of = np.empty(start.size, np.int64)
        histories, classes = [], 0
        blocks = list(_split_blocks(start))
        # The bound is one of the whole table, and says nothing about the loss of a block.
        bound = build_partition_problem(self.problem, self.space).row_bound() if len(blocks) == 1 else None
        for number, rows in enumerate(blocks):
            # Blocks share the generations, so that the work does not grow with their number.
            plan = self._make_plan(min(1.0, _BLOCK / start.size) if len(blocks) > 1 else 1.0)
            rules, begin = self._build_rules(rows), np.unique(start[rows], return_inverse=True)[1]
            starts = begin.astype(np.int64)[None, :]
            population = ClassPopulation(
                self.space, rules, starts, self.settings.population, self.problem.seed, rows
            )
            watch = self._make_watch(population, plan, bound, (number, len(blocks)))
            histories.append(evolve_population(population, plan, -np.inf if bound is None else bound, watch))
            class_of[rows] = population.of[0] + classes
            classes += int(population.of[0].max()) + 1
        return class_of, _sum_histories(histories), bound

    def _make_plan(self, share: float) -> EvolutionPlan:
        generations = max(1, round(self.settings.generations * share))
        return EvolutionPlan(generations, self.settings.mutation_rate, self.settings.patience)

    def _make_watch(
        self,
        population: TablePopulation,
        plan: EvolutionPlan,
        bound: float | None,
        block: tuple[int, int] = (0, 1),
    ) -> Watch:
        """Count tables and tell every generation; losses are those of the block."""
        number, blocks = block
        doing = self.doing if blocks == 1 else f"evolving block {number + 1} of {blocks}"

        def watch_generation(generation: int, best: float, mean: float) -> bool:
            # The tables that a population begins with were bred as well.
            self.budget.count_states(population.child_count if generation else len(population.costs))
            done = (number + generation / plan.generations) / blocks
            self.budget.report_progress(doing, SearchFigures(best, mean, bound, generation), done)
            return self.budget.is_over

        return watch_generation

    def _build_rules(self, rows: Ints) -> Rules:
        """The privacy goal for some of the rows."""
        every = self.problem.rows
        some = CodedRows(
            tuple(codes[rows] for codes in every.quasi),
            every.sizes,
            tuple(codes[rows] for codes in every.sensitive),
            every.sensitive_sizes,
        )
        return self.problem.build_rules(some.one_by_one(in_order=True))

    def _describe_result(self, proposal: Proposal, history: History, bound: float | None) -> Proposal:
        scale, (best, _) = self.space.scale, history[-1]
        settled = None if bound is None else self.space.settle_bound(bound, best)
        notes = []
        if self.settings.semantics == "matching" and proposal.cells is None:
            notes.append(
                f"tables of more than {coverage.ROWS} rows evolve class by class, whatever the semantics"
            )
        return replace(
            proposal,
            nodes=self.budget.nodes,
            # Above the bound nothing is proved, neither that it is optimal nor that it is not.
            optimal=True if settled == best else None,
            lower_bound=None if settled is None else settled * scale,
            notes=tuple(notes),
            history=tuple((low * scale, mean * scale) for low, mean in history),
        )


def _split_blocks(class_of: Ints) -> Iterator[Ints]:
    """Rows of neighbouring classes, in blocks that can evolve by themselves; Mondrian numbers them so."""
    size = np.bincount(class_of)
    # No class crosses the border of a block, so a table of up to two blocks stays in one.
    block = (
        (np.cumsum(size) - size) // _BLOCK if class_of.size > 2 * _BLOCK else np.zeros(size.size, np.int64)
    )
    of_row = block[class_of]
    for each in np.unique(of_row):
        yield np.flatnonzero(of_row == each)


def _sum_histories(histories: list[History]) -> History:
    """Sums over blocks; one that ended early stays as it was."""
    longest = max(map(len, histories))
    padded = [[*history, *[history[-1]] * (longest - len(history))] for history in histories]
    return tuple(tuple(row) for row in np.sum(padded, axis=0).tolist())
