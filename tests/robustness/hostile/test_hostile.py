"""Input that means ill: it is refused, or it does no harm."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import polars as pl
import pytest
import zstandard

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError, RecipeError
from shoal.table import formats, read_table

PEOPLE = "age,sex\n21,f\n22,m\n23,f\n24,m\n"
RECIPE = """\
[table]
input = "{input}"
[columns]
quasi = ["age"]
[goal]
models = ["k(k=2)"]
[release]
output = "{output}"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table in it, in which the test stands."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*line: str) -> tuple[int, str]:
    return run_to_end(run_command_line, line)


# Formulas.

WIDE = ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x"]  # the same signs as wide as an ideograph
RUN = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", *WIDE]
KEPT = ["-5", "+7", "-1.5e3", "a=b", "x", "'=1"]


def formulas(place: Path, *options: str) -> tuple[list[str], list[str], list[str]]:
    """Cells of a plain column, before and after, and the names after, in a run with such options."""
    cells = [*RUN, *KEPT]
    with (place / "in.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(
            [["age", "=note"], *([str(i % 3), cell] for i, cell in enumerate(cells))]
        )
    line = ("anonymize", "in.csv", "-q", "age", "--plain", "=note", "-k", "3", "-o", "out.csv", "--quiet")
    assert done(*line, *options) == (0, "")
    with (place / "out.csv").open(newline="", encoding="utf-8") as stream:
        names, *rows = csv.reader(stream)
    return cells, [row[1] for row in rows], names


def test_formulas_stay_as_they_are_unless_asked(place):
    cells, after, names = formulas(place)
    assert (after, names) == (cells, ["age", "=note"])


def test_formulas_are_neutralised_when_asked(place):
    _, after, names = formulas(place, "--safe-csv")
    assert after == [*(f"'{cell}" for cell in RUN), *KEPT]
    assert names == ["age", "'=note"]


def test_formulas_are_warned_of(place):
    frame = pl.DataFrame({"age": [1, 1], "=note": ["=1+1", "x"]})
    release = shoal.anonymize(frame, others="keep", quasi=["age"], plain=["=note"], k=2, output="out.csv")
    assert "1 in '=note', the name '=note'" in release.report.warnings[-1]


# What a table says to a terminal or a browser.


def test_control_characters_do_not_reach_the_terminal(place, capsys):
    (place / "in.csv").write_text("age,s\x1b]0;x\x07\n21,a\x1b[2J\n22,b\n23,a\n24,b\n")
    assert done("anonymize", "in.csv", "-q", "age", "-k", "2", "-o", "out.csv", "--others", "keep")[0] == 0
    code, said = done("anonymize", "in.csv", "-q", "sex", "-k", "2", "--others", "keep")
    shown = capsys.readouterr()
    assert code == 2
    assert "\x1b" not in shown.out + shown.err + said
    assert r"s\x1b]0;x\x07" in said
    assert "\x1b]0;x" in (place / "out.csv").read_text()


def test_markup_in_pages_is_text(place):
    evil = "<script>alert(1)</script>"
    frame = pl.DataFrame(
        {"age": [1, 2, 3, 4], evil: ["</script><img src=x onerror=alert(1)>", "b", "a", "b"]}
    )
    shoal.anonymize(frame, others="keep", quasi=["age"], sensitive=[evil], k=2).report.to_html("page.html")
    page = (place / "page.html").read_text()
    assert evil not in page
    assert "<img src=x" not in page


# Bombs, and files of hostile size.


@pytest.mark.parametrize(("name", "pack"), [("x.csv.gz", gzip.compress), ("x.csv.zst", zstandard.compress)])
def test_what_unpacks_to_far_more_is_refused(place, monkeypatch, name, pack):
    (place / name).write_bytes(pack(b"age\n" + b"1\n" * 1_000_000))
    monkeypatch.setattr(formats, "EXPANDED", 1 << 18)
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        read_table(place / name)


