"""Whole histories: people whose rows, one beside the other, are released alike.

The rows of a person stand in an order, of a time column or of their codes. People with equally many rows are
compared row by row: the aligned rows are one wide row, and classes of wide rows are what every algorithm
finds. Only which rows a person has is released, and not their order. So afterwards the rows of every person
are put where they widen the class least, and the classes are refined with the rows in their new places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    number_classes,
    number_owners,
    set_budget,
)
from shoal.algorithms.linked.goal import LinkedGoal, LinkedTables
from shoal.algorithms.linked.merging import MergedCells, merge_cheapest, renumber_cells
from shoal.algorithms.linked.realign import realign_rows
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import refine_proposal
from shoal.codespace.frequency import CodedRows
from shoal.codespace.recoding import Proposal
from shoal.errors import GoalNotMet
from shoal.privacy import KAnonymity, model_text

_SECONDS_PER_ROW = 80e-6  # the budget where none is said
_ORDERS = 3  # event columns that are tried to order rows by, where no column is named
_ROUNDS = 4  # of putting rows in other places and refining the classes
_SWEEPS = 8  # of the refinement in each round
_TOLD = 8  # numbers of rows of which the report tells what was lost


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """People with equally many released rows, of one table."""

    rows: Rows
    """[people, most] the rows of each person: those that are released, in their places, then the others; -1
    where a person has fewer."""
    length: int
    """How many rows of each person are released."""
    columns: tuple[int, ...]
    """The columns that vary between these rows."""
    table: int = 0
    """The table, where there are several."""

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
    class_of, part_of = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    used = parts = done = 0
    notes = []
    for aligned in _list_histories(problem, goal, k):
        share = sum(each.released.size for each in aligned) / n
        histories, found, lost = _divide_histories(algorithm, problem, goal, aligned, k, share)
        placed = np.concatenate([each.released for each in histories], axis=1)
        length = placed.shape[1]
        class_of[placed] = used + found[:, None] * length + np.arange(length)
        part_of[placed] = parts + found[:, None]
        used, parts = used + (int(found.max()) + 1) * length, parts + int(found.max()) + 1
        done += placed.size
        length -= goal.tables is not None  # a person's own row is none of the events
        rows = "row" if length == 1 else "rows"
        notes.append(f"{100 * lost:.2f} % of {len(found):,} people with {length} {rows}")
        on_progress("comparing histories", done / n)
    proposal = build_linked_proposal(problem, class_of, part_of, goal)
    # A line that can be read: the first numbers of rows are those of most people.
    told = ", ".join(notes[:_TOLD]) + (f" and {len(notes) - _TOLD} more numbers" if notes[_TOLD:] else "")
    return replace(proposal, notes=(f"detail lost by whole histories: {told}",))


def _list_histories(problem: Problem, goal: LinkedGoal, k: int) -> Iterator[list[Histories]]:
    """The people with equally many released rows, in each table, with these rows."""
    assert problem.person is not None
    if goal.tables is not None:
        yield from _list_histories_of_tables(problem, goal, goal.tables, k)
        return
    counts, owner = np.bincount(problem.person), list_owners(problem)
    lengths = choose_lengths(counts, k, owner=owner)
    _check_left_out(problem, counts, lengths, k)
    order = _choose_order(problem, goal, lengths, k)
    events = _list_events(problem, goal)
    for length in np.unique(lengths[lengths > 0]).tolist():
        yield [collect_histories(problem.person, order, np.flatnonzero(lengths == length), length, events)]


def _list_histories_of_tables(
    problem: Problem, goal: LinkedGoal, tables: LinkedTables, k: int
) -> Iterator[list[Histories]]:
    """The same where people have rows in several tables, and one each in that of the people."""
    assert problem.person is not None
    people, person = int(problem.person.max()) + 1, problem.person
    counts = np.stack(
        [np.bincount(person[tables.table_of == at], minlength=people) for at in range(len(tables.columns))],
        axis=1,
    )
    lengths = choose_table_lengths(counts, k, list_owners(problem))
    _check_left_out(problem, counts, lengths, k)
    orders = [_sort_table(problem, goal, tables, at) for at in range(len(tables.columns))]
    for length in np.unique(lengths, axis=0).tolist():
        alike = np.flatnonzero((lengths == length).all(axis=1))
        yield [
            collect_histories(person, orders[at], alike, length[at], tables.columns[at] if at else (), at)
            for at in range(len(length))
            if length[at]
        ]


def _sort_table(problem: Problem, goal: LinkedGoal, tables: LinkedTables, table: int) -> Rows:
    """The rows of a table by their person, then by the column that is named, or has most values."""
    assert problem.person is not None
    (rows,) = np.nonzero(tables.table_of == table)
    codes = [problem.rows.quasi[j][rows] for j in tables.columns[table]]
    codes.sort(key=lambda each: -np.unique(each).size)  # stable, so that equal ones keep their order
    keys = [] if goal.order is None else [goal.order[rows]]
    return rows[np.lexsort((*reversed(codes), *keys, problem.person[rows]))]


def _list_events(problem: Problem, goal: LinkedGoal) -> tuple[int, ...]:
    return tuple(j for j in range(len(problem.domains)) if j not in goal.static)


def list_owners(problem: Problem) -> Rows | None:
    """[people] the group of each; None where groups are not counted."""
    assert problem.person is not None
    return None if problem.group is None else get_owner(problem)[find_first_rows(problem.person)]


def choose_table_lengths(counts: NDArray[np.integer], k: int, owner: Rows | None = None) -> NDArray[np.int64]:
    """[people, tables] how many rows of each person are released of each table, of ``counts``.

    Table by table, among the people who have kept equally many rows of those before: so k people have each
    combination of numbers.
    """
    kept = np.zeros(counts.shape, np.int64)
    alike = np.zeros(len(counts), np.int64)
    for table in range(counts.shape[1]):
        for number in range(int(alike.max()) + 1):
            here = np.flatnonzero(alike == number)
            whose = None if owner is None else owner[here]
            kept[here, table] = choose_lengths(counts[here, table], k, may_vanish=False, owner=whose)
        alike = np.unique(kept[:, : table + 1], axis=0, return_inverse=True)[1].ravel()
    return kept


def choose_lengths(
    counts: NDArray[np.integer], k: int, may_vanish: bool = True, owner: Rows | None = None
) -> NDArray[np.int64]:
    """[people] how many rows of each are released, so that k people have each number, and most rows stay.

    Numbers of rows are divided into runs, and all people of a run keep as many rows as its first number. The
    first run can keep none. The least number of rows that are left out is found exactly, run by run. Unless
    people ``may_vanish``, those who keep none are k people or more, too, because something else tells of
    them. Where people have an ``owner``, they are people of k owners.
    """
    number, people = np.unique(counts, return_counts=True)
    place = np.searchsorted(number, counts) + int(number[0] > 0 or may_vanish)
    if number[0] > 0 or may_vanish:
        number, people = np.concatenate(([0], number)), np.concatenate(([0], people))
    total = np.concatenate(([0], np.cumsum(people)))
    rows = np.concatenate(([0], np.cumsum(people * number)))
    size = number.size
    least, begin = np.full(size + 1, np.inf), np.zeros(size + 1, np.int64)
    least[0] = 0
    # The last number of rows that somebody of each owner has, of those so far.
    latest = None if owner is None else np.full(int(owner.max()) + 1, -1, np.int64)
    for last in range(1, size + 1):
        first = np.arange(last)
        within = total[last] - total[first]
        lost = least[first] + (rows[last] - rows[first]) - number[first] * within
        if owner is not None and latest is not None:
            latest[owner[place == last - 1]] = last - 1
            seen = np.bincount(latest[latest >= 0], minlength=last)
            within = seen[::-1].cumsum()[::-1]
        # The run that keeps nothing may have any number of people.
        must = first > 0 if may_vanish else within > 0
        lost[must & (within < k)] = np.inf
        begin[last] = int(np.argmin(lost))
        least[last] = lost[begin[last]]
    kept, last = np.zeros(size, np.int64), size
    while last > 0:
        kept[begin[last] : last] = number[begin[last]]
        last = int(begin[last])
    return np.asarray(kept[np.searchsorted(number, counts)], np.int64)


def collect_histories(
    person: NDArray[np.integer],
    order: Rows,
    people: Rows,
    length: int,
    columns: tuple[int, ...] = (),
    table: int = 0,
) -> Histories:
    """The rows of some people, in an order of all rows of a table that has those of each side by side."""
    counts = np.bincount(person[order], minlength=int(person.max()) + 1)
    start = np.cumsum(counts) - counts
    most = int(counts[people].max())
    place = np.arange(most)
    rows = order[np.minimum(start[people][:, None] + place, order.size - 1)]
    return Histories(np.where(place < counts[people][:, None], rows, -1), length, columns, table)


def build_wide_problem(problem: Problem, goal: LinkedGoal, histories: Sequence[Histories], k: int) -> Problem:
    """People as rows: their static columns once, and every event column once for each of the aligned rows."""
    domains, columns, weights = [], [], []
    # A static cell is released in every row, and so weighs as much as the cells of all; or in one table only.
    times = 1 if goal.tables is not None else histories[0].length
    for j, domain in enumerate(problem.domains):
        with_column = (each.released for each in histories if j in each.columns)
        rows = histories[0].released[:, :1] if j in goal.static else next(with_column, None)
        if rows is None:  # nobody has rows of its table
            continue
        places = range(rows.shape[1])
        domains += [domain for _ in places]
        columns += [np.ascontiguousarray(problem.rows.quasi[j][rows[:, place]]) for place in places]
        weights += [float(problem.weights[j]) * (times if j in goal.static else 1) for _ in places]
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
        person=None if problem.group is None else number_owners(problem.group[histories[0].released[:, 0]]),
        group=None,
    )


def _divide_histories(
    algorithm: Algorithm,
    problem: Problem,
    goal: LinkedGoal,
    histories: list[Histories],
    k: int,
    share: float,
) -> tuple[list[Histories], NDArray[np.int64], float]:
    """The rows in their best places, the class of each person, and what is lost."""
    assert problem.person is not None
    seconds = _SECONDS_PER_ROW * problem.person.size
    wide = build_wide_problem(problem, goal, histories, k)
    found, lost = find_classes(set_budget(algorithm, seconds, share), wide)
    for _ in range(_ROUNDS):
        moved = [
            replace(each, rows=realign_rows(problem, each.columns, each.rows, each.length, found))
            for each in histories
        ]
        if all((new.rows == old.rows).all() for new, old in zip(moved, histories, strict=True)):
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
        found = merge_failing_people(problem, goal, wide, histories, found)
        lost = number_classes(wide, Proposal(wide.rows.one_by_one(in_order=True), found.astype(np.int32)))[1]
    return histories, found, lost


def merge_failing_people(
    problem: Problem,
    goal: LinkedGoal,
    wide: Problem,
    histories: Sequence[Histories],
    found: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The class of each person, merged with those nearest until sensitive values are as was asked for.

    The refinement of wide rows knows only how many people a class has. Values count as the verifier counts
    them: of people with the same rows, in any of them, and of people with an equal row, in these rows.
    """
    while True:
        failing = _find_failing_people(problem, goal, histories, found)
        if not failing.any():
            return found
        if failing.size == 1:
            sensitive = ", ".join(model_text(model) for model in problem.models if model.sensitive)
            raise GoalNotMet(
                f"the goal cannot be met: not all {len(found):,} people with "
                f"{sum(each.length for each in histories)} released rows "
                f"together satisfy {sensitive}, by the values that they have in any row, and whole histories "
                "are compared among people with equally many rows; ask for less"
            )
        chosen = np.flatnonzero(failing)
        nearest, cost = MergedCells.from_rows(wide, found).find_nearest(chosen)
        found = renumber_cells(merge_cheapest(found, chosen, nearest, cost))


