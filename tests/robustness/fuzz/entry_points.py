"""The ways in: each carries a case out and gives back what there is to judge, in plain values."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import typer
from tests.robustness.fuzz import checker
from tests.robustness.fuzz.cases import Case, Column

import shoal
from shoal.cli import app
from shoal.cli.process import run_to_end
from shoal.errors import GoalNotMet, InternalError, ShoalError


class UnsafeError(AssertionError):
    """A release that should not have been made, or a door that was left in the wrong way."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended: with a release, or with a typed error."""

    kind: str
    """``release``, or the name of the error."""
    said: str = ""
    release: checker.Release | None = None


def judge(case: Case) -> Outcome:
    """Carry a case out and judge it.

    Raises
    ------
    UnsafeError
        When something is wrong with what came back; any other exception is a bug as well.
    """
    outcome = DOORS[case.door](case)
    release = outcome.release
    found = [] if release is None else list(checker.problems(_asked(case, release), release))
    if found:
        raise UnsafeError("\n".join(found[:8]))
    return replace(outcome, release=None)


def _asked(case: Case, release: checker.Release) -> checker.Asked:
    text = case.door in TEXT
    columns = [_known(column, case, release, text) for column in case.columns]
    name, parameters = case.algorithm
    return checker.Asked(
        columns,
        case.models,
        suppress=case.suppress,
        missing=case.missing,
        na=case.na,
        render=case.render,
        loss=case.loss,
        weights=case.weights,
        text=text,
        scheme=name == "safepub",
        matching=parameters.get("semantics") == "matching",
        centre=name == "microaggregate",
    )


def _known(column: Column, case: Case, release: checker.Release, text: bool) -> checker.Known:
    told = release.report["columns"].get(column.name, {"kind": "flat", "type": "string"})
    cells = column.values
    people = (*column.values, *column.people) if case.with_population and column.role == "quasi" else ()
    if case.door == "pandas" and column.kind == "date":  # of which pandas makes times
        cells, people = tuple(map(midnight, cells)), tuple(map(midnight, people))
    if text:
        cells, people = tuple(map(as_cell, cells)), tuple(map(as_cell, people))
    kind = told["kind"]
    if case.algorithm[0] == "safepub" and kind == "flat":
        kind = "number" if told["type"] in ("integer", "float", "date") else kind
        cells = tuple(exact(cell, told["type"]) for cell in cells)
    return checker.Known(
        column.name, column.role, cells, kind, told["type"], column.order, column.tree, people
    )


def exact(cell: Any, type: str) -> Any:
    """A value that safepub reads; whole numbers that a float does not hold count as missing to it."""
    if type == "integer" and isinstance(cell, str) and cell:
        cell = int(cell)
    return None if isinstance(cell, int) and type != "float" and abs(cell) >= 2**53 else cell


def midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day)


# Calls of the library.


def arguments(case: Case, population: object = None, **more: Any) -> dict[str, Any]:
    """The arguments for ``shoal.anonymize``."""
    return {
        **{role: case.named(role) for role in ("quasi", "sensitive", "identifier", "plain")},
        "person": next(iter(case.named("person")), None),
        "models": [model_of(name, parameters, population) for name, parameters in case.models],
        "algorithm": algorithm_of(case),
        "hierarchies": {column.name: column.tree for column in case.columns if column.tree},
        "types": {column.name: column.type for column in case.columns if column.type},
        "orders": {column.name: column.order for column in case.columns if column.order},
        "loss": case.loss,
        "weights": case.weights,
        "suppress": case.suppress,
        "missing": case.missing,
        "na": case.na,
        "render": case.render,
        "seed": case.run_seed,
        "threads": 1,
        **more,
    }


def model_of(name: str, parameters: dict[str, Any], population: object) -> Any:
    """A model as an object."""
    from shoal.privacy import MODELS

    people = {"population": population} if name in ("k-map", "delta-presence") else {}
    return MODELS[name](**parameters, **people)


def algorithm_of(case: Case) -> Any:
    """An algorithm as an object."""
    from shoal.algorithms import ALGORITHMS

    name, parameters = case.algorithm
    return ALGORITHMS[name](**parameters)


