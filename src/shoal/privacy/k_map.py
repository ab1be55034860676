"""k-map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import MAPPED, POPULATION, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.privacy.population import Population
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class KMap(Model):
    """Every released row could be any of at least k people of a population.

    The population is a table of everybody whom somebody might look for, such as a register; a population row
    fits a class if each of its quasi-identifiers is among the values that the released one stands for.
    Protects from linking a row to one of fewer than k people, by somebody who does not know who is in the
    release. Does not protect from somebody who does know that a person is in it: then only the rows of the
    class count, and that is k-anonymity. Nor does it protect the sensitive value.

    References
    ----------
    L. Sweeney, "Computational disclosure control", PhD thesis, MIT 2001. K. El Emam, F. K. Dankar,
    "Protecting privacy using k-anonymity", JAMIA 15(5), 2008.
    """

    k: int
    """Least number of people that a row could be."""
    population: Population
    """The table of everybody: a path, or in Python also a frame."""

    by_class: ClassVar[bool] = False
    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.k < 2:
            raise RecipeError(f"k must be at least 2, not {self.k}: with k = 1 every person stands alone")
        # Users give a path or a frame; the class is frozen, so it is wrapped in this way.
        object.__setattr__(self, "population", Population(self.population))

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether k people fit each class."""
        return counts.population_fit().rows >= self.k

    def achieved(self, counts: Counts) -> int:
        """Least number of people that fit a class."""
        return int(counts.population_fit().rows.min()) if counts.classes else 0

    def rule(self, whole: Counts) -> Rule:
        """At least k people."""
        return Rule(MAPPED, POPULATION, self.k)

    def within_reach(self, whole: Counts) -> str | None:
        """A population of fewer than k people has no k of them."""
        people = whole.population_fit().population
        if people >= self.k:
            return None
        return f"k = {self.k}, but the population has {people} people; ask for k of {people} or less"
