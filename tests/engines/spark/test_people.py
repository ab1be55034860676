"""People with several rows on a cluster: the release of one machine, counted in what was written."""

import numpy as np
import polars as pl
import pytest
from tests.contract.test_contract import JOBS, SETTINGS, mixed
from tests.contract.test_people import visits

import shoal
from shoal.engines.spark import engine
from shoal.errors import GoalNotMet, InputError, RecipeError

QUASI = ["age", "born", "job"]
ASKED = {
    **SETTINGS,
    "orders": {},
    "quasi": QUASI,
    "person": "person",
    "hierarchies": {"job": JOBS},
    "algorithm": "mondrian",
}


def plain(frame):
    return frame.drop("size").with_columns(pl.col("note").replace("", "none"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("visits") / "visits.parquet"
    plain(visits(300)).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def frame(spark, table):
    return spark.read.parquet(str(table))


MODELS = [["k(k=3)"], ["k(k=2)", "distinct-l(l=2)"], ["alpha-k(alpha=0.75,k=3)"], ["t(t=0.4)"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize("models", MODELS[1:], ids="+".join)
def test_models_count_people_as_on_one_machine(frame, table, models):
    compare_releases(frame, table, models)


@pytest.mark.slow
def test_the_release_is_that_of_one_machine(frame, table):
    release = compare_releases(frame, table, MODELS[0])
    told = "'person' is missing in 2 rows: each of them counts as a person of its own"
    assert told in release.report.warnings
    assert any(
        "people were counted, not rows: the 300 released rows" in note for note in release.report.notes
    )


def compare_releases(frame, table, models):
    release = shoal.spark.anonymize(frame, **ASKED, models=models)
    expected = shoal.anonymize(table, **ASKED, models=models)
    found = pl.DataFrame(release.frame.toArrow())
    assert found.columns == expected.frame.columns
    # In order of what is released, with numbers as texts, and so the order tells nothing.
    assert found.rows() == expected.frame.rows()
    one, two = expected.report, release.report
    assert (two.people, two.smallest_class, two.classes) == (one.people, one.smallest_class, one.classes)
    assert two.models == one.models
    rows = [[each for each in report.findings if each.id == "unique-rows"] for report in (one, two)]
    assert rows[0] == rows[1]
    release.unpersist()
    return release


@pytest.mark.slow
def test_people_are_counted_in_the_rows_that_were_written(frame, tmp_path, monkeypatch):
    """Rows that are not those of which it is known whose they are are not released."""
    write = engine.write_parquet

    def lose_detail(released, path):
        from pyspark.sql import functions as f

        write(released.withColumn("age", f.lit("[0-9]")), path)

    monkeypatch.setattr(engine, "write_parquet", lose_detail)
    with pytest.raises(InputError, match="has other rows each time that it is read"):
        shoal.spark.anonymize(frame, **ASKED, k=3, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_person_is_not_taken_for_several(frame, tmp_path, monkeypatch):
    """If all rows are one person's, the verifier finds it, whatever the search believed."""
    from pyspark.sql import functions as f

    add = engine._add_released_people

    def forge(*arguments):
        source = add(*arguments)
        return engine.replace(source, frame=source.frame.withColumn("p", f.lit("somebody")))

    monkeypatch.setattr(engine, "_add_released_people", forge)
    with pytest.raises(GoalNotMet, match="reached 1"):
        shoal.spark.anonymize(frame, **ASKED, k=3, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.exhaustive
def test_with_one_row_each_it_is_the_release_without_the_role(spark, tmp_path):
    plain(mixed(120)).write_parquet(tmp_path / "table.parquet")
    frame = spark.read.parquet(str(tmp_path / "table.parquet"))
    roles = ({"identifier": ["name"], "person": None}, {"identifier": [], "person": "name"})
    rows, people = (shoal.spark.anonymize(frame, **{**ASKED, **each}, k=3) for each in roles)
    assert people.report.people is None
    assert pl.DataFrame(people.frame.toArrow()).equals(pl.DataFrame(rows.frame.toArrow()))


@pytest.mark.exhaustive
def test_bad_input(spark, frame):
    for asked, error, said in [
        ({"person": "nobody", "k": 3}, RecipeError, "unknown column 'nobody'"),
        ({"k": 200}, GoalNotMet, r"k = 200, but the table has \d+ people"),
        ({"k": 3, "driver_rows": 280}, RecipeError, "people are counted there"),
        ({"k": 3, "algorithm": "cluster"}, RecipeError, "cluster looks at every row by itself"),
    ]:
        with pytest.raises(error, match=said):
            shoal.spark.anonymize(frame, **{**ASKED, **asked})
    rng = np.random.default_rng(4)
    ids = np.where(np.arange(200) < 100, 0, rng.integers(1, 40, 200))
    half = spark.createDataFrame(pl.DataFrame({"id": ids, "age": rng.integers(20, 60, 200)}).to_arrow())
    found = shoal.spark.anonymize(half, quasi=["age"], person="id", k=4, algorithm="mondrian").report
    assert found.smallest_class >= 4
    assert any("of whom one has 100" in note for note in found.notes)
