"""The command line: each command builds a recipe or a question, and shows what comes back.

Nothing heavy is imported before a command needs it, so that ``shoal --help`` answers at once.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from shoal import __version__
from shoal.cli.options import (
    GOAL,
    READING,
    RELEASE,
    ROLES,
    SEARCH,
    AsJson,
    Debug,
    Delimiter,
    Encoding,
    Hierarchies,
    Identifier,
    K,
    L,
    Missing,
    Models,
    Na,
    NoHeader,
    Order,
    Plain,
    Quasi,
    Quiet,
    Roles,
    Sensitive,
    Type,
    Types,
    option,
)
from shoal.errors import InputError

app = typer.Typer(
    name="shoal",
    help="The anonymizer for tables: hides every record in a shoal of look-alikes, and proves it.",
    epilog="Start with 'shoal demo', or 'shoal COMMAND --help'.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def _shoal(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def anonymize(
    input: Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Arrow, JSON lines or Excel.")],
    output: Annotated[
        Path | None,
        option(
            "--output", "-o", panel=RELEASE, help="Where to write the release; nothing is written without it."
        ),
    ] = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifier: Identifier = None,
    plain: Plain = None,
    roles: Roles = None,
    types: Types = None,
    type: Type = None,
    order: Order = None,
    hierarchies: Hierarchies = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    na: Na = None,
    missing: Missing = "category",
    k: K = None,
    l: L = None,  # noqa: E741
    model: Models = None,
    suppress: Annotated[
        float, option("--suppress", panel=GOAL, help="The largest share of rows that may be suppressed.")
    ] = 0.0,
    algorithm: Annotated[
        str, option("--algorithm", "-a", panel=SEARCH, metavar="NAME", help="auto, mondrian, ...")
    ] = "auto",
    set: Annotated[
        list[str] | None,
        option(
            "--set",
            panel=SEARCH,
            metavar="P=V",
            help="A parameter of the algorithm: cut=nearest. Repeatable.",
        ),
    ] = None,
    loss: Annotated[
        str,
        option(
            "--loss", panel=SEARCH, metavar="NAME", help="What to minimise and report: ncp, certainty, ..."
        ),
    ] = "ncp",
    weights: Annotated[
        str | None,
        option(
            "--weights",
            panel=SEARCH,
            metavar="1,1,20",
            help="What each quasi-identifier matters, in order.",
        ),
    ] = None,
    weight: Annotated[
        list[str] | None, option("--weight", panel=SEARCH, metavar="job=20", help="The same by name.")
    ] = None,
    category_order: Annotated[
        str | None,
        option(
            "--category-order",
            panel=SEARCH,
            metavar="frequency|appearance",
            help="How flat categories are ordered; the algorithm's own way where not said.",
        ),
    ] = None,
    seed: Annotated[int, option("--seed", panel=SEARCH, help="For algorithms that draw at random.")] = 0,
    threads: Annotated[
        int, option("--threads", panel=SEARCH, help="0 for one per core; the result is the same.")
    ] = 0,
    render: Annotated[
        str,
        option(
            "--render",
            panel=RELEASE,
            metavar="label|interval|set|representative",
            help="How values are written: tree nodes by name or by range, the values present, or one for all.",
        ),
    ] = "label",
    out_delimiter: Annotated[
        str | None,
        option("--out-delimiter", panel=RELEASE, metavar="CHAR", help="Of the release; else the input's."),
    ] = None,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv", rich_help_panel=RELEASE, help="Neutralise cells a spreadsheet would run."),
    ] = False,
    recipe_out: Annotated[
        Path | None,
        option("--recipe-out", panel=RELEASE, help="Write the settings of this run to a TOML file."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Read a table, find a release that meets the goal with little loss, verify it, write it.

    [bold]shoal anonymize people.csv -o release.csv --quasi age,sex,zip --sensitive illness -k 5[/bold]
    """
    from shoal.algorithms import ALGORITHMS
    from shoal.api import goal
    from shoal.cli.arguments import pairs, reading_options, roles_of, split, types_of, weights_of
    from shoal.cli.screen import progress, show
    from shoal.files import whole_file
    from shoal.parameters import build
    from shoal.recipe import Recipe
    from shoal.run import run as run_recipe
    from shoal.table import read

    reading = reading_options(delimiter, encoding, no_header, na)
    models = goal(k, l, model or ())
    chosen = build("algorithm", ALGORITHMS, algorithm, dict(pairs("--set", set)))
    with progress(as_json or quiet) as on_progress:
        on_progress("read", 0.0)
        table = read(input, reading)
        role = roles_of(table, roles, quasi, sensitive, identifier, plain)
        recipe = Recipe(
            quasi=role["quasi"],
            sensitive=role["sensitive"],
            identifier=role["identifier"],
            plain=role["plain"],
            models=models,
            input=str(input),
            output=str(output) if output else None,
            reading=reading,
            missing=missing,  # type: ignore[arg-type]
            types=types_of(table, types, type),
            orders={name: tuple(split(values)) for name, values in pairs("--order", order)},
            hierarchies=tuple(hierarchies or ()),
            algorithm=chosen,
            loss=loss,
            weights=weights_of(role["quasi"], weights, weight),
            category_order=category_order,  # type: ignore[arg-type]
            suppress=suppress,
            render=render,  # type: ignore[arg-type]
            delimiter=out_delimiter,
            safe_csv=safe_csv,
            seed=seed,
            threads=threads,
        )
        release = run_recipe(recipe, table, on_progress)
    if recipe_out:
        with whole_file(recipe_out) as stream:
            stream.write(recipe.to_toml(recipe_out.parent).encode())
    show(release, as_json, quiet)


