"""Losses by how far released numbers are from the original ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.codespace.loss.base import Floats, Loss, Measured, label_columns, weighted_mean
from shoal.codespace.recoding import Recoding
from shoal.support.arithmetic import weighted_sum


@dataclass(frozen=True, slots=True)
class SquaredError(Loss):
    """The share of the variance that is lost, SSE/SST, from 0 to about 1.

    Each row's number is compared with the one that stands for its class: what `microaggregate` releases, and
    the median where classes are released as ranges. A suppressed row counts as the column's mean. Columns
    that are not numbers or ordered lose 0 and count with weight 0.

    References
    ----------
    J. Domingo-Ferrer, J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14(1), 2002.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Squared error over the total sum of squares, column by column."""
        numbers = [cells.domain.has_ranges for cells in recoding.cells]
        columns = [_compute_lost_share(recoding, j) if number else 0.0 for j, number in enumerate(numbers)]
        counted = np.where(numbers, weights, 0.0)
        return Measured(float(weighted_mean(np.array(columns), counted)), label_columns(recoding, columns))


def _compute_lost_share(recoding: Recoding, j: int) -> float:
    table, class_of = recoding.table, recoding.class_of
    position = recoding.cells[j].domain.position
    place, weight = position[table.codes[:, j]], table.weight.astype(np.float64)
    mean = float(weighted_sum(place, weight)) / max(float(weight.sum()), 1.0)
    total = float(weighted_sum((place - mean) ** 2, weight))
    centre = position[recoding.choose_representatives(j)] if recoding.size.size else np.empty(0)
    # The appended mean gives -1 something to point at, even if there is no class.
    released = np.where(class_of < 0, mean, np.append(centre, mean)[class_of])
    # A column of one value has no variance to lose.
    return float(weighted_sum((place - released) ** 2, weight)) / total if total > 0 else 0.0
