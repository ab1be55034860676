"""One configuration on one division of the rows, by either protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.algorithms.tree import TreeGuided
from shoal.codespace.recoding import Recoding
from shoal.engines.api import anonymize, verify
from shoal.errors import InputError, ShoalError
from shoal.learn.anonymizer import TreeAnonymizer
from shoal.learn.configurations import Configuration, ConfigurationOutcome
from shoal.learn.goals import learning_goal
from shoal.learn.losses import measure_final_loss
from shoal.learn.minimizer import Minimizer
from shoal.learn.sklearn_io import has_names, rebuild_data, take_rows
from shoal.support.parameters import build_entry, describe_parameters, parse_call
from shoal.table import ColumnType, Table, read_table

if TYPE_CHECKING:
    from shoal.learn.search import PrivacySearch

Rows = NDArray[np.int64]

AGREEMENT = 0.98  # what the minimizer keeps in the protocol of that name, where nothing is said


@dataclass(frozen=True, slots=True)
class SplitResult:
    """One configuration on one split."""

    score: float = 0.0
    deletion: float = 0.0
    ncp: float = 0.0
    smallest: int = 0
    classes: int = 0
    seconds: float = 0.0
    reason: str = ""


def add_result(outcome: ConfigurationOutcome, tried: SplitResult) -> None:
    """Add a split to what became of a configuration."""
    outcome.seconds += tried.seconds
    if tried.reason:
        # No figures of this split: it makes the whole configuration infeasible.
        outcome.reason = tried.reason
        return
    outcome.scores.append(tried.score)
    outcome.deletion.append(tried.deletion)
    outcome.ncp.append(tried.ncp)
    outcome.smallest.append(tried.smallest)
    outcome.classes.append(tried.classes)


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """What all configurations share."""

    owner: PrivacySearch
    data: Any
    table: Table
    labels: NDArray[Any]
    estimator: Any
    scorer: Any
    numeric: bool
    folds: list[tuple[Rows, Rows]]

    def score_baselines(self) -> tuple[float, float]:
        """Mean scores of training on raw rows, and of the commonest class or the mean."""
        dummy = DummyRegressor() if self.numeric else DummyClassifier()
        scores = []
        for train, test in self.folds:
            raw = self._train_estimator(self._select_rows(train), self.labels[train])
            # A dummy looks at labels only, but scikit-learn wants a column all the same.
            plain = dummy.fit(np.zeros((train.size, 1)), self.labels[train])
            scores.append(
                (
                    self._score_estimator(raw, self._select_rows(test), self.labels[test]),
                    self._score_estimator(plain, np.zeros((test.size, 1)), self.labels[test]),
                )
            )
        raw_mean, plain_mean = np.mean(scores, axis=0)
        return float(raw_mean), float(plain_mean)

    def try_configuration(
        self, configuration: Configuration, number: int, fold: int
    ) -> tuple[int, SplitResult]:
        """Try a configuration on one split; a goal out of reach and an error of the estimator are results."""
        begin = perf_counter()
        protocol = self._run_minimize if self.owner.protocol == "minimize" else self._run_holdout
        try:
            found = protocol(configuration, *self.folds[fold])
        except ShoalError as error:
            found = SplitResult(reason=str(error))
        return number, replace(found, seconds=perf_counter() - begin)

    def _run_holdout(self, configuration: Configuration, train: Rows, test: Rows) -> SplitResult:
        released = self._anonymize_rows(configuration, train)
        estimator = self._train_estimator(released.data, self.labels[train][released.kept])
        score = self._score_estimator(estimator, self._select_rows(test), self.labels[test])
        return SplitResult(score, released.deletion, released.ncp, released.smallest, released.classes)

    def _run_minimize(self, configuration: Configuration, train: Rows, test: Rows) -> SplitResult:
        """The protocol of the reference: raw training, the other part anonymized, minimised and scored."""
        estimator = self._train_estimator(self._select_rows(train), self.labels[train])
        released = self._anonymize_rows(configuration, test)
        labels = self.labels[test][released.kept]
        order = np.random.default_rng(self.owner.random_state_).permutation(labels.size)
        # Scored on rows that the minimizer has not seen.
        fitting, scored = np.split(order, [round(0.6 * order.size)])
        if fitting.size < 3 or scored.size == 0:
            return SplitResult(reason=f"{labels.size} rows are left, too few to minimise on")
        minimizer = Minimizer(
            estimator,
            AGREEMENT if self.owner.agreement is None else self.owner.agreement,
            # The score is measured on other rows below, and so is the goal; few are left to claim more.
            confidence=None,
            # Coarser sensitive values are fewer: a class that has l of them would have less.
            keep=self._find_columns(released.data, configuration.sensitive),
            random_state=self.owner.random_state_,
        )
        with _name_failure("minimising for"):
            minimizer.fit(take_rows(released.data, fitting))
        # Equal rows stay equal, so the goal should hold on all minimised rows: count them.
        first, last = (
            read_table(_as_frame(data, self.table), with_index=False)
            for data in (released.data, minimizer.transform(released.data))
        )
        models = learning_goal(configuration.k, configuration.diversity, configuration.models)
        found = verify(
            last.frame, quasi=configuration.quasi, sensitive=configuration.sensitive, models=models
        )
        if not found.holds:
            return SplitResult(reason="the goal does not hold on the minimised rows")
        score = self._score_estimator(
            estimator, minimizer.transform(take_rows(released.data, scored)), labels[scored]
        )
        ncp = measure_final_loss(released.recoding, first, last, released.sources)
        return SplitResult(score, released.deletion, ncp, found.smallest_class, found.classes)

    def _train_estimator(self, data: Any, labels: NDArray[Any]) -> Any:
        with _name_failure("training"):
            return clone(self.estimator).fit(data, labels)

    def _score_estimator(self, estimator: Any, data: Any, labels: NDArray[Any]) -> float:
        with _name_failure("scoring"):
            return float(self.scorer(estimator, data, labels))

    def _anonymize_rows(self, configuration: Configuration, rows: Rows) -> _AnonymizedRows:
        data = self._select_rows(rows)
        algorithm = algorithm_of(configuration)
        # The labels guide the tree, and they are no column of the table.
        if isinstance(algorithm, TreeGuided):
            return self._anonymize_by_tree(configuration, algorithm, data, self.labels[rows])
        table = read_table(self.table.frame[rows])
        release = anonymize(
            table.frame,
            quasi=configuration.quasi,
            sensitive=configuration.sensitive,
            plain=[n for n in table.names if n not in (*configuration.quasi, *configuration.sensitive)],
            models=learning_goal(configuration.k, configuration.diversity, configuration.models),
            algorithm=algorithm,
            hierarchies=self.owner.hierarchies,
            types=self._select_types(configuration),
            render="representative",
            seed=self.owner.random_state_,
            # Several configurations run side by side already, and each gives the same release.
            threads=1,
        )
        report, recoding = release.report, release.recoding
        assert recoding is not None
        # Labels have to be left out for the same rows.
        kept = recoding.class_of[recoding.table.of_row] >= 0
        columns = {name: release.frame[name] for name in configuration.quasi}
        part = rebuild_data(
            data,
            read_table(data, with_index=False) if has_names(data) else table,
            columns,
            np.flatnonzero(kept),
        )
        deletion = (report.suppressed_rows or 0) / (report.rows or 1)
        return _AnonymizedRows(
            part, kept, deletion, report.ncp, report.smallest_class, report.classes, recoding
        )

    def _anonymize_by_tree(
        self, configuration: Configuration, tree: TreeGuided, data: Any, labels: NDArray[Any]
    ) -> _AnonymizedRows:
        anonymizer = TreeAnonymizer(
            configuration.k,
            configuration.diversity,
            quasi=self._find_columns(data, configuration.quasi),
            sensitive=self._find_columns(data, configuration.sensitive),
            models=configuration.models,
            hierarchies=self.owner.hierarchies,
            types=self._select_types(configuration),
            random_state=self.owner.random_state_,
            **describe_parameters(tree),
        )
        part, report = anonymizer._fit_and_release(data, labels), anonymizer.report_
        return _AnonymizedRows(
            part,
            anonymizer.valid_rows_,
            anonymizer.deletion_ratio_,
            report.ncp,
            report.smallest_class,
            report.classes,
            anonymizer._router.recoding,
            {group.name: group.columns for group in anonymizer._groups},
        )

    def _select_types(self, configuration: Configuration) -> dict[str, ColumnType]:
        roles = (*configuration.quasi, *configuration.sensitive)
        return {name: kind for name, kind in (self.owner.types or {}).items() if name in roles}

    def _find_columns(self, data: Any, names: Sequence[str]) -> list[Any]:
        """Columns by name, or by position in data that has no names."""
        return list(names) if has_names(data) else [self.table.names.index(name) for name in names]

    def _select_rows(self, rows: Rows) -> Any:
        return take_rows(self.data, rows)


@dataclass(frozen=True, slots=True, eq=False)
class _AnonymizedRows:
    data: Any
    kept: NDArray[np.bool_]
    deletion: float
    ncp: float
    smallest: int
    classes: int
    recoding: Recoding
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of each one-hot group that was one quasi-identifier."""


@contextmanager
def _name_failure(doing: str) -> Iterator[None]:
    """Make an error of an estimator or a score one of Shoal's: it becomes the reason of a configuration."""
    try:
        yield
    except ShoalError:
        raise
    except Exception as error:
        text = str(error).strip().split("\n")[0]
        raise InputError(f"{doing} the estimator failed: {type(error).__name__}: {text}") from error


def algorithm_of(configuration: Configuration) -> Algorithm:
    """The algorithm that a configuration names."""
    algorithm: Algorithm = build_entry("algorithm", ALGORITHMS, *parse_call(configuration.algorithm))
    return algorithm


def _as_frame(data: Any, table: Table) -> Any:
    if has_names(data):
        return data
    return pl.DataFrame(np.asarray(data), schema=table.names, orient="row", strict=False)
