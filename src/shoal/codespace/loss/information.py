"""Losses by what somebody who reads the release can still take a row for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.frequency import rank_rows
from shoal.codespace.loss.base import Floats, Loss, Measured
from shoal.codespace.recoding import Recoding
from shoal.support.arithmetic import exp2, log2, weighted_sum

_FAR = 1000.0  # powers of two beyond this one do not fit a float


@dataclass(frozen=True, slots=True)
class KLDivergence(Loss):
    """Relative entropy in bits per row, from 0: of the rows of classes, given what their cells allow.

    Whoever reads a class takes all combinations of values that its cells stand for to be equally likely. In
    each class that is compared with the combinations that its rows have. Suppressed rows are one class whose
    cells allow everything. Weights do not enter.

    References
    ----------
    D. Kifer, J. Gehrke, "Injecting utility into anonymized datasets", SIGMOD 2006.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Logarithms of what cells allow, less the entropy of what is there."""
        table = recoding.table
        sizes = [cells.domain.size for cells in recoding.cells]
        last = recoding.size.size
        class_of = np.where(recoding.class_of < 0, last, recoding.class_of)
        # Some searches leave equal rows apart; in a class they are one combination all the same.
        columns = [*(table.codes[:, j] for j in range(len(sizes))), class_of]
        together = rank_rows(columns, [*sizes, last + 1])
        alike = np.bincount(together, table.weight)
        rows = np.append(recoding.size, recoding.suppressed_rows).astype(np.float64)
        allowed = weighted_sum(_count_choices(recoding), rows)
        # People of a population who equal no row are combinations that no row has.
        alike = alike[alike > 0]
        # The entropy of rows of a class is log(class) - log(equal rows), each row counted.
        uneven = weighted_sum(log2(np.maximum(rows, 1)), rows) - weighted_sum(log2(alike), alike)
        return Measured(max(float(allowed - uneven) / max(table.rows, 1), 0.0))


@dataclass(frozen=True, slots=True)
class Ambiguity(Loss):
    """How many combinations of values a released row could be, on average over the rows; 1 if none is lost.

    That is the product over columns of how many values each cell stands for. A suppressed row could be any
    combination. Weights do not enter.

    References
    ----------
    J. Goldberger, T. Tassa, "Efficient anonymizations with enhanced utility", Transactions on Data Privacy
    3(2), 2010.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Mean of the products."""
        rows = np.append(recoding.size, recoding.suppressed_rows).astype(np.float64)
        choices = _count_choices(recoding)
        # With many columns a product need not fit a float, and then the greatest one is told.
        greatest = float(choices.max(initial=0.0, where=rows > 0))
        mean = float(weighted_sum(exp2(choices - greatest), rows)) / max(recoding.table.rows, 1)
        return Measured(float(exp2(np.float64(min(greatest, _FAR)))) * mean)


def _count_choices(recoding: Recoding) -> NDArray[np.float64]:
    """[classes + 1] logarithm of the number of combinations that cells stand for; last, of all there are."""
    found = np.zeros(recoding.size.size + 1)
    for cells in recoding.cells:
        found[:-1] += log2(cells.count_covered().astype(np.float64))[cells.of_class]
        found[-1] += float(log2(float(cells.domain.size)))
    return found
