"""What came of an attack, in figures and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from shoal.support.rates import Estimate, Rate

Grade = Literal["unknown", "none", "small", "clear", "serious"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one kind of attack."""

    name: str
    about: str
    """What the attacker does, in a sentence."""
    rate: Rate
    """On people of the original."""
    control: Rate | None
    """On people who are not in the release; None without a control group."""
    baseline: Rate | None
    """Of somebody who guesses without using the release; None where there is nothing to guess."""
    column: str | None = None
    """The sensitive column that it is about."""
    notes: tuple[str, ...] = ()
    family: int = 1
    """How many risks are judged together, so that all of their intervals hold at once."""
    claim: bool = False
    """Whether success is to say something of everybody that is true of people in the release only. Then what
    counts is how much oftener it is said of them, not what share of the others is left."""

    @property
    def risk(self) -> Estimate | None:
        """What of the success is due to being in the release; None without a control group."""
        if self.control is None:
            return None
        # A claim is judged by the attacker's advantage, a guess by what could have been gained.
        return (
            self.rate.estimate_advantage(self.control, self.family)
            if self.claim
            else self.rate.estimate_excess_risk(self.control, self.family)
        )

    @property
    def grade(self) -> Grade:
        """How much being in the release adds."""
        risk = self.risk
        if risk is None or not self.rate.attacks:
            return "unknown"
        # Only an interval above 0 shows leakage; otherwise it may be chance.
        if risk.low <= 0.0:
            return "none"
        # 0.1 and 0.33 are about the risks of a row in a class of 10 and of 3.
        return "small" if risk.value < 0.1 else "serious" if risk.value >= 0.33 else "clear"

    @property
    def verdict(self) -> str:
        """What it means, in plain words."""
        if not self.rate.attacks:
            return "could not be tried"
        share = _format_share(self.rate.share)
        if self.control is None or self.risk is None:
            return (
                f"succeeds {share}; without a control group nobody can say how much of that is "
                f"leakage{self._describe_baseline()}"
            )
        return (
            f"succeeds {share}, on people who are not in the release {_format_share(self.control.share)}: "
            f"{_describe_grade(self.grade)}{self._describe_baseline()}"
        )

    def _describe_baseline(self) -> str:
        # Within the interval of the baseline the difference may be chance.
        if self.baseline is None or self.rate.share > self.baseline.estimate().high:
            return ""
        return "; no better than guessing without the release"

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        # asdict knows neither properties nor intervals, so that rates and risk are written apart.
        plain = asdict(self)
        # How the risk is computed is no result.
        del plain["claim"], plain["family"]
        for name in ("rate", "control", "baseline", "risk"):
            found = getattr(self, name)
            plain[name] = None if found is None else found.to_dict()
        return plain | {"notes": list(self.notes), "verdict": self.verdict}


def _format_share(share: float) -> str:
    return "never" if share == 0 else "always" if share == 1 else f"in {100 * share:.1f} % of the cases"


def _describe_grade(grade: Grade) -> str:
    if grade == "none":
        return "no sign that the release gives anyone away"
    return f"being in the release adds a {grade} risk"
