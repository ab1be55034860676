"""Rows anonymized as a configuration says, for an estimator to be trained or asked on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.algorithms.tree import TreeGuided
from shoal.codespace.recoding import Recoding
from shoal.engines.api import anonymize
from shoal.errors import GoalNotMet
from shoal.learn.anonymizer import TreeAnonymizer
from shoal.learn.configurations import DRAWS, Configuration
from shoal.learn.goals import learning_goal
from shoal.learn.shares import ClassShares
from shoal.learn.sklearn_io import (
    OneHotGroup,
    drop_column,
    expand_one_hot,
    has_names,
    measure_deletion,
    rebuild_data,
    take_rows,
)
from shoal.privacy.people import read_people
from shoal.support.parameters import build_entry, describe_parameters, parse_call
from shoal.table import ColumnType, Table, read_table
from shoal.table.frames import use_safe_name
from shoal.verification.verifier import verify_table

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AnonymizedRows:
    """What a configuration makes of rows."""

    data: Any
    """The rows that are left, as the kind of data that came in, without the person column."""
    class_of: NDArray[np.int64]
    """[rows] the class of each; -1 where it was deleted."""
    deletion: float
    """Share of rows that are deleted, or of people none of whose rows is left."""
    ncp: float
    smallest: int
    classes: int
    recoding: Recoding
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of each one-hot group that was one quasi-identifier."""
    shares: pl.DataFrame | None = None
    """The rows that are left with, for each class, how often every value occurs in it, where an estimator is
    trained on rows drawn from that."""
    draws: Any = None
    """The representatives and, below them, rows drawn from ``shares``. Equal rows are no classes here."""

    @property
    def training(self) -> Any:
        """What an estimator is trained on: rows drawn from the release, or the release itself."""
        return self.data if self.shares is None else self.draws

    @property
    def training_rows(self) -> Rows:
        """Which of the rows given each row to train on stands for, whose labels are its own."""
        kept = np.flatnonzero(self.kept)
        return kept if self.shares is None else np.tile(kept, 2)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """[rows] which are left."""
        return np.asarray(self.class_of >= 0)

    @property
    def digest(self) -> str:
        """The same for the same classes, whatever goal they were made for."""
        return hashlib.sha256(self.class_of.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Anonymizer:
    """Anonymizes parts of a table by any configuration."""

    data: Any
    table: Table
    person: str | None
    hierarchies: Any
    types: Mapping[str, ColumnType]
    seed: int

    def anonymize_rows(self, configuration: Configuration, rows: Rows, guide: NDArray[Any]) -> AnonymizedRows:
        """Anonymize some rows; the ``guide`` of each is what a tree predicts."""
        algorithm = algorithm_of(configuration)
        data = take_rows(self.data, rows)
        released = (
            self._anonymize_by_tree(configuration, algorithm, data, guide)
            if isinstance(algorithm, TreeGuided)
            else self._anonymize_by_name(configuration, algorithm, data, rows)
        )
        return self.add_draws(configuration, released, rows) if configuration.training == DRAWS else released

    def add_draws(self, configuration: Configuration, released: AnonymizedRows, rows: Rows) -> AnonymizedRows:
        """The same classes, released by their shares, with rows drawn from these."""
        shares, table = ClassShares.from_recoding(released.recoding), read_table(self.table.frame[rows])
        shown = self._write_shares(shares, table, released)
        person = read_people(table, self.person)
        found = verify_table(
            read_table(shown),
            [each.domain.name for each in shares.columns],
            configuration.sensitive,
            learning_goal(configuration.k, configuration.diversity, configuration.models),
            person=None if person is None else person[released.kept],
        )
        if not found.holds:
            raise GoalNotMet("the goal was not met by the shares of the classes, so nothing is released")
        columns = self._draw_columns(shares, table, released)
        data = take_rows(self.data, rows)
        given = read_table(data, with_index=False) if has_names(data) else table
        draws = rebuild_data(data, given, columns, np.tile(np.flatnonzero(released.kept), 2))
        draws = draws if self.person is None else drop_column(draws, given, self.person)
        return replace(
            released, shares=shown, draws=draws, smallest=found.smallest_class, classes=found.classes
        )

    def _write_shares(self, shares: ClassShares, table: Table, released: AnonymizedRows) -> pl.DataFrame:
        """The rows that are left, with the shares of their classes as texts."""
        texts, kept = shares.render_columns(), np.flatnonzero(released.kept)
        hidden = {self.person, *texts, *(name for group in released.sources.values() for name in group)}
        others = [name for name in table.names if name not in hidden]
        parts = (use_safe_name(table.frame[name]).gather(kept).alias(name) for name in others)
        return pl.DataFrame([*texts.values(), *parts])

    def _draw_columns(
        self, shares: ClassShares, table: Table, released: AnonymizedRows
    ) -> dict[str, pl.Series]:
        """The quasi-identifiers of representatives and, below them, of rows drawn from shares."""
        columns = {}
        for j, (column, drawn) in enumerate(zip(shares.columns, shares.draw_codes(self.seed), strict=True)):
            # By draws alone a linear model would follow their noise.
            plain = released.recoding.choose_representatives(j)[shares.class_of]
            name = column.domain.name
            dtype = table.frame.schema.get(name, pl.String())
            columns[name] = column.render_codes(np.concatenate([plain, drawn]), dtype)
        for name, members in released.sources.items():
            value = columns.pop(name)
            holds = np.stack([(value == member).fill_null(False).to_numpy() for member in members])
            columns |= expand_one_hot(table, OneHotGroup(name, tuple(members)), holds, plain=True)
        return columns

    def _anonymize_by_name(
        self, configuration: Configuration, algorithm: Algorithm, data: Any, rows: Rows
    ) -> AnonymizedRows:
        table = read_table(self.table.frame[rows])
        roles = (*configuration.quasi, *configuration.sensitive, self.person)
        release = anonymize(
            table.frame,
            quasi=configuration.quasi,
            sensitive=configuration.sensitive,
            plain=[name for name in table.names if name not in roles],
            person=self.person,
            models=learning_goal(configuration.k, configuration.diversity, configuration.models),
            algorithm=algorithm,
            hierarchies=self.hierarchies,
            types=self._select_types(configuration),
            render="representative",
            seed=self.seed,
            # Several configurations run side by side already, and each gives the same release.
            threads=1,
        )
        report, recoding = release.report, release.recoding
        assert recoding is not None
        class_of = recoding.class_of[recoding.table.of_row].astype(np.int64)
        kept = np.flatnonzero(class_of >= 0)
        # By classes, for a release with people in it has another order of rows.
        native = tuple(table.frame.schema[name] for name in configuration.quasi)
        values = recoding.render_classes(native, "representative")
        columns = {name: of_class.gather(class_of[kept]) for name, of_class in values.items()}
        given = read_table(data, with_index=False) if has_names(data) else table
        part = rebuild_data(data, given, columns, kept)
        part = part if self.person is None else drop_column(part, given, self.person)
        deletion = measure_deletion(class_of >= 0, read_people(table, self.person))
        return AnonymizedRows(
            part, class_of, deletion, report.ncp, report.smallest_class, report.classes, recoding
        )

    def _anonymize_by_tree(
        self, configuration: Configuration, tree: TreeGuided, data: Any, guide: NDArray[Any]
    ) -> AnonymizedRows:
        anonymizer = TreeAnonymizer(
            configuration.k,
            configuration.diversity,
            quasi=self.find_columns(configuration.quasi),
            sensitive=self.find_columns(configuration.sensitive),
            person=None if self.person is None else self.find_columns([self.person])[0],
            models=configuration.models,
            hierarchies=self.hierarchies,
            types=self._select_types(configuration),
            random_state=self.seed,
            **describe_parameters(tree),
        )
        part, report = anonymizer._fit_and_release(data, guide), anonymizer.report_
        recoding = anonymizer._router.recoding
        return AnonymizedRows(
            part,
            recoding.class_of[recoding.table.of_row].astype(np.int64),
            anonymizer.deletion_ratio_,
            report.ncp,
            report.smallest_class,
            report.classes,
            recoding,
            {group.name: group.columns for group in anonymizer._groups},
        )

    def _select_types(self, configuration: Configuration) -> dict[str, ColumnType]:
        roles = (*configuration.quasi, *configuration.sensitive)
        return {name: kind for name, kind in self.types.items() if name in roles}

    def find_columns(self, names: Sequence[str]) -> list[Any]:
        """Columns by name, or by position in data that has no names."""
        return list(names) if has_names(self.data) else [self.table.names.index(name) for name in names]


def algorithm_of(configuration: Configuration) -> Algorithm:
    """The algorithm that a configuration names."""
    algorithm: Algorithm = build_entry("algorithm", ALGORITHMS, *parse_call(configuration.algorithm))
    return algorithm


def without_person(data: Any, table: Table, person: str | None) -> tuple[Any, Table]:
    """Data and its table without the column that says whose row it is, which no model learns from."""
    if person is None:
        return data, table
    return drop_column(data, table, person), replace(table, frame=table.frame.drop(person))
