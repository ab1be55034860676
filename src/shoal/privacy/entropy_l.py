"""Entropy l-diversity."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import ENTROPY, Rule
from shoal.privacy.base import Model, at_most
from shoal.privacy.counts import Counts
from shoal.support.arithmetic import exp, log
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class EntropyL(Model):
    """The entropy of the sensitive values of every class is at least log l.

    So each class is as uncertain as if it had l equally frequent values, or more. Protects from inferring
    the sensitive value with near certainty: a value that dominates brings the entropy down. Does not allow a
    value that is common in the whole table, since then even the whole table has little entropy; and does not
    look at how alike the values are in meaning.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, "l-diversity: privacy beyond
    k-anonymity", ACM TKDD 1(1), 2007, definition 4.1.
    """

    l: float  # noqa: E741  the literature's name
    """Above 1; need not be a whole number."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not (isfinite(self.l) and self.l > 1):
            raise RecipeError(
                f"l must be above 1, not {self.l:g}: every class has an entropy of at least log 1"
            )

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has an entropy of at least log l."""
        return effective_values(counts, self.column) >= self.l

    def achieved(self, counts: Counts) -> float:
        """The exponential of the least entropy of any class."""
        return float(effective_values(counts, self.column).min()) if counts.classes else 0.0

    def least_size(self) -> int:
        """An entropy of log l needs l values, and they need as many rows."""
        return ceil(self.l)

    def rule(self, whole: Counts) -> Rule:
        """An entropy of at least log l."""
        return Rule(ENTROPY, str(self.column), self.l)

    def within_reach(self, whole: Counts) -> str | None:
        """Some class has at most the entropy of the whole table."""
        # Entropy is concave: the mean over classes is at most that of the table.
        there = self.achieved(whole)
        if there >= self.l:
            return None
        return (
            f"l = {self.l:g}, but the entropy of the whole column '{self.column}' is that of {there:.4g} "
            f"equally frequent values, and some class has no more; ask for l of {at_most(there)} or less"
        )


def effective_values(counts: Counts, column: str | None) -> NDArray[np.float64]:
    """How many equally frequent values would have the entropy of each class."""
    values = counts.sensitive_column(column)
    # The entropy is log n less the mean of log c over the rows; one logarithm per entry.
    weighed = np.bincount(values.class_of, values.count * log(values.count), counts.classes)
    size = counts.sum_values(column)
    effective: NDArray[np.float64] = exp(log(size) - weighed / size)
    nearest = np.rint(effective)
    # l equally frequent values have exactly l; logarithms give that only up to rounding.
    return np.where(np.abs(effective - nearest) < 1e-9 * nearest, nearest, effective)
