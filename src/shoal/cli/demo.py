"""The demonstration: the main job on a shipped table, start to finish."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.algorithms import Progress
from shoal.errors import OutputError
from shoal.files import whole_file
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipe import Recipe
from shoal.report.terminal import columns_table, models_table, percent, seconds_line
from shoal.run import Release, run
from shoal.samples import SAMPLES, write_hierarchies, write_sample
from shoal.table import read

_SAMPLE = SAMPLES["hospital"]
_TREES = ("postcode", "education", "occupation", "marital_status")


def play(folder: Path, console: Console, on_progress: Progress) -> None:
    """Make a table, anonymize it, and show every step on ``console``; the files stay in ``folder``."""
    recipe = _prepare(folder)
    release = run(recipe, on_progress=on_progress)
    recipe_file = folder / "recipe.toml"
    with whole_file(recipe_file) as stream:
        stream.write(recipe.to_toml(folder).encode())
    _show_table(console)
    _show_roles(console)
    _show_excerpt(console, release)
    _show_result(console, release)
    _show_files(console, folder, recipe, recipe_file)


def _prepare(folder: Path) -> Recipe:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from error
    raw, trees = folder / "hospital.csv", folder / "hierarchies"
    write_sample("hospital", raw)
    write_hierarchies("hospital", trees)
    roles: dict[str, tuple[str, ...]] = {
        role: tuple(column for column, its in _SAMPLE.roles.items() if its == role)
        for role in ("quasi", "sensitive", "identifier", "plain")
    }
    return Recipe(
        quasi=roles["quasi"],
        sensitive=roles["sensitive"],
        identifier=roles["identifier"],
        plain=roles["plain"],
        models=(KAnonymity(5), DistinctL(3)),
        input=str(raw),
        output=str(folder / "release.csv"),
        hierarchies=tuple(f"{column}={trees / column}.csv" for column in _TREES),
    )


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def _show_table(console: Console) -> None:
    _title(console, "The table")
    text = f"{_SAMPLE.rows:,} rows: {_SAMPLE.description}."
    console.print(Padding(text, (0, 0, 0, 2)))


def _show_roles(console: Console) -> None:
    _title(console, "The roles of its columns, and why")
    table = Table(box=None, pad_edge=False, show_header=False)
    colour = {"quasi": "yellow", "sensitive": "red", "identifier": "magenta", "plain": "dim"}
    for column, role in _SAMPLE.roles.items():
        table.add_row(column, Text(role, colour[role]), Text(_SAMPLE.why[column], "dim"))
    console.print(Padding(table, (0, 0, 0, 2)))


def _show_excerpt(console: Console, release: Release) -> None:
    """The first people, each before and after, one line per column: that fits any terminal."""
    report = release.report
    people = 3 if console.width >= 130 else 2
    columns = [*report.quasi, *report.sensitive]
    before = release.table.frame.select(columns).head(people)
    after: pl.DataFrame = read(release.frame).frame.select(columns).head(people)
    _title(console, f"The first {people} people, before and after")
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True, min_width=max(map(len, columns)))
    for person in range(people):
        table.add_column(f"{person + 1} before", overflow="ellipsis", no_wrap=True)
        table.add_column("after", overflow="ellipsis", no_wrap=True, max_width=24)
    for name in columns:
        cells = [_cell(frame[name][person]) for person in range(people) for frame in (before, after)]
        table.add_row(Text(name, "red" if name in report.sensitive else "yellow"), *cells)
    console.print(Padding(table, (0, 0, 0, 2)))


def _cell(value: object) -> Text:
    return Text("missing", "dim") if value is None else Text(str(value))


def _show_result(console: Console, release: Release) -> None:
    report = release.report
    _title(console, "What was promised, and what a count of the released file finds")
    console.print(Padding(models_table(report.models), (0, 0, 0, 2)))
    text = (
        f"{report.released_rows:,} rows in {report.classes:,} classes: by these columns nobody can be told "
        f"from at least {report.smallest_class - 1} others, and every class has several diagnoses."
    )
    console.print(Padding(text, (1, 0, 0, 2)))
    _title(console, f"What it cost: {percent(report.ncp)} of the detail")
    console.print(Padding(columns_table(report), (0, 0, 0, 2)))
    console.print(f"\n  {seconds_line(report.seconds)}", style="dim")


def _show_files(console: Console, folder: Path, recipe: Recipe, recipe_file: Path) -> None:
    _title(console, "Where things are")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row(str(recipe.input), Text("the table as it was", "dim"))
    table.add_row(str(recipe.output), Text("the release", "dim"))
    table.add_row(str(recipe_file), Text("the recipe: run it again with shoal run", "dim"))
    table.add_row(str(folder / "hierarchies"), Text("trees over the values of the columns", "dim"))
    console.print(Padding(table, (0, 0, 0, 2)))
    quasi, sensitive = ",".join(recipe.quasi), ",".join(recipe.sensitive)
    _title(console, "Check it yourself")
    command = f"shoal verify {recipe.output} --quasi {quasi} --sensitive {sensitive} -k 5 --l 3"
    console.print(f"  {escape(command)}\n", soft_wrap=True)
