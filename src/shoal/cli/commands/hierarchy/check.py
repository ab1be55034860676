"""``shoal hierarchy check``: what is wrong with a hierarchy."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.commands import hierarchy as h
from shoal.cli.options import flag
from shoal.cli.screen import make_console
from shoal.codespace.building import count_value_rows
from shoal.errors import RecipeError
from shoal.report.trees import show_problems, size_line, summarize_hierarchy
from shoal.table import read_table
from shoal.table.hierarchies.checking import HierarchyCheck, check_hierarchy
from shoal.table.hierarchies.sources import list_source


def check(
    source: h.Source,
    column: h.ColumnName = None,
    table: h.TableFile = None,
    fix: Annotated[
        bool, flag("--fix", h.WRITING, "Write the hierarchy with all that put right, to the file of -o.")
    ] = False,
    output: h.Written = None,
    format: h.FormatOption = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Find all that is wrong with a hierarchy, and say what would put it right.

    [bold]shoal hierarchy check trees/job.csv --table people.csv --fix -o trees/job.csv[/bold]

    Looks for levels that are not nested, values listed twice, several roots and empty labels, and with a
    table for values that the hierarchy does not have. The exit code is 0 if nothing is wrong or a fixed one
    was written, 3 if something is.
    """
    if fix != (output is not None):
        raise RecipeError("--fix and -o FILE go together: -o says where the fixed hierarchy is written")
    h.check_output(output, format, [table] if table is not None else [])
    listing = list_source(source, column)
    options = a.reading_options(delimiter, encoding, no_header, na, sheet)
    opened = None if table is None else read_table(table, options)
    name = column if opened is None else h.find_column(opened, source, column)
    checked = check_hierarchy(
        listing, () if opened is None or name is None else count_value_rows(opened, name)
    )
    h.write_output(checked.fixed, output, name, format)
    _show_check(checked, source, output, as_json, quiet)
    # 3 as for a release that fails: a script can tell it from a wrong usage, which is 2.
    raise typer.Exit(3 if checked.problems and not fix else 0)


def _show_check(
    checked: HierarchyCheck, source: str, output: Path | None, as_json: bool, quiet: bool
) -> None:
    """Show what a check found."""
    count, unused = len(checked.problems), checked.unused
    if as_json:
        problems = [asdict(problem) for problem in checked.problems]
        found = {
            "source": source,
            "problems": problems,
            "unused": unused,
            **summarize_hierarchy(checked.fixed),
        }
        typer.echo(json.dumps({**found, "output": str(output) if output else None}))
        return
    if quiet:
        return
    screen = make_console()
    verdict = "nothing is wrong" if not count else f"{count:,} {'problem' if count == 1 else 'problems'}"
    screen.print(f"{source}: {verdict}; {size_line(checked.fixed)}", markup=False, soft_wrap=True)
    if count:
        screen.print()
        show_problems(screen, checked.problems)
    if unused:
        occur = "does" if unused == 1 else "do"
        screen.print(f"  {unused:,} of its values {occur} not occur in the column", style="dim")
    if output:
        screen.print(f"  the fixed hierarchy is written to {output}", markup=False, soft_wrap=True)
