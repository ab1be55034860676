"""What the searches for linked releases have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.auto import TINY, Auto
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.linked.goal import LinkedGoal, LinkedTables
from shoal.algorithms.problem import Algorithm, Problem
from shoal.algorithms.space import renumber_classes
from shoal.codespace.frequency import CodedRows
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.privacy import KAnonymity
from shoal.privacy.people import has_repeated_people

Rows = NDArray[np.int64]


def count_least_people(problem: Problem) -> int:
    """How many people have to look alike."""
    return max(model.least_size() for model in problem.models)


def get_owner(problem: Problem) -> Rows:
    """[rows] who is counted: the person of each row or, where groups are counted, the group of that person.

    Everybody is in one group, so that k groups are k people, too.
    """
    assert problem.person is not None
    return np.asarray(problem.person if problem.group is None else problem.group, np.int64)


def find_first_rows(person: NDArray[np.integer]) -> Rows:
    """[people] the first row of each person."""
    first = np.empty(int(person.max()) + 1, np.int64)
    first[person[::-1]] = np.arange(person.size)[::-1]
    return first


def select_problem(
    problem: Problem, columns: Sequence[int], rows: Rows, person: NDArray[np.integer] | None, k: int
) -> Problem:
    """The search for k people, or rows, on some columns and rows of a problem."""
    quasi = tuple(problem.rows.quasi[j][rows] for j in columns)
    domains = tuple(problem.domains[j] for j in columns)
    if person is not None:
        person = number_owners(person)
    return replace(
        problem,
        domains=domains,
        rows=CodedRows(quasi, tuple(domain.size for domain in domains)),
        sensitive=(),
        models=(KAnonymity(max(k, 2)),),
        weights=problem.weights[list(columns)],
        suppress=0.0,
        scales={},
        beside={},
        person=person,
        group=None,
    )


def number_owners(owner: NDArray[np.integer]) -> Rows | None:
    """Who is counted, numbered without gaps; None if nobody has several of the rows, so that rows count."""
    number = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    return number if has_repeated_people(number) else None


def find_classes(algorithm: Algorithm, problem: Problem) -> tuple[NDArray[np.int64], float]:
    """The class of each row as a reader sees it, where equal cells are one class, and what it lost."""
    # An exact search of a few rows takes its time from the whole table's values, which are many.
    if isinstance(algorithm, Auto) and problem.rows.rows <= TINY:
        algorithm = Cluster(cell=0)
    return number_classes(problem, algorithm.search(problem))


def number_classes(problem: Problem, proposal: Proposal) -> tuple[NDArray[np.int64], float]:
    """The classes of a proposal as a reader sees them, and what it lost."""
    recoding = Recoding.from_proposal(proposal, problem.domains)
    lost = LOSSES["ncp"]().measure(recoding, problem.weights).value
    return recoding.class_of[recoding.table.of_row].astype(np.int64), float(lost)


def set_budget(algorithm: Algorithm, seconds: float, share: float) -> Algorithm:
    """The algorithm with its share of a budget, where it has none of its own."""
    if not isinstance(algorithm, Auto):
        return algorithm
    # Never nothing: even the smallest part gets one pass.
    return Auto(seconds=max((algorithm.seconds or seconds) * share, 1e-4))


def build_linked_proposal(
    problem: Problem, class_of: NDArray[np.int64], part_of: NDArray[np.int64], goal: LinkedGoal
) -> Proposal:
    """A proposal of the class of each row, -1 if it is left out, and of its part, which has static cells."""
    if goal.tables is not None:
        first, *others = _divide_proposal(problem, class_of, part_of, goal.tables)
        return replace(first, tables=(first, *others))
    table = problem.rows.one_by_one(in_order=True)
    return Proposal(
        table,
        renumber_classes(class_of),
        parts=np.asarray(part_of, np.int32),
        shared=goal.static,
    )


def _divide_proposal(
    problem: Problem, class_of: NDArray[np.int64], part_of: NDArray[np.int64], tables: LinkedTables
) -> list[Proposal]:
    """By table, a proposal of its own rows and columns; people are in the classes that parts are."""
    found = []
    for table, columns in enumerate(tables.columns):
        rows = np.flatnonzero(tables.table_of == table)
        coded = select_problem(problem, columns, rows, None, 2).rows
        of_row = (part_of if table == 0 else class_of)[rows]
        found.append(Proposal(coded.one_by_one(in_order=True), renumber_classes(of_row)))
    return found


def measure_proposal(problem: Problem, proposal: Proposal, goal: LinkedGoal) -> float:
    """The loss that was asked for; of several tables, each cell as its column weighs in its table."""
    if goal.tables is None:
        recoding = Recoding.from_proposal(proposal, problem.domains)
        return float(LOSSES[problem.loss]().measure(recoding, problem.weights).value)
    lost = whole = 0.0
    for columns, each in zip(goal.tables.columns, proposal.tables, strict=True):
        weights = problem.weights[list(columns)]
        weight = float(weights.sum()) * each.table.rows
        whole += weight
        if (each.class_of >= 0).any():
            recoding = Recoding.from_proposal(each, tuple(problem.domains[j] for j in columns))
            lost += weight * float(LOSSES["ncp"]().measure(recoding, weights).value)
        else:
            lost += weight
    return lost / max(whole, np.finfo(float).tiny)
