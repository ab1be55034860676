"""``shoal apply`` judges what it writes: every format in and out, with and without the earlier release.

The counts are made on the written files, by readers of their own.
"""

import csv
import json
from collections import Counter

import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import GoalNotMet, RecipeError
from shoal.recipes.saved_recoding import SavedRecoding

MARKERS = ["NA", "?", "unknown", ""]
ROLES = {"quasi": ["sex", "region", "dose"], "sensitive": ["illness"], "na": MARKERS[:3], "k": 4}
FORMATS = ["csv", "jsonl", "parquet"]


def people(rows, missing):
    """Rows whose missing values are spelt in some ways; every class is large if these are one."""
    regions = [missing[i // 4 % len(missing)] if i % 2 else "north" for i in range(rows)]
    return pl.DataFrame(
        {
            "sex": ["f"] * rows,
            "region": pl.Series(regions, dtype=pl.String),
            "dose": ["0.5"] * rows,
            "illness": [f"x{i % 4}" for i in range(rows)],
        }
    )


def put(frame, path):
    write = {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}
    write[path.suffix](path)
    return path


def rows_of(path):
    """The cells of the quasi-identifiers as they stand in a file."""
    if path.suffix == ".csv":
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
    elif path.suffix == ".jsonl":
        rows = [json.loads(line, parse_float=str, parse_int=str) for line in path.read_text().splitlines()]
    else:
        rows = pl.read_parquet(path).to_dicts()
    return [tuple(row.get(name) for name in ROLES["quasi"]) for row in rows]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    first = put(people(40, [None]), folder / "first.csv")
    made = shoal.anonymize(first, **ROLES, algorithm="mondrian")
    made.saved_recoding().save(folder / "classes.json")
    for suffix in FORMATS:
        made.write(folder / f"release.{suffix}")
    return folder


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("out", FORMATS)
@pytest.mark.parametrize("into", FORMATS)
def test_what_is_written_holds_what_is_said(release, into, out, joins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # An empty cell is missing in delimited text only.
    source = put(people(16, MARKERS if into == "csv" else MARKERS[:3]), tmp_path / f"later.{into}")
    earlier = ["--earlier", str(release / f"release.{out}")] if joins else []
    line = ["apply", str(release / "classes.json"), str(source), *earlier, "-o", f"out.{out}", "--quiet"]
    assert run_to_end(run_command_line, line) == (0, "")
    written = rows_of(tmp_path / f"out.{out}")
    before = rows_of(release / f"release.{out}") if joins else []
    counted = Counter([*before, *written])
    assert min(counted[row] for row in written) >= ROLES["k"]


def test_markers_are_written_as_the_release_writes_them(release, tmp_path):
    source = put(people(16, MARKERS), tmp_path / "later.csv")
    applied = SavedRecoding.load(release / "classes.json").apply(source)
    assert applied.suppressed_rows == 0
    applied.write(tmp_path / "out.csv")
    assert {row[1] for row in rows_of(tmp_path / "out.csv")} == {"north", ""}


def test_a_column_that_the_earlier_release_did_not_have(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    later = people(16, [None]).with_columns(email=pl.format("person{}@home", pl.int_range(16)))
    put(later, tmp_path / "later.csv")
    saved = SavedRecoding.load(release / "classes.json")
    with pytest.raises(RecipeError, match="the earlier release does not have 'email'"):
        saved.apply(later)
    line = ["apply", str(release / "classes.json"), "later.csv", "-o", "out.csv", "--quiet"]
    code, said = run_to_end(run_command_line, line)
    assert (code, "does not have 'email'" in said) == (2, True)
    assert not (tmp_path / "out.csv").exists()
    assert run_to_end(run_command_line, [*line, "--others", "drop"]) == (0, "")
    assert "@home" not in (tmp_path / "out.csv").read_text()
    assert run_to_end(run_command_line, [*line, "--others", "keep"]) == (0, "")
    assert "@home" in (tmp_path / "out.csv").read_text()


def test_the_rows_are_judged_as_a_whole(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    later = people(16, [None]).with_columns(email=pl.format("person{}@home", pl.int_range(16)))
    put(later, tmp_path / "later.csv")
    saved = SavedRecoding.load(release / "classes.json")
    assert saved.apply(people(16, [None])).verification.findings == ()
    (found,) = saved.apply(later, others="keep").verification.findings
    assert (found.id, found.severity, found.figure) == ("unique-rows", "high", 1.0)
    with pytest.raises(GoalNotMet, match="unique-rows: 100 % of the rows"):
        saved.apply(later, others="keep", strict=True)
    line = ["apply", str(release / "classes.json"), "later.csv", "-o", "out.csv", "--others", "keep"]
    code, said = run_to_end(run_command_line, [*line, "--strict"])
    assert (code, "unique-rows" in said) == (3, True)
    assert not (tmp_path / "out.csv").exists()
    capsys.readouterr()
    assert run_to_end(run_command_line, [*line, "--strict", "--accept", "unique-rows=agreed", "--json"]) == (
        0,
        "",
    )
    (told,) = json.loads(capsys.readouterr().out)["findings"]
    assert (told["id"], told["accepted"]) == ("unique-rows", "agreed")
    assert run_to_end(run_command_line, line) == (0, "")
    assert "'email' alone singles out 100 %" in " ".join(capsys.readouterr().out.split())


def test_rows_that_join_an_earlier_release_are_judged_together_with_it(release):
    saved = SavedRecoding.load(release / "classes.json")
    one = people(1, [None]).with_columns(illness=pl.lit("x0"))
    applied = saved.apply(one, earlier=release / "release.csv")
    assert applied.verification.findings == ()  # alone it would be unique


def test_rows_sorted_by_what_is_left_out_and_an_order_that_tells_nothing(tmp_path):
    first = pl.DataFrame({"id": range(40), "age": [(i * 7) % 40 for i in range(40)]})
    roles = {"quasi": ["age"], "identifier": ["id"], "k": 4, "algorithm": "mondrian"}
    kept = shoal.anonymize(first, **roles).saved_recoding().apply(first)
    assert [each.id for each in kept.verification.findings] == ["row-order:id"]
    ordered = shoal.anonymize(first, **roles, row_order="released").saved_recoding().apply(first)
    assert ordered.verification.findings == ()
    assert ordered.frame["age"].to_list() == sorted(kept.frame["age"])


@pytest.mark.parametrize("joins", [False, True])
def test_what_the_order_and_other_columns_tell_of_hidden_values(joins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = pl.Series([20 + i * 7 % 60 for i in range(240)])
    first = pl.DataFrame({"age": ages, "born": 2020 - ages, "list": [[i] for i in range(240)]})
    made = shoal.anonymize(
        first, quasi=["age"], plain=["born"], identifier=["list"], k=12, algorithm="mondrian"
    )
    earlier = made.frame if joins else None
    found = made.saved_recoding().apply(first.sort("age"), earlier=earlier).verification.findings
    assert {"row-order:age", "determines:born:age"} <= {each.id for each in found if each.severity == "high"}
    made.saved_recoding().save(tmp_path / "classes.json")
    made.write(tmp_path / "release.parquet")
    first.sort("age").write_parquet(tmp_path / "later.parquet")
    line = ["apply", "classes.json", "later.parquet", "-o", "out.parquet", "--strict", "--quiet"]
    line += ["--accept", "determines:born:age=known", "--accept", "unique-rows=known"]
    line += ["--earlier", "release.parquet"] if joins else []
    code, said = run_to_end(run_command_line, line)
    assert (code, "row-order:age" in said) == (3, True)
    assert run_to_end(run_command_line, [*line, "--row-order", "released"]) == (0, "")
    assert pl.read_parquet("out.parquet")["age"].is_sorted()
