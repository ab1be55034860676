"""Bounds on agreement, against figures that are known, and how often they fail."""

import numpy as np
import pytest
from scipy import stats

from shoal.learn.guarantees import (
    bound_agreement,
    bound_by_bootstrap,
    find_least_rows,
    judge_candidate,
    plan_guard,
    shows_target,
)


@pytest.mark.parametrize(("misses", "rows"), [(0, 149), (3, 60), (17, 1000), (59, 60)])
def test_the_bound_is_that_of_clopper_and_pearson(misses, rows):
    known = stats.binomtest(rows - misses, rows, alternative="greater").proportion_ci(0.95).low
    assert bound_agreement(misses, rows, 0.95) == pytest.approx(known)
    assert shows_target(misses, rows, known - 1e-6, 0.95)
    assert not shows_target(misses, rows, known + 1e-6, 0.95)
    assert bound_agreement(rows, rows, 0.95) == 0


def test_the_fewest_rows_are_those_of_the_tables():
    # The rule of three: 0.9 ** 29 and 0.98 ** 149 are the first powers below 0.05.
    assert [find_least_rows(0, target, 0.95) for target in (0.9, 0.95, 0.98)] == [29, 59, 149]
    assert find_least_rows(1, 0.9, 0.95) == 46


def test_a_plan_allows_misses_where_there_are_rows_for_them():
    assert plan_guard(57, 0.9, 0.95, False).rows == 0
    assert plan_guard(57, 0.9, 0.95, False).needed_rows == 58
    assert plan_guard(58, 0.9, 0.95, False).rows == 29
    large = plan_guard(30_000, 0.9, 0.95, False)
    assert 9_900 < large.rows <= 10_000
    assert 0.9 < large.aim < 0.92
    assert plan_guard(149, 0.9, 0.95, True).rows == 0
    assert plan_guard(150, 0.9, 0.95, True).rows == 50


def test_a_claim_fails_as_seldom_as_it_says():
    rng = np.random.default_rng(0)
    # Agreement just below the target: every claim would be wrong.
    misses = rng.binomial(400, 0.1001, 4000)
    wrong = np.mean([shows_target(int(count), 400, 0.9, 0.95) for count in misses])
    assert wrong <= 0.055


def test_more_rows_are_asked_for_where_they_would_help():
    before = np.zeros(100, int)
    after = before.copy()
    after[:7] = 1
    near = judge_candidate(before, after, False, 0.9, 0.95, 0)
    assert not near.claimed
    assert near.needed_rows > 300
    after[:30] = 1
    assert judge_candidate(before, after, False, 0.9, 0.95, 0).needed_rows is None


@pytest.mark.slow
def test_the_bootstrap_bounds_r_squared():
    rng = np.random.default_rng(1)
    missed = 0
    for seed in range(40):
        before = rng.normal(size=120)
        after = before + rng.normal(size=120) * np.sqrt(0.1)  # in truth R² is 0.9
        missed += bound_by_bootstrap(before, after, 0.95, seed) > 0.9
    assert missed <= 6
    exact = judge_candidate(before, before, True, 0.9, 0.95, 0)
    assert (exact.claimed, exact.bound) == (True, 1)
