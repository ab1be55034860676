"""Profitability: what attacks cost those who release, and whether they pay for those who attack."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.privacy.expected_share import compute_expected_share
from shoal.privacy.population_uniques import check_fraction
from shoal.privacy.risk import too_small
from shoal.support.parameters import check_fields

_MOST = 1 << 40  # no table has more rows


@dataclass(frozen=True, slots=True)
class Profitability(Model):
    """No row costs more by attacks than its release brings; or nobody who counts costs attacks at all.

    An attacker tries to find out whose a row is if that pays: if the gain, times the chance of being right,
    is more than the cost of trying. Then those who release the row lose ``loss`` times that chance. A row of
    a class is right to release if that is at most ``benefit``; with ``attack=none``, if no attack pays.

    Protects from attackers who act for profit. Does not protect from others, nor the sensitive value, nor
    where the sums are wrong.

    References
    ----------
    Z. Wan, Y. Vorobeychik, W. Xia, E. W. Clayton, M. Kantarcioglu, R. Ganta, R. Heatherly, B. A. Malin,
    "A game theoretic framework for analyzing re-identification risk", PLoS ONE 10(3), 2015: the game, and
    the defaults.
    """

    gain: float = 300.0
    """What it brings an attacker to know whose a row is."""
    cost: float = 4.0
    """What an attack on one row costs the attacker."""
    benefit: float = 1200.0
    """What it brings to release a row in full detail."""
    loss: float = 300.0
    """What those who release a row lose if somebody finds out whose it is."""
    attack: Literal["permitted", "none"] = "permitted"
    """Whether attacks that pay are permitted, if a row brings more than they cost."""
    fraction: float | None = None
    """Which share of the population is in the release, for an attacker who does not know who is in it (the
    journalist). If it is not stated, attackers know (the prosecutor)."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("gain", "cost", "benefit", "loss"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise RecipeError(f"{name} is an amount of money, 0 or more, not {value:g}")
        if self.attack == "none" and self.gain > 0 and self.cost == 0:
            raise RecipeError("if an attack costs nothing it always pays: state a cost above 0")
        if self.attack == "permitted" and self.benefit == 0 and self.cost == 0 and self.gain * self.loss > 0:
            raise RecipeError("with neither a benefit nor a cost of attacks no row may be released")
        if self.fraction is not None:
            check_fraction(self.fraction)

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether the rows of each class are right to release."""
        return counts.size >= self.least_size()

    def achieved(self, counts: Counts) -> dict[str, float]:
        """The share of the rows that attacks pay for, and what they cost on average over all rows."""
        if not counts.classes:
            return {"attacked": 0.0, "lost": 0.0}
        size, of_class = np.unique(counts.size, return_inverse=True)
        lost = self.expect_loss(size)[of_class]
        attacked = self._finds_attack_worthwhile(size)[of_class]
        rows = float(counts.size.sum())
        return {
            "attacked": float(counts.size[attacked].sum()) / rows,
            "lost": float((lost * counts.size).sum()) / rows,
        }

    def least_size(self) -> int:
        """The rows of the smallest class that is right to release."""
        return _find_least_size(self)

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer rows has no class of as many."""
        return too_small("profitability", self.least_size(), whole)

    def expect_loss(self, size: NDArray[np.integer]) -> NDArray[np.float64]:
        """What attacks on a row cost those who release it, for classes of these sizes."""
        return np.where(self._finds_attack_worthwhile(size), self.loss * self._estimate_chance(size), 0.0)

    def accepts(self, size: int) -> bool:
        """Whether the rows of a class of this size are right to release."""
        sizes = np.array([size])
        if self.attack == "none":
            return not self._finds_attack_worthwhile(sizes)[0]
        return bool(self.expect_loss(sizes)[0] <= self.benefit)

    def _finds_attack_worthwhile(self, size: NDArray[np.integer]) -> NDArray[np.bool_]:
        if self.fraction is None:
            return np.asarray(self.gain > self.cost * size)  # the quotient would be rounded
        return self.gain * self._estimate_chance(size) > self.cost

    def _estimate_chance(self, size: NDArray[np.integer]) -> NDArray[np.float64]:
        """The chance to be right about a row."""
        if self.fraction is None or self.fraction == 1:
            return np.asarray(1 / size)
        return compute_expected_share(size, 0.0, self.fraction)


@cache
def _find_least_size(model: Profitability) -> int:
    few, enough = 0, 1
    while not model.accepts(enough) and enough < _MOST:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if model.accepts(middle) else (middle, enough)
    return enough
