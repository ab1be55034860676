"""``shoal hierarchy convert``: a hierarchy in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as o
from shoal.cli.commands import hierarchy as h
from shoal.cli.options import option
from shoal.table.hierarchies import is_ready, read_source


def convert(
    source: h.Source,
    output: Annotated[
        Path,
        option(
            "--output",
            "-o",
            panel=h.WRITING,
            metavar="FILE",
            help="Where to write it: .csv (ARX), .toml, .tree (outline) or .txt (domains).",
        ),
    ],
    column: h.ColumnName = None,
    format: h.FormatOption = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write a hierarchy in another format.

    [bold]shoal hierarchy convert trees/job.csv -o job.toml[/bold]
    """
    h.check_output(output, format, [])
    name = column or (None if is_ready(source) else Path(source).stem)
    h.write_output(read_source(source, column), output, name, format)
    if not quiet:
        typer.echo(f"wrote {output}")
