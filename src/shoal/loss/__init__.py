"""Losses: one file per family, and the table `LOSSES`."""

from __future__ import annotations

from typing import Any

from shoal.loss.base import Loss, Measured
from shoal.loss.certainty import (
    CELL_COSTS,
    NCP,
    Certainty,
    Distortion,
    Generalised,
    Height,
    OfCells,
    Precision,
    SpanNCP,
)
from shoal.loss.classes import ClassSize, Discernibility, Entropy
from shoal.loss.variance import SquaredError

__all__ = [
    "CELL_COSTS",
    "LOSSES",
    "ClassSize",
    "Discernibility",
    "Entropy",
    "Generalised",
    "Loss",
    "Measured",
    "OfCells",
]

LOSSES: dict[str, type[Any]] = {
    "ncp": NCP,
    "span-ncp": SpanNCP,
    "certainty": Certainty,
    "distortion": Distortion,
    "discernibility": Discernibility,
    "class-size": ClassSize,
    "entropy": Entropy,
    "precision": Precision,
    "height": Height,
    "generalised": Generalised,
    "squared-error": SquaredError,
}
