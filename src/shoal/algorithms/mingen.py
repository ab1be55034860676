"""MinGen: the table of least loss, with a proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact import classes, coverage, matching
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.evolution import (
    ClassPopulation,
    EvolutionPlan,
    MatchingPopulation,
    Watch,
    evolve_population,
)
from shoal.algorithms.exact.options import Ints, TableSpace
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import KAnonymity
from shoal.support.arithmetic import log10
from shoal.support.parameters import check_fields
from shoal.support.progress import SearchFigures

_ROWS = 200  # distinct rows up to which an exact search is worth its time
_GUESS = EvolutionPlan(generations=60, mutation_rate=10, patience=20)
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
    """Time after which it ends so; none for no limit. What the clock ends may end otherwise the next time."""
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
    if not all(model.by_class for model in problem.models):
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


def _make_guess_watch(budget: Budget) -> Watch:
    """Tell how the evolution of a first table goes, and end it with the time."""

    def watch_generation(generation: int, best: float, mean: float) -> bool:
        budget.report_progress("evolving a first table", SearchFigures(best, mean, generation=generation))
        return budget.is_over

    return watch_generation


# By matching.


def _search_by_matching(
    settings: MinGen, problem: Problem, table: FrequencyTable, space: TableSpace, budget: Budget
) -> _SearchResult:
    k = matching_k(problem, "mingen")
    try:
        rows = coverage.list_cover_options(space, k, budget)
    except coverage.TooManyError:
        return _classes_by_matching(problem, table, space, budget)
    guess = MatchingPopulation([row.keep_undominated() for row in rows], k, 20, problem.seed)
    evolve_population(guess, _GUESS, -np.inf, _make_guess_watch(budget))
    # The evolution chose among fewer options, whose numbers are others.
    start = matching.translate_pick(guess.picks[0], [row.keep_undominated() for row in rows], rows)
    best = matching.find_optimum(rows, k, start, budget)
    best = matching.all_optima(rows, k, best, settings.limit, budget)
    tables = islice(_list_tables(space, rows, best.picks), settings.limit)
    proposals = tuple(build_rowwise_proposal(table, boxes) for boxes in tables)
    return _SearchResult(proposals, best.cost, best.bound, best.is_proved, best.count)


def matching_k(problem: Problem, algorithm: str) -> int:
    """The k of a goal that must consist of nothing else."""
    others = [model for model in problem.models if not isinstance(model, KAnonymity)]
    if others or not problem.models:
        raise RecipeError(
            f"{algorithm} with semantics=matching takes k-anonymity only: with other models leave it at "
            "semantics=classes"
        )
    k = max(model.k for model in problem.models if isinstance(model, KAnonymity))
    if problem.rows.rows < k:
        raise GoalNotMet(f"the goal cannot be met: k = {k}, but the table has {problem.rows.rows} rows")
    return k


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


def build_rowwise_proposal(table: FrequencyTable, boxes: Sequence[coverage.Box]) -> Proposal:
    """A proposal cell by cell."""
    ends = np.array(boxes, np.int64)
    rows = np.arange(table.weight.size, dtype=np.int32)
    return Proposal(table, rows, (ends[:, :, 0], ends[:, :, 1]))


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
        best = classes.solve_by_columns(rows, best, budget)
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


def build_cheapest_proposal(table: FrequencyTable, space: TableSpace, class_of: Ints) -> Proposal:
    """A proposal of classes with the cheapest cells of each, which mostly are the narrowest."""
    if all(column.is_narrowest_cheapest for column in space.columns):
        return Proposal(table, class_of.astype(np.int32))
    order = np.argsort(class_of, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(class_of))[:-1])
    ends = np.array(
        [
            [column.find_cheapest_cells(column.code[group])[1][0] for column in space.columns]
            for group in groups
        ]
    )
    return Proposal(table, class_of.astype(np.int32), (ends[:, :, 0], ends[:, :, 1]))


def build_partition_problem(problem: Problem, space: TableSpace) -> classes.PartitionProblem:
    """The rows of a problem, as the search by classes sees them."""
    codes = space.codes
    if any(model.sensitive for model in problem.models):
        # Rows are of one kind only if no model can tell them apart.
        codes = np.column_stack([codes, *problem.rows.sensitive]).astype(np.int64)
    kind = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    least = [model.least_size() for model in problem.models]
    return classes.PartitionProblem(
        space,
        lambda groups: _are_groups_allowed(problem, groups),
        min(max([1, *least]), space.rows),
        all(isinstance(model, KAnonymity) for model in problem.models),
        problem.is_monotone,
        kind.astype(np.int64),
    )


def _are_groups_allowed(problem: Problem, groups: Sequence[classes.Group]) -> NDArray[np.bool_]:
    """Whether each group satisfies every model."""
    size = [len(group) for group in groups]
    member = np.array([row for group in groups for row in group], np.int64)
    return problem.find_sufficient_groups(np.repeat(np.arange(len(groups)), size), member, len(groups))


def _find_first_division(
    problem: Problem, space: TableSpace, rows: classes.PartitionProblem, budget: Budget
) -> classes.RowDivision:
    """A first division: Mondrian's, improved by a short evolution."""
    of = find_first_classes(problem)
    if space.rows > classes.MANY:
        return _build_division(rows, of)
    # Rules know rows by number, so they are made for the order that the space has its rows in.
    rules = problem.build_rules(problem.rows.one_by_one(in_order=True))
    population = ClassPopulation(space, rules, of, 20, problem.seed)
    evolve_population(population, _GUESS, -np.inf, _make_guess_watch(budget))
    return _build_division(rows, population.of[0])


def _build_division(rows: classes.PartitionProblem, of: Ints) -> classes.RowDivision:
    groups = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    return rows.build_division([tuple(group.tolist()) for group in groups])


def find_first_classes(problem: Problem) -> Ints:
    """Mondrian's class of each row; it takes no negative weights, and needs some that is not 0."""
    weights = np.maximum(problem.weights, 0.0)
    weights = weights if weights.any() else np.ones_like(weights)
    proposal = Mondrian().search(replace(problem, weights=weights))
    return proposal.class_of[proposal.table.of_row].astype(np.int64)


def _build_classwise_proposal(
    table: FrequencyTable, groups: Sequence[tuple[classes.Group, classes.Box]]
) -> Proposal:
    """A proposal class by class."""
    class_of = np.empty(table.weight.size, np.int32)
    for c, (group, _) in enumerate(groups):
        class_of[list(group)] = c
    ends = np.array([box for _, box in groups], np.int64)
    return Proposal(table, class_of, (ends[:, :, 0], ends[:, :, 1]))
