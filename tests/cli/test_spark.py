"""--engine spark: what is refused before a cluster is looked for."""

import os

import pytest

GOAL = ("-q", "age,sex,zip", "-s", "illness", "--identifier", "name", "-k", 3, "--engine", "spark")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "with Spark the release of a file is written by the cluster: name an output"),
        (("-o", "r.csv"), "name it with .parquet or no suffix"),
        (("-o", "r.parquet", "--algorithm", "mingen"), "auto, hilbert, lattice, mondrian (strict) and peel"),
        (("-o", "r.parquet", "--report", "r.html"), "which Spark leaves on the cluster"),
        (("-o", "r.parquet", "--memory", "1GB"), "a memory limit is for one machine"),
        (("-o", "r.parquet", "--safe-csv"), "Spark writes Parquet"),
        (("-o", "r.parquet", "--driver-rows", 0), "driver_rows must be 1 or more"),
    ],
)
def test_what_it_does_not_go_with(shoal, people, options, says):
    assert says in shoal.fails(2, "anonymize", people, *GOAL, *options)


def test_an_output_that_exists(shoal, people, write):
    write("r.parquet", "old")
    assert "r.parquet exists" in shoal.fails(2, "anonymize", people, *GOAL, "-o", "r.parquet")


def test_a_master_without_spark(shoal, people):
    said = shoal.fails(2, "anonymize", people, *GOAL[:-2], "--master", "spark://x:1", "-o", "r.parquet")
    assert "it goes with engine 'spark'" in said


def test_without_java(process, people, tmp_path):
    pytest.importorskip("pyspark")
    without = {name: value for name, value in os.environ.items() if name not in ("PATH", "JAVA_HOME")}
    done = process("anonymize", people, *GOAL, "-o", "r.parquet", env={**without, "PATH": ""})
    assert (done.returncode, done.stdout) == (2, "")
    assert "Spark runs on Java 17 or newer, and there is none on the PATH" in done.stderr
    assert list(tmp_path.iterdir()) == [people]


def test_with_an_old_spark(shoal, people, monkeypatch):
    pyspark = pytest.importorskip("pyspark")
    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    said = shoal.fails(2, "anonymize", people, *GOAL, "-o", "r.parquet")
    assert "this is Spark 3.5.1, but it takes Spark 4 or newer" in said
