"""``shoal run``: a recipe file, from input to output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli import standard
from shoal.cli.options import option
from shoal.cli.process import cancel_cluster
from shoal.cli.screen import exit_by_verdict, name_source, print_report, progress
from shoal.engines.api import run as run_recipe
from shoal.engines.inputs import list_inputs
from shoal.errors import RecipeError
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import read_rows
from shoal.table import check_writable


def run(
    recipe: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE",
            help="A recipe file (TOML), as --recipe-out writes it, or a project (.shoal).",
        ),
    ],
    input: Annotated[
        Path | None,
        option(
            "--input",
            "-i",
            panel=o.READING,
            metavar="FILE",
            callback=standard.from_standard_input,
            help="Another table than the one that the recipe names; - is standard input.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=o.RELEASE,
            metavar="FILE",
            help="Another output than the one that the recipe names; - is standard output.",
        ),
    ] = None,
    out_format: o.OutFormat = None,
    others: Annotated[
        str | None,
        option(
            "--others",
            panel=o.ROLES,
            metavar="keep|drop",
            help="What happens to columns without a role; what the recipe says if not said.",
        ),
    ] = None,
    row_order: o.AnotherRowOrder = None,
    strict: o.Strict = False,
    accept: o.Accept = None,
    engine: Annotated[
        str | None,
        option("--engine", panel=o.SEARCH, metavar="NAME", help="Another engine: local or spark."),
    ] = None,
    master: o.Master = None,
    report: o.ReportPage = None,
    excerpt: o.WithExcerpt = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Do everything that a recipe file says; the same recipe and input give the same bytes.

    [bold]shoal run recipe.toml[/bold]

    Only safepub gives others every time: it draws a random sample.

    Paths in a recipe are relative to its own folder. 'shoal anonymize ... --recipe-out recipe.toml' writes
    one.
    """
    settings = Recipe.from_toml(recipe)
    settings = replace(
        settings,
        others=others or settings.others,  # type: ignore[arg-type]
        row_order=row_order or settings.row_order,  # type: ignore[arg-type]
        strict=strict or settings.strict,
        accept={**settings.accept, **a.reasons_of(accept)},
    )
    if input:
        settings = replace(settings, input=str(input))
    if settings.input is None:
        raise RecipeError("there is nothing to anonymize: the recipe names no input, and none was given")
    standard.check_standard_output(output, as_json, settings.all_solutions)
    with standard.to_standard_output(output, Path(settings.input), out_format) as target:
        if target:
            settings = replace(settings, output=str(target))
        if engine:
            settings = replace(settings, engine=engine)  # type: ignore[arg-type]
        if master:
            settings = replace(settings, master=master)
        on_cluster = settings.engine == "spark"
        if settings.output is not None and not on_cluster and not settings.events:
            check_writable(settings.output, [recipe])
        a.check_excerpt(excerpt, report, settings)
        a.check_page(
            report, [recipe, *list_inputs(settings), *([Path(settings.output)] if settings.output else [])]
        )
        a.check_drawable(report, settings.memory, on_cluster, settings.events)
        with progress(quiet) as on_progress, cancel_cluster(on_cluster):
            drawn = report and not settings.uses_safepub
            # A page needs all rows in memory; otherwise the run itself decides how they are read.
            whole = read_rows(settings, settings.input) if drawn else None
            release = run_recipe(settings, whole, on_progress)
        if report:
            release.report.to_html(report, excerpt)
        told = replace(release.report, output=str(output)) if output else release.report
        every, stderr = settings.all_solutions, output == standard.DASH
        print_report(
            told, as_json, quiet, release.solutions, every=every, stderr=stderr, source=name_source(settings)
        )
        exit_by_verdict(told)