def _find_failing_people(
    problem: Problem, goal: LinkedGoal, histories: Sequence[Histories], found: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which classes of people do not satisfy a model, by the values in the rows of any table."""
    classes = int(found.max()) + 1
    failing = np.zeros(classes, np.bool_)
    for each in histories:
        rows, length, within = each.released, each.length, problem
        if goal.tables is not None:
            within = goal.tables.problems[each.table]
            rows = rows - goal.tables.starts[each.table]
        in_any = within.find_sufficient_groups(np.repeat(found, length), rows.ravel(), classes)
        place = (found[:, None] * length + np.arange(length)).ravel()
        in_each = within.find_sufficient_groups(place, rows.ravel(), classes * length)
        failing |= ~in_any | ~in_each.reshape(classes, length).all(axis=1)
    return failing


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
        histories = collect_histories(problem.person, order, people, usual, _list_events(problem, goal))
        wide = build_wide_problem(problem, goal, [histories], k)
        lost.append(find_classes(Mondrian(), wide)[1])
    return orders[int(np.argmin(lost))]


def sort_histories(problem: Problem, keys: Sequence[NDArray[np.integer]]) -> Rows:
    """All rows by their person, then by ``keys``, then by their codes: not by their places in the table."""
    assert problem.person is not None
    return np.lexsort((*reversed(problem.rows.quasi), *reversed(keys), problem.person))


def _check_left_out(
    problem: Problem, counts: NDArray[np.integer], lengths: NDArray[np.int64], k: int
) -> None:
    """Refuse what leaves out more of the rows that people have, in each table if several, than may be."""
    assert problem.person is not None
    # The rows of the people themselves are not left out.
    rows = int((counts if counts.ndim == 1 else counts[:, 1:]).sum())
    left_out, allowed = int((counts - lengths).sum()), problem.suppress * rows
    if left_out > allowed + 1e-9:
        people = np.unique(counts, axis=0, return_counts=True)[1]
        few = int(people[people < k].sum())
        share = left_out / rows
        raise GoalNotMet(
            f"the goal cannot be met: {few:,} {'person has' if few == 1 else 'people have'} a number of rows "
            f"that fewer than {k} people have, and the number of rows is a part of a whole history. "
            f"{left_out:,} rows would have to be left out, {100 * share:.2g} % of all: allow that with "
            f"--suppress {_round_up(share)}, or ask for knows = 1"
        )


def _round_up(share: float) -> str:
    """A share of the rows in three digits, not less than it is."""
    return f"{min(np.ceil(share * 1000) / 1000, 1.0):g}"
