"""Losses by how far released numbers are from the original ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.loss.base import Floats, Measured, by_column, weighted_mean
from shoal.recoding import Recoding


@dataclass(frozen=True, slots=True)
class SquaredError:
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
        numbers = [cells.domain.ranges for cells in recoding.cells]
        columns = [_lost(recoding, j) if number else 0.0 for j, number in enumerate(numbers)]
        counted = np.where(numbers, weights, 0.0)
        return Measured(float(weighted_mean(np.array(columns), counted)), by_column(recoding, columns))


def _lost(recoding: Recoding, j: int) -> float:
    table, class_of = recoding.table, recoding.class_of
    position = recoding.cells[j].domain.position
    place, weight = position[table.codes[:, j]], table.weight.astype(np.float64)
    mean = float(place @ weight) / max(float(weight.sum()), 1.0)
    total = float((place - mean) ** 2 @ weight)
    centre = position[recoding.representatives(j)] if recoding.size.size else np.empty(0)
    released = np.where(class_of < 0, mean, np.append(centre, mean)[class_of])
    return float((place - released) ** 2 @ weight) / total if total > 0 else 0.0
