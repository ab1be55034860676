"""The judge reads what was written, as an outsider would: values are told apart as their reader does."""

import datetime as dt
import json
import os
import stat
import sys
from collections import Counter
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.engines.verifier import DatabaseVerifier
from shoal.errors import GoalNotMet, RecipeError
from shoal.recipes import release_rows


def smallest_class(path, columns) -> int:
    """Counted on the text of a CSV file, without Shoal."""
    import csv

    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return min(Counter(tuple(row[name] for name in columns) for row in rows).values())


MARKERS = ["NA", "?", "unknown", ""]


def test_apply_counts_the_text_that_it_writes(tmp_path, monkeypatch):
    """Markers of a missing value are four values to a reader of the file, one only to Shoal."""
    monkeypatch.chdir(tmp_path)
    first = [f"{i % 2},{'north' if i % 3 else ''},x{i % 4}" for i in range(24)]
    (tmp_path / "first.csv").write_text("\n".join(["sex,region,illness", *first, ""]))
    later = [f"{i % 2},{MARKERS[i % 4]},x{i % 4}" for i in range(12)]
    (tmp_path / "later.csv").write_text("\n".join(["sex,region,illness", *later, ""]))
    options = [f for marker in MARKERS[:3] for f in ("--na", marker)]
    goal = ["-q", "sex,region", "-s", "illness", "-k", "4"]
    line = [
        "anonymize",
        "first.csv",
        *goal,
        *options,
        "--recoding-out",
        "classes.json",
        "-o",
        "r.csv",
        "--quiet",
    ]
    assert run_to_end(run_command_line, line) == (0, "")
    code, said = run_to_end(
        run_command_line, ["apply", "classes.json", "later.csv", "-o", "out.csv", "--quiet"]
    )
    assert code in (0, 3), said
    if code == 0:
        assert smallest_class(tmp_path / "out.csv", ["sex", "region"]) >= 4


def times(nanoseconds):
    return pl.Series(nanoseconds, dtype=pl.Int64).cast(pl.Time)


def test_fractions_of_a_second_are_seen():
    frame = pl.DataFrame({"at": times([8 * 3600 * 10**9 + i for i in range(40)])})
    assert shoal.verify(frame, quasi=["at"], k=2).smallest_class == 1
    assert shoal.risk(frame, quasi=["at"]).smallest_class == 1
    release = shoal.anonymize(frame, quasi=["at"], k=40, algorithm="mondrian")
    assert release.frame["at"].n_unique() == 1


FINE = {
    "time": times([1, 2]),
    "datetime in nanoseconds": pl.Series([1, 2]).cast(pl.Datetime("ns")),
    "duration": pl.Series([1, 2]).cast(pl.Duration("ns")),
    "zone": pl.Series([0, 3600 * 10**6]).cast(pl.Datetime("us", "Europe/Berlin")),
    "decimal": pl.Series([Decimal("1.00000000000000000001"), Decimal("1.00000000000000000002")]),
    "float": pl.Series([0.1 + 0.2, 0.3]),
    "zero": pl.Series([0.0, -0.0]),
    "integer": pl.Series([2**62, 2**62 + 1]),
    "text": pl.Series(["a", "a "]),
    "missing": pl.Series(["", None]),
}


@pytest.mark.parametrize("name", FINE)
def test_values_are_told_apart_in_full_precision(name):
    frame = pl.DataFrame({"q": pl.concat([FINE[name]] * 3)})
    found = shoal.verify(frame, quasi=["q"], k=6)
    assert (found.classes, found.smallest_class, found.holds) == (2, 3, False)


@pytest.mark.parametrize(
    "values",
    [("34", "34.0", "3.4e1"), ('"a"', '"a "'), ("null", None), ('"34"', "34"), ("true", '"true"')],
)
def test_spellings_in_json_lines_are_told_apart(tmp_path, values):
    lines = ['{"b": 1}' if value is None else f'{{"q": {value}, "b": 1}}' for value in values]
    (tmp_path / "r.jsonl").write_text("\n".join(lines * 3))
    found = shoal.verify(tmp_path / "r.jsonl", quasi=["q", "b"], k=2 * len(values))
    assert (found.classes, found.smallest_class, found.holds) == (len(values), 3, False)


