"""What rows that took part in nothing show: a bound on agreement, and how many rows it needs."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.metrics import get_scorer, get_scorer_names

from shoal.errors import RecipeError, unknown

Metric: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], float]
"""A score of predictions after, with those before as the truth; 1 if they agree."""

_SHARE = 3  # one row in so many is a guard, where that is enough
_MOST_SHARE = 2  # and where it is not, one in so many at most
_LEAST = 50  # rows below which a bootstrap says too little
_DRAWS = 2000  # samples of a bootstrap
_CHANCE = 0.9  # how likely a candidate should pass the test, by what is known before
_ROUNDING = 1e-9  # by which a score of 1 may be off
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
    before: NDArray[Any],
    after: NDArray[Any],
    numeric: bool,
    target: float,
    confidence: float,
    seed: int,
    metric: Metric | None = None,
) -> Guarantee:
    """Test once whether predictions on generalised guard rows agree well enough with those before."""
    score, rows = measure_agreement(before, after, numeric, metric), len(before)
    if numeric or metric is not None:
        bound = bound_by_bootstrap(before, after, confidence, seed, numeric, metric)
        claimed = bound >= target
        # The distance of the bound shrinks with the root of the number of rows.
        needed = int(np.ceil(rows * ((score - bound) / (score - target)) ** 2)) if score > target else None
    else:
        misses = int(np.count_nonzero(~_agree(before, after)))
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


def bound_by_bootstrap(
    before: NDArray[Any],
    after: NDArray[Any],
    confidence: float,
    seed: int,
    numeric: bool = True,
    metric: Metric | None = None,
) -> float:
    """One-sided bound of R² or another score from samples of the rows, drawn with replacement."""
    rng = np.random.default_rng(seed)
    found = np.empty(_DRAWS if metric is None else _DRAWS // 4)
    for draw in range(found.size):
        rows = rng.integers(len(before), size=len(before))
        found[draw] = measure_agreement(before[rows], after[rows], numeric, metric)
    return float(np.sort(found, kind="stable")[int((1 - confidence) * found.size)])


def measure_agreement(
    before: NDArray[Any], after: NDArray[Any], numeric: bool, metric: Metric | None = None
) -> float:
    """Accuracy or R², or what a metric says, with what was predicted before as the truth.

    Of several outputs accuracy counts rows in which all agree, and R² is their mean.
    """
    if metric is not None:
        return _ask_metric(metric, before, after)
    if not numeric:
        return float(np.mean(_agree(before, after)))
    before, after = (np.asarray(each, np.float64).reshape(len(each), -1) for each in (before, after))
    spread = ((before - before.mean(axis=0)) ** 2).sum(axis=0)
    missed = ((before - after) ** 2).sum(axis=0)
    # R² is not defined for constant predictions: then they agree or they do not.
    return float(np.mean([1 - m / s if s else float(m == 0) for m, s in zip(missed, spread, strict=True)]))


def _agree(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """[rows] whether predictions agree, of several outputs all of them."""
    same = np.asarray(before == after)
    return np.asarray(same if same.ndim == 1 else same.all(axis=1), np.bool_)


def _ask_metric(metric: Metric, before: NDArray[Any], after: NDArray[Any]) -> float:
    with warnings.catch_warnings():  # of classes that are not in a sample
        warnings.simplefilter("ignore")
        found = float(metric(before, after))
    # What is not defined shows nothing.
    return found if np.isfinite(found) else -np.inf


def read_metric(scoring: Any) -> Metric | None:
    """A function of predictions before and after, given as one or by the name of a score; None for none."""
    if scoring is None or scoring in ("accuracy", "r2"):
        return None
    if callable(scoring):
        return cast("Metric", scoring)
    if not isinstance(scoring, str) or scoring not in get_scorer_names():
        raise RecipeError(unknown("score", str(scoring), get_scorer_names()))
    scorer = get_scorer(scoring)
    if getattr(scorer, "_response_method", "predict") != "predict":
        raise RecipeError(f"the score {scoring} needs probabilities, and here predictions are compared")
    return lambda before, after: scorer._sign * scorer._score_func(before, after, **scorer._kwargs)


def check_metric(metric: Metric | None, before: NDArray[Any]) -> None:
    """Refuse a metric that is not 1 where predictions agree: then a target would mean something else."""
    if metric is None:
        return
    try:
        found = _ask_metric(metric, before, before)
    except Exception as error:
        raise RecipeError(f"scoring failed on the predictions: {type(error).__name__}: {error}") from error
    if abs(found - 1) > _ROUNDING:
        raise RecipeError(
            f"scoring must be 1 where predictions agree, and is {found:g}: take one such as f1_macro, "
            "balanced_accuracy or explained_variance"
        )


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
