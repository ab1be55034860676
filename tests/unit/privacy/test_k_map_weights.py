"""k-map by survey weights, beside sums over the released rows."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.errors import GoalNotMet, RecipeError
from shoal.privacy import parse_model

QUASI = ["age", "size"]
SMALL = {"mingen", "genetic"}  # which are for few rows


def survey(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "size": rng.integers(150, 200, rows),
            "weight": np.round(rng.gamma(2, 50, rows) + 0.1, 1),
        }
    )


def least_sum(frame, quasi=QUASI):
    """Of the weights of rows that are equal, in exact fractions, row by row."""
    sums = defaultdict(Fraction)
    for row in frame.iter_rows(named=True):
        sums[tuple(row[name] for name in quasi)] += Fraction(str(row["weight"] or 0))
    return min(sums.values())


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "safepub"])
@pytest.mark.parametrize("k", [100, 300.5])
def test_every_algorithm_keeps_it(algorithm, k, tmp_path):
    table, goal = survey(14 if algorithm in SMALL else 120), [f"k-map-weights(k={k},column=weight)"]
    made = shoal.anonymize(
        table, quasi=QUASI, sensitive=["weight"], models=goal, algorithm=algorithm, output=tmp_path / "r.csv"
    )
    read = pl.read_csv(tmp_path / "r.csv", infer_schema=False)
    assert least_sum(read) >= Fraction(str(k))
    (verdict,) = made.report.models
    assert verdict.achieved == pytest.approx(float(least_sum(read)))
    again = shoal.verify(tmp_path / "r.csv", quasi=QUASI, sensitive=["weight"], models=goal)
    assert again.holds
    assert made.report.classes > 1  # it does not take one class of all
    more = [f"k-map-weights(k={float(least_sum(read)) + 0.1},column=weight)"]
    assert not shoal.verify(tmp_path / "r.csv", quasi=QUASI, sensitive=["weight"], models=more).holds


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_tables_beside_a_sum_over_rows(seed):
    rng = np.random.default_rng(seed)
    table = survey(40, seed).with_columns(
        weight=pl.Series(rng.choice([0.1, 0.2, 0.3, 1.0, 7.0, None], 40).tolist()),
        size=pl.Series(rng.choice(["S", "M", None], 40).tolist()),
    )
    goals = ["k-map-weights(k=3.3,column=weight)", "k(k=2)"]
    for algorithm in ("auto", "mondrian", "cluster", "lattice"):
        made = shoal.anonymize(
            table, quasi=QUASI, sensitive=["weight"], models=goals, algorithm=algorithm, suppress=0.2
        )
        assert least_sum(made.frame) >= Fraction("3.3")
    for k in (2.1, 5, 8):
        goal = [f"k-map-weights(k={k},column=weight)"]
        raw = shoal.verify(table, quasi=QUASI, sensitive=["weight"], models=goal)
        assert raw.holds == (least_sum(table) >= Fraction(str(k)))
        assert raw.models[0].achieved == pytest.approx(float(least_sum(table)))


def test_sums_of_fractions_hold_at_the_limit():
    table = pl.DataFrame({"age": [1, 1, 1, 2, 2], "size": [0] * 5, "weight": [0.1, 0.2, 0.3 + 2, 1.3, 1.3]})
    goal = ["k-map-weights(k=2.6,column=weight)"]
    assert shoal.verify(table, quasi=QUASI, sensitive=["weight"], models=goal).holds


def test_the_rows_may_be_on_disk(tmp_path):
    survey(3000).write_csv(tmp_path / "in.csv")
    goal = ["k-map-weights(k=2000,column=weight)"]
    settings = {"quasi": QUASI, "sensitive": ["weight"], "models": goal, "algorithm": "mondrian"}
    made = shoal.anonymize(tmp_path / "in.csv", memory="500MB", output=tmp_path / "out.csv", **settings)
    here = shoal.anonymize(tmp_path / "in.csv", **settings)
    read = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert least_sum(read) >= 2000
    assert made.report.models == here.report.models
    assert made.report.ncp == here.report.ncp
    # Far less than k-anonymity with rows of equal weight would take.
    assert made.report.smallest_class < 20


def test_weights_that_are_missing_or_not_above_0_stand_for_nobody():
    table = pl.DataFrame({"age": [1, 1, 1, 1], "weight": [5.0, None, -3.0, 0.0]})
    (verdict,) = shoal.verify(
        table, quasi=["age"], sensitive=["weight"], models=["k-map-weights(k=5,column=weight)"]
    ).models
    assert verdict.holds
    assert verdict.achieved == 5


def test_what_is_refused():
    table, more = survey(50), {"quasi": QUASI, "models": ["k-map-weights(k=100,column=weight)"]}
    for given, why in (("k=1,column=w", "above 1"), ("k=5", "needs 'column'"), ("column=w", "needs 'k'")):
        with pytest.raises(RecipeError, match=why):
            parse_model(f"k-map-weights({given})")
    with pytest.raises(RecipeError, match="needs a sensitive column"):
        shoal.anonymize(table, plain=["weight"], **more)
    with pytest.raises(RecipeError, match="must be of numbers"):
        words = table.with_columns(weight=pl.lit("heavy"))
        shoal.anonymize(words, sensitive=["weight"], **more)
    with pytest.raises(GoalNotMet, match="add up to"):
        few = {**more, "models": ["k-map-weights(k=1000000,column=weight)"]}
        shoal.anonymize(table, sensitive=["weight"], **few)
    with pytest.raises(RecipeError, match="leave out the person"):
        people = table.with_columns(person=pl.Series([0, 0, *range(48)]))
        shoal.anonymize(people, person="person", sensitive=["weight"], **more)
