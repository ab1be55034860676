"""On a cluster the release has the cells of the one made in memory, row by row: the same classes.

The driver's budget is so low that it keeps the top of the tree only. Between them the cases have every goal
and both ways to cut; with EVERY_CASE=1 in the environment each table has, which takes a quarter of an hour.
"""

import os
import re
from dataclasses import replace

import polars as pl
import pytest

import shoal
from shoal.algorithms.mondrian import Mondrian
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions
from shoal.table.samples import write_sample

pytestmark = pytest.mark.exhaustive

GOALS = {
    "k": (KAnonymity(10),),
    "l": (KAnonymity(10), DistinctL(2)),
    "t": (KAnonymity(10), TCloseness(0.35)),
}
ADULT = Recipe(
    quasi=("age", "work_class", "education_num", "marital_status", "occupation", "race", "sex"),
    models=GOALS["k"],
    sensitive=("class",),
    plain=("row",),
    reading=ReadOptions(na=("?",)),
    others="keep",
    driver_rows=4000,
)
INFORMS = Recipe(
    quasi=("DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "marry"),
    models=GOALS["k"],
    sensitive=("poverty",),
    plain=("row",),
    others="keep",
    driver_rows=6000,
)
HOSPITAL = Recipe(
    quasi=("age", "sex", "postcode", "education", "occupation", "marital_status"),
    models=GOALS["k"],
    sensitive=("diagnosis",),
    identifier=("name",),
    plain=("patient_id",),
    others="keep",
    driver_rows=60_000,
)


def cases(*usual):
    """Goals and ways to cut: the usual ones, or all."""
    every = [(goal, cut) for goal in GOALS for cut in ("nearest", "greedy")]
    return pytest.mark.parametrize(("goal", "cut"), every if "EVERY_CASE" in os.environ else usual)


def findings_of(report):
    """What was found; of large tables without what each engine measures in a sample of its own."""
    if report.rows <= 50_000:
        return {each.id: (each.severity, each.message) for each in report.findings}
    return {each.id: each.severity for each in report.findings if not each.id.startswith("determines")}


def check_same(spark, recipe, path, row):
    """Both engines' releases, sorted by row; and that the driver did not have it all."""
    release = shoal.run(recipe, spark.read.parquet(str(path)))
    found = pl.DataFrame(release.frame.toArrow()).sort(row)
    release.unpersist()
    expected = shoal.run(replace(recipe, engine="local"), path)
    assert found.equals(expected.frame.sort(row))
    assert release.report.models == expected.report.models
    assert release.report.classes == expected.report.classes
    assert release.report.ncp == pytest.approx(expected.report.ncp, rel=1e-12)
    assert findings_of(release.report) == findings_of(expected.report)
    note = re.search(r"level by level.* (\d+) levels, .* (\d+) parts finished", release.report.notes[-1])
    assert note is not None
    assert int(note[1]) >= 1
    assert int(note[2]) > 1
    return release


def with_rows(source, path, **reading):
    """A reference table with numbers of rows, as Parquet."""
    pl.read_csv(source, infer_schema=False, **reading).with_row_index("row").write_parquet(path)
    return path


@pytest.fixture(scope="session")
def adult(shared_data, tmp_path_factory):
    return with_rows(shared_data / "adult" / "adult.csv", tmp_path_factory.mktemp("adult") / "a.parquet")


@pytest.fixture(scope="session")
def informs(shared_data, tmp_path_factory):
    return with_rows(
        shared_data / "informs" / "informs.csv", tmp_path_factory.mktemp("informs") / "i.parquet"
    )


@pytest.fixture(scope="session")
def million(tmp_path_factory):
    path = tmp_path_factory.mktemp("hospital") / "million.parquet"
    write_sample("hospital", path, 1_000_000)
    return path


@cases(("l", "greedy"))
def test_adult(spark, adult, shared_data, goal, cut):
    folder = shared_data / "adult" / "hierarchies"
    named = {"race": "race", "marital_status": "marital-status", "work_class": "workclass"}
    trees = tuple(f"{column}={folder / file}.csv" for column, file in named.items())
    recipe = replace(ADULT, models=GOALS[goal], algorithm=Mondrian(cut=cut), hierarchies=trees)
    check_same(spark, recipe, adult, "row")


@cases(("t", "nearest"))
def test_informs(spark, informs, goal, cut):
    recipe = replace(INFORMS, models=GOALS[goal], algorithm=Mondrian(cut=cut))
    check_same(spark, recipe, informs, "row")


@cases(("k", "greedy"))
def test_the_sample_at_a_million_rows(spark, million, goal, cut):
    # Nodes as large as these are cut by a sample of their rows, in lexicographic order over all partitions.
    recipe = replace(HOSPITAL, models=GOALS[goal], algorithm=Mondrian(cut=cut))
    if goal == "k":
        recipe = replace(recipe, sensitive=(), plain=("patient_id", "diagnosis"))
    check_same(spark, recipe, million, "patient_id")
