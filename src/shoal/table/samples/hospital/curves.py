"""Weights that change with age."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.support.arithmetic import exp

Weights = NDArray[np.float64]
"""Relative shares: the last axis is the values, the axes before it the groups."""

# The bands of five years end exactly here.
OLDEST = 104
# Newborns are a band of their own; then come ages 1 to 4, and five years at a time.
BAND = np.array([0] + [1 + age // 5 for age in range(1, OLDEST + 1)])
BANDS = int(BAND[-1]) + 1
MIDDLES = np.bincount(BAND, weights=np.arange(OLDEST + 1)) / np.bincount(BAND)


def interpolate_weights(*anchors: tuple[float, tuple[float, ...]]) -> Weights:
    """Weights per band, interpolated between ``(age, weights)`` anchors."""
    ages = [age for age, _ in anchors]
    columns = np.array([weights for _, weights in anchors]).T
    return np.stack([np.interp(MIDDLES, ages, column) for column in columns], axis=1)


def compute_bell_curve(ages: Weights, peak: float, width: float) -> Weights:
    """Bell curve of height 1, nothing beyond three widths: no births at twelve."""
    distance = np.abs(ages - peak) / width
    return np.asarray(np.where(distance > 3, 0.0, exp(-(distance**2) / 2)))


def by_sex(female: Weights, male: Weights) -> Weights:
    """Stack per-sex weights in the order of the sexes; 'other' lies in between."""
    return np.stack([female, male, (female + male) / 2])
