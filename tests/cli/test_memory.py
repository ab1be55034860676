"""--memory: the rows stay on disk, the release is the same, and what does not fit is refused in time."""

import json
import sys

import pytest

GOAL = ("-q", "age,sex,zip", "-s", "illness", "--identifier", "name", "-k", 3)
CUTS = ("--algorithm", "mondrian")


def test_the_release_is_the_same(shoal, people):
    shoal.succeeds("anonymize", people, *GOAL, *CUTS, "-o", "memory.csv", "--quiet")
    out = shoal.succeeds("anonymize", people, *GOAL, *CUTS, "-o", "disk.csv", "--memory", "100MB", "--json")
    assert (shoal.folder / "disk.csv").read_bytes() == (shoal.folder / "memory.csv").read_bytes()
    assert any("within 100MB of memory" in note for note in json.loads(out)["notes"])
    shoal.succeeds("verify", "disk.csv", "-q", "age,sex,zip", "-k", 3)


@pytest.mark.slow
def test_findings_are_told_and_strict_refuses(shoal, people):
    disk = ("--memory", "100MB", *CUTS)
    in_memory = json.loads(shoal.succeeds("anonymize", people, *GOAL, *CUTS, "-o", "m.csv", "--json"))
    on_disk = json.loads(shoal.succeeds("anonymize", people, *GOAL, *disk, "-o", "d.csv", "--json"))
    assert on_disk["findings"] == in_memory["findings"]
    severe = [each["id"] for each in on_disk["findings"] if each["severity"] == "high"]
    said = shoal.fails(3, "anonymize", people, *GOAL, *disk, "-o", "r.csv", "--strict")
    assert severe
    assert all(name in said for name in severe)
    assert not (shoal.folder / "r.csv").exists()
    accepted = ("--strict", "--quiet", *(part for name in severe for part in ("--accept", f"{name}=agreed")))
    shoal.succeeds("anonymize", people, *GOAL, *disk, "-o", "r.csv", *accepted)


def test_rows_in_the_order_of_the_release(shoal, people):
    line = ("anonymize", people, *GOAL, *CUTS, "--row-order", "released", "--quiet")
    shoal.succeeds(*line, "-o", "memory.csv")
    shoal.succeeds(*line, "-o", "disk.csv", "--memory", "100MB")
    assert (shoal.folder / "disk.csv").read_bytes() == (shoal.folder / "memory.csv").read_bytes()


def test_an_earlier_release_is_replaced(shoal, people, write):
    write("r.csv", "old")
    shoal.succeeds("anonymize", people, *GOAL, "-o", "r.csv", "--memory", "100MB", "--quiet")
    assert (shoal.folder / "r.csv").read_text().startswith("age,sex,zip,illness\n")


def test_a_recipe_remembers_it(shoal, people):
    shoal.succeeds(
        "anonymize", people, *GOAL, *CUTS, "-o", "a.csv", "--memory", "1.5 GB", "--recipe-out", "r.toml"
    )
    assert 'memory = "1.5 GB"' in (shoal.folder / "r.toml").read_text()
    assert "within 1.5 GB of memory" in shoal.succeeds("run", "r.toml", "-o", "b.csv", "--json")
    assert (shoal.folder / "b.csv").read_bytes() == (shoal.folder / "a.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--memory", "lots", "-o", "r.csv"), "memory is a number with KB, MB, GB or TB, as 2GB, not 'lots'"),
        (("--memory", "1GB"), "with a memory limit the release is written as it is made: name an output"),
        (("--memory", "1GB", "-o", "r.csv", "--report", "r.html"), "give one of them"),
        (
            ("--memory", "1GB", "-o", "r.csv", "--algorithm", "mingen"),
            "there are auto, hilbert, lattice, mondrian (strict) and peel",
        ),
        (("--memory", "1GB", "-o", "r.jsonl"), "r.jsonl cannot be written in parts"),
    ],
)
def test_what_it_does_not_go_with(shoal, people, options, says):
    assert says in shoal.fails(2, "anonymize", people, *GOAL, *options)


def test_a_goal_out_of_reach(shoal, people):
    said = shoal.fails(3, "anonymize", people, "-q", "age", "-k", 13, *CUTS, "--memory", "1GB", "-o", "r.csv")
    assert "the goal cannot be met" in said


def test_without_duckdb(shoal, people, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    said = shoal.fails(2, "anonymize", people, *GOAL, "--memory", "1GB", "-o", "r.csv")
    assert "pip install shoal[scale]" in said
