"""Simulated attacks on a release, with confidence intervals and a control group."""

from shoal.assessment.attacks.combinations import Combinations
from shoal.assessment.attacks.outcome import Outcome
from shoal.assessment.attacks.simulation import Attacks, attack, attack_held_out
from shoal.support.rates import Estimate, Rate

__all__ = ["Attacks", "Combinations", "Estimate", "Outcome", "Rate", "attack", "attack_held_out"]
