"""What a privacy model is written with."""

from shoal.kernels.kinds import (
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    LIKENESS,
    ORDERED,
    RECURSIVE,
    SHARE,
    TRANSPORT,
    Rule,
)
from shoal.privacy import Achieved, Counts, Model, SensitiveCounts
from shoal.support.parameters import check_fields

__all__ = [
    "DISCLOSURE",
    "DISTINCT",
    "ENTROPY",
    "LIKENESS",
    "ORDERED",
    "RECURSIVE",
    "SHARE",
    "TRANSPORT",
    "Achieved",
    "Counts",
    "Model",
    "Rule",
    "SensitiveCounts",
    "check_fields",
]