def test_a_bomb_is_refused_before_it_is_unpacked(place, monkeypatch):
    (place / "x.csv.gz").write_bytes(gzip.compress(bytes(1 << 24)))
    monkeypatch.setattr(formats, "EXPANDED", 1 << 21)
    with pytest.raises(InputError, match="refused"):
        for seen, piece in enumerate(formats.read_chunks(place / "x.csv.gz", "gzip")):
            assert (seen, len(piece)) < (20, 1 << 21)


def test_what_compresses_well_is_read(place):
    (place / "x.csv.gz").write_bytes(gzip.compress(b"age\n" + b"1\n" * 100_000))
    assert read_table(place / "x.csv.gz").rows == 100_000


@pytest.mark.parametrize(
    ("megabytes", "line"),
    [
        (16, ("run", "large.toml")),
        (
            128,
            (
                "anonymize",
                "people.csv",
                "-q",
                "sex",
                "-k",
                "2",
                "--hierarchies",
                "sex=large.toml",
                "--others",
                "keep",
            ),
        ),
    ],
)
def test_files_of_hostile_size_are_refused(place, megabytes, line):
    with (place / "large.toml").open("wb") as stream:
        os.truncate(stream.fileno(), (megabytes << 20) + 1)
    code, said = done(*line)
    assert code == 2
    assert f"'large.toml' has more than {megabytes} MB" in said


def test_endless_files_are_refused(place):
    with pytest.raises(RecipeError, match="more than 16 MB"):
        shoal.Recipe.from_toml("/dev/zero")


# Paths.


def test_a_recipe_names_files_as_a_command_line_does(place):
    inner = place / "inner"
    inner.mkdir()
    (inner / "r.toml").write_text(RECIPE.format(input="../people.csv", output=place / "out.csv"))
    assert done("run", "inner/r.toml", "--quiet") == (0, "")
    assert (place / "out.csv").exists()
    (place / "out.csv").unlink()
    assert done("run", "inner/r.toml", "-o", "here.csv", "--quiet") == (0, "")
    assert not (place / "out.csv").exists()


@pytest.mark.parametrize("output", ["people.csv", "./inner/../people.csv", "link.csv", "hard.csv", "r.toml"])
def test_an_output_is_never_an_input(place, output):
    (place / "inner").mkdir()
    (place / "link.csv").symlink_to("people.csv")
    (place / "hard.csv").hardlink_to("people.csv")
    (place / "r.toml").write_text(RECIPE.format(input="people.csv", output=output))
    code, said = done("run", "r.toml")
    assert code == 2
    assert "is an input of this run" in said
    assert (place / "people.csv").read_text() == PEOPLE


def test_a_link_is_followed_and_stays(place):
    (place / "target.csv").write_text("old")
    (place / "link.csv").symlink_to("target.csv")
    (place / "new.csv").symlink_to("nothing-yet.csv")
    for name, target in (("link.csv", "target.csv"), ("new.csv", "nothing-yet.csv")):
        assert done(
            "anonymize", "people.csv", "-q", "age", "-k", "2", "-o", name, "--quiet", "--others", "keep"
        ) == (0, "")
        assert (place / name).is_symlink()
        assert not (place / target).is_symlink()
        assert (place / target).read_text().startswith("age,sex\n[")


@pytest.mark.parametrize("output", ["loop.csv", "/dev/full", "folder.csv"])
def test_no_place_for_a_file(place, output):
    (place / "loop.csv").symlink_to("loop.csv")
    (place / "folder.csv").symlink_to(place)
    with pytest.raises(OutputError):
        shoal.anonymize("people.csv", others="keep", quasi=["age"], k=2, output=output)


def test_an_address_that_does_not_answer(place):
    address = "https://127.0.0.1:9/people.csv"
    code, said = done("anonymize", address, "-q", "age", "-k", "2")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith(f"error: {address}: ")
