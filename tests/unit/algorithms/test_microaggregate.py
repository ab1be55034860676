"""Groups of similar numbers, each released as its centre."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError

RANDOM = np.random.default_rng(3)
BODIES = pl.DataFrame(
    {
        "height": RANDOM.normal(170, 10, 500).round(1),
        "mass": RANDOM.normal(70, 12, 500).round(1),
        "ill": RANDOM.choice(["a", "b", "c"], 500),
    }
)


def release_of(frame=BODIES, algorithm="microaggregate", **given):
    asked = {"quasi": ["height", "mass"], "sensitive": ["ill"], "k": 5, "loss": "squared-error", **given}
    return shoal.anonymize(frame, algorithm=algorithm, **asked)


def test_numbers_stay_numbers_and_classes_are_large_enough():
    release = release_of(l=2)
    assert release.frame.schema["height"] == pl.Float64
    classes = release.frame.group_by("height", "mass").agg(pl.len(), pl.col("ill").n_unique().alias("l"))
    assert classes["len"].min() >= 5
    assert classes["l"].min() >= 2


def test_the_loss_is_the_squared_error_over_the_total():
    release = release_of()
    shares = []
    for name in ("height", "mass"):
        before, after = BODIES[name].to_numpy(), release.frame[name].to_numpy()
        shares.append(((before - after) ** 2).sum() / ((before - before.mean()) ** 2).sum())
    assert release.report.loss["value"] == pytest.approx(np.mean(shares))
    assert 0 < release.report.loss["value"] < 0.1


def test_two_clear_groups_are_found_and_released_as_their_centres():
    frame = pl.DataFrame({"x": [1, 2, 3, 6, 100, 101, 105, 110], "ill": list("aabbaabb")})
    asked = {"quasi": ["x"], "k": 4}
    assert release_of(frame, **asked).frame["x"].to_list() == [3] * 4 + [105] * 4  # means 3 and 104
    medians = release_of(frame, "microaggregate(centre=median)", **asked).frame["x"].to_list()
    assert medians == [2] * 4 + [101] * 4


def test_dates_are_released_as_dates():
    days = [dt.date(2024, 1, day) for day in range(1, 13)]
    frame = pl.DataFrame({"day": days, "ill": list("abc") * 4})
    release = release_of(frame, quasi=["day"], k=3)
    assert release.frame.schema["day"] == pl.Date
    assert release.frame["day"].n_unique() <= 4


def test_cells_make_large_tables_possible_at_little_cost():
    whole = release_of(algorithm="microaggregate(cell=0)").report
    cells = release_of(algorithm="microaggregate(cell=60)").report
    assert cells.smallest_class >= 5
    assert cells.loss["value"] < 2 * whole.loss["value"]


def test_what_has_no_mean_is_refused():
    with pytest.raises(RecipeError, match="'ill' cannot be put in order"):
        release_of(quasi=["height", "ill"], sensitive=[], others="keep")
    gaps = BODIES.with_columns(pl.when(pl.col("mass") > 90).then(None).otherwise("mass").alias("mass"))
    with pytest.raises(RecipeError, match="values missing in 'mass'"):
        release_of(gaps)


def test_no_row_is_lost_where_a_greedy_class_stands_in_for_groups():
    """Found by the fuzzer: the first such class was suppressed, whatever was permitted."""
    frame = pl.DataFrame(
        {
            "one": [7, 1, 7, 7, 7, 7, 1, 1, 1, 1, 7, 1, 7, 1, 1, 7],
            "two": [5, 5, 5, 5, 0, 0, 0, 5, 5, 6, 5, 5, 0, 5, 5, 0],
            "s": [*"aaaaaaaaababaaaa"],
            "other": [*"bababbaaaaaaabaa"],
        }
    )
    release = shoal.anonymize(
        frame,
        others="keep",
        quasi=["one", "two"],
        sensitive=["s", "other"],
        models=["basic-beta(beta=1)"],
        algorithm="microaggregate(cell=4)",
    )
    assert (release.report.released_rows, release.report.suppressed_rows) == (16, 0)
