"""(alpha, k)-anonymity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import SHARE, Rule
from shoal.privacy.base import Model, at_least
from shoal.privacy.counts import Counts
from shoal.privacy.k_anonymity import too_few_rows
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class AlphaK(Model):
    """Every class has at least k rows, and no sensitive value more than the share alpha of them.

    Protects from singling out, and bounds how surely a sensitive value can be inferred from the class: at
    most alpha. Does not compare with how common the value is anyway: with alpha = 0.5, belonging to a class
    may still raise a rare illness from 1 % to 50 %.

    The paper bounds one given value; here alpha bounds all of them, so that none is left open.

    References
    ----------
    R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang, "(alpha, k)-anonymity: an enhanced k-anonymity model for
    privacy preserving data publishing", KDD 2006.
    """

    alpha: float
    """Largest share of a class that one value may have, above 0 and below 1."""
    k: int
    """Least number of rows in a class."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.alpha < 1:
            raise RecipeError(f"alpha is a share, above 0 and below 1, not {self.alpha:g}")
        # 1 is allowed: alpha is a goal by itself.
        if self.k < 1:
            raise RecipeError(f"k must be at least 1, not {self.k}: a class has rows")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has k rows and no value with more than alpha of them."""
        return (counts.size >= self.k) & (largest_share(counts, self.column) <= self.alpha)

    def achieved(self, counts: Counts) -> dict[str, float]:
        """Largest share of any value in any class, and the size of the smallest class."""
        shares = largest_share(counts, self.column)
        return {"alpha": float(shares.max(initial=0.0)), "k": int(counts.size.min()) if counts.classes else 0}

    def least_size(self) -> int:
        """K rows."""
        return self.k

    def least_people(self) -> int:
        """K people."""
        return self.k

    def rule(self, whole: Counts) -> Rule:
        """No value with more than alpha of the rows."""
        return Rule(SHARE, str(self.column), self.alpha)

    def within_reach(self, whole: Counts) -> str | None:
        """Some class has at least the whole table's share of its commonest value."""
        if reason := too_few_rows(self.k, whole):
            return reason
        # The share in the table is a mean of those in the classes, so one class has at least as
        # much.
        share = float(largest_share(whole, self.column).max(initial=0.0))
        if share <= self.alpha:
            return None
        return (
            f"alpha = {self.alpha:g}, but in column '{self.column}' one value has {share:.4g} of all rows, "
            f"and so at least that in some class; ask for alpha of {at_least(share)} or more"
        )


def largest_share(counts: Counts, column: str | None) -> NDArray[np.float64]:
    """Share of the commonest value of each class."""
    return counts.sensitive_column(column).count_commonest(counts.classes) / counts.size
