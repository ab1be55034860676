"""What every loss offers; smaller is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.recoding import Cells, Recoding

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """A loss as measured on a release."""

    value: float
    columns: dict[str, float] | None = None
    """The loss of each quasi-identifier, where the loss is made of columns."""


class Loss(Protocol):
    """A loss is measured on what is released; weights say how much each quasi-identifier matters."""

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """The loss of a release."""
        ...


def row_sum(recoding: Recoding, cells: Cells, per_cell: Floats, suppressed: float) -> float:
    """Sum over all rows of what their cell in one column costs; suppressed rows cost ``suppressed`` each."""
    rows = recoding.size.astype(np.float64)
    return float(rows @ per_cell[cells.of_class]) + recoding.suppressed * suppressed


def by_column(recoding: Recoding, values: list[float]) -> dict[str, float]:
    """Values with the names of their columns."""
    return {cells.domain.name: value for cells, value in zip(recoding.cells, values, strict=True)}


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Mean of the columns, the last axis, by weight; weights may be zero or negative."""
    total = float(np.abs(weights).sum())
    return np.asarray(np.dot(values, weights) / (total or 1.0), np.float64)
