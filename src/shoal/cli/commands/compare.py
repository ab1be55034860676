"""``shoal compare``: many settings side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shoal.assessment.comparisons.comparison import ALGORITHMS_COMPARED, Comparison, combine_settings
from shoal.assessment.comparisons.terminal import show_comparison
from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import flag, option
from shoal.cli.process import last_words
from shoal.cli.screen import make_console, print_if_json, progress
from shoal.errors import OutputError
from shoal.privacy import KAnonymity, parse_model
from shoal.recipes.recipe import Recipe
from shoal.support.files import check_target
from shoal.table import read_table


def compare(
    input: o.TableFile,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
    person: o.Person = None,
    group: o.Group = None,
    plain: o.Plain = None,
    roles: o.Roles = None,
    types: o.Types = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    k: o.Ks = "5,10,25,50",
    l: o.Ls = None,  # noqa: E741
    model: Annotated[
        list[str] | None,
        option("--model", "-m", panel=o.GOAL, metavar="M(P=V)", help="A further model, always. Repeatable."),
    ] = None,
    suppress: o.Suppress = 0.0,
    algorithm: Annotated[
        list[str] | None,
        option(
            "--algorithm",
            "-a",
            panel=o.SEARCH,
            metavar="NAME",
            help="As in anonymize, also with parameters: 'mondrian(cut=classic)'; mondrian, hilbert and auto "
            "if not said; auto has 0.6 s for each setting, or as 'auto(seconds=5)' says. Repeatable.",
        ),
    ] = None,
    loss: o.LossName = "ncp",
    weights: o.Weights = None,
    weight: o.Weight = None,
    jobs: o.Jobs = 1,
    seed: o.Seed = 0,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    query: o.Query = None,
    missing: o.MissingName = "category",
    plot: Annotated[
        Path | None,
        option("--plot", panel=o.SHOWN, metavar="FILE", help="Draw it: .html (a page) or .svg (a drawing)."),
    ] = None,
    utility: Annotated[
        bool,
        flag(
            "--utility",
            o.SHOWN,
            "Show what releases are still good for: KL divergence, ambiguity, propensity scores, "
            "correlations and tables of two columns, and how often sensitive values are guessed.",
        ),
    ] = False,
    weight_column: Annotated[
        str | None,
        option(
            "--weight-column",
            panel=o.SHOWN,
            metavar="COLUMN",
            help="Survey weights: tell the loss as if every row were there as often as its weight says, too.",
        ),
    ] = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Try several algorithms and several k (and l) side by side: loss, risk, classes, time.

    [bold]shoal compare people.csv -q age,zip -s illness -k 2..20 -a auto -a mondrian --plot front.html[/bold]

    Every setting is a whole run, verified like any other; nothing is written but the picture. An interrupt
    shows what is done.
    """
    _check_picture(plot)
    tried = combine_settings(
        algorithm or ALGORITHMS_COMPARED, a.parse_numbers("-k", k), a.parse_numbers("--l", l) if l else ()
    )
    draft = Recipe(
        quasi=("?",),
        models=(KAnonymity(2), *map(parse_model, model or ())),
        reading=a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal, query=query),
        missing=missing,  # type: ignore[arg-type]
        orders=a.orders_of(order),
        hierarchies=tuple(hierarchies or ()),
        loss=loss,
        suppress=suppress,
        seed=seed,
        others="keep",  # nothing is released
        person=person,
        group=group,
        weight_column=weight_column,
    )
    Comparison(draft, tried)  # what can be refused without the table is refused before it is read
    table = read_table(input, draft.reading)
    role = a.roles_of(table, roles, quasi, sensitive, identifier, plain, person=person, group=group)
    base = replace(
        draft,
        quasi=role["quasi"],
        sensitive=role["sensitive"],
        identifier=role["identifier"],
        plain=role["plain"],
        types=a.types_of(table, types, type),
        weights=a.weights_of(role["quasi"], weights, weight),
    )
    found = Comparison(base, tried)

    def show_result() -> None:
        if print_if_json(found.to_dict, as_json, quiet):
            show_comparison(make_console(), str(input), found, utility)

    # An interrupt ends the process at once, so it has to show what is done by itself.
    last_words.append(show_result)
    with progress(quiet) as on_progress:
        found.run(table, jobs, on_progress)
    last_words.clear()
    if plot and found.done.height:
        found.write_plot(plot, f"Compared: {input.name}")
    show_result()
    if not found.done.height:
        raise typer.Exit(3)


def _check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be written before long work begins."""
    if path is not None:
        check_target(path)
        if path.suffix.lower() not in (".html", ".htm", ".svg"):
            raise OutputError(f"{path}: a picture is a page or a drawing; name it with .html or .svg")
