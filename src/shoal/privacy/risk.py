"""Bounds on the risk of being re-identified: the largest, the average, and the share of unique rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import Model, at_least
from shoal.privacy.counts import Counts
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class MaxRisk(Model):
    """No row has a risk above the given one, where a row in a class of s rows has risk 1/s.

    That is the prosecutor's risk: someone knows that a person is in the release and guesses among the rows
    of the class. Protects as k-anonymity with k = 1/risk, rounded up, does. Does not protect the sensitive
    value.

    References
    ----------
    K. El Emam, F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008.
    """

    risk: float
    """Above 0 and below 1."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.risk < 1:
            raise RecipeError(f"risk is a probability, above 0 and below 1, not {self.risk:g}")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether the rows of each class have at most the risk."""
        # The same division as in `achieved`, so that both agree on the border.
        return 1 / counts.size <= self.risk

    def achieved(self, counts: Counts) -> float:
        """Risk of the rows of the smallest class."""
        return float((1 / counts.size).max(initial=0.0))

    def least_size(self) -> int:
        """1/risk rows."""
        return class_size(self.risk)

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer than 1/risk rows has no class of them."""
        return too_small(f"risk = {self.risk:g}", self.least_size(), whole)


@dataclass(frozen=True, slots=True)
class AverageRisk(Model):
    """The average risk of all rows, which is classes over rows, is at most the given one.

    That is the marketer's risk: the share of rows that someone re-identifies who guesses for all of them.
    Protects the release as a whole. Does not protect every row: some may stand alone
    as long as enough others do not.

    A search looks at one class at a time, so it demands classes of at least 1/risk rows, which is sufficient
    but stricter than the model. The verifier checks the model itself.

    References
    ----------
    F. K. Dankar, K. El Emam, "A method for evaluating marketer re-identification risk", EDBT Workshops 2010.
    """

    risk: float
    """Above 0 and below 1."""

    by_class: ClassVar[bool] = False
    averages: ClassVar[bool] = True
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.risk < 1:
            raise RecipeError(f"risk is a probability, above 0 and below 1, not {self.risk:g}")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """If the average is too high, the classes of fewer than 1/risk rows stand in the way."""
        # The average is one number for all classes: it holds for all, or the small ones are at
        # fault.
        return (self.achieved(counts) <= self.risk) | self.suffices(counts)

    def suffices(self, counts: Counts) -> NDArray[np.bool_]:
        """If all classes had 1/risk rows, the average would be low enough."""
        return 1 / counts.size <= self.risk

    def achieved(self, counts: Counts) -> float:
        """Classes over rows, without rows of which every quasi-identifier is suppressed."""
        size = counts.size[counts.shown]
        return size.size / int(size.sum()) if size.size else 0.0

    def least_size(self) -> int:
        """1/risk rows, see `suffices`."""
        return class_size(self.risk)

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer than 1/risk rows has a higher average even as one class."""
        return too_small(f"risk = {self.risk:g}", self.least_size(), whole)


@dataclass(frozen=True, slots=True)
class Uniqueness(Model):
    """At most the given share of rows stand alone in their class.

    Protects from certain re-identification of more rows than that. Does not protect the rows that do stand
    alone, nor bound the risk of the others below 1/2.

    A search looks at one class at a time, so it demands classes of at least two rows, which is
    sufficient but, for a share above 0, stricter than the model. The verifier checks the model itself.

    References
    ----------
    C. J. Skinner, M. J. Elliot, "A measure of disclosure risk for microdata", JRSS B 64(4), 2002.
    """

    share: float
    """From 0 to below 1."""

    by_class: ClassVar[bool] = False
    averages: ClassVar[bool] = True
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.share < 1:
            raise RecipeError(f"share is a share of the rows, from 0 to below 1, not {self.share:g}")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """If too many rows stand alone, their classes stand in the way."""
        return (self.achieved(counts) <= self.share) | self.suffices(counts)

    def suffices(self, counts: Counts) -> NDArray[np.bool_]:
        """If all classes had two rows, none would stand alone."""
        return counts.size > 1

    def achieved(self, counts: Counts) -> float:
        """Share of rows that stand alone, among those that have some quasi-identifier left."""
        size = counts.size[counts.shown]
        return float(np.count_nonzero(size == 1) / int(size.sum())) if size.size else 0.0

    def least_size(self) -> int:
        """Two rows, see `suffices`."""
        return 2

    def within_reach(self, whole: Counts) -> str | None:
        """The row of a table of one stands alone."""
        return too_small(f"share = {self.share:g}", self.least_size(), whole)


def class_size(risk: float) -> int:
    """Least number of rows that share a risk of at most ``risk``."""
    # 1/risk may not fit 64 bits, and no table has 2^62 rows.
    size = ceil(min(1 / risk, 1 << 62))
    return size - 1 if 1 / (size - 1) <= risk else size  # 1/risk may have been rounded up past a whole number


def too_small(asked: str, size: int, whole: Counts) -> str | None:
    """Say that a table has fewer rows than one class needs, and what would do; None if it has as many."""
    there = whole.members
    if there >= size:
        return None
    advice = f"; ask for a risk of {at_least(1 / there)} or more" if asked.startswith("risk") else ""
    return f"{asked} needs {size} {whole.unit}, but the table has {there}{advice if there > 1 else ''}"
