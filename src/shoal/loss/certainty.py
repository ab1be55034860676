"""Losses by how much of its column a released value covers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.domain import Domain
from shoal.loss.base import Floats, Measured, by_column, row_sum, weighted_mean
from shoal.recoding import Cells, Recoding


class OfCells(ABC):
    """A loss made of what each cell costs: sums over the rows of every column, and a total of those."""

    __slots__ = ()

    @abstractmethod
    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """What each cell costs, of a column of which so many ``distinct`` values occur."""

    def whole(self, domain: Domain) -> float:
        """What a cell of a suppressed row costs."""
        return 1.0

    def by_column(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The loss of each column, given the sum over its rows."""
        return sums / max(rows, 1)

    def total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The loss, given the sums over the rows of every column: [..., columns]."""
        return weighted_mean(self.by_column(sums, weights, rows), weights)

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """The total, and the loss of each column."""
        sums = np.array([self._sum(recoding, j) for j in range(len(recoding.cells))])
        rows = recoding.table.rows
        columns = self.by_column(sums, weights, rows)
        return Measured(float(self.total(sums, weights, rows)), by_column(recoding, columns.tolist()))

    def _sum(self, recoding: Recoding, j: int) -> float:
        cells = recoding.cells[j]
        distinct = int(np.count_nonzero(recoding.table.values(j, cells.domain.size)))
        return row_sum(recoding, cells, self.per_cell(cells, distinct), self.whole(cells.domain))


class _Summed(OfCells):
    """A weighted sum over all cells."""

    __slots__ = ()

    def by_column(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The sum times the weight."""
        return sums * weights

    def total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """The sum over the columns."""
        return np.asarray(self.by_column(sums, weights, rows).sum(axis=-1), np.float64)


@dataclass(frozen=True, slots=True)
class NCP(OfCells):
    """Normalised certainty penalty, from 0 (nothing lost) to 1 (everything suppressed).

    A range of numbers costs (b - a)/(max - min); a set of categories or a tree node (values covered - 1)/
    (values - 1). The mean over rows and columns; a suppressed row costs 1.

    References
    ----------
    J. Xu et al., "Utility-based anonymization using local recoding", KDD 2006.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Width of the cells."""
        return cells.width()


@dataclass(frozen=True, slots=True)
class SpanNCP(OfCells):
    """NCP as published Mondrian programs count it: a set of categories costs the range that it spans.

    Categories are places on a line (in the order the report names), so {a, c} costs as much as {a, b, c}.
    Never below `NCP`; offered so that figures compare one to one.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Width of the intervals around the cells."""
        return cells.domain.width(cells.lo, cells.hi)


@dataclass(frozen=True, slots=True)
class Precision(OfCells):
    """One minus precision: how high in its hierarchy each released value stands, from 0 to 1.

    Columns without a hierarchy count the share of their values that is covered, as `NCP` does.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", IJUFKS
    10(5), 2002.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Height of the cells, as a share of the hierarchy's."""
        hierarchy = cells.domain.hierarchy
        return cells.width() if hierarchy is None else _level(cells) / max(hierarchy.height, 1)


@dataclass(frozen=True, slots=True)
class Certainty(_Summed):
    """The certainty score of the MG-GA program, summed over all cells.

    1 for `*`; (b - a)/(max - min) for a range; for a hierarchy node the number of nodes among its siblings,
    itself included, over the distinct values of the column; a set of categories as in `NCP`.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Score of the cells."""
        domain = cells.domain
        if domain.hierarchy is None or domain.siblings is None:
            return cells.width()
        level = domain.hierarchy.level_of(cells.lo, cells.hi)
        score = domain.siblings[level, cells.lo] / distinct
        return np.where(cells.lo == cells.hi, 0.0, np.where(level == domain.hierarchy.height, 1.0, score))


@dataclass(frozen=True, slots=True)
class Distortion(_Summed):
    """Minimal distortion: the number of cells that are not the original value, times the column's weight.

    References
    ----------
    P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Whether cells have changed."""
        return (cells.covered() > 1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Generalised(OfCells):
    """Information loss as ARX reports it: a geometric mean over columns of the share of values covered.

    Per column L = (mean share - 1/D)/(1 - 1/D) over D values, a suppressed row counting as share 1; in total
    the weighted geometric mean of (1 + L), less 1.

    References
    ----------
    V. S. Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Share of the values covered, beyond the one that always is."""
        size = cells.domain.size
        return np.asarray((cells.covered() / size - 1 / size) / (1 - 1 / max(size, 2)), np.float64)

    def total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """Geometric mean of the columns' losses."""
        return np.expm1(weighted_mean(np.log1p(self.by_column(sums, weights, rows)), weights))


@dataclass(frozen=True, slots=True)
class Height(OfCells):
    """How many levels values were raised: the mean over rows, summed over columns by weight.

    Where all values of a column go to one level, that is the sum of the levels. A suppressed row counts as
    raised to the root; a column without a hierarchy has one level, and counts as in `NCP`.

    References
    ----------
    P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    """

    def per_cell(self, cells: Cells, distinct: int) -> Floats:
        """Level of the cells."""
        return cells.width() if cells.domain.hierarchy is None else _level(cells)

    def whole(self, domain: Domain) -> float:
        """The level of the root."""
        return 1.0 if domain.hierarchy is None else float(domain.hierarchy.height)

    def total(self, sums: Floats, weights: Floats, rows: int) -> Floats:
        """Weighted sum over the columns."""
        return np.asarray(self.by_column(sums, weights, rows) @ weights, np.float64)


def _level(cells: Cells) -> Floats:
    assert cells.domain.hierarchy is not None
    return cells.domain.hierarchy.level_of(cells.lo, cells.hi).astype(np.float64)


CELL_COSTS: dict[str, Callable[[Cells, int], Floats]] = {
    "ncp": NCP().per_cell,
    "span-ncp": SpanNCP().per_cell,
    "certainty": Certainty().per_cell,
    "distortion": Distortion().per_cell,
}
"""Losses that are a sum or mean over cells: what each cell of a column with so many distinct values costs."""
