"""Differential privacy, tried on pairs of tables of which one has one row more.

Three kinds of tests. By *frequency*: a release is made many times of both tables, and nothing that can be
seen may be more than e^epsilon times as likely with the row as without, plus delta. By *coupling*: both are
drawn with the same bits, so that a row that is not drawn must leave no trace in any byte, and one that is
drawn no trace but in its own class. And the *holes* that this mode once had, one by one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import beta
from tests.cases import thin_out

import shoal
from shoal.algorithms import safepub
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import ShoalError

EPSILON, DELTA = 0.5, 0.05
GOAL = f"safepub(epsilon={EPSILON},delta={DELTA})"
K = shoal.SafePub(EPSILON, DELTA).least_size()
LEVELS = "age=2,sex=0"
RUNS = 100
ALARM = 1e-12
"""How often one bound fails by chance. A pair of tables has some thousands of events at most, each with four
bounds, and there are some dozens of pairs: together they fail less than once in a million times."""

# Tables: classes far above, at and below what is released.

PEOPLE = [(33, "f")] * 60 + [(34, "m")] * 26 + [(52, "f")] * 25 + [(58, "münster")] * 60 + [(71, "f")] * 9


def lines(people: Sequence[tuple[object, object]] = PEOPLE) -> list[bytes]:
    return [f"{number},{age},{sex}".encode() for number, (age, sex) in enumerate(people)]


def write(path: Path, rows: Sequence[bytes], header: bytes = b"id,age,sex") -> Path:
    path.write_bytes(b"\n".join([header, *rows, b""]))
    return path


def settings(**more: Any) -> dict[str, Any]:
    return {
        "quasi": ["age", "sex"],
        "identifier": ["id"],
        "hierarchies": {"age": "@ages"},
        "types": {"age": "integer", "sex": "string"},
        "models": [GOAL],
        "algorithm": shoal.SafePubScheme(LEVELS),
        **more,
    }


# What can be seen of a run.


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The figures of a report, each with where it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from flat(inner, f"{path}/{at}")
    else:
        yield path, value


def as_polars(frame: Any) -> pl.DataFrame:
    return pl.DataFrame(frame)


def seen(source: Any, **more: Any) -> set[object]:
    """All events of one run that somebody could tell from others."""
    try:
        found = shoal.anonymize(source, **settings(**more))
    except ShoalError as error:
        return {("error", type(error).__name__, str(error))}
    frame, report = as_polars(found.frame), found.report.to_dict()
    del report["seconds"]
    classes = Counter(frame.rows())
    return {
        ("schema", tuple(frame.schema.items())),
        ("kind", type(found.frame)),
        ("rows", frame.height),
        *(("at least", rows) for rows in range(0, frame.height, 5)),
        *(("class", cells) for cells in classes),
        *(("class of", cells, size) for cells, size in classes.items()),
        *(("cell", cell) for row in classes for cell in row),
        *(("figure", *each) for each in flat(report)),
        *(("told", where) for where, _ in flat(report)),
        ("all warnings", tuple(report["warnings"])),
        ("all notes", tuple(report["notes"])),
    }


# The bound of differential privacy, with bounds for the frequencies.


def at_least(times: int, runs: int) -> float:
    return float(beta.ppf(ALARM, times, runs - times + 1)) if times else 0.0


def at_most(times: int, runs: int) -> float:
    return float(beta.ppf(1 - ALARM, times + 1, runs - times)) if times < runs else 1.0


def told_apart(one: list[set[object]], other: list[set[object]]) -> list[object]:
    """The events by which two tables can be told apart further than epsilon and delta allow."""
    first, second = (Counter(event for events in runs for event in events) for runs in (one, other))
    return [
        event
        for event in first.keys() | second.keys()
        for x, y in ((first[event], second[event]), (second[event], first[event]))
        if at_least(x, len(one)) > exp(EPSILON) * at_most(y, len(other)) + DELTA
    ]


def compare(one: Callable[[], set[object]], other: Callable[[], set[object]]) -> list[object]:
    return told_apart([one() for _ in range(RUNS)], [other() for _ in range(RUNS)])


def test_the_bound_finds_what_is_certain_in_one_table_and_impossible_in_the_other():
    rng = np.random.default_rng(0)
    noise = [{("rows", int(rows))} for rows in rng.binomial(60, 0.4, RUNS)]
    assert told_apart(noise, list(reversed(noise))) == []
    for leak in ("error", 61, ("class", "somebody")):
        assert told_apart([events | {leak} for events in noise], noise) == [leak]
        assert told_apart(noise, [events | {leak} for events in noise]) == [leak]
    # What happens in nine of ten runs is found as well.
    often = [events | ({"often"} if i % 10 else set()) for i, events in enumerate(noise)]
    assert told_apart(often, noise) == ["often"]


# By frequency.

ROWS = {
    "like many": b"9999,33,f",
    "of a class at the limit": b"9999,52,f",
    "of no class": b"9999,3,f",
    "missing": b"9999,,f",
    "a quote": b'9999,33,"open',
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_of_a_file_is_hidden(row, tmp_path):
    without, with_it = write(tmp_path / "a.csv", lines()), write(tmp_path / "b.csv", [*lines(), row])
    assert compare(lambda: seen(without), lambda: seen(with_it)) == []


FRAMES: dict[str, tuple[object, object]] = {"text": ("old", "f"), "the oldest": (119, "f")}


@pytest.mark.exhaustive
@pytest.mark.parametrize("person", FRAMES.values(), ids=FRAMES)
def test_a_row_of_a_frame_is_hidden(person):
    without, with_it = (pd.DataFrame(p, columns=["age", "sex"]) for p in (PEOPLE, [*PEOPLE, person]))
    given = {"identifier": []}
    assert compare(lambda: seen(without, **given), lambda: seen(with_it, **given)) == []


# By coupling: the same bits for the same rows.

NOT_DRAWN, DRAWN = b"\xff" * 8, b"\x00" * 8


class Bits:
    """Bits for the rows of a table, and for the same table with one row more at some place."""

    def __init__(self, rows: int, place: int, added: bytes, seed: int = 5) -> None:
        self.words = np.random.default_rng(seed).bytes(8 * rows)
        self.more = self.words[: 8 * place] + added + self.words[8 * place :]

    def __call__(self, size: int) -> bytes:
        (found,) = [words for words in (self.words, self.more) if len(words) == size]
        return found


NASTY = {
    "unique value": b"x,33,unheard-of",
    "missing": b"x,,f",
    "all missing": b",,",
    "stated marker": b"x,?,?",
    **{
        f"unstated marker {marker}": f"x,{marker},{marker}".encode()
        for marker in ("nan", "NA", "null", "-", ".")
    },
    "fractional": b"x,30.5,f",
    "number written otherwise": b"x,33.0,f",
    "with an exponent": b"x,3.3e1,f",
    "leading zeros": b"x,0033,f",
    "blanks": b"x, 33 , f",
    "huge": b"x,9007199254740993,f",
    "beyond floats": b"x,1e400,f",
    "negative": b"x,-33,f",
    "date": b"x,2020-12-31,2020-12-31",
    "truth": b"x,true,true",
    "text for a number": b"x,thirty-three,f",
    "not in the hierarchy": b"x,121,f",
    "the oldest": b"x,120,f",
    "a name of the hierarchy": b"x,30-39,f",
    "the root": b"x,*,*",
    "byte FF": b"x,33,\xff",
    "byte FF in the identifier": b"\xff,33,f",
    "cut character": b"x,33,\xe2\x82",
    "Latin-1": b"x,33,M\xfcnchen",
    "mark of UTF-16": b"\xff\xfe,33,f",
    "mark of UTF-8": b"\xef\xbb\xbfx,33,f",
    "NUL": b"x,33,a\x00b",
    "only NULs": b"\x00,\x00,\x00",
    "quote in a cell": b"x,33,5'10\"",
    "quoted": b'x,33,"f"',
    "quoted quote": b'x,33,"a ""b"""',
    "quoted line end": b'x,33,"a\nb"',
    "quoted delimiter": b'x,33,"a,b"',
    "open quote": b'x,33,"open',
    "open quote first": b'"x,33,open',
    "text after a quote": b'x,"33"3,f',
    "too many cells": b"x,33,f,m",
    "too few cells": b"x,33",
    "one cell": b"x",
    "blank": b"",
    "blanks only": b"   ",
    "semicolons": b"x;33;f",
    "tabs": b"x\t33\tf",
    "carriage return": b"x,33,f\r",
    "carriage return inside": b"x,33,a\rb",
    "formula": b"x,33,=1+1",
    "formula in a class of its own": b"x,33,@SUM(1)",
    "very long": b"x,33," + b"a" * 200_000,
    "the header again": b"id,age,sex",
    "no identifier": b",33,f",
    "identifier like a number": b"nan,33,f",
    "other letters": "x,33,\N{FULLWIDTH LATIN SMALL LETTER F}".encode(),
    "an emoji": "x,33,\N{WHALE}".encode(),
    "joins a class": b"x,33,f",
    "only one of its class": b"x,12,f",
}


