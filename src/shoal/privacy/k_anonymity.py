"""k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class KAnonymity(Model):
    """Every released row has at least k - 1 others that are equal on all quasi-identifiers.

    Protects from singling a person out, or linking a row to a name, by the quasi-identifiers. Does not
    protect the sensitive value: if all k rows share it, knowing the class is knowing the value.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", IJUFKS 10(5), 2002.
    """

    k: int
    """Least number of rows in a class."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.k < 1:
            raise RecipeError(f"k must be at least 1, not {self.k}: a class has rows")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has at least k rows."""
        return counts.size >= self.k

    def achieved(self, counts: Counts) -> int:
        """Size of the smallest class."""
        return int(counts.size.min()) if counts.classes else 0

    def least_size(self) -> int:
        """K rows."""
        return self.k

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer than k rows has no class of k."""
        return too_few_rows(self.k, whole)


def too_few_rows(k: int, whole: Counts) -> str | None:
    """Say that a table has fewer than k rows, or people, and what would do; None if it has as many."""
    there = whole.members
    if there >= k:
        return None
    advice = f"; ask for k of {there} or less" if there > 1 else ""
    return f"k = {k}, but the table has {there} {whole.unit}{advice}"
