"""PrivacySearch: which goals a table can keep, and what they cost an estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from shoal.errors import InputError, RecipeError, unknown
from shoal.learn.blackbox import find_estimator_kind
from shoal.learn.configurations import (
    SCHEMA,
    Configuration,
    ConfigurationOutcome,
    build_grid,
    select_pareto_front,
)
from shoal.learn.estimators import is_numeric, named_estimator
from shoal.learn.evaluate import SearchJob, add_result, algorithm_of
from shoal.learn.goals import learning_goal
from shoal.learn.pictures import draw_search
from shoal.learn.sklearn_io import Columns, choose_seed, column_names, read_data, read_labels
from shoal.privacy import Model
from shoal.report.pictures import Picture
from shoal.support.sweep import run_in_parallel
from shoal.table import ColumnType, Table

Progress = Callable[[str, float], None]


class PrivacySearch(BaseEstimator):  # type: ignore[misc]
    """Tries privacy goals on a table and measures what an estimator loses by each.

    The protocol is honest: only the training part is anonymized, the estimator is trained on that, and its
    score is measured on held-out rows as they are, in repeated splits. The scores of an estimator trained on
    the raw rows and of always predicting the commonest class (or the mean) stand beside.

    Parameters
    ----------
    estimator : estimator or name
        What is trained: any estimator of scikit-learn, or random-forest, gradient-boosting, linear or
        decision-tree, which take text and missing values.
    k, l : numbers or sequences of numbers
        Goals to try; combinations with l above k are left out. None or 1 for no l.
    models : sequence of sequences of models
        Further models, each entry a set that holds together, such as ``[["t(t=0.2)"], ["t(t=0.4)"]]``.
    algorithm : name or sequence of names
        As in `shoal.anonymize`; ``tree`` is guided by the target.
    quasi, sensitive : lists of columns, or lists of such lists to choose from
        By default all columns but the sensitive ones are quasi-identifiers.
    target_score : float, optional
        The score to keep, which `results_` marks and `best_` respects; in the units of ``scoring``.
    scoring : str, callable or None
        As in scikit-learn; by default accuracy for classes and R² for numbers. `score_name_` says which.
    protocol : "holdout" or "minimize"
        minimize: the estimator is trained on raw rows; the held-out part is anonymized, then minimised with
        `Minimizer`, and scored. Sensitive columns are not minimised. The goal is verified once more on the
        minimised rows, and the NCP is that of both steps together.
    agreement : float, optional
        With ``protocol="minimize"``: how far predictions on minimised rows must agree with those on the rows
        before, which is ``target_score`` of `Minimizer`; by default 0.98.
    mode : "grid" or "halving"
        halving: after each split the worse half of the configurations gets no further ones.
    splits, test_size
        How often the table is divided, and the share held out.
    jobs : int
        How many configurations are tried at once; -1 for one per core.
    hierarchies, types
        As in `shoal.anonymize`.
    random_state : int, RandomState or None
        Draws the splits, and seeds algorithms and estimators by name. `random_state_` is the seed that was
        used.

    Attributes
    ----------
    results_ : polars.DataFrame
        Every configuration with score (mean and spread), deletion ratio, NCP, classes, whether the goal holds
        and the target is met, seconds; infeasible ones say why, and so do those in which the estimator
        failed.
    best_ : dict
        Of those that meet ``target_score`` the strictest in k, then l; without one the best score.
    pareto_ : polars.DataFrame
        What no other configuration beats in k, l, NCP and score at once.
    raw_score_, baseline_score_ : float
        Score of an estimator trained on the raw rows; of the commonest class or the mean.
    interrupted_ : bool
        Whether the search was interrupted; results are those that were done by then.
    """

    def __init__(
        self,
        estimator: Any = "random-forest",
        *,
        k: Any = (5, 10, 25, 50),
        l: Any = None,  # noqa: E741
        models: Sequence[Sequence[Model | str]] = ((),),
        algorithm: Any = "tree",
        quasi: Any = None,
        sensitive: Any = None,
        target_score: float | None = None,
        scoring: Any = None,
        protocol: str = "holdout",
        agreement: float | None = None,
        mode: str = "grid",
        splits: int = 3,
        test_size: float = 1 / 3,
        jobs: int = 1,
        hierarchies: Any = None,
        types: Mapping[str, ColumnType] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.l = l
        self.models = models
        self.algorithm = algorithm
        self.quasi = quasi
        self.sensitive = sensitive
        self.target_score = target_score
        self.scoring = scoring
        self.protocol = protocol
        self.agreement = agreement
        self.mode = mode
        self.splits = splits
        self.test_size = test_size
        self.jobs = jobs
        self.hierarchies = hierarchies
        self.types = types
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, on_progress: Progress | None = None) -> PrivacySearch:  # noqa: N803
        """Try every configuration.

        An interrupt (Ctrl-C) ends the search early and keeps what is done, see ``interrupted_``.
        """
        self._check_parameters()
        self.random_state_ = choose_seed(self.random_state)
        table = read_data(self, X, reset=True)
        labels = read_labels(y)
        check_consistent_length(table.frame, labels)
        self.configurations_ = self._build_grid(table)
        # Before the work begins: an interrupt must find results, if empty ones.
        self.outcomes_ = [ConfigurationOutcome() for _ in self.configurations_]
        job = self._build_job(X, table, labels)
        self.interrupted_ = False
        try:
            self.raw_score_, self.baseline_score_ = job.score_baselines()
            self._run_rounds(job, on_progress)
        except KeyboardInterrupt:
            self.interrupted_ = True
        return self

    @property
    def results_(self) -> pl.DataFrame:
        """Every configuration and what became of it."""
        check_is_fitted(self, "outcomes_")
        rows = [
            {**configuration.to_row(), **outcome.to_row(self.target_score)}
            for configuration, outcome in zip(self.configurations_, self.outcomes_, strict=True)
        ]
        return pl.DataFrame(rows, schema=SCHEMA)

    @property
    def pareto_(self) -> pl.DataFrame:
        """What no other configuration beats in k, l, NCP and score at once."""
        return select_pareto_front(self.results_)

    @property
    def best_(self) -> dict[str, Any]:
        """The configuration to take; empty if none is feasible and meets the target."""
        # When halving, early losers have fewer splits, and a mean over one lucky split may be the
        # highest of all.
        most = self.results_["splits"].max()
        done = self.results_.filter((pl.col("status") == "done") & (pl.col("splits") == most))
        order = ["score", "k", "l"]
        if self.target_score is not None:
            done, order = done.filter(pl.col("target_met")), ["k", "l", "score"]
        return next(
            done.sort(order, descending=True, nulls_last=True, maintain_order=True).iter_rows(named=True), {}
        )

    def select(
        self,
        *,
        min_score: float | None = None,
        max_deletion: float | None = None,
        sort: str = "score",
        descending: bool = True,
    ) -> pl.DataFrame:
        """The configurations that are done, filtered by score and deletion ratio, sorted by any column."""
        if sort not in SCHEMA:
            raise RecipeError(unknown("column of the results", sort, SCHEMA))
        chosen = self.results_.filter(pl.col("status") == "done")
        if min_score is not None:
            chosen = chosen.filter(pl.col("score") >= min_score)
        if max_deletion is not None:
            chosen = chosen.filter(pl.col("deletion_ratio") <= max_deletion)
        return chosen.sort(sort, descending=descending, nulls_last=True, maintain_order=True)

    def plot(self) -> Picture:
        """Score against k and l, and the Pareto front."""
        return draw_search(
            self.results_, self.pareto_, self.score_name_, self.raw_score_, self.baseline_score_
        )

    def _check_parameters(self) -> None:
        for name, options in (("protocol", ("holdout", "minimize")), ("mode", ("grid", "halving"))):
            if getattr(self, name) not in options:
                raise RecipeError(unknown(name, str(getattr(self, name)), options))
        if self.scoring is not None and not isinstance(self.scoring, str) and not callable(self.scoring):
            raise RecipeError(
                "scoring is one score: a name, a function of estimator, rows and labels, or None, not "
                f"{self.scoring!r:.60}"
            )
        if isinstance(self.scoring, str) and self.scoring not in get_scorer_names():
            raise RecipeError(unknown("score", self.scoring, get_scorer_names()))
        if self.agreement is not None and self.protocol != "minimize":
            raise RecipeError("agreement is that of the minimizer: it needs protocol='minimize'")
        if self.agreement is not None and not 0 < self.agreement <= 1:
            raise RecipeError(f"agreement must be above 0 and at most 1, not {self.agreement}")
        if self.splits < 1:
            raise RecipeError(f"splits must be at least 1, not {self.splits}")
        if not 0 < self.test_size < 1:
            raise RecipeError(f"test_size is a share of the rows between 0 and 1, not {self.test_size}")

    def _build_grid(self, table: Table) -> list[Configuration]:
        sensitive = [column_names(table, "sensitive", each) for each in _list_choices(self.sensitive or ())]
        every: tuple[str, ...] = tuple(table.names)
        quasi = [every] if self.quasi is None else _name_columns(table, _list_choices(self.quasi))
        # With several sensitive lists to choose from, an overlap is intended: each combination then
        # leaves its sensitive columns out of quasi.
        for names in quasi if self.quasi is not None else ():
            if both := [name for name in names if len(sensitive) == 1 and name in sensitive[0]]:
                raise RecipeError(
                    f"column '{both[0]}' is both quasi and sensitive: give each column one role"
                )
        made = build_grid(self.k, self.l, self.models, self.algorithm, quasi, sensitive)
        for each in made:  # what no table can repair is said before anything is tried
            learning_goal(each.k, each.diversity, each.models)
            if getattr(algorithm_of(each), "target", None) is not None:
                raise RecipeError("leave out the target of tree: here it is what the estimator predicts")
        return made

    def _build_job(self, data: Any, table: Table, labels: NDArray[Any]) -> SearchJob:
        estimator = self.estimator
        if isinstance(estimator, str):
            estimator = named_estimator(estimator, is_numeric(labels), self.random_state_)
        if isinstance(estimator, type) or not all(hasattr(estimator, n) for n in ("fit", "get_params")):
            raise RecipeError(
                "estimator is trained on every split: give an estimator of scikit-learn, or the name of one"
            )
        numeric = find_estimator_kind(estimator) == "regressor"
        try:
            scorer = check_scoring(estimator, scoring=self.scoring)
        except (TypeError, ValueError) as error:
            raise RecipeError(f"the estimator cannot be scored: {error}") from error
        named = self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", None)
        splitter = ShuffleSplit if numeric else StratifiedShuffleSplit
        parts = splitter(self.splits, test_size=self.test_size, random_state=self.random_state_)
        try:
            # Drawn once, so that all configurations are compared on the same rows.
            folds = list(parts.split(np.zeros(table.rows), labels))
        except ValueError as error:
            raise InputError(f"the rows cannot be divided for training and testing: {error}") from error
        self.score_name_ = named or ("r2" if numeric else "accuracy")
        return SearchJob(self, data, table, labels, estimator, scorer, numeric, folds)

    def _run_rounds(self, job: SearchJob, on_progress: Progress | None) -> None:
        """All splits of all configurations; when halving, split by split with fewer and fewer."""
        alive = list(range(len(self.configurations_)))
        rounds = [[fold] for fold in range(self.splits)] if self.mode == "halving" else [range(self.splits)]
        # An upper bound when halving, where later rounds have fewer configurations.
        whole, done = sum(len(each) for each in rounds) * len(alive), 0
        for folds in rounds:
            tasks = [(number, fold) for number in alive for fold in folds]
            each = ((self.configurations_[number], number, fold) for number, fold in tasks)
            for number, trial in run_in_parallel(job.try_configuration, each, self.jobs):
                add_result(self.outcomes_[number], trial)
                done += 1
                if on_progress is not None:
                    on_progress("trying configurations", done / whole)
            feasible = [number for number in alive if not self.outcomes_[number].reason]
            feasible.sort(key=lambda number: -self.outcomes_[number].mean_score)
            # Rounded up, so that the last one is not dropped; in the order of the grid again.
            alive = sorted(feasible[: max(1, (len(feasible) + 1) // 2)])


def _list_choices(columns: Any) -> list[Columns]:
    """One list of columns, or several to choose from."""
    if isinstance(columns, str):
        return [columns]
    if columns and not isinstance(columns[0], str | int | np.integer):
        return list(columns)
    return [columns]


def _name_columns(table: Table, choices: Sequence[Columns]) -> list[tuple[str, ...]]:
    return [column_names(table, "quasi", each) for each in choices]
