"""``shoal search``: which privacy goals an estimator can live with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as a
from shoal.cli import learning
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.process import last_words
from shoal.cli.screen import make_console, progress
from shoal.report.pictures import write_page
from shoal.table import read_table

if TYPE_CHECKING:
    from shoal.learn import PrivacySearch


def search(
    input: o.TableFile,
    target: learning.Target,
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
    estimator: learning.Estimator = "random-forest",
    target_score: Annotated[
        float | None,
        option("--target-score", panel=learning.LEARNING, metavar="X", help="The score that is to be kept."),
    ] = None,
    scoring: Annotated[
        str | None,
        option(
            "--scoring", panel=learning.LEARNING, metavar="NAME", help="A score of scikit-learn, as roc_auc."
        ),
    ] = None,
    protocol: Annotated[
        str,
        option(
            "--protocol",
            panel=learning.LEARNING,
            metavar="NAME",
            help="holdout (train on anonymized, score on raw rows) or minimize.",
        ),
    ] = "holdout",
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
    jobs: o.Jobs = 1,
    seed: o.Seed = 0,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    report: learning.HtmlReport = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Try privacy goals and measure what each costs an estimator that is to predict a column.

    [bold]shoal search people.csv --target income -q age,zip -s illness -k 5..50 -l 2..5[/bold]

    Only the part for training is anonymized; scores are those on held-out rows as they are. Columns without
    a role are quasi-identifiers if --quasi names none.
    """
    from shoal.learn import PrivacySearch  # noqa: PLC0415  scikit-learn is optional

    a.check_page(report)
    sizes, diverse = a.parse_numbers("-k", k), a.parse_numbers("--l", l) if l else None
    table = read_table(input, a.reading_options(delimiter, encoding, no_header, na))
    frame, labels, roles = learning.select_features(table, target, quasi, sensitive, identifier, type, na)
    known = learning.find_labelled_rows(labels, target, quiet)
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
        agreement=agreement,
        mode=mode,
        splits=splits,
        jobs=jobs,
        hierarchies=a.trees_of(table, hierarchies),
        random_state=seed,
    )
    # An interrupt ends the process at once, so it has to show what is done by itself.
    last_words.append(lambda: _show_search(search, as_json, quiet))
    with progress(quiet) as on_progress:
        search.fit(frame[known], labels.gather(known).to_numpy(), on_progress)
    last_words.clear()
    if report:
        write_page(report, f"Privacy search: {input.name}", search.plot(), search.results_)
    _show_search(search, as_json, quiet)
    if not search.results_["holds"].any():
        raise typer.Exit(3)


def _show_search(search: PrivacySearch, as_json: bool, quiet: bool) -> None:
    # Interrupted before the first configuration: there is nothing to show.
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
        from shoal.learn.pictures import show_results  # noqa: PLC0415

        show_results(make_console(), results, search.score_name_, raw, plain, search.best_)
