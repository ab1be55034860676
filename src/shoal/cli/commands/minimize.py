"""``shoal minimize``: how little detail an estimator needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from shoal.cli import arguments as a
from shoal.cli import learning
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console, progress
from shoal.errors import RecipeError
from shoal.report.pictures import write_page
from shoal.table import Table, check_writable, read_table, write_table

if TYPE_CHECKING:
    from shoal.learn import Minimizer


def minimize(
    input: o.TableFile,
    target: learning.Target,
    identifier: o.Identifier = None,
    keep: Annotated[
        list[str] | None,
        option("--keep", panel=o.ROLES, metavar="A,B", help="Columns to leave as they are."),
    ] = None,
    type: o.Type = None,
    hierarchies: o.Hierarchies = None,
    estimator: learning.Estimator = "random-forest",
    load_model: learning.LoadModel = None,
    trust_model: learning.TrustModel = False,
    target_score: Annotated[
        float,
        option(
            "--target-score",
            panel=learning.LEARNING,
            metavar="X",
            help="How far predictions must agree with those on full data, 0 to 1.",
        ),
    ] = 0.98,
    confidence: Annotated[
        float,
        option(
            "--confidence",
            panel=learning.LEARNING,
            metavar="X",
            help="How sure it must be that unseen rows keep the target, below 1.",
        ),
    ] = 0.95,
    scoring: Annotated[
        str | None,
        option(
            "--scoring",
            panel=learning.LEARNING,
            metavar="NAME",
            help="Another measure of agreement: a score of predictions, as f1_macro.",
        ),
    ] = None,
    cells: Annotated[
        str,
        option(
            "--cells",
            panel=learning.LEARNING,
            metavar="NAME",
            help="columns (cells of one column each), boxes (cells of several columns at once) or best.",
        ),
    ] = "columns",
    cost: Annotated[
        list[str] | None,
        option(
            "--cost",
            panel=learning.LEARNING,
            metavar="COLUMN=X",
            help="What a column costs to collect, 1 if not said: dear ones are given up first. Repeatable.",
        ),
    ] = None,
    seed: o.Seed = 0,
    output: Annotated[
        Path | None,
        option("--output", "-o", panel=o.RELEASE, metavar="FILE", help="Write the minimised table."),
    ] = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    report: learning.HtmlReport = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Find out how little detail an estimator needs: which columns not at all, which in coarse ranges.

    [bold]shoal minimize people.csv --target income --target-score 0.98[/bold]

    An estimator is trained on half of the rows. Of the others some choose what can go, and the rest take part
    in nothing and test the result once. If they do not show that unseen rows keep the target, nothing goes.
    With a model that is fitted, nothing is trained, and all rows are those others.
    """
    from shoal.learn import Minimizer  # noqa: PLC0415  scikit-learn is optional

    a.check_page(report)
    if output:
        check_writable(output, [input])
    fitted = learning.load_fitted(load_model, trust_model)
    table = read_table(input, a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal))
    frame, labels, _ = learning.select_features(table, target, None, None, identifier, type, na)
    known = learning.find_labelled_rows(labels, target, quiet)
    with progress(quiet) as on_progress:
        on_progress("training", 0.0)
        model, rest = fitted, known
        if fitted is None:
            model, rest = learning.train_estimator(frame, labels, known, estimator, seed)
        minimizer = Minimizer(
            model,
            target_score,
            confidence=confidence,
            scoring=scoring,
            cells=cells,
            keep=list(a.names_of(table, keep or ())),
            costs=_read_costs(table, cost),
            hierarchies=a.trees_of(table, hierarchies),
            random_state=seed,
        )
        minimizer.fit(frame[rest], None, on_progress)
    minimised = minimizer.transform(frame)
    if output:
        shown = pl.DataFrame([*minimised, table.frame[target]])
        there = set(shown.columns)
        write_table(pl.DataFrame([shown[n] for n in table.names if n in there]), output, like=table.origin)
    if report:
        write_page(report, f"Minimised: {input.name}", minimizer.plot(), _list_needs(minimizer))
    _show_minimized(minimizer, as_json, quiet)


def _read_costs(table: Table, cost: list[str] | None) -> dict[str | int, float]:
    costs: dict[str | int, float] = {}
    for name, text in a.parse_pairs("--cost", cost):
        try:
            costs[next(a.names_of(table, [name]))] = float(text)
        except ValueError:
            raise RecipeError(f"--cost takes a number for '{name}', not '{text}'") from None
    return costs


def _list_needs(minimizer: Minimizer) -> pl.DataFrame:
    rows = [{"column": each.name, "needed": each.text()} for each in minimizer.published_]
    boxes = minimizer.list_box_lines()
    return pl.DataFrame([*rows, *({"column": name, "needed": line} for name, line in boxes)])


def _show_minimized(minimizer: Minimizer, as_json: bool, quiet: bool) -> None:
    if as_json:
        found = {
            "target_score": minimizer.target_score,
            "score": minimizer.score_,
            "unseen_score": minimizer.score_,
            "unseen_rows": minimizer.guarantee_.rows,
            "guarantee": minimizer.guarantee_.to_dict(),
            "ncp": minimizer.ncp_,
            "columns": minimizer.generalizations_,
            "boxes": minimizer.boxes_,
        }
        typer.echo(json.dumps(found, default=str))
    elif not quiet:
        make_console().print(minimizer.describe(), markup=False)
