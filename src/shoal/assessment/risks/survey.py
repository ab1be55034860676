"""Survey weights: how many people of the population a row stands for, and the risk that follows from that.

References
----------
R. Benedetti, L. Franconi, "Statistical and technological solutions for controlled data dissemination",
New Techniques and Technologies for Statistics, Sorrento 1998: the individual risk. L. Franconi, S. Polettini,
"Individual risk estimation in mu-Argus: a review", Privacy in Statistical Databases 2004: its closed form.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.expected_share import compute_expected_share

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SurveyFigures:
    """What survey weights tell of the population."""

    column: str
    people: float
    """Sum of the weights: how many people there are."""
    smallest: float
    """Least sum of the weights of rows that fit together: by it the table has k-map."""
    unique_people: float
    """How many rows of the table are expected to be of people who are unique in the population."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def estimate_individual_risk(frequency: NDArray[np.integer], weighted: Floats) -> Floats:
    """Risk of rows whose values ``frequency`` rows have, of weights that sum up to ``weighted``.

    The expected value of 1/F, where F is the number of people who have these values: given f of them in the
    table, F - f is negative binomial with f and the chance f / ``weighted`` of being in the table.
    """
    # Nobody in the table is more than one person: a smaller sum says that all of them are in it.
    share = frequency / np.maximum(weighted, frequency)
    return compute_expected_share(frequency, 0.0, share)


def measure_survey(
    column: str, weights: Floats, frequency: NDArray[np.integer], weighted: Floats
) -> SurveyFigures:
    """Sum up what weights tell, given for each class how many rows fit it, and the sum of their weights."""
    people = np.maximum(weighted, frequency)
    # Somebody who is alone in the table is so among everybody with the chance of being in the table.
    unique = 1 / people[frequency == 1]
    return SurveyFigures(column, float(weights.sum()), float(people.min()), float(unique.sum()))
