"""What a search in Python shows while it runs: a bar in a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shoal.support.progress import Progress as Callback
from shoal.support.progress import silent

_STEPS = 1000  # a bar counts whole steps


@contextmanager
def show_progress(verbose: int | None) -> Iterator[Callback]:
    """Lend something to tell progress to: a bar where somebody looks, unless ``verbose`` is 0."""
    console = Console(stderr=True)
    if verbose == 0 or not (console.is_terminal or console.is_jupyter):
        yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("starting", total=_STEPS)
        yield lambda doing, done: bar.update(task, description=doing, completed=int(done * _STEPS))


def print_line(text: str) -> None:
    """Say a line on standard error, beside a bar if there is one."""
    Console(stderr=True, highlight=False).print(text, markup=False)
