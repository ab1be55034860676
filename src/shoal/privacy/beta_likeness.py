"""Beta-likeness, basic and enhanced."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import LIKENESS, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts, SensitiveCounts
from shoal.support.arithmetic import log
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class BasicBeta(Model):
    """In no class is a sensitive value more than 1 + beta times as frequent as in the whole release.

    Written (p - q)/q <= beta for p in the class and q in the whole. Protects each value by itself, however
    rare: what one can infer about it grows at most by that factor. Does not restrict a value that is
    less frequent than in the whole, so a class may rule values out; and where q (1 + beta) >= 1, which it
    often is for common values, a class may even consist of that value alone.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", PVLDB 5(11), 2012.
    """

    beta: float
    """Largest relative gain, above 0."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_beta(self)

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether no value of each class gains more than beta."""
        return _largest_gains(counts, self.column, relative_gains(counts, self.column)) <= self.beta

    def achieved(self, counts: Counts) -> float:
        """Largest relative gain of any value in any class."""
        return float(relative_gains(counts, self.column).max(initial=0.0))

    def rule(self, whole: Counts) -> Rule:
        """No value gains more than beta."""
        bound = np.full(whole.sensitive_column(self.column).count_in_table().size, self.beta)
        return Rule(LIKENESS, str(self.column), self.beta, bound=bound)


@dataclass(frozen=True, slots=True)
class EnhancedBeta(Model):
    """In every class (p - q)/q <= min(beta, -ln q) for each sensitive value.

    p is the value's frequency in the class, q in the whole release. As basic beta-likeness, but a value that
    is common in the whole may gain less, and never fills a class alone. Protects each value by itself, the
    rare and the common. Does not restrict a value that is less frequent than in the whole, so a class may
    rule values out.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", PVLDB 5(11), 2012.
    """

    beta: float
    """Largest relative gain, above 0."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_beta(self)

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether no value of each class gains more than beta, or than -ln q."""
        return _largest_gains(counts, self.column, bounded_gains(counts, self.column)) <= self.beta

    def achieved(self, counts: Counts) -> float:
        """Largest relative gain; infinite where one exceeds -ln q, for then no beta holds."""
        return float(bounded_gains(counts, self.column).max(initial=0.0))

    def rule(self, whole: Counts) -> Rule:
        """No value gains more than its bound."""
        # Both conditions of the paper are one bound per value.
        bound = np.minimum(self.beta, _gain_limits(whole.sensitive_column(self.column)))
        return Rule(LIKENESS, str(self.column), self.beta, bound=bound)


def relative_gains(counts: Counts, column: str | None) -> NDArray[np.float64]:
    """Relative gain (p - q)/q of each entry of a column."""
    values = counts.sensitive_column(column)
    whole = values.count_in_table()
    # (c/n - q/N) / (q/N) as whole numbers that are divided once, as the kernels do it. In 64 bits,
    # since the products outgrow the type of the sizes.
    common = whole[values.value] * counts.sum_values(column)[values.class_of].astype(np.int64)
    return np.asarray((values.count * int(whole.sum()) - common) / common, np.float64)


def bounded_gains(counts: Counts, column: str | None) -> NDArray[np.float64]:
    """Relative gain of each entry of a column; infinite above -ln q."""
    values = counts.sensitive_column(column)
    gained = relative_gains(counts, column)
    # Above -ln q no beta helps, so the gain counts as infinite.
    return np.where(gained > _gain_limits(values)[values.value], np.inf, gained)


def _gain_limits(values: SensitiveCounts) -> NDArray[np.float64]:
    """-ln q of each value; infinite for one that does not occur."""
    whole = values.count_in_table()
    return -log(whole / int(whole.sum()))


def _largest_gains(counts: Counts, column: str | None, gained: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest gain in each class; a value that a class has not gains nothing."""
    # Never below 0: in every class some value is as frequent as in the whole, or more.
    worst = np.zeros(counts.classes)
    np.maximum.at(worst, counts.sensitive_column(column).class_of, gained)
    return worst


def _check_beta(model: BasicBeta | EnhancedBeta) -> None:
    check_fields(model)
    if not (isfinite(model.beta) and model.beta > 0):
        raise RecipeError(f"beta must be above 0, not {model.beta:g}: it is the largest relative gain")
