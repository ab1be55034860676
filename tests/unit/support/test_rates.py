"""Rates against figures from the literature, and against a bootstrap."""

import numpy as np
import pytest

from shoal.support.rates import Estimate, Rate, find_quantile

Z = 1.959963984540054


@pytest.mark.parametrize(
    ("successes", "attacks", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (81, 263, 0.2553, 0.3662), (1000, 1000, 0.9962, 1.0)],
)
def test_wilson(successes, attacks, low, high):
    """The third is the example of Newcombe, Statistics in Medicine 17, 1998."""
    found = Rate(successes, attacks).estimate()
    assert (found.value, found.low, found.high) == (
        pytest.approx(successes / attacks),
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )


def test_beyond_a_control_group():
    """Newcombe's first example, 56/70 against 48/80: .2, from .0524 to .3339 by his method 10."""
    found = Rate(56, 70).estimate_advantage(Rate(48, 80))
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    risk = Rate(56, 70).estimate_excess_risk(Rate(48, 80))
    rest = 1 - sum(interval(48, 80)) / 2  # more than 1 - .6: drawn towards 1/2
    assert risk == Estimate(*(pytest.approx(each / rest) for each in (found.value, found.low, found.high)))
    assert Rate(60, 100).estimate_excess_risk(Rate(20, 100)).value == pytest.approx(0.4 / 0.8)


def interval(successes, attacks):
    found = Rate(successes, attacks).estimate()
    return found.low, found.high


def test_nothing_is_cut_off():
    assert Rate(30, 100).estimate_excess_risk(Rate(30, 100)).value == pytest.approx(0.0, abs=1e-12)
    worse = Rate(10, 100).estimate_excess_risk(Rate(60, 100))
    assert worse.low < worse.value < worse.high < 0
    assert Rate(100, 100).estimate_excess_risk(Rate(0, 100)).value == 1.0
    always = Rate(100, 100).estimate_excess_risk(Rate(100, 100))
    assert always.low < always.value == 0.0 < always.high


def test_a_family_of_intervals_is_wider():
    assert find_quantile() == pytest.approx(Z)
    assert find_quantile(5) == pytest.approx(2.5758, abs=1e-4)  # 1 % instead of 5 %
    one, many = (Rate(60, 100).estimate_excess_risk(Rate(20, 100), family) for family in (1, 7))
    assert many.low < one.low < one.value == many.value < one.high < many.high


def test_a_share_stays_one():
    assert Rate(0, 0).share == 0.0
    assert 0.0 <= Rate(0, 0).estimate().low <= Rate(0, 0).estimate().high <= 1.0


def test_the_variance_by_person_is_that_of_a_bootstrap():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(100), rng.integers(1, 12, 100))
    success = (rng.random(100) < 0.4)[person] ^ (rng.random(person.size) < 0.1)
    attacks, right = np.bincount(person), np.bincount(person, success)
    drawn = rng.multinomial(100, np.full(100, 0.01), 4000)
    spread = np.var(drawn @ right / (drawn @ attacks))
    found = Rate.by_person(success, person)
    share = success.mean()
    assert (found.successes, found.attacks) == (success.sum(), person.size)
    assert share * (1 - share) / found.worth == pytest.approx(spread, rel=0.1)
    assert 80 < found.worth < 0.4 * person.size


def test_attacks_that_repeat_each_other_are_worth_one():
    """A thousand attacks on a hundred people say as much as a hundred."""
    success = np.arange(100) < 30
    ten = Rate.by_person(np.repeat(success, 10), np.repeat(np.arange(100), 10))
    assert ten.estimate() == Estimate(0.3, *(pytest.approx(each) for each in interval(30, 100)))
    assert Rate.by_person(success, np.arange(100)).estimate().low == pytest.approx(ten.estimate().low)
    never = Rate.by_person(np.zeros(1000, bool), np.repeat(np.arange(100), 10))
    assert never.estimate().high == pytest.approx(interval(0, 100)[1])
    assert Rate.by_person(np.zeros(0, bool), np.zeros(0, int)) == Rate(0, 0)
