"""Entropy l-diversity at its very limit, where logarithms are too coarse to decide."""

from fractions import Fraction
from math import prod

import numba
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet
from shoal.kernels.kinds import ENTROPY, Rule
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


def decide_by_rule(counts, l):  # noqa: E741
    nothing = np.zeros(1, np.int64), np.arange(len(counts), dtype=np.int32), np.array(counts)
    rules = assemble_rules(1, [Rule(ENTROPY, "s", l)], {"s": (0, len(counts))}, nothing)
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