@app.command()
def verify(
    release: Annotated[Path, typer.Argument(help="A released table.")],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    roles: Roles = None,
    recipe: Annotated[
        Path | None,
        option("--recipe", panel=ROLES, metavar="FILE", help="Take roles and goal from a recipe."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    na: Na = None,
    k: K = None,
    l: L = None,  # noqa: E741
    model: Models = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Re-check a released file as an outsider would: group equal rows and count.

    [bold]shoal verify release.csv --quasi age,sex,zip --sensitive illness -k 5[/bold]

    Exit code 0 if everything holds, 3 if not.
    """
    from shoal.api import goal
    from shoal.cli.arguments import reading_options, roles_of
    from shoal.cli.screen import console
    from shoal.recipe import Recipe
    from shoal.table import read
    from shoal.verify import verify_table

    table = read(release, reading_options(delimiter, encoding, no_header, na))
    models = goal(k, l, model or ())
    if recipe is not None:
        known = Recipe.from_toml(recipe)
        names, sensitive_names, models = known.quasi, known.sensitive, (*known.models, *models)
    else:
        role = roles_of(table, roles, quasi, sensitive, None, None)
        names, sensitive_names = role["quasi"], role["sensitive"]
    found = verify_table(table, names, sensitive_names, models)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    elif not quiet:
        from shoal.report.terminal import show_verification

        show_verification(console(), str(release), found)
    raise typer.Exit(0 if found.holds else 3)


@app.command()
def run(
    recipe: Annotated[Path, typer.Argument(help="A recipe file (TOML), as --recipe-out writes it.")],
    input: Annotated[
        Path | None, option("--input", "-i", panel=READING, help="Another table than the recipe names.")
    ] = None,
    output: Annotated[
        Path | None, option("--output", "-o", panel=RELEASE, help="Another output than the recipe names.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Do everything that a recipe file says; the same recipe and input give the same bytes.

    [bold]shoal run recipe.toml[/bold]
    """
    from dataclasses import replace

    from shoal.cli.screen import progress, show
    from shoal.recipe import Recipe
    from shoal.run import run as run_recipe

    settings = Recipe.from_toml(recipe)
    if input:
        settings = replace(settings, input=str(input))
    if output:
        settings = replace(settings, output=str(output))
    with progress(as_json or quiet) as on_progress:
        release = run_recipe(settings, on_progress=on_progress)
    show(release, as_json, quiet)


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="Which table, or 'list'.")] = "list",
    output: Annotated[
        Path | None, option("--output", "-o", panel=RELEASE, help="A .csv or .parquet file.")
    ] = None,
    rows: Annotated[int | None, option("--rows", panel=RELEASE, help="How many; any number.")] = None,
    seed: Annotated[int | None, option("--seed", panel=RELEASE, help="Another seed, other people.")] = None,
    hierarchies: Annotated[
        Path | None,
        option(
            "--hierarchies",
            panel=RELEASE,
            metavar="FOLDER",
            help="Write the hierarchies of its columns there.",
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make a table to try things on: realistic, and of nobody.

    [bold]shoal sample hospital -o hospital.csv[/bold]
    """
    from shoal.cli.screen import progress
    from shoal.samples import SAMPLES, write_hierarchies, write_sample

    if name == "list":
        for each in SAMPLES.values():
            typer.echo(f"{each.name}  {each.rows} rows by default: {each.description}")
        return
    if output is None and hierarchies is None:
        raise InputError("say where to write the table, for example -o hospital.csv")
    if output is not None:
        with progress(quiet) as on_progress:
            write_sample(name, output, rows, seed, lambda done, of: on_progress("making rows", done / of))
    written = [str(output)] if output else []
    if hierarchies is not None:
        written += [str(path) for path in write_hierarchies(name, hierarchies)]
    if not quiet:
        typer.echo(f"wrote {', '.join(written)}")


@app.command()
def demo(
    folder: Annotated[Path, option("--folder", panel=RELEASE, help="Where to put the files.")] = Path(
        "shoal-demo"
    ),
    debug: Debug = False,
) -> None:
    """Do the main job on a shipped table, start to finish, and show every step."""
    from shoal.cli.demo import play
    from shoal.cli.screen import console, progress

    with progress(False) as on_progress:
        play(folder, console(), on_progress)


def _terminate(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in sys.argv:
            raise
        from shoal.cli.screen import fail

        fail(error)