def series_of(column: Column, values: Sequence[Any]) -> pl.Series:
    """A column of a polars frame."""
    whole = [value for value in values if value is not None]
    dtype = None if whole else pl.String
    if column.kind == "float":
        dtype = pl.Float64
    return pl.Series(values, dtype=dtype).alias(column.name)


def frame_of(case: Case) -> pl.DataFrame:
    """The table."""
    return pl.DataFrame([series_of(column, column.values) for column in case.columns])


def people_of(case: Case) -> pl.DataFrame | None:
    """The population: the people in the table, and the others."""
    if not case.with_population:
        return None
    quasi = [column for column in case.columns if column.role == "quasi"]
    return pl.DataFrame([series_of(column, (*column.values, *column.people)) for column in quasi])


def typed(case: Case, convert: Callable[[pl.DataFrame], Any], back: Callable[[Any], pl.DataFrame]) -> Outcome:
    """A run on a frame in memory."""
    source, people = convert(frame_of(case)), people_of(case)
    try:
        release = shoal.anonymize(source, **arguments(case, people))
    except InternalError:
        raise
    except ShoalError as error:
        return Outcome(type(error).__name__, str(error))
    found = back(release.frame)
    _extras(case, release, source, people)
    return Outcome("release", release=_plain(back(source), found, release.report.to_dict()))


def _plain(before: pl.DataFrame, after: pl.DataFrame, report: dict[str, Any]) -> checker.Release:
    types = {
        name: (str(before.schema[name]), str(after.schema[name]))
        for name in before.columns
        if name in after.columns
    }
    cells = {series.name: series.to_list() for series in after}
    return checker.Release(after.columns, cells, report, types)


def _extras(case: Case, release: Any, source: object, people: object) -> None:
    """What else the case asks for, which must agree with the release."""
    if "again" in case.extra:
        _again(case, release, source, people)
    if "verify" in case.extra and case.algorithm[1].get("semantics") != "matching":
        _verified(case, release, people)
    if "measure" in case.extra and release.report.released_rows:
        found = shoal.measure(release.frame, case.named("quasi"), case.named("sensitive"))
        if found.k != release.report.smallest_class:
            raise UnsafeError(f"measure finds k {found.k}, the report {release.report.smallest_class}")
    if "apply" in case.extra:
        _applied(case, release, source)
    if "risk" in case.extra:
        shoal.risk(source, quasi=case.named("quasi"))


def _again(case: Case, release: Any, source: object, people: object) -> None:
    """The same seed gives the same bytes, with any number of threads."""
    if _is_drawn_anew(case):
        return
    again = shoal.anonymize(source, **arguments(case, people, threads=2))
    for name, one, other in (
        ("frame", _bytes(release.frame), _bytes(again.frame)),
        ("report", _without_time(release.report.to_dict()), _without_time(again.report.to_dict())),
    ):
        if one != other:
            raise UnsafeError(f"the same seed gave another {name}")


def _is_drawn_anew(case: Case) -> bool:
    name, parameters = case.algorithm
    return name == "safepub" and "seed" not in parameters


def _bytes(frame: Any) -> bytes:
    stream = io.BytesIO()
    as_polars(frame).write_ipc(stream)
    return stream.getvalue()


