"""``shoal anonymize``: from a table to a verified release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli import standard
from shoal.cli.process import cancel_cluster
from shoal.cli.screen import describe_making, exit_by_verdict, name_source, print_report, progress
from shoal.engines.api import add_note, build_goal, check_engine
from shoal.engines.api import run as run_recipe
from shoal.engines.inputs import list_inputs
from shoal.engines.select_engine import fit_to_memory
from shoal.errors import OutputError, RecipeError
from shoal.recipes.recipe import Recipe
from shoal.report import Report
from shoal.report.figures import NO_PAGE
from shoal.support.files import check_folder
from shoal.table import Table, check_writable, read_quasi_names


@o.add_settings
def anonymize(
    input: o.TableFile,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
    plain: o.Plain = None,
    roles: o.Roles = None,
    lenient: o.Lenient = False,
    types: o.Types = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    k: o.K = None,
    l: o.L = None,  # noqa: E741
    t: o.T = None,
    model: o.Models = None,
    fold: o.Fold = None,
    accept: o.Accept = None,
    algorithm: o.AlgorithmName = "auto",
    set: o.Parameters = None,
    weights: o.Weights = None,
    weight: o.Weight = None,
    top: o.Top = None,
    bottom: o.Bottom = None,
    mean: o.Mean = None,
    keyed: o.Keyed = None,
    output: o.Output = None,
    out_format: o.OutFormat = None,
    recipe_out: o.RecipeOut = None,
    recoding_out: o.RecodingOut = None,
    events: o.Events = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    query: o.Query = None,
    report: o.ReportPage = None,
    excerpt: o.WithExcerpt = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
    **settings: Any,
) -> None:
    """Read a table, find a release that meets the goal with little loss, verify it, write it.

    [bold]shoal anonymize people.csv -q age,sex,zip -s illness -k 5 -o release.csv[/bold]

    In the release every row has at least k - 1 others that are equal in all quasi-identifiers: these are
    generalised as far as that takes, and no further. Rows and columns keep their order. What was released is
    counted again before it is written; if the goal cannot be met, nothing is, and the exit code is 3.
    """
    standard.check_standard_output(output, as_json, settings["all_solutions"])
    with standard.to_standard_output(output, input, out_format) as target:
        # What can be refused without the table is refused before it is read, which may take long.
        searched, sets = a.read_set_options(algorithm, set)
        draft = Recipe(
            quasi=("?",),
            models=build_goal(k, l, model or (), t=t),
            input=str(input),
            output=str(target) if target else None,
            reading=a.reading_options(delimiter, encoding, no_header, na, sheet, quasi, decimal, query),
            orders=a.orders_of(order),
            hierarchies=tuple(hierarchies or ()),
            algorithm=searched,
            sets=sets,
            events=a.events_of(events, output),
            accept=a.reasons_of(accept),
            # Whoever keeps a column under a pseudonym has named it as an identifier, which is read later.
            identifier=tuple(keyed or ()),
            keyed=tuple(keyed or ()),
            **a.plain_settings(settings),
        )
        on_cluster = draft.engine == "spark"
        written = [path for path in (target, recipe_out, recoding_out) if path is not None]
        check_engine(draft)
        _check_targets(draft, written, None if on_cluster else target)
        a.check_excerpt(excerpt, report, draft)
        a.check_page(report, [*list_inputs(draft), *written])
        a.check_drawable(report, draft.memory, on_cluster, draft.events)
        a.check_recoding(recoding_out, draft)
        with progress(quiet) as on_progress:
            on_progress("read", 0.0)
            begin = perf_counter()
            # A page needs all rows.
            fitting, why = fit_to_memory(draft, input) if report is None else (draft, None)
            whole = not on_cluster and fitting.memory is None

            if draft.reading.quasi_line is not None:
                quasi = read_quasi_names(input, draft.reading)

            def roles_in(table: Table) -> dict[str, tuple[str, ...]]:
                a.read_set_options(algorithm, set, table.names)  # for its error: now the columns are known
                named = (roles, quasi, sensitive, identifier, plain)
                return a.roles_of(
                    table,
                    *named,
                    needed=not sets,
                    person=draft.person,
                    group=draft.group,
                    lenient=lenient,
                    sets=sets,
                )

            table, source = a.open_table(input, draft, whole, roles_in)
            seconds = perf_counter() - begin
            role = roles_in(table)
            if report is not None and not role["quasi"]:
                raise RecipeError(NO_PAGE)
            recipe = replace(
                draft,
                **role,  # type: ignore[arg-type]
                types=a.types_of(table, types, type, lenient),
                weights=a.weights_of(role["quasi"], weights, weight, lenient),
                top=dict(a.parse_pairs("--top", top)),
                mean=tuple(mean or ()),
                bottom=dict(a.parse_pairs("--bottom", bottom)),
                fold=a.folded_of(fold),
            )
            with cancel_cluster(on_cluster):
                release = run_recipe(recipe, source, on_progress)
        if whole and why is not None:  # of a table that has been read the run cannot know it
            release = add_note(release, why)
        if recipe_out:
            made = describe_making(recipe, None if target is None or events else target)
            standard.named_files_only(recipe, input, output).save(recipe_out, made)
        if recoding_out:
            release.saved_recoding().save(recoding_out)
        # People are shown the file they named, not the private one behind -o -.
        told = replace(_with_reading(release.report, seconds), output=str(output) if output else None)
        if report:
            told.to_html(report, excerpt)
        every, stderr = recipe.all_solutions, output == standard.DASH
        print_report(
            told, as_json, quiet, release.solutions, every=every, stderr=stderr, source=name_source(recipe)
        )
        exit_by_verdict(told)


def _check_targets(draft: Recipe, written: Sequence[Path], table: Path | None) -> None:
    """Refuse files that could not be written, or are named twice.

    Only the release is a ``table`` with a known suffix, and not where Spark writes a folder; that of several
    tables is one, too.
    """
    for path in written:
        if draft.events and str(path) == draft.output:
            check_folder(path, None, list_inputs(draft))
        else:
            check_writable(path, list_inputs(draft), table=path == table)
    if len({path.resolve() for path in written}) < len(written):
        raise OutputError(f"{written[0]} cannot be two things: the release, its recipe and its recoding")


def _with_reading(report: Report, seconds: float) -> Report:
    """The report of a run on a table that took ``seconds`` to read before the run began."""
    spent = report.seconds
    longer = {phase: spent[phase] + seconds for phase in ("read", "total")}
    return replace(report, seconds={**spent, **longer})
