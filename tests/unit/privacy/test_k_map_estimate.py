"""k-map without a population table: the threshold by Poisson's distribution, and what it promises."""

from itertools import count
from math import exp, factorial

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import Counts, KMapEstimate, parse_model
from shoal.privacy.k_map_estimate import compute_poisson_tail


def tail(mean: float, size: int) -> float:
    return 1 - sum(exp(-mean) * mean**i / factorial(i) for i in range(size))


@pytest.mark.parametrize("estimator", ["poisson", "zero-truncated-poisson"])
@pytest.mark.parametrize("significance", [0.01, 0.1])
def test_the_threshold_is_that_of_the_definition(estimator, significance):
    for k in (2, 5, 20, 60):
        for fraction in (0.01, 0.1, 0.4, 1.0):
            mean = k * fraction
            seen = 1.0 if estimator == "poisson" else 1 - exp(-mean)
            least = next(size for size in count(1) if tail(mean, size) / seen <= significance)
            model = KMapEstimate(k, fraction, estimator, significance)
            assert model.least_size() == min(k, least)
            sizes = Counts(np.array([model.least_size(), 1000]), {})
            assert model.holds(sizes).all()
            assert model.achieved(sizes) >= k
            if model.least_size() > 1:
                smaller = Counts(np.array([1000, model.least_size() - 1]), {})
                assert model.holds(smaller).tolist() == [True, False]
                assert model.achieved(smaller) < k


def test_thresholds_that_arx_derives():
    # Zero-truncated, significance .01, as its source computes them; with "poisson" it asks for one more.
    derived = {(5, 0.01): 3, (5, 0.1): 4, (20, 0.1): 7, (50, 0.1): 12, (100, 0.3): 44, (20, 0.9): 20}
    assert {(k, fraction): KMapEstimate(k, fraction).least_size() for k, fraction in derived} == derived


@pytest.mark.parametrize("mean", [1e-300, 1e-9, 0.3, 5.0, 80.0, 5000.0])
def test_the_tail_keeps_its_digits(mean):
    assert compute_poisson_tail(mean, 0) == 1
    # The chance of one or more, and the step from one size to the next.
    assert compute_poisson_tail(mean, 1) == pytest.approx(-np.expm1(-mean), rel=1e-9)
    if mean >= 0.3:
        sizes = [int(mean * share) + 1 for share in (0.5, 1, 1.5)]
        for size in sizes:
            log_chance = size * np.log(mean) - mean - sum(np.log(np.arange(1, size + 1)))
            step = compute_poisson_tail(mean, size) - compute_poisson_tail(mean, size + 1)
            assert step == pytest.approx(np.exp(log_chance), rel=1e-6, abs=1e-15)


def test_few_people_are_seldom_taken_for_k():
    """Of classes that just k people fit and that are seen, at most the share is taken for safe."""
    rng = np.random.default_rng(1)
    fraction, k = 0.1, 20
    seen = rng.poisson(k * fraction, 200_000)
    seen = seen[seen > 0]
    wrong = np.mean(seen >= KMapEstimate(k, fraction).least_size())
    assert wrong <= 0.01
    assert np.mean(seen >= KMapEstimate(k, fraction).least_size() - 1) > 0.01


def test_a_release_is_made_and_verified():
    people = shoal.sample("hospital", rows=800).select("age", "sex", "postcode")
    goal = ["k-map-estimate(k=20,fraction=0.1)"]
    made = shoal.anonymize(people, quasi=people.columns, models=goal)
    assert made.report.smallest_class >= 7
    (verdict,) = made.report.models
    assert verdict.holds
    assert verdict.achieved >= 20
    assert shoal.verify(made.frame, quasi=people.columns, models=goal).holds
    assert not shoal.verify(people, quasi=people.columns, models=goal).holds
    # It is less than k-anonymity asks for, and so loses less.
    assert made.report.ncp < shoal.anonymize(people, quasi=people.columns, k=20).report.ncp


def test_what_is_refused():
    for given, why in (
        ("k=1,fraction=0.1", "at least 2"),
        ("k=5,fraction=0", "above 0"),
        ("k=5", "needs 'fraction'"),
        ("k=5,fraction=0.1,significance=0", "chance"),
        ("k=5,fraction=0.1,estimator=x", "estimator"),
    ):
        with pytest.raises(RecipeError, match=why):
            parse_model(f"k-map-estimate({given})")
    with pytest.raises(GoalNotMet, match="needs 3 rows"):
        shoal.anonymize(
            pl.DataFrame({"x": [1, 2]}), quasi=["x"], models=["k-map-estimate(k=5,fraction=0.01)"]
        )