TIMES = re.compile(rb"made at.*?UTC|\"seconds\": {.*?}")


def told(source: Path, folder: Path, *more: str) -> dict[str, Any]:
    """All that the command line says and writes, without times."""
    folder.mkdir()
    out, err = StringIO(), StringIO()
    given = ["-q", "age,sex", "--identifier", "id", "--hierarchies", "age=@ages", "--type", "age=integer"]
    given += ["--model", GOAL, "--algorithm", "safepub", "--set", f"levels={LEVELS}", "--na", "?"]
    given += ["-o", str(folder / "out.csv"), "--report", str(folder / "page.html"), "--json", *more]
    with redirect_stdout(out), redirect_stderr(err):
        code, said = run_to_end(run_command_line, ["anonymize", str(source), *given])
    files = {path.name: TIMES.sub(b"", path.read_bytes()) for path in folder.iterdir()}
    return {
        "code": code,
        "out": TIMES.sub(b"", out.getvalue().encode()),
        "err": err.getvalue() + said,
        **files,
    }


PLACES = {
    f"{place}, {missing}, {name}": (row, place, missing)
    for place, missing in (("first", "drop"), ("last", "category"), ("unfinished", "drop"))
    for name, row in NASTY.items()
    if place != "unfinished" or "quote" in name or "cell" in name or "blank" in name or "return" in name
}
"""Where the row stands: before all others, after them, and there without a line end."""


