"""Whole histories: people whose rows, one beside the other, are released alike.

The rows of a person stand in an order, of a time column or of their codes. People with equally many rows are
compared row by row: the aligned rows are one wide row, and classes of wide rows are what every algorithm
finds. Only which rows a person has is released, and not their order. So afterwards the rows of every person
are put where they widen the class least, and the classes are refined with the rows in their new places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import (
    Rows,
    build_linked_proposal,
    count_least_people,
    find_classes,
    number_classes,
    set_budget,
)
from shoal.algorithms.linked.goal import LinkedGoal
from shoal.algorithms.linked.merging import MergedCells, merge_cheapest, renumber_cells
from shoal.algorithms.linked.realign import realign_rows
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import refine_proposal
from shoal.codespace.frequency import CodedRows
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet
from shoal.privacy import KAnonymity, model_text

_SECONDS_PER_ROW = 200e-6  # the budget where none is said
_ORDERS = 3  # event columns that are tried to order rows by, where no column is named
_ROUNDS = 4  # of putting rows in other places and refining the classes
_SWEEPS = 8  # of the refinement in each round
_TOLD = 8  # numbers of rows of which the report tells what was lost


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """People with equally many released rows."""

    rows: Rows
    """[people, most] the rows of each person: those that are released, in their places, then the others; -1
    where a person has fewer."""
    length: int
    """How many rows of each person are released."""

    @property
    def released(self) -> Rows:
        """[people, length] the rows that are released."""
        return self.rows[:, : self.length]


def search_histories(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress = silent
) -> Proposal:
    """Classes of k people with the same released rows."""
    assert problem.person is not None
    k, n = count_least_people(problem), problem.person.size
    lengths = choose_lengths(np.bincount(problem.person), k)
    _check_left_out(problem, lengths, k)
    order = _choose_order(problem, goal, lengths, k)
    class_of, part_of = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    used = parts = done = 0
    notes = []
    for length in np.unique(lengths[lengths > 0]).tolist():
        histories = collect_histories(problem.person, order, np.flatnonzero(lengths == length), length)
        share = histories.released.size / n
        histories, found, lost = _divide_histories(algorithm, problem, goal, histories, k, share)
        placed = histories.released
        class_of[placed] = used + found[:, None] * length + np.arange(length)
        part_of[placed] = parts + found[:, None]
        used, parts = used + (int(found.max()) + 1) * length, parts + int(found.max()) + 1
        done += placed.size
        rows = "row" if length == 1 else "rows"
        notes.append(f"{100 * lost:.2f} % of {len(found):,} people with {length} {rows}")
        on_progress("comparing histories", done / n)
    proposal = build_linked_proposal(problem, class_of, part_of, goal)
    # A line that can be read: the first numbers of rows are those of most people.
    told = ", ".join(notes[:_TOLD]) + (f" and {len(notes) - _TOLD} more numbers" if notes[_TOLD:] else "")
    return replace(proposal, notes=(f"detail lost by whole histories: {told}",))


def choose_lengths(counts: NDArray[np.integer], k: int) -> NDArray[np.int64]:
    """[people] how many rows of each are released, so that k people have each number, and most rows stay.

    Numbers of rows are divided into runs, and all people of a run keep as many rows as its first number. The
    first run can keep none. The least number of rows that are left out is found exactly, run by run.
    """
    number, people = np.unique(counts, return_counts=True)
    number, people = np.concatenate(([0], number)), np.concatenate(([0], people))
    total = np.concatenate(([0], np.cumsum(people)))
    rows = np.concatenate(([0], np.cumsum(people * number)))
    size = number.size
    least, begin = np.full(size + 1, np.inf), np.zeros(size + 1, np.int64)
    least[0] = 0
    for last in range(1, size + 1):
        first = np.arange(last)
        within = total[last] - total[first]
        lost = least[first] + (rows[last] - rows[first]) - number[first] * within
        # The run that keeps nothing may have any number of people.
        lost[(first > 0) & (within < k)] = np.inf
        begin[last] = int(np.argmin(lost))
        least[last] = lost[begin[last]]
    kept, last = np.zeros(size, np.int64), size
    while last > 0:
        kept[begin[last] : last] = number[begin[last]]
        last = int(begin[last])
    return np.asarray(kept[np.searchsorted(number, counts)], np.int64)


def collect_histories(person: NDArray[np.integer], order: Rows, people: Rows, length: int) -> Histories:
    """The rows of some people, in an order of all rows that has those of each person side by side."""
    counts = np.bincount(person)
    start = np.cumsum(counts) - counts
    most = int(counts[people].max())
    place = np.arange(most)
    rows = order[np.minimum(start[people][:, None] + place, order.size - 1)]
    return Histories(np.where(place < counts[people][:, None], rows, -1), length)


def build_wide_problem(problem: Problem, goal: LinkedGoal, histories: Histories, k: int) -> Problem:
    """People as rows: their static columns once, and every event column once for each of the aligned rows."""
    rows, length = histories.released, histories.length
    domains, columns, weights = [], [], []
    for j, domain in enumerate(problem.domains):
        # A static cell is released in every row, and so weighs as much as the cells of all.
        places = range(1 if j in goal.static else length)
        domains += [domain for _ in places]
        columns += [np.ascontiguousarray(problem.rows.quasi[j][rows[:, place]]) for place in places]
        weights += [float(problem.weights[j]) * (length if j in goal.static else 1) for _ in places]
    return replace(
        problem,
        domains=tuple(domains),
        rows=CodedRows(tuple(columns), tuple(domain.size for domain in domains)),
        sensitive=(),
        models=(KAnonymity(max(k, 2)),),
        weights=np.array(weights),
        suppress=0.0,
        scales={},
        beside={},
        person=None,
    )


def _divide_histories(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, histories: Histories, k: int, share: float
) -> tuple[Histories, NDArray[np.int64], float]:
    """The rows in their best places, the class of each person, and what is lost."""
    assert problem.person is not None
    seconds = _SECONDS_PER_ROW * problem.person.size
    wide = build_wide_problem(problem, goal, histories, k)
    found, lost = find_classes(set_budget(algorithm, seconds, share), wide)
    for _ in range(_ROUNDS):
        moved = replace(histories, rows=realign_rows(problem, goal, histories.rows, histories.length, found))
        if (moved.rows == histories.rows).all():
            break
        wide = build_wide_problem(problem, goal, moved, k)
        table = wide.rows.one_by_one(in_order=True)
        start = Proposal(table, found.astype(np.int32))
        refined = refine_proposal(wide, start, _SWEEPS, seconds * share)
        classes, loss = number_classes(wide, refined)
        if loss >= lost:
            break
        histories, found, lost = moved, classes, loss
    if any(model.sensitive for model in problem.models):
        wide = build_wide_problem(problem, goal, histories, k)
        found = merge_failing_people(problem, wide, histories.released, found)
        lost = number_classes(wide, Proposal(wide.rows.one_by_one(in_order=True), found.astype(np.int32)))[1]
    return histories, found, lost


def merge_failing_people(
    problem: Problem, wide: Problem, rows: Rows, found: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The class of each person, merged with those nearest until sensitive values are as was asked for.

    The refinement of wide rows knows only how many people a class has. Values count as the verifier counts
    them: of people with the same rows, in any of them, and of people with an equal row, in these rows.
    """
    while True:
        failing = _find_failing_people(problem, rows, found)
        if not failing.any():
            return found
        if failing.size == 1:
            sensitive = ", ".join(model_text(model) for model in problem.models if model.sensitive)
            raise GoalNotMet(
                f"the goal cannot be met: not all {len(found):,} people with {rows.shape[1]} released rows "
                f"together satisfy {sensitive}, by the values that they have in any row, and whole histories "
                "are compared among people with equally many rows; ask for less"
            )
        chosen = np.flatnonzero(failing)
        nearest, cost = MergedCells.from_rows(wide, found).find_nearest(chosen)
        found = renumber_cells(merge_cheapest(found, chosen, nearest, cost))


