"""Entropy l-diversity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import combinations
from itertools import count as count_up
from math import ceil, gcd, isfinite
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import ENTROPY, Rule
from shoal.privacy.base import Model, at_most
from shoal.privacy.counts import Counts
from shoal.support.arithmetic import digamma, exp, log
from shoal.support.parameters import check_fields

_NEAR = 1e-9  # a relative distance far beyond what rounding does to the entropy


@dataclass(frozen=True, slots=True)
class EntropyL(Model):
    """The entropy of the sensitive values of every class is at least log l.

    So each class is as uncertain as if it had l equally frequent values, or more. Protects from inferring
    the sensitive value with near certainty: a value that dominates brings the entropy down. Does not allow a
    value that is common in the whole table, since then even the whole table has little entropy; and does not
    look at how alike the values are in meaning.

    The entropy of few rows is less than that of the people they are drawn from. Grassberger's estimator
    corrects that, so that more classes are accepted: by it two rows with two values count as a sample of many
    values. A class must have l different values all the same.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, "l-diversity: privacy beyond
    k-anonymity", ACM TKDD 1(1), 2007, definition 4.1. P. Grassberger, "Entropy estimates from insufficient
    samplings", arXiv:physics/0307138, 2003. S. Stammler, S. Katzenbeisser, K. Hamacher, "Correcting finite
    sampling issues in entropy l-diversity", Privacy in Statistical Databases 2016.
    """

    l: float  # noqa: E741  the literature's name
    """Above 1; need not be a whole number."""
    column: str | None = None
    """The sensitive column; all of them where None."""
    estimator: Literal["shannon", "grassberger"] = "shannon"
    """shannon: the entropy of the class as it is, as defined; grassberger: that of what it is a sample of."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not (isfinite(self.l) and self.l > 1):
            raise RecipeError(
                f"l must be above 1, not {self.l:g}: every class has an entropy of at least log 1"
            )

    @property
    def monotone(self) -> bool:
        """Only without the correction, which is less the more rows a class has."""
        return self.estimator == "shannon"

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has an entropy of at least log l."""
        return self._measure(counts) >= self.l

    def achieved(self, counts: Counts) -> float:
        """The exponential of the least entropy of any class."""
        return float(self._measure(counts).min()) if counts.classes else 0.0

    def least_size(self) -> int:
        """An entropy of log l needs l values, and they need as many rows."""
        return ceil(self.l)

    def rule(self, whole: Counts) -> Rule:
        """An entropy of at least log l."""
        return Rule(ENTROPY, str(self.column), self.l, int(self.estimator == "grassberger"))

    def within_reach(self, whole: Counts) -> str | None:
        """Some class has at most the entropy of the whole table."""
        # Entropy is concave: the mean over classes is at most that of the table.
        there = self.achieved(whole)
        if there >= self.l:
            return None
        if self.estimator == "grassberger":
            return (
                f"l = {self.l:g}, but the entropy of the whole column '{self.column}' is estimated as that "
                f"of {there:.4g} equally frequent values, so that no search has a class to begin with; ask "
                f"for l of {at_most(there)} or less"
            )
        return (
            f"l = {self.l:g}, but the entropy of the whole column '{self.column}' is that of {there:.4g} "
            f"equally frequent values, and some class has no more; ask for l of {at_most(there)} or less"
        )

    def _measure(self, counts: Counts) -> NDArray[np.float64]:
        measure = estimate_effective_values if self.estimator == "grassberger" else effective_values
        return measure(counts, self.column)


def estimate_effective_values(counts: Counts, column: str | None) -> NDArray[np.float64]:
    """How many equally frequent values have the entropy that Grassberger estimates from each class.

    But no more than the class has: what was not seen protects nobody.
    """
    values = counts.sensitive_column(column)
    weighed = np.bincount(values.class_of, values.count * _estimate_logarithm(values.count), counts.classes)
    size = counts.sum_values(column)
    effective: NDArray[np.float64] = exp(_estimate_logarithm(size) - weighed / size)
    return np.minimum(effective, values.count_distinct(counts.classes))


def _estimate_logarithm(count: NDArray[np.integer]) -> NDArray[np.float64]:
    """Grassberger's G: what stands for the logarithm of a count in his estimate."""
    found: NDArray[np.float64] = digamma(count // 2 + 0.5) + log(2.0)
    return found


def effective_values(counts: Counts, column: str | None) -> NDArray[np.float64]:
    """How many equally frequent values would have the entropy of each class.

    Rounding moves no class across a whole number: near these the entropy is compared exactly.
    """
    values = counts.sensitive_column(column)
    # The entropy is log n less the mean of log c over the rows; one logarithm per entry.
    weighed = np.bincount(values.class_of, values.count * log(values.count), counts.classes)
    size = counts.sum_values(column)
    effective: NDArray[np.float64] = exp(log(size) - weighed / size)
    distinct = values.count_distinct(counts.classes)
    even = values.count_commonest(counts.classes) * distinct == size
    effective = np.where(even, distinct, effective)
    border = np.rint(effective)
    near = np.flatnonzero(~even & (np.abs(effective - border) < _NEAR * border))
    for place in near.tolist():
        sign = compare_entropy(values.count[values.class_of == place].tolist(), int(border[place]))
        effective[place] = np.nextafter(border[place], border[place] + sign)
    return effective


def compare_entropy(counts: Sequence[int], l: int) -> int:  # noqa: E741
    """The sign of the entropy of some counts less log l, without any rounding.

    With n the sum of the counts c, that is the sign of log(n^n / (l^n times all c^c)).
    """
    common = gcd(*counts)
    shares = Counter(count // common for count in counts)
    n = sum(share * times for share, times in shares.items())
    powers = Counter({n: n})
    powers.subtract({l: n})
    powers.subtract({share: share * times for share, times in shares.items()})
    for digits in count_up(40, 40):
        with localcontext(prec=digits):
            logs = [power * Decimal(base).ln() for base, power in powers.items() if base > 1]
            total, rounding = sum(logs, Decimal(0)), sum(map(abs, logs)) * Decimal(1).scaleb(3 - digits)
        if abs(total) > rounding:
            return 1 if total > 0 else -1
        if _is_one(powers):
            return 0
    raise AssertionError("a product that is not 1 has a logarithm that is not 0")


def _is_one(powers: Counter[int]) -> bool:
    """Whether the product of some bases, each to its power, is 1."""
    bases = Counter({base: power for base, power in powers.items() if base > 1})
    # Bases that share a divisor are divided by it, until none do; then every power must be 0.
    while shared := next(((a, b) for a, b in combinations(bases, 2) if gcd(a, b) > 1), None):
        divisor, taken = gcd(*shared), [(base, bases.pop(base)) for base in shared]
        for base, power in taken:
            bases[divisor] += power
            if base > divisor:
                bases[base // divisor] += power
    return not any(bases.values())
