"""MinGen: the table of least loss, with a proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Literal

import numpy as np

from shoal.algorithms.exact import branching, classes, coverage, matching
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.evolution import EvolutionPlan, MatchingPopulation, evolve_population
from shoal.algorithms.exact.options import Ints, TableSpace
from shoal.algorithms.genetic import evolve_default_classes, evolve_default_picks
from shoal.algorithms.portfolio import choose_seconds, is_for_portfolio, search_portfolio
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.small_tables import (
    build_cheapest_proposal,
    build_partition_problem,
    build_rowwise_proposal,
    evolve_in_rounds,
    find_first_classes,
    matching_k,
    watch_evolution,
)
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet, RecipeError
from shoal.support.arithmetic import log10
from shoal.support.parameters import check_fields

_ROWS = 200  # distinct rows up to which an exact search is worth its time
_GUESS = EvolutionPlan(generations=60, mutation_rate=10, patience=20)
_KEPT = 10  # choices of the genetic search that the evolution of a first table begins with
_STEPS = 300_000  # rows that the evolution of a first table looks at
_SEEDS = 8  # with which tables evolve again where the first is not proved
_EVERY = 10_000  # tables of least loss that are listed where all are asked for
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class MinGen(Algorithm):
    """Minimal generalisation: of all permitted tables one of least loss, and a proof that none loses less.

    For small tables: a few dozen rows, with luck some hundred. Minimises distortion, certainty or ncp.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", IJUFKS
    10(5), 2002.
    A. Gionis, A. Mazza, T. Tassa, "k-anonymization revisited", ICDE 2008.
    """

    semantics: Literal["classes", "matching"] = "classes"
    """classes: every row equals k - 1 others; matching: every row could be k of the original rows, which
    loses less but lets a row be unlike every other."""
    limit: int = 100
    """How many optimal tables are listed at most."""
    iterations: int | None = None
    """States after which the search ends with the best table so far and what is proved of it."""
    seconds: float | None = 60.0
    """Time after which it ends so; none for no limit. What the clock ends may end otherwise the next time.
    The table to start from, which `auto` and `genetic` find in a few seconds, is made in any case."""
    sets: bool = False
    """Whether a class may release the set of its values in a column of categories without a hierarchy, as
    other algorithms do; if not, such a value stays or becomes `*`. Only with classes."""
    force: bool = False
    """Whether to search tables of more than 200 distinct rows too."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.limit < 1:
            raise RecipeError(f"limit must be at least 1, not {self.limit}: one optimal table is released")
        for name in ("iterations", "seconds"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise RecipeError(f"{name} must be above 0, not {value}; leave it out for no limit")

    @property
    def is_cell_level(self) -> bool:
        """With matching semantics: a row is hidden among those it could be, not among equal ones."""
        return self.semantics == "matching"

    def list_every_solution(self) -> MinGen:
        """The same search with a limit that is hardly ever reached."""
        return replace(self, limit=max(self.limit, _EVERY))

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Find the least loss, or the best within the limits, and what is proved of it."""
        distinct = problem.table.weight.size
        if distinct > _ROWS and not self.force:
            raise RecipeError(
                f"exact search is for tables of up to {_ROWS} distinct rows; this one has {distinct}: take "
                "--algorithm mondrian, or genetic to improve on it, or insist with --set force=true"
            )
        table = problem.rows.one_by_one(in_order=True)
        # By matching every row is written by itself: there is no class whose values make a set.
        sets = self.sets and self.semantics == "classes"
        space = TableSpace.from_codes(problem.domains, table.codes, problem.loss, problem.weights, sets)
        budget = Budget(self.seconds, self.iterations, on_progress, space.scale)
        by = _search_by_matching if self.semantics == "matching" else _search_by_classes
        found = by(self, problem, table, space, budget)
        return _describe_result(self, problem, space, budget, found)


@dataclass(frozen=True, slots=True, eq=False)
class _SearchResult:
    """Tables of one cost and what is proved of it."""

    tables: tuple[Proposal, ...]
    cost: float
    bound: float
    proved: bool
    count: float | None


def _describe_result(
    settings: MinGen, problem: Problem, space: TableSpace, budget: Budget, found: _SearchResult
) -> Proposal:
    size = space.count_tables()
    notes = []
    if problem.suppress > 0:
        notes.append("mingen suppresses no rows; the optimum is among the tables that keep them all")
    if not all(model.by_class and not model.is_about_some_columns for model in problem.models):
        notes.append(
            "a bound on the whole table is kept by asking enough of every class; the optimum is among the "
            "tables whose classes all satisfy that"
        )
    flat = any(domain.kind == "flat" and domain.size > 2 for domain in problem.domains)
    if flat and settings.semantics == "classes" and not settings.sets:
        notes.append(
            "a category without a hierarchy stays or becomes *; other algorithms may release sets of values "
            "and lose less by it: sets=true permits them here"
        )
    first = found.tables[0]
    return replace(
        first,
        nodes=budget.nodes,
        cuts=budget.cuts,
        optimal=bool(found.proved),
        lower_bound=float(min(found.bound, found.cost) * space.scale),
        solutions=None if found.count is None else round(found.count),
        # A greater whole number does not fit a float; its logarithm does.
        search_space=float(size) if size < _LARGEST else None,
        search_space_log10=log10(size),
        notes=tuple(notes),
        alternatives=found.tables[1:],
    )


# By matching.


def _search_by_matching(
    settings: MinGen, problem: Problem, table: FrequencyTable, space: TableSpace, budget: Budget
) -> _SearchResult:
    k = matching_k(problem, "mingen")
    own = _allot_start(problem, budget)
    try:
        rows = coverage.list_cover_options(space, k, own)
    except coverage.TooManyError:
        return _classes_by_matching(problem, table, space, budget)
    need = [row.keep_undominated() for row in rows]
    # The evolution chose among fewer options, whose numbers are others.
    start = matching.translate_pick(_find_first_pick(problem, space, need, k, budget), need, rows)
    best = matching.find_optimum(rows, k, start, budget)
    best = matching.all_optima(rows, k, best, settings.limit, budget)
    tables = islice(_list_tables(space, rows, best.picks), settings.limit)
    proposals = tuple(build_rowwise_proposal(table, boxes) for boxes in tables)
    return _SearchResult(proposals, best.cost, best.bound, best.is_proved, best.count)


def _find_first_pick(
    problem: Problem, space: TableSpace, rows: Sequence[coverage.CoverOptions], k: int, budget: Budget
) -> Ints:
    """An option for each row: the best of what the genetic search finds by matching and by classes.

    Both are permitted by matching, so this search never ends with more loss than either, and than `auto`.
    """
    if len(rows) <= matching.SMALL:
        # Few rows need no more than some table to begin with: branch and bound is done before one is bred.
        return _evolve_pick(MatchingPopulation(rows, k, 2, problem.seed), 1, budget)
    own = _allot_start(problem, budget)
    starts = list(evolve_default_picks(problem, rows, k, own)[:_KEPT])
    division = _find_first_division(problem, space, build_partition_problem(problem, space), budget)
    starts.append(matching.cover_groups(rows, division.groups))
    generations = 0 if budget.is_over else _GUESS.generations
    return _evolve_pick(MatchingPopulation(rows, k, 20, problem.seed, starts), generations, budget)


def _evolve_pick(population: MatchingPopulation, generations: int, budget: Budget) -> Ints:
    """The best choice of a population after some generations."""
    plan = replace(_GUESS, generations=generations)
    evolve_population(population, plan, -np.inf, watch_evolution(population, budget))
    best: Ints = population.picks[0]
    return best


def _classes_by_matching(
    problem: Problem, table: FrequencyTable, space: TableSpace, budget: Budget
) -> _SearchResult:
    """What can be said of a table whose rows have too many options: classes are permitted by matching too."""
    rows = build_partition_problem(problem, space)
    best = _find_first_division(problem, space, rows, budget)
    # A row that covers k rows costs as much as any pair of them, matching or not.
    return _describe_division(best, table, rows, rows.row_bound())


def _list_tables(
    space: TableSpace, rows: Sequence[coverage.CoverOptions], picks: Iterable[Ints]
) -> Iterator[tuple[coverage.Box, ...]]:
    """Every way of writing the tables, one box per row."""
    for pick in picks:
        ways = [
            list(islice(coverage.list_boxes(space, i, rows[i].cover[at], rows[i].amount[at]), 1000))
            for i, at in enumerate(pick)
        ]
        yield from product(*ways)


# By classes.


def _search_by_classes(
    settings: MinGen, problem: Problem, table: FrequencyTable, space: TableSpace, budget: Budget
) -> _SearchResult:
    rows = build_partition_problem(problem, space)
    whole = tuple(range(space.rows))
    # Only if merged classes stay allowed does this prove that no other division is allowed.
    if not rows.allowed([whole])[0] and rows.countable:
        raise GoalNotMet("the goal cannot be met: not even the whole table as one class satisfies it")
    # It has no result before all 2**rows sets are done: begin only what the limit lets end.
    if space.rows <= classes.FEW and budget.nodes_left >= 1 << space.rows:
        best, tables = classes.solve_by_subsets(rows, settings.limit, budget)
        if not tables:
            return _describe_division(
                _find_first_division(problem, space, rows, budget), table, rows, best.bound
            )
        proposals = tuple(_build_classwise_proposal(table, each) for each in tables)
        return _SearchResult(proposals, best.cost, best.bound, rows.countable, best.count)
    best = _find_first_division(problem, space, rows, budget)
    if classes.FEW < space.rows <= classes.MANY and not budget.is_over:
        best = branching.solve_by_columns(rows, best, budget, partial(_evolve_again, problem, rows))
    return replace(_describe_division(best, table, rows, best.bound), proved=best.is_proved)


def _describe_division(
    best: classes.RowDivision, table: FrequencyTable, rows: classes.PartitionProblem, bound: float
) -> _SearchResult:
    """One division, of which no more is known than a bound."""
    class_of = np.empty(table.weight.size, np.int64)
    for number, group in enumerate(best.groups):
        class_of[list(group)] = number
    return _SearchResult(
        (build_cheapest_proposal(table, rows.space, class_of),), best.cost, bound, False, None
    )


def _find_first_division(
    problem: Problem, space: TableSpace, rows: classes.PartitionProblem, budget: Budget
) -> classes.RowDivision:
    """A first division: the best of what the genetic search and `auto` find, and of what evolves from it."""
    starts = [find_first_classes(problem)]
    own = _allot_start(problem, budget)
    if is_for_portfolio(problem) and not own.is_over:
        starts.append(_find_classes_of_auto(problem, own))
    if space.rows <= classes.MANY and not own.is_over:
        starts.append(evolve_default_classes(problem, space, own))
    if space.rows <= classes.MANY and not budget.is_over:
        starts.append(evolve_in_rounds(problem, space, np.stack(starts), _STEPS, budget.allot_share(0.2))[0])
    return min((_build_division(rows, of) for of in starts), key=lambda division: division.cost)


def _allot_start(problem: Problem, budget: Budget) -> Budget:
    """What `auto` and the genetic search get: on small tables no time limit, as they have none alone.

    So this search never ends with more loss than they do. It takes them a few seconds.
    """
    if problem.table.weight.size > _ROWS:
        return budget.allot_share(0.4)
    return replace(budget.allot_share(1.0), seconds=None)


def _find_classes_of_auto(problem: Problem, budget: Budget) -> Ints:
    """The class of each row that `auto` finds in its default budget."""
    # It tells nothing: its tables may have sets of categories, which this search need not permit.
    own = replace(budget, on_progress=silent, whole=None)
    seconds = choose_seconds(None, any(domain.kind == "tree" for domain in problem.domains), 0)
    found = search_portfolio(problem, seconds, budget=own)
    budget.count_states(own.nodes)
    return found.class_of[found.table.of_row].astype(np.int64)


def _evolve_again(
    problem: Problem, rows: classes.PartitionProblem, budget: Budget
) -> Iterator[classes.RowDivision]:
    """What the genetic search finds with other seeds, while the budget lasts."""
    for seed in range(problem.seed + 1, problem.seed + 1 + _SEEDS):
        if budget.is_over:
            return
        yield _build_division(rows, evolve_default_classes(replace(problem, seed=seed), rows.space, budget))


def _build_division(rows: classes.PartitionProblem, of: Ints) -> classes.RowDivision:
    groups = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    return rows.build_division([tuple(group.tolist()) for group in groups])


def _build_classwise_proposal(
    table: FrequencyTable, groups: Sequence[tuple[classes.Group, classes.Box]]
) -> Proposal:
    """A proposal class by class."""
    class_of = np.empty(table.weight.size, np.int32)
    for c, (group, _) in enumerate(groups):
        class_of[list(group)] = c
    ends = np.array([box for _, box in groups], np.int64)
    return Proposal(table, class_of, (ends[:, :, 0], ends[:, :, 1]))
