"""What the engine promises besides the classes: the driver's way, files, failures, and words."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.spark.source import PERSON, SparkSource
from shoal.engines.spark.verifier import verify_release
from shoal.errors import GoalNotMet, InputError, OutputError, RecipeError
from shoal.privacy import read_models
from shoal.table import Origin
from shoal.table.hierarchies import Hierarchy
from shoal.table.samples import write_sample

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
ROLES = {
    "quasi": ["age", "sex", "postcode"],
    "sensitive": ["diagnosis"],
    "identifier": ["name"],
    "plain": ["patient_id"],
    "others": "keep",
}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    write_sample("hospital", path, 6000)
    return path


@pytest.fixture(scope="module")
def frame(spark, people):
    return spark.read.parquet(str(people))


def by_row(spark_frame):
    return pl.DataFrame(spark_frame.toArrow()).sort("patient_id")


@pytest.mark.exhaustive
def test_what_needs_counted_rows_only(frame, people):
    settings = {**ROLES, "k": 4, "l": 2, "algorithm": "lattice", "suppress": 0.02}
    release = shoal.spark.anonymize(frame, **settings)
    assert "the driver searched" in release.report.notes[-1]
    assert by_row(release.frame).equals(shoal.anonymize(people, **settings).frame.sort("patient_id"))
    assert release.report.suppressed_rows > 0
    release.unpersist()


@pytest.mark.exhaustive
def test_survey_weights_are_added_up_as_in_memory(spark, tmp_path):
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "row": range(800),
            "age": rng.integers(18, 90, 800),
            "sex": rng.choice(["f", "m"], 800),
            "weight": np.round(rng.gamma(2, 50, 800) + 1, 1),
        }
    )
    table.write_parquet(tmp_path / "survey.parquet")
    settings = {
        "quasi": ["age", "sex"],
        "sensitive": ["weight"],
        "plain": ["row"],
        "models": ["k-map-weights(k=1000,column=weight)"],
        "algorithm": "mondrian",
    }
    release = shoal.spark.anonymize(spark.read.parquet(str(tmp_path / "survey.parquet")), **settings)
    expected = shoal.anonymize(table, **settings)
    assert release.report.models == expected.report.models
    assert pl.DataFrame(release.frame.toArrow()).sort("row").equals(expected.frame.sort("row"))
    release.unpersist()


@pytest.mark.exhaustive
def test_every_class_based_model_is_judged_as_in_memory(frame, people):
    models = ["entropy-l(l=2)", "recursive-cl(c=8,l=2)", "alpha-k(alpha=0.8,k=5)", "p-sensitive(p=2)"]
    models += ["enhanced-beta(beta=6)", "max-risk(risk=0.2)", "average-risk(risk=0.2)", "t(t=0.7)"]
    settings = {**ROLES, "models": models, "algorithm": "mondrian(cut=nearest)"}
    release = shoal.spark.anonymize(frame, **settings)
    expected = shoal.anonymize(people, **settings)
    assert release.report.models == expected.report.models
    assert by_row(release.frame).equals(expected.frame.sort("patient_id"))
    release.unpersist()


@pytest.mark.parametrize("person", [None, "person"])
def test_rows_of_stars_lower_no_average(spark, person):
    release = pl.DataFrame(
        {
            "age": ["30"] * 5 + ["40"] * 5 + ["51", "52"] + ["*"] * 30,
            "sex": ["f"] * 5 + ["m"] * 5 + ["f", None] + ["*"] * 30,
            "person": [*range(5), 0, 0, 0, 1, 2, 10, 11, *range(20, 50)],
        }
    )
    models = ["average-risk(risk=0.5)", "uniqueness(share=0.5)", "k(k=2)"]
    frame = spark.createDataFrame(release.to_arrow())
    source = SparkSource.from_frame(frame, Origin("polars"), ())
    if person:
        source = replace(source, frame=source.frame.withColumnRenamed("x2", PERSON))
    found = verify_release(source, spark, ["age", "sex"], [], read_models(models), {})
    expected = shoal.verify(release, quasi=["age", "sex"], models=models, person=person)
    assert found.models == expected.models
    assert found.models[0].achieved == pytest.approx(4 / 10 if person else 4 / 12)


@pytest.mark.exhaustive
def test_every_kind_of_column_and_of_missing_value(spark, tmp_path):
    rng = np.random.default_rng(0)
    gone = pl.Series(rng.random(3000) < 0.1)
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 31), eager=True)
    table = pl.DataFrame(
        {
            "patient_id": np.arange(3000),
            "age": pl.Series(rng.integers(18, 90, 3000)).set(gone, None),
            "a.job": rng.choice(["mason", "smith", "clerk", "judge", "hermit"], 3000),
            "colour": pl.Series(rng.choice(["red", "blue", "grey", "?", "=2"], 3000)),
            "^since$": days[rng.integers(0, len(days), 3000)],
            "score": pl.Series(rng.choice([0.5, -0.0, 0.0, 1.25, np.nan], 3000)).set(gone, None),
            "`ill`": pl.Series(rng.choice(["flu", "cold", "", "?"], 3000)).set(gone, None),
            "cost": rng.choice([1, 5, 10, 50], 3000),
        }
    )
    table.write_parquet(tmp_path / "people.parquet")
    settings = {
        "quasi": ["age", "a.job", "colour", "^since$", "score"],
        "sensitive": ["`ill`", "cost"],
        "plain": ["patient_id"],
        "models": ["k(k=4)", "distinct-l(l=2,column=`ill`)", "t(t=0.4,distance=ordered,column=cost)"],
        "algorithm": "mondrian",
        "hierarchies": {
            "a.job": Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
        },
        "na": ["?"],
    }
    expected = shoal.anonymize(tmp_path / "people.parquet", **settings)
    frame = spark.read.parquet(str(tmp_path / "people.parquet"))
    for rows in (4000, 2500):
        release = shoal.spark.anonymize(frame, **settings, driver_rows=rows)
        assert by_row(release.frame).equals(expected.frame)
        assert release.report.warnings == expected.report.warnings
        assert release.report.models == expected.report.models
        release.unpersist()
    assert "level by level" in release.report.notes[-1]


def test_text_with_line_breaks_in_cells_is_refused(spark, tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame({"a": [1, 1, 2, 2], "note": ["x", "two\nlines", "y", "z"]}).write_csv(path)
    with pytest.raises(InputError, match="cells have line breaks in them, so convert it to Parquet"):
        shoal.anonymize(path, quasi=["a"], plain=["note"], k=2, engine="spark", output=tmp_path / "r.parquet")


def test_a_release_is_written_whole_and_counted_again(frame, tmp_path):
    release = shoal.spark.anonymize(frame, **ROLES, k=5, algorithm="mondrian", loss="discernibility")
    release.write(tmp_path / "r.parquet")
    written = pl.read_parquet(tmp_path / "r.parquet" / "*.parquet").sort("patient_id")
    assert written.equals(by_row(release.frame))
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]
    with pytest.raises(OutputError, match=r"r\.parquet exists"):
        release.write(tmp_path / "r.parquet")
    release.unpersist()


@pytest.mark.exhaustive
def test_level_by_level_the_loss_is_the_same(frame, people):
    for loss in ("discernibility", "entropy"):
        settings = {**ROLES, "k": 40, "algorithm": "mondrian(cut=nearest)", "loss": loss}
        release = shoal.spark.anonymize(frame, **settings, driver_rows=3000)
        assert "level by level" in release.report.notes[-1]
        expected = shoal.anonymize(people, **settings).report.loss
        assert release.report.loss["value"] == pytest.approx(expected["value"])
        release.unpersist()


@pytest.mark.exhaustive
def test_types_do_not_depend_on_what_was_generalised(spark):
    rows = [(i, i // 50, "x", 1.5 if i % 2 else None) for i in range(200)]
    frame = spark.createDataFrame(rows, "id int, `a.b` int, `^s$` string, v double")
    release = shoal.spark.anonymize(
        frame, quasi=["a.b", "v"], sensitive=["^s$"], plain=["id"], k=20, algorithm="mondrian"
    )
    assert dict(release.frame.dtypes) == {"id": "int", "a.b": "string", "^s$": "string", "v": "string"}
    assert release.frame.where("v is null").count() == 100
    release.unpersist()


def telling(rows=3000):
    """People of whom a release tells more than classes: by a column, by their order, by who they are."""
    rng = np.random.default_rng(4)
    age = np.sort(rng.integers(20, 80, rows))
    return pl.DataFrame(
        {
            "person": np.arange(rows) // 25,
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "illness": pl.Series(rng.choice(["flu", "Flu ", "cold"], rows)).set(
                pl.Series(rng.random(rows) < 0.1), None
            ),
            "born": 2020 - age - rng.integers(0, 2, rows),
            "score": pl.Series(rng.choice([0.0, -0.0, 0.5], rows)),
        }
    )


TELLING = {
    "quasi": ["age", "sex"],
    "sensitive": ["illness"],
    "identifier": ["person"],
    "plain": ["born", "score"],
    "k": 150,
    "algorithm": "mondrian",
}


@pytest.mark.exhaustive
def test_the_release_as_a_whole_is_judged_as_on_one_machine(spark, tmp_path):
    telling().write_parquet(tmp_path / "in.parquet")
    expected = shoal.anonymize(tmp_path / "in.parquet", **TELLING).report.findings
    found = {each.id for each in expected}
    assert found >= {"unique-rows", "determines:born:age", "repeated:person", "row-order:age"}
    assert found >= {"row-order:person", "spelling:illness"}
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    for rows in (4_000_000, 1000):  # by the driver, and level by level
        release = shoal.spark.anonymize(frame, **TELLING, driver_rows=rows)
        assert [(each.id, each.severity, each.message) for each in release.report.findings] == [
            (each.id, each.severity, each.message) for each in expected
        ]
        figures = [each.figure for each in release.report.findings]
        assert figures == pytest.approx([each.figure for each in expected])
        release.unpersist()


@pytest.mark.exhaustive
def test_strict_writes_nothing_and_what_is_accepted_is_told(spark, tmp_path):
    frame = spark.createDataFrame(telling().to_arrow())
    settings = {**TELLING, "strict": True, "output": tmp_path / "r.parquet", "row_order": "released"}
    with pytest.raises(GoalNotMet, match=r"findings of high severity.*unique-rows"):
        shoal.spark.anonymize(frame, **settings)
    assert list(tmp_path.iterdir()) == []
    severe = ("unique-rows", "determines:born:age", "repeated:person")
    release = shoal.spark.anonymize(frame, **settings, accept=dict.fromkeys(severe, "agreed"))
    assert {each.id for each in release.report.findings if each.accepted} == set(severe)
    assert not [each.id for each in release.report.findings if each.id.startswith("row-order")]
    files = sorted((tmp_path / "r.parquet").glob("*.parquet"))
    released = pl.concat([pl.read_parquet(file) for file in files])
    expected = shoal.anonymize(telling(), **TELLING, row_order="released").frame
    columns = ["age", "sex", "illness", "born"]
    assert released.select(columns).equals(expected.select(columns))


def test_what_was_written_is_counted_and_not_what_was_meant(frame, tmp_path, monkeypatch):
    from pyspark.sql import functions as f

    from shoal.engines.spark import engine

    def spoil(released, path):
        first = f.col("patient_id") == released.agg(f.min("patient_id")).collect()[0][0]
        released.withColumn("sex", f.when(first, "king").otherwise(f.col("sex"))).write.parquet(path)

    monkeypatch.setattr(engine, "write_parquet", spoil)
    settings = {**ROLES, "k": 5, "algorithm": "mondrian"}
    with pytest.raises(GoalNotMet, match=r"k asked \{'k': 5\}, reached 1"):
        shoal.spark.anonymize(frame, **settings, output=tmp_path / "r.parquet")
    assert list(tmp_path.iterdir()) == []


def test_labels_in_the_metadata_of_a_column_stay_behind(spark, tmp_path):
    from pyspark.sql import functions as f

    labels = {"ml_attr": {"vals": ["a label of somebody"]}}
    frame = spark.range(40).select(
        (f.col("id") % 2).alias("sex", metadata=labels), f.lit(1).alias("n", metadata=labels)
    )
    settings = {"quasi": ["sex"], "plain": ["n"], "k": 5, "algorithm": "mondrian"}
    shoal.spark.anonymize(frame, **settings, output=tmp_path / "r.parquet")
    content = b"".join(file.read_bytes() for file in (tmp_path / "r.parquet").iterdir())
    assert b"a label of somebody" not in content


def test_a_relative_name_is_in_the_folder_of_python_not_of_java(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = shoal.spark.anonymize(frame, **ROLES, k=5, algorithm="mondrian", output="r.parquet")
    assert release.frame.count() == pl.scan_parquet("r.parquet/*.parquet").select(pl.len()).collect().item()
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]


def test_a_failed_job_leaves_nothing(spark, frame, tmp_path):
    from pyspark.sql import functions as f

    broken = frame.withColumn(
        "patient_id", f.when(f.col("patient_id").isNotNull(), f.raise_error(f.lit("no")))
    )
    with pytest.raises(InputError, match="Spark gave up"):
        shoal.spark.anonymize(broken, **ROLES, k=5, algorithm="mondrian", output=tmp_path / "r.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"algorithm": "mingen"}, RecipeError, "mingen looks at every row by itself"),
        (
            {"algorithm": "mondrian(mode=relaxed)"},
            RecipeError,
            r"mondrian\(mode=relaxed\) looks at every row",
        ),
        ({"missing": "drop"}, RecipeError, "missing is 'category', not 'drop'"),
        ({"k": 10_000}, GoalNotMet, "the goal cannot be met"),
        ({"quasi": ["age", "visits"]}, InputError, "column 'visits' is array<int>, of which no codes"),
        ({"quasi": ["height"]}, RecipeError, "unknown column 'height'"),
        ({"algorithm": "hilbert", "driver_rows": 3000}, RecipeError, "hilbert has to see them all"),
        ({"render": "set", "driver_rows": 3000}, RecipeError, "render 'set' has to see them all"),
        (
            {"weights": {"age": -1}, "driver_rows": 3000},
            RecipeError,
            "mondrian takes weights from 0 up; mingen and genetic take any",
        ),
        ({"output": "r.jsonl"}, OutputError, "name it with .parquet"),
        ({"keep_metadata": True}, RecipeError, "Spark keeps neither an index nor metadata"),
        ({"driver_rows": 40}, InputError, "distinct values, more than the driver takes"),
    ],
)
def test_what_is_refused(frame, change, error, says):
    from pyspark.sql import functions as f

    strange = frame.withColumn("visits", f.array(f.lit(1), f.lit(2)))
    with pytest.raises(error, match=says):
        shoal.spark.anonymize(strange, **{**ROLES, "k": 5, "algorithm": "mondrian", **change})


def test_other_frames_are_refused():
    with pytest.raises(InputError, match="this takes a frame of Spark, not DataFrame"):
        shoal.spark.anonymize(pl.DataFrame({"a": [1]}), quasi=["a"], k=1)


@pytest.mark.exhaustive
def test_progress_names_the_stages(frame):
    told = []
    release = shoal.spark.anonymize(
        frame,
        **ROLES,
        k=20,
        algorithm="mondrian",
        driver_rows=4000,
        on_progress=lambda doing, _: told.append(doing),
    )
    release.unpersist()
    stages = list(dict.fromkeys(told))
    assert stages[:3] == ["read", "search", "cutting, level 1"]
    assert stages[-3:] == ["partitioning on executors", "recode", "verify"]


@pytest.mark.exhaustive
def test_a_worker_killed_in_the_middle_changes_nothing(cluster, spark, frame, people):
    expected = shoal.anonymize(people, **ROLES, k=5, l=2, algorithm="mondrian").frame.sort("patient_id")
    killed = threading.Event()

    def kill(doing: str, done: float) -> None:
        """End the worker and its executor, once the cluster holds counted rows."""
        if doing == "cutting, level 2" and not killed.is_set():
            killed.set()
            executor = descendants(cluster.workers[0].pid)
            for process in (cluster.workers[0].pid, *executor):
                os.kill(process, signal.SIGKILL)

    release = shoal.spark.anonymize(
        frame, **ROLES, k=5, l=2, algorithm="mondrian", driver_rows=1500, on_progress=kill
    )
    assert killed.is_set()
    assert by_row(release.frame).equals(expected)
    release.unpersist()
    cluster.workers[0] = cluster.start_worker()  # for the tests after this one


def descendants(parent: int) -> list[int]:
    """Processes that a process has started, and those that they have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in listed.splitlines():
        pid, above = map(int, line.split())
        children.setdefault(above, []).append(pid)
    found, todo = [], [parent]
    while todo:
        todo += (below := children.get(todo.pop(), []))
        found += below
    return found


