"""(epsilon, delta)-differential privacy by sampling and generalisation: SafePub."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, nextafter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.support.arithmetic import exp, expm1, log, log1p
from shoal.support.parameters import check_fields
from shoal.support.warning_codes import CodedWarning
from shoal.table.formats import import_optional

WARNING = CodedWarning(
    "W17",
    "safepub: from a release nobody can see that levels and hierarchies were fixed without looking at the "
    "table, nor that everybody has one row; both are up to the person who makes it. A further release of the "
    "same people adds its epsilon and delta",
)
KNOWN_SEED = CodedWarning(
    "W15",
    "not-private: the sample was drawn by a stated seed, and anyone who knows that can draw it again; so "
    "safepub does not hold, and the release cannot be written. Leave the seed out",
)
_ROUNDING = 1e-12  # far above what double precision loses here; bounds are widened by it


@dataclass(frozen=True, slots=True)
class SafePub(Model):
    """(epsilon, delta)-differential privacy: that somebody is in the table hardly changes what is released.

    A random sample of the rows is generalised by a scheme that was fixed beforehand, or drawn by a search
    that costs a part of epsilon, and classes of fewer than k rows are dropped; k follows from the rest of
    epsilon and delta. Then any set of releases is at most e^epsilon
    times as likely with a person in the table as without, plus delta. Protects from learning much about
    anybody, whatever else is known, under the condition that sample and scheme were made as said. Does not
    protect if the levels or the hierarchies were fitted to the table, nor what other releases of the same
    people add. From a release only the sizes of its classes can be verified.

    References
    ----------
    R. Bild, K. A. Kuhn, F. Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees", PoPETs 2018(1). N. Li, W. Qardaji, D. Su, "On sampling, anonymization, and differential
    privacy or, k-anonymization meets differential privacy", ASIACCS 2012, theorem 5.
    """

    epsilon: float
    """From 0.001 to 8; usual ones are 0.1 to 2."""
    delta: float
    """Above 0 and below 1; far below one over the number of rows, if it is to mean something."""
    search: float = 0.0
    """The part of epsilon that a private search for levels costs; 0 where all levels are stated."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.001 <= self.epsilon <= 8:
            raise RecipeError(f"epsilon must be from 0.001 to 8, not {self.epsilon:g}")
        if not 0 < self.delta < 1:
            raise RecipeError(f"delta is a probability, above 0 and below 1, not {self.delta:g}")
        if not (self.search == 0 or 0 < self.search <= self.epsilon - 0.001):
            raise RecipeError(
                "search is the part of epsilon that finding levels costs: 0, or above, with at least 0.001 "
                f"of the {self.epsilon:g} left for the sample, not {self.search:g}"
            )

    @property
    def sampling_epsilon(self) -> float:
        """What is left of epsilon for the sample."""
        # Rounded down: both parts together are never more than was stated.
        return nextafter(self.epsilon - self.search, 0) if self.search else self.epsilon

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has the k rows that epsilon and delta demand."""
        return counts.size >= self.least_size()

    def achieved(self, counts: Counts) -> dict[str, float]:
        """Size of the smallest class, and the delta that classes of this size would do for.

        Where there is no class, none is too small.
        """
        k = int(counts.size.min()) if counts.classes else 0
        # The digits after the ninth differ from processor to processor.
        return {"k": k, "delta": float(f"{delta_for(self.sampling_epsilon, k):.9g}") if k else 0.0}

    def least_size(self) -> int:
        """The k that epsilon and delta demand."""
        return least_k(self.sampling_epsilon, self.delta)


def sampling_rate(epsilon: float) -> float:
    """The largest share of rows that may be drawn: 1 - e^-epsilon."""
    return -expm1(-epsilon)


@lru_cache
def least_k(epsilon: float, delta: float) -> int:
    """The smallest k for which sampling and dropping classes under k is (epsilon, delta)-private.

    With beta the sampling rate and gamma = (e^epsilon - 1 + beta)/e^epsilon, it is so if for all
    n >= ceil(k/gamma - 1) a binomial variable of n trials with chance beta exceeds gamma n with a
    probability of at most delta.
    """
    last = ceil(log(1 / delta) / _chernoff_exponent(epsilon)) + 1  # from here on Chernoff's bound is enough
    worst = np.maximum.accumulate(tail_probabilities(epsilon, np.arange(1, last + 1))[::-1])[::-1]
    first = 1 + int(np.argmax(worst <= delta)) if worst[-1] <= delta else last + 1
    return floor(_gamma(epsilon) * first * (1 + _ROUNDING)) + 1


def delta_for(epsilon: float, k: int) -> float:
    """The delta of sampling and dropping classes under k: the largest tail from ceil(k/gamma - 1) on."""
    first = max(ceil((k / _gamma(epsilon) - 1) * (1 - _ROUNDING)), 1)
    # A sawtooth in n, since gamma n is rounded down: the first tail need not be the largest.
    largest, step = 0.0, 1 + ceil(1 / _chernoff_exponent(epsilon))
    while largest < exp(-first * _chernoff_exponent(epsilon)):  # none from `first` on is larger than that
        largest = max(largest, float(tail_probabilities(epsilon, np.arange(first, first + step)).max()))
        first += step
    return largest


def tail_probabilities(epsilon: float, trials: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probability that of so many rows more than the share gamma is drawn."""
    special = import_optional("scipy.special", "shoal[scipy]")

    most = np.floor(_gamma(epsilon) * trials * (1 - _ROUNDING))
    return np.asarray(special.betainc(most + 1, trials - most, sampling_rate(epsilon)), np.float64)


def _gamma(epsilon: float) -> float:
    """(e^epsilon - 1 + beta)/e^epsilon, which is 1 - e^(-2 epsilon) for the largest beta."""
    return -expm1(-2 * epsilon)


def _chernoff_exponent(epsilon: float) -> float:
    """The tail of n trials is at most e^(-n D), where D is the divergence of gamma from beta (Chernoff)."""
    return _gamma(epsilon) * log1p(exp(-epsilon)) - epsilon * exp(-2 * epsilon)
