"""k-map where there is no table of the population: the size of a class tells how many people fit it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.privacy.population_uniques import check_fraction
from shoal.privacy.risk import too_small
from shoal.support.arithmetic import exp, expm1, log, log_gamma
from shoal.support.parameters import check_fields

Estimator = Literal["zero-truncated-poisson", "poisson"]
_MOST = 1 << 40  # no population has more people


@dataclass(frozen=True, slots=True)
class KMapEstimate(Model):
    """Every released row could be any of at least k people of the population, as its class tells.

    The release is taken for a random sample of the population, of which it has the given fraction. If only k
    people fitted a class, it would have about k times the fraction as many rows, by Poisson's distribution.
    A class is large enough if that would happen with at most the chance ``significance``, or if it has k
    rows. Protects as `KMap` does, from somebody who does not know who is in the release. Does not protect
    from somebody who does, nor the sensitive value. It is right only if the rows are a random sample.

    References
    ----------
    J. Pannekoek, "Statistical methods for some simple disclosure limitation rules", Statistica Neerlandica
    53(1), 1999. K. El Emam, F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008.
    """

    k: int
    """Least number of people that a row could be."""
    fraction: float
    """Which share of the population is in the release, above 0 and up to 1."""
    estimator: Estimator = "zero-truncated-poisson"
    """Whether it is considered that classes without a row are not seen; ``poisson`` overlooks that."""
    significance: float = 0.01
    """The chance that a class that only k people fit is taken for large enough, above 0 and below 1."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.k < 2:
            raise RecipeError(f"k must be at least 2, not {self.k}: with k = 1 every person stands alone")
        check_fraction(self.fraction)
        if not 0 < self.significance < 1:
            raise RecipeError(f"significance is a chance, above 0 and below 1, not {self.significance:g}")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has as many rows as tell that k people fit it."""
        return counts.size >= self.least_size()

    def achieved(self, counts: Counts) -> int:
        """The largest k that the rows of the smallest class tell."""
        if not counts.classes:
            return 0
        size = int(counts.size.min())
        # The rows themselves are people; from there up to the first k that needs more rows.
        known, beyond = size, 2 * size
        while beyond < _MOST and self.tells(size, beyond):
            known, beyond = beyond, 2 * beyond
        while beyond - known > 1:
            middle = (known + beyond) // 2
            known, beyond = (middle, beyond) if self.tells(size, middle) else (known, middle)
        return known

    def least_size(self) -> int:
        """The rows that tell that k people fit."""
        return _find_least_size(self)

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer rows has no class of as many."""
        return too_small(f"k = {self.k} by estimate", self.least_size(), whole)

    def tells(self, size: int, k: int) -> bool:
        """Whether a class of so many rows is as rare as is asked if only k people fit it."""
        if size >= k:
            return True
        mean = k * self.fraction
        # The chance of one row or more, without which nobody would see the class.
        seen = 1.0 if self.estimator == "poisson" else -float(expm1(-min(mean, 700.0)))
        return compute_poisson_tail(mean, size) <= self.significance * seen


@cache
def _find_least_size(model: KMapEstimate) -> int:
    few, enough = 0, model.k
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if model.tells(middle, model.k) else (middle, enough)
    return enough


def compute_poisson_tail(mean: float, size: int) -> float:
    """The chance that a number that is distributed as Poisson's with a mean is ``size`` or more."""
    if size < 1:
        return 1.0
    # The side that has the lesser chances is added up: a difference from 1 would have no digits left.
    above = mean < size
    first = size if above else 0
    number = np.arange(first, size + 80 + 20 * isqrt(size) if above else size).astype(np.float64)
    chances = exp(number * float(log(mean)) - mean - log_gamma(number + 1))
    found = float(chances.sum())
    return min(found if above else 1 - found, 1.0)