def command(*arguments, **environment):
    line = [sys.executable, "-m", "shoal", *map(str, arguments)]
    return subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


@pytest.mark.exhaustive
def test_the_command_line(people, tmp_path):
    text = tmp_path / "people.csv"
    pl.read_parquet(people).write_csv(text)
    roles = ("-q", "age,sex,postcode", "-s", "diagnosis", "--identifier", "name", "-k", 5, "-a", "mondrian")
    roles += ("--others", "keep")
    engine = ("--engine", "spark", "--master", "local[2]")
    running = command(
        "anonymize",
        text,
        *roles,
        *engine,
        "-o",
        tmp_path / "r.parquet",
        "--recipe-out",
        tmp_path / "r.toml",
        "--json",
    )
    out, said = running.communicate(timeout=300)
    assert running.returncode == 0, said
    assert any("the driver searched" in note for note in json.loads(out)["notes"])
    shoal.anonymize(
        text, **{**ROLES, "plain": ()}, k=5, algorithm="mondrian", output=tmp_path / "local.parquet"
    )
    found = pl.read_parquet(tmp_path / "r.parquet" / "*.parquet").sort("patient_id")
    assert found.equals(pl.read_parquet(tmp_path / "local.parquet").sort("patient_id"))
    assert 'engine = "spark"' in (tmp_path / "r.toml").read_text()


def test_an_interrupt_ends_the_jobs(people, tmp_path):
    roles = ("-q", "age,sex,postcode,cost", "-k", 3, "-a", "mondrian", "--others", "keep")
    roles += ("--driver-rows", 100_000)
    running = command(
        "anonymize", people, *roles, "--engine", "spark", "--master", "local[1]", "-o", tmp_path / "r.parquet"
    )
    deadline = time.monotonic() + 120
    while not any(b"SparkSubmit" in name for name in names(descendants(running.pid))):
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.1)
    java = descendants(running.pid)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted; no unfinished file is left behind" in said
    assert list(tmp_path.iterdir()) == []
    while any(b"SparkSubmit" in name for name in names(java)):
        assert time.monotonic() < deadline + 60
        time.sleep(0.1)


def names(processes):
    for process in processes:
        try:
            with Path(f"/proc/{process}/cmdline").open("rb") as file:
                yield file.read()
        except OSError:
            continue
