"""delta-presence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import POPULATION, PRESENCE, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.privacy.population import Population
from shoal.support.parameters import check_fields


@dataclass(frozen=True, slots=True)
class DeltaPresence(Model):
    """Of the people who fit a class, a share between low and high is in the release.

    The population is a table of everybody, the released people among them. So anyone who looks for a person
    learns at most with probability high that the person is in the release, and at most with probability
    1 - low that the person is not. Protects from learning who is in a table, where that alone is telling, as
    in a register of patients. Does not protect the sensitive value of those who are in it, nor from somebody
    who knows of some people that they are in it or are not.

    Where cells overlap, somebody may fit several classes. People who fit the same classes are then judged
    together: no more of them can be in the release than these classes have rows, and no fewer than there are
    rows in the classes that only they fit. Somebody who fits no class is known to be absent, and so violates
    any low above 0.

    References
    ----------
    M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the presence of individuals from shared databases", SIGMOD
    2007.
    """

    low: float
    """From 0 to below high."""
    high: float
    """Up to 1."""
    population: Population
    """The table of everybody: a path, or in Python also a frame."""

    by_class: ClassVar[bool] = False
    compares_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not (0 <= self.low < self.high <= 1):
            raise RecipeError(
                f"low and high are shares with 0 <= low < high <= 1, not {self.low:g} and {self.high:g}"
            )
        # Users give a path or a frame; the class is frozen, so it is wrapped in this way.
        object.__setattr__(self, "population", Population(self.population))

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether the presence of everybody who fits a class is within the bounds."""
        people = counts.population_fit()
        # Somebody who fits no class is absent for certain: a presence of 0.
        nobody_outside = people.outside == 0 or self.low == 0
        return (people.least >= self.low) & (people.most <= self.high) & nobody_outside

    def achieved(self, counts: Counts) -> dict[str, float]:
        """Least and greatest presence of anybody; infinite where a row could be nobody."""
        people = counts.population_fit()
        least = 0.0 if people.outside or not counts.classes else float(people.least.min())
        return {"low": least, "high": float(people.most.max(initial=0.0))}

    def rule(self, whole: Counts) -> Rule:
        """A presence within the bounds."""
        return Rule(PRESENCE, POPULATION, self.high, bound=np.array([self.low]))

    def within_reach(self, whole: Counts) -> str | None:
        """Some group has at least the presence of all, and some at most."""
        people = whole.population_fit().population
        # The presence of all is a mean over groups, so both bounds must include it.
        share = whole.members / people
        if self.low <= share <= self.high:
            return None
        name, bound = ("low", self.low) if share < self.low else ("high", self.high)
        return (
            f"{name} = {bound:g}, but the table's {whole.members} {whole.unit} are {share:.4g} of the "
            f"population's {people}; take bounds around {share:.4g}, or another population"
        )
