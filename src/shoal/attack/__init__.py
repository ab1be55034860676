"""Simulated attacks on a release, with confidence intervals and a control group."""

from shoal.attack.outcome import Outcome
from shoal.attack.rates import Estimate, Rate
from shoal.attack.simulation import Attacks, attack, attack_held_out

__all__ = ["Attacks", "Estimate", "Outcome", "Rate", "attack", "attack_held_out"]
