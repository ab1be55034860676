"""What the searches of small tables share: the table as they see it, first classes, and proposals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact import classes, coverage
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.evolution import (
    ClassPopulation,
    EvolutionPlan,
    TablePopulation,
    Watch,
    build_local_search,
    evolve_population,
)
from shoal.algorithms.exact.options import Ints, TableSpace
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet, RecipeError
from shoal.kernels.neighbourhoods import divide_neighbourhoods
from shoal.privacy import KAnonymity
from shoal.support.progress import SearchFigures


def matching_k(problem: Problem, algorithm: str) -> int:
    """The k of a goal that must consist of nothing else."""
    others = [model for model in problem.models if not isinstance(model, KAnonymity) or model.columns]
    if others or not problem.models:
        raise RecipeError(
            f"{algorithm} with semantics=matching takes k-anonymity only: with other models leave it at "
            "semantics=classes"
        )
    k = max(model.k for model in problem.models if isinstance(model, KAnonymity))
    if problem.rows.rows < k:
        raise GoalNotMet(f"the goal cannot be met: k = {k}, but the table has {problem.rows.rows} rows")
    return k


def build_rowwise_proposal(table: FrequencyTable, boxes: Sequence[coverage.Box]) -> Proposal:
    """A proposal cell by cell."""
    ends = np.array(boxes, np.int64)
    rows = np.arange(table.weight.size, dtype=np.int32)
    return Proposal(table, rows, (ends[:, :, 0], ends[:, :, 1]))


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


def find_first_classes(problem: Problem) -> Ints:
    """Mondrian's class of each row; it takes no negative weights, and needs some that is not 0."""
    weights = np.maximum(problem.weights, 0.0)
    weights = weights if weights.any() else np.ones_like(weights)
    proposal = Mondrian().search(replace(problem, weights=weights))
    return proposal.class_of[proposal.table.of_row].astype(np.int64)


# Evolution of first classes.

_POPULATION = 60
_ROUNDS = 6
_GENERATIONS = 400
_PATIENCE = 25
_FIRST = 0.6  # share of the steps for the rounds before the last
_NEIGHBOURHOODS = (12, 16, 20, 24)  # rows: from small ones, which are cheap, to those that find most


def evolve_in_rounds(
    problem: Problem, space: TableSpace, starts: Ints, steps: int, budget: Budget
) -> tuple[Ints, float]:
    """The best classes that evolve from several first ones, [starts, rows], and their cost.

    Every round evolves the same starts with other random numbers, and the last one what the others found. The
    work is counted in ``steps``, rows that a local search looks at, so that no clock decides.
    """
    # Rules know rows by number, so they are made for the order that the space has its rows in.
    rules = problem.build_rules(problem.rows.one_by_one(in_order=True))
    found: list[tuple[float, Ints]] = []
    spent, is_last = 0, False
    while not is_last:
        is_last = len(found) == _ROUNDS - 1 or spent > _FIRST * steps or budget.is_over
        begin = np.stack([classes for _, classes in found]) if is_last and found else starts
        population = ClassPopulation(space, rules, begin, _POPULATION, problem.seed + len(found))
        each = population.child_count * population.visits
        plan = EvolutionPlan(max(1, min(_GENERATIONS, (steps - spent) // each)), 10, _PATIENCE)
        history = evolve_population(population, plan, -np.inf, watch_evolution(population, budget))
        spent += len(history) * each
        found.append((float(population.costs[0]), population.of[0]))
    cost, best = min(found, key=lambda each: each[0])
    return best, cost


def divide_near_classes(problem: Problem, space: TableSpace, class_of: Ints, steps: int) -> Ints:
    """Classes that cost no more: near ones are divided anew, as well as possible, where that costs less.

    Moves and swaps of rows end where none helps alone. Here a few classes change at once. The work is counted
    in ``steps``, rows that are looked at.
    """
    rules = problem.build_rules(problem.rows.one_by_one(in_order=True))
    given, _ = build_local_search(space, rules)
    better = np.unique(class_of, return_inverse=True)[1].astype(np.int64)
    for most in _NEIGHBOURHOODS:
        steps -= divide_neighbourhoods(given, better, most, max(steps, 0))[1]
    return np.unique(better, return_inverse=True)[1].astype(np.int64)


def watch_evolution(population: TablePopulation, budget: Budget) -> Watch:
    """Count the tables that are bred, tell how it goes, and end it with the budget."""

    def watch_generation(generation: int, best: float, mean: float) -> bool:
        budget.report_progress("evolving a first table", SearchFigures(best, mean, generation=generation))
        return not budget.count_states(population.child_count if generation else len(population.costs))

    return watch_generation
