"""The command line: each command builds a recipe or a question, and shows what comes back.

A command is a file in ``commands/`` and a line in its table. Nothing heavy is imported before a command needs
it, so that ``shoal --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from shoal import __version__
from shoal.cli import options as o
from shoal.cli.lazy import ShoalGroup
from shoal.cli.process import run_process

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
