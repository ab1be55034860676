"""Daily batches: every day's rows join the classes of the first, and k holds over all that was released."""

from collections import Counter

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import GoalNotMet, InputError, RecipeError

DAYS, ROWS, K = 30, 80, 5
QUASI = ["age", "sex", "postcode"]
KEPT = [*QUASI, "diagnosis"]


def make_day(day):
    return shoal.sample("hospital", rows=ROWS if day else 2000, seed=day).select(*KEPT)


def count_classes(frames):
    """Rows by what is written in their quasi-identifiers, in plain Python."""
    return Counter(row for frame in frames for row in frame.select(QUASI).cast(pl.String).rows())


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Thirty files of released rows, and how many rows were never released."""
    folder = tmp_path_factory.mktemp("releases")
    first = shoal.anonymize(
        make_day(0), quasi=QUASI, sensitive=["diagnosis"], k=K, l=2, algorithm="mondrian", seed=1
    )
    first.write(folder / "day_00.parquet")
    saved, waiting, given = first.saved_recoding(), make_day(0).clear(), 2000
    for day in range(1, DAYS):
        batch = pl.concat([waiting, make_day(day)])
        given += ROWS
        applied = saved.apply(batch, earlier=folder, hold_back=True)
        applied.write(folder / f"day_{day:02}.parquet")
        waiting = applied.held_back
        assert waiting.height == applied.suppressed_rows == batch.height - applied.frame.height
    return folder, given - waiting.height


@pytest.mark.slow
def test_k_holds_over_all_days_together(releases):
    folder, released = releases
    days = [pl.read_parquet(path) for path in sorted(folder.iterdir())]
    assert len(days) == DAYS
    assert sum(day.height for day in days) == released
    assert min(count_classes(days).values()) >= K
    # By themselves the later days are far too small for that.
    assert min(count_classes(days[1:2]).values()) == 1
    assert shoal.verify(folder, quasi=QUASI, sensitive=["diagnosis"], k=K, l=2)


@pytest.mark.slow
def test_all_days_are_one_dataset_to_every_reader(releases):
    duckdb = pytest.importorskip("duckdb")
    folder, released = releases
    pattern = str(folder / "day_*.parquet")
    assert pl.scan_parquet(pattern).collect().height == released
    assert pl.read_parquet(pattern).schema == pl.read_parquet(folder / "day_00.parquet").schema
    assert len(pd.read_parquet(folder)) == released
    assert duckdb.sql(f"select count(*) from '{pattern}'").fetchall() == [(released,)]


@pytest.fixture
def saved():
    table = pl.DataFrame({"age": [1, 1, 2, 2], "town": ["a"] * 4})
    return shoal.anonymize(table, quasi=["age", "town"], k=2, algorithm="mondrian").saved_recoding()


LATER = pl.DataFrame({"age": [1, 2, 2, 9], "town": ["a"] * 4})


def test_what_is_held_back_is_what_is_not_released(saved):
    applied = saved.apply(LATER, hold_back=True)
    assert applied.frame["age"].to_list() == ["2", "2"]
    assert applied.held_back.equals(LATER[[0, 3]])
    assert (applied.to_dict()["released_rows"], applied.to_dict()["suppressed_rows"]) == (2, 2)


def test_rows_that_waited_are_released_with_others_of_their_class(saved):
    waiting = saved.apply(LATER, hold_back=True).held_back
    later = pl.concat([waiting, LATER[:1]])
    assert saved.apply(later, hold_back=True).held_back["age"].to_list() == [9]


def test_held_back_rows_are_private(saved, tmp_path):
    applied = saved.apply(LATER, hold_back=True)
    applied.write_held_back(tmp_path / "waiting.parquet")
    assert (tmp_path / "waiting.parquet").stat().st_mode & 0o077 == 0
    assert pl.read_parquet(tmp_path / "waiting.parquet").equals(LATER[[0, 3]])


def test_nothing_may_be_left_to_hold_back(saved, tmp_path):
    applied = saved.apply(LATER[1:3], hold_back=True)
    applied.write_held_back(tmp_path / "waiting.csv")
    assert (tmp_path / "waiting.csv").read_text() == "age,town\n"


def test_a_day_on_which_nothing_can_be_released(saved):
    with pytest.raises(GoalNotMet, match="nothing is released"):
        saved.apply(LATER[:1], hold_back=True)


def test_several_earlier_releases_count_together(saved):
    one = pl.DataFrame({"age": [1], "town": ["a"]})
    assert saved.apply(LATER[:1], earlier=[one, one]).frame.height == 1
    with pytest.raises(InputError, match="an earlier release without 'town'"):
        saved.apply(LATER, earlier=[one, one.drop("town")])
    with pytest.raises(RecipeError, match="earlier is an empty list"):
        saved.apply(LATER, earlier=[])


def test_rows_are_either_suppressed_or_held_back(saved):
    with pytest.raises(RecipeError, match="leave out suppress or hold_back"):
        saved.apply(LATER, suppress=0.5, hold_back=True)
