"""Losses by how much of its column a released value covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.loss.base import Floats, Measured, by_column, row_sum, weighted_mean
from shoal.recoding import Cells, Recoding


@dataclass(frozen=True, slots=True)
class NCP:
    """Normalised certainty penalty, from 0 (nothing lost) to 1 (everything suppressed).

    A range of numbers costs (b - a)/(max - min); a set of categories or a tree node (values covered - 1)/
    (values - 1). The mean over rows and columns; a suppressed row costs 1.

    References
    ----------
    J. Xu et al., "Utility-based anonymization using local recoding", KDD 2006.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Mean width of the cells."""
        return _mean_of_cells(recoding, weights, [cells.width() for cells in recoding.cells])


@dataclass(frozen=True, slots=True)
class SpanNCP:
    """NCP as published Mondrian programs count it: a set of categories costs the range that it spans.

    Categories are places on a line (in the order the report names), so {a, c} costs as much as {a, b, c}.
    Never below `NCP`; offered so that figures compare one to one.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Mean width of the intervals around the cells."""
        return _mean_of_cells(recoding, weights, [c.domain.width(c.lo, c.hi) for c in recoding.cells])


@dataclass(frozen=True, slots=True)
class Precision:
    """One minus precision: how high in its hierarchy each released value stands, from 0 to 1.

    Columns without a hierarchy count the share of their values that is covered, as `NCP` does.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", IJUFKS
    10(5), 2002.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Mean height of the cells."""
        return _mean_of_cells(recoding, weights, [_height(cells) for cells in recoding.cells])


@dataclass(frozen=True, slots=True)
class Certainty:
    """The certainty score of the MG-GA program, summed over all cells.

    1 for `*`; (b - a)/(max - min) for a range; for a hierarchy node the number of nodes among its siblings,
    itself included, over the distinct values of the column; a set of categories as in `NCP`.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Weighted sum over the cells."""
        distinct = [
            int(np.count_nonzero(recoding.table.values(j, cells.domain.size)))
            for j, cells in enumerate(recoding.cells)
        ]
        return _sum_of_cells(recoding, weights, list(map(_certainty, recoding.cells, distinct)))


@dataclass(frozen=True, slots=True)
class Distortion:
    """Minimal distortion: the number of cells that are not the original value, times the column's weight.

    References
    ----------
    P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Weighted number of changed cells."""
        return _sum_of_cells(
            recoding, weights, [(c.covered() > 1).astype(np.float64) for c in recoding.cells]
        )


@dataclass(frozen=True, slots=True)
class Generalised:
    """Information loss as ARX reports it: a geometric mean over columns of the share of values covered.

    Per column L = (mean share - 1/D)/(1 - 1/D) over D values, a suppressed row counting as share 1; in total
    the weighted geometric mean of (1 + L), less 1.

    References
    ----------
    V. S. Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Geometric mean of the columns' losses."""
        shares = [
            (cells.covered() / cells.domain.size - 1 / cells.domain.size)
            / (1 - 1 / max(cells.domain.size, 2))
            for cells in recoding.cells
        ]
        columns = _mean_of_cells(recoding, weights, shares).columns or {}
        value = np.expm1(weighted_mean([float(np.log1p(share)) for share in columns.values()], weights))
        return Measured(float(value), columns)


def _mean_of_cells(recoding: Recoding, weights: Floats, per_cell: list[Floats]) -> Measured:
    rows = max(recoding.table.rows, 1)
    columns = [
        row_sum(recoding, cells, cost, 1.0) / rows
        for cells, cost in zip(recoding.cells, per_cell, strict=True)
    ]
    return Measured(weighted_mean(columns, weights), by_column(recoding, columns))


def _sum_of_cells(recoding: Recoding, weights: Floats, per_cell: list[Floats]) -> Measured:
    columns = [
        row_sum(recoding, cells, cost, 1.0) * float(weight)
        for cells, cost, weight in zip(recoding.cells, per_cell, weights, strict=True)
    ]
    return Measured(sum(columns), by_column(recoding, columns))


def _height(cells: Cells) -> Floats:
    hierarchy = cells.domain.hierarchy
    if hierarchy is None:
        return cells.width()
    level = hierarchy.level_of(cells.lo, cells.hi)
    return np.asarray(level / max(hierarchy.height, 1), np.float64)


def _certainty(cells: Cells, distinct: int) -> Floats:
    """Score of each cell of a column with so many ``distinct`` values."""
    domain = cells.domain
    if domain.hierarchy is None or domain.siblings is None:
        return cells.width()
    level = domain.hierarchy.level_of(cells.lo, cells.hi)
    score = domain.siblings[level, cells.lo] / distinct
    return np.where(cells.lo == cells.hi, 0.0, np.where(level == domain.hierarchy.height, 1.0, score))


CELL_COSTS: dict[str, Callable[[Cells, int], Floats]] = {
    "ncp": lambda cells, distinct: cells.width(),
    "span-ncp": lambda cells, distinct: cells.domain.width(cells.lo, cells.hi),
    "certainty": _certainty,
    "distortion": lambda cells, distinct: (cells.covered() > 1).astype(np.float64),
}
"""Losses that are a sum or mean over cells: what each cell of a column with so many distinct values costs."""
