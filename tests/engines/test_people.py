"""People with several rows, where the rows stay on disk: the same release as in memory, and as few people."""

import csv
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from tests.contract.test_contract import JOBS, SETTINGS, SIZES, mixed
from tests.contract.test_people import visits

from shoal.engines.api import anonymize
from shoal.engines.disk_counting import DiskWorkspace
from shoal.engines.duckdb import DiskEngine
from shoal.errors import GoalNotMet, RecipeError

QUASI = ["age", "born", "job", "size"]
ASKED = {
    **SETTINGS,
    "quasi": QUASI,
    "person": "person",
    "hierarchies": {"job": JOBS},
    "models": ["k(k=3)"],
    "algorithm": "mondrian",
}


def read(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "visits.csv"
    visits(300).write_csv(path)
    return path


def run_both(table, folder, suffix=".csv", **asked):
    """Release a file in memory and on disk."""
    paths = [folder / f"{engine}{suffix}" for engine in ("memory", "disk")]
    found = [
        anonymize(table, **{**ASKED, **asked}, output=path, memory=memory).report
        for path, memory in zip(paths, (None, "500MB"), strict=True)
    ]
    return paths, found


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "models",
    [
        ["k(k=3)"],
        ["k(k=2)", "distinct-l(l=2)"],
        ["alpha-k(alpha=0.75,k=3)"],
        ["t(t=0.4)"],
        ["average-risk(risk=0.4)"],
    ],
    ids="+".join,
)
def test_the_release_is_that_of_the_engine_in_memory(table, tmp_path, models, suffix):
    (memory, disk), (one, two) = run_both(table, tmp_path, suffix, models=models)
    assert disk.read_bytes() == memory.read_bytes() if suffix == ".csv" else True
    assert pl.read_parquet(disk).equals(pl.read_parquet(memory)) if suffix == ".parquet" else True
    assert (two.people, two.smallest_class, two.classes) == (one.people, one.smallest_class, one.classes)
    assert two.models == one.models
    # Rows on disk are counted up to as many people as the goal needs: which columns are static is lost there.
    assert {note for note in one.notes if not note.startswith("static columns")} <= set(two.notes)
    assert two.warnings == one.warnings
    # Which column tells another is looked at in samples, of which each engine has its own.
    told = [[each for each in report.findings if "determines" not in each.id] for report in (one, two)]
    assert told[0] == told[1]


def test_people_none_of_whose_rows_are_released_are_told(table, tmp_path):
    (memory, disk), reports = run_both(
        table, tmp_path, algorithm="lattice", quasi=["age", "job"], suppress=0.3
    )
    assert disk.read_bytes() == memory.read_bytes()
    whose = {row["name"]: row["person"] or row["name"] for row in read(table)}
    for report in reports:
        assert report.suppressed_rows > 0
        assert report.people_left_out == len(set(whose.values())) - report.people > 0
        assert f"all rows of {report.people_left_out} people were left out" in report.notes


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm", ["mondrian(cut=nearest)", "mondrian(cut=classic)", "hilbert", "peel", "lattice"]
)
def test_every_algorithm_on_counted_rows_counts_people(table, tmp_path, algorithm):
    quasi = ["age", "job"] if algorithm == "lattice" else QUASI
    more = {"hierarchies": {"job": JOBS, "age": "@ages"}} if algorithm == "lattice" else {}
    (memory, disk), (one, two) = run_both(
        table, tmp_path, algorithm=algorithm, quasi=quasi, others="drop", plain=["row"], **more
    )
    assert disk.read_bytes() == memory.read_bytes()
    assert two.people == one.people


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_every_class_has_the_people_that_were_promised(table, tmp_path, suffix):
    """Counted in plain Python, by the number of each row."""
    anonymize(table, **ASKED, output=tmp_path / f"out{suffix}", memory="500MB")
    whose = {row["row"]: row["person"] or f"nobody {row['row']}" for row in read(table)}
    frame = pl.read_parquet(tmp_path / "out.parquet") if suffix == ".parquet" else None
    written = read(tmp_path / "out.csv") if frame is None else frame.iter_rows(named=True)
    people = defaultdict(set)
    for row in written:
        assert "person" not in row
        people[tuple(row[name] for name in QUASI)].add(whose[str(row["row"])])
    assert min(map(len, people.values())) >= 3


