"""Linked rows of which an attacker knows several: no combination of them may lead to fewer than k people.

The method is that of apriori: combinations of one row, then of two, and so on. A combination is *rare* if
somebody has it, but fewer than k people. Cells of rows in rare combinations are merged with the cells nearest
to them, the cheapest first, or such rows are left out if that costs less and is allowed, until no combination
is rare. Whole histories that k people share keep the promise, too; what loses less is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import (
    Rows,
    build_linked_proposal,
    count_least_people,
    get_owner,
    measure_proposal,
    select_problem,
    set_budget,
)
from shoal.algorithms.linked.goal import LinkedGoal
from shoal.algorithms.linked.histories import search_histories
from shoal.algorithms.linked.merging import MergedCells, merge_cheapest, renumber_cells
from shoal.algorithms.linked.rare import find_rare_rows
from shoal.algorithms.linked.single_rows import choose_sample, find_cells, find_static_classes, list_parts
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet, RecipeError

_FACTORS = (1, 5, 20, 80, 320)  # static classes of so many times k people are tried
_STARTS = (1, 2, 4)  # cells of so many times k people are tried to begin with
_MOST_CELLS = 2048  # of a static class, all of which are compared with each other
_SAMPLE = 10_000  # rows on which a size is tried
_WIDEST = 512  # cells of a history, rows times columns, up to which whole histories are compared
_SECONDS_PER_ROW = 16e-6


class MergingWay(NamedTuple):
    """A way to begin."""

    size: int
    """The least number of people in a static class."""
    start: int
    """The least number of people in a cell before cells are merged."""
    leaves: bool
    """Whether rows are left out where that costs less than to merge cells."""


def search_combinations(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress = silent
) -> Proposal:
    """Cells of rows in static classes, merged until no combination is rare; or whole histories."""
    found = {}
    whole = _search_whole_histories(algorithm, problem, goal, on_progress)
    if whole is not None:
        found["whole histories"] = whole
    try:
        merged = _search_by_merging(algorithm, problem, goal, on_progress)
    except RecipeError:  # there are too many combinations to count
        if whole is None:
            raise
        merged = None
    if merged is not None:
        found["merged cells"] = merged
    if not found:
        raise GoalNotMet(
            f"the goal cannot be met: combinations of {goal.knows} rows that fewer than "
            f"{count_least_people(problem)} people have are left even where all rows look alike, because few "
            "people have so many rows: allow rows to be left out with --suppress, or ask for knows = 1"
        )
    lost = {name: measure_proposal(problem, each, goal) for name, each in found.items()}
    best = min(lost, key=lambda name: lost[name])
    told = ", ".join(f"{name} {100 * loss:.2f}" for name, loss in lost.items())
    chosen = found[best]
    return replace(chosen, notes=(*chosen.notes, f"tried {told} % lost; taken: {best}"))


def _search_whole_histories(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress
) -> Proposal | None:
    """Histories that k people share, where they are short enough, and enough people have as many rows."""
    assert problem.person is not None
    if int(np.bincount(problem.person).max()) * len(problem.domains) > _WIDEST:
        return None
    try:
        return search_histories(algorithm, problem, replace(goal, knows=None), on_progress)
    except GoalNotMet:
        return None


def _search_by_merging(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress
) -> Proposal | None:
    """Static classes with cells merged in each, in the way that loses least on a sample."""
    assert problem.person is not None
    k, people = count_least_people(problem), int(get_owner(problem).max()) + 1
    sizes = [k * factor for factor in _FACTORS if k * factor < people]
    # Without static columns there is one class of everybody, and nothing to try.
    ways = _list_ways(problem, sizes if goal.static else [])
    tried = {}
    for at, way in enumerate(ways):
        tried[way] = _try_way(problem, goal, way)
        on_progress("trying static classes", (at + 1) / len(ways))
    promising = [way for way in tried if np.isfinite(tried[way])]
    promising.sort(key=lambda way: (tried[way], way))
    # One class of everybody keeps the promise if any does, and is the last resort.
    for way in (*promising, *_list_ways(problem, [people], (1,))):
        part_of = find_static_classes(algorithm, problem, goal, way.size)
        class_of = _merge_parts(algorithm, problem, goal, way, list(list_parts(part_of)), on_progress)
        if class_of is not None:
            proposal = build_linked_proposal(problem, class_of, part_of, goal)
            note = f"cells of {way.start} people were merged in static classes of {way.size} people"
            return replace(proposal, notes=(note,))
    return None


def _list_ways(problem: Problem, sizes: Sequence[int], starts: Sequence[int] = _STARTS) -> list[MergingWay]:
    """The ways to begin with static classes of several sizes."""
    k = count_least_people(problem)
    return [
        MergingWay(size, k * start, leaves)
        for size in sizes
        for start in starts
        # Where rows may be left out, it need not be better to do so.
        for leaves in ((False, True) if problem.suppress > 0 else (False,))
    ]


def _try_way(problem: Problem, goal: LinkedGoal, way: MergingWay) -> float:
    """What is lost in some static classes; infinite where they cannot keep the promise."""
    part_of = find_static_classes(Mondrian(), problem, goal, way.size)
    chosen = choose_sample(list(list_parts(part_of)), _SAMPLE)
    try:
        class_of = _merge_parts(Mondrian(), problem, goal, way, chosen)
    except RecipeError:  # smaller classes have fewer combinations to count
        class_of = None
    if class_of is None:
        return float("inf")
    # Only the rows that were looked at, which are a table of their own.
    rows = np.sort(np.concatenate(chosen))
    sample = select_problem(problem, range(len(problem.domains)), rows, None, 2)
    within = goal
    if goal.tables is not None:
        within = replace(goal, tables=replace(goal.tables, table_of=goal.tables.table_of[rows]))
    proposal = build_linked_proposal(sample, class_of[rows], part_of[rows], within)
    return measure_proposal(replace(sample, loss="ncp"), proposal, within)


def _merge_parts(
    algorithm: Algorithm,
    problem: Problem,
    goal: LinkedGoal,
    way: MergingWay,
    parts: list[Rows],
    on_progress: Progress = silent,
) -> NDArray[np.int64] | None:
    """[rows] the cells of the rows of some static classes; None if combinations stay rare."""
    assert problem.person is not None
    assert goal.knows is not None
    k, n = count_least_people(problem), goal.select_events(np.arange(problem.person.size)).size
    events = [j for j in range(len(problem.domains)) if j not in goal.static]
    class_of = np.full(problem.person.size, -1, np.int64)
    left_out = used = done = 0
    for part in parts:
        rows = goal.select_events(part)
        done += rows.size
        if not rows.size:
            continue
        person = np.unique(problem.person[rows], return_inverse=True)[1]
        owner = None
        if problem.group is not None:
            owner = np.empty(int(person.max()) + 1, np.int64)
            owner[person] = problem.group[rows]
        share = set_budget(algorithm, _SECONDS_PER_ROW * n, rows.size / n)
        cell = _find_first_cells(share, problem, goal, rows, min(way.start, int(person.max()) + 1))
        within = select_problem(problem, events, rows, None, k) if events else None
        # What may be left out so far: what one class does not need, the next ones may take.
        most = int(problem.suppress * done - left_out + 1e-9) if way.leaves else 0
        table_of: NDArray[np.int64] | None = None
        leaving: tuple[int, float | NDArray[np.float64]] = (most, float(problem.weights.sum()))
        if goal.tables is not None:
            table_of = goal.tables.table_of[rows]
            weight = [float(problem.weights[list(columns)].sum()) for columns in goal.tables.columns]
            leaving = (most, np.array(weight))
        merged = merge_rare_cells(within, (person, owner), cell, goal.knows, k, leaving, table_of)
        if merged is None:
            return None
        class_of[rows] = np.where(merged < 0, -1, merged + used)
        left_out += int(np.count_nonzero(merged < 0))
        used += int(merged.max(initial=-1)) + 1
        on_progress("merging cells", done / n)
    return class_of


def _find_first_cells(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, rows: Rows, start: int
) -> NDArray[np.int64]:
    """Cells of at least ``start`` people; of more where that would be too many cells to compare."""
    while True:
        cell = find_cells(algorithm, problem, goal, rows, start)[0]
        if int(cell.max()) < _MOST_CELLS:
            return cell
        start *= 2


def merge_rare_cells(
    problem: Problem | None,
    people: tuple[NDArray[np.int64], NDArray[np.int64] | None],
    cell: NDArray[np.int64],
    knows: int,
    k: int,
    leaving: tuple[int, float | NDArray[np.float64]],
    table_of: NDArray[np.int64] | None = None,
) -> NDArray[np.int64] | None:
    """The cell of each row, merged until no combination is rare; -1 for rows that are left out.

    Parameters
    ----------
    problem : Problem, optional
        The event columns of the rows; None if there are none.
    people : (int64[rows], int64[people] or None)
        The person of each row and, where groups are counted, the group of each person.
    leaving : (int, float or float[tables])
        How many rows may be left out, and what one costs; by its table, where there are several.
    table_of : int64[rows], optional
        The table of each row: only cells of one table are merged.

    Returns
    -------
    int64[rows], or None if combinations stay rare.
    """
    cell = cell.copy()
    most, whole = leaving
    person, owner = people
    while (rare := find_rare_rows(person, cell, knows, k, owner=owner)) is not None:
        chosen, rows_of = rare.list_cells()
        cells = None if problem is None else MergedCells.from_rows(problem, cell, table_of)
        if cells is None or cells.size.size == 1:
            # All rows look alike: only their number tells people apart.
            if rare.rows.size > most:
                return None
            cell[rare.rows] = -1
            most -= rare.rows.size
            continue
        nearest, cost = cells.find_nearest(chosen)
        price = whole if cells.table is None else np.asarray(whole)[cells.table[chosen]]
        leave = (rows_of * price < cost) & (np.cumsum(rows_of) <= most)
        if leave.any():
            gone = rare.rows[np.isin(cell[rare.rows], chosen[leave])]
            most -= gone.size
            cell[gone] = -1
        elif np.isinf(cost).all():  # of each of these tables all rows look alike
            return None
        else:
            ways = np.flatnonzero(np.isfinite(cost))
            price = cost[ways] / np.maximum(rows_of[ways], 1)
            cell = merge_cheapest(cell, chosen[ways], nearest[ways], price)
        cell = renumber_cells(cell)
    return cell
