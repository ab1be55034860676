"""delta-disclosure privacy."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import DISCLOSURE, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.support.arithmetic import exp2, log2
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class DeltaDisclosure(Model):
    """In every class abs(log2(p/q)) < delta for each sensitive value.

    p is the value's frequency in the class, q in the whole release: belonging to a class makes no value
    2^delta times as likely or unlikely. Protects from learning much from the class about any value, rare or
    common, and from ruling values out. Does not come cheap: a value that occurs 9 times in the table allows
    at most 9 classes, for in the strict form every class must have every value.

    The lenient form passes over values that a class has not. It does not protect from ruling values out, and
    is not monotone: two classes that satisfy it may together not.

    References
    ----------
    J. Brickell, V. Shmatikov, "The cost of privacy: destruction of data-mining utility in anonymized data
    publishing", KDD 2008.
    """

    delta: float
    """Above 0, in powers of two."""
    form: Literal["strict", "lenient"] = "strict"
    """strict: a value that a class has not violates, as defined; lenient: it is passed over."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        # 2^1000 is still a float.
        if not (isfinite(self.delta) and 0 < self.delta <= 1000):
            raise RecipeError(
                f"delta must be above 0 and at most 1000, not {self.delta:g}: it is a power of two"
            )

    @property
    def monotone(self) -> bool:
        """Only the strict form is."""
        return self.form == "strict"

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether no value of each class is 2^delta times as likely or unlikely as in the whole."""
        return largest_ratio(counts, self.column, self.form == "strict") < exp2(self.delta)

    def achieved(self, counts: Counts) -> float:
        """The delta that must be exceeded; infinite where the strict form misses a value."""
        return float(log2(largest_ratio(counts, self.column, self.form == "strict").max(initial=1.0)))

    def rule(self, whole: Counts) -> Rule:
        """No value is 2^delta times as likely or unlikely."""
        return Rule(DISCLOSURE, str(self.column), exp2(self.delta), int(self.form == "strict"))


def largest_ratio(counts: Counts, column: str | None, strict: bool) -> NDArray[np.float64]:
    """How many times as likely or unlikely as in the whole a value is at the most, in each class."""
    values = counts.sensitive_column(column)
    whole = values.count_in_table()
    # c N against q n: whole numbers, so that classes on the border are judged exactly.
    here = values.count * int(whole.sum())
    there = whole[values.value] * counts.sum_values(column)[values.class_of].astype(np.int64)
    worst = np.ones(counts.classes)
    np.maximum.at(worst, values.class_of, np.maximum(here / there, there / here))
    # A value of the table that the class lacks has p = 0, and log 0 is minus infinity.
    misses = values.count_distinct(counts.classes) < np.count_nonzero(whole)
    return np.where(misses, np.inf, worst) if strict else worst