def as_polars(frame: Any) -> pl.DataFrame:
    """Any kind of frame as one of polars."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)


def _without_time(report: dict[str, Any]) -> str:
    return repr({name: value for name, value in report.items() if name != "seconds"})


def _verified(case: Case, release: Any, people: object) -> None:
    given = arguments(case, people)
    wanted = ("quasi", "sensitive", "models", "hierarchies", "types", "orders")
    found = shoal.verify(
        release.frame,
        **{name: given[name] for name in wanted},
        options=shoal.recipes.recipe.ReadOptions(na=case.na),
    )
    if not found.holds:
        raise UnsafeError(f"verify finds that it does not hold: {found}")


def _applied(case: Case, release: Any, source: object) -> None:
    """The rows of the table themselves as later rows, verified by themselves."""
    try:
        applied = release.saved_recoding().apply(source, suppress=1.0)
    except InternalError:
        raise
    except ShoalError:
        return
    if not applied.verification.holds:
        raise UnsafeError("apply gave back what does not hold")


def pandas_and_back() -> tuple[Callable[[pl.DataFrame], Any], Callable[[Any], pl.DataFrame]]:
    """To pandas, with an index that is not unique."""
    import pandas as pd

    def there(frame: pl.DataFrame) -> Any:
        found = frame.to_pandas()
        for series in frame:  # which pandas would turn into floats
            if series.dtype.is_integer() and series.has_nulls():
                found[series.name] = pd.array(series.to_list(), "Int64")
        return found.set_index(pd.Index([i // 2 for i in range(len(found))]))

    def back(frame: Any) -> pl.DataFrame:
        return pl.DataFrame([pl.from_pandas(frame.iloc[:, at]).alias(str(n)) for at, n in enumerate(frame)])

    return there, back


def from_pandas(case: Case) -> Outcome:
    """A run on a frame of pandas."""
    there, back = pandas_and_back()
    return typed(case, there, back)


# Files and the command line.


def as_cell(value: Any) -> str:
    """A value in delimited text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)


