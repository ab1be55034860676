"""``shoal hierarchy list``: the hierarchies that ship with Shoal."""

from __future__ import annotations

import typer

from shoal.cli import options as o
from shoal.table.hierarchies import READY


def list_ready(debug: o.Debug = False) -> None:
    """List the hierarchies that ship with Shoal.

    [bold]shoal anonymize people.csv -q country --hierarchies country=@countries -k 5[/bold]
    """
    width = max(map(len, READY)) + 1
    for each in READY.values():
        typer.echo(f"{'@' + each.name:<{width}}  {each.description}")
