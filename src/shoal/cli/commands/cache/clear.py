"""``shoal cache clear``: remove compiled kernels."""

from __future__ import annotations

import typer

from shoal.cli import options as o
from shoal.cli.commands.cache import format_size
from shoal.errors import OutputError
from shoal.kernels import store


def clear(quiet: o.Quiet = False, debug: o.Debug = False) -> None:
    """Remove the kernels that were compiled on this machine; they are compiled again when they are needed."""
    kept = store.list_builds()
    try:
        store.remove_kernels()
    except OSError as error:
        raise OutputError(f"cannot remove {error.filename}: {error.strerror}") from error
    if not quiet:
        typer.echo(f"removed {format_size(sum(b.kernels for b in kept), sum(b.bytes for b in kept))}")
