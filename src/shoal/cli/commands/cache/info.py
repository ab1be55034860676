"""``shoal cache info``: where compiled kernels are."""

from __future__ import annotations

import json
from typing import Any

import typer

from shoal.cli import options as o
from shoal.cli.commands.cache import format_size
from shoal.kernels import store


def info(as_json: o.AsJson = False, debug: o.Debug = False) -> None:
    """Show where compiled kernels are, and how much room they take."""
    ready, kept, now = store.ready_kernels(), store.list_builds(), store.make_build_name()
    if as_json:
        _print_json(ready, kept, now)
        return
    folder = next(iter(store.kernel_folders()), None)
    typer.echo(f"kernels in the package  {format_size(ready.kernels, ready.bytes)}")
    typer.echo(f"the folder for others   {folder or 'there is none: set SHOAL_CACHE'}")
    for each in kept:
        mark = "  (this version)" if each.folder.name == now else ""
        typer.echo(f"  {each.folder.name:<34}  {format_size(each.kernels, each.bytes)}{mark}")
    if not kept:
        typer.echo("  nothing is kept")


def _print_json(ready: Any, kept: Any, now: str) -> None:
    builds = [
        {"folder": str(folder), "kernels": kernels, "bytes": size, "now": folder.name == now}
        for folder, kernels, size in kept
    ]
    package = {"kernels": ready.kernels, "bytes": ready.bytes}
    typer.echo(json.dumps({"build": now, "package": package, "kept": builds}))
