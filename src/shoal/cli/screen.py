"""What the command line shows while it works, and when it fails."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from shoal.errors import ShoalError
from shoal.report.terminal import show_report
from shoal.run import Release

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
        yield lambda doing, done: bar.update(task, description=doing, completed=done)


def show(release: Release, as_json: bool, quiet: bool) -> None:
    """Show the report of a run."""
    if as_json:
        print(json.dumps(release.report.to_dict()))
    elif not quiet:
        show_report(console(), release.report)


def fail(error: BaseException) -> NoReturn:
    """Say what went wrong in one paragraph, and leave with the right code."""
    code = 1
    if isinstance(error, ShoalError):
        code, text = error.exit_code, f"error: {error}"
    elif isinstance(error, KeyboardInterrupt):
        code, text = 130, "interrupted; nothing was written"
    elif isinstance(error, MemoryError):
        text = "error: not enough memory for this table"
    else:
        what = f"{type(error).__name__}: {error}"
        text = f"error: this is a bug in Shoal ({what}); run again with --debug to report it"
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
    os._exit(code)  # at once: a thread that still compiles a kernel is not waited for
