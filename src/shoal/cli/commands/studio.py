"""``shoal studio``: the local web app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.process import last_words
from shoal.table.formats import import_optional

_PAGE = "The page"


def studio(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A table or project to begin with; another can be opened in the page."
        ),
    ] = None,
    port: Annotated[
        int | None,
        option(
            "--port",
            panel=_PAGE,
            metavar="N",
            help="Where to listen, on this computer only; 8475 if not said, or any that is free.",
        ),
    ] = None,
    uploads: Annotated[
        str,
        option(
            "--uploads",
            panel=_PAGE,
            metavar="SIZE",
            help="How much all files that are uploaded for a table may take on disk together, as 10GB.",
        ),
    ] = "2GB",
    language: Annotated[
        str | None,
        option(
            "--language",
            panel=_PAGE,
            metavar="CODE",
            help="The language of the page: en or de; the one that the browser prefers if not said.",
        ),
    ] = None,
    no_browser: o.NoBrowser = False,
    debug: o.Debug = False,
) -> None:
    """Open the studio: a page in the browser that leads from a table to a verified release.

    [bold]shoal studio people.csv[/bold]

    Six steps: open a table, describe its columns, choose a goal in plain words, run, explore what it costs,
    take the release with its report and recipe. Everything stays on this computer: the page is served to it
    alone, by an address that has a key in it, and what was uploaded is removed when its table is closed or
    Ctrl-C ends the studio.
    """
    # Before the import below, which would fail with a traceback.
    import_optional("nicegui", "'shoal[studio]'")
    from shoal.studio.server import serve_studio  # noqa: PLC0415

    serve_studio(file, port, not no_browser, typer.echo, last_words.append, uploads, language=language)
