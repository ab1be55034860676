"""What the command line shows while it works, and at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from numba.core.event import Listener, install_listener
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from shoal.report import Report
from shoal.report.terminal import show_report

Progress = Callable[[str, float], None]


def console(stderr: bool = False) -> Console:
    """The terminal, or plain text where there is none."""
    return Console(stderr=stderr, highlight=False)


@contextmanager
def progress(hidden: bool) -> Iterator[Progress]:
    """A bar on standard error while something takes long, when somebody is looking."""
    screen = console(stderr=True)
    if hidden or not screen.is_terminal:
        yield lambda doing, done: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        compiling = _Compiling(lambda: bar.update(task, description="compiling, once on a machine"))
        with install_listener("numba:compile", compiling):
            yield lambda doing, done: bar.update(task, description=doing, completed=done)


class _Compiling(Listener):
    """Hears of kernels that are compiled: the first run takes much longer than all others."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say

    def on_start(self, event: object) -> None:
        self._say()

    def on_end(self, event: object) -> None:
        pass


def show(report: Report, as_json: bool, quiet: bool) -> None:
    """Show the report of a run."""
    if as_json:
        typer.echo(json.dumps(report.to_dict()))
    elif not quiet:
        show_report(console(), report)
