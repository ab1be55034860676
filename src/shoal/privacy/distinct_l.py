"""Distinct l-diversity, and p-sensitivity, which asks for the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import DISTINCT, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class DistinctL(Model):
    """Every class has at least l distinct values of the sensitive column.

    Protects from learning the sensitive value with certainty from the class. Does not bound how likely the
    commonest value is (9 of 10 rows may share it), nor how alike the values are in meaning.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, "l-diversity: privacy beyond
    k-anonymity", ACM TKDD 1(1), 2007.
    """

    l: int  # noqa: E741  the literature's name
    """Least number of distinct values in a class; a missing value counts as one."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.l < 2:
            raise RecipeError(f"l must be at least 2, not {self.l}: every class has one value")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has at least l distinct values."""
        return count_doubtful_values(counts, self.column) >= self.l

    def achieved(self, counts: Counts) -> int:
        """Least number of distinct values in any class."""
        return int(count_doubtful_values(counts, self.column).min()) if counts.classes else 0

    def least_size(self) -> int:
        """L values need as many rows."""
        return self.l

    def rule(self, whole: Counts) -> Rule:
        """At least l values."""
        return Rule(DISTINCT, str(self.column), self.l)

    def within_reach(self, whole: Counts) -> str | None:
        """A column with fewer than l values has no class of l."""
        return too_few("l", self.l, whole, self.column)


@dataclass(frozen=True, slots=True)
class PSensitive(Model):
    """Every class has at least p distinct values of the sensitive column.

    Together with k it is p-sensitive k-anonymity; alone it is the same as distinct l-diversity with l = p.
    Protects from learning the sensitive value with certainty from the class. Does not bound how likely the
    commonest value is, nor how alike the values are in meaning.

    References
    ----------
    T. M. Truta, B. Vinay, "Privacy protection: p-sensitive k-anonymity property", ICDE Workshops 2006.
    """

    p: int
    """Least number of distinct values in a class; a missing value counts as one."""
    column: str | None = None
    """The sensitive column; all of them where None."""

    sensitive: ClassVar[bool] = True
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.p < 2:
            raise RecipeError(f"p must be at least 2, not {self.p}: every class has one value")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has at least p distinct values."""
        return count_doubtful_values(counts, self.column) >= self.p

    def achieved(self, counts: Counts) -> int:
        """Least number of distinct values in any class."""
        return int(count_doubtful_values(counts, self.column).min()) if counts.classes else 0

    def least_size(self) -> int:
        """P values need as many rows."""
        return self.p

    def rule(self, whole: Counts) -> Rule:
        """At least p values."""
        return Rule(DISTINCT, str(self.column), self.p)

    def within_reach(self, whole: Counts) -> str | None:
        """A column with fewer than p values has no class of p."""
        return too_few("p", self.p, whole, self.column)


def count_distinct_values(counts: Counts, column: str | None) -> NDArray[np.int64]:
    """Number of distinct values in each class."""
    return counts.sensitive_column(column).count_distinct(counts.classes)


def count_doubtful_values(counts: Counts, column: str | None) -> NDArray[np.int64]:
    """The same; but 1 where all people of a class have some value, which is then known of each of them."""
    distinct = count_distinct_values(counts, column)
    if not counts.counts_people:  # with a row each, nobody has two values, so that two values are doubt
        return distinct
    shared = counts.sensitive_column(column).count_commonest(counts.classes) == counts.size
    return np.where(shared, np.minimum(distinct, 1), distinct)


def too_few(name: str, asked: float, whole: Counts, column: str | None) -> str | None:
    """Say that a column has fewer distinct values than are asked for; None if it has as many."""
    there = int(count_distinct_values(whole, column).max(initial=0))
    if there >= asked:
        return None
    # With one value there is no l to advise: it would have to be 1.
    advice = f"; ask for {name} of {there} or less" if there > 1 else ""
    return f"{name} = {asked:g}, but the sensitive column '{column}' has {there} distinct values{advice}"
