"""The demonstration: the main job on a shipped table, start to finish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import polars as pl
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.algorithms import Progress
from shoal.errors import OutputError
from shoal.files import whole_file
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipe import Recipe
from shoal.report.terminal import columns_table, indented, models_table, percent, plain_table, seconds_line
from shoal.run import Release, run
from shoal.samples import SAMPLES, write_hierarchies, write_sample
from shoal.table import read

_SAMPLE = SAMPLES["hospital"]
_TREES = ("postcode", "education", "occupation", "marital_status")
_COLOURS = {"quasi": "yellow", "sensitive": "red", "identifier": "magenta", "plain": "dim"}


def play(folder: Path, on_progress: Progress) -> Release:
    """Make a table in ``folder`` and anonymize it; all files stay there."""
    recipe = _prepare(folder)
    release = run(recipe, on_progress=on_progress)
    with whole_file(folder / "recipe.toml") as stream:
        stream.write(recipe.to_toml(folder).encode())
    release.report.to_html(folder / "report.html", excerpt=True)  # these people do not exist
    return release


def tell(console: Console, folder: Path, release: Release) -> None:
    """Show every step of what was done."""
    _tell_table(console, release)
    _tell_roles(console)
    _tell_excerpt(console, release)
    _tell_result(console, release)
    _tell_files(console, folder, release.recipe)


def _prepare(folder: Path) -> Recipe:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from error
    raw, trees = folder / "hospital.csv", folder / "hierarchies"
    write_sample("hospital", raw)
    write_hierarchies("hospital", trees)
    return Recipe(
        quasi=_columns("quasi"),
        sensitive=_columns("sensitive"),
        identifier=_columns("identifier"),
        plain=_columns("plain"),
        models=(KAnonymity(5), DistinctL(3)),
        input=str(raw),
        output=str(folder / "release.csv"),
        hierarchies=tuple(f"{column}={trees / column}.csv" for column in _TREES),
    )


def _columns(role: str) -> tuple[str, ...]:
    return tuple(column for column, its in _SAMPLE.roles.items() if its == role)


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def _tell_table(console: Console, release: Release) -> None:
    _title(console, "The table")
    size = f"{release.table.rows:,} rows, {len(release.table.names)} columns"
    console.print(indented(Text(f"{_SAMPLE.name}: {size}; {_SAMPLE.description}.")))


def _tell_roles(console: Console) -> None:
    _title(console, "The roles of its columns, and why")
    table = plain_table()
    for column, role in _SAMPLE.roles.items():
        table.add_row(column, Text(role, _COLOURS[role]), Text(_SAMPLE.why[column], "dim"))
    console.print(indented(table))


def _tell_excerpt(console: Console, release: Release) -> None:
    """The first two people, before and after; side by side where the terminal is wide enough."""
    _title(console, "The first two people, before and after")
    before, after = release.table.frame, read(release.frame).frame
    groups = [(0, 1)] if console.width >= 112 else [(0,), (1,)]
    tables = [_excerpt(before, after, people) for people in groups]
    for number, table in enumerate(tables):
        console.print(Padding(indented(table), (min(number, 1), 0, 0, 0), expand=False))


def _excerpt(before: pl.DataFrame, after: pl.DataFrame, people: Sequence[int]) -> Table:
    """One line per column, two cells per person."""
    table = plain_table("", *(heading for n in people for heading in (f"person {n + 1}", "released as")))
    for name, role in _SAMPLE.roles.items():
        cells = [cell for n in people for cell in (_cell(before, name, n), _cell(after, name, n))]
        table.add_row(Text(name, _COLOURS[role]), *cells)
    return table


def _cell(frame: pl.DataFrame, column: str, row: int) -> Text:
    if column not in frame.columns:
        return Text("left out", "dim")
    return Text("missing", "dim") if frame[column][row] is None else Text(str(frame[column][row]))


def _tell_result(console: Console, release: Release) -> None:
    report = release.report
    _title(console, "What was promised, and what a count of the released values finds")
    console.print(indented(models_table(report.models)))
    text = (
        f"{report.released_rows:,} rows in {report.classes:,} classes: by these columns nobody can be told "
        f"from at least {report.smallest_class - 1} others, and every class has several diagnoses."
    )
    console.print(Padding(indented(Text(text)), (1, 0, 0, 0), expand=False))
    _title(console, f"What it cost: {percent(report.ncp)} of the detail")
    console.print(indented(columns_table(report)))
    _title(console, "How long it took")
    console.print(indented(Text(seconds_line(report.seconds))))


def _tell_files(console: Console, folder: Path, recipe: Recipe) -> None:
    _title(console, "Where things are")
    table = plain_table()
    for path, what in (
        (recipe.input, "the table as it was"),
        (recipe.output, "the release"),
        (folder / "report.html", "the report, as a page with pictures"),
        (folder / "recipe.toml", "the recipe: all settings of this run"),
        (folder / "hierarchies", "trees over the values of four columns"),
    ):
        table.add_row(Text(str(path)), Text(what, "dim"))
    console.print(indented(table))
    _title(console, "Check it yourself, or do it again")
    release, settings = quote(str(recipe.output)), quote(str(folder / "recipe.toml"))
    for command in (f"shoal verify {release} --recipe {settings}", f"shoal run {settings}"):
        console.print(Text(f"  {command}"), soft_wrap=True)
    console.print()
