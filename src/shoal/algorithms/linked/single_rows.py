"""Linked rows of which an attacker knows one: static classes of people, and cells of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import (
    Rows,
    build_linked_proposal,
    count_least_people,
    find_classes,
    find_first_rows,
    get_owner,
    select_problem,
    set_budget,
)
from shoal.algorithms.linked.goal import LinkedGoal
from shoal.algorithms.linked.sparse import merge_sparse_classes
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding

_FACTORS = (1, 5, 20, 80, 320)  # static classes of so many times k people are tried first
_SAMPLE = 20_000  # rows on which a size is tried
_SECONDS_PER_ROW = 16e-6  # the budget where none is said


@dataclass(frozen=True, slots=True, eq=False)
class StaticClasses:
    """People in classes by their static columns, and the cells of their rows in each class."""

    part_of: NDArray[np.int64]
    """[rows] the static class of the person of each row."""
    class_of: NDArray[np.int64]
    """[rows] the cell of each row; every cell is in one static class."""
    size: int
    """The least number of people that a static class was to have."""


def search_single_rows(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress = silent
) -> Proposal:
    """Static classes of K people, whose rows are in cells of k people; K is what loses least on a sample."""
    tried = choose_static_size(problem, goal, count_least_people(problem), on_progress)
    size = min(tried, key=lambda each: (tried[each], each))
    found = divide_people(algorithm, problem, goal, size, on_progress)
    named = ", ".join(f"{each} people {100 * lost:.2f}" for each, lost in tried.items())
    notes = (f"static classes were tried on a sample: of {named} % lost; taken: {size} people",)
    proposal = build_linked_proposal(problem, found.class_of, found.part_of, goal)
    return replace(proposal, notes=notes if len(set(tried.values())) > 1 else ())


def choose_static_size(
    problem: Problem, goal: LinkedGoal, k: int, on_progress: Progress = silent
) -> dict[int, float]:
    """What static classes of several sizes would lose, static and event columns together, on a sample."""
    people = int(get_owner(problem).max()) + 1
    events = [j for j in range(len(problem.domains)) if j not in goal.static]
    if not goal.static or not events:
        return {k: 0.0}
    tried: dict[int, float] = {}
    for factor in _FACTORS:
        if factor == 1 or factor * k <= people:
            tried[factor * k] = _try_size(problem, goal, factor * k)
            on_progress("trying static classes", 0.5 * len(tried) / len(_FACTORS))
    best = min(tried, key=lambda each: (tried[each], each))
    # Between the sizes that were tried: half and twice the best.
    for size in (best // 2, best * 2):
        if k <= size <= people and size not in tried:
            tried[size] = _try_size(problem, goal, size)
    return dict(sorted(tried.items()))


def divide_people(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, size: int, on_progress: Progress = silent
) -> StaticClasses:
    """Static classes of at least ``size`` people, and in each of them cells of rows of k people."""
    k = count_least_people(problem)
    part_of = find_static_classes(algorithm, problem, goal, size)
    class_of = np.zeros(part_of.size, np.int64)
    used = done = 0
    seconds = _SECONDS_PER_ROW * part_of.size
    for rows in list_parts(part_of):
        share = set_budget(algorithm, seconds, rows.size / part_of.size)
        class_of[rows] = find_cells(share, problem, goal, rows, k)[0] + used
        used = int(class_of[rows].max()) + 1
        done += rows.size
        on_progress("dividing rows", done / part_of.size)
    return StaticClasses(part_of, class_of, size)


def find_static_classes(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, size: int
) -> NDArray[np.int64]:
    """[rows] the class of the person of each row, by the static columns; each of at least ``size`` people."""
    assert problem.person is not None
    if not goal.static:
        return np.zeros(problem.person.size, np.int64)
    first = find_first_rows(problem.person)
    owner = get_owner(problem)
    by_person = select_problem(problem, goal.static, first, owner[first], size)
    class_of = find_classes(set_budget(algorithm, 0.6, 1.0), by_person)[0]
    if goal.tables is not None:
        class_of = merge_sparse_classes(by_person, class_of, problem.person, goal.tables, owner)
    return np.asarray(class_of[problem.person])


def list_parts(part_of: NDArray[np.int64]) -> Iterator[Rows]:
    """The rows of each part, in their order."""
    order = np.argsort(part_of, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(part_of[order])) + 1)


def find_cells(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, rows: Rows, k: int
) -> tuple[NDArray[np.int64], float]:
    """The cells of the rows of a static class by the event columns, each of k people; and what they cost."""
    cell, owner = np.zeros(rows.size, np.int64), get_owner(problem)[rows]
    used, cost = 0, 0.0
    for here, events in goal.divide_rows(rows, len(problem.domains)):
        cell[here] = used
        if events:
            # Of some tables only a few people of a class have rows.
            least = min(k, np.unique(owner[here]).size)
            within = select_problem(problem, events, rows[here], owner[here], least)
            found, lost = find_classes(algorithm, within)
            cell[here] += found
            cost += here.size * lost * float(within.weights.sum())
        used = int(cell[here].max()) + 1
    return cell, cost


def choose_sample(parts: list[Rows], rows: int) -> list[Rows]:
    """Some of the parts, with about so many rows together: evenly among them, for neighbours are alike."""
    size = np.array([part.size for part in parts])
    wanted = np.arange(0, size.sum(), max(size.sum() * float(size.mean()) / rows, 1.0))
    return [parts[at] for at in np.unique(np.searchsorted(np.cumsum(size), wanted, side="right"))]


def _try_size(problem: Problem, goal: LinkedGoal, size: int) -> float:
    """What static classes of a size lose, in static columns and, by some of the classes, in the others."""
    part_of = find_static_classes(Mondrian(), problem, goal, size)
    chosen = choose_sample(list(list_parts(part_of)), _SAMPLE)
    k, lost = count_least_people(problem), 0.0
    for rows in chosen:
        lost += find_cells(Mondrian(), problem, goal, rows, k)[1]
    lost /= sum(rows.size for rows in chosen)
    # All static cells, for their widths differ more than a few classes can tell.
    static = sum(float(problem.weights[j]) for j in goal.static)
    events = float(problem.weights.sum()) - static
    if goal.tables is not None:
        # By row, as the cost of events is: one static cell for each person.
        share = np.bincount(goal.tables.table_of) / part_of.size
        weight = [float(problem.weights[list(columns)].sum()) for columns in goal.tables.columns]
        own = [each * part for each, part in zip(weight, share.tolist(), strict=True)]
        static, events = own[0], sum(own[1:])
    lost += static * _measure_static_loss(problem, goal, part_of)
    return lost / max(static + events, np.finfo(float).tiny)


def _measure_static_loss(problem: Problem, goal: LinkedGoal, part_of: NDArray[np.int64]) -> float:
    """What the static columns lose in static classes."""
    rows = np.arange(part_of.size)
    if goal.tables is not None:  # where static cells are in one table only
        rows = np.flatnonzero(goal.tables.table_of == 0)
    whole = select_problem(problem, goal.static, rows, None, 2)
    proposal = Proposal(whole.rows.one_by_one(in_order=True), part_of[rows].astype(np.int32))
    recoding = Recoding.from_proposal(proposal, whole.domains)
    return float(LOSSES["ncp"]().measure(recoding, whole.weights).value)