def test_nanoseconds_in_text_stay_apart(tmp_path):
    stamps = [f"2020-01-01T00:00:00.00000000{i}" for i in range(8)]
    (tmp_path / "in.csv").write_text("\n".join(["at", *stamps, ""]))
    release = shoal.anonymize(tmp_path / "in.csv", quasi=["at"], k=2, algorithm="mondrian")
    assert release.report.columns["at"]["values"] == 8
    assert release.report.ncp > 0


@pytest.mark.parametrize(
    "spellings",
    [
        ["HIV", "HIV ", "hiv", "\uff28\uff29\uff36"],
        ["HIV", "H\u200bIV", "HI\u00adV", "\ufeffHIV"],
        ["true", "True", "TRUE", " true"],
        ["NA", "", "unknown", "?"],
    ],
)
@pytest.mark.parametrize("type_of", [lambda _: pl.String, lambda _: pl.Categorical, pl.Enum])
def test_spellings_of_one_sensitive_value_do_not_make_it_diverse(spellings, type_of):
    frame = pl.DataFrame(
        {"age": [30] * 8, "illness": pl.Series(spellings * 2, dtype=type_of(spellings))},
    )
    assert shoal.verify(frame, quasi=["age"], sensitive=["illness"], l=2).models[0].achieved == 1
    with pytest.raises(GoalNotMet, match="1 distinct value"):
        shoal.anonymize(frame, quasi=["age"], sensitive=["illness"], l=4)


def test_folding_can_be_switched_off_and_never_changes_what_is_written(tmp_path):
    frame = pl.DataFrame({"age": [30] * 4, "illness": ["HIV", "HIV ", "hiv", "flu"]})
    release = shoal.anonymize(frame, quasi=["age"], sensitive=["illness"], l=2, output=tmp_path / "r.csv")
    assert release.frame["illness"].to_list() == frame["illness"].to_list()
    (spelling,) = [each for each in release.report.findings if each.id == "spelling:illness"]
    assert (spelling.severity, spelling.figure) == ("low", 2.0)
    apart = shoal.anonymize(frame, quasi=["age"], sensitive=["illness"], l=4, fold=[])
    assert [each.severity for each in apart.report.findings if each.id == "spelling:illness"] == ["high"]
    with pytest.raises(RecipeError, match="fold names 'age'"):
        shoal.anonymize(frame, quasi=["age"], sensitive=["illness"], l=2, fold=["age"])


def test_apply_refuses_columns_that_the_release_never_had():
    people = pl.DataFrame({"age": [30, 31, 40, 41] * 3, "illness": ["a", "b", "c", "d"] * 3})
    saved = shoal.anonymize(people, quasi=["age"], sensitive=["illness"], k=3).saved_recoding()
    later = people.with_columns(email=pl.lit("somebody@example.org"))
    with pytest.raises(RecipeError, match="the earlier release does not have 'email'"):
        saved.apply(later)
    assert "email" not in saved.apply(later, others="drop").frame.columns
    assert "email" in saved.apply(later, others="keep").frame.columns


def test_a_saved_recoding_that_does_not_say_its_columns_knows_the_roles(tmp_path):
    people = pl.DataFrame({"age": [30, 31, 40, 41] * 3, "note": ["a", "b", "c", "d"] * 3})
    saved = shoal.anonymize(people, quasi=["age"], plain=["note"], k=3).saved_recoding()
    saved.save(tmp_path / "classes.json")
    content = json.loads((tmp_path / "classes.json").read_text())
    del content["released"]
    (tmp_path / "classes.json").write_text(json.dumps(content))
    old = shoal.SavedRecoding.load(tmp_path / "classes.json")
    assert old.apply(people).frame.columns == ["age", "note"]
    with pytest.raises(RecipeError, match="does not have 'email'"):
        old.apply(people.with_columns(email=pl.lit("x")))


def test_a_verification_is_true_where_the_goal_holds():
    frame = pl.DataFrame({"age": [1, 1, 2]})
    assert shoal.verify(frame.head(2), quasi=["age"], k=2)
    found = shoal.verify(frame, quasi=["age"], k=2)
    assert not found
    with pytest.raises(GoalNotMet, match=r"k asked \{'k': 2\}, reached 1"):
        found.raise_for_goal()
    shoal.verify(frame.head(2), quasi=["age"], k=2).raise_for_goal()