@pytest.mark.parametrize(("row", "place", "missing"), thin_out(PLACES.values(), 5), ids=PLACES)
def test_a_row_that_is_not_drawn_leaves_no_trace(row, place, missing, tmp_path, monkeypatch):
    at = 0 if place == "first" else len(PEOPLE)
    monkeypatch.setattr(safepub, "random_bytes", Bits(len(PEOPLE), at, NOT_DRAWN))
    monkeypatch.chdir(tmp_path)
    source = Path("table.csv")
    found = []
    for rows in (lines(), [*lines()[:at], row, *lines()[at:]]):
        write(source, rows)
        if place == "unfinished":
            source.write_bytes(source.read_bytes().removesuffix(b"\n"))
        found.append(told(source, Path("out"), "--missing", missing))
        Path("out").rename(f"out{len(found)}")
    assert found[0] == found[1]
    assert found[0]["code"] == 0


def counts(source: Any, **more: Any) -> tuple[Counter[Any], dict[str, Any]]:
    found = shoal.anonymize(source, **settings(**more))
    return Counter(as_polars(found.frame).rows()), found.report.to_dict()


@pytest.mark.parametrize("row", NASTY.values(), ids=NASTY)
def test_a_row_that_is_drawn_changes_its_own_class_alone(row, tmp_path, monkeypatch):
    for people in (PEOPLE, [(33, "f")] * (K - 1) + [(34, "x")] * K):
        bits = Bits(len(people), len(people), DRAWN)
        bits.words = DRAWN * len(people)
        bits.more = bits.words + DRAWN
        monkeypatch.setattr(safepub, "random_bytes", bits)
        before, report = counts(write(tmp_path / "table.csv", lines(people)), na=["?"])
        after, more = counts(write(tmp_path / "table.csv", [*lines(people), row]), na=["?"])
        assert not before - after
        assert (after - before).total() in (
            0,
            1,
            K,
        )  # none, one row more, or a class that is now large enough
        assert len(after - before) <= 1
        same = {where for where, _ in flat(report)} ^ {where for where, _ in flat(more)}
        assert same == set()
        assert report["warnings"] == more["warnings"]
        assert report["notes"] == more["notes"]


