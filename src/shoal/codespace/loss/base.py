"""What every loss offers; smaller is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.recoding import ColumnCells, Recoding
from shoal.support.arithmetic import weighted_sum

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """A loss as measured on a release."""

    value: float
    columns: dict[str, float] | None = None
    """The loss of each quasi-identifier, where the loss is made of columns."""


class Loss(Protocol):
    """A loss is measured on what is released; weights say how much each quasi-identifier matters."""

    __slots__ = ()

    by_cells: ClassVar[bool] = False
    """Whether the cells and how many rows have each tell it, without the rows of every class: so that a
    cluster need not collect these."""

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """The loss of a release."""
        ...

    def list_uncounted(self, domains: Sequence[Domain]) -> list[str]:
        """Names of the quasi-identifiers that it does not look at: nothing is lost if they are suppressed."""
        return []


def row_sum(recoding: Recoding, cells: ColumnCells, per_cell: Floats, suppressed: float) -> float:
    """Sum over all rows of what their cell in one column costs; suppressed rows cost ``suppressed`` each."""
    rows = recoding.size.astype(np.float64)
    return float(weighted_sum(per_cell[cells.of_class], rows)) + recoding.suppressed_rows * suppressed


def label_columns(recoding: Recoding, values: list[float]) -> dict[str, float]:
    """Values with the names of their columns."""
    return {cells.domain.name: value for cells, value in zip(recoding.cells, values, strict=True)}


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Mean of the columns, the last axis, by weight; weights may be zero or negative."""
    # Absolute values: weights of both signs could add up to 0.
    total = float(np.abs(weights).sum())
    return weighted_sum(values, weights) / (total or 1.0)
