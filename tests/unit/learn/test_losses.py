"""The loss of anonymizing and minimising together, on a table small enough to count by hand."""

import polars as pl
import pytest

import shoal
from shoal.learn.losses import measure_final_loss
from shoal.table import read_table

VALUES = [0, 1, 10, 11, 20, 21, 30, 31]


@pytest.fixture(scope="module")
def release():
    table = pl.DataFrame({"x": VALUES, "y": [1] * 8})
    return shoal.anonymize(table, quasi=["x", "y"], k=2, algorithm="mondrian", render="representative")


@pytest.mark.parametrize(
    ("minimised", "lost"),
    [
        ([0, 0, 10, 10, 20, 20, 30, 30], 1 / 31),  # as released: four classes of two neighbours
        ([0, 0, 0, 0, 20, 20, 30, 30], (4 * 11 + 4 * 1) / 8 / 31),  # one value for what was 0 to 11
        ([10] * 8, 1),
    ],
)
def test_a_value_is_as_wide_as_all_that_it_stands_for(release, minimised, lost):
    assert release.frame["x"].to_list() == [0, 0, 10, 10, 20, 20, 30, 30]
    final = release.frame.with_columns(x=pl.Series(minimised))
    found = measure_final_loss(release.recoding, read_table(release.frame), read_table(final), {})
    # y has one value, so that nothing of it is lost.
    assert found == pytest.approx(lost / 2)


def test_classes_that_become_one_lose_in_every_column():
    table = pl.DataFrame({"x": [0, 0, 10, 10], "y": [0, 1, 4, 5]})
    release = shoal.anonymize(table, quasi=["x", "y"], k=2, algorithm="mondrian", render="representative")
    frame = release.frame
    assert frame.n_unique() == 2
    # Without y nobody tells the classes apart by it, and x still does.
    final = frame.with_columns(y=pl.lit(0, dtype=pl.Int64))
    found = measure_final_loss(release.recoding, read_table(frame), read_table(final), {})
    assert found == pytest.approx((0 + 1) / 2)
