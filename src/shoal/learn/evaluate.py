"""One configuration on one division of the rows, by either protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import _num_samples, has_fit_parameter

from shoal.errors import InputError, RecipeError, ShoalError
from shoal.learn.blackbox import EstimatorError, name_failure
from shoal.learn.configurations import DRAWS, REPRESENTATIVES, Configuration, SplitResult
from shoal.learn.divisions import Division, divide_classes
from shoal.learn.goals import learning_goal
from shoal.learn.losses import measure_final_loss
from shoal.learn.minimizer import Minimizer
from shoal.learn.releasing import AnonymizedRows, Anonymizer, Rows
from shoal.learn.sklearn_io import has_names, take_rows
from shoal.table import Table, read_table
from shoal.verification.verifier import Verification, verify_table

T = TypeVar("T")
_FEWEST = 3  # rows that a minimizer needs
_DECIDING = 4  # about one of so many rows of a minimizer decides where to stop
_FEW_CLASSES = "the classes are too few to divide: some of the scored rows were minimised on"


@dataclass(frozen=True, slots=True, eq=False)
class SharedWork:
    """Results that several configurations need, each computed once."""

    _found: dict[Any, Any] = field(default_factory=dict)
    _locks: dict[Any, Lock] = field(default_factory=dict)
    _guard: Lock = field(default_factory=Lock)

    def compute(self, key: Any, work: Callable[[], T]) -> T:
        """What ``work`` gives; who asks while another one computes it waits for that."""
        with self._guard:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._found:
                self._found[key] = work()
            found: T = self._found[key]
            return found

    def forget(self, key: Any) -> None:
        """Give back the memory of a result that nobody asks for again."""
        self._found.pop(key, None)


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """What all configurations share."""

    anonymizer: Anonymizer
    data: Any
    """The rows without the person column."""
    table: Table
    labels: NDArray[Any]
    weight: NDArray[np.float64] | None
    person: NDArray[np.int64] | None
    estimator: Any
    """What is trained; or the fitted model, which is only asked."""
    predicted: NDArray[Any] | None
    """What the fitted model predicts for the rows as they are; None where an estimator is trained."""
    scorer: Any
    score_names: Sequence[str]
    numeric: bool
    folds: Sequence[tuple[Rows, Rows]]
    """How rows are divided for training and testing; empty where nothing is trained."""
    division: Division
    """How classes are divided for minimising and scoring."""
    minimizes: bool
    agreement: float
    seed: int
    raises: bool
    trains_twice: bool
    """Whether estimators are trained on several things that are made of the same classes."""
    shared: SharedWork = field(default_factory=SharedWork)

    @property
    def splits(self) -> int:
        """How often a configuration is tried."""
        return self.division.times if self.predicted is not None else len(self.folds)

    def score_baselines(self) -> tuple[float, float]:
        """Mean scores of training on raw rows, and of the commonest class or the mean."""
        everything = np.arange(self.labels.size)
        folds = self.folds if self.predicted is None else [(everything, everything)]
        scores = [
            [self._score_main(each, test) for each in (self._train_on_raw(number), self._fit_dummy(train))]
            for number, (train, test) in enumerate(folds)
        ]
        raw_mean, plain_mean = np.mean(scores, axis=0)
        return float(raw_mean), float(plain_mean)

    def try_configuration(
        self, configuration: Configuration, number: int, splits: Sequence[int]
    ) -> tuple[int, dict[int, SplitResult]]:
        """Try a configuration on some splits; goals out of reach and errors of the estimator are results."""
        protocol = self._run_minimize if self.minimizes else self._run_holdout
        found: dict[int, SplitResult] = {}
        for split in splits:
            begin = perf_counter()
            try:
                tried = protocol(configuration, split)
            except EstimatorError as error:
                if self.raises:
                    raise
                tried = SplitResult(status="error", reason=str(error))
            except ShoalError as error:
                tried = SplitResult(status="infeasible", reason=str(error))
            if tried is not None:
                found[split] = replace(tried, seconds=perf_counter() - begin)
        self.shared.forget(configuration)
        return number, found

    def _run_holdout(self, configuration: Configuration, split: int) -> SplitResult:
        train, test = self.folds[split]
        released = self._release_training_rows(configuration, split)

        def score() -> dict[str, float]:
            estimator = self.train(released.training, train[released.training_rows])
            return self.score(estimator, self._take(test), test)

        # Goals that give the same classes give the same rows to learn from.
        key = (split, configuration.quasi, configuration.algorithm, configuration.training, released.digest)
        scores = self.shared.compute(key, score)
        return SplitResult(
            scores,
            # Training on fewer rows shows in the score itself: it is of raw rows, none of them deleted.
            scores[self.score_names[0]],
            released.deletion,
            released.ncp,
            released.smallest,
            classes=released.classes,
            scored_rows=test.size,
        )

    def _release_training_rows(self, configuration: Configuration, split: int) -> AnonymizedRows:
        """Rows anonymized once for all that an estimator is trained on."""
        rows = self.folds[split][0]
        plain = replace(configuration, training=REPRESENTATIVES)
        if not self.trains_twice:
            return self.anonymizer.anonymize_rows(configuration, rows, self.labels[rows])
        released = self.shared.compute(
            ("released", split, plain),
            lambda: self.anonymizer.anonymize_rows(plain, rows, self.labels[rows]),
        )
        if configuration.training != DRAWS:
            return released
        self.shared.forget(("released", split, plain))
        return self.anonymizer.add_draws(configuration, released, rows)

    def _run_minimize(self, configuration: Configuration, split: int) -> SplitResult | None:
        """Anonymize rows that trained nothing, minimise, count the goal again, and score the model."""
        if self.predicted is not None:
            rows, model, predicted = np.arange(self.labels.size), self.estimator, self.predicted
        else:
            rows, model = self.folds[split][1], self._train_on_raw(split)
            predicted = self.shared.compute(
                ("predicted", split), lambda: np.asarray(model.predict(self._take(rows)))
            )
        # Guided by predictions: the labels are what the model is scored by.
        released = self._release_test_rows(configuration, rows, predicted)
        if np.count_nonzero(released.kept) < _FEWEST:
            raise InputError(f"{np.count_nonzero(released.kept)} rows are left, too few to minimise on")
        roles = (configuration.quasi, configuration.sensitive)
        key = (split, *roles, configuration.algorithm, released.digest)
        found = self.shared.compute(
            key, lambda: self._minimize_and_score(configuration, released, model, rows, predicted, split)
        )
        if found is None:
            return None
        final, scored, result = found
        goal = self._verify(configuration, final, rows[released.kept])
        if not goal.holds:
            raise InputError("the goal does not hold on the minimised rows")
        shown = replace(final, frame=final.frame[scored])
        part = self._verify(configuration, shown, rows[released.kept][scored])
        return replace(
            result,
            smallest=goal.smallest_class,
            classes=goal.classes,
            distinct=_count_distinct(configuration, final),
            scored_smallest=part.smallest_class,
            scored_distinct=_count_distinct(configuration, shown),
            scored_holds=part.holds,
        )

    def _minimize_and_score(
        self,
        configuration: Configuration,
        released: AnonymizedRows,
        model: Any,
        rows: Rows,
        predicted: NDArray[Any],
        split: int,
    ) -> tuple[Table, Rows, SplitResult] | None:
        number, left = split if self.predicted is not None else 0, released.class_of[released.kept]
        parts = divide_classes(self.division, number, left, predicted[released.kept], self.numeric)
        if parts is None:
            return None
        scored = parts.scored
        fitting = parts.fitting
        minimizer = self.minimize(configuration, take_rows(released.data, fitting), model, left[fitting])
        final = minimizer.transform(released.data)
        scores = self.score(model, take_rows(final, scored), rows[released.kept][scored])
        first, last = (self._read(data) for data in (released.data, final))
        main = scores[self.score_names[0]]
        result = SplitResult(
            scores,
            main * float(released.kept.mean()) if self.score_names[0] == "accuracy" else None,
            released.deletion,
            measure_final_loss(released.recoding, first, last, released.sources),
            scored_rows=scored.size,
            note=_FEW_CLASSES if parts.overlaps else "",
            generalizations=minimizer.generalizations_,
        )
        roles = [*configuration.quasi, *configuration.sensitive]
        # Kept for goals that give the same classes: only what the goals are about.
        return read_table(pl.DataFrame([last.frame.get_column(n) for n in roles])), scored, result

    def minimize(self, configuration: Configuration, data: Any, model: Any, class_of: Rows) -> Minimizer:
        """The minimizer of a model, fitted on released rows."""
        # Where one row that disagrees is more than what is tolerated, none may.
        too_few = _num_samples(data) // _DECIDING * (1 - self.agreement) < 1
        minimizer = Minimizer(
            model,
            1.0 if too_few else self.agreement,
            # The score is measured on other rows below, and so is the goal; few are left to claim more.
            confidence=None,
            # Coarser sensitive values are fewer: a class that has l of them would have less.
            keep=self._find_columns(data, configuration.sensitive),
            random_state=self.seed,
        )
        # Nothing is claimed here: guards would be rows that nobody uses.
        minimizer._class_of = class_of
        with name_failure("minimising for"):
            return minimizer.fit(data)

    def refit(self, configuration: Configuration) -> Any:
        """What is to be used: trained on all rows, or the model behind a minimizer of all rows."""
        rows = np.arange(self.labels.size)
        if not self.minimizes:
            released = self.anonymizer.anonymize_rows(configuration, rows, self.labels)
            return self.train(released.training, rows[released.training_rows])
        model = self.estimator if self.predicted is not None else self.train(self.data, rows)
        predicted = self.predicted if self.predicted is not None else model.predict(self.data)
        released = self.anonymizer.anonymize_rows(configuration, rows, np.asarray(predicted))
        left = released.class_of[released.kept]
        return make_pipeline(self.minimize(configuration, released.data, model, left), model)

    def train(self, data: Any, rows: Rows) -> Any:
        """A new estimator, trained on data with the labels and weights of some rows."""
        with name_failure("training"):
            return clone(self.estimator).fit(data, self.labels[rows], **self._weigh_training(rows))

    def score(self, estimator: Any, data: Any, rows: Rows) -> dict[str, float]:
        """The scores of an estimator on data with the labels and weights of some rows."""
        more = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        with name_failure("scoring"):
            found = self.scorer(estimator, data, self.labels[rows], **more)
        if not isinstance(found, dict):
            found = {self.score_names[0]: found}
        return {name: _check_score(name, found.get(name)) for name in self.score_names}

    def _score_main(self, estimator: Any, rows: Rows) -> float:
        # A dummy looks at labels only, but scikit-learn wants a column all the same.
        is_dummy = isinstance(estimator, DummyClassifier | DummyRegressor)
        data = np.zeros((rows.size, 1)) if is_dummy else self._take(rows)
        return self.score(estimator, data, rows)[self.score_names[0]]

    def _weigh_training(self, rows: Rows) -> dict[str, Any]:
        if self.weight is None:
            return {}
        estimator, prefix = self.estimator, ""
        if isinstance(estimator, Pipeline):
            prefix, estimator = f"{estimator.steps[-1][0]}__", estimator.steps[-1][1]
        if isinstance(estimator, Pipeline) or not has_fit_parameter(estimator, "sample_weight"):
            name = type(estimator).__name__
            raise RecipeError(f"{name} takes no sample_weight in its fit: leave the weights out")
        return {f"{prefix}sample_weight": self.weight[rows]}

    def _train_on_raw(self, split: int) -> Any:
        if self.predicted is not None:
            return self.estimator
        train = self.folds[split][0]
        return self.shared.compute(("raw", split), lambda: self.train(self._take(train), train))

    def _fit_dummy(self, rows: Rows) -> Any:
        dummy = DummyRegressor() if self.numeric else DummyClassifier()
        return dummy.fit(np.zeros((rows.size, 1)), self.labels[rows])

    def _release_test_rows(
        self, configuration: Configuration, rows: Rows, guide: NDArray[Any]
    ) -> AnonymizedRows:
        if self.predicted is None:
            return self.anonymizer.anonymize_rows(configuration, rows, guide)
        # The same rows in every split.
        return self.shared.compute(
            configuration, lambda: self.anonymizer.anonymize_rows(configuration, rows, guide)
        )

    def _verify(self, configuration: Configuration, table: Table, rows: Rows) -> Verification:
        models = learning_goal(configuration.k, configuration.diversity, configuration.models)
        person = None if self.person is None else self.person[rows]
        return verify_table(table, configuration.quasi, configuration.sensitive, models, person=person)

    def _read(self, data: Any) -> Table:
        if has_names(data):
            return read_table(data, with_index=False)
        return read_table(pl.DataFrame(np.asarray(data), schema=self.table.names, orient="row", strict=False))

    def _find_columns(self, data: Any, names: Sequence[str]) -> list[Any]:
        return list(names) if has_names(data) else [self.table.names.index(name) for name in names]

    def _take(self, rows: Rows) -> Any:
        return take_rows(self.data, rows)


def _check_score(name: str, score: Any) -> float:
    if not isinstance(score, int | float | np.number):
        raise EstimatorError(
            f"the score {name} is no number: a function returns one; give a dict of functions for several"
        )
    if not np.isfinite(score):
        raise EstimatorError(f"the score {name} is {float(score)}: it is not defined for the scored rows")
    return float(score)


def _count_distinct(configuration: Configuration, table: Table) -> int | None:
    """The fewest different values of a sensitive column in a class."""
    if not configuration.sensitive:
        return None
    # By number, for polars takes some names as patterns.
    quasi = [table.column(name).alias(f"{at}") for at, name in enumerate(configuration.quasi)]
    secret = [table.column(name).alias(f"s{at}") for at, name in enumerate(configuration.sensitive)]
    counts = (
        pl.DataFrame([*quasi, *secret])
        .group_by([each.name for each in quasi], maintain_order=True)
        .agg(pl.col(each.name).n_unique() for each in secret)
    )
    return min(int(counts[each.name].to_numpy().min()) for each in secret)