@pytest.mark.parametrize("models", [["k(k=3)"], ["k(k=2)", "distinct-l(l=2)"]], ids="+".join)
def test_with_one_row_each_the_bytes_are_those_without_the_role(tmp_path, models):
    mixed(120).write_csv(tmp_path / "table.csv")
    released = []
    for name, roles in (("rows", {"identifier": ["name"]}), ("people", {"identifier": [], "person": "name"})):
        asked = {**ASKED, "person": None, "models": models, **roles, "orders": {"size": SIZES}}
        report = anonymize(
            tmp_path / "table.csv", **asked, output=tmp_path / f"{name}.csv", memory="500MB"
        ).report
        assert report.people is None
        released.append((tmp_path / f"{name}.csv").read_bytes())
    assert released[0] == released[1]


def test_a_row_of_many_people_keeps_as_many_as_a_class_needs(tmp_path, monkeypatch):
    """Counting stops at k: the search has no more people of equal rows than that."""
    frame = pl.DataFrame({"age": [1] * 500 + [2, 2, 3], "id": [*map(str, range(500)), "a", "b", "c"]})
    frame = pl.concat([frame, frame.head(1)])  # somebody has two rows
    frame.write_csv(tmp_path / "table.csv")
    fetched = []
    count = DiskWorkspace.count_equal_rows

    def note(*arguments):
        fetched.append(count(*arguments))
        return fetched[-1]

    monkeypatch.setattr(DiskWorkspace, "count_equal_rows", note)
    asked = {"quasi": ["age"], "person": "id", "k": 4, "algorithm": "mondrian", "output": tmp_path / "o.csv"}
    report = anonymize(tmp_path / "table.csv", **asked, memory="500MB").report
    ((rows, person),) = fetched
    assert (rows.rows, np.unique(person).size) == (504, 4 + 3)
    assert (report.people, report.smallest_class) == (503, 503)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_people_are_counted_in_what_was_written(table, tmp_path, monkeypatch, suffix):
    """Not by what the search believed: if all rows are one person's, nothing is released."""
    verify = DiskEngine.verify

    def forge(engine, recoded):
        whose = engine._workspace.order
        whose.write_bytes(bytes(whose.stat().st_size))
        return verify(engine, recoded)

    monkeypatch.setattr(DiskEngine, "verify", forge)
    with pytest.raises(GoalNotMet, match=r"k asked .* reached 1"):
        anonymize(table, **ASKED, output=tmp_path / f"out{suffix}", memory="500MB")
    assert not (tmp_path / f"out{suffix}").exists()


BAD = {
    "no such column": ({"person": "nobody"}, RecipeError, "unknown column 'nobody'"),
    "more people than there are": (
        {"models": ["k(k=200)"]},
        GoalNotMet,
        r"k = 200, but the table has \d+ people",
    ),
    "an algorithm for rows": ({"algorithm": "genetic"}, RecipeError, "genetic looks at every row by itself"),
}


@pytest.mark.parametrize("memory", [None, "500MB"], ids=["in memory", "on disk"])
@pytest.mark.parametrize(("asked", "error", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_done_is_refused(table, tmp_path, asked, error, said, memory):
    said = "genetic counts rows only" if memory is None and "genetic" in said else said
    with pytest.raises(error, match=said):
        anonymize(table, **{**ASKED, **asked}, output=tmp_path / "out.csv", memory=memory)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("memory", [None, "500MB"], ids=["in memory", "on disk"])
def test_rows_without_an_id_are_counted_and_told(table, tmp_path, memory):
    report = anonymize(table, **ASKED, output=tmp_path / "out.csv", memory=memory).report
    told = "'person' is missing in 2 rows: each of them counts as a person of its own"
    assert told in report.warnings


@pytest.mark.parametrize("memory", [None, "500MB"], ids=["in memory", "on disk"])
def test_a_person_with_half_of_the_rows_counts_once(tmp_path, memory):
    rng = np.random.default_rng(4)
    ids = np.where(np.arange(400) < 200, 0, rng.integers(1, 60, 400))
    ages = rng.integers(20, 60, 400)
    pl.DataFrame({"id": ids, "age": ages, "row": range(400)}).write_csv(tmp_path / "table.csv")
    report = anonymize(
        tmp_path / "table.csv",
        quasi=["age"],
        person="id",
        plain=["row"],
        k=4,
        algorithm="mondrian",
        output=tmp_path / "out.csv",
        memory=memory,
    ).report
    people = defaultdict(set)
    for row in read(tmp_path / "out.csv"):
        people[row["age"]].add(ids[int(row["row"])])
    assert min(map(len, people.values())) == report.smallest_class >= 4
    assert any("of whom one has 200" in note for note in report.notes)
