"""k-anonymity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import KnownColumns, Model
from shoal.privacy.counts import Counts
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class KAnonymity(Model):
    """Every released row has at least k - 1 others that are equal on all quasi-identifiers.

    With ``columns``, on these: then whoever knows them finds k rows, and whoever knows others may find fewer.

    Protects from singling a person out, or linking a row to a name, by the quasi-identifiers. Does not
    protect the sensitive value: if all k rows share it, knowing the class is knowing the value.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", IJUFKS 10(5), 2002.
    """

    k: int
    """Least number of rows in a class."""
    columns: str | None = None
    """The quasi-identifiers that an attacker knows, as ``age+sex``; all of them where None."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.k < 1:
            raise RecipeError(f"k must be at least 1, not {self.k}: a class has rows")
        if self.columns is not None and not all(self.known_columns):
            raise RecipeError(f"columns are names with + between them, as age+sex, not '{self.columns}'")

    @property
    def is_about_some_columns(self) -> bool:
        """Whether it names columns."""
        return self.columns is not None

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return () if self.columns is None else tuple(map(str.strip, self.columns.split("+")))

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has at least k rows, or k rows are equal to it in the columns."""
        return self._count_rows(counts) >= self.k

    def suffices(self, counts: Counts) -> NDArray[np.bool_]:
        """A class of k rows does, whatever is known of them."""
        return counts.size >= self.k

    def achieved(self, counts: Counts) -> int:
        """Size of the smallest class, or the fewest rows that are equal in the columns."""
        return int(self._count_rows(counts).min()) if counts.classes else 0

    def least_size(self) -> int:
        """K rows."""
        return self.k

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer than k rows has no class of k."""
        return too_few_rows(self.k, whole)

    def list_column_sets(self, quasi: Sequence[str]) -> list[KnownColumns]:
        """The columns."""
        return [KnownColumns(self.known_columns or tuple(quasi), self.k)]

    def _count_rows(self, counts: Counts) -> NDArray[np.integer]:
        if self.columns is None or counts.equal is None:  # k rows of a class are equal in any columns
            return counts.size
        return counts.equal.count_equal(self.known_columns)


def too_few_rows(k: int, whole: Counts) -> str | None:
    """Say that a table has fewer than k rows, or people, and what would do; None if it has as many."""
    there = whole.members
    if there >= k:
        return None
    advice = f"; ask for k of {there} or less" if there > 1 else ""
    return f"k = {k}, but the table has {whole.describe_number(there)}{advice}"
