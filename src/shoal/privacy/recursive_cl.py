"""Recursive (c, l)-diversity."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import RECURSIVE, Rule
from shoal.privacy.base import Model, at_least
from shoal.privacy.counts import Counts, sum_by_place
from shoal.privacy.distinct_l import too_few
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class RecursiveCL(Model):
    """In every class r1 < c (r_l + r_(l+1) + ... + r_m), where r1 >= r2 >= ... count its sensitive values.

    The commonest value is less than c times as frequent as all those from the l-th on together. Protects
    from inferring the commonest value, even for someone who can rule out l - 2 others. Does not
    look at how alike the values are in meaning, nor at how common they are in the whole table.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, "l-diversity: privacy beyond
    k-anonymity", ACM TKDD 1(1), 2007, definition 4.2.
    """

    c: float
    """Above 0; the smaller, the stricter."""
    l: int  # noqa: E741  the literature's name
    """At least 2."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not (isfinite(self.c) and self.c > 0):
            raise RecipeError(f"c must be above 0, not {self.c:g}: every class has a commonest value")
        if self.l < 2:
            raise RecipeError(f"l must be at least 2, not {self.l}: every class has one value")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether the commonest value of each class is rare enough."""
        return measure_dominance(counts, self.column, self.l) < self.c

    def achieved(self, counts: Counts) -> float:
        """For the asked l, the c that must be exceeded; infinite where a class has fewer than l values."""
        return float(measure_dominance(counts, self.column, self.l).max(initial=0.0))

    def least_size(self) -> int:
        """L values need as many rows."""
        return self.l

    def rule(self, whole: Counts) -> Rule:
        """The commonest value is rare enough."""
        return Rule(RECURSIVE, str(self.column), self.c, self.l)

    def within_reach(self, whole: Counts) -> str | None:
        """If every class satisfied it, so would all of them together."""
        there = self.achieved(whole)
        if there < self.c:
            return None
        return too_few("l", self.l, whole, self.column) or (
            f"c = {self.c:g} with l = {self.l}, but in the whole column '{self.column}' the commonest value "
            f"is {there:.4g} times as frequent as all but the {self.l - 1} commonest together; "
            f"ask for a c above {at_least(there)}, or a smaller l"
        )


def measure_dominance(counts: Counts, column: str | None, l: int) -> NDArray[np.float64]:  # noqa: E741
    """How many times as frequent as those from the l-th on the commonest value of each class is."""
    values = counts.sensitive_column(column)
    order = np.lexsort((-values.count, values.class_of))
    class_of = values.class_of[order]
    # The place within the class: entries are sorted by class, the commonest value first.
    rank = np.arange(class_of.size) - np.searchsorted(class_of, class_of)
    rest = rank >= l - 1
    tail = sum_by_place(class_of[rest], values.count[order][rest], counts.classes)
    # Fewer than l values leave no tail: infinite, and no c is enough.
    with np.errstate(divide="ignore"):
        return values.count_commonest(counts.classes) / tail
