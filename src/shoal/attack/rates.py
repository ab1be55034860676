"""Success rates with confidence intervals, and what is left of them after a control group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its confidence interval, all within 0 and 1."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, error: float) -> Estimate:
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
        z = _z()
        return (self.successes + z * z / 2) / (self.attacks + z * z)

    @property
    def error(self) -> float:
        """Half the width of Wilson's interval."""
        z, n, s = _z(), self.attacks, self.successes
        return z / (n + z * z) * sqrt((s * (n - s) / n if n else 0.0) + z * z / 4)

    def estimate(self) -> Estimate:
        """The share as counted, within Wilson's interval.

        References
        ----------
        E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
        """
        around = Estimate.around(self.centre, self.error)
        return Estimate(self.share, min(around.low, self.share), max(around.high, self.share))

    def beyond(self, control: Rate) -> Estimate:
        """What of the success is not seen in a control group, as a share of what could have been.

        References
        ----------
        M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi, "A unified framework for quantifying privacy risk in
        synthetic data", PoPETs 2023(2): R = (r - r_control) / (1 - r_control), errors propagated.
        """
        rest = 1.0 - control.centre
        risk = (self.centre - control.centre) / rest
        error = sqrt((self.error / rest) ** 2 + (control.error * (1.0 - self.centre) / rest**2) ** 2)
        return Estimate.around(risk, error)

    def above(self, control: Rate) -> Estimate:
        """How much greater it is than in a control group.

        References
        ----------
        S. Yeom, I. Giacomelli, M. Fredrikson, S. Jha, "Privacy risk in machine learning: analyzing the
        connection to overfitting", CSF 2018: the advantage of an attacker on membership.
        """
        return Estimate.around(self.centre - control.centre, sqrt(self.error**2 + control.error**2))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"successes": self.successes, "attacks": self.attacks, **self.estimate().to_dict()}


@cache
def _z() -> float:
    """The quantile of the normal distribution that belongs to the confidence."""
    from scipy.special import ndtri  # noqa: PLC0415  slow to load

    return float(ndtri(0.5 + CONFIDENCE / 2))
