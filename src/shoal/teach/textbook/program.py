"""A mixed-integer program: divide the rows into groups, each group a variable that is 0 or 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import inf
from typing import NamedTuple

from shoal.teach.tables import CellOption, TeachingTable, sum_losses


class Group(NamedTuple):
    """Rows that are written alike."""

    rows: tuple[int, ...]
    cells: tuple[CellOption, ...]
    loss: int


def list_groups(table: TeachingTable, k: int) -> list[Group]:
    """Every group of k to 2k - 1 rows: a larger one could be split, and that never loses more."""
    sizes = range(k, min(2 * k, len(table.people) + 1))
    return [
        cover_rows(table, rows) for size in sizes for rows in combinations(range(len(table.people)), size)
    ]


def cover_rows(table: TeachingTable, rows: tuple[int, ...]) -> Group:
    """The tightest cells around some rows."""
    cells = tuple(
        min(
            (o for o in options if all(table.people[row][column] in o.values for row in rows)),
            key=lambda option: option.loss,
        )
        for column, options in enumerate(table.options[rows[0]])
    )
    return Group(rows, cells, sum_losses(cells) * len(rows))


def solve_relaxation(groups: Sequence[Group], rows: Sequence[int]) -> dict[Group, Fraction] | None:
    """How much of each group is taken for the least loss, if it may be a part; None if rows are left over.

    The simplex method, in fractions: every row is in groups that add up to 1. It begins with one artificial
    group per row, whose loss is too high to stay.
    """
    high = 1 + sum(group.loss for group in groups)
    columns = [*groups, *(Group((row,), (), high) for row in rows)]
    tableau = [[Fraction(row in group.rows) for group in columns] + [Fraction(1)] for row in rows]
    basis = list(range(len(groups), len(columns)))
    while True:
        lines = list(zip(basis, tableau, strict=True))
        gains = (
            sum(columns[b].loss * line[j] for b, line in lines) - column.loss
            for j, column in enumerate(columns)
        )
        enter = next((j for j, gain in enumerate(gains) if gain > 0), None)  # the first: no circles (Bland)
        if enter is None:
            break
        leave = min((line[-1] / line[enter], b, i) for i, (b, line) in enumerate(lines) if line[enter] > 0)[2]
        exchange_columns(tableau, leave, enter)
        basis[leave] = enter
    taken = {columns[b]: line[-1] for b, line in sorted(lines) if line[-1]}
    return None if any(not group.cells for group in taken) else taken


def exchange_columns(tableau: list[list[Fraction]], leave: int, enter: int) -> None:
    """One step of the simplex method: a column comes into the solution, another one leaves it."""
    tableau[leave] = [value / tableau[leave][enter] for value in tableau[leave]]
    for i, line in enumerate(tableau):
        if i != leave and line[enter]:
            tableau[i] = [a - line[enter] * b for a, b in zip(line, tableau[leave], strict=True)]


@dataclass(slots=True)
class Program:
    """Branch and bound: a group that is taken in part is taken whole, and then not at all."""

    tell: Callable[..., None]
    """Is told every step: its kind, the program, the groups so far, the bound, the depth, what is taken."""
    best: float | Fraction = inf
    chosen: tuple[Group, ...] = ()
    count: dict[str, int] = field(default_factory=lambda: {"visited": 0, "cut_by_bound": 0})

    def branch_on_groups(
        self, groups: Sequence[Group], rows: Sequence[int], chosen: tuple[Group, ...] = (), depth: int = 0
    ) -> None:
        """Solve the relaxation of what is left, and branch on the first group that is taken in part."""
        self.count["visited"] += 1
        taken = solve_relaxation(groups, rows)
        loss = inf if taken is None else sum(group.loss * part for group, part in taken.items())
        bound = loss + sum(group.loss for group in chosen)
        if taken is None or bound >= self.best:
            self.count["cut_by_bound"] += 1
            self.tell("cut by score", self, chosen, bound, depth, {})
            return
        split = next((group for group, part in taken.items() if part < 1), None)
        if split is None:
            self.best, self.chosen = bound, (*chosen, *taken)
            self.tell("best", self, self.chosen, bound, depth, taken)
            return
        self.tell("change", self, chosen, bound, depth, taken)
        apart = [group for group in groups if not set(group.rows) & set(split.rows)]
        left = [row for row in rows if row not in split.rows]
        self.branch_on_groups(apart, left, (*chosen, split), depth + 1)
        self.branch_on_groups([group for group in groups if group != split], rows, chosen, depth + 1)
