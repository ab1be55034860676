"""Population uniqueness as a goal: the estimates of `shoal risk`, judged."""

from typing import get_args

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import Counts, PopulationUniqueness
from shoal.privacy.population_uniques import estimate_population_uniques
from shoal.privacy.regions import THOUSANDS, Region

SIZES = np.repeat([1, 2, 3, 6, 12], [60, 12, 5, 3, 2])


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.3, 1.0])
def test_the_share_is_that_of_each_estimator(fraction):
    counts = Counts(SIZES, {})
    found = estimate_population_uniques(SIZES, fraction)
    assert PopulationUniqueness(0.5, fraction).achieved(counts) == found.share
    for name in ("zayatz", "pitman", "snb"):
        expected = getattr(found, name)
        reached = PopulationUniqueness(0.5, fraction, name).achieved(counts)
        assert reached == (found.zayatz if expected is None else expected) / found.population


def test_with_the_whole_population_the_uniques_are_those_of_the_table():
    assert PopulationUniqueness(0.5, 1.0, "zayatz").achieved(Counts(SIZES, {})) == pytest.approx(
        60 / SIZES.sum()
    )


def test_classes_of_one_row_stand_in_the_way():
    counts = Counts(SIZES, {})
    share = PopulationUniqueness(0, 0.1).achieved(counts)
    assert PopulationUniqueness(share, 0.1).holds(counts).all()
    assert PopulationUniqueness(share * 0.99, 0.1).holds(counts).tolist() == (SIZES > 1).tolist()
    assert PopulationUniqueness(0, 0.1).achieved(Counts(SIZES[SIZES > 1], {})) == 0.0
    assert PopulationUniqueness(0, 0.1).achieved(Counts(SIZES[:0], {})) == 0.0


def test_a_release_and_a_table_from_outside():
    people = shoal.sample("hospital", rows=600).select("age", "sex", "postcode")
    goal = ["population-uniqueness(share=0.01,fraction=0.1)"]
    made = shoal.anonymize(people, quasi=people.columns, models=goal)
    assert made.report.smallest_class >= 2
    assert shoal.verify(made.frame, quasi=people.columns, models=goal).holds
    assert not shoal.verify(people, quasi=people.columns, models=goal).holds
    share = shoal.risk(people, people.columns, sampling_fraction=0.1, largest=1).uniques.share
    (verdict,) = shoal.verify(people, quasi=people.columns, models=goal).models
    assert verdict.achieved == share
    # Few enough people may stand alone: the model is about the whole.
    mixed = pl.DataFrame({"x": ["alone"] + ["many"] * 999})
    assert shoal.verify(mixed, quasi=["x"], models=["population-uniqueness(share=0.01,fraction=0.5)"]).holds


def test_what_is_refused():
    for given, why in (
        ("share=1,fraction=0.1", "from 0 to below 1"),
        ("share=-0.1,fraction=0.1", "from 0 to below 1"),
        ("share=0.1,fraction=0", "above 0 and up to"),
        ("share=0.1,fraction=2", "above 0 and up to"),
        ("share=0.1,fraction=0.1,estimator=x", "estimator"),
    ):
        with pytest.raises(RecipeError, match=why):
            shoal.privacy.parse_model(f"population-uniqueness({given})")
    with pytest.raises(GoalNotMet, match="needs 2 rows"):
        shoal.anonymize(
            pl.DataFrame({"x": [1]}), quasi=["x"], models=["population-uniqueness(share=0,fraction=0.1)"]
        )


def test_the_population_is_told_by_its_size_or_by_where_it_lives():
    counts = Counts(SIZES, {})
    rows = int(SIZES.sum())
    by_fraction = PopulationUniqueness(0.5, rows / 5_903_000).achieved(counts)
    assert PopulationUniqueness(0.5, people=5_903_000).achieved(counts) == by_fraction
    assert PopulationUniqueness(0.5, region="denmark").achieved(counts) == by_fraction
    # Everybody is in a table that has as many rows, or more.
    alone = PopulationUniqueness(0.5, 1.0).achieved(counts)
    assert PopulationUniqueness(0.5, people=rows).achieved(counts) == alone
    assert PopulationUniqueness(0.5, people=3).achieved(counts) == alone
    assert set(THOUSANDS) == set(get_args(Region))
    for given, why in (
        ("share=0.1", "one of fraction, people or region"),
        ("share=0.1,fraction=0.1,people=9", "one of fraction, people or region"),
        ("share=0.1,people=0", "1 person or more"),
        ("share=0.1,region=atlantis", "region"),
    ):
        with pytest.raises(RecipeError, match=why):
            shoal.privacy.parse_model(f"population-uniqueness({given})")
    with pytest.raises(GoalNotMet, match="has 5 people, and the table 40 rows"):
        shoal.anonymize(
            pl.DataFrame({"x": [1] * 40}), quasi=["x"], models=["population-uniqueness(share=0,people=5)"]
        )
