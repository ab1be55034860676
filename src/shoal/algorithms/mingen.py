"""MinGen: the table of least loss, with a proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import log10
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.encoding import CategoryOrder
from shoal.errors import GoalNotMet, RecipeError
from shoal.exact import classes, coverage, matching
from shoal.exact.budget import Budget
from shoal.exact.evolution import Classes, Picks, Plan, Watch, evolve
from shoal.exact.options import Ints, Space
from shoal.frequency import FrequencyTable
from shoal.parameters import check
from shoal.privacy import KAnonymity
from shoal.progress import Figures
from shoal.recoding import Proposal

_ROWS = 200  # distinct rows up to which an exact search is worth its time
_GUESS = Plan(generations=60, mutation_rate=10, patience=20)
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class MinGen:
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
    """Whether to search tables of more than 200 different rows too."""

    def __post_init__(self) -> None:
        check(self)
        if self.limit < 1:
            raise RecipeError(f"limit must be at least 1, not {self.limit}: one optimal table is released")
        for name in ("iterations", "seconds"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise RecipeError(f"{name} must be above 0, not {value}; leave it out for no limit")

    @property
    def category_order(self) -> CategoryOrder:
        """Any will do: a flat category has no neighbours here."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Find the least loss, or the best within the limits, and what is proved of it."""
        distinct = problem.table.weight.size
        if distinct > _ROWS and not self.force:
            raise RecipeError(
                f"exact search is for tables of up to {_ROWS} different rows; this one has {distinct}: take "
                "--algorithm mondrian, or genetic to improve on it, or insist with --set force=true"
            )
        table = problem.rows.one_by_one(in_order=True)
        sets = self.sets and self.semantics == "classes"
        space = Space.of(problem.domains, table.codes, problem.loss, problem.weights, sets)
        budget = Budget(self.seconds, self.iterations, on_progress, space.scale)
        by = _by_matching if self.semantics == "matching" else _by_classes
        found = by(self, problem, table, space, budget)
        return _described(self, problem, space, budget, found)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Tables of one cost and what is proved of it."""

    tables: tuple[Proposal, ...]
    cost: float
    bound: float
    proved: bool
    count: float | None


def _described(settings: MinGen, problem: Problem, space: Space, budget: Budget, found: _Found) -> Proposal:
    size = space.size()
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
        search_space=float(size) if size < _LARGEST else None,
        search_space_log10=log10(size),
        notes=tuple(notes),
        alternatives=found.tables[1:],
    )


def _guessing(budget: Budget) -> Watch:
    """Tell how the evolution of a first table goes, and end it with the time."""

    def watch(generation: int, best: float, mean: float) -> bool:
        budget.tell("evolving a first table", Figures(best, mean, generation=generation))
        return budget.over

    return watch


# By matching.


def _by_matching(
    settings: MinGen, problem: Problem, table: FrequencyTable, space: Space, budget: Budget
) -> _Found:
    k = matching_k(problem, "mingen")
    try:
        rows = coverage.choices(space, k, budget)
    except coverage.TooManyError:
        return _classes_by_matching(problem, table, space, budget)
    guess = Picks([row.solving() for row in rows], k, 20, problem.seed)
    evolve(guess, _GUESS, -np.inf, _guessing(budget))
    start = matching.translated(guess.picks[0], [row.solving() for row in rows], rows)
    best = matching.optimum(rows, k, start, budget)
    best = matching.all_optima(rows, k, best, settings.limit, budget)
    tables = islice(_tables(space, rows, best.picks), settings.limit)
    proposals = tuple(rowwise(table, boxes) for boxes in tables)
    return _Found(proposals, best.cost, best.bound, best.proved, best.count)


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


def _classes_by_matching(problem: Problem, table: FrequencyTable, space: Space, budget: Budget) -> _Found:
    """What can be said of a table whose rows have too many options: classes are permitted by matching too."""
    rows = class_rows(problem, space)
    best = _start(problem, space, rows, budget)
    # A row that covers k rows costs as much as any pair of them, matching or not.
    return _one_division(best, table, rows, rows.row_bound())


def _tables(
    space: Space, rows: Sequence[coverage.Choices], picks: Iterable[Ints]
) -> Iterator[tuple[coverage.Box, ...]]:
    """Every way of writing the tables, one box per row."""
    for pick in picks:
        ways = [
            list(islice(coverage.boxes(space, i, rows[i].cover[at], float(rows[i].cost[at])), 1000))
            for i, at in enumerate(pick)
        ]
        yield from product(*ways)


def rowwise(table: FrequencyTable, boxes: Sequence[coverage.Box]) -> Proposal:
    """A proposal cell by cell."""
    ends = np.array(boxes, np.int64)
    rows = np.arange(table.weight.size, dtype=np.int32)
    return Proposal(table, rows, (ends[:, :, 0], ends[:, :, 1]))


# By classes.


def _by_classes(
    settings: MinGen, problem: Problem, table: FrequencyTable, space: Space, budget: Budget
) -> _Found:
    rows = class_rows(problem, space)
    whole = tuple(range(space.rows))
    if not rows.allowed([whole])[0] and rows.countable:
        raise GoalNotMet("the goal cannot be met: not even the whole table as one class satisfies it")
    if space.rows <= classes.FEW and budget.nodes_left >= 1 << space.rows:
        best, tables = classes.by_subsets(rows, settings.limit, budget)
        if not tables:
            return _one_division(_start(problem, space, rows, budget), table, rows, best.bound)
        proposals = tuple(_classwise(table, each) for each in tables)
        return _Found(proposals, best.cost, best.bound, rows.countable, best.count)
    best = _start(problem, space, rows, budget)
    if classes.FEW < space.rows <= classes.MANY and not budget.over:
        best = classes.by_columns(rows, best, budget)
    return replace(_one_division(best, table, rows, best.bound), proved=best.proved)


def _one_division(best: classes.Division, table: FrequencyTable, rows: classes.Rows, bound: float) -> _Found:
    """One division, of which no more is known than a bound."""
    class_of = np.empty(table.weight.size, np.int64)
    for number, group in enumerate(best.groups):
        class_of[list(group)] = number
    return _Found((by_cheapest_cells(table, rows.space, class_of),), best.cost, bound, False, None)


def by_cheapest_cells(table: FrequencyTable, space: Space, class_of: Ints) -> Proposal:
    """A proposal of classes with the cheapest cells of each, which mostly are the narrowest."""
    if all(column.narrow for column in space.columns):
        return Proposal(table, class_of.astype(np.int32))
    order = np.argsort(class_of, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(class_of))[:-1])
    ends = np.array([[column.best(column.code[group])[1][0] for column in space.columns] for group in groups])
    return Proposal(table, class_of.astype(np.int32), (ends[:, :, 0], ends[:, :, 1]))


def class_rows(problem: Problem, space: Space) -> classes.Rows:
    """The rows of a problem, as the search by classes sees them."""
    codes = space.codes
    if any(model.sensitive for model in problem.models):
        codes = np.column_stack([codes, *problem.rows.sensitive]).astype(np.int64)
    kind = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    least = [model.least_size() for model in problem.models]
    return classes.Rows(
        space,
        lambda groups: _allowed(problem, groups),
        min(max([1, *least]), space.rows),
        all(isinstance(model, KAnonymity) for model in problem.models),
        all(model.monotone for model in problem.models),
        kind.astype(np.int64),
    )


def _allowed(problem: Problem, groups: Sequence[classes.Group]) -> NDArray[np.bool_]:
    """Whether each group satisfies every model."""
    size = [len(group) for group in groups]
    member = np.array([row for group in groups for row in group], np.int64)
    return problem.suffices(np.repeat(np.arange(len(groups)), size), member, len(groups))


def _start(problem: Problem, space: Space, rows: classes.Rows, budget: Budget) -> classes.Division:
    """A first division: Mondrian's, improved by a short evolution."""
    of = first_classes(problem)
    if space.rows > classes.MANY:
        return _division(rows, of)
    rules = problem.rules(problem.rows.one_by_one(in_order=True))
    population = Classes(space, rules, of, 20, problem.seed)
    evolve(population, _GUESS, -np.inf, _guessing(budget))
    return _division(rows, population.of[0])


def _division(rows: classes.Rows, of: Ints) -> classes.Division:
    groups = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    return rows.division([tuple(group.tolist()) for group in groups])


def first_classes(problem: Problem) -> Ints:
    """Mondrian's class of each row; it takes no negative weights, and needs some that is not 0."""
    weights = np.maximum(problem.weights, 0.0)
    weights = weights if weights.any() else np.ones_like(weights)
    proposal = Mondrian().search(replace(problem, weights=weights))
    return proposal.class_of[proposal.table.of_row].astype(np.int64)


def _classwise(table: FrequencyTable, groups: Sequence[tuple[classes.Group, classes.Box]]) -> Proposal:
    """A proposal class by class."""
    class_of = np.empty(table.weight.size, np.int32)
    for c, (group, _) in enumerate(groups):
        class_of[list(group)] = c
    ends = np.array([box for _, box in groups], np.int64)
    return Proposal(table, class_of, (ends[:, :, 0], ends[:, :, 1]))
