"""Rows anonymized as a configuration says, for an estimator to be trained or asked on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.algorithms.tree import TreeGuided
from shoal.codespace.recoding import Recoding
from shoal.engines.api import anonymize
from shoal.learn.anonymizer import TreeAnonymizer
from shoal.learn.configurations import Configuration
from shoal.learn.goals import learning_goal
from shoal.learn.sklearn_io import drop_column, has_names, measure_deletion, rebuild_data, take_rows
from shoal.privacy.people import read_people
from shoal.support.parameters import build_entry, describe_parameters, parse_call
from shoal.table import ColumnType, Table, read_table

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
        if isinstance(algorithm, TreeGuided):
            return self._anonymize_by_tree(configuration, algorithm, data, guide)
        return self._anonymize_by_name(configuration, algorithm, data, rows)

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
