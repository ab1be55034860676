"""Success rates with confidence intervals, and what is left of them after a control group."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95


def find_quantile(family: int = 1) -> float:
    """How many standard errors an interval has on each side, so that a family of them holds together.

    Bonferroni's correction: with ``family`` intervals, each leaves out so much less.
    """
    return NormalDist().inv_cdf(1.0 - (1.0 - CONFIDENCE) / (2.0 * family))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """As plain values, for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some attacks succeeded."""

    successes: int
    attacks: int
    worth: float | None = None
    """How many independent attacks they are worth; all of them where None."""

    @classmethod
    def by_person(cls, success: NDArray[np.bool_], person: NDArray[np.integer]) -> Rate:
        """A rate where some people were attacked several times, which says less than as many people would.

        The variance is that of a bootstrap that draws people with all attacks on them, in closed form.
        """
        if not success.size:
            return cls(0, 0)
        attacks = np.bincount(person)
        right = np.bincount(person, success)
        share = right.sum() / success.size
        variance = float(((right - share * attacks) ** 2).sum()) / success.size**2
        return cls(int(success.sum()), success.size).with_variance(variance, int((attacks > 0).sum()))

    def with_variance(self, variance: float, people: int) -> Rate:
        """The same with the variance that was found for its share, from ``people`` people."""
        # No success, and nothing but success, have no variance: then every person counts once.
        plain = self.share * (1.0 - self.share)
        worth = plain / variance if plain > 0 and variance > 0 else float(people)
        return Rate(self.successes, self.attacks, min(worth, float(self.attacks)))

    @property
    def share(self) -> float:
        """The share that succeeded, as counted."""
        return self.successes / self.attacks if self.attacks else 0.0

    def estimate(self, family: int = 1) -> Estimate:
        """The share as counted, within Wilson's interval.

        References
        ----------
        E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
        """
        z, n = find_quantile(family), float(self.attacks) if self.worth is None else self.worth
        # Without any attack this is 1/2 around a centre of 1/2: nothing is known.
        centre = (self.share * n + z * z / 2) / (n + z * z)
        error = z / (n + z * z) * sqrt(self.share * (1.0 - self.share) * n + z * z / 4)
        # The share can leave the interval by rounding only; the interval then follows it.
        return Estimate(
            self.share, max(min(centre - error, self.share), 0.0), min(max(centre + error, self.share), 1.0)
        )

    def estimate_excess_risk(self, control: Rate, family: int = 1) -> Estimate:
        """What of the success is not seen in a control group, as a share of what could have been.

        Below 0 where the control group had more success.

        References
        ----------
        M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi, "A unified framework for quantifying privacy risk in
        synthetic data", PoPETs 2023(2): R = (r - r_control) / (1 - r_control).
        """
        advantage, others = self.estimate_advantage(control, family), control.estimate(family)
        # Where all of the control group succeed, the middle of their interval leaves something to gain.
        rest = max(1.0 - others.value, 1.0 - (others.low + others.high) / 2)
        # Nobody gains more than all that there is to gain, however wide the interval.
        return Estimate(advantage.value / rest, advantage.low / rest, min(advantage.high / rest, 1.0))

    def estimate_advantage(self, control: Rate, family: int = 1) -> Estimate:
        """How much greater it is than in a control group.

        References
        ----------
        S. Yeom, I. Giacomelli, M. Fredrikson, S. Jha, "Privacy risk in machine learning: analyzing the
        connection to overfitting", CSF 2018: the advantage of an attacker on membership. R. G. Newcombe,
        "Interval estimation for the difference between independent proportions", Statistics in Medicine 17,
        1998, method 10: its interval.
        """
        own, others = self.estimate(family), control.estimate(family)
        value = own.value - others.value
        below = sqrt((own.value - own.low) ** 2 + (others.high - others.value) ** 2)
        above = sqrt((own.high - own.value) ** 2 + (others.value - others.low) ** 2)
        return Estimate(value, value - below, value + above)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"successes": self.successes, "attacks": self.attacks, **self.estimate().to_dict()}