VALUES: dict[str, tuple[object, object]] = {
    "missing": (None, None),
    "not a number": (float("nan"), float("nan")),
    "pandas' missing": (pd.NA, pd.NaT),
    "fractional": (33.5, "f"),
    "float": (33.0, 33.0),
    "infinite": (float("inf"), "f"),
    "text": ("thirty-three", "f"),
    "number as text": ("33", "33"),
    "truth": (True, False),
    "large": (2**60 + 1, 2**60 + 1),
    "larger": (10**30, "f"),
    "a day": (pd.Timestamp("2020-02-03"), pd.Timestamp("2020-02-03").date()),
    "bytes": (b"33", b"\xff"),
    "a lone surrogate": (33, "\ud800"),
    "NUL": (33, "a\0b"),
    "a list": ([33], {"a": 1}),
    "a complex number": (33 + 1j, "f"),
    "joins": (33, "f"),
    "unheard of": (33, "unheard-of"),
    "long": (33, "a" * 100_000),
}


REFUSED = {("categories", "a list"), ("categories", "a lone surrogate"), ("pandas", "a lone surrogate")}
"""Of which pandas itself makes no frame."""
READ = ("read by pandas", "read by polars", "pyarrow")
WRITTEN = (
    "missing",
    "not a number",
    "fractional",
    "float",
    "text",
    "number as text",
    "truth",
    "large",
    "joins",
)
"""Values that can stand in a file for others to read."""


def from_text(people: Sequence[tuple[object, object]]) -> Any:
    text = "\n".join(["age,sex", *(f"{'' if age is None else age},{sex}" for age, sex in people)])
    return pd.read_csv(StringIO(text))


KINDS: dict[str, Callable[[Sequence[tuple[object, object]]], Any]] = {
    "pandas": lambda people: pd.DataFrame(people, columns=["age", "sex"]),
    "objects": lambda people: pd.DataFrame(people, columns=["age", "sex"], dtype=object),
    "categories": lambda people: pd.DataFrame(people, columns=["age", "sex"]).astype("category"),
    "read by pandas": from_text,
    "read by polars": lambda people: pl.from_pandas(from_text(people)),
    "pyarrow": lambda people: pa.Table.from_pandas(from_text(people)),
}


PAIRS = {
    f"{kind}, {name}": (kind, person)
    for kind in KINDS
    for name, person in VALUES.items()
    if (kind not in READ or name in WRITTEN) and (kind, name) not in REFUSED
}


@pytest.mark.parametrize("types", [{"age": "integer"}, {"age": "float"}, {"age": "string"}], ids=str)
@pytest.mark.parametrize(("kind", "person"), thin_out(PAIRS.values(), 5), ids=PAIRS)
def test_a_row_of_a_frame_that_is_not_drawn_leaves_no_trace(person, kind, types, monkeypatch):
    monkeypatch.setattr(safepub, "random_bytes", Bits(len(PEOPLE), len(PEOPLE), NOT_DRAWN))
    found = []
    for people in (PEOPLE, [*PEOPLE, person]):
        release = shoal.anonymize(
            KINDS[kind](people),
            **settings(
                identifier=[], types={**types, "sex": "string"}, algorithm=shoal.SafePubScheme("age=0,sex=0")
            ),
        )
        report = release.report.to_dict()
        del report["seconds"]
        found.append((as_polars(release.frame), type(release.frame), report))
    assert found[0][0].equals(found[1][0])
    assert found[0][0].schema == found[1][0].schema
    assert found[0][1:] == found[1][1:]


@pytest.mark.parametrize("type", ["string", "integer", "float"])
@pytest.mark.parametrize("person", [None, "text", 0.5])
def test_large_numbers_are_read_in_one_way(person, type, monkeypatch):
    # One missing value makes floats of them, which do not hold all their digits, and one text makes objects.
    people = [2**60 + 1] * 60 + [2**53 + 1] * 60 + [2**53 - 1] * 60
    monkeypatch.setattr(safepub, "random_bytes", Bits(len(people), len(people), NOT_DRAWN))
    given = settings(quasi=["age"], identifier=[], hierarchies=None, types={"age": type})
    given["algorithm"] = shoal.SafePubScheme("age=0")
    for make in (lambda ages: ages, pd.Categorical):
        frames = (pd.DataFrame({"age": make(ages)}) for ages in (people, [*people, person]))
        one, other = (shoal.anonymize(frame, **given).frame for frame in frames)
        assert one.equals(other)
        assert "9007199254740991" in set(one["age"])


