"""``shoal cache warm``: compile every kernel now."""

from __future__ import annotations

import typer

from shoal.cli import options as o
from shoal.cli.screen import progress
from shoal.errors import OutputError
from shoal.kernels import store
from shoal.kernels.every import compile_all


def warm(quiet: o.Quiet = False, debug: o.Debug = False) -> None:
    """Compile every kernel that is not there, so that no run has to: for images, and before going offline.

    [bold]SHOAL_CACHE=/opt/shoal shoal cache warm[/bold]
    """
    with progress(quiet) as on_progress:
        on_progress("looking for kernels", 0.0)
        done = compile_all()
    if done.failed:
        raise OutputError(f"{len(done.failed)} kernels could not be compiled: {done.failed[0]}")
    if done.homeless:
        folder = next(iter(store.kernel_folders()), "anywhere")
        raise OutputError(
            f"nothing can be kept in {folder}: set SHOAL_CACHE to a folder that you can write to"
        )
    if not quiet:
        typer.echo(f"compiled {done.compiled} kernels; {done.there} were there")
