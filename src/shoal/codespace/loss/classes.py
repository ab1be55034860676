"""Losses by the sizes of the classes and by the information in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.loss.base import Floats, Loss, Measured, label_columns, row_sum
from shoal.codespace.recoding import Recoding
from shoal.support.arithmetic import log2, weighted_sum


@dataclass(frozen=True, slots=True)
class Discernibility(Loss):
    """Every row costs the number of rows it cannot be told from; a suppressed one the whole table.

    Weights do not enter.

    References
    ----------
    R. J. Bayardo, R. Agrawal, "Data privacy through optimal k-anonymization", ICDE 2005.
    """

    by_cells: ClassVar[bool] = True

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Sum of the squared class sizes."""
        size = recoding.size.astype(np.float64)
        return Measured(float(weighted_sum(size, size)) + recoding.suppressed_rows * recoding.table.rows)


@dataclass(frozen=True, slots=True)
class ClassSize(Loss):
    """Average size of a class: rows over classes, where all suppressed rows together are one class.

    Weights do not enter.

    References
    ----------
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006.
    """

    by_cells: ClassVar[bool] = True

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Rows over classes."""
        classes = recoding.size.size + (recoding.suppressed_rows > 0)
        return Measured(recoding.table.rows / max(classes, 1))


@dataclass(frozen=True, slots=True)
class Entropy(Loss):
    """Non-uniform entropy in bits: how surprising each original value is, given the released one.

    A cell costs -log2(rows with the original value / rows whose original value it covers), both counted in
    the original table; a suppressed cell covers all rows. The weighted sum over all cells.

    Where all values of a column go to one level, suppressed rows count as ARX counts them: they have been
    generalised like the others, and then hidden among the suppressed ones. So they cost their generalisation,
    and how surprising the generalised value is among those of suppressed rows.

    References
    ----------
    A. Gionis, T. Tassa, "k-anonymization with minimal loss of information", IEEE TKDE 21(2), 2009.
    """

    by_cells: ClassVar[bool] = True

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Weighted sum over the cells."""
        columns = []
        for j, cells in enumerate(recoding.cells):
            counts = recoding.table.count_codes(j, cells.domain.size)
            # max keeps the logarithm of a cell without rows finite; it counts 0 times.
            covered = log2(np.maximum(cells.sum_covered(counts), 1))
            # -log2(a / b) is log2(b) - log2(a): the first by cells, the second by original values.
            occurring = counts[counts > 0].astype(np.float64)
            bits = row_sum(recoding, cells, covered, 0.0) + _suppressed_bits(recoding, j, counts)
            columns.append(float(weights[j]) * (bits - float(weighted_sum(log2(occurring), occurring))))
        return Measured(sum(columns), label_columns(recoding, columns))


def _suppressed_bits(recoding: Recoding, j: int, counts: NDArray[np.int64]) -> float:
    """What the cells of suppressed rows cost, before what their values would cost by themselves."""
    if recoding.scheme is None:
        return recoding.suppressed_rows * float(log2(recoding.table.rows))
    hidden = recoding.class_of < 0
    node = recoding.scheme[j]
    rows = np.bincount(node[recoding.table.codes[hidden, j]], recoding.table.weight[hidden])
    mass = np.bincount(node, counts)[: rows.size][rows > 0]
    rows = rows[rows > 0]
    # The logarithm of a product: of the generalisation, and of hiding it among suppressed rows.
    return float(weighted_sum(log2(mass * (recoding.suppressed_rows / rows)), rows))
