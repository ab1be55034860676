"""The command line: each command builds a recipe or a question, and shows what comes back.

Nothing heavy is imported before a command needs it, so that ``shoal --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from shoal import __version__
from shoal.cli import attacking, hierarchy, learning, risks
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.process import run_process
from shoal.errors import InputError, OutputError, RecipeError

if TYPE_CHECKING:
    from shoal.report import Report

_TABLE, _PAGE = "The table", "The page"


class _Shown:
    """How the help of a command looks, as far as typer leaves that open."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:
        # Lines of the source are not lines of the help.
        paragraphs = [" ".join(paragraph.split()) for paragraph in cleandoc(help or "").split("\n\n")]
        super().__init__(*args, help="\n\n".join(paragraphs), **kwargs)  # type: ignore[call-arg]

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help, in the last panel."""
        found = super().get_help_option(ctx)  # type: ignore[misc]
        if found is not None:
            found.rich_help_panel, found.metavar, found.help = o.SHOWN, "", "Show this help."
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line, with INPUT and not {INPUT}."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]


class _Command(_Shown, TyperCommand):
    pass


class _Group(_Shown, TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        """The options, those that typer adds for completion in the last panel too."""
        every: list[Any] = super().get_params(ctx)
        for each in every:
            if each.name in ("install_completion", "show_completion"):
                each.rich_help_panel, each.metavar = o.SHOWN, ""
        return every


app = typer.Typer(
    name="shoal",
    cls=_Group,
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


@app.command(cls=_Command)
def anonymize(
    input: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="The table: CSV and its relatives, Parquet, Arrow, JSON lines or Excel."
        ),
    ],
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
    plain: o.Plain = None,
    roles: o.Roles = None,
    types: o.Types = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    k: o.K = None,
    l: o.L = None,  # noqa: E741
    t: o.T = None,
    model: o.Models = None,
    suppress: o.Suppress = 0.0,
    algorithm: o.AlgorithmName = "auto",
    set: o.Parameters = None,
    loss: o.LossName = "ncp",
    weights: o.Weights = None,
    weight: o.Weight = None,
    category_order: o.CategoryOrderName = None,
    seed: o.Seed = 0,
    threads: o.Threads = 0,
    memory: o.Memory = None,
    engine: o.EngineName = "local",
    master: o.Master = None,
    driver_rows: o.DriverRows = 4_000_000,
    output: o.Output = None,
    render: o.RenderName = "label",
    out_delimiter: o.OutDelimiter = None,
    safe_csv: o.SafeCsv = False,
    recipe_out: o.RecipeOut = None,
    recoding_out: o.RecodingOut = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    missing: o.MissingName = "category",
    report: o.ReportPage = None,
    excerpt: o.WithExcerpt = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Read a table, find a release that meets the goal with little loss, verify it, write it.

    [bold]shoal anonymize people.csv -q age,sex,zip -s illness -k 5 -o release.csv[/bold]

    In the release every row has at least k - 1 others that are equal in all quasi-identifiers: these are
    generalised as far as that takes, and no further. Rows and columns keep their order. What was released is
    counted again before it is written; if the goal cannot be met, nothing is, and the exit code is 3.
    """
    from dataclasses import replace
    from time import perf_counter

    from shoal.api import check_engine, goal, noted
    from shoal.api import run as run_recipe
    from shoal.cli import arguments as a
    from shoal.cli.screen import progress, show
    from shoal.engines.choice import fitted
    from shoal.files import whole_file
    from shoal.recipe import Recipe
    from shoal.run import inputs
    from shoal.table import check_writable, outline, read

    # What can be refused without the table is refused before it is read, which may take long.
    draft = Recipe(
        quasi=("?",),
        models=goal(k, l, model or (), t=t),
        input=str(input),
        output=str(output) if output else None,
        reading=a.reading_options(delimiter, encoding, no_header, na),
        missing=missing,  # type: ignore[arg-type]
        orders=a.orders_of(order),
        hierarchies=tuple(hierarchies or ()),
        algorithm=a.algorithm_of(algorithm, set),
        loss=loss,
        category_order=category_order,  # type: ignore[arg-type]
        suppress=suppress,
        render=render,  # type: ignore[arg-type]
        delimiter=out_delimiter,
        safe_csv=safe_csv,
        seed=seed,
        threads=threads,
        memory=memory,
        engine=engine,  # type: ignore[arg-type]
        master=master,
        driver_rows=driver_rows,
    )
    written = [path for path in (output, recipe_out, recoding_out) if path is not None]
    on_cluster = engine == "spark"
    check_engine(draft)
    for path in written:
        check_writable(path, inputs(draft), table=path == output and not on_cluster)
    if len({path.resolve() for path in written}) < len(written):
        raise OutputError(f"{written[0]} cannot be two things: the release, its recipe and its recoding")
    a.check_excerpt(excerpt, report)
    a.check_page(report, [*inputs(draft), *written])
    a.check_drawable(report, memory, on_cluster)
    with progress(quiet) as on_progress:
        on_progress("read", 0.0)
        begin = perf_counter()
        fitting, why = fitted(draft, input) if report is None else (draft, None)  # a page needs all rows
        whole = not on_cluster and fitting.memory is None
        table = read(input, draft.reading) if whole else outline(input, draft.reading)
        seconds = perf_counter() - begin
        role = a.roles_of(table, roles, quasi, sensitive, identifier, plain)
        recipe = replace(
            draft,
            quasi=role["quasi"],
            sensitive=role["sensitive"],
            identifier=role["identifier"],
            plain=role["plain"],
            types=a.types_of(table, types, type),
            weights=a.weights_of(role["quasi"], weights, weight),
        )
        with _left_at_once(on_cluster):
            release = run_recipe(recipe, table if whole else input, on_progress)
    if whole and why is not None:  # of a table that has been read the run cannot know it
        release = noted(release, why)
    if recipe_out:
        with whole_file(recipe_out) as stream:
            stream.write(recipe.to_toml(recipe_out.parent).encode())
    if recoding_out:
        release.saved_recoding().save(recoding_out)
    told = _with_reading(release.report, seconds)
    if report:
        told.to_html(report, excerpt)
    show(told, as_json, quiet, release.solutions)