def write_text(path: Path, columns: Sequence[Column], people: bool = False) -> None:
    """Write a table, or its population, as delimited text."""
    rows = zip(*((*c.values, *(c.people if people else ())) for c in columns), strict=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([column.name for column in columns])
        writer.writerows([as_cell(value) for value in row] for row in rows)


def write_trees(folder: Path, case: Case) -> list[str]:
    """Write the hierarchies; gives the options that name them."""
    found = []
    for at, column in enumerate(column for column in case.columns if column.tree):
        path = folder / f"tree{at}.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            rows = column.tree or ()
            # A first line that begins with the name of the column would be taken for its header.
            again = rows[:1] if rows and rows[0][0] == column.name else ()
            csv.writer(stream, delimiter=";").writerows((*again, *rows))
        found.append((column.name, path))
    return [f"{name}={path}" for name, path in found]


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for a while."""
    path = Path(tempfile.mkdtemp(prefix="shoal-fuzz-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def read_text(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Read delimited text with the standard library."""
    with path.open(newline="", encoding="utf-8") as stream:
        names, *rows = csv.reader(stream)
    rows = [row or [""] for row in rows]
    return names, {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _text_release(case: Case, path: Path, report: dict[str, Any]) -> checker.Release:
    names, cells = read_text(path)
    return checker.Release(names, cells, report)


def by_path(case: Case) -> Outcome:
    """A run of the library on a file, written to a file."""
    with folder() as place:
        write_text(place / "in.csv", case.columns)
        quasi = [column for column in case.columns if column.role == "quasi"]
        if case.with_population:
            write_text(place / "people.csv", quasi, people=True)
        try:
            given = arguments(case, str(place / "people.csv"), output=place / "out.csv")
            release = shoal.anonymize(place / "in.csv", **given)
        except InternalError:
            raise
        except ShoalError as error:
            nothing_but(place, {"in.csv", "people.csv"})
            return Outcome(type(error).__name__, str(error))
        return Outcome("release", release=_text_release(case, place / "out.csv", release.report.to_dict()))


def nothing_but(place: Path, names: set[str]) -> None:
    if extra := {path.name for path in place.iterdir()} - names:
        raise UnsafeError(f"left behind: {extra}")


def line_of(case: Case, place: Path, output: str = "out.csv") -> list[str]:
    """The case as a command line; its files are written to a folder."""
    write_text(place / "in.csv", case.columns)
    quasi = [column for column in case.columns if column.role == "quasi"]
    if case.with_population:
        write_text(place / "people.csv", quasi, people=True)
    letters = {"quasi": "q", "sensitive": "s", "identifier": "x", "plain": "i", "person": "x"}
    line = ["anonymize", str(place / "in.csv"), "-o", str(place / output), "--json"]
    line += [part for name in case.named("person") for part in ("--person", name)]
    line += ["--roles", ",".join(letters[column.role] for column in case.columns)]
    line += ["--delimiter", ","]
    for column in case.columns:
        line += ["--type", f"{column.name}={column.type}"] if column.type else []
        line += ["--order", f"{column.name}={','.join(column.order)}"] if column.order else []
    for option in write_trees(place, case):
        line += ["--hierarchies", option]
    for name, parameters in case.models:
        people = {"population": place / "people.csv"} if name in ("k-map", "delta-presence") else {}
        inside = ",".join(f"{key}={value}" for key, value in {**parameters, **people}.items())
        line += ["--model", f"{name}({inside})"]
    name, parameters = case.algorithm
    line += ["--algorithm", name]
    for key, value in parameters.items():
        line += ["--set", f"{key}={value}"]
    for key, weight in case.weights.items():
        line += ["--weight", f"{key}={weight}"]
    for marker in case.na:
        line += ["--na", marker]
    line += ["--loss", case.loss, "--suppress", str(case.suppress), "--missing", case.missing]
    return [*line, "--render", case.render, "--seed", str(case.run_seed), "--threads", "1"]


CODES = {0: "release", 2: "InputError", 3: "GoalNotMet"}


def by_command(
    case: Case, run: Callable[[list[str]], tuple[int, str, str]], more: Sequence[str] = ()
) -> Outcome:
    """A run of the command line."""
    with folder() as place:
        line = [*line_of(case, place), *more]
        before = {path.name for path in place.iterdir()}
        code, out, err = run(line)
        return _ended(case, place, before, code, out, err)


def _ended(case: Case, place: Path, before: set[str], code: int, out: str, err: str) -> Outcome:
    if code not in CODES or "Traceback" in err:
        raise UnsafeError(f"exit code {code}: {err}")
    if code:
        nothing_but(place, before)
        # What a program gets, as it asked for JSON; a mistake in the options themselves comes before that.
        told = json.loads(out)["error"]["exit_code"] if out else code
        if told != code or not err.startswith(("error: ", "Usage: ")):
            raise UnsafeError(f"exit code {code} with {out!r} and {err!r}")
        return Outcome(CODES[code], err)
    return Outcome("release", release=_text_release(case, place / "out.csv", json.loads(out)))


@cache
def _built() -> Any:
    return typer.main.get_command(app)


def command(arguments: Sequence[str]) -> object:
    """Run a command as `shoal.cli.command` does, which builds all of them anew every time."""
    return _built()(args=list(arguments), prog_name="shoal")


def in_process(line: list[str]) -> tuple[int, str, str]:
    """The command line, inside this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code, said = run_to_end(command, line)
    return code, out.getvalue(), err.getvalue() + said


def as_process(line: list[str]) -> tuple[int, str, str]:
    """The command line as a user has it."""
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *line],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    return done.returncode, done.stdout, done.stderr


def by_recipe(case: Case) -> Outcome:
    """The command line writes a recipe, and the recipe is run: both give the same bytes."""
    with folder() as place:
        line = [*line_of(case, place), "--recipe-out", str(place / "r.toml")]
        before = {path.name for path in place.iterdir()}
        code, out, err = in_process(line)
        if code:
            return _ended(case, place, before, code, out, err)
        first = (place / "out.csv").read_bytes()
        again, _, said = in_process(["run", str(place / "r.toml"), "--quiet"])
        if again or ((place / "out.csv").read_bytes() != first and not _is_drawn_anew(case)):
            raise UnsafeError(f"the recipe of a run gave something else: {again} {said}")
        return Outcome("release", release=_text_release(case, place / "out.csv", json.loads(out)))


def _on_disk(case: Case) -> Outcome:
    return by_command(case, in_process, ("--memory", "1GB"))


DOORS: dict[str, Callable[[Case], Outcome]] = {
    "polars": lambda case: typed(case, lambda frame: frame, as_polars),
    "lazy": lambda case: typed(case, pl.DataFrame.lazy, as_polars),
    "pyarrow": lambda case: typed(case, pl.DataFrame.to_arrow, as_polars),
    "pandas": from_pandas,
    "text": by_path,
    "cli": lambda case: by_command(case, in_process),
    "process": lambda case: by_command(case, as_process),
    "recipe": by_recipe,
    "memory": _on_disk,
}
TEXT = ("text", "cli", "process", "recipe", "memory")
GOAL = GoalNotMet.__name__
