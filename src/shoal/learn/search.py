"""PrivacySearch: which goals a table can keep, and what they cost an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from shoal.errors import RecipeError, unknown
from shoal.learn.blackbox import EstimatorError, KeepsFittedModel, find_estimator_kind
from shoal.learn.checkpoints import SearchFile, make_fingerprint
from shoal.learn.configurations import (
    DRAWS,
    REPRESENTATIVES,
    TRAINING,
    ConfigurationOutcome,
    SearchGrid,
    as_tuple,
    build_grid,
    choose_algorithms,
    choose_best,
    extend_schema,
    select_pareto_front,
    select_results,
)
from shoal.learn.divisions import Division, plan_division, split_rows
from shoal.learn.estimators import is_numeric, named_estimator
from shoal.learn.evaluate import SearchJob
from shoal.learn.fitted import wrap_fitted
from shoal.learn.goals import learning_goal
from shoal.learn.pictures import draw_search
from shoal.learn.presentation import SearchView, check_result_files
from shoal.learn.progress import print_line, show_progress
from shoal.learn.releasing import AnonymizedRows, Anonymizer, algorithm_of, without_person
from shoal.learn.sklearn_io import (
    Columns,
    check_labels,
    choose_seed,
    column_names,
    find_person,
    read_data,
    read_labels,
)
from shoal.privacy import Model
from shoal.privacy.people import read_people
from shoal.report.pictures import Picture
from shoal.support.sweep import run_in_parallel
from shoal.table import ColumnType, Table

Progress = Callable[[str, float], None]

_SCORED = 0.4  # share of the classes of a test part that are scored
_AGREEMENT = 0.98  # what the minimizer keeps in the protocol of that name, where nothing is said
_BINDING = ("scoring", "protocol", "agreement", "cv", "splits", "test_size", "hierarchies", "types", "person")
"""Settings on which the result of a configuration depends, besides its own, the rows and the model."""


def _can_predict(search: PrivacySearch) -> bool:
    """Whether a search has, or will have, an estimator of its own to ask."""
    return bool(search.refit)


def _has_probabilities(search: PrivacySearch) -> bool:
    """Whether that estimator has probabilities; one that is only named may have some."""
    model = getattr(search, "best_estimator_", search.estimator if search.fitted is None else search.fitted)
    return bool(search.refit) and (isinstance(model, str) or hasattr(model, "predict_proba"))


class PrivacySearch(MetaEstimatorMixin, KeepsFittedModel):  # type: ignore[misc]
    """Tries privacy goals on a table and measures what an estimator loses by each.

    The protocol is honest: only the training part is anonymized, the estimator is trained on that, and its
    score is measured on held-out rows as they are, in repeated splits. The scores of an estimator trained on
    the raw rows and of always predicting the commonest class (or the mean) stand beside.

    With a ``fitted`` model nothing is trained, and the rows are test rows: see ``protocol``.

    Parameters
    ----------
    estimator : estimator or name
        What is trained: any estimator of scikit-learn, or random-forest, gradient-boosting, linear or
        decision-tree, which take text and missing values.
    fitted : model, optional
        A model that is asked and never trained, in place of an estimator; needs ``protocol="minimize"``. Any
        model that `Minimizer` takes, see `load_model`. The search and its clones keep it.
    k, l : numbers or sequences of numbers
        Goals to try; combinations with l above k are left out. None or 1 for no l.
    models : sequence of sequences of models
        Further models, each entry a set that holds together, such as ``[["t(t=0.2)"], ["t(t=0.4)"]]``.
    algorithm : name or sequence of names
        As in `shoal.anonymize`; ``tree`` is guided by the target, or by what a model predicts. ``"choose"``
        tries several, from ``auto`` to trees and mixtures of both; `chosen_` has the best for each goal.
    training : "representatives", "draws" or a sequence of both, optional
        What an estimator is trained on: one value for each class and column, or besides that rows drawn from
        how often each value occurs in the class, which is then what is released. By default representatives;
        with ``algorithm="choose"`` both are tried.
    quasi, sensitive : lists of columns, or lists of such lists to choose from
        By default all columns but the sensitive ones are quasi-identifiers. Where there are several lists,
        combinations in which a column is both are skipped, and counted in ``skipped_``.
    person : column, by name or position, optional
        Says whose row it is, where people have several: goals and deletion count people, all rows of a
        person are on one side of a split, and no model sees the column.
    target_score : float, optional
        The score to keep, which `results_` marks and `best_` respects; in the units of ``scoring``.
    scoring : str, callable, list, dict or None
        As in scikit-learn; by default accuracy for classes and R² for numbers. Of several the first decides,
        or the one that ``refit`` names. `score_name_` says which.
    protocol : "holdout" or "minimize"
        minimize: rows that trained nothing are anonymized, guided by what the model predicts, then minimised
        with `Minimizer` and scored. Sensitive columns are not minimised. Whole classes are either minimised
        on or scored, so that the goal holds for the scored part as well. It is counted once more on all
        minimised rows and on that part. The NCP is that of both steps together.
    agreement : float, optional
        With ``protocol="minimize"``: how far predictions on minimised rows must agree with those on the rows
        before, which is ``target_score`` of `Minimizer`; by default 0.98.
    mode : "grid" or "halving"
        halving: after each split the worse half of the configurations gets no further ones.
    cv : int, splitter, iterable or None
        How rows are divided for training and testing, as in scikit-learn. None takes ``splits`` and
        ``test_size``. With a fitted model, a number of parts in which each class is scored once.
    splits, test_size
        How often the table is divided, and the share held out; of classes, with a fitted model.
    refit : bool or str
        Whether to train an estimator by the best configuration on all rows at the end; of several scores,
        the name of the one that decides.
    error_score : "raise" or float
        The score of a configuration in which the estimator failed; or raise its error.
    resume : path, optional
        A file for what is done: a search that was interrupted continues from it. It holds values of the
        table if columns are minimised.
    n_jobs : int, optional
        How many configurations are tried at once; -1 for one per core. ``jobs`` is its earlier name.
    verbose : int, optional
        0 for no bar, 2 for a line about each configuration. By default there is a bar in terminals and
        notebooks.
    hierarchies, types
        As in `shoal.anonymize`.
    random_state : int, RandomState or None
        Draws the splits, and seeds algorithms and estimators by name. `random_state_` is the seed that was
        used.

    Attributes
    ----------
    results_ : polars.DataFrame
        Every configuration with score (mean and spread), deletion ratio, NCP, classes, whether the goal holds
        and the target is met, seconds, and ``status``: done, infeasible, error or not done, with the reason.
        ``score_all`` counts deleted rows as wrong, if the score is accuracy. With ``protocol="minimize"``
        ``smallest_class`` and ``distinct`` are k and l as counted on the final rows, ``scored_...`` as
        counted on the scored part.
    cv_results_ : dict
        The same figures under the names that searches of scikit-learn have.
    best_ : dict
        Of those that meet ``target_score`` the strictest in k, then l; without one the best score.
    best_estimator_, best_params_, best_score_, best_index_
        As in scikit-learn. With ``protocol="minimize"`` the estimator is a pipeline of the minimizer and the
        model.
    pareto_ : polars.DataFrame
        What no other configuration beats in k, l, NCP and score at once.
    chosen_ : polars.DataFrame
        Of every goal the algorithm with the best score. `release` anonymizes by it.
    generalizations_ : list
        With ``protocol="minimize"``: of each configuration what the minimizer of its first split does.
    skipped_ : dict
        How many combinations were not tried, by the reason.
    raw_score_, baseline_score_ : float
        Score of an estimator trained on the raw rows, or of the fitted model on them; of the commonest class
        or the mean.
    interrupted_ : bool
        Whether the search was interrupted; results are those that were done by then.
    """

    kept_model = "fitted"

    def __init__(
        self,
        estimator: Any = "random-forest",
        *,
        fitted: Any = None,
        k: Any = (5, 10, 25, 50),
        l: Any = None,  # noqa: E741
        models: Sequence[Sequence[Model | str]] = ((),),
        algorithm: Any = "tree",
        training: Any = None,
        quasi: Any = None,
        sensitive: Any = None,
        person: str | int | None = None,
        target_score: float | None = None,
        scoring: Any = None,
        protocol: str = "holdout",
        agreement: float | None = None,
        mode: str = "grid",
        cv: Any = None,
        splits: int = 3,
        test_size: float = 1 / 3,
        refit: bool | str = True,
        error_score: Any = float("nan"),
        resume: str | Path | None = None,
        n_jobs: int | None = None,
        jobs: int = 1,
        verbose: int | None = None,
        hierarchies: Any = None,
        types: Mapping[str, ColumnType] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.fitted = fitted
        self.k = k
        self.l = l
        self.models = models
        self.algorithm = algorithm
        self.training = training
        self.quasi = quasi
        self.sensitive = sensitive
        self.person = person
        self.target_score = target_score
        self.scoring = scoring
        self.protocol = protocol
        self.agreement = agreement
        self.mode = mode
        self.cv = cv
        self.splits = splits
        self.test_size = test_size
        self.refit = refit
        self.error_score = error_score
        self.resume = resume
        self.n_jobs = n_jobs
        self.jobs = jobs
        self.verbose = verbose
        self.hierarchies = hierarchies
        self.types = types
        self.random_state = random_state

    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        on_progress: Progress | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> PrivacySearch:
        """Try every configuration.

        An interrupt (Ctrl-C) ends the search early and keeps what is done, see ``interrupted_``.

        Parameters
        ----------
        sample_weight : array, optional
            How much each row counts, in training and in scores.
        """
        check_parameters(self)
        self.random_state_ = choose_seed(self.random_state)
        table = read_data(self, X, reset=True)
        labels = read_labels(y)
        check_consistent_length(table.frame, labels)
        check_labels(labels, find_estimator_kind(self.estimator) if self.fitted is None else None)
        grid = self._build_grid(table)
        self.configurations_, self.skipped_ = grid.configurations, grid.skipped
        # Before the work begins: an interrupt must find results, if empty ones.
        self.outcomes_ = [ConfigurationOutcome() for _ in self.configurations_]
        job = self._build_job(X, table, labels, sample_weight)
        self.interrupted_ = False
        bar = show_progress(self.verbose) if on_progress is None else nullcontext(on_progress)
        try:
            with bar as tell:
                self.raw_score_, self.baseline_score_ = job.score_baselines()
                self._run_rounds(job, tell)
                self._refit(job, tell)
        except KeyboardInterrupt:
            self.interrupted_ = True
        return self

    @property
    def results_(self) -> pl.DataFrame:
        """Every configuration and what became of it."""
        check_is_fitted(self, "outcomes_")
        names = self.score_names_
        missing = float("nan") if self.error_score == "raise" else float(self.error_score)
        schema = extend_schema(names)
        rows = [
            {**dict.fromkeys(schema), "note": ""}
            | configuration.to_row()
            | outcome.to_row(self.target_score, names, missing)
            for configuration, outcome in zip(self.configurations_, self.outcomes_, strict=True)
        ]
        return pl.DataFrame(rows, schema=schema)

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The results under the names that searches of scikit-learn have."""
        results = self.results_
        score = results["score"].fill_null(float("nan")).to_numpy()
        rank = (-results["score"].fill_null(-np.inf)).rank("min").cast(pl.Int64).to_numpy()
        return {
            "params": [configuration.to_row() for configuration in self.configurations_],
            "mean_test_score": score,
            "std_test_score": results["score_std"].fill_null(float("nan")).to_numpy(),
            "rank_test_score": rank,
            **{name: results[name].to_numpy() for name in results.columns},
        }

    @property
    def generalizations_(self) -> list[Mapping[str, Any] | None]:
        """What the minimizer of the first split does, of each configuration."""
        check_is_fitted(self, "outcomes_")
        return [next((e.generalizations for e in each.splits), None) for each in self.outcomes_]

    @property
    def pareto_(self) -> pl.DataFrame:
        """What no other configuration beats in k, l, NCP and score at once."""
        return select_pareto_front(self.results_)

    @property
    def chosen_(self) -> pl.DataFrame:
        """Of every goal the algorithm, and what to train on, by which the estimator loses least."""
        return choose_algorithms(self._list_compared())

    def release(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        k: int | None = None,
        l: int | None = None,  # noqa: E741
    ) -> AnonymizedRows:
        """Anonymize rows, mostly those of `fit`, by the algorithm that was chosen for a goal.

        Parameters
        ----------
        y : array
            The target, which trees follow; with a fitted model, what it predicts.
        k, l : int, optional
            The goal, where several were searched. Of several with these figures the first one is taken.

        Returns
        -------
        the rows that are released (``data``, or ``shares`` where rows are drawn from them), those to train on
        (``training``) with the rows whose labels they have (``training_rows``), and figures
        """
        chosen = self.chosen_
        for name, asked in (("k", k), ("l", l)):
            chosen = chosen if asked is None else chosen.filter(pl.col(name) == asked)
        if chosen.is_empty():
            raise RecipeError("no configuration with this goal is done: search for it, or ask for another")
        wanted = chosen.row(0, named=True)
        configuration = next(each for each in self.configurations_ if each.to_row().items() <= wanted.items())
        table = read_data(self, X, reset=False)
        labels = read_labels(y)
        check_consistent_length(table.frame, labels)
        anonymizer = self._build_anonymizer(X, table)
        return anonymizer.anonymize_rows(configuration, np.arange(table.rows), labels)

    @property
    def best_(self) -> dict[str, Any]:
        """The configuration to take; empty if none is feasible and meets the target."""
        return choose_best(self._list_compared(), self.target_score)

    def _list_compared(self) -> pl.DataFrame:
        """The results that were measured alike."""
        results = self.results_
        # When halving, early losers have fewer splits, and a mean over one lucky split may be the
        # highest of all.
        if self.mode == "halving":
            results = results.filter(pl.col("splits") == results["splits"].max())
        return results

    @property
    def best_index_(self) -> int:
        """The number of the configuration to take."""
        taken = [self.best_.get(name) for name in self.configurations_[0].to_row()]
        rows = [list(each.to_row().values()) for each in self.configurations_]
        if taken not in rows:
            raise AttributeError("no configuration is feasible and meets the target")
        return rows.index(taken)

    @property
    def best_params_(self) -> dict[str, Any]:
        """The configuration to take, as plain values."""
        return self.configurations_[self.best_index_].to_row()

    @property
    def best_score_(self) -> float:
        """The score of the configuration to take."""
        return float(self.best_["score"])

    @available_if(_can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """What the best estimator predicts for rows."""
        return np.asarray(self._find_best_estimator().predict(self._prepare_rows(X)))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Probabilities by the best estimator, where it has some."""
        return np.asarray(self._find_best_estimator().predict_proba(self._prepare_rows(X)))

    @available_if(_can_predict)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: ArrayLike) -> float:  # noqa: N803
        """The score of the best estimator on rows."""
        best = self._find_best_estimator()
        found = self.scorer_(best, self._prepare_rows(X), read_labels(y))
        return float(found[self.score_name_] if isinstance(found, dict) else found)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the best estimator."""
        return np.asarray(self._find_best_estimator().classes_)

    def select(
        self,
        *,
        min_score: float | None = None,
        max_deletion: float | None = None,
        deleted_only: bool = False,
        sort: str = "score",
        descending: bool = True,
    ) -> pl.DataFrame:
        """The configurations that are done, filtered by score and deletion ratio, sorted by any column."""
        return select_results(
            self.results_.filter(pl.col("status") == "done"),
            min_score=min_score,
            max_deletion=max_deletion,
            deleted_only=deleted_only,
            sort=sort,
            descending=descending,
        )

    def write(
        self,
        path: str | Path,
        *,
        min_score: float | None = None,
        max_deletion: float | None = None,
        deleted_only: bool = False,
        sort: str | None = None,
        descending: bool = True,
    ) -> None:
        """Write the results to a file that ends in .csv, .json, .svg (a picture) or .html (a page).

        The filters and the order are those of `select`; without ``sort`` the order is that of the grid.
        """
        check_result_files([Path(path)])
        shown = select_results(
            self.results_,
            min_score=min_score,
            max_deletion=max_deletion,
            deleted_only=deleted_only,
            sort=sort,
            descending=descending,
        )
        SearchView(self, shown).write(Path(path), "Privacy search")

    def plot(self) -> Picture:
        """Score against k and l, and the Pareto front."""
        return draw_search(
            self.results_, self.pareto_, self.score_name_, self.raw_score_, self.baseline_score_
        )

    def _build_grid(self, table: Table) -> SearchGrid:
        sensitive = [column_names(table, "sensitive", each) for each in _list_choices(self.sensitive or ())]
        quasi: list[tuple[str, ...] | None] = [None]
        if self.quasi is not None:
            quasi = [column_names(table, "quasi", each) for each in _list_choices(self.quasi)]
        # Of several lists some may overlap, and are skipped; with one of each it is a mistake.
        alone = len(quasi) == len(sensitive) == 1
        if both := [name for name in quasi[0] or () if alone and name in sensitive[0]]:
            raise RecipeError(f"column '{both[0]}' is both quasi and sensitive: give each column one role")
        person = find_person(table, self.person)
        every = [name for name in table.names if name != person]
        if wrong := [n for names in (*quasi, *sensitive) for n in names or () if n == person]:
            raise RecipeError(f"column '{wrong[0]}' says whose row it is: it is neither quasi nor sensitive")
        # What a fitted model is asked about is generalised, and nothing is trained on it.
        training = REPRESENTATIVES if self.training is None and self.protocol == "minimize" else self.training
        grid = build_grid(self.k, self.l, self.models, self.algorithm, quasi, sensitive, every, training)
        for each in grid.configurations:  # what no table can repair is said before anything is tried
            learning_goal(each.k, each.diversity, each.models)
            if getattr(algorithm_of(each), "target", None) is not None:
                raise RecipeError("leave out the target of tree: here it is what the estimator predicts")
        diverse = [each for each in grid.configurations if each.diversity is not None]
        if diverse and not any(each.sensitive for each in diverse):
            raise RecipeError(f"l = {diverse[0].l} needs a sensitive column: name one as sensitive")
        return grid

    def _build_job(
        self, data: Any, table: Table, labels: NDArray[Any], weight: ArrayLike | None
    ) -> SearchJob:
        name = find_person(table, self.person)
        person = read_people(table, name)
        bare, bare_table = without_person(data, table, name)
        seed, predicted = self.random_state_, None
        if self.fitted is not None:
            estimator, predicted, labels = wrap_fitted(self.fitted, bare, labels)
        else:
            estimator = self._choose_estimator(labels)
        numeric = find_estimator_kind(estimator) == "regressor"
        self._choose_scores(estimator, numeric)
        folds = (
            split_rows(self.cv, self.splits, self.test_size, labels, numeric, person, seed)
            if predicted is None
            else []
        )
        return SearchJob(
            self._build_anonymizer(data, table),
            bare,
            bare_table,
            labels,
            None if weight is None else _check_sample_weight(weight, np.zeros((labels.size, 1))),
            person,
            estimator,
            predicted,
            self.scorer_,
            self.score_names_,
            numeric,
            folds,
            plan_division(self.cv, self.splits, self.test_size, seed)
            if predicted is not None
            else Division(1, _SCORED, seed),
            self.protocol == "minimize",
            _AGREEMENT if self.agreement is None else self.agreement,
            seed,
            self.error_score == "raise",
            len({each.training for each in self.configurations_}) > 1,
        )

    def _build_anonymizer(self, data: Any, table: Table) -> Anonymizer:
        person = find_person(table, self.person)
        return Anonymizer(data, table, person, self.hierarchies, self.types or {}, self.random_state_)

    def _choose_estimator(self, labels: NDArray[Any]) -> Any:
        estimator = self.estimator
        if isinstance(estimator, str):
            estimator = named_estimator(estimator, is_numeric(labels), self.random_state_)
        if isinstance(estimator, type) or not all(hasattr(estimator, n) for n in ("fit", "get_params")):
            raise RecipeError(
                "estimator is trained on every split: give an estimator of scikit-learn, or the name of one; "
                "or give a fitted model as fitted="
            )
        return estimator

    def _choose_scores(self, estimator: Any, numeric: bool) -> None:
        """Set the scorer, and the names of the scores with the one that decides first."""
        try:
            self.scorer_ = check_scoring(estimator, scoring=_as_scoring(self.scoring))
        except (TypeError, ValueError) as error:
            raise RecipeError(f"the estimator cannot be scored: {error}") from error
        if isinstance(self.scoring, list | tuple | set | dict):
            names = list(self.scoring)
            if isinstance(self.refit, str):
                if self.refit not in names:
                    raise RecipeError(unknown("score to refit by", self.refit, names))
                names.sort(key=lambda name: name != self.refit)
            self.score_names_ = names
        else:
            named = self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", None)
            self.score_names_ = [named or ("r2" if numeric else "accuracy")]
        self.score_name_ = self.score_names_[0]

    def _run_rounds(self, job: SearchJob, tell: Progress) -> None:
        """All splits of all configurations; when halving, split by split with fewer and fewer."""
        file = self._open_file(job)
        alive = list(range(len(self.configurations_)))
        rounds = [[split] for split in range(job.splits)] if self.mode == "halving" else [range(job.splits)]
        # An upper bound when halving, where later rounds have fewer configurations.
        whole, done = sum(len(each) for each in rounds) * len(alive), 0
        for splits in rounds:
            tasks = list(self._list_tasks(alive, splits, job.predicted is not None))
            done += len(alive) * len(splits) - sum(len(each) for *_, each in tasks)
            for number, found in run_in_parallel(job.try_configuration, tasks, self.n_jobs or self.jobs):
                self._keep_results(number, found, file)
                done += len(splits) if job.predicted is not None else 1
                tell("trying configurations", done / whole)
            feasible = [number for number in alive if not self.outcomes_[number].failed]
            feasible.sort(key=lambda number: -self.outcomes_[number].mean_score)
            # Rounded up, so that the last one is not dropped; in the order of the grid again.
            alive = sorted(feasible[: max(1, (len(feasible) + 1) // 2)])

    def _list_tasks(self, alive: Sequence[int], splits: Sequence[int], together: bool) -> Any:
        """What is left to do: configurations with splits, all ``together`` where they share a release."""
        for number in alive:
            left = [split for split in splits if split not in self.outcomes_[number].of_split]
            for part in [left] if together and left else [[split] for split in left]:
                yield self.configurations_[number], number, part

    def _keep_results(self, number: int, found: Mapping[int, Any], file: SearchFile | None) -> None:
        configuration = self.configurations_[number]
        for split, result in found.items():
            self.outcomes_[number].of_split[split] = result
            # An error may have passed when the search continues.
            if file is not None and result.status != "error":
                file.add(configuration.key, split, result)
        if (self.verbose or 0) >= 2:
            row = self.outcomes_[number].to_row(self.target_score, self.score_names_, float("nan"))
            score = "" if row.get("score") is None else f", {self.score_name_} {row['score']:.4f}"
            print_line(f"k = {configuration.k}, l = {configuration.l or 1}: {row['status']}{score}")

    def _open_file(self, job: SearchJob) -> SearchFile | None:
        """The file to continue from, after its results were taken over."""
        if self.resume is None:
            return None
        settings = [(name, getattr(self, name)) for name in _BINDING]
        model = job.predicted.tolist() if job.predicted is not None else job.estimator.get_params(deep=True)
        weight = None if job.weight is None else job.weight.tolist()
        settings.append(("other", (self.random_state_, model, weight)))
        file = SearchFile(
            Path(self.resume), make_fingerprint(job.anonymizer.table.frame, job.labels, settings)
        )
        kept = file.read()
        for configuration, outcome in zip(self.configurations_, self.outcomes_, strict=True):
            known = {split: kept.get((configuration.key, split)) for split in range(job.splits)}
            outcome.of_split |= {split: found for split, found in known.items() if found is not None}
        return file

    def _refit(self, job: SearchJob, tell: Progress) -> None:
        self.__dict__.pop("best_estimator_", None)
        if self.refit and self.best_:
            tell("training on all rows", 1.0)
            try:
                self.best_estimator_ = job.refit(self.configurations_[self.best_index_])
            except EstimatorError as error:
                if self.error_score == "raise":
                    raise
                # The results are there, and a service that failed now may answer later.
                warnings.warn(f"there is no best estimator: {error}", RuntimeWarning, stacklevel=3)

    def _find_best_estimator(self) -> Any:
        check_is_fitted(self, "outcomes_")
        if not hasattr(self, "best_estimator_"):
            raise RecipeError(
                "there is no best estimator: no configuration is feasible and meets the target, or the best "
                "one failed on all rows"
            )
        return self.best_estimator_

    def _prepare_rows(self, data: Any) -> Any:
        """Rows as the best estimator takes them: without the person column, if they have it."""
        table = read_data(self, data, reset=False)
        return without_person(data, table, find_person(table, self.person))[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        kind = find_estimator_kind(self.estimator if self.fitted is None else self.fitted)
        tags.estimator_type = kind
        if kind == "classifier":
            tags.classifier_tags = ClassifierTags()
        if kind == "regressor":
            tags.regressor_tags = RegressorTags()
        return tags


def check_parameters(search: PrivacySearch) -> None:
    """Refuse what no table can repair."""
    for name, options in (("protocol", ("holdout", "minimize")), ("mode", ("grid", "halving"))):
        if getattr(search, name) not in options:
            raise RecipeError(unknown(name, str(getattr(search, name)), options))
    _check_training(search)
    if search.fitted is not None and search.protocol != "minimize":
        raise RecipeError("a fitted model is not trained: it needs protocol='minimize'")
    names = _as_scoring(search.scoring)
    for each in names if isinstance(names, list) else [names]:
        if each is not None and not isinstance(each, str | dict) and not callable(each):
            raise RecipeError(
                "scoring is a name, a function of estimator, rows and labels, several of them in a list or a "
                f"dict, or None, not {each!r:.60}"
            )
        if isinstance(each, str) and each not in get_scorer_names():
            raise RecipeError(unknown("score", each, get_scorer_names()))
    if search.agreement is not None and search.protocol != "minimize":
        raise RecipeError("agreement is that of the minimizer: it needs protocol='minimize'")
    if search.agreement is not None and not 0 < search.agreement <= 1:
        raise RecipeError(f"agreement must be above 0 and at most 1, not {search.agreement}")
    if search.splits < 1:
        raise RecipeError(f"splits must be at least 1, not {search.splits}")
    if not 0 < search.test_size < 1:
        raise RecipeError(f"test_size is a share of the rows between 0 and 1, not {search.test_size}")
    if search.error_score != "raise" and not isinstance(search.error_score, int | float | np.number):
        raise RecipeError(f"error_score is 'raise' or a number, not {search.error_score!r}")


def _check_training(search: PrivacySearch) -> None:
    for each in () if search.training is None else as_tuple(search.training):
        if each not in TRAINING:
            raise RecipeError(unknown("training", str(each), TRAINING))
    if DRAWS in as_tuple(search.training) and search.protocol == "minimize":
        raise RecipeError("draws are to train on, and with protocol='minimize' nothing is trained on them")


def _as_scoring(scoring: Any) -> Any:
    """As scikit-learn takes it: several names as a list."""
    return list(scoring) if isinstance(scoring, tuple | set) else scoring


def _list_choices(columns: Any) -> list[Columns]:
    """One list of columns, or several to choose from."""
    if isinstance(columns, str):
        return [columns]
    if len(columns) and not isinstance(columns[0], str | int | np.integer):
        return list(columns)
    return [columns]
