"""The commands for learning: which goals an estimator can live with, and which data it needs at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as o
from shoal.cli.options import option

if TYPE_CHECKING:
    import polars as pl

    from shoal.learn import Minimizer, PrivacySearch
    from shoal.table import Table

_LEARNING = "Learning"

Target = Annotated[
    str, option("--target", panel=_LEARNING, metavar="COLUMN", help="The column that is to be predicted.")
]
Estimator = Annotated[
    str,
    option(
        "--estimator",
        panel=_LEARNING,
        metavar="NAME",
        help="random-forest, gradient-boosting, linear or decision-tree.",
    ),
]
HtmlReport = Annotated[
    Path | None,
    option("--report", panel=o.SHOWN, metavar="F.html", help="Write the results and a picture to a page."),
]


def search(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="The table, in any format.")],
    target: Target,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
    type: o.Type = None,
    hierarchies: o.Hierarchies = None,
    k: o.Ks = "5,10,25,50",
    l: o.Ls = None,  # noqa: E741
    model: Annotated[
        list[str] | None,
        option("--model", "-m", panel=o.GOAL, metavar="M(P=V)", help="A further model to try. Repeatable."),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        option("--algorithm", "-a", panel=o.SEARCH, metavar="NAME", help="tree, mondrian, ... Repeatable."),
    ] = None,
    estimator: Estimator = "random-forest",
    target_score: Annotated[
        float | None,
        option("--target-score", panel=_LEARNING, metavar="X", help="The score that is to be kept."),
    ] = None,
    scoring: Annotated[
        str | None,
        option("--scoring", panel=_LEARNING, metavar="NAME", help="A score of scikit-learn, as roc_auc."),
    ] = None,
    protocol: Annotated[
        str,
        option(
            "--protocol",
            panel=_LEARNING,
            metavar="NAME",
            help="holdout (train on anonymized, score on raw rows) or minimize.",
        ),
    ] = "holdout",
    mode: Annotated[
        str,
        option(
            "--mode", panel=_LEARNING, metavar="NAME", help="grid, or halving: drop the worse half early."
        ),
    ] = "grid",
    splits: Annotated[
        int, option("--splits", panel=_LEARNING, metavar="N", help="How often the rows are divided.")
    ] = 3,
    jobs: o.Jobs = 1,
    seed: o.Seed = 0,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    report: HtmlReport = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Try privacy goals and measure what each costs an estimator that is to predict a column.

    [bold]shoal search people.csv --target income -q age,zip -s illness -k 5..50 -l 2..5[/bold]

    Only the part for training is anonymized; scores are those on held-out rows as they are. Columns without
    a role are quasi-identifiers if --quasi names none.
    """
    from shoal.cli import arguments as a
    from shoal.cli.process import last_words
    from shoal.cli.screen import progress
    from shoal.learn import PrivacySearch
    from shoal.table import read

    a.check_page(report)
    sizes, diverse = a.several("-k", k), a.several("--l", l) if l else None
    table = read(input, a.reading_options(delimiter, encoding, no_header, na))
    frame, labels, roles = _learning(table, target, quasi, sensitive, identifier, type, na)
    known = _labelled(labels, target, quiet)
    search = PrivacySearch(
        estimator,
        k=sizes,
        l=diverse,
        models=[[text] for text in model] if model else ((),),
        algorithm=tuple(algorithm or ("tree",)),
        quasi=roles["quasi"] or None,
        sensitive=roles["sensitive"],
        target_score=target_score,
        scoring=scoring,
        protocol=protocol,
        mode=mode,
        splits=splits,
        jobs=jobs,
        hierarchies=a.trees_of(table, hierarchies),
        random_state=seed,
    )
    last_words.append(lambda: _tell(search, as_json, quiet))
    with progress(quiet) as on_progress:
        search.fit(frame[known], labels.gather(known).to_numpy(), on_progress)
    last_words.clear()
    if report:
        from shoal.report.pictures import write_page

        write_page(report, f"Privacy search: {input.name}", search.plot(), search.results_)
    _tell(search, as_json, quiet)
    if not search.results_["holds"].any():
        raise typer.Exit(3)


