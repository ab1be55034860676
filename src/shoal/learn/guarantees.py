"""What rows that took part in nothing show: a bound on agreement, and how many rows it needs."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shoal.errors import RecipeError

_SHARE = 3  # one row in so many is a guard, where that is enough
_MOST_SHARE = 2  # and where it is not, one in so many at most
_LEAST = 50  # rows below which a bootstrap says too little
_DRAWS = 2000  # samples of a bootstrap
_CHANCE = 0.9  # how likely a candidate should pass the test, by what is known before
_MOST_ROWS = 1 << 40  # more rows than anybody has


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Whether a target is claimed for rows that nobody has seen, and what that rests on."""

    claimed: bool
    target: float
    confidence: float | None
    rows: int
    """Rows of the guard set, which took part in nothing."""
    score: float | None = None
    """Score on them of the generalisation that was tested, once."""
    bound: float | None = None
    """With this confidence the score on unseen rows is at least that."""
    needed_rows: int | None = None
    """How many rows `fit` would need, where more of them could show the target."""
    reason: str = ""
    """Why nothing is claimed."""

    def __bool__(self) -> bool:
        return self.claimed

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def text(self) -> str:
        """In one line."""
        if not self.claimed:
            more = f"; about {self.needed_rows:,} rows would be needed" if self.needed_rows else ""
            return f"the target {self.target:g} is not claimed: {self.reason}{more}"
        assert self.confidence is not None
        return (
            f"the target {self.target:g} is kept on unseen rows with a confidence of {self.confidence:.0%} "
            f"(at least {self.bound:.3f}, by {self.rows:,} rows that took part in nothing)"
        )


@dataclass(frozen=True, slots=True)
class GuardPlan:
    """How a target will be tested: on how many rows, and what has to be shown before that is tried."""

    rows: int
    """Rows of the guard set; 0 if the table has too few."""
    aim: float
    """Score on other rows from which the test is likely to be passed."""
    needed_rows: int | None = None
    """With too few rows: how many there should be, if any number suffices."""

    def refuse_claim(self, target: float, confidence: float) -> Guarantee:
        """Nothing is claimed, since the table has too few rows."""
        reason = f"the rows are too few to show it with a confidence of {confidence:.0%}"
        if self.needed_rows is None:
            reason = "no number of rows can show that predictions always agree"
        return Guarantee(False, target, confidence, 0, needed_rows=self.needed_rows, reason=reason)


def plan_guard(rows: int, target: float, confidence: float | None, numeric: bool) -> GuardPlan:
    """The guard set of a table of so many rows."""
    if confidence is None:
        return GuardPlan(max(1, rows // (_SHARE + 1)), target)
    if numeric:
        enough = rows // _SHARE >= _LEAST
        return GuardPlan(rows // _SHARE if enough else 0, (1 + target) / 2, _SHARE * _LEAST)
    size = rows // _SHARE
    if not shows_target(0, size, target, confidence):
        size = find_least_rows(0, target, confidence)
        if size * _MOST_SHARE > rows:
            return GuardPlan(0, 1.0, size * _MOST_SHARE if size < _MOST_ROWS else None)
    misses = bisect_left(range(size), True, key=lambda m: not shows_target(m, size, target, confidence)) - 1
    # So many rows less still allow the same number of misses, and are of use elsewhere.
    size = find_least_rows(misses, target, confidence)
    # The rate of misses at which as few as these are found with that chance.
    return GuardPlan(size, 1 - float(special.betaincinv(misses + 1, size - misses, 1 - _CHANCE)))


def shows_target(misses: int, rows: int, target: float, confidence: float) -> bool:
    """Whether the one-sided Clopper-Pearson bound of agreement reaches a target."""
    # Equivalent to the bound, and monotone: at most so many misses are unlikely at the target itself.
    return misses < rows and bool(special.betainc(rows - misses, misses + 1, target) <= 1 - confidence)


def find_least_rows(misses: int, target: float, confidence: float) -> int:
    """The fewest rows that show a target with so many misses; `_MOST_ROWS` if none do."""
    every = range(misses + 1, _MOST_ROWS)
    return every.start + bisect_left(
        every, True, key=lambda rows: shows_target(misses, rows, target, confidence)
    )


def judge_candidate(
    before: NDArray[Any], after: NDArray[Any], numeric: bool, target: float, confidence: float, seed: int
) -> Guarantee:
    """Test once whether predictions on generalised guard rows agree well enough with those before."""
    score, rows = measure_agreement(before, after, numeric), before.size
    if numeric:
        bound = bound_by_bootstrap(before, after, confidence, seed)
        claimed = bound >= target
        # The distance of the bound shrinks with the root of the number of rows.
        needed = int(np.ceil(rows * ((score - bound) / (score - target)) ** 2)) if score > target else None
    else:
        misses = int(np.count_nonzero(before != after))
        bound = bound_agreement(misses, rows, confidence)
        claimed = shows_target(misses, rows, target, confidence)
        needed = _find_rows_at_rate(misses / rows, target, confidence)
    if claimed:
        return Guarantee(True, target, confidence, rows, score, bound)
    reason = f"on {rows:,} guard rows the score was {score:.3f}, which shows {bound:.3f} at least"
    return Guarantee(False, target, confidence, rows, score, bound, needed and needed * _SHARE, reason)


def bound_agreement(misses: int, rows: int, confidence: float) -> float:
    """One-sided Clopper-Pearson bound: the least agreement at which so few misses are not surprising."""
    if misses >= rows:
        return 0.0
    return float(special.betaincinv(rows - misses, misses + 1, 1 - confidence))


def bound_by_bootstrap(before: NDArray[Any], after: NDArray[Any], confidence: float, seed: int) -> float:
    """One-sided bound of R² from samples of the rows, drawn with replacement."""
    rng = np.random.default_rng(seed)
    found = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        rows = rng.integers(before.size, size=before.size)
        found[draw] = measure_agreement(before[rows], after[rows], True)
    return float(np.sort(found, kind="stable")[int((1 - confidence) * _DRAWS)])


def measure_agreement(before: NDArray[Any], after: NDArray[Any], numeric: bool) -> float:
    """Accuracy or R², with what was predicted before as the truth."""
    if not numeric:
        return float(np.mean(before == after))
    before, after = before.astype(np.float64), after.astype(np.float64)
    spread = float(((before - before.mean()) ** 2).sum())
    missed = float(((before - after) ** 2).sum())
    # R² is not defined for constant predictions: then they agree or they do not.
    return 1 - missed / spread if spread else float(missed == 0)


def check_confidence(confidence: float | None) -> None:
    """Refuse a confidence that is no probability below 1."""
    if confidence is not None and not 0 < confidence < 1:
        raise RecipeError(f"confidence must be between 0 and 1, or None to claim nothing, not {confidence}")


def _find_rows_at_rate(rate: float, target: float, confidence: float) -> int | None:
    """The fewest rows that would show a target if misses went on at this rate."""
    if rate >= 1 - target:
        return None
    sizes = range(1, _MOST_ROWS)
    at = bisect_left(
        sizes, True, key=lambda rows: shows_target(int(np.ceil(rate * rows)), rows, target, confidence)
    )
    return sizes[at] if at < len(sizes) else None
