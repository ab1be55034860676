"""``shoal search``: which privacy goals an estimator can live with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import arguments as a
from shoal.cli import learning
from shoal.cli import options as o
from shoal.cli.options import flag, option
from shoal.cli.process import last_words
from shoal.cli.screen import make_console, progress
from shoal.errors import RecipeError, unknown
from shoal.table import read_table

if TYPE_CHECKING:
    from shoal.learn.presentation import SearchView

FILTERS = "Which results"
_RISING = ("ncp", "deletion_ratio", "seconds", "score_std")  # the less the better


def search(
    input: o.TableFile,
    target: learning.Target,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    or_quasi: Annotated[
        list[str] | None,
        option("--or-quasi", panel=o.ROLES, metavar="A,B", help="Another choice of them to try. Repeatable."),
    ] = None,
    or_sensitive: Annotated[
        list[str] | None,
        option("--or-sensitive", panel=o.ROLES, metavar="A,B", help="Other sensitive columns. Repeatable."),
    ] = None,
    identifier: o.Identifier = None,
    person: o.Person = None,
    type: o.Type = None,
    hierarchies: o.Hierarchies = None,
    k: o.EveryK = "5,10,25,50",
    l: o.Ls = None,  # noqa: E741
    model: Annotated[
        list[str] | None,
        option("--model", "-m", panel=o.GOAL, metavar="M(P=V)", help="A further model to try. Repeatable."),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        option(
            "--algorithm",
            "-a",
            panel=o.SEARCH,
            metavar="NAME",
            help="tree, auto, ...; choose tries several and says which one each goal takes. Repeatable.",
        ),
    ] = None,
    training: Annotated[
        list[str] | None,
        option(
            "--training",
            panel=o.SEARCH,
            metavar="NAME",
            help="What is trained on: representatives (one value per class), or draws (from how often each "
            "value occurs in a class). Repeatable; choose tries both.",
        ),
    ] = None,
    estimator: learning.Estimator = "random-forest",
    load_model: learning.LoadModel = None,
    trust_model: learning.TrustModel = False,
    target_score: Annotated[
        float | None,
        option("--target-score", panel=learning.LEARNING, metavar="X", help="The score that is to be kept."),
    ] = None,
    scoring: Annotated[
        str | None,
        option(
            "--scoring",
            panel=learning.LEARNING,
            metavar="A,B",
            help="Scores of scikit-learn, as roc_auc; the first of several decides.",
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        option(
            "--protocol",
            panel=learning.LEARNING,
            metavar="NAME",
            help="holdout (train on anonymized, score on raw rows) or minimize (anonymize and minimise what "
            "a trained model is fed), which a loaded model needs.",
        ),
    ] = None,
    agreement: Annotated[
        float | None,
        option(
            "--agreement",
            panel=learning.LEARNING,
            metavar="X",
            help="How far predictions on minimised rows must agree, with --protocol minimize; default 0.98.",
        ),
    ] = None,
    mode: Annotated[
        str,
        option(
            "--mode",
            panel=learning.LEARNING,
            metavar="NAME",
            help="grid, or halving: drop the worse half early.",
        ),
    ] = "grid",
    splits: Annotated[
        int, option("--splits", panel=learning.LEARNING, metavar="N", help="How often the rows are divided.")
    ] = 3,
    cv: Annotated[
        int | None,
        option(
            "--cv",
            panel=learning.LEARNING,
            metavar="N",
            help="Divide into N parts instead, each of which is scored once.",
        ),
    ] = None,
    jobs: o.Jobs = 1,
    resume: Annotated[
        Path | None,
        option(
            "--resume",
            panel=o.SEARCH,
            metavar="FILE",
            help="Keep what is done in a file, and continue from it after an interrupt.",
        ),
    ] = None,
    seed: o.Seed = 0,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    min_score: Annotated[
        float | None,
        option("--min-score", panel=FILTERS, metavar="X", help="Show those with at least this score."),
    ] = None,
    max_deletion: Annotated[
        float | None,
        option(
            "--max-deletion", panel=FILTERS, metavar="X", help="Show those that delete at most this share."
        ),
    ] = None,
    deleted_only: Annotated[bool, flag("--deleted-only", FILTERS, "Show those that delete rows.")] = False,
    sort: Annotated[
        str | None,
        option(
            "--sort",
            panel=FILTERS,
            metavar="COLUMN",
            help="Sort by score, ncp, deletion_ratio, ... Best first.",
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        option(
            "--output",
            "-o",
            panel=o.SHOWN,
            metavar="FILE",
            help="Write the results to a .csv, .json, .svg (picture) or .html file. Repeatable.",
        ),
    ] = None,
    report: learning.HtmlReport = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Try privacy goals and measure what each costs an estimator that is to predict a column.

    [bold]shoal search people.csv --target income -q age,zip -s illness -k 5,10,25 -l 2..5[/bold]

    Only the part for training is anonymized; scores are those on held-out rows as they are. Columns without
    a role are quasi-identifiers if --quasi names none.

    [bold]shoal search test.csv --target income -q age,zip -s illness --load-model model.onnx[/bold]

    With a model that is fitted, nothing is trained: the rows are test rows. They are anonymized, guided by
    what the model predicts, then minimised, and the model is scored on what is left.
    """
    from shoal.learn import PrivacySearch  # noqa: PLC0415  scikit-learn is optional
    from shoal.learn.configurations import SCHEMA, check_filters, select_results  # noqa: PLC0415
    from shoal.learn.presentation import SearchView, check_result_files  # noqa: PLC0415

    a.check_page(report)
    if sort is not None and sort not in SCHEMA and not sort.startswith("score_"):
        raise RecipeError(unknown("column of the results", sort, SCHEMA))
    check_filters(max_deletion)
    files = [*(output or ()), *([report] if report else ())]
    check_result_files(files)
    sizes, diverse = a.parse_numbers("-k", k, None), a.parse_numbers("--l", l, None) if l else None
    fitted = learning.load_fitted(load_model, trust_model)
    table = read_table(input, a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal))
    frame, labels, roles = learning.select_features(table, target, quasi, sensitive, identifier, type, na)
    known = learning.find_labelled_rows(labels, target, quiet)
    search = PrivacySearch(
        estimator,
        fitted=fitted,
        k=sizes,
        l=diverse,
        models=[[text] for text in model] if model else ((),),
        algorithm=tuple(algorithm or ("tree",)),
        training=tuple(training) if training else None,
        quasi=_list_choices(table, "quasi", roles["quasi"], or_quasi) or None,
        sensitive=_list_choices(table, "sensitive", roles["sensitive"], or_sensitive),
        person=next(a.names_of(table, [person])) if person else None,
        target_score=target_score,
        scoring=_split_scores(scoring),
        protocol=protocol or ("holdout" if fitted is None else "minimize"),
        agreement=agreement,
        mode=mode,
        splits=splits,
        cv=cv,
        refit=False,
        resume=resume,
        n_jobs=jobs,
        hierarchies=a.trees_of(table, hierarchies),
        random_state=seed,
    )

    def view() -> SearchView:
        found = select_results(
            search.results_,
            min_score=min_score,
            max_deletion=max_deletion,
            deleted_only=deleted_only,
            sort=sort,
            descending=sort not in _RISING,
        )
        return SearchView(search, found)

    # An interrupt ends the process at once, so it has to show what is done by itself.
    last_words.append(lambda: _show_search(view(), as_json, quiet) if hasattr(search, "outcomes_") else None)
    with progress(quiet) as on_progress:
        search.fit(frame[known], labels.gather(known).to_numpy(), on_progress)
    last_words.clear()
    shown = view()
    for path in files:
        shown.write(path, f"Privacy search: {input.name}")
    _show_search(shown, as_json, quiet)
    if not search.results_["holds"].any():
        raise typer.Exit(3)


def _list_choices(table: Any, role: str, first: list[str], others: list[str] | None) -> Any:
    """One list of columns, or several to choose from."""
    if not others:
        return first
    if not first:
        raise RecipeError(f"--or-{role} is another list of columns to try: give the first one with --{role}")
    return [first, *(list(a.names_of(table, [text])) for text in others)]


def _split_scores(scoring: str | None) -> Any:
    names = a.split_list(scoring or "")
    return names if len(names) > 1 else scoring


def _show_search(view: SearchView, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps(view.to_dict(), default=str))
    elif not quiet:
        view.show(make_console())
