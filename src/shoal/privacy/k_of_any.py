"""k-anonymity towards whoever knows some of the quasi-identifiers, whichever these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import KnownColumns, Model
from shoal.privacy.counts import Counts
from shoal.privacy.equal_cells import check_number_of_sets
from shoal.privacy.k_anonymity import too_few_rows
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class KOfAny(Model):
    """Whoever knows any m of the quasi-identifiers of a person finds at least k rows that are equal in them.

    Rows are equal in a column if the same is written there; a suppressed cell equals suppressed cells only.
    Protects from an attacker who knows m values of a person, whichever they are, and costs far less than k
    in all columns. Does not protect from one who knows more than m, nor from one who can tell what a cell
    was by other columns: a finding names these.

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", PVLDB 1(1),
    2008 (the same for items of sets, k^m-anonymity).
    """

    m: int
    """How many of the quasi-identifiers an attacker knows; at least 1."""
    k: int
    """Least number of rows that are equal in them."""

    by_class: ClassVar[bool] = False
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.m < 1:
            raise RecipeError(f"m must be at least 1, not {self.m}: who knows nothing finds all rows")
        if self.k < 1:
            raise RecipeError(f"k must be at least 1, not {self.k}: a class has rows")

    @property
    def is_about_some_columns(self) -> bool:
        """Yes."""
        return True

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether k rows are equal to those of each class, in every set of m columns."""
        return self._find_fewest(counts) >= self.k

    def suffices(self, counts: Counts) -> NDArray[np.bool_]:
        """A class of k rows does, whatever is known of them."""
        return counts.size >= self.k

    def achieved(self, counts: Counts) -> float:
        """The fewest rows that anybody finds who knows m columns."""
        return int(self._find_fewest(counts).min()) if counts.classes else 0

    def least_size(self) -> int:
        """K rows, see `suffices`."""
        return self.k

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer than k rows has no k equal rows."""
        return too_few_rows(self.k, whole)

    def list_column_sets(self, quasi: Sequence[str]) -> list[KnownColumns]:
        """All sets of m columns."""
        check_number_of_sets(len(quasi), min(self.m, len(quasi)))
        return [KnownColumns(names, self.k) for names in combinations(quasi, min(self.m, len(quasi)))]

    def _find_fewest(self, counts: Counts) -> NDArray[np.integer]:
        # Whoever knows k rows of a class finds them by any columns.
        return counts.size if counts.equal is None else counts.equal.find_fewest(self.m)