def minimize(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="The table, in any format.")],
    target: Target,
    identifier: o.Identifier = None,
    keep: Annotated[
        list[str] | None,
        option("--keep", panel=o.ROLES, metavar="A,B", help="Columns to leave as they are."),
    ] = None,
    type: o.Type = None,
    hierarchies: o.Hierarchies = None,
    estimator: Estimator = "random-forest",
    target_score: Annotated[
        float,
        option(
            "--target-score",
            panel=_LEARNING,
            metavar="X",
            help="How far predictions must agree with those on full data, 0 to 1.",
        ),
    ] = 0.98,
    seed: o.Seed = 0,
    output: Annotated[
        Path | None,
        option("--output", "-o", panel=o.RELEASE, metavar="FILE", help="Write the minimised table."),
    ] = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    report: HtmlReport = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Find out how little detail an estimator needs: which columns not at all, which in coarse ranges.

    [bold]shoal minimize people.csv --target income --target-score 0.98[/bold]

    An estimator is trained on half of the rows; half of the others choose what can go, and the rest, which
    were never used, say how far predictions still agree.
    """
    import polars as pl

    from shoal.cli import arguments as a
    from shoal.cli.screen import progress
    from shoal.learn import Minimizer
    from shoal.table import check_writable, read, write

    a.check_page(report)
    if output:
        check_writable(output, [input])
    table = read(input, a.reading_options(delimiter, encoding, no_header, na))
    frame, labels, _ = _learning(table, target, None, None, identifier, type, na)
    known = _labelled(labels, target, quiet)
    with progress(quiet) as on_progress:
        on_progress("training", 0.0)
        trained, rest, unseen = _trained(frame, labels, known, estimator, seed)
        minimizer = Minimizer(
            trained,
            target_score,
            keep=list(a.names_of(table, keep or ())),
            hierarchies=a.trees_of(table, hierarchies),
            random_state=seed,
        )
        on_progress("minimising", 0.0)
        minimizer.fit(frame[rest])
    minimised = minimizer.transform(frame)
    if output:
        shown = pl.DataFrame([*minimised, table.frame[target]])
        there = set(shown.columns)
        write(pl.DataFrame([shown[n] for n in table.names if n in there]), output, like=table.origin)
    if report:
        from shoal.report.pictures import write_page

        write_page(report, f"Minimised: {input.name}", minimizer.plot(), _needs(minimizer))
    agreed = minimizer.agreement(frame[unseen])
    _tell_minimized(minimizer, agreed, unseen.size, as_json, quiet)


def _learning(
    table: Table,
    target: str,
    quasi: list[str] | None,
    sensitive: list[str] | None,
    identifier: list[str] | None,
    type: list[str] | None,
    na: list[str] | None,
) -> tuple[pl.DataFrame, pl.Series, dict[str, list[str]]]:
    """The columns to learn from in their types, the labels, and the roles by name."""
    from shoal.cli import arguments as a
    from shoal.errors import RecipeError
    from shoal.learn.intake import typed

    roles = {
        role: list(a.names_of(table, texts or ()))
        for role, texts in (("quasi", quasi), ("sensitive", sensitive), ("identifier", identifier))
    }
    (column,) = a.names_of(table, [target])
    if wrong := [role for role, names in roles.items() if column in names]:
        raise RecipeError(f"the target '{column}' is named {wrong[0]} too: it is neither released nor hidden")
    frame = typed(table, a.types_of(table, None, type), na or ())
    left = [series for series in frame if series.name not in (column, *roles["identifier"])]
    if not left:
        raise RecipeError("there is nothing to learn from: every column is the target or an identifier")
    import polars as pl

    return pl.DataFrame(left), frame[column], roles


def _labelled(labels: pl.Series, target: str, quiet: bool) -> Any:
    """Positions of the rows whose target is known; the others teach nothing, and are counted."""
    import numpy as np

    from shoal.errors import InputError

    known = np.flatnonzero(labels.is_not_null().to_numpy())
    if labels.drop_nulls().n_unique() < 2:
        raise InputError(
            f"the target '{target}' has fewer than two different values: nothing is to be learned"
        )
    if known.size < len(labels) and not quiet:
        typer.echo(f"{len(labels) - known.size} rows without a value of '{target}' are left out", err=True)
    return known


def _trained(
    frame: pl.DataFrame, labels: pl.Series, known: Any, estimator: str, seed: int
) -> tuple[Any, Any, Any]:
    """An estimator trained on half of the rows, and two halves of the others."""
    import numpy as np

    from shoal.errors import InputError
    from shoal.learn.estimators import is_numeric, named_estimator

    if known.size < 12:
        raise InputError(f"{known.size} rows are too few to train on and to judge by: give at least 12")
    order = np.random.default_rng(seed).permutation(known)
    train, rest, unseen = np.split(order, [order.size // 2, order.size // 2 + order.size // 4])
    y = labels.gather(train).to_numpy()
    return named_estimator(estimator, is_numeric(y), seed).fit(frame[train], y), rest, unseen


def _tell(search: PrivacySearch, as_json: bool, quiet: bool) -> None:
    import json

    from shoal.cli.screen import console

    if not hasattr(search, "outcomes_"):
        return
    results = search.results_
    raw, plain = getattr(search, "raw_score_", None), getattr(search, "baseline_score_", None)
    if as_json:
        found = {
            "score": search.score_name_,
            "raw_score": raw,
            "baseline_score": plain,
            "results": results.to_dicts(),
            "best": search.best_,
            "pareto": search.pareto_.to_dicts(),
        }
        typer.echo(json.dumps(found))
    elif not quiet:
        from shoal.learn.pictures import show_results

        show_results(console(), results, search.score_name_, raw, plain, search.best_)


def _needs(minimizer: Minimizer) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame([{"column": each.name, "needed": each.text()} for each in minimizer.published_])


def _tell_minimized(minimizer: Minimizer, agreed: float, rows: int, as_json: bool, quiet: bool) -> None:
    import json

    from shoal.cli.screen import console

    if as_json:
        found = {
            "target_score": minimizer.target_score,
            "score": minimizer.score_,
            "unseen_score": agreed,
            "unseen_rows": rows,
            "ncp": minimizer.ncp_,
            "columns": minimizer.generalizations_,
        }
        typer.echo(json.dumps(found, default=str))
    elif not quiet:
        console().print(minimizer.describe(), markup=False)
        console().print(f"on {rows:,} rows that were never used, predictions agree to {agreed:.1%}")
