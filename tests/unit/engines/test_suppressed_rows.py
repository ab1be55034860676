"""Rows of `*` on disk: averages leave them out as in memory, where the release was counted by a database."""

import duckdb as database
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.verifier import DatabaseVerifier, pick_suppressed_class
from shoal.privacy import read_models
from shoal.table import Column, ReadOptions, read_table

# Two classes of five rows, one of two people, four single rows, and ninety rows of which nothing is told.
RELEASE = pl.DataFrame(
    {
        "age": ["30"] * 5 + ["40"] * 5 + ["51", "52", "53", "54", None] + ["*"] * 90,
        "sex": ["f"] * 5 + ["m"] * 5 + ["f", "m", "f", "m", "*"] + ["*"] * 90,
        "job": ["clerk", "judge", "smith", "mason", "baker"] * 21,
        "person": [*range(5), 0, 0, 0, 1, 2, *range(20, 25), *range(100, 190)],
    }
)
MODELS = [
    "average-risk(risk=0.5)",
    "uniqueness(share=0.5)",
    "population-uniqueness(share=0.9,fraction=0.1,estimator=zayatz)",
    "k(k=2)",
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("rows", [105, 104, 15])  # the last cases: one row less, and no row of `*`
@pytest.mark.parametrize("person", [None, "person"])
@pytest.mark.parametrize("sensitive", [[], ["job"]])
def test_the_figures_are_those_in_memory(tmp_path, suffix, rows, person, sensitive):
    models = [*MODELS, *(["distinct-l(l=2)"] if sensitive else [])]
    path, shown = tmp_path / f"release{suffix}", RELEASE.head(rows).drop("person")
    shown.write_csv(path) if suffix == ".csv" else shown.write_parquet(path)
    people = None
    if person:
        people = tmp_path / "people"
        RELEASE.head(rows)["person"].to_numpy().astype(np.int64).tofile(people)
    with database.connect() as connection:
        form = read_table(path, ReadOptions()).origin
        verifier = DatabaseVerifier(connection, path, form, shown.columns, ("",), people)
        columns = {name: Column(name) for name in sensitive}
        found = verifier.verify_release(["age", "sex"], sensitive, read_models(models), columns)
    expected = shoal.verify(
        RELEASE.head(rows), quasi=["age", "sex"], sensitive=sensitive, models=models, person=person
    )
    assert found.models == expected.models
    assert (found.holds, found.classes, found.rows) == (expected.holds, expected.classes, expected.rows)
    if not person and rows == 105:
        assert found.models[0].achieved == pytest.approx(7 / 15)


@pytest.mark.parametrize(
    ("size", "rows_of", "members", "rows", "picked"),
    [
        ([5, 90, 5], None, 90, 90, 1),
        ([5, 1, 5], None, 1, 1, None),  # one such row alone counts as any other class
        ([90], None, 90, 90, None),  # nothing is beside them
        ([5, 5], None, 0, 0, None),
        ([5, 2], [6, 8], 2, 8, 1),
    ],
)
def test_which_class_is_left_out(size, rows_of, members, rows, picked):
    counted = None if rows_of is None else np.array(rows_of)
    assert pick_suppressed_class(np.array(size), counted, members, rows) == picked
