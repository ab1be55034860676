"""What a caller still has to collect: for every column cells, and one value that stands for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.encoding import EncodedColumn
from shoal.errors import RecipeError
from shoal.learn.sklearn_io import convert_to_floats
from shoal.support.arithmetic import weighted_sum
from shoal.table import to_strings

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GeneralizedColumn:
    """One column and its cells. A search asks for the same figures again and again, so they are kept."""

    column: EncodedColumn
    cell_of: Ints
    """[codes] cell of every value that was seen."""
    touched: bool = True
    """Whether values are replaced at all."""

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.domain.name

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.cell_of.max()) + 1

    @property
    def is_suppressed(self) -> bool:
        """Whether all values become one."""
        return self.touched and self.cells == 1

    @classmethod
    def from_column(cls, column: EncodedColumn) -> GeneralizedColumn:
        """A column left as it is."""
        return cls(column, np.arange(column.domain.size), touched=False)

    def with_cells(self, cell_of: Ints) -> GeneralizedColumn:
        """Other cells, numbered in the order of their values."""
        # Cells must ascend with their values: the widths and the published ends take the last value
        # of a cell as the place where the next one begins.
        first = np.unique(cell_of, return_index=True)[1]
        order = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        return replace(self, cell_of=order[np.unique(cell_of, return_inverse=True)[1]], touched=True)

    @cached_property
    def ncp(self) -> float:
        """Mean width of the rows' cells, 0 to 1.

        A cell of numbers reaches from the end of the one before it to its own greatest value, so that there
        is no gap into which a new value could fall.
        """
        if not self.touched:
            return 0.0
        rows = np.bincount(self.cell_of, self._rows)
        return float(weighted_sum(self._measure_widths(), rows) / rows.sum())

    def _measure_widths(self) -> Floats:
        domain = self.column.domain
        # One cell tells nothing, so all detail is lost, however few values it has.
        if self.cells == 1:
            return np.ones(1)
        if not domain.has_ranges:
            # Values without an order: the share of other values that could be meant.
            return (np.bincount(self.cell_of) - 1) / max(domain.size - 1, 1)
        last = np.zeros(self.cells, np.int64)
        last[self.cell_of] = np.arange(self.cell_of.size)
        end = domain.position[last]
        width = np.diff(end, prepend=0.0)
        if domain.missing is not None:  # the missing value lies in front of the numbers, in its own cell
            width = np.diff(np.maximum(end, 0.0), prepend=0.0)
        return np.asarray(width, np.float64)

    @cached_property
    def published(self) -> Published:
        """The cells in words and numbers, with what stands for them by all rows."""
        return self.publish_cells(self.choose_representatives(np.arange(self.column.codes.size)))

    @cached_property
    def _rows(self) -> Ints:
        """[codes] how many rows have each."""
        return np.bincount(self.column.codes, minlength=self.cell_of.size)

    @cached_property
    def _by_cell(self) -> tuple[Ints, Ints]:
        """The codes of one cell after the other, and where each cell begins."""
        order = np.argsort(self.cell_of, kind="stable")
        return order, np.searchsorted(self.cell_of[order], np.arange(self.cells))

    def choose_representatives(self, rows: Ints) -> Ints:
        """[cells] the code that stands for each cell: of the rows given, the median or the commonest.

        A number stands for numbers even where most are missing; a cell without rows takes all rows.
        """
        domain, (order, first) = self.column.domain, self._by_cell
        count, every = np.bincount(self.column.codes[rows], minlength=domain.size), self._rows.copy()
        if domain.kind == "number" and domain.missing is not None and not self._is_alone(domain.missing):
            count[domain.missing] = every[domain.missing] = 0
        is_seen = np.bincount(self.cell_of, count) > 0
        weight = np.where(is_seen[self.cell_of], count, every)[order]
        if domain.has_ranges:
            # The median among values that occur: a mean would be a value that nobody has.
            until = np.cumsum(weight)
            end = until[np.append(first[1:], order.size) - 1]
            half = (until[first] - weight[first] + end) / 2
            at = np.maximum(np.searchsorted(until, half), first)
        else:
            most = np.maximum.reduceat(weight, first)
            commonest = np.flatnonzero(weight == most[self.cell_of[order]])
            at = commonest[np.searchsorted(commonest, first)]
        return np.asarray(order[at])

    def _is_alone(self, code: int) -> bool:
        return int(np.count_nonzero(self.cell_of == self.cell_of[code])) == 1

    def replace_codes(self, rows: Ints, standing: Ints) -> Ints:
        """The codes that rows have once what stands for their cells has taken their place."""
        return np.asarray(standing[self.cell_of[self.column.codes[rows]]])

    def publish_cells(self, standing: Ints) -> Published:
        """The cells in words and numbers, without codes."""
        domain = self.column.domain
        values = domain.values.gather(standing)
        if not self.touched:
            return Published(self.name, "untouched")
        if self.is_suppressed:
            return Published(self.name, "suppressed", values=values)
        if domain.kind != "number":
            labels = domain.labels.to_list()
            groups = [
                [labels[code] for code in np.flatnonzero(self.cell_of == cell)] for cell in range(self.cells)
            ]
            # A value that was never seen goes to the commonest cell, the best guess for it.
            common = int(np.argmax(np.bincount(self.cell_of, self._rows)))
            return Published(self.name, "categories", values=values, groups=groups, other=common)
        # The missing value is code 0 and always in a cell of its own, unless all are one. It is no
        # range, so ends and values start after it.
        first = int(domain.missing is not None)
        last = np.zeros(self.cells, np.int64)
        last[self.cell_of] = np.arange(self.cell_of.size)
        # The last range has no end, so that greater values of later rows fall into it.
        ends = convert_to_floats(domain.values.gather(last[first:-1]), self.column)
        labels = domain.labels.gather(last[first:-1]).to_list()
        return Published(
            self.name, "ranges", values=values.slice(first), ends=ends, labels=labels, kind=self.column
        )


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A generalisation that can be applied to any values."""

    name: str
    how: str
    """untouched, suppressed, ranges or categories; or boxes, which one column alone does not tell"""
    values: pl.Series | None = None
    """[cells] what stands for each cell."""
    ends: Floats | None = None
    """A value belongs to the first range whose end it does not exceed, or to the one after all ends."""
    labels: list[str] | None = None
    """The ends as they are written."""
    groups: list[list[str | None]] | None = None
    other: int = 0
    """The cell of values that were never seen."""
    kind: EncodedColumn | None = None

    def applied(self, series: pl.Series) -> pl.Series:
        """The column as it is after generalisation; missing numbers stay missing unless all become one."""
        if self.how == "boxes":
            raise RecipeError(f"what becomes of '{self.name}' depends on other columns: use transform")
        if self.values is None:
            return series
        if self.how == "suppressed":
            return self.values.gather(np.zeros(len(series), np.int64))
        if self.groups is not None:
            cell = self._find_cells(series)
        else:
            assert self.ends is not None and self.kind is not None
            place = convert_to_floats(series, self.kind)
            cell = np.searchsorted(self.ends, place, side="left")
            # Position of the null that is appended below.
            cell = np.where(np.isnan(place), len(self.values), cell)
        padded = pl.concat([self.values, self.values.clear(1)])
        return padded.gather(cell)

    def _find_cells(self, series: pl.Series) -> Ints:
        assert self.groups is not None
        pairs = [(label, cell) for cell, group in enumerate(self.groups) for label in group]
        # A missing value is no string to look up, so its cell is set at the end.
        absent = next((cell for label, cell in pairs if label is None), self.other)
        known = [(label, cell) for label, cell in pairs if label is not None]
        cell = to_strings(series).replace_strict(
            [label for label, _ in known],
            pl.Series([cell for _, cell in known], dtype=pl.Int64),
            default=self.other,
            return_dtype=pl.Int64,
        )
        return cell.set(series.is_null(), absent).to_numpy()

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what a program needs to do the same."""
        plain: dict[str, Any] = {"how": self.how}
        if self.values is not None:
            plain["values"] = self.values.to_list()
        if self.ends is not None:
            plain["ends"] = self.ends.tolist()
        if self.groups is not None:
            plain |= {"groups": self.groups, "other": self.other}
        return plain

    def text(self) -> str:
        """In one line."""
        if self.how == "boxes":
            return "by boxes"
        if self.values is None:
            return "as it is"
        if self.how == "suppressed":
            return "not needed"
        if self.groups is not None:
            return "one of " + "; ".join(
                ", ".join(each or "(missing)" for each in group) for group in self.groups
            )
        assert self.labels is not None
        inner = [f"{a} to {b}" for a, b in pairwise(self.labels)]
        return "one of " + "; ".join([f"up to {self.labels[0]}", *inner, f"above {self.labels[-1]}"])
