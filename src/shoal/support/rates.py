"""Success rates with confidence intervals, and what is left of them after a control group."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

CONFIDENCE = 0.95
_Z = 1.959963984540054  # the quantile of the normal distribution that belongs to it


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its confidence interval, all within 0 and 1."""

    value: float
    low: float
    high: float

    @classmethod
    def from_error(cls, value: float, error: float) -> Estimate:
        """A value and the error on both sides, cut to what a share can be."""
        low, middle, high = (min(max(x, 0.0), 1.0) for x in (value - error, value, value + error))
        return cls(middle, low, high)

    def to_dict(self) -> dict[str, float]:
        """As plain values, for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some attacks succeeded."""

    successes: int
    attacks: int

    @property
    def share(self) -> float:
        """The share that succeeded, as counted."""
        return self.successes / self.attacks if self.attacks else 0.0

    @property
    def centre(self) -> float:
        """Middle of Wilson's interval: the estimate that control groups are compared by."""
        z = _Z
        # Drawn towards 1/2, so that no success in few attacks is not taken for safety.
        return (self.successes + z * z / 2) / (self.attacks + z * z)

    @property
    def error(self) -> float:
        """Half the width of Wilson's interval."""
        z, n, s = _Z, self.attacks, self.successes
        # Without any attack this is 1/2 around a centre of 1/2: nothing is known.
        return z / (n + z * z) * sqrt((s * (n - s) / n if n else 0.0) + z * z / 4)

    def estimate(self) -> Estimate:
        """The share as counted, within Wilson's interval.

        References
        ----------
        E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
        """
        # The share can leave the interval by rounding only; the interval then follows it.
        around = Estimate.from_error(self.centre, self.error)
        return Estimate(self.share, min(around.low, self.share), max(around.high, self.share))

    def estimate_excess_risk(self, control: Rate) -> Estimate:
        """What of the success is not seen in a control group, as a share of what could have been.

        References
        ----------
        M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi, "A unified framework for quantifying privacy risk in
        synthetic data", PoPETs 2023(2): R = (r - r_control) / (1 - r_control), errors propagated.
        """
        # Never 0: the centre stays below 1 even if every attack succeeds.
        rest = 1.0 - control.centre
        risk = (self.centre - control.centre) / rest
        # Derivatives of R: 1 / rest by r, and (r - 1) / rest^2 by r_control.
        error = sqrt((self.error / rest) ** 2 + (control.error * (1.0 - self.centre) / rest**2) ** 2)
        return Estimate.from_error(risk, error)

    def estimate_advantage(self, control: Rate) -> Estimate:
        """How much greater it is than in a control group.

        References
        ----------
        S. Yeom, I. Giacomelli, M. Fredrikson, S. Jha, "Privacy risk in machine learning: analyzing the
        connection to overfitting", CSF 2018: the advantage of an attacker on membership.
        """
        return Estimate.from_error(self.centre - control.centre, sqrt(self.error**2 + control.error**2))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"successes": self.successes, "attacks": self.attacks, **self.estimate().to_dict()}
