"""Brute force: try every table, column by column; then leave out what cannot be better."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import inf, prod
from random import Random
from time import perf_counter
from typing import Any, TypeVar

from shoal.teach.tables import CellOption, Labels, Row, TeachingTable, sum_losses, write_labels
from shoal.teach.textbook.anonymity import Meaning, find_matches, score_by_classes, score_by_components

Value = TypeVar("Value")


class Memory:
    """A cache: remembers what was computed, and counts what that saves."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on
        self.known: dict[Hashable, Any] = {}
        self.hits = 0
        self.seconds = {"hits": 0.0, "misses": 0.0}

    def recall(self, key: Hashable, compute: Callable[..., Value], *arguments: Any) -> Value:
        """The value of ``key``, computed the first time only."""
        if not self.is_on:
            return compute(*arguments)
        began = perf_counter()
        if key in self.known:
            found: Value = self.known[key]
            self.hits += 1
            self.seconds["hits"] += perf_counter() - began
            return found
        found = self.known[key] = compute(*arguments)
        self.seconds["misses"] += perf_counter() - began
        return found

    @property
    def seconds_saved(self) -> float:
        """By how much the hits were faster than as many misses."""
        return self.hits * self.seconds["misses"] / max(len(self.known), 1) - self.seconds["hits"]


@dataclass(slots=True)
class BruteForce:
    """A table that is changed cell by cell, the best tables so far, and the counters."""

    table: TeachingTable
    k: int
    cuts_score: bool
    cuts_k: bool
    meaning: Meaning
    losses: Memory
    matches: Memory
    tell: Callable[..., None]
    """Is told every step: its kind, the search, the row and the column."""
    random: Random | None = None
    """The options of each cell are taken in random order, if given."""
    most: float = inf
    """The search stops after so many states."""
    cells: list[list[CellOption]] = field(default_factory=list)
    best: float = inf
    tables: list[Labels] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=dict)
    below: list[int] = field(default_factory=list)
    """How many tables a branch has that is cut at the end of each column."""

    def __post_init__(self) -> None:
        self.cells = [[options[1] for options in row] for row in self.table.options]  # as they are
        sizes = [prod(len(row[j]) for row in self.table.options) for j in range(len(self.table.names))]
        self.below = [prod(sizes[column + 1 :]) for column in range(len(sizes))]
        names = "visited complete unsafe cut_by_score cut_by_k tables_cut_by_score tables_cut_by_k"
        self.count = dict.fromkeys(names.split(), 0)

    def try_options(self, row: int = 0, column: int = 0) -> None:
        """Write a cell in every way; below each, everything that can follow."""
        options = list(self.table.options[row][column])
        if self.random is not None:
            self.random.shuffle(options)
        for option in options:
            if self.count["visited"] >= self.most:
                break
            self.cells[row][column] = option
            self.count["visited"] += 1
            self.tell("change", self, row, column)
            if row + 1 < len(self.cells):
                self.try_options(row + 1, column)
            else:
                self.end_column(column)
        self.cells[row][column] = self.table.options[row][column][1]

    def end_column(self, column: int) -> None:
        """All cells of a column are written: go on to the next one, unless nothing good can come."""
        loss = self.compute_loss(column)
        if self.cuts_score and loss > self.best:
            self.cut_branch("score", column)
        elif self.cuts_k and not self.is_anonymous(column):
            self.cut_branch("k", column)
        elif column + 1 < len(self.table.names):
            self.try_options(0, column + 1)
        else:
            self.end_table(loss, column)

    def cut_branch(self, why: str, column: int) -> None:
        """Leave out every table below this one."""
        self.count[f"cut_by_{why}"] += 1
        self.count[f"tables_cut_by_{why}"] += self.below[column]
        self.tell(f"cut by {why}", self, len(self.cells) - 1, column)

    def end_table(self, loss: int, column: int) -> None:
        """The table is complete: the best so far, as good as that, or neither."""
        self.count["complete"] += 1
        if not self.cuts_k and not self.is_anonymous(column):
            self.count["unsafe"] += 1
            self.tell("unsafe", self, len(self.cells) - 1, column)
        elif loss < self.best:
            self.best, self.tables = loss, [write_labels(self.cells)]
            self.tell("best", self, len(self.cells) - 1, column)
        elif loss == self.best:
            self.tables.append(write_labels(self.cells))

    def compute_loss(self, column: int) -> int:
        """The loss of the columns up to this one: losses only add up, so it is a lower bound."""
        known = [row[: column + 1] for row in self.cells]
        return sum(self.losses.recall(name_row(row), sum_losses, row) for row in known)

    def is_anonymous(self, column: int) -> bool:
        """Whether every row could be k people, as far as the columns up to this one tell.

        Further columns only tell people apart, so a table that fails here fails for good.
        """
        known = [row[: column + 1] for row in self.cells]
        if self.meaning == "classes":
            return min(score_by_classes(known)) >= self.k
        matches = []
        for row in known:
            people = self.matches.recall(name_row(row), find_matches, row, self.table.people)
            if len(people) < self.k:
                return False
            matches.append(people)
        return min(score_by_components(matches)) >= self.k


def name_row(row: Row) -> tuple[str, ...]:
    """What a row is remembered by: how it is written."""
    return tuple([cell.label for cell in row])
