"""Distinct l-diversity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.parameters import check
from shoal.privacy.counts import Counts


@dataclass(frozen=True, slots=True)
class DistinctL:
    """Every class has at least l different values of the sensitive column.

    Protects from learning the sensitive value with certainty from the class. Does not bound how likely the
    commonest value is (9 of 10 rows may share it), nor how alike the values are in meaning.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, "l-diversity: privacy beyond
    k-anonymity", ACM TKDD 1(1), 2007.
    """

    l: int  # noqa: E741  the literature's name
    """Least number of different values in a class; a missing value counts as one."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    monotone: ClassVar[bool] = True
    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)
        if self.l < 2:
            raise RecipeError(f"l must be at least 2, not {self.l}: every class has one value")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has at least l different values."""
        return self._distinct(counts) >= self.l

    def achieved(self, counts: Counts) -> int:
        """Least number of different values in any class."""
        return int(self._distinct(counts).min()) if counts.classes else 0

    def within_reach(self, rows: int, distinct: int) -> str | None:
        """A column with fewer than l values has no class of l."""
        if distinct >= self.l:
            return None
        return f"l = {self.l}, but the sensitive column '{self.column}' has {distinct} different values"

    def _distinct(self, counts: Counts) -> NDArray[np.int64]:
        assert self.column is not None
        return counts.sensitive[self.column].distinct(counts.classes)
