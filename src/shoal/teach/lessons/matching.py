"""The lessons on the two meanings of k: who could be who, and strongly connected components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Unpack

from shoal.errors import InputError
from shoal.teach.lessons.lesson import Lesson, Trace, count_things, show_loss
from shoal.teach.lessons.proving import branch_and_bound, solve_program
from shoal.teach.lessons.searching import check_goal
from shoal.teach.reading import ColumnSettings, read_for_lesson
from shoal.teach.tables import CellOption, Labels, TeachingTable, write_labels
from shoal.teach.textbook.anonymity import (
    find_matches,
    list_assignments,
    score_by_classes,
    score_by_components,
)
from shoal.teach.textbook.branching import list_row_options

_FIVE: ColumnSettings = {"quasi": ("age", "sex", "job"), "rows": 5}
_MOST_ROWS = 8
_SHOWN = 12  # answers that are drawn for one table
Cells = list[list[CellOption]]


def match_people(
    table: Any = None, k: int = 2, *, steps: int = 200, **columns: Unpack[ColumnSettings]
) -> Lesson:
    """Show who could be who in three tables: a careless one, and the best by each meaning of k.

    In the careless table every row covers k people, which is not enough: answers to "who is who" in which
    nobody gets two rows can leave a row with one person only.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default five of the people that ship with Shoal.
    k : int
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `brute_force`.
    """
    small, trace = _read_few(table, columns, k), Trace(steps)
    figures: dict[str, Any] = {"k": k}
    found = []
    for name, cells in _list_tables(small, k):
        matches = [find_matches(row, small.people) for row in cells]
        answers = list(islice(list_assignments(matches), 50_000))
        seen: list[set[int]] = [set() for _ in matches]
        loss = show_loss(sum(cell.loss for row in cells for cell in row), small.unit)
        first = f"The {name} table loses {loss}. Arrows lead from a row to everybody whom it covers."
        _add(trace, "note", first, cells, matches, (), seen)
        for number, answer in enumerate(answers):
            for row, person in enumerate(answer):
                seen[row].add(person)
            if number < _SHOWN:
                text = f"Answer {number + 1} of {len(answers):,}: everybody gets one row."
                _add(trace, "change", text, cells, matches, answer, seen)
        scores, equal = score_by_components(matches), score_by_classes(cells)
        verdict = _judge(name, k, scores, equal)
        _add(trace, "best" if min(scores) >= k else "unsafe", verdict, cells, matches, (), seen)
        figures[name] = {"loss": float(loss), "answers": len(answers), "scores": scores, "equal_rows": equal}
        found.append(write_labels(cells))
    return Lesson("matching", small, tuple(trace.steps), figures, tuple(found))


def find_components(
    table: Any = None, k: int = 2, *, steps: int = 200, **columns: Unpack[ColumnSettings]
) -> Lesson:
    """Find the arrows that belong to some answer, without listing answers: those that lie on a cycle.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default five of the people that ship with Shoal.
    k : int
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `brute_force`.
    """
    small, trace = _read_few(table, columns, k), Trace(steps)
    figures: dict[str, Any] = {"k": k}
    found = []
    for name, cells in islice(_list_tables(small, k), 2):
        matches = [find_matches(row, small.people) for row in cells]
        arcs = {(i, j): "arc" for i, people in enumerate(matches) for j in people if i != j}
        said = f"The {name} table: an arrow from i to j means that row i covers person j."
        _add_circle(trace, "note", said, cells, arcs, ())
        for i, j in list(arcs):
            path = _find_path(matches, j, i)
            arcs[i, j] = "good" if path else "cut"
            way = " → ".join(str(row + 1) for row in (i, *path))
            text = f"{way} is a cycle: the arrow from {i + 1} to {j + 1} belongs to an answer."
            if not path:
                text = f"Nothing leads from {j + 1} back to {i + 1}: this arrow belongs to no answer."
            _add_circle(trace, "change" if path else "cut", text, cells, arcs, (i, *path))
        scores = score_by_components(matches)
        verdict = _judge(name, k, scores, score_by_classes(cells))
        _add_circle(trace, "best" if min(scores) >= k else "unsafe", verdict, cells, arcs, ())
        kept = sum(kind == "good" for kind in arcs.values())
        figures[name] = {"arcs": len(arcs), "arcs_on_cycles": kept, "scores": scores}
        found.append(write_labels(cells))
    return Lesson("components", small, tuple(trace.steps), figures, tuple(found))


def _read_few(table: Any, columns: ColumnSettings, k: int) -> TeachingTable:
    small = read_for_lesson(table, _FIVE, columns)
    check_goal(small, k)
    if len(small.people) > _MOST_ROWS:
        raise InputError(
            f"the table has {len(small.people)} rows, and this lesson draws {_MOST_ROWS} at most: take the "
            "first rows only"
        )
    return small


def _list_tables(table: TeachingTable, k: int) -> Iterator[tuple[str, Cells]]:
    """A careless table, the best one by matching, and the best one by classes."""
    careless = []
    for row in range(len(table.people)):
        ways = [way for way in list_row_options(table, row) if len(way.people) >= k]
        careless.append(list(min(ways, key=lambda way: way.loss).cells))
    yield "careless", careless
    yield "matching", _find_cells(table, branch_and_bound(table, k).tables[0])
    yield "classes", _find_cells(table, solve_program(table, k).tables[0])


def _find_cells(table: TeachingTable, labels: Labels) -> Cells:
    return [
        [next(o for o in options if o.label == label) for options, label in zip(row, written, strict=True)]
        for row, written in zip(table.options, labels, strict=True)
    ]


def _find_path(matches: Sequence[Sequence[int]], start: int, end: int) -> tuple[int, ...]:
    """The shortest way along arcs from ``start`` to ``end``, both included; empty if there is none."""
    paths: list[tuple[int, ...]] = [(start,)]
    for path in paths:  # grows while it is gone through
        if path[-1] == end:
            return path
        seen = {row for known in paths for row in known}
        paths += [(*path, row) for row in matches[path[-1]] if row not in seen]
    return ()


def _judge(name: str, k: int, scores: Sequence[int], equal: Sequence[int]) -> str:
    said = f"The {name} table: the rows could be {', '.join(map(str, scores))} people. "
    if min(scores) < k:
        return said + f"Row {scores.index(min(scores)) + 1} could be too few: the table is not safe."
    alike = count_things(min(equal), "row")
    return (
        said
        + f"It is safe by matching; the smallest class has {alike}, so by classes it is "
        + ("safe too." if min(equal) >= k else "not.")
    )


def _add(
    trace: Trace,
    kind: str,
    text: str,
    cells: Cells,
    matches: Sequence[Sequence[int]],
    answer: Sequence[int],
    seen: Sequence[set[int]],
) -> None:
    arcs = [
        (i, j, "now" if answer and answer[i] == j else "good" if j in seen[i] else "arc")
        for i, people in enumerate(matches)
        for j in people
    ]
    shown = {"people so far": ", ".join(str(len(people)) for people in seen)}
    trace.add(kind, text, write_labels(cells), figures=shown, picture={"arcs": arcs, "rows": len(cells)})


def _add_circle(
    trace: Trace, kind: str, text: str, cells: Cells, arcs: dict[tuple[int, int], str], path: Sequence[int]
) -> None:
    steps = set(pairwise(path))
    drawn = [(i, j, "now" if (i, j) in steps else kind) for (i, j), kind in arcs.items()]
    shown = {
        "on a cycle": sum(kind == "good" for kind in arcs.values()),
        "on none": sum(kind == "cut" for kind in arcs.values()),
    }
    trace.add(kind, text, write_labels(cells), figures=shown, picture={"arcs": drawn, "rows": len(cells)})
