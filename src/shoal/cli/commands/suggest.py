"""``shoal suggest``: a recipe for a table, with reasons."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

from shoal.assessment.risks import suggest_for_table
from shoal.assessment.risks.terminal import show_suggestion
from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console, print_if_json, progress
from shoal.table import check_writable, read_table
from shoal.table.native import leave_everything_out


def suggest(
    input: o.TableFile,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=o.RELEASE,
            metavar="FILE",
            help="Write the recipe (TOML) with the reasons as comments, for 'shoal run'.",
        ),
    ] = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    query: o.Query = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Propose types, roles and hierarchies for a table, with reasons, and a recipe that runs as it is.

    [bold]shoal suggest people.csv -o recipe.toml && shoal run recipe.toml[/bold]

    Columns are known by their names (English, German, French, Spanish), by their values (e-mail addresses,
    IBANs, ...) and by how they tell rows apart. It is a proposal: go through the reasons.
    """
    if output:
        check_writable(output, [input])
    reading = a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal, query=query)
    with progress(quiet) as on_progress:
        on_progress("read", 0.0)
        found = suggest_for_table(
            read_table(input, reading, left_out=leave_everything_out), reading, on_progress
        )
    if output:
        found.write(output)
    if print_if_json(found.to_dict, as_json, quiet):
        show_suggestion(make_console(), found, quote(str(output)) if output else None)
