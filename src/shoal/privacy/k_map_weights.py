"""k-map by survey weights: these tell how many people of the population the rows of a class stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import MAPPED, Rule
from shoal.privacy.base import Model, at_most
from shoal.privacy.counts import Counts
from shoal.support.parameters import check_fields

WEIGHTS = "\0weights "
"""Before the name of a column of weights, in place of a sensitive column of a rule: two values, of which a
class has as many as it has rows, and as its weights add up to in thousandths, each rounded down."""
WEIGHTS_SCALE = 1000
_ROUNDING = 1e-12  # relative; sums of fractions depend on their order by far less


@dataclass(frozen=True, slots=True)
class KMapWeights(Model):
    """The rows of every class stand for at least k people of the population, by their survey weights.

    A survey weight says how many people a row stands for. The weights are a column that is released, and is
    named as a sensitive one, so that anybody can add them up. Protects as `KMap` does, from somebody who does
    not know who is in the release. Does not protect from somebody who does, nor the sensitive value. It is
    only as good as the weights, which are estimates; and a weight that few rows have can single them out.

    References
    ----------
    L. Sweeney, "Computational disclosure control", PhD thesis, MIT 2001. M. Templ, "Statistical disclosure
    control for microdata: methods and applications in R", Springer 2017, section 3.2.
    """

    k: float
    """Least sum of the weights in a class."""
    column: str
    """The column of weights, which is also named as sensitive."""

    sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.k > 1:
            raise RecipeError(
                f"k must be above 1, not {self.k:g}: with k = 1 every person of the population stands alone"
            )

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether the weights of each class add up to k."""
        return sum_weights(counts, self.column) >= self.k * (1 - _ROUNDING)

    def achieved(self, counts: Counts) -> float:
        """Least sum of the weights of a class."""
        return float(f"{sum_weights(counts, self.column).min():.12g}") if counts.classes else 0.0

    def rule(self, whole: Counts) -> Rule:
        """The weights add up to k."""
        return Rule(MAPPED, WEIGHTS + self.column, np.ceil(self.k * WEIGHTS_SCALE * (1 - _ROUNDING)))

    def within_reach(self, whole: Counts) -> str | None:
        """All rows stand for as many people as all weights add up to."""
        if (people := float(sum_weights(whole, self.column).sum())) >= self.k * (1 - _ROUNDING):
            return None
        return (
            f"k = {self.k:g}, but all weights in column '{self.column}' add up to {people:.6g}; ask for k of "
            f"{at_most(people) if people else 0} or less"
        )


def sum_weights(counts: Counts, column: str) -> NDArray[np.float64]:
    """[classes] sums of the weights in a column; a weight that is missing, or not above 0, adds nothing."""
    if counts.counts_people:
        raise RecipeError(
            "k-map-weights adds up the weights of rows, not of people with several rows: leave out the person"
        )
    values = counts.sensitive_column(column)
    amounts = read_amounts(values.scale.amounts, column)
    # bincount adds in the order of the entries, which are sorted by class and value.
    return np.bincount(values.class_of, values.count * amounts[values.value], counts.classes).astype(float)


def read_amounts(amounts: NDArray[np.float64] | None, column: str) -> NDArray[np.float64]:
    """[values] the weight that each value is."""
    if amounts is None:
        raise RecipeError(f"the column of weights '{column}' must be of numbers")
    return np.where(np.isfinite(amounts) & (amounts > 0), amounts, 0.0)
