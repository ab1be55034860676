"""The engine is chosen by size, and says so."""

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.engines import select_engine

ROLES = {"quasi": ["age", "sex"], "identifier": ["name"], "k": 3, "algorithm": "mondrian"}


@pytest.fixture
def table(tmp_path):
    rows = 200
    frame = pl.DataFrame(
        {"name": map(str, range(rows)), "age": [i % 30 for i in range(rows)], "sex": ["f", "m"] * (rows // 2)}
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(select_engine, "_available", lambda: 10_000)


def test_what_fits_is_taken_into_memory(table):
    release = shoal.anonymize(table / "t.csv", **ROLES, output=table / "r.csv")
    assert isinstance(release.frame, pl.DataFrame)
    assert not any("memory" in note for note in release.report.notes)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_does_not_stays_on_disk(table, suffix, monkeypatch):
    expected = shoal.anonymize(pl.read_csv(table / "t.csv", infer_schema=suffix != "csv"), **ROLES)
    monkeypatch.setattr(select_engine, "_SHARE", 1000.0)
    assert select_engine.fit_to_memory(expected.recipe, table / f"t.{suffix}")[0].memory is None
    monkeypatch.undo()
    monkeypatch.setattr(select_engine, "_estimate", lambda path: 1 << 50)
    release = shoal.anonymize(table / f"t.{suffix}", **ROLES, output=table / f"r.{suffix}")
    assert isinstance(release.frame, pl.LazyFrame)
    assert release.frame.collect().equals(expected.frame)
    assert "the rows stay on disk, because the table would take about" in release.report.notes[-1]


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("change", "why"),
    [({"output": None}, "name an output"), ({"algorithm": "cluster"}, "looks at every row by itself")],
)
def test_what_cannot_stay_there_is_taken_whole(table, change, why):
    release = shoal.anonymize(table / "t.csv", **{**ROLES, "output": table / "r.csv", **change})
    assert isinstance(release.frame, pl.DataFrame)
    assert why in release.report.notes[-1]


def test_a_frame_is_in_memory_already(table, little_memory):
    release = shoal.anonymize(pl.read_csv(table / "t.csv"), **ROLES)
    assert not any("memory" in note for note in release.report.notes)


def test_the_memory_there_is():
    assert 1 << 20 < select_engine._available() < 1 << 60


@pytest.mark.parametrize(
    ("more", "says"), [((), "the rows stay on disk"), (("-a", "cluster"), "taken whole")]
)
def test_the_command_line_says_so_too(table, more, says, capsys, monkeypatch):
    monkeypatch.setattr(select_engine, "_estimate", lambda path: 1 << 50)
    roles = ("-q", "age,sex", "--identifier", "name", "-k", "3")
    line = ("anonymize", str(table / "t.csv"), *roles, *more, "-o", str(table / "r.csv"))
    assert run_to_end(run_command_line, line) == (0, "")
    assert says in " ".join(capsys.readouterr().out.split())