# The holes, one by one. Each was seen to fail when it was open.


def test_a_sample_is_drawn_anew_every_time(tmp_path):
    path = write(tmp_path / "table.csv", lines())
    found = {
        tuple(sorted(Counter(shoal.anonymize(path, **settings()).frame.rows()).items(), key=str))
        for _ in range(8)
    }
    assert len(found) > 4


def test_a_seed_that_can_be_guessed_is_not_taken(tmp_path, capsys):
    path = write(tmp_path / "table.csv", lines())
    given = ["-q", "age,sex", "--identifier", "id", "--hierarchies", "age=@ages", "--model", GOAL]
    given += ["--algorithm", "safepub", "--set", f"levels={LEVELS}", "--seed", "20740", "--quiet"]
    code, said = run_to_end(
        run_command_line, ["anonymize", str(path), *given, "-o", str(tmp_path / "out.csv")]
    )
    assert code == 2
    assert "safepub takes no seed" in said
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.exhaustive
def test_one_identifier_does_not_decide_what_is_missing_in_others(tmp_path):
    people = [b"1,33,f"] * 62 + [b"nan,52,f"] * 62
    without = write(tmp_path / "a.csv", people)
    with_it = write(tmp_path / "b.csv", [*people, b"abc,71,f"])
    given = {"missing": "drop"}
    assert compare(lambda: seen(without, **given), lambda: seen(with_it, **given)) == []
    assert ("cell", "50-59") in seen(without, **given)


@pytest.mark.exhaustive
@pytest.mark.parametrize("age", [None, 30.5])
def test_one_age_does_not_change_how_those_of_others_are_written(age):
    people = [(30, "f")] * 60 + [(40, "m")] * 60
    without, with_it = (pd.DataFrame(p, columns=["age", "sex"]) for p in (people, [*people, (age, "f")]))
    given = {"identifier": [], "hierarchies": None, "algorithm": shoal.SafePubScheme("age=0,sex=0")}
    assert compare(lambda: seen(without, **given), lambda: seen(with_it, **given)) == []
    assert ("cell", "30") in seen(with_it, **given)


@pytest.mark.exhaustive
def test_one_byte_does_not_change_the_text_of_others(tmp_path):
    without = write(tmp_path / "a.csv", lines())
    with_it = write(tmp_path / "b.csv", [*lines(), b"x,33,\xff"])
    assert compare(lambda: seen(without), lambda: seen(with_it)) == []
    assert ("cell", "münster") in seen(with_it)


def test_a_hierarchy_does_not_tell_who_is_the_oldest():
    frame = pd.DataFrame([*PEOPLE, (119, "f")], columns=["age", "sex"])
    tree = shoal.build_hierarchy(frame, "age", "quantiles", parts=2)
    assert any("119" in name for level in tree.names[1:] for name in level)
    with pytest.raises(ShoalError, match="built from a table"):
        shoal.anonymize(frame, **settings(identifier=[], hierarchies={"age": tree}))


@pytest.mark.exhaustive
@pytest.mark.parametrize("rows", [0, K - 1])
def test_no_error_tells_the_number_of_rows(rows, tmp_path):
    without = write(tmp_path / "a.csv", lines()[:rows])
    with_it = write(tmp_path / "b.csv", lines()[: rows + 1])
    assert compare(lambda: seen(without), lambda: seen(with_it)) == []
    assert not any(event[0] == "error" for event in seen(with_it))


def test_no_figure_of_the_report_tells_the_number_of_rows(tmp_path):
    without = write(tmp_path / "a.csv", lines())
    with_it = write(tmp_path / "b.csv", [*lines(), b"x,33,f"])
    for path, rows in ((without, len(PEOPLE)), (with_it, len(PEOPLE) + 1)):
        every = [event for _ in range(20) for event in seen(path)]
        certain = [event for event, times in Counter(every).items() if times == 20]
        assert not any(str(rows) in str(value) for value in certain)