@contextmanager
def _left_at_once(on_cluster: bool) -> Iterator[None]:
    """Let an interrupt end what runs on a cluster as well."""
    if not on_cluster:
        yield
        return
    from shoal.cli.process import last_words
    from shoal.engines.spark.session import cancel

    last_words.append(cancel)
    try:
        yield
    finally:
        last_words.remove(cancel)


def _with_reading(report: Report, seconds: float) -> Report:
    """The report of a run on a table that took ``seconds`` to read before the run began."""
    from dataclasses import replace

    spent = report.seconds
    longer = {phase: spent[phase] + seconds for phase in ("read", "total")}
    return replace(report, seconds={**spent, **longer})


@app.command(cls=_Command)
def verify(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A released table, in any format.")],
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    roles: o.Roles = None,
    recipe: Annotated[
        Path | None,
        option(
            "--recipe",
            panel=o.ROLES,
            metavar="FILE",
            help="Take the roles and the goal from a recipe; a goal that is given as well must hold too.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        option(
            "--report",
            panel=o.ROLES,
            metavar="F.html",
            help="Take them from the page that --report of anonymize wrote, and check its figures and its "
            "checksum as well.",
        ),
    ] = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    k: o.K = None,
    l: o.L = None,  # noqa: E741
    t: o.T = None,
    model: o.Models = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Re-check a released file as an outsider would: group equal rows and count.

    [bold]shoal verify release.csv -q age,sex,zip -s illness -k 5[/bold]

    It knows nothing of how the release was made. The exit code is 0 if everything holds, 3 if not. With
    --report, the release must also be the one that the page is about, and have the figures that it states.
    """
    import json
    from dataclasses import replace

    from shoal.api import goal, known_columns
    from shoal.cli.arguments import orders_of, reading_options, roles_of, trees_of, types_of
    from shoal.cli.screen import console
    from shoal.privacy import read_population
    from shoal.recipe import Recipe
    from shoal.report.audit import Audit
    from shoal.run import known_to_all
    from shoal.table import read
    from shoal.verify import verify_table

    models = goal(k, l, model or (), t=t)
    if recipe is not None and report is not None:
        raise RecipeError("give --recipe or --report, not both: a report has its recipe in it")
    audit = Audit.of(report) if report is not None else None
    known = audit.recipe if audit is not None else Recipe.from_toml(recipe) if recipe is not None else None
    if known is not None:
        if quasi or sensitive or roles:
            given = "--recipe" if audit is None else "--report"
            raise RecipeError(f"give roles by {given} or by --quasi, --sensitive and --roles, not both")
        no_header, na = no_header or not known.reading.header, [*known.reading.na, *(na or ())]
    options = reading_options(delimiter, encoding, no_header, na)
    table = read(release, options)
    if known is not None:
        models = (*known.models, *models)
        columns = known_to_all(replace(known, models=models), table.names)
        role = {"quasi": known.quasi, "sensitive": known.sensitive}
    else:
        role = roles_of(table, roles, quasi, sensitive, None, None)
        trees = trees_of(table, hierarchies)
        columns = known_columns(
            (*role["quasi"], *role["sensitive"]), trees, types_of(table, None, type), orders_of(order)
        )
    people = read_population(models, role["quasi"], options)
    found = verify_table(table, role["quasi"], role["sensitive"], models, columns, people)
    checks = [] if audit is None else list(audit.checks(release, table, found))
    same = all(check.same for check in checks)
    if as_json:
        plain = {"report": {"same": same, "checks": [check.to_dict() for check in checks]}} if audit else {}
        typer.echo(json.dumps({**found.to_dict(), **plain}))
    elif not quiet:
        from shoal.report.terminal import show_checks, show_verification

        show_verification(console(), str(release), found)
        show_checks(console(), str(report), checks)
    raise typer.Exit(0 if found.holds and same else 3)


@app.command(cls=_Command)
def run(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML), as --recipe-out writes it.")
    ],
    input: Annotated[
        Path | None,
        option(
            "--input",
            "-i",
            panel=o.READING,
            metavar="FILE",
            help="Another table than the one that the recipe names.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=o.RELEASE,
            metavar="FILE",
            help="Another output than the one that the recipe names.",
        ),
    ] = None,
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

    Paths in a recipe are relative to its own folder. 'shoal anonymize ... --recipe-out recipe.toml' writes
    one.
    """
    from dataclasses import replace

    from shoal.api import run as run_recipe
    from shoal.cli.arguments import check_drawable, check_excerpt, check_page
    from shoal.cli.screen import progress, show
    from shoal.recipe import Recipe
    from shoal.run import inputs
    from shoal.table import check_writable, read

    settings = Recipe.from_toml(recipe)
    if input:
        settings = replace(settings, input=str(input))
    if output:
        settings = replace(settings, output=str(output))
    if engine:
        settings = replace(settings, engine=engine)  # type: ignore[arg-type]
    if master:
        settings = replace(settings, master=master)
    on_cluster = settings.engine == "spark"
    if settings.output is not None and not on_cluster:
        check_writable(settings.output, [recipe])
    check_excerpt(excerpt, report)
    check_page(report, [recipe, *inputs(settings), *([Path(settings.output)] if settings.output else [])])
    check_drawable(report, settings.memory, on_cluster)
    with progress(quiet) as on_progress, _left_at_once(on_cluster):
        whole = read(settings.input, settings.reading) if report and settings.input else None
        release = run_recipe(settings, whole, on_progress)
    if report:
        release.report.to_html(report, excerpt)
    show(release.report, as_json, quiet, release.solutions)


@app.command(cls=_Command)
def apply(
    recoding: Annotated[
        Path, typer.Argument(metavar="RECODING", help="What 'shoal anonymize --recoding-out' wrote.")
    ],
    input: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Later rows, with the same columns; in any format.")
    ],
    earlier: Annotated[
        Path | None,
        option(
            "--earlier",
            panel=o.GOAL,
            metavar="FILE",
            help="The earlier release: the goal has to hold for both together, not for the new rows alone.",
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
    output: o.Output = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Put later rows into the classes of an earlier release.

    [bold]shoal apply classes.json new.csv --earlier release.csv -o new-release.csv[/bold]

    Rows that no class stands for, and rows whose classes would not satisfy the goal, are suppressed, up to
    the share that is permitted. Nothing is written that was not verified.
    """
    import json

    from shoal.cli.screen import console
    from shoal.report.terminal import show_applied
    from shoal.saved import SavedRecoding
    from shoal.table import check_writable, read, write

    known = [recoding, input, *([earlier] if earlier else [])]
    if output:
        check_writable(output, known)
    saved = SavedRecoding.load(recoding)
    table = read(input, saved.recipe.reading)
    applied = saved.apply(table, earlier=earlier, suppress=suppress)
    if output:
        like, recipe = table.origin, saved.recipe
        write(applied.frame, output, like=like, delimiter=recipe.delimiter, safe_csv=recipe.safe_csv)
    if as_json:
        typer.echo(json.dumps({**applied.to_dict(), "output": str(output) if output else None}))
    elif not quiet:
        show_applied(console(), str(input), applied, output)


@app.command(cls=_Command)
def sample(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which table, or 'list' to see what there is.")
    ] = "list",
    output: Annotated[
        Path | None,
        option("--output", "-o", panel=_TABLE, metavar="FILE", help="Where to write it: .csv or .parquet."),
    ] = None,
    rows: Annotated[
        int | None,
        option(
            "--rows",
            panel=_TABLE,
            metavar="N",
            help="How many rows, up to any number; memory does not grow with it.",
        ),
    ] = None,
    seed: Annotated[
        int | None, option("--seed", panel=_TABLE, metavar="N", help="Another seed makes other people.")
    ] = None,
    hierarchies: Annotated[
        Path | None,
        option(
            "--hierarchies",
            panel=_TABLE,
            metavar="FOLDER",
            help="Write the hierarchies of its columns there, one file each.",
        ),
    ] = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Make a table to try things on: realistic, and of nobody.

    [bold]shoal sample hospital -o hospital.csv --hierarchies trees[/bold]

    The same name, rows and seed make the same table.
    """
    from shoal.cli.screen import progress
    from shoal.samples import SAMPLES, write_hierarchies, write_sample
    from shoal.samples.catalog import resolve

    if name == "list":
        for each in SAMPLES.values():
            typer.echo(f"{each.name}  {each.rows:,} rows by default: {each.description}")
        return
    resolve(name, rows, seed)
    if output is None and hierarchies is None:
        raise InputError(f"say where to write the table, for example -o {name}.csv")
    if output is not None:
        with progress(quiet) as on_progress:
            write_sample(name, output, rows, seed, lambda done, of: on_progress("making rows", done / of))
    written = [str(output)] if output else []
    if hierarchies is not None:
        written += [str(path) for path in write_hierarchies(name, hierarchies)]
    if not quiet:
        typer.echo("\n".join(f"wrote {path}" for path in written))


@app.command(cls=_Command)
def demo(
    folder: Annotated[
        Path,
        option("--folder", panel=_TABLE, metavar="FOLDER", help="Where to put the files; made if need be."),
    ] = Path("shoal-demo"),
    debug: o.Debug = False,
) -> None:
    """Do the main job on a shipped table, start to finish, and show every step."""
    from shoal.cli.demo import play, tell
    from shoal.cli.screen import console, progress

    with progress(False) as on_progress:
        release = play(folder, on_progress)
    tell(console(), folder, release)


@app.command(cls=_Command)
def studio(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A table to begin with; another can be opened in the page."),
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
    no_browser: o.NoBrowser = False,
    debug: o.Debug = False,
) -> None:
    """Open the studio: a page in the browser that leads from a table to a verified release.

    [bold]shoal studio people.csv[/bold]

    Six steps: open a table, describe its columns, choose a goal in plain words, run, explore what it costs,
    take the release with its report and recipe. Everything stays on this computer: the page is served to it
    alone, by an address that has a key in it, and what was uploaded is removed when Ctrl-C ends the studio.
    """
    from shoal.cli.process import last_words
    from shoal.table.formats import needs

    needs("nicegui", "'shoal[studio]'")
    from shoal.studio.server import serve

    serve(file, port, not no_browser, typer.echo, last_words.append)


app.command(cls=_Command)(attacking.attack)
app.command(cls=_Command)(risks.risk)
app.command(cls=_Command)(risks.suggest)
app.command(cls=_Command)(risks.compare)
app.command(cls=_Command)(learning.search)
app.command(cls=_Command)(learning.minimize)

trees = typer.Typer(
    name="hierarchy",
    cls=_Group,
    help="Make, draw, check and convert hierarchies: trees over the values of a column.",
    no_args_is_help=True,
)
trees.command(cls=_Command)(hierarchy.build)
trees.command(cls=_Command)(hierarchy.show)
trees.command(cls=_Command)(hierarchy.check)
trees.command(cls=_Command)(hierarchy.convert)
trees.command("list", cls=_Command)(hierarchy.list_ready)
app.add_typer(trees)


def main() -> None:
    """Run the command line."""
    # A terminal that has no ✓ gets a question mark, not an error.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    run_process(command)


def command(arguments: Sequence[str]) -> None:
    """Run one command line; ends with SystemExit, or the error that it ran into."""
    app(list(arguments), prog_name="shoal")
