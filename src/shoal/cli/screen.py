"""What the command line shows while it works, and at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from numba.core.event import Listener, install_listener
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.segment import Segment
from rich.table import Column
from rich.text import Text

from shoal.cli import process
from shoal.cli.process import printable
from shoal.progress import Figures, Progress, Stage, silent
from shoal.report import Report
from shoal.report.terminal import percent, show_report


def console(stderr: bool = False) -> Console:
    """The terminal, or plain text where there is none."""
    return _Plain(stderr=stderr, highlight=False)


class _Plain(Console):
    """A terminal on which no text of a table can do more than be shown."""

    def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
        """The pieces to show, with control characters in their texts spelt out."""
        for piece in super().render(*arguments, **options):
            yield piece if piece.control else piece._replace(text=printable(piece.text))


@contextmanager
def progress(hidden: bool) -> Iterator[Progress]:
    """A bar on standard error while something takes long, when somebody is looking."""
    screen = console(stderr=True)
    if hidden or not screen.is_terminal:
        yield silent
        return
    with _View(screen) as view:
        compiling = _Compiling(lambda: view.name("compiling, once on a machine"))
        with install_listener("numba:compile", compiling):
            yield view.tell


class _View(Bar):
    """A bar, and below it how the search stands where it has figures to tell."""

    def __init__(self, screen: Console) -> None:
        self._figures: Figures | None = None
        doing = TextColumn("{task.description}", table_column=Column(no_wrap=True))
        columns = (SpinnerColumn(), doing, BarColumn(30), TimeElapsedColumn())
        super().__init__(*columns, console=screen, transient=True)
        self._task = self.add_task("starting", total=1.0)

    def name(self, doing: str) -> None:
        """Say what is being done."""
        self.update(self._task, description=doing)

    def tell(self, doing: str, done: float) -> None:
        """Say what is being done and how much of it is."""
        self._figures = doing.figures if isinstance(doing, Stage) else None
        process.lines_drawn(1 if self._figures is None else 2)
        # To rich a task that was finished once is finished: its clock would stand still.
        self.update(self._task, description=str(doing), completed=min(done, 0.999))

    def get_renderables(self) -> Iterable[RenderableType]:
        """What rich draws, many times a second."""
        yield self.make_tasks_table(self.tasks)
        if self._figures is not None:
            line = Text.from_markup(figures_line(self._figures), overflow="ellipsis")
            line.no_wrap = True  # an interrupt has to know how many lines there are
            yield Padding(line, (0, 0, 0, 2))


def figures_line(figures: Figures) -> str:
    """How a search stands, in the markup of rich."""
    told = [("best", figures.best), ("mean", figures.mean), ("bound", figures.bound)]
    parts = [f"[dim]{name}[/] {loss:.4f}" for name, loss in told if loss is not None]
    if figures.generation is not None:
        parts.insert(0, f"[dim]generation[/] {figures.generation:,}")
    if figures.gap is not None:
        parts.append(f"[dim]gap[/] {percent(figures.gap)}")
    if figures.states is not None and figures.generation is None:
        parts.append(f"{figures.states:,} [dim]states[/] · {figures.rate or 0:,.0f}[dim]/s[/]")
    return " [dim]·[/] ".join(parts)


class _Compiling(Listener):
    """Hears of kernels that are compiled: the first run takes much longer than all others."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say

    def on_start(self, event: object) -> None:
        self._say()

    def on_end(self, event: object) -> None:
        pass


def say(found: Callable[[], object], as_json: bool, quiet: bool) -> bool:
    """Print what was found as JSON if that is wanted; returns whether it is to be shown to people instead."""
    if as_json:
        typer.echo(json.dumps(found()))
    return not (as_json or quiet)


def show(report: Report, as_json: bool, quiet: bool, tables: Sequence[object] = ()) -> None:
    """Show the report of a run, and the tables that a search for optimal ones listed."""
    if say(report.to_dict, as_json, quiet):
        show_report(console(), report, tables)
