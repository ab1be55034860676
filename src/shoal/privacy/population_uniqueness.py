"""A bound on the share of people who are unique in the population that a table is a sample of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.privacy.population_uniques import check_fraction, estimate_unique_share
from shoal.privacy.regions import Region, count_people
from shoal.privacy.risk import too_small
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(Model):
    """At most the given share of the population is unique, as estimated from the classes of the release.

    The release is taken for a random sample of the population, of which it has the given fraction. Protects
    from certain re-identification of more people than that by somebody who does not know who is in the
    release. Does not protect the people who are unique, nor anybody whose presence is known.

    A search looks at one class at a time, so it demands classes of at least two rows, by which nobody is
    estimated to be unique. The verifier checks the model itself.

    References
    ----------
    F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data
    sets", BMC Medical Informatics and Decision Making 12:66, 2012.
    """

    share: float
    """From 0 to below 1, of the population."""
    fraction: float | None = None
    """Which share of the population is in the release, above 0 and up to 1."""
    estimator: Literal["dankar", "pitman", "zayatz", "snb"] = "dankar"
    """Dankar's rule, which takes one of the others by the fraction, or one of them."""
    people: int | None = None
    """How many people the population has, instead of the fraction."""
    region: Region | None = None
    """Where the population lives, instead of both."""

    by_class: ClassVar[bool] = False
    averages: ClassVar[bool] = True
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.share < 1:
            raise RecipeError(f"share is a share of the population, from 0 to below 1, not {self.share:g}")
        given = [each for each in (self.fraction, self.people, self.region) if each is not None]
        if len(given) != 1:
            raise RecipeError(
                "population-uniqueness needs one of fraction, people or region, by which the size of the "
                "population is known, as population-uniqueness(share=0.01,fraction=0.1)"
            )
        if self.fraction is not None:
            check_fraction(self.fraction)
        if self.people is not None and self.people < 1:
            raise RecipeError(f"a population has 1 person or more, not {self.people}")

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """If too many people are unique, the classes of one row stand in the way."""
        return (self.achieved(counts) <= self.share) | self.suffices(counts)

    def suffices(self, counts: Counts) -> NDArray[np.bool_]:
        """If all classes had two rows, nobody would be estimated to be unique."""
        return counts.size > 1

    def achieved(self, counts: Counts) -> float:
        """The estimated share of the population that is unique."""
        # The usual case of a release, in which nothing has to be fitted.
        if not counts.classes or (counts.size > 1).all():
            return 0.0
        return estimate_unique_share(
            counts.size[counts.shown], self._compute_fraction(counts), self.estimator
        )

    def least_size(self) -> int:
        """Two rows, see `suffices`."""
        return 2

    def within_reach(self, whole: Counts) -> str | None:
        """The row of a table of one stands alone; and a population has as many people as the table."""
        people = self._count_population()
        if people is not None and people < whole.members:
            return f"the population has {people} people, and the table {whole.describe_number(whole.members)}"
        return too_small(f"share = {self.share:g}", self.least_size(), whole)

    def _count_population(self) -> int | None:
        return self.people if self.region is None else count_people(self.region)

    def _compute_fraction(self, counts: Counts) -> float:
        people = self._count_population()
        if people is None:
            assert self.fraction is not None
            return self.fraction
        # A table from outside may have more rows than there are people: then everybody is in it.
        return min(counts.members / people, 1.0)
