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
    assert release_of(frame, **asked).frame["x"].to_list() == [3] * 4 + [104] * 4  # nobody has 104
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


def test_means_are_means_in_the_type_of_the_column():
    """Floats as they are, whole numbers and days rounded, texts with as many decimals as they have."""
    day = dt.date(2024, 1, 1)
    frame = pl.DataFrame(
        {
            "float": [1.0, 2.0, 2.5, 11.0, 12.0, 12.5],
            "small": pl.Series([1, 2, 2, 11, 12, 12], dtype=pl.Int8),
            "text": ["1", "2", "2.25", "11", "12", "12.25"],
            "day": [day + dt.timedelta(days) for days in (0, 1, 1, 100, 101, 101)],
            "german": ["01.01.2024", "02.01.2024", "02.01.2024", "11.02.2024", "12.02.2024", "12.02.2024"],
            "huge": [2**62, 2**62 + 1, 2**62 + 5, 2**62 + 900, 2**62 + 901, 2**62 + 905],
        }
    )
    release = shoal.anonymize(frame, quasi=frame.columns, k=3, algorithm="microaggregate").frame
    assert release.schema == frame.schema
    assert release.row(0) == (
        pytest.approx(11 / 6),
        2,
        "1.75",
        dt.date(2024, 1, 2),
        "02.01.2024",  # texts of another form keep to what occurs
        2**62 + 2,
    )
    assert release.n_unique() == 2


def test_classes_of_one_value_keep_it_and_vast_numbers_have_a_mean():
    """Found by the fuzzer: 0.7 became 0.6999999999999996, and a mean lay far outside of its class."""
    frame = pl.DataFrame({"x": [0.7] * 4 + [-1e308, 1e308, 1.6e308, 1.7e308], "y": [0.1] * 3 + [1e12] * 5})
    for algorithm in ("microaggregate", "microaggregate(sweeps=0)"):
        made = shoal.anonymize(frame, quasi=["x", "y"], k=2, algorithm=algorithm).frame
        classes = frame.hstack(made.rename({"x": "mean x", "y": "mean y"})).group_by("mean x", "mean y")
        ends = classes.agg(
            pl.col("x", "y").min().name.prefix("low "), pl.col("x", "y").max().name.prefix("high ")
        )
        for name in ("x", "y"):
            assert (ends[f"mean {name}"] >= ends[f"low {name}"]).all()
            assert (ends[f"mean {name}"] <= ends[f"high {name}"]).all()


def test_the_report_names_no_value_that_is_not_released(tmp_path):
    frame = pl.DataFrame({"x": [1, 2, 3, 6, 100, 101, 105, 110] * 5})
    made = shoal.anonymize(frame, quasi=["x"], k=20, algorithm="microaggregate", loss="squared-error")
    assert set(made.frame["x"]) == {3, 104}
    made.report.to_html(tmp_path / "report.html")
    assert ">105<" not in (tmp_path / "report.html").read_text("utf-8")


def within(x, groups):
    return sum(((x[groups == g] - x[groups == g].mean(0)) ** 2).sum() for g in np.unique(groups))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_groups_get_tighter_and_keep_the_models(k):
    rng = np.random.default_rng(k)
    frame = pl.DataFrame(
        {"a": rng.exponential(size=200), "b": rng.normal(size=200), "s": rng.integers(0, 4, 200)}
    )
    asked = {"quasi": ["a", "b"], "sensitive": ["s"], "k": k, "loss": "squared-error", "l": 2}
    loss = {}
    for sweeps in (0, 1, 50):
        made = shoal.anonymize(frame, algorithm=f"microaggregate(sweeps={sweeps})", **asked)
        loss[sweeps] = made.report.loss["value"]
        sizes = made.frame.group_by("a", "b").agg(pl.len(), pl.col("s").n_unique().alias("l"))
        assert sizes["len"].min() >= k
        assert sizes["l"].min() >= 2
    assert loss[50] <= loss[1] < loss[0]


def test_rows_that_count_several_times_and_people_stay_protected():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"x": rng.integers(0, 8, 400), "y": rng.integers(0, 8, 400), "who": np.arange(400) // 2}
    )
    made = shoal.anonymize(frame, quasi=["x", "y"], person="who", k=5, algorithm="microaggregate")
    # The verifier counts people; the rows of the release are in another order.
    assert made.report.smallest_class >= 5
    assert made.report.suppressed_rows == 0


def test_an_attack_reads_means():
    rng = np.random.default_rng(1)
    own, others = (
        pl.DataFrame({"x": rng.normal(size=300), "ill": rng.integers(0, 50, 300)}) for _ in range(2)
    )
    made = shoal.anonymize(own, quasi=["x"], sensitive=["ill"], k=3, algorithm="microaggregate").frame
    found = shoal.attack(made, own, control=others, quasi=["x"], sensitive=["ill"]).outcomes[0]
    assert found.name == "linkage"
    assert found.risk.value == pytest.approx(1 / 3, abs=0.1)  # the nearest mean is that of the person's class


def test_bad_parameters():
    for given in ("sweeps=-1", "cell=-1"):
        with pytest.raises(RecipeError, match="must be 0 or more, not -1"):
            release_of(algorithm=f"microaggregate({given})")
