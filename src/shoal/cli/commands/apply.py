"""``shoal apply``: later rows in the classes of an earlier release."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, cast

import typer

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli import standard
from shoal.cli.options import option
from shoal.cli.screen import make_console
from shoal.errors import RecipeError
from shoal.recipes.release_rows import read_rows
from shoal.recipes.saved_recoding import SavedRecoding
from shoal.recipes.settings import RowOrder
from shoal.report.terminal import show_applied
from shoal.support.files import hold_alone
from shoal.table import check_writable
from shoal.table.sources import list_files


def apply(
    recoding: Annotated[
        Path, typer.Argument(metavar="RECODING", help="What 'shoal anonymize --recoding-out' wrote.")
    ],
    input: o.TableFile,
    earlier: Annotated[
        Path | None,
        option(
            "--earlier",
            panel=o.GOAL,
            metavar="FILE",
            callback=standard.from_standard_input,
            help="The earlier release, or a folder or pattern of several: the goal has to hold for all "
            "together, not for the new rows alone.",
        ),
    ] = None,
    suppress: Annotated[
        float | None,
        option(
            "--suppress",
            panel=o.GOAL,
            metavar="SHARE",
            help="The largest share of the rows that may be suppressed; the recipe's if not said.",
        ),
    ] = None,
    others: Annotated[
        str | None,
        option(
            "--others",
            panel=o.RELEASE,
            metavar="keep|drop",
            help="What happens to columns that the earlier release does not have; an error if not said.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        option(
            "--ledger",
            panel=o.GOAL,
            metavar="FILE",
            help="A file that counts the classes of all releases so far, in place of --earlier; the new "
            "rows are added once they are written. If it does not exist, it begins with --earlier.",
        ),
    ] = None,
    hold_back: Annotated[
        Path | None,
        option(
            "--hold-back",
            panel=o.RELEASE,
            metavar="FILE",
            help="Write the rows that cannot be released yet to this private file, to give them again with "
            "the next ones.",
        ),
    ] = None,
    strict: o.Strict = False,
    accept: o.Accept = None,
    row_order: o.AnotherRowOrder = None,
    output: o.Output = None,
    out_format: o.OutFormat = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Put later rows into the classes of an earlier release.

    [bold]shoal apply classes.json new.csv --earlier release.csv -o new-release.csv[/bold]

    Rows that no class stands for, and rows whose classes would not satisfy the goal, are suppressed, up to
    the share that is permitted. Nothing is written that was not verified.
    """
    standard.check_standard_output(output, as_json)
    if ledger is not None and output is None:
        raise RecipeError("a ledger counts what was released: name an output")
    tables = [table for table in (input, earlier) if table is not None]
    known = [recoding, *(part for table in tables for part in list_files(table))]
    # Held to the end, so that two processes never count on the same releases.
    if ledger:
        check_writable(ledger, known, table=False)
    with hold_alone(ledger) if ledger else nullcontext():
        with standard.to_standard_output(output, input, out_format) as target:
            if target:
                check_writable(target, known)
            others_written = [target] if target else []
            if hold_back:
                check_writable(hold_back, [*known, *others_written])
            if ledger:
                check_writable(ledger, others_written, table=False)
            saved = SavedRecoding.load(recoding)
            table = read_rows(saved.recipe, input)
            applied = saved.apply(
                table,
                earlier=earlier,
                suppress=suppress,
                others=a.others_of(others),
                # None leaves it to the recipe: the flag can only make it stricter.
                strict=strict or None,
                accept=a.reasons_of(accept),
                row_order=cast(RowOrder | None, row_order),
                hold_back=hold_back is not None,
                ledger=ledger,
            )
            # Before anything is written, since a release that was counted already is refused.
            counted = None if ledger is None else applied.add_to_ledger(str(output))
            if hold_back:  # before the release: nobody loses a row if that cannot be written
                applied.write_held_back(hold_back)
            if target:
                applied.write(target)
        if counted is not None and ledger is not None:  # once the release is out, and not before
            counted.save(ledger)
    if as_json:
        files = {"output": output, "held_back": hold_back, "ledger": ledger}
        told = {name: None if path is None else str(path) for name, path in files.items()}
        typer.echo(json.dumps({**applied.to_dict(), **told}))
    elif not quiet:
        console = make_console(stderr=output == standard.DASH)
        show_applied(console, str(input), applied, output, hold_back)
