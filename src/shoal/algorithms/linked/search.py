"""The search for a linked release, by what an attacker may know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.algorithms.linked.base import Rows
from shoal.algorithms.linked.combinations import search_combinations
from shoal.algorithms.linked.goal import LinkedGoal
from shoal.algorithms.linked.histories import search_histories
from shoal.algorithms.linked.single_rows import search_single_rows
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.recoding import Proposal


def search_linked(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress = silent
) -> Proposal:
    """Propose classes of rows such that an attacker who knows some rows of a person finds k people."""
    assert problem.person is not None
    order = _sort_rows(problem, goal)
    group = None if problem.group is None else problem.group[order]
    ordered = replace(problem, rows=problem.rows.take_rows(order), person=problem.person[order], group=group)
    told = goal.take_rows(order)
    if goal.knows is None:
        found = search_histories(algorithm, ordered, told, on_progress)
    elif goal.knows == 1:
        found = search_single_rows(algorithm, ordered, told, on_progress)
    else:
        found = search_combinations(algorithm, ordered, told, on_progress)
    if goal.tables is None:
        return _restore_order(found, problem, order)
    own = zip(found.tables, goal.tables.problems, goal.tables.divide_order(order), strict=True)
    first, *others = (_restore_order(*each) for each in own)
    return replace(first, notes=found.notes, tables=(first, *others))


def _restore_order(found: Proposal, problem: Problem, order: Rows) -> Proposal:
    """A proposal for rows in an order of content, as one for the rows of the table."""
    place = np.argsort(order, kind="stable")
    return replace(
        found,
        table=problem.rows.one_by_one(in_order=True),
        class_of=found.class_of[place],
        parts=None if found.parts is None else found.parts[place],
    )


def _sort_rows(problem: Problem, goal: LinkedGoal) -> Rows:
    """All rows in an order that follows from what they contain.

    Which of several equal rows is left out, or takes which place, must not tell the order of the table.
    """
    if goal.tables is None:
        return _sort_content(problem, goal.order)
    starts = goal.tables.starts
    ranks = [None] * starts.size if goal.order is None else np.split(goal.order, starts[1:])
    own = zip(starts, goal.tables.problems, ranks, strict=True)
    return np.concatenate([start + _sort_content(each, rank) for start, each, rank in own])


def _sort_content(problem: Problem, rank: Rows | None) -> Rows:
    assert problem.person is not None
    rows, aligned = problem.rows, () if rank is None else (rank,)
    return np.lexsort((*reversed(rows.sensitive), *reversed(rows.quasi), *aligned, problem.person))
