"""Mondrian: cut a box of people in two, again and again, and then look at who shares a box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

Points = Sequence[Sequence[Fraction]]
Rows = tuple[int, ...]


class BoxCut(NamedTuple):
    """What is done with a box: cut at a place of a column, or left whole."""

    rows: Rows
    column: int | None
    place: Fraction | None
    depth: int


def cut_boxes(points: Points, rows: Rows, k: int, depth: int = 0) -> Iterator[BoxCut]:
    """Cut at the median of the widest column that leaves k people on both sides; the parts likewise."""
    widths = measure_widths(points, rows)
    for column in sorted(range(len(widths)), key=lambda column: -widths[column]):
        values = sorted(points[row][column] for row in rows)
        median = values[(len(values) - 1) // 2]
        left = tuple(row for row in rows if points[row][column] <= median)
        right = tuple(row for row in rows if points[row][column] > median)
        if len(left) >= k and len(right) >= k:
            yield BoxCut(rows, column, median, depth)
            yield from cut_boxes(points, left, k, depth + 1)
            yield from cut_boxes(points, right, k, depth + 1)
            return
    yield BoxCut(rows, None, None, depth)


def measure_widths(points: Points, rows: Sequence[int]) -> list[Fraction]:
    """How wide some rows are in each column, as a share of the whole."""
    boxes = [zip(*some, strict=True) for some in ((points[row] for row in rows), points)]
    sides = [[max(values) - min(values) for values in box] for box in boxes]
    return [mine / (whole or 1) for mine, whole in zip(*sides, strict=True)]


def measure_diversity(values: Sequence[str]) -> int:
    """Distinct l-diversity: how many sensitive values a class has."""
    return len(set(values))


def measure_distance(values: Sequence[str], everybody: Sequence[str]) -> Fraction:
    """t-closeness with equal distances: which share would have to change to be like everybody."""
    mine, all_values = Counter(values), Counter(everybody)
    return sum(
        abs(Fraction(mine[value], len(values)) - Fraction(all_values[value], len(everybody)))
        for value in all_values
    ) / Fraction(2)


def join_classes(
    points: Points, classes: Sequence[Rows], sensitive: Sequence[str], least: int, most: Fraction
) -> Iterator[tuple[str, Rows, list[Rows]]]:
    """Join each class with too few values, or too large a distance, with its nearest neighbour.

    Yields what happens ("look" or "join"), the class in question, and all classes then.
    """
    todo, done = list(classes), list[Rows]()
    while todo:
        rows = todo.pop(0)
        yield "look", rows, [*done, rows, *todo]
        mine, others = [sensitive[row] for row in rows], [*done, *todo]
        if not others or (measure_diversity(mine) >= least and measure_distance(mine, sensitive) <= most):
            done.append(rows)
            continue
        nearest = min(others, key=lambda other: sum(measure_widths(points, rows + other)))
        done = [other for other in done if other != nearest]
        todo = [tuple(sorted(rows + nearest)), *(other for other in todo if other != nearest)]
        yield "join", todo[0], [*done, *todo]
