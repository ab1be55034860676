"""Losses by how much of its column a released value covers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.codespace.domain import Domain
from shoal.codespace.loss.base import Floats, Loss, Measured, label_columns, row_sum, weighted_mean
from shoal.codespace.recoding import ColumnCells, Recoding
from shoal.support.arithmetic import expm1, log1p, weighted_sum


@dataclass(frozen=True, slots=True)
class CellCosts:
    """What the exact search has to know of a loss to find the table that has least of it.

    In a column of numbers, dates or ordered values a range must cost its width, or 1 where ``step`` is set.
    """

    mean: bool
    """Whether the loss is the mean over all cells, by weight; else it is their sum."""
    step: bool = False
    """Whether every range or set of several values costs as much as any other."""
    spans_sets: bool = False
    """Whether a set of categories costs the range that it spans."""
    rises: bool = True
    """Whether no node of a hierarchy costs more than the one above it."""


class CellLoss(Loss):
    """A loss made of what each cell costs: sums over the rows of every column, and a total of those.

    The total must not fall where a sum grows and its weight is not negative.
    """

    __slots__ = ()

    by_cells: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    """Whether the total is a sum over rows. A search cuts off what that rules out, so a class that adds up in
    a way of its own is not taken for one unless it says so."""
    costs: ClassVar[CellCosts | None] = None
    """What the exact search has to know; None where it cannot minimise the loss."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if "additive" not in own and ("compute_total" in own or "compute_column_losses" in own):
            cls.additive = False

    @abstractmethod
    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """What each cell costs, of a column of which so many ``distinct`` values occur."""

    def compute_suppressed_cost(self, domain: Domain) -> float:
        """What a cell of a suppressed row costs."""
        return 1.0

    def compute_column_losses(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The loss of each column, given the sum over its rows."""
        return sums / max(rows, 1)

    def compute_total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The loss, given the sums over the rows of every column: [..., columns]."""
        return weighted_mean(self.compute_column_losses(sums, weights, rows), weights)

    def compute_slopes(self, columns: Floats) -> Floats:
        """How much of a little more loss in each column, by its weight, the total has: all of it in a sum."""
        return np.ones_like(columns)

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """The total, and the loss of each column."""
        sums = np.array([self._sum_column(recoding, j) for j in range(len(recoding.cells))])
        rows = recoding.table.rows
        columns = self.compute_column_losses(sums, weights, rows)
        return Measured(
            float(self.compute_total(sums, weights, rows)), label_columns(recoding, columns.tolist())
        )

    def _sum_column(self, recoding: Recoding, j: int) -> float:
        cells = recoding.cells[j]
        distinct = int(np.count_nonzero(recoding.table.count_codes(j, cells.domain.size)))
        return row_sum(
            recoding, cells, self.per_cell(cells, distinct), self.compute_suppressed_cost(cells.domain)
        )


class _WeightedSum(CellLoss):
    """A weighted sum over all cells."""

    __slots__ = ()

    additive: ClassVar[bool] = True

    def compute_column_losses(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The sum times the weight."""
        return sums * weights

    def compute_total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The sum over the columns."""
        return np.asarray(self.compute_column_losses(sums, weights, rows).sum(axis=-1), np.float64)


@dataclass(frozen=True, slots=True)
class NCP(CellLoss):
    """Normalised certainty penalty, from 0 (nothing lost) to 1 (everything suppressed).

    A range of numbers costs (b - a)/(max - min); a set of categories or a tree node (values covered - 1)/
    (values - 1). The mean over rows and columns; a suppressed row costs 1.

    References
    ----------
    J. Xu et al., "Utility-based anonymization using local recoding", KDD 2006.
    """

    costs: ClassVar[CellCosts | None] = CellCosts(mean=True)

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Width of the cells."""
        return cells.compute_widths()


@dataclass(frozen=True, slots=True)
class SpanNCP(CellLoss):
    """NCP as published Mondrian programs count it: a set of categories costs the range that it spans.

    Categories are places on a line (in the order the report names), so {a, c} costs as much as {a, b, c}.
    Never below `NCP`; offered so that figures compare one to one.
    """

    costs: ClassVar[CellCosts | None] = CellCosts(mean=True, spans_sets=True)

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Width of the intervals around the cells."""
        return cells.domain.compute_widths(cells.lo, cells.hi)


@dataclass(frozen=True, slots=True)
class Precision(CellLoss):
    """One minus precision: how high in its hierarchy each released value stands, from 0 to 1.

    Columns without a hierarchy count the share of their values that is covered, as `NCP` does.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", IJUFKS
    10(5), 2002.
    """

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Height of the cells, as a share of the hierarchy's."""
        hierarchy = cells.domain.hierarchy
        return cells.compute_widths() if hierarchy is None else _find_levels(cells) / max(hierarchy.height, 1)


@dataclass(frozen=True, slots=True)
class Certainty(_WeightedSum):
    """The certainty score of the MG-GA program, summed over all cells.

    1 for `*`; (b - a)/(max - min) for a range; for a hierarchy node the number of nodes among its siblings,
    itself included, over the distinct values of the column; a set of categories as in `NCP`.
    """

    costs: ClassVar[CellCosts | None] = CellCosts(mean=False, rises=False)

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Score of the cells."""
        domain = cells.domain
        if domain.hierarchy is None or domain.siblings is None:
            return cells.compute_widths()
        level = domain.hierarchy.level_of(cells.lo, cells.hi)
        score = domain.siblings[level, cells.lo] / distinct
        return np.where(cells.lo == cells.hi, 0.0, np.where(level == domain.hierarchy.height, 1.0, score))


@dataclass(frozen=True, slots=True)
class Distortion(_WeightedSum):
    """Minimal distortion: the number of cells that are not the original value, times the column's weight.

    References
    ----------
    P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    """

    costs: ClassVar[CellCosts | None] = CellCosts(mean=False, step=True)

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Whether cells have changed."""
        # Cells cover the values of their rows, so one of a single value has not changed.
        return (cells.count_covered() > 1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Generalised(CellLoss):
    """Information loss as ARX reports it: a geometric mean over columns of the share of values covered.

    Per column L = (mean share - 1/D)/(1 - 1/D) over D values, a suppressed row counting as share 1; in total
    the weighted geometric mean of (1 + L), less 1.

    References
    ----------
    V. S. Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002.
    """

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Share of the values covered, beyond the one that always is."""
        size = cells.domain.size
        # A column of one value has nothing to lose; max keeps its divisor above 0.
        return np.asarray((cells.count_covered() / size - 1 / size) / (1 - 1 / max(size, 2)), np.float64)

    def compute_total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """Geometric mean of the columns' losses."""
        # A mean of logarithms is that of the geometric mean; small losses keep their digits.
        return expm1(weighted_mean(log1p(self.compute_column_losses(sums, weights, rows)), weights))

    def compute_slopes(self, columns: Floats) -> Floats:
        """Less in columns that lose much: their factor is large already."""
        return 1.0 / (1.0 + columns)


@dataclass(frozen=True, slots=True)
class Height(CellLoss):
    """How many levels values were raised: the mean over rows, summed over columns by weight.

    Where all values of a column go to one level, that is the sum of the levels. A suppressed row counts as
    raised to the root; a column without a hierarchy has one level, and counts as in `NCP`.

    References
    ----------
    P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    """

    additive: ClassVar[bool] = True

    def per_cell(self, cells: ColumnCells, distinct: int) -> Floats:
        """Level of the cells."""
        return cells.compute_widths() if cells.domain.hierarchy is None else _find_levels(cells)

    def compute_suppressed_cost(self, domain: Domain) -> float:
        """The level of the root."""
        return 1.0 if domain.hierarchy is None else float(domain.hierarchy.height)

    def compute_total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """Weighted sum over the columns."""
        return weighted_sum(self.compute_column_losses(sums, weights, rows), weights)


def _find_levels(cells: ColumnCells) -> Floats:
    assert cells.domain.hierarchy is not None
    return cells.domain.hierarchy.level_of(cells.lo, cells.hi).astype(np.float64)
