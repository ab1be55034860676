"""``shoal sample``: tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as o
from shoal.cli import standard
from shoal.cli.options import option
from shoal.cli.screen import progress
from shoal.errors import InputError
from shoal.table.samples import SAMPLES, write_hierarchies, write_sample
from shoal.table.samples.catalog import resolve_sample

_TABLE = "The table"


def sample(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which table, or 'list' to see what there is.")
    ] = "list",
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=_TABLE,
            metavar="FILE",
            help="Where to write it: .csv or .parquet; - is standard output, as CSV.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        option(
            "--rows",
            panel=_TABLE,
            metavar="N",
            help="How many rows, up to any number; memory does not grow with it.",
        ),
    ] = None,
    seed: Annotated[
        int | None, option("--seed", panel=_TABLE, metavar="N", help="Another seed makes other people.")
    ] = None,
    hierarchies: Annotated[
        Path | None,
        option(
            "--hierarchies",
            panel=_TABLE,
            metavar="FOLDER",
            help="Write the hierarchies of its columns there, one file each.",
        ),
    ] = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Make a table to try things on: realistic, and of nobody.

    [bold]shoal sample hospital -o hospital.csv --hierarchies trees[/bold]

    The same name, rows and seed make the same table.
    """
    if name == "list":
        for each in SAMPLES.values():
            typer.echo(f"{each.name}  {each.rows:,} rows by default: {each.description}")
        return
    # Refused before any file is written.
    resolve_sample(name, rows, seed)
    if output is None and hierarchies is None:
        raise InputError(f"say where to write the table, for example -o {name}.csv")
    if output is not None:
        piped = "csv" if output == standard.DASH else None
        with standard.to_standard_output(output, output, piped) as target, progress(quiet) as on_progress:
            assert target is not None
            write_sample(name, target, rows, seed, lambda done, of: on_progress("making rows", done / of))
    written = [str(output)] if output else []
    if hierarchies is not None:
        written += [str(path) for path in write_hierarchies(name, hierarchies)]
    if not quiet:
        typer.echo("\n".join(f"wrote {path}" for path in written), err=output == standard.DASH)
