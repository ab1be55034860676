"""The ways out: each carries a large case out, writes the release and judges the file."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from tests.robustness.fuzz import checker, entry_points, written
from tests.robustness.fuzz.cases import Case, Column
from tests.robustness.fuzz.entry_points import Outcome, UnsafeError
from tests.robustness.fuzz.large import FRAMES

import shoal
from shoal.errors import InternalError, ShoalError

SECRET = "collected by somebody zq000000000qz"
TYPES: dict[str, Any] = {
    "float": pl.Float64,
    "time": pl.Time,
    "duration": pl.Duration("us"),
    "decimal": pl.Decimal(20, 2),
    "zoned": pl.Datetime("us", "Europe/Berlin"),
    "categorical": pl.Categorical,
    "list": pl.List(pl.Int64),
}
AS_TEXT = ("csv", "cli")
"""Sources in which every cell is a text."""


def judge(case: Case) -> Outcome:
    """Carry a large case out, and judge the file that was written.

    Raises
    ------
    UnsafeError
        When something is wrong with what came back; any other exception is a bug as well.
    """
    with entry_points.folder() as place:
        outcome, report = _carry_out(case, place)
        if report is None:
            return outcome
        path = place / f"out.{case.output}"
        content, cells = written.read_path(path, case.output)
        if case.output == "jsonl" and not content:  # a private sample of nobody names no columns
            names = [column.name for column in case.columns if column.role != "identifier"]
            cells = written.Cells(names, {name: [] for name in names})
        if hidden := written.hidden_tokens(content, case.output, cells):
            raise UnsafeError(f"UNSAFE: hidden in the bytes: {sorted(hidden)[:5]}")
        release = _release(case, cells, report)
        if found := list(checker.problems(_asked(case, release), release)):
            raise UnsafeError("\n".join(found[:8]))
    return outcome


def _carry_out(case: Case, place: Path) -> tuple[Outcome, dict[str, Any] | None]:
    """Run a case; with its report, if the release was written."""
    if case.door == "cli":
        return _by_command(case, place)
    source = _source(case, place)
    people = people_of(case)
    output = place / f"out.{case.output}"
    before = {path.name for path in place.iterdir()}
    try:
        given = entry_points.arguments(case, people, row_order=case.row_order)
        if case.door in FRAMES:
            release = shoal.anonymize(source, **given)
            _put(case, release, output)
        else:
            release = shoal.anonymize(source, **given, output=output)
    except InternalError:
        raise
    except ShoalError as error:
        entry_points.nothing_but(place, before)
        _check_words(case, error)
        return Outcome(type(error).__name__, str(error)), None
    if "apply" in case.extra:
        _apply(case, release, source, place)
    return Outcome("release"), release.report.to_dict()


def _check_words(case: Case, error: ShoalError) -> None:
    """An error is one paragraph, and tells no value of an identifier."""
    if "\n\n" in str(error) or not str(error):
        raise UnsafeError(f"an error that is no paragraph: {error!r}")


def _put(case: Case, release: Any, path: Path) -> None:
    if case.output != "pickle":
        release.write(path)
        return
    frame = release.frame.collect() if case.door == "lazy" else release.frame
    path.write_bytes(pickle.dumps(frame))


def _by_command(case: Case, place: Path) -> tuple[Outcome, dict[str, Any] | None]:
    line = [*entry_points.line_of(case, place, f"out.{case.output}"), "--row-order", case.row_order]
    before = {path.name for path in place.iterdir()}
    code, out, err = entry_points.in_process(line)
    if code not in entry_points.CODES or "Traceback" in err:
        raise UnsafeError(f"exit code {code}: {err}")
    if code:
        entry_points.nothing_but(place, before)
        return Outcome(entry_points.CODES[code], err), None
    return Outcome("release"), json.loads(out)


def _apply(case: Case, release: Any, source: object, place: Path) -> None:
    """The rows themselves as later ones: what is written must hold by itself."""
    path = place / f"later.{case.output}"
    try:
        applied = release.saved_recoding().apply(source, suppress=1.0, others="keep")
        if case.output == "pickle":
            path.write_bytes(pickle.dumps(entry_points.as_polars(applied.frame)))
        else:
            applied.write(path)
    except InternalError:
        raise
    except ShoalError:
        return
    content, cells = written.read_path(path, case.output)
    if hidden := written.hidden_tokens(content, case.output, cells):
        raise UnsafeError(f"UNSAFE: hidden in the bytes of later rows: {sorted(hidden)[:5]}")
    shown = _shown(case, cells)
    sizes = checker.classes_of(checker.Release([], shown, {}, apart=shown), case.named("quasi")).sizes
    least = max((given["k"] for name, given in case.models if name == "k"), default=1)
    if min(sizes, default=least) < least:
        raise UnsafeError(f"UNSAFE: later rows were written in classes of {min(sizes)}, not {least}")


# Sources.


def _source(case: Case, place: Path) -> Any:
    """The table as the case has it: a frame of some kind, or a file."""
    if case.door in AS_TEXT:
        entry_points.write_text(place / "in.csv", case.columns)
        return place / "in.csv"
    frame = frame_of(case)
    if case.door == "jsonl":
        frame.write_ndjson(place / "in.jsonl")
        return place / "in.jsonl"
    if case.door == "parquet":
        frame.write_parquet(place / "in.parquet", metadata={"note": SECRET} if case.attached else None)
        return place / "in.parquet"
    if case.door == "arrow":
        frame.write_ipc(place / "in.arrow")
        return place / "in.arrow"
    return _NATIVE[case.door](case, frame)


def frame_of(case: Case) -> pl.DataFrame:
    """The table as a frame of polars."""
    return pl.DataFrame([_series(column, column.values, case.door) for column in case.columns])


def people_of(case: Case) -> pl.DataFrame | None:
    """The population, in the types of the table."""
    if not case.with_population:
        return None
    quasi = [column for column in case.columns if column.role == "quasi"]
    return pl.DataFrame([_series(c, (*c.values, *c.people), case.door) for c in quasi])


def _series(column: Column, values: Sequence[Any], door: str) -> pl.Series:
    if door in AS_TEXT:
        found = pl.Series([entry_points.as_cell(value) or None for value in values], dtype=pl.String)
    elif door == "jsonl":
        values = [_plain(value) for value in values]
        found = pl.Series(values, dtype=_json_type(values), strict=False)
    elif column.kind == "enum":
        found = pl.Series(values, dtype=pl.Enum(list(column.order or ())))
    elif column.kind in TYPES:
        found = pl.Series(values, dtype=TYPES[column.kind])
    else:
        return entry_points.series_of(column, values)
    return found.alias(column.name)  # only now, since polars takes a name like '^a$' for a pattern


def _plain(value: Any) -> Any:
    """A value as it stands in JSON, for which there are numbers, texts and truth values."""
    return value if value is None or isinstance(value, int | float | str) else entry_points.as_cell(value)


def _json_type(values: Sequence[Any]) -> Any:
    return None if any(value is not None for value in values) else pl.String


def _to_pandas(case: Case, frame: pl.DataFrame) -> Any:
    there, _ = entry_points.pandas_and_back()
    found = there(frame)
    if case.index:
        found = found.set_index(list(case.index))
    if case.attached:
        found.attrs["note"] = SECRET
    return found


def _to_pyarrow(case: Case, frame: pl.DataFrame) -> Any:
    found = frame.to_arrow()
    return found.replace_schema_metadata({"note": SECRET}) if case.attached else found


_NATIVE: dict[str, Any] = {
    "polars": lambda _, frame: frame,
    "lazy": lambda _, frame: frame.lazy(),
    "pandas": _to_pandas,
    "pyarrow": _to_pyarrow,
}


# What the judge is told.


def _kind(column: Column, case: Case) -> str:
    """How untouched cells of a column are read."""
    if case.door in AS_TEXT or (
        case.door == "jsonl" and column.kind not in ("int", "large", "float", "bool")
    ):
        return "text"
    if case.door == "pandas" and column.kind == "date":
        return "datetime"
    return column.kind


def _shown(case: Case, cells: written.Cells) -> dict[str, Sequence[Any]]:
    return {name: list(map(written.apart, cells.columns[name])) for name in case.named("quasi")}


def _release(case: Case, cells: written.Cells, report: dict[str, Any]) -> checker.Release:
    columns: dict[str, Sequence[Any]] = {}
    for column in case.columns:
        if column.name not in cells.columns:
            continue
        found, kind = cells.columns[column.name], _kind(column, case)
        read = written.label_of if column.role == "quasi" else written.value_of
        columns[column.name] = [read(cell, kind, cells) for cell in found]
    return checker.Release(cells.names, columns, report, apart=_shown(case, cells))


def _asked(case: Case, release: checker.Release) -> checker.Asked:
    text = case.door in AS_TEXT
    name, parameters = case.algorithm
    return checker.Asked(
        [_known(column, case, release) for column in case.columns],
        case.models,
        suppress=case.suppress,
        missing=case.missing,
        na=case.na,
        render=case.render,
        loss=case.loss,
        weights=case.weights,
        text=text,
        blank=text or case.output.startswith(("csv", "tsv", "xlsx")),
        scheme=name == "safepub",
        matching=parameters.get("semantics") == "matching",
        centre=name == "microaggregate",
        sorted=case.row_order == "released",
    )


def _known(column: Column, case: Case, release: checker.Release) -> checker.Known:
    told = release.report["columns"].get(column.name, {"kind": "flat", "type": "string"})
    people = (*column.values, *column.people) if case.with_population and column.role == "quasi" else ()
    cells = tuple(_original(cell, column, case) for cell in column.values)
    kind = told["kind"]
    if case.algorithm[0] == "safepub" and kind == "flat":
        kind = "number" if told["type"] in ("integer", "float", "date") else kind
        cells = tuple(entry_points.exact(cell, told["type"]) for cell in cells)
    return checker.Known(
        column.name,
        column.role,
        cells,
        kind,
        told["type"],
        column.order,
        column.tree,
        tuple(_original(cell, column, case) for cell in people),
    )


def _original(cell: Any, column: Column, case: Case) -> Any:
    """A cell of the table as the judge compares it."""
    if case.door in AS_TEXT:
        return entry_points.as_cell(cell)
    if cell is None:
        return None
    if case.door == "jsonl":
        return _plain(cell)
    if case.door == "pandas" and column.kind == "date":
        return entry_points.midnight(cell)
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        return cell.astimezone(UTC)
    if isinstance(cell, float) and case.output == "xlsx":
        return float(f"{cell:.15g}")  # as many digits as a sheet has
    if column.role == "quasi" and isinstance(cell, time | timedelta):
        return written.iso_text(cell)
    return cell