def _find_failing_people(problem: Problem, rows: Rows, found: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which classes of people do not satisfy a model."""
    classes, length = int(found.max()) + 1, rows.shape[1]
    in_any = problem.find_sufficient_groups(np.repeat(found, length), rows.ravel(), classes)
    place = (found[:, None] * length + np.arange(length)).ravel()
    in_each = problem.find_sufficient_groups(place, rows.ravel(), classes * length)
    return np.asarray(~in_any | ~in_each.reshape(classes, length).all(axis=1))


def _choose_order(problem: Problem, goal: LinkedGoal, lengths: NDArray[np.int64], k: int) -> Rows:
    """All rows, those of each person side by side, in the order by which they are compared.

    By the column that was named, or else by the event column by which the commonest kind of history loses
    least.
    """
    if goal.order is not None:
        return sort_histories(problem, [goal.order])
    codes = problem.rows.quasi
    events = [j for j in range(len(codes)) if j not in goal.static]
    events.sort(key=lambda j: -np.unique(codes[j]).size)  # stable, so that equal ones keep their order
    orders = [sort_histories(problem, [codes[j]]) for j in events[:_ORDERS]] or [sort_histories(problem, [])]
    usual = int(np.argmax(np.bincount(lengths[lengths > 0]))) if len(orders) > 1 else 0
    people = np.flatnonzero(lengths == usual)
    if usual < 2 or len(orders) == 1:
        return orders[0]
    assert problem.person is not None
    lost = []
    for order in orders:
        wide = build_wide_problem(problem, goal, collect_histories(problem.person, order, people, usual), k)
        lost.append(find_classes(Mondrian(), wide)[1])
    return orders[int(np.argmin(lost))]


def sort_histories(problem: Problem, keys: Sequence[NDArray[np.integer]]) -> Rows:
    """All rows by their person, then by ``keys``, then by their codes: not by their places in the table."""
    assert problem.person is not None
    return np.lexsort((*reversed(problem.rows.quasi), *reversed(keys), problem.person))


def _check_left_out(problem: Problem, lengths: NDArray[np.int64], k: int) -> None:
    """Refuse what leaves out more rows than may be."""
    assert problem.person is not None
    counts = np.bincount(problem.person)
    left_out, allowed = int((counts - lengths).sum()), problem.suppress * problem.person.size
    if left_out > allowed + 1e-9:
        people = np.unique(counts, return_counts=True)[1]
        few = int(people[people < k].sum())
        share = left_out / problem.person.size
        raise GoalNotMet(
            f"the goal cannot be met: {few:,} {'person has' if few == 1 else 'people have'} a number of rows "
            f"that fewer than {k} people have, and the number of rows is a part of a whole history. "
            f"{left_out:,} rows would have to be left out, {100 * share:.2g} % of all: allow that with "
            f"--suppress {_round_up(share)}, or ask for knows = 1"
        )


def _round_up(share: float) -> str:
    """A share of the rows in three digits, not less than it is."""
    return f"{min(np.ceil(share * 1000) / 1000, 1.0):g}"
