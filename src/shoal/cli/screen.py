"""What the command line shows while it works, and at the end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.segment import Segment

from shoal import __version__
from shoal.cli.process import make_printable
from shoal.kernels.compiled import could_not_keep, watch_compiling
from shoal.recipes.recipe import Recipe
from shoal.report import Report
from shoal.report.search import list_tables
from shoal.report.terminal import show_report
from shoal.support.progress import Progress, silent


def make_console(stderr: bool = False) -> Console:
    """The terminal, or plain text where there is none."""
    return _SafeConsole(stderr=stderr, highlight=False)


class _SafeConsole(Console):
    """A terminal on which no text of a table can do more than be shown."""

    def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
        """The pieces to show, with control characters in their texts spelt out."""
        for piece in super().render(*arguments, **options):
            yield piece if piece.control else piece._replace(text=make_printable(piece.text))


@contextmanager
def progress(hidden: bool) -> Iterator[Progress]:
    """A bar on standard error while something takes long, when somebody is looking."""
    screen = make_console(stderr=True)
    # Where nobody watches, a bar would only fill a log file.
    if hidden or not screen.is_terminal:
        yield silent
        return
    from shoal.cli.progress_bar import ProgressBar  # noqa: PLC0415  nobody needs it where nobody looks

    with ProgressBar(screen) as view:
        watch_compiling(lambda standing: view.update_stage(str(standing), standing.share))
        try:
            yield view.update_stage
        finally:
            watch_compiling(None)
    if could_not_keep():
        screen.print("[dim]The compiled kernels could not be kept: set SHOAL_CACHE to a folder for them.[/]")


def print_if_json(found: Callable[[], object], as_json: bool, quiet: bool) -> bool:
    """Print what was found as JSON if that is wanted; returns whether it is to be shown to people instead."""
    if as_json:
        typer.echo(json.dumps(found()))
    return not (as_json or quiet)


MADE_BY = {"version": __version__, "schema": 1}
"""Which version made a JSON object; the schema changes only if a key changes its meaning or goes."""


def compute_checksums(files: Mapping[str, str | None]) -> dict[str, str | None]:
    """SHA-256 of each file, as ``sha256sum`` tells it; None for what is no single file."""
    return {name: _hash_file(path) for name, path in files.items()}


def describe_making(recipe: Recipe, output: Path | None) -> dict[str, str]:
    """The version, and the checksums of what was read and written, for the file of a recipe."""
    files = {"input": name_source(recipe), "output": None if output is None else str(output)}
    sums = {f"{name}_sha256": found for name, found in compute_checksums(files).items() if found is not None}
    return {"version": __version__, **sums}


def name_source(recipe: Recipe) -> str | None:
    """The file of which the checksum is told: none with safepub, which tells nothing but the release."""
    return None if recipe.uses_safepub else recipe.input


def _hash_file(path: str | None) -> str | None:
    if path is None or not Path(path).is_file():
        return None
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def print_report(
    report: Report,
    as_json: bool,
    quiet: bool,
    tables: Sequence[object] = (),
    *,
    every: bool = False,
    stderr: bool = False,
    source: str | None = None,
) -> None:
    """Show the report of a run, and the tables that a search for optimal ones listed: a few, or ``every``.

    ``source`` is the file that was anonymized, of which JSON has the checksum.
    """

    def to_dict() -> dict[str, Any]:
        listed = {"tables": list_tables(tables)} if every else {}
        files = {"input": source, "output": report.output}
        return report.to_dict() | listed | {"shoal": MADE_BY, "checksums": compute_checksums(files)}

    if print_if_json(to_dict, as_json, quiet):
        show_report(make_console(stderr), report, tables, every)


def exit_by_verdict(report: Report) -> None:
    """End with the code of a goal that is not met, if a test was asked for that does not meet it."""
    if not all(model.holds for model in report.models):
        raise typer.Exit(3)
