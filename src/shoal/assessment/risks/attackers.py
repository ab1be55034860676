"""Three kinds of attackers, and how often each is right about whose row it is.

References
----------
K. El Emam, F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008: prosecutor and
journalist. F. K. Dankar, K. El Emam, "A method for evaluating marketer re-identification risk", EDBT
Workshops 2010. N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment",
Journal of Official Statistics 17(4), 2001, and L. Franconi, S. Polettini, "Individual risk estimation in
mu-Argus", Privacy in Statistical Databases 2004: where only the sampling fraction is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.expected_share import compute_expected_share
from shoal.privacy.population_uniques import fit_pitman

THRESHOLDS = (0.05, 0.09, 0.2, 0.33, 0.5)
"""Risks above which rows are counted: classes of fewer than 20, 12, 5, 4 and 2 rows."""


@dataclass(frozen=True, slots=True)
class Attacker:
    """What one kind of attacker achieves."""

    maximum: float
    """Risk of the row that is easiest to re-identify."""
    average: float
    """Mean risk of the rows that have some value: the share that is re-identified if all are guessed."""
    above: tuple[tuple[float, float], ...]
    """Thresholds, and the share of these rows with a risk above each."""

    @classmethod
    def from_class_risks(
        cls,
        risk: NDArray[np.float64],
        size: NDArray[np.integer],
        thresholds: Sequence[float],
        shown: NDArray[np.bool_] | None = None,
    ) -> Attacker:
        """Sum up the risks of rows, given by class; averages and shares are those of ``shown`` classes."""
        worst = float(risk.max())
        if shown is not None:
            risk, size = risk[shown], size[shown]
        rows = int(size.sum())
        above = tuple((limit, float(size[risk > limit].sum() / rows)) for limit in thresholds)
        return cls(worst, float((risk * size).sum() / rows), above)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "maximum": self.maximum,
            "average": self.average,
            "above": [{"threshold": limit, "share": share} for limit, share in self.above],
        }


def measure_prosecutor_risk(size: NDArray[np.integer]) -> NDArray[np.float64]:
    """Risk of the rows of each class to somebody who knows that the person is in the table."""
    return np.asarray(1 / size)


def measure_journalist_risk(size: NDArray[np.integer], people: NDArray[np.integer]) -> NDArray[np.float64]:
    """Risk to somebody who does not know that: the guess is among the people who fit the class."""
    # Everybody in the table belongs to the population, even if its table lacks them.
    return np.asarray(1 / np.maximum(size, people))


def estimate_journalist_risk(size: NDArray[np.integer], fraction: float) -> NDArray[np.float64]:
    """The same where it is known only which share of the people is in the table.

    The expected value of 1/F, where F is the number of people who fit. Given f of them in the table, F - f is
    negative binomial with f - alpha, where alpha and theta are those of Pitman's model that fits the classes
    best: with many unique rows, classes that are small in the table are small among the people, too. With
    alpha = 0 and theta = 0 it would be the individual risk of mu-Argus, which overlooks that.
    """
    if fraction == 1:
        return measure_prosecutor_risk(size)
    spread, many = np.unique(size, return_counts=True)
    rows = int(size.sum())
    if spread[-1] == 1:
        return np.ones(size.size)  # nothing speaks against everybody being unique
    theta, alpha = fit_pitman(spread, many)
    by_size = compute_expected_share(spread, alpha, (rows + theta) / (rows / fraction + theta))
    return by_size[np.searchsorted(spread, size)]


def check_thresholds(thresholds: Sequence[float]) -> tuple[float, ...]:
    """Thresholds in order; refuse what is no probability."""
    for limit in thresholds:
        if not 0 <= limit < 1:
            raise RecipeError(f"a threshold is a probability, from 0 to below 1, not {limit:g}")
    return tuple(sorted({float(limit) for limit in thresholds}))