def test_files_with_original_values_are_private(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("age,note\n" + "".join(f"{20 + i},x{i}\n" for i in range(12)))
    line = ["anonymize", "in.csv", "-q", "age", "--plain", "note", "-k", "3", "-o", "release.csv", "--quiet"]
    line += ["--report", "report.html", "--recoding-out", "classes.json", "--recipe-out", "recipe.toml"]
    (tmp_path / "report.html").write_text("an older one that everybody can read")
    assert run_to_end(run_command_line, line) == (0, "")
    assert run_to_end(run_command_line, ["risk", "in.csv", "-q", "age", "-o", "rows.csv", "--quiet"]) == (
        0,
        "",
    )
    for name in ("report.html", "classes.json", "recipe.toml", "rows.csv"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE((tmp_path / "release.csv").stat().st_mode) & 0o044


SUFFIXES = ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "arrows", "jsonl", "xlsx"]


@pytest.fixture
def release():
    people = pl.DataFrame(
        {
            "age": [20 + i % 30 for i in range(60)],
            "born": [dt.date(1990, 1, 1) + dt.timedelta(days=i % 30) for i in range(60)],
            "illness": [f"illness {i % 7}" for i in range(60)],
        }
    )
    return shoal.anonymize(
        people, quasi=["age", "born"], sensitive=["illness"], k=4, l=3, algorithm="mondrian"
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_what_was_verified_never_appears(release, tmp_path, monkeypatch, suffix):
    """Whatever goes wrong between frame and bytes: the file is judged, not the frame."""
    release.write(tmp_path / f"good.{suffix}")

    def spoil(frame):
        spoilt = pl.DataFrame(frame).with_columns(pl.all().cast(pl.String))
        return spoilt.with_columns(
            age=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("27")).otherwise("age")
        )

    monkeypatch.setattr("shoal.table.writers._to_write", spoil)
    with pytest.raises(GoalNotMet, match="k asked"):
        release.write(tmp_path / f"bad.{suffix}")
    assert [path.name for path in tmp_path.iterdir()] == [f"good.{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_with_other_rows_never_appears(release, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("shoal.table.writers._to_write", lambda frame: pl.DataFrame(frame).head(56))
    with pytest.raises(shoal.errors.InternalError, match="60 rows are released, but 56 were written"):
        release.write(tmp_path / f"bad.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252", "utf-8-sig"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_text_of_every_kind_is_judged(tmp_path, encoding, newline, delimiter):
    rows = [f'{20 + i % 6}{delimiter}"caf\u00e9 {delimiter} ""{i % 2}"""{delimiter}' for i in range(24)]
    content = newline.join([delimiter.join(["age", "caf\u00e9", "none"]), *rows, ""])
    (tmp_path / "in.csv").write_bytes(content.encode(encoding))
    roles = {"quasi": ["age", "caf\u00e9"], "plain": ["none"]}
    release = shoal.anonymize(tmp_path / "in.csv", **roles, k=4, output=tmp_path / "out.csv")
    assert release.report.released_rows == 24


def test_pandas_objects_of_several_kinds(tmp_path):
    frame = pd.DataFrame({"q": pd.Series([1, "1", 1.0, None] * 4, dtype=object), "n": range(16)})
    release = shoal.anonymize(
        frame, quasi=["q"], plain=["n"], k=4, algorithm="mondrian", output=tmp_path / "r.csv"
    )
    assert release.report.smallest_class >= 4


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
@pytest.mark.parametrize("suffix", [*SUFFIXES, "memory.csv", "memory.parquet"])
def test_nobody_else_reads_a_release_before_it_is_judged(tmp_path, monkeypatch, suffix):
    (tmp_path / "in.csv").write_text("age,note\n" + "".join(f"{20 + i % 4},x{i}\n" for i in range(40)))
    (tmp_path / "old.csv").write_text("")
    (tmp_path / "old.csv").chmod(0o664)
    seen = []

    def look(*args, **named):
        (file,) = (each for each in tmp_path.iterdir() if each.suffix == ".tmp")
        seen.append(stat.S_IMODE(file.stat().st_mode))
        return judge(*args, **named)

    memory = "1GB" if suffix.startswith("memory") else None
    owner, name = (DatabaseVerifier, "verify_release") if memory else (release_rows, "read_release")
    judge = getattr(owner, name)
    monkeypatch.setattr(owner, name, look)
    settings = {"quasi": ["age"], "plain": ["note"], "k": 3, "memory": memory}
    before = os.umask(0o027)
    try:
        for name in (f"new.{suffix}", "old.csv"):
            shoal.anonymize(tmp_path / "in.csv", **settings, output=tmp_path / name)
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600]
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in (f"new.{suffix}", "old.csv")]
    assert modes == [0o640, 0o664]
