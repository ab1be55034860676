"""The bar that is shown while something takes long."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from shoal.cli import process
from shoal.report.terminal import format_percent
from shoal.support.progress import SearchFigures, Stage


class ProgressBar(Bar):
    """A bar, and below it how the search stands where it has figures to tell."""

    def __init__(self, screen: Console) -> None:
        self._figures: SearchFigures | None = None
        doing = TextColumn("{task.description}", table_column=Column(no_wrap=True))
        columns = (SpinnerColumn(), doing, BarColumn(30), TimeElapsedColumn())
        super().__init__(*columns, console=screen, transient=True)
        self._task = self.add_task("starting", total=1.0)

    def update_stage(self, doing: str, done: float) -> None:
        """Say what is being done and how much of it is."""
        self._figures = doing.figures if isinstance(doing, Stage) else None
        process.remember_lines_drawn(1 if self._figures is None else 2)
        # To rich a task that was finished once is finished: its clock would stand still.
        self.update(self._task, description=str(doing), completed=min(done, 0.999))

    def get_renderables(self) -> Iterable[RenderableType]:
        """What rich draws, many times a second."""
        yield self.make_tasks_table(self.tasks)
        if self._figures is not None:
            line = Text.from_markup(format_figures(self._figures), overflow="ellipsis")
            line.no_wrap = True  # an interrupt has to know how many lines there are
            yield Padding(line, (0, 0, 0, 2))


def format_figures(figures: SearchFigures) -> str:
    """How a search stands, in the markup of rich."""
    told = [("best", figures.best), ("mean", figures.mean), ("bound", figures.bound)]
    parts = [f"[dim]{name}[/] {loss:.4f}" for name, loss in told if loss is not None]
    if figures.generation is not None:
        parts.insert(0, f"[dim]generation[/] {figures.generation:,}")
    if figures.gap is not None:
        parts.append(f"[dim]gap[/] {format_percent(figures.gap)}")
    if figures.states is not None and figures.generation is None:
        parts.append(f"{figures.states:,} [dim]states[/] · {figures.rate or 0:,.0f}[dim]/s[/]")
    return " [dim]·[/] ".join(parts)
