"""What every algorithm here works on: people, and the ways to write each of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NamedTuple, TypeAlias


class CellOption(NamedTuple):
    """One way to write a cell."""

    label: str
    values: frozenset[str]
    """Which values of the column it could stand for."""
    loss: int
    """In units of 1/`TeachingTable.unit`: whole numbers can be compared exactly."""


Row: TypeAlias = Sequence[CellOption]
Person: TypeAlias = Sequence[str]
Labels: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class TeachingTable:
    """The people of a table as their quasi-identifiers describe them, with every way to write each cell."""

    names: tuple[str, ...]
    people: tuple[tuple[str, ...], ...]
    """The original value of each cell, row by row."""
    options: tuple[tuple[tuple[CellOption, ...], ...], ...]
    """``options[row][column]``: suppressed, as it is, in a group of its hierarchy, in a range."""
    unit: int
    numbers: tuple[tuple[Fraction | None, ...] | None, ...]
    """Per column, where its values stand on a line; None for a column without an order."""
    sensitive: tuple[str, ...] = ()
    """The sensitive value of each row; empty if none is named."""
    sensitive_name: str = ""
    others: int = 0
    """How many columns there are besides the quasi-identifiers."""

    @property
    def search_space(self) -> int:
        """How many tables there are: the product of the options of all cells."""
        return prod(len(options) for row in self.options for options in row)

    def count_states(self) -> int:
        """How many cells are written to try all tables: over all cells, the ways to fill those up to it."""
        total, ways = 0, 1
        for column in range(len(self.names)):
            for row in self.options:
                ways *= len(row[column])
                total += ways
        return total


def sum_losses(row: Row) -> int:
    """The loss of a row: the sum over its cells."""
    return sum(cell.loss for cell in row)


def write_labels(rows: Sequence[Row]) -> Labels:
    """A table as it is written."""
    return tuple(tuple([cell.label for cell in row]) for row in rows)
