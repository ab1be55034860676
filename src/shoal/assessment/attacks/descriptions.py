"""Descriptions of people by released cells, and whom they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from shoal.assessment.attacks.attack_data import (
    AttackData,
    Ints,
    Mask,
    match_labels,
    number_strings,
)
from shoal.errors import InputError
from shoal.table import Column, ColumnType, Table, infer_type, parse_values, to_strings

_SEVERAL = r"^(?:\[.*\]|\{.*\}|\*)$"  # ranges, sets, and what stands for everything


@dataclass(frozen=True, slots=True, eq=False)
class _DescriptionCells:
    """One cell of each description, to be compared with the people of a table."""

    values: int
    """How many distinct ones the table has in this column."""
    fits: Callable[[int, Ints | slice], Mask]
    """Given a description and rows of the table: which of the rows fit."""


@dataclass(frozen=True, slots=True, eq=False)
class DescribedColumn:
    """A released column that descriptions are made of."""

    column: Column
    is_generalised: bool
    """Whether its cells can stand for several values; otherwise they are values as they were."""

    def read_cells(self, data: AttackData, table: Table, rows: Ints) -> _DescriptionCells:
        """The cells of some released rows, ready to be compared with the people of ``table``."""
        released, people = data.release.column(self.column.name), table.column(self.column.name)
        if not self.is_generalised:
            return _read_values(released.gather(rows), people)
        labels, label = number_strings(released.gather(rows))
        values, number, stands = match_labels(
            labels, people, data.original, self.column, every_value_occurs=False
        )
        return _DescriptionCells(len(values), lambda i, left: stands[label[i]][number[left]])


def _read_values(released: pl.Series, people: pl.Series) -> _DescriptionCells:
    """Cells that fit people with an equal value."""
    values, number = number_strings(pl.concat(to_comparable_strings(released, people)))
    wanted, own = number[: len(released)], number[len(released) :]
    return _DescriptionCells(len(values), lambda i, left: own[left] == wanted[i])


def find_described(data: AttackData) -> tuple[tuple[DescribedColumn, ...], tuple[str, ...]]:
    """The columns that descriptions are made of, and the names of those that fit nobody."""
    quasi = {known.column.name: known.column for known in data.known}
    found, strange = [], []
    for name in data.described:
        column = quasi.get(name) or data.typed_column(name)
        how = "generalised" if name in quasi else _how_released(data, column)
        if how == "strange":
            strange.append(name)
        else:
            found.append(DescribedColumn(column, how == "generalised"))
    return tuple(found), tuple(strange)


def _how_released(data: AttackData, column: Column) -> Literal["values", "generalised", "strange"]:
    """Whether the cells of a column are values of the original, stand for several of them, or neither."""
    tables = (data.release, data.original)
    cells, values = to_comparable_strings(
        *(table.column(column.name).unique(maintain_order=True) for table in tables)
    )
    # A missing cell tells nothing of how the column was released.
    unknown = cells.drop_nulls().filter(~cells.drop_nulls().is_in(values.implode()))
    nodes = [] if column.hierarchy is None else [name for names in column.hierarchy.names for name in names]
    if (unknown.str.contains(_SEVERAL) | unknown.is_in(nodes)).any():
        return "generalised"
    # Some values may be spelt otherwise; where most are unknown, they are coded otherwise.
    return "strange" if 2 * len(unknown) > len(cells) else "values"


def to_comparable_strings(one: pl.Series, other: pl.Series) -> list[pl.Series]:
    """Two columns as strings that are equal where the values are.

    A number is spelt otherwise in a frame of pandas than in the file that it was read from: 30 and 30.0.
    """
    both = (one, other)
    if one.dtype != other.dtype:
        try:
            kind = _common_type(both)
            return [to_strings(parse_values(series, kind, series.name)) for series in both]
        except InputError:  # generalised cells, for example, are no numbers
            pass
    return [to_strings(series) for series in both]


def _common_type(columns: Sequence[pl.Series]) -> ColumnType:
    # Where one side looks like strings, the type of the other side is tried on both.
    kinds = {infer_type(series.drop_nulls().unique(maintain_order=True)).type for series in columns}
    return "float" if kinds == {"integer", "float"} else min(kinds - {"string"}, default="string")


@dataclass(frozen=True, slots=True, eq=False)
class FittingRows:
    """The rows of a table that descriptions fit, where these are few."""

    count: Ints
    """[descriptions] how many rows fit; 0 where they are too many to be told."""
    row: Ints
    """The rows of all descriptions, laid end to end."""
    rows: int
    """How many rows the table has."""

    def count_within(self, chosen: Mask) -> Ints:
        """[descriptions] how many of the ``chosen`` rows fit."""
        so_far = np.concatenate(([0], np.cumsum(chosen[self.row])))
        ends = np.cumsum(self.count)
        return np.asarray(so_far[ends] - so_far[ends - self.count], np.int64)


def find_fitting_rows(
    data: AttackData,
    table: Table,
    described: Sequence[DescribedColumn],
    rows: Ints,
    told: Mask,
    most: int = 1,
) -> FittingRows:
    """The rows of a table that descriptions fit, if they are at most ``most``.

    Parameters
    ----------
    rows : int[descriptions, columns]
        The released row that each cell of a description is from.
    told : bool[descriptions, columns]
        Which columns a description has.
    """
    columns = [each.read_cells(data, table, rows[:, j]) for j, each in enumerate(described)]
    # What tells most apart comes first: little is left to look at after it.
    order = sorted(range(len(columns)), key=lambda j: -columns[j].values)
    found = [_find_fitting(i, [columns[j] for j in order if told[i, j]]) for i in range(len(rows))]
    few = [fits if fits.size <= most else fits[:0] for fits in found]
    return FittingRows(np.array([fits.size for fits in few], np.int64), np.concatenate(few), table.rows)


def _find_fitting(description: int, columns: Sequence[_DescriptionCells]) -> Ints:
    # All people at first: the first column needs no copy of their rows.
    left: Ints | slice = slice(None)
    for column in columns:
        fits = column.fits(description, left)
        left = np.flatnonzero(fits) if isinstance(left, slice) else left[fits]
    # Every description has a column, so that rows were chosen by one.
    assert not isinstance(left, slice)
    return left
