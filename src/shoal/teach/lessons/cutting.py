"""The lessons in two dimensions: Mondrian's cuts, and l and t for the classes that they leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

from shoal.errors import InputError, quote
from shoal.teach.lessons.lesson import Lesson, Trace
from shoal.teach.lessons.searching import check_goal
from shoal.teach.reading import ColumnSettings, read_teaching_table
from shoal.teach.tables import Labels, TeachingTable
from shoal.teach.textbook.mondrian import cut_boxes, join_classes, measure_distance, measure_diversity

_TWELVE: ColumnSettings = {"quasi": ("age", "hours"), "sensitive": "illness"}
_MOST_ROWS = 60
Points = list[tuple[Fraction, Fraction]]
Classes = Sequence[tuple[int, ...]]


def cut_mondrian(
    table: Any = None, k: int = 3, *, steps: int = 200, **columns: Unpack[ColumnSettings]
) -> Lesson:
    """Cut the people of a table into boxes, at the median of the wider of two columns.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default the people that ship with Shoal.
    k : int
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `brute_force`. ``quasi`` names two columns with an order; by
        default the first two that have one.
    """
    small, points = _read_plane(table, columns, k)
    trace, everybody = Trace(steps), tuple(range(len(points)))
    boxes: list[tuple[int, ...]] = [everybody]
    _add_plane(trace, "note", f"All {len(points)} people are in one box.", small, points, boxes)
    for cut in cut_boxes(points, everybody, k):
        if cut.column is None or cut.place is None:
            text = f"This box of {len(cut.rows)} stays: no cut leaves {k} people on both sides."
            _add_plane(trace, "best", text, small, points, boxes, cut.rows)
            continue
        name, place = small.names[cut.column], _show_number(cut.place)
        left = tuple(row for row in cut.rows if points[row][cut.column] <= cut.place)
        right = tuple(row for row in cut.rows if row not in left)
        boxes = [box for box in boxes if box != cut.rows] + [left, right]
        text = f"{name} is widest here: cut at its median, {place}, into {len(left)} and {len(right)} people."
        line = (cut.column, float(cut.place), cut.rows)
        _add_plane(trace, "change", text, small, points, boxes, cut.rows, line)
    figures = {"k": k, "classes": len(boxes), "sizes": sorted(map(len, boxes)), "rows": len(points)}
    return Lesson("mondrian", small, tuple(trace.steps), figures, (_write_boxes(small, points, boxes),))


def diversify(
    table: Any = None,
    k: int = 2,
    *,
    l: int = 2,  # noqa: E741
    t: float = 0.4,
    steps: int = 200,
    **columns: Unpack[ColumnSettings],
) -> Lesson:
    """Look at the sensitive values of Mondrian's classes, and join classes until l and t hold.

    Parameters
    ----------
    table : path or frame, optional
        A small table; by default the people that ship with Shoal.
    k : int
    l : int
        How many sensitive values a class must have.
    t : float
        How far its shares of sensitive values may be from those of everybody, 0 to 1.
    steps : int
        How many steps are kept for the player.
    **columns
        What is said about the columns, as for `cut_mondrian`; ``sensitive`` names the sensitive column.
    """
    small, points = _read_plane(table, columns, k)
    if not small.sensitive:
        raise InputError("this lesson is about a sensitive column: say which, with sensitive or --sensitive")
    if not 1 <= l <= len(set(small.sensitive)) or not 0 <= t <= 1:
        values = len(set(small.sensitive))
        raise InputError(
            f"l is 1 to {values}, the number of sensitive values, and t is 0 to 1: not {l} and {t}"
        )
    trace = Trace(steps)
    start = [cut.rows for cut in cut_boxes(points, tuple(range(len(points))), k) if cut.column is None]
    classes: Classes = start
    joins = 0
    for kind, rows, classes in join_classes(points, start, small.sensitive, l, Fraction(str(t))):
        joins += kind == "join"
        text, holds = _describe_class(kind, rows, small, l, t)
        colour = "change" if kind == "join" else "best" if holds else "unsafe"
        _add_bars(trace, colour, text, small, points, classes, rows)
    mine = [[small.sensitive[row] for row in rows] for rows in classes]
    figures = {
        "k": k,
        "l": min(map(measure_diversity, mine)),
        "t": float(max(measure_distance(values, small.sensitive) for values in mine)),
        "classes_by_k": len(start),
        "classes": len(classes),
        "joins": joins,
    }
    return Lesson("diversity", small, tuple(trace.steps), figures, (_write_boxes(small, points, classes),))


def _read_plane(table: Any, columns: ColumnSettings, k: int) -> tuple[TeachingTable, Points]:
    """The table with two columns that have an order, and the people as points."""
    given: ColumnSettings = {**_TWELVE, **columns} if table is None else {**columns}
    small = read_teaching_table(table, **given)
    lines = [column for column, places in enumerate(small.numbers) if places is not None]
    if not given.get("quasi") and len(lines) > 2:
        lines = lines[:2]
    if len(lines) != 2 or (given.get("quasi") and len(small.names) != 2):
        raise InputError(
            f"this lesson draws two columns of numbers or dates: name two with quasi or --quasi; there are "
            f"{quote(small.names[column] for column in lines) or 'none'}"
        )
    if len(small.people) > _MOST_ROWS:
        raise InputError(
            f"the table has {len(small.people)} rows, and this lesson draws {_MOST_ROWS} at most"
        )
    places = [small.numbers[column] or () for column in lines]
    points = [(x, y) for x, y in zip(*places, strict=True) if x is not None and y is not None]
    if len(points) < len(small.people):
        raise InputError("a point needs both of its values: leave out the rows where one is missing")
    given["quasi"] = [small.names[column] for column in lines]
    small = read_teaching_table(table, **given)
    check_goal(small, k)
    return small, points


def _write_boxes(table: TeachingTable, points: Points, boxes: Classes) -> Labels:
    """Each row with the ranges of its box."""
    cells = list(table.people)
    for rows in boxes:
        texts = []
        for column in range(2):
            line = sorted(rows, key=lambda row: points[row][column])
            low, high = table.people[line[0]][column], table.people[line[-1]][column]
            texts.append(low if low == high else f"[{low}-{high}]")
        for row in rows:
            cells[row] = tuple(texts)
    return tuple(cells)


def _show_number(value: Fraction) -> str:
    return f"{float(value):g}"


def _add_plane(
    trace: Trace,
    kind: str,
    text: str,
    table: TeachingTable,
    points: Points,
    boxes: Classes,
    current: tuple[int, ...] = (),
    line: tuple[int, float, tuple[int, ...]] | None = None,
) -> None:
    picture = {
        "points": [(float(x), float(y)) for x, y in points],
        "boxes": [list(rows) for rows in boxes],
        "current": list(current),
        "line": line,
    }
    shown = {"boxes": len(boxes), "smallest": min(map(len, boxes))}
    trace.add(kind, text, _write_boxes(table, points, boxes), figures=shown, picture=picture)


def _describe_class(
    kind: str, rows: tuple[int, ...], table: TeachingTable, least: int, most: float
) -> tuple[str, bool]:
    values = [table.sensitive[row] for row in rows]
    reached, distance = measure_diversity(values), measure_distance(values, table.sensitive)
    holds = reached >= least and distance <= Fraction(str(most))
    counted = ", ".join(f"{count} {value}" for value, count in sorted(Counter(values).items()))
    if kind == "join":
        return f"Join it with its neighbour: the new class has {counted}.", holds
    said = f"A class of {len(rows)}: {counted}. l is {reached}, t is {float(distance):.2f}: "
    return said + ("it holds." if holds else "it fails."), holds


def _add_bars(
    trace: Trace,
    kind: str,
    text: str,
    table: TeachingTable,
    points: Points,
    classes: Classes,
    current: tuple[int, ...],
) -> None:
    values = sorted(set(table.sensitive))
    shares = [
        [sum(table.sensitive[row] == value for row in rows) / len(rows) for value in values]
        for rows in (range(len(points)), *sorted(classes))
    ]
    picture = {"values": values, "shares": shares, "current": 1 + sorted(classes).index(current)}
    trace.add(
        kind, text, _write_boxes(table, points, classes), figures={"classes": len(classes)}, picture=picture
    )
