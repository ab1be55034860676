"""Profitability: the game by hand, and releases in which no attack pays."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import Counts, Profitability, parse_model


def test_an_attack_pays_up_to_a_class_size():
    # 300 / n > 4 up to 74 rows; with 75 rows an attack gains as much as it costs.
    assert Profitability(attack="none").least_size() == 75
    assert Profitability(gain=300, cost=100, attack="none").least_size() == 3
    assert Profitability(gain=299, cost=100, attack="none").least_size() == 3
    assert Profitability(gain=100, cost=100, attack="none").least_size() == 1
    assert Profitability(gain=0, cost=0, attack="none").least_size() == 1


def test_attacks_that_cost_less_than_a_row_brings():
    # 300 / n <= 1200 for every n; 6000 / n <= 1200 from 5 rows on.
    assert Profitability().least_size() == 1
    assert Profitability(loss=6000).least_size() == 5
    # Nothing is lost where no attack pays: from 75 rows on, although 10^6 / 75 is more than 1200.
    assert Profitability(loss=1_000_000).least_size() == 75
    assert Profitability(benefit=0).least_size() == 75


def test_what_is_reached():
    found = Profitability(gain=300, cost=100, loss=600).achieved(Counts(np.array([1, 2, 3, 4]), {}))
    # Attacks pay on the first three rows, and hit by 1 and 1/2.
    assert found["attacked"] == pytest.approx(3 / 10)
    assert found["lost"] == pytest.approx((600 * 1 + 2 * 600 / 2) / 10)
    assert Profitability().achieved(Counts(np.array([], int), {})) == {"attacked": 0.0, "lost": 0.0}


def test_who_does_not_know_who_is_there_is_right_less_often():
    known, unknown = Profitability(attack="none"), Profitability(attack="none", fraction=0.1)
    assert 1 < unknown.least_size() < known.least_size()
    assert Profitability(attack="none", fraction=1.0).least_size() == known.least_size()
    # By simulation: of a class with n rows in the release, how many people there are.
    rng = np.random.default_rng(0)
    size = unknown.least_size()
    people = size + rng.negative_binomial(size, 0.1, 200_000)
    assert 300 * np.mean(1 / people) == pytest.approx(
        unknown._estimate_chance(np.array([size]))[0] * 300, rel=0.01
    )
    assert unknown.accepts(size) and not unknown.accepts(size - 1)


def test_a_release_is_made_verified_and_compared():
    people = shoal.sample("hospital", rows=600).select("age", "sex", "postcode")
    goal = "profitability(gain=300,cost=30,attack=none)"
    made = shoal.anonymize(people, quasi=people.columns, models=[goal])
    assert made.report.smallest_class >= 10
    assert shoal.verify(made.frame, quasi=people.columns, models=[goal]).holds
    (verdict,) = shoal.verify(people, quasi=people.columns, models=[goal]).models
    assert not verdict.holds and verdict.achieved["attacked"] > 0.5
    found = shoal.compare(
        people, quasi=people.columns, algorithms=["mondrian"], k=[2, 5, 20], models=["profitability(cost=30)"]
    )
    rows = found.results.rows(named=True)
    for row in rows:
        made = shoal.anonymize(people, quasi=people.columns, k=row["k"], algorithm="mondrian")
        sizes = made.frame.group_by(people.columns).len()["len"].to_numpy()
        attacks = 300 * np.count_nonzero(300 / sizes > 30) / 600
        assert row["payout"] == pytest.approx(1200 * (1 - made.report.ncp) - attacks)
    plain = shoal.compare(people, quasi=people.columns, algorithms=["mondrian"], k=[5])
    assert plain.results["payout"].to_list() == [None]


def test_what_is_refused():
    for given, why in (
        ("gain=-1", "amount of money"),
        ("cost=nan", "amount of money"),
        ("attack=none,cost=0", "always pays"),
        ("benefit=0,cost=0", "no row may be released"),
        ("fraction=0", "above 0"),
        ("attack=some", "attack"),
    ):
        with pytest.raises(RecipeError, match=why):
            parse_model(f"profitability({given})")
    with pytest.raises(GoalNotMet, match="needs 75 rows"):
        shoal.anonymize(pl.DataFrame({"x": [1, 2]}), quasi=["x"], models=["profitability(attack=none)"])
