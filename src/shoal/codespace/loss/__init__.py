"""Losses: one file per family, and the table `LOSSES`."""

from __future__ import annotations

from shoal.codespace.loss.base import Loss, Measured
from shoal.codespace.loss.certainty import (
    NCP,
    CellCosts,
    CellLoss,
    Certainty,
    Distortion,
    Generalised,
    Height,
    Precision,
    SpanNCP,
)
from shoal.codespace.loss.classes import ClassSize, Discernibility, Entropy
from shoal.codespace.loss.information import Ambiguity, KLDivergence
from shoal.codespace.loss.variance import SquaredError
from shoal.support.extensions import ExtensionTable

__all__ = [
    "LOSSES",
    "CellCosts",
    "CellLoss",
    "ClassSize",
    "Discernibility",
    "Entropy",
    "Generalised",
    "Loss",
    "Measured",
    "find_cell_costs",
]

# The names by which recipes and the command line know the losses; plugins add to them.
_BUILT_IN = {
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
    "kl-divergence": KLDivergence,
    "ambiguity": Ambiguity,
}
LOSSES = ExtensionTable("loss", "shoal.losses", Loss, ("measure",), _BUILT_IN)


def find_cell_costs(loss: str) -> CellCosts | None:
    """What the exact search has to know of a loss; None where it cannot minimise it."""
    kind = LOSSES[loss]
    return kind.costs if issubclass(kind, CellLoss) else None
