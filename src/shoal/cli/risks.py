"""The commands that look before they leap: how dangerous a table is, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as o
from shoal.cli.options import option

_PEOPLE = "The population"
_FIGURES = "What is counted"

Input = Annotated[Path, typer.Argument(metavar="INPUT", help="The table, raw or released, in any format.")]


def risk(
    input: Input,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
    roles: o.Roles = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    population: Annotated[
        Path | None,
        option(
            "--population", panel=_PEOPLE, metavar="FILE", help="A table of everybody who could be in it."
        ),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        option(
            "--sampling-fraction",
            panel=_PEOPLE,
            metavar="SHARE",
            help="Instead: which share of them is in the table, 0 to 1.",
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        option(
            "--threshold",
            panel=_FIGURES,
            metavar="RISK",
            help="Count the rows with a higher risk; 0.05, 0.09, 0.2, 0.33 and 0.5 if not said. Repeatable.",
        ),
    ] = None,
    largest: Annotated[
        int | None,
        option(
            "--largest",
            panel=_FIGURES,
            metavar="N",
            help="Look at sets of up to N columns: 4 if not said, 1 for single columns only.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=_FIGURES,
            metavar="FILE",
            help="Write the table with the risk of every row.",
        ),
    ] = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """How re-identifiable is this table, by which columns, and to whom?

    [bold]shoal risk people.csv -q age,sex,zip -s illness[/bold]

    Classes are counted as they are, in a raw table as in a release. Without --quasi the roles are those
    that 'shoal suggest' proposes. What is dangerous is said, not judged: the exit code is 0.
    """
    from shoal.api import known_columns
    from shoal.cli import arguments as a
    from shoal.cli.screen import console, progress, say
    from shoal.risk import THRESHOLDS, Question, risk_of
    from shoal.risk.attackers import check_thresholds
    from shoal.table import check_writable, read

    if output:
        check_writable(output, [path for path in (input, population) if path])
    limits = check_thresholds(threshold if threshold else THRESHOLDS)
    Question((), population=population, fraction=sampling_fraction, largest=largest)  # refused before reading
    reading = a.reading_options(delimiter, encoding, no_header, na)
    with progress(quiet) as on_progress:
        on_progress("read", 0.0)
        table = read(input, reading)
        role = a.roles_of(table, roles, quasi, sensitive, identifier, None, needed=False)
        known = known_columns(
            (*role["quasi"], *role["sensitive"]),
            a.trees_of(table, hierarchies),
            a.types_of(table, None, type),
            a.orders_of(order),
        )
        question = Question(
            role["quasi"],
            role["sensitive"],
            role["identifier"],
            population,
            sampling_fraction,
            limits,
            largest,
            known,
        )
        found = risk_of(table, question, reading, on_progress)
        if output:
            on_progress("write", 0.0)
            found.write(output)
    if say(found.to_dict, as_json, quiet):
        from shoal.risk.terminal import show_risk

        show_risk(console(), str(input), found)


def suggest(
    input: Input,
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
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Propose types, roles and hierarchies for a table, with reasons, and a recipe that runs as it is.

    [bold]shoal suggest people.csv -o recipe.toml && shoal run recipe.toml[/bold]

    Columns are known by their names (English, German, French, Spanish), by their values (e-mail addresses,
    IBANs, ...) and by how they tell rows apart. It is a proposal: go through the reasons.
    """
    from shlex import quote

    from shoal.cli import arguments as a
    from shoal.cli.screen import console, progress, say
    from shoal.risk import suggest_for
    from shoal.table import check_writable, read

    if output:
        check_writable(output, [input])
    reading = a.reading_options(delimiter, encoding, no_header, na)
    with progress(quiet) as on_progress:
        on_progress("read", 0.0)
        found = suggest_for(read(input, reading), reading, on_progress)
    if output:
        found.write(output)
    if say(found.to_dict, as_json, quiet):
        from shoal.risk.terminal import show_suggestion

        show_suggestion(console(), found, quote(str(output)) if output else None)


def compare(
    input: Input,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
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
            "if not said. Repeatable.",
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
    missing: o.MissingName = "category",
    plot: Annotated[
        Path | None,
        option("--plot", panel=o.SHOWN, metavar="FILE", help="Draw it: .html (a page) or .svg (a drawing)."),
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
    from dataclasses import replace

    from shoal.cli import arguments as a
    from shoal.cli.process import last_words
    from shoal.cli.screen import console, progress, say
    from shoal.compare.comparison import ALGORITHMS_COMPARED, Comparison, settings
    from shoal.privacy import KAnonymity, parse_model
    from shoal.recipe import Recipe
    from shoal.table import read

    _check_picture(plot)
    tried = settings(algorithm or ALGORITHMS_COMPARED, a.several("-k", k), a.several("--l", l) if l else ())
    draft = Recipe(
        quasi=("?",),
        models=(KAnonymity(2), *map(parse_model, model or ())),
        reading=a.reading_options(delimiter, encoding, no_header, na),
        missing=missing,  # type: ignore[arg-type]
        orders=a.orders_of(order),
        hierarchies=tuple(hierarchies or ()),
        loss=loss,
        suppress=suppress,
        seed=seed,
    )
    Comparison(draft, tried)  # what can be refused without the table is refused before it is read
    table = read(input, draft.reading)
    role = a.roles_of(table, roles, quasi, sensitive, identifier, plain)
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

    def tell() -> None:
        if say(found.to_dict, as_json, quiet):
            from shoal.compare.terminal import show_comparison

            show_comparison(console(), str(input), found)

    last_words.append(tell)
    with progress(quiet) as on_progress:
        found.run(table, jobs, on_progress)
    last_words.clear()
    if plot and found.done.height:
        found.write_plot(plot, f"Compared: {input.name}")
    tell()
    if not found.done.height:
        raise typer.Exit(3)


def _check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be written before long work begins."""
    from shoal.errors import OutputError
    from shoal.files import check_target

    if path is not None:
        check_target(path)
        if path.suffix.lower() not in (".html", ".htm", ".svg"):
            raise OutputError(f"{path}: a picture is a page or a drawing; name it with .html or .svg")
