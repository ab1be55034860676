"""``shoal demo``: the main job on a shipped table, start to finish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated

import polars as pl
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.algorithms import Progress
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console, progress
from shoal.engines.memory import run_in_memory
from shoal.engines.release import Release
from shoal.errors import OutputError
from shoal.kernels.compiled import seconds_compiling
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.report import Report
from shoal.report.terminal import (
    columns_table,
    format_percent,
    indent_block,
    models_table,
    plain_table,
    seconds_line,
    show_findings,
)
from shoal.support.filenames import file_names
from shoal.support.files import whole_file
from shoal.table import read_table
from shoal.table.samples import SAMPLES, write_hierarchies, write_sample

_SAMPLE = SAMPLES["hospital"]
_TREES = ("postcode", "education", "occupation", "marital_status")
# Nearly every cost occurs once, so somebody who saw a bill would find the row.
_ROLES = {**_SAMPLE.roles, "cost": "quasi"}
_WHY = {**_SAMPLE.why, "cost": "Anyone who saw the bill knows it, and hardly two are alike."}
_COLOURS = {"quasi": "yellow", "sensitive": "red", "identifier": "magenta", "plain": "dim"}


def demo(
    folder: Annotated[
        Path,
        option(
            "--folder", panel="The table", metavar="FOLDER", help="Where to put the files; made if need be."
        ),
    ] = Path("shoal-demo"),
    debug: o.Debug = False,
) -> None:
    """Do the main job on a shipped table, start to finish, and show every step."""
    with progress(False) as on_progress:
        release = run_demo(folder, on_progress)
    show_demo(make_console(), folder, release)


def run_demo(folder: Path, on_progress: Progress) -> Release:
    """Make a table in ``folder`` and anonymize it; all files stay there."""
    recipe = _prepare_recipe(folder)
    release = run_in_memory(recipe, on_progress=on_progress)
    with whole_file(folder / "recipe.toml") as stream:
        stream.write(recipe.to_toml(folder).encode())
    release.report.to_html(folder / "report.html", excerpt=True)  # these people do not exist
    return release


def show_demo(console: Console, folder: Path, release: Release) -> None:
    """Show every step of what was done."""
    _show_table(console, release)
    _show_roles(console)
    _show_excerpt(console, release)
    _show_result(console, release)
    _show_files(console, folder, release.recipe)


def _prepare_recipe(folder: Path) -> Recipe:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from error
    raw, trees = folder / "hospital.csv", folder / "hierarchies"
    write_sample("hospital", raw)
    write_hierarchies("hospital", trees)
    paths = {column: trees / name for column, name in file_names(_TREES).items()}
    return Recipe(
        quasi=_find_columns("quasi"),
        sensitive=_find_columns("sensitive"),
        identifier=_find_columns("identifier"),
        plain=_find_columns("plain"),
        models=(KAnonymity(5), DistinctL(3)),
        input=str(raw),
        output=str(folder / "release.csv"),
        hierarchies=tuple(f"{column}={path}" for column, path in paths.items()),
    )


def _find_columns(role: str) -> tuple[str, ...]:
    return tuple(column for column, its in _ROLES.items() if its == role)


def _print_title(console: Console, text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def _show_table(console: Console, release: Release) -> None:
    _print_title(console, "The table")
    size = f"{release.table.rows:,} rows, {len(release.table.names)} columns"
    console.print(indent_block(Text(f"{_SAMPLE.name}: {size}; {_SAMPLE.description}.")))


def _show_roles(console: Console) -> None:
    _print_title(console, "The roles of its columns, and why")
    table = plain_table()
    for column, role in _ROLES.items():
        table.add_row(column, Text(role, _COLOURS[role]), Text(_WHY[column], "dim"))
    console.print(indent_block(table))


def _show_excerpt(console: Console, release: Release) -> None:
    """The first two people, before and after; side by side where the terminal is wide enough."""
    _print_title(console, "The first two people, before and after")
    before, after = release.table.frame, read_table(release.frame).frame
    # The columns of two people take about 112 characters.
    groups = [(0, 1)] if console.width >= 112 else [(0,), (1,)]
    tables = [_build_excerpt(before, after, people) for people in groups]
    for number, table in enumerate(tables):
        console.print(Padding(indent_block(table), (min(number, 1), 0, 0, 0), expand=False))


def _build_excerpt(before: pl.DataFrame, after: pl.DataFrame, people: Sequence[int]) -> Table:
    """One line per column, two cells per person."""
    table = plain_table("", *(heading for n in people for heading in (f"person {n + 1}", "released as")))
    for name, role in _ROLES.items():
        cells = [
            cell for n in people for cell in (_format_cell(before, name, n), _format_cell(after, name, n))
        ]
        table.add_row(Text(name, _COLOURS[role]), *cells)
    return table


def _format_cell(frame: pl.DataFrame, column: str, row: int) -> Text:
    if column not in frame.columns:
        return Text("left out", "dim")
    return Text("missing", "dim") if frame[column][row] is None else Text(str(frame[column][row]))


def _show_result(console: Console, release: Release) -> None:
    report = release.report
    _print_title(console, "What was promised, and what a count of the released values finds")
    console.print(indent_block(models_table(report.models)))
    text = (
        f"{report.released_rows:,} rows in {report.classes:,} classes: by these columns nobody can be told "
        f"from at least {report.smallest_class - 1} others, and every class has several diagnoses."
    )
    console.print(Padding(indent_block(Text(text)), (1, 0, 1, 0), expand=False))
    show_findings(console, report.findings)
    _show_cost(console, report)


def _show_cost(console: Console, report: Report) -> None:
    _print_title(console, f"What it cost: {format_percent(report.ncp)} of the detail")
    console.print(indent_block(columns_table(report)))
    _print_title(console, "How long it took")
    console.print(indent_block(Text(seconds_line(report.seconds))))
    if compiling := seconds_compiling():
        text = f"{compiling:.2f} of them passed while kernels were compiled, once for this version"
        console.print(indent_block(Text(text)))


def _show_files(console: Console, folder: Path, recipe: Recipe) -> None:
    _print_title(console, "Where things are")
    table = plain_table()
    for path, what in (
        (recipe.input, "the table as it was"),
        (recipe.output, "the release"),
        (folder / "report.html", "the report, as a page with pictures"),
        (folder / "recipe.toml", "the recipe: all settings of this run"),
        (folder / "hierarchies", "trees over the values of four columns"),
    ):
        table.add_row(Text(str(path)), Text(what, "dim"))
    console.print(indent_block(table))
    _print_title(console, "Check it yourself, or do it again")
    release, settings = quote(str(recipe.output)), quote(str(folder / "recipe.toml"))
    for command in (f"shoal verify {release} --recipe {settings}", f"shoal run {settings}"):
        console.print(Text(f"  {command}"), soft_wrap=True)
    console.print()
