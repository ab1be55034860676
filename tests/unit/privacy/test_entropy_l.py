"""Entropy l-diversity at its very limit, where logarithms are too coarse to decide."""

from fractions import Fraction
from math import exp, log, prod

import numba
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet
from shoal.kernels.rules import assemble_rules, is_satisfied
from shoal.privacy import Counts, EntropyL, SensitiveCounts
from shoal.privacy.entropy_l import compare_entropy

BORDERLINE = [
    ([100_000, 100_001], 2, -1),
    ([10**8, 10**8 + 1], 2, -1),
    ([10**8, 10**8], 2, 0),
    (
        [4, 1, 1, 1, 1],
        4,
        0,
    ),  # 1/2 log 2 + 4/8 log 8 = log 4
    ([4000, 1000, 1000, 1000, 1000], 4, 0),
    ([400_001, 100_000, 100_000, 100_000, 100_000], 4, -1),
    ([399_999, 100_000, 100_000, 100_000, 100_000], 4, 1),
    ([7, 7, 7], 3, 0),
    ([10**6, 10**6, 1], 2, 1),
]


def one_class(counts):
    counts = np.array(counts)
    values = SensitiveCounts(np.zeros_like(counts), np.arange(counts.size), counts)
    return Counts(np.array([counts.sum()]), {"s": values})


def decide_by_rule(counts, l, estimator="shannon"):  # noqa: E741
    nothing = np.zeros(1, np.int64), np.arange(len(counts), dtype=np.int32), np.array(counts)
    rule = EntropyL(l, "s", estimator).rule(one_class(counts))
    rules = assemble_rules(1, [rule], {"s": (0, len(counts))}, nothing)
    return _decide(rules, np.array([counts], np.int64))


@numba.njit  # not cached: the cache does not notice when the rules change
def _decide(rules, histogram):
    return is_satisfied(rules, histogram, 0)


@pytest.mark.parametrize(("counts", "l", "sign"), BORDERLINE)
def test_the_limit_is_exact(counts, l, sign):  # noqa: E741
    assert compare_entropy(counts, l) == sign
    assert EntropyL(l, "s").holds(one_class(counts)).tolist() == [sign >= 0]
    assert decide_by_rule(counts, l) == (sign >= 0)
    reached = EntropyL(l, "s").achieved(one_class(counts))
    assert (reached > l) - (reached < l) == sign


def test_whole_numbers_agree():
    """n^n against l^n times all c^c, written out."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        counts = rng.integers(1, 6, rng.integers(1, 7)).tolist()
        for l in (2, 3, 4):  # noqa: E741
            ratio = Fraction(sum(counts) ** sum(counts), l ** sum(counts) * prod(c**c for c in counts))
            assert compare_entropy(counts, l) == (ratio > 1) - (ratio < 1)
            assert decide_by_rule(counts, l) == (ratio >= 1) == EntropyL(l, "s").holds(one_class(counts))[0]


def test_nothing_is_released_that_falls_short_by_one_row():
    people = pl.DataFrame({"age": [30] * 200_001, "ill": ["a"] * 100_000 + ["b"] * 100_001})
    with pytest.raises(GoalNotMet, match="l = 2, but the entropy of the whole column"):
        shoal.anonymize(people, quasi=["age"], sensitive=["ill"], models=["entropy-l(l=2)"])


# By Grassberger's estimator.


def estimate(counts):
    """His formula as it is written: G(2n) = G(2n + 1) = -gamma - log 2 + 2/1 + 2/3 + ... + 2/(2n - 1)."""

    def g(count):
        # The constant cancels out of the estimate; the rest is a fraction.
        return sum((Fraction(2, 2 * k - 1) for k in range(1, count // 2 + 1)), Fraction(0))

    total = sum(counts)
    return g(total) - Fraction(sum(count * g(count) for count in counts), total)


@pytest.mark.parametrize(
    ("counts", "effective"),
    [
        ([1, 1], 2.0),  # G(2) - G(1) = 2, but there are no more than two values
        ([2, 2], exp(2 / 3)),  # G(4) - G(2) = 2 / 3, so less than log 2
        ([3, 3], 2.0),  # G(6) - G(3) = 2 / 3 + 2 / 5
        ([5], 1.0),
    ],
)
def test_grassberger_by_hand(counts, effective):
    reached = EntropyL(1.5, "s", "grassberger").achieved(one_class(counts))
    assert reached == pytest.approx(effective, rel=1e-14)


def test_grassbergers_formula_written_out():
    rng = np.random.default_rng(1)
    found = []
    for size in (4, 30, 400) * 40:
        counts = rng.integers(1, size, rng.integers(1, 6)).tolist()
        for l in (1.5, 2, 2.5, 3):  # noqa: E741
            expected = len(counts) >= l and estimate(counts) >= log(l)
            model = EntropyL(l, "s", "grassberger")
            assert model.holds(one_class(counts)).tolist() == [expected], counts
            assert decide_by_rule(counts, l, "grassberger") == expected, counts
            found.append(expected)
    assert 0.2 < np.mean(found) < 0.8


def test_the_correction_is_lost_when_classes_are_merged():
    model, uncorrected = EntropyL(2, "s", "grassberger"), EntropyL(2, "s")
    assert model.holds(one_class([1, 1])).all()
    assert not model.holds(one_class([2, 2])).any()
    assert not model.monotone
    assert uncorrected.monotone


def test_a_goal_by_the_estimator_is_searched_and_verified():
    people = pl.DataFrame({"age": [30, 30, 30, 40, 40, 40, 50, 50, 50], "ill": list("abcabbaca")})
    goal = ["k(k=3)", "entropy-l(l=1.92,estimator=grassberger)"]
    release = shoal.anonymize(people, quasi=["age"], sensitive=["ill"], models=goal)
    # Two rows to one are 1.89 values by Shannon's entropy.
    assert release.report.classes == 3
    assert release.report.models[1].achieved == pytest.approx(exp(2 / 3))
    columns = {"quasi": ["age"], "sensitive": ["ill"]}
    assert shoal.verify(release.frame, **columns, models=goal).holds
    assert not shoal.verify(release.frame, **columns, models=["entropy-l(l=1.92)"]).holds


def test_a_goal_beyond_the_whole_column_is_refused():
    people = pl.DataFrame({"age": [30] * 4, "ill": list("aabb")})
    with pytest.raises(GoalNotMet, match=r"estimated as that of 1\.948"):
        shoal.anonymize(
            people, quasi=["age"], sensitive=["ill"], models=["entropy-l(l=2,estimator=grassberger)"]
        )
