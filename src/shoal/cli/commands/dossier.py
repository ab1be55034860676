"""``shoal dossier``: a report as a document that somebody can sign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as o
from shoal.cli.options import option
from shoal.errors import InputError
from shoal.report.dossier import TEMPLATE, Dossier, read_schema
from shoal.support.language import speaking

_PANEL = "What it is made of"


def dossier(
    report: Annotated[
        Path | None,
        typer.Argument(metavar="REPORT", help="The page that --report wrote, or an earlier dossier."),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=_PANEL,
            metavar="FILE",
            help="Where to write it; the end of the name says how: .pdf, .html or .json.",
        ),
    ] = None,
    about: Annotated[
        Path | None,
        option(
            "--about",
            panel=_PANEL,
            metavar="F.toml",
            help="Purpose, recipient, legal ground, retention, signers, and the answers that propose a "
            "threshold.",
        ),
    ] = None,
    attack: Annotated[
        Path | None,
        option(
            "--attack",
            panel=_PANEL,
            metavar="F.json",
            help="What 'shoal attack --json' printed.",
        ),
    ] = None,
    project: Annotated[
        Path | None,
        option(
            "--project",
            panel=_PANEL,
            metavar="F.shoal",
            help="A project of the studio, for who decided what and which proposals were decided otherwise.",
        ),
    ] = None,
    language: Annotated[
        str | None,
        option(
            "--language",
            panel=_PANEL,
            metavar="CODE",
            help="The language of the dossier: en or de; that of the report if not said.",
        ),
    ] = None,
    template: Annotated[
        bool, o.flag("--template", _PANEL, "Print a file for --about, to be filled in.")
    ] = False,
    schema: Annotated[
        bool, o.flag("--schema", _PANEL, "Print the JSON schema of a dossier that is written as .json.")
    ] = False,
    debug: o.Debug = False,
) -> None:
    """Make a dossier of a report: contents, figures, decisions, and lines to sign on.

    [bold]shoal dossier report.html --about about.toml -o dossier.pdf[/bold]

    'shoal verify RELEASE --report dossier.pdf' counts the release again and compares, as with the report.
    """
    if template or schema:
        typer.echo(TEMPLATE if template else read_schema(), nl=False)
        return
    if report is None or output is None:
        raise InputError("give a report and --output, or --template for a file to fill in, or --schema")
    given = {each.resolve() for each in (report, about, attack, project) if each is not None}
    if output.resolve() in given:
        raise InputError(f"{output} is what the dossier is made of: write it to another file")
    made = Dossier.from_report(report, about, attack, project)
    with speaking(language or made.language):
        made.save(output)
