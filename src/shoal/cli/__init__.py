"""The command line: each command builds a recipe or a question, and shows what comes back.

A command is a file in ``commands/`` and a line in its table. Nothing heavy is imported before a command needs
it, so that ``shoal --help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from shoal import __version__
from shoal.cli import options as o
from shoal.cli.lazy import ShoalGroup
from shoal.cli.process import run_process, set_exit_codes

app = typer.Typer(
    name="shoal",
    cls=ShoalGroup,
    help="The anonymizer for tables: hides every record in a shoal of look-alikes, and proves it.",
    epilog="New here? 'shoal demo' shows the whole job on a made table, and 'shoal COMMAND --help' "
    "explains each command.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shoal {__version__}")
        raise typer.Exit


def _start_log(form: str | None) -> None:
    if form is None:
        return
    from shoal.support.logs import log_to_stderr  # noqa: PLC0415  few ask for it

    if form not in ("json", "text"):
        raise typer.BadParameter(f"'{form}' is neither json nor text")
    log_to_stderr(form == "json")


def _print_schema(name: str | None) -> None:
    if name is None:
        return
    from shoal.report.schemas import SCHEMA_NAMES, describe_json  # noqa: PLC0415  few ask for it

    if name not in SCHEMA_NAMES:
        raise typer.BadParameter(f"'{name}' is none of {', '.join(SCHEMA_NAMES)}")
    typer.echo(json.dumps(describe_json(name), indent=1))
    raise typer.Exit


def _choose_exit_codes(version: str | None) -> None:
    if version not in (None, "0.1", "0.2"):
        raise typer.BadParameter(f"'{version}' is neither 0.1 nor 0.2")
    set_exit_codes(version or "0.1")


@app.callback()
def _shoal(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            rich_help_panel=o.SHOWN,
            metavar="",
            help="Show the version.",
        ),
    ] = False,
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            callback=_start_log,
            is_eager=True,
            rich_help_panel=o.SHOWN,
            metavar="json|text",
            help="Before the command: write an event per line to standard error, as JSON or as text.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            callback=_print_schema,
            is_eager=True,
            rich_help_panel=o.SHOWN,
            metavar="NAME",
            help="Print a JSON Schema: of a recipe, or of the report, verification, risk or error that "
            "--json prints.",
        ),
    ] = None,
    exit_codes: Annotated[
        str | None,
        typer.Option(
            "--exit-codes",
            callback=_choose_exit_codes,
            is_eager=True,
            rich_help_panel=o.SHOWN,
            metavar="0.1|0.2",
            help="Before the command: with 0.2, a file that cannot be read or written ends with 4, and "
            "not with 2 as wrong usage does. Default: 0.1.",
        ),
    ] = None,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    # A terminal that has no ✓ gets a question mark, not an error.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    run_process(run_command_line)


def run_command_line(arguments: Sequence[str]) -> None:
    """Run one command line; ends with SystemExit, or the error that it ran into."""
    app(list(arguments), prog_name="shoal")
