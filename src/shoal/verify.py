"""The verifier: reads a release as an outsider would, groups the released values and counts.

It shares no code with the search: not the codes, not the frequency table, not the recoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isinf
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, RecipeError, quote, unknown
from shoal.parameters import name_of
from shoal.privacy import (
    MODELS,
    Achieved,
    Counts,
    Fitting,
    Measures,
    Model,
    Sensitive,
    asked,
    fitting_pairs,
    for_columns,
    measures,
    read_population,
    scaled,
)
from shoal.privacy.labels import covers
from shoal.table import Column, ReadOptions, Table, as_text, read
from shoal.table.frames import unpatterned

_NOTHING_KNOWN: Mapping[str, Column] = MappingProxyType({})
_ROOM = 1 << 62  # numbers of several columns fit one whole number up to here


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one privacy model."""

    name: str
    asked: dict[str, Any]
    achieved: Achieved
    """The strictest parameter that holds; by name where a model has several, infinite where none does."""
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON, which has no infinity: null stands for it."""
        several = self.achieved if isinstance(self.achieved, dict) else {"": self.achieved}
        plain = {name: None if isinf(value) else value for name, value in several.items()}
        return asdict(self) | {"achieved": plain if isinstance(self.achieved, dict) else plain[""]}


@dataclass(frozen=True, slots=True)
class Verification:
    """What an outsider finds in a release."""

    holds: bool
    rows: int
    classes: int
    smallest_class: int
    models: tuple[Verdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"models": [model.to_dict() for model in self.models]}


def verify(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    models: Sequence[Model],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    options: ReadOptions | None = None,
) -> Verification:
    """Check a release, in a file or a frame, against privacy models.

    Values are compared as they are written; a missing value is a value of its own. ``columns`` tells what is
    known of columns beyond their values, which some models need: type, order, hierarchy.
    """
    options = options or ReadOptions()
    table = read(source, options)
    return verify_table(table, quasi, sensitive, models, columns, read_population(models, quasi, options))


def measure(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    options: ReadOptions | None = None,
) -> Measures:
    """What a table, released or not, reaches under every model at once."""
    return measures(count_classes(read(source, options or ReadOptions()), quasi, sensitive, columns))


def verify_table(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: Table | None = None,
) -> Verification:
    """Check a table that has been read; ``people`` is the population, if a model compares with one."""
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    return judge(count_classes(table, quasi, sensitive, columns, people), sensitive, models)


def judge(counts: Counts, sensitive: Sequence[str], models: Sequence[Model]) -> Verification:
    """Check classes that have been counted."""
    verdicts = tuple(verdict_on(model, counts) for model in for_columns(models, sensitive))
    return Verification(
        holds=all(verdict.holds for verdict in verdicts),
        rows=int(counts.size.sum()),
        classes=counts.classes,
        smallest_class=int(counts.size.min()) if counts.classes else 0,
        models=verdicts,
    )


def count_classes(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: Table | None = None,
) -> Counts:
    """Group rows with equal quasi-identifiers; count the rows and the sensitive values of each group.

    And, of ``people``, those who could be rows of the group.

    Quasi-identifiers count as written. All kinds of missing sensitive values (a marker, an empty
    text, NaN) are one, because to a reader they are.
    """
    _check_columns(table, quasi, sensitive)
    class_of = row_classes(table, quasi)
    known = {name: columns.get(name, Column(name)) for name in (*quasi, *sensitive)}
    return Counts(
        np.bincount(class_of),
        {name: _values(table.column(name), known[name], class_of) for name in sensitive},
        None if people is None else _fitting(table, quasi, class_of, people, known),
    )


def _check_columns(table: Table, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    for name in (*quasi, *sensitive):
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    if not quasi:
        raise RecipeError("no quasi-identifiers: name the columns that someone could recognise a person by")
    if both := [name for name in sensitive if name in quasi]:
        raise RecipeError(f"{quote(both)} is named both quasi and sensitive: give each column one role")


def violating_rows(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
) -> NDArray[np.bool_]:
    """Which rows are in classes that violate a model."""
    counts = count_classes(table, quasi, sensitive, columns)
    good = np.logical_and.reduce([model.holds(counts) for model in for_columns(models, sensitive)])
    return np.asarray(~good[row_classes(table, quasi)])


def row_classes(table: Table, quasi: Sequence[str]) -> NDArray[np.int64]:
    """Number of the class of each row: the classes of `count_classes`, in its order."""
    return _classes([unpatterned(table.frame[name]) for name in quasi])


def in_the_way(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    model: Model,
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: Table | None = None,
) -> str:
    """The classes that violate a model, in words: how many there are, and the smallest of them."""
    counts = count_classes(table, quasi, sensitive, columns, people)
    (bad,) = np.nonzero(~model.holds(counts))
    worst = int(bad[np.argmin(counts.size[bad])])
    row = _examples(row_classes(table, quasi))[worst]
    cells = ", ".join(f"{name} {table.frame[name][int(row)]}" for name in quasi)
    others = f" and {bad.size - 1} more" if bad.size > 1 else ""
    return f"the class of {counts.size[worst]} rows with {cells}{others}"


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Which people could be rows of which classes."""

    class_of: NDArray[np.int64]
    person: NDArray[np.int64]
    """All pairs of a class and a person who fits it; equal people are one."""
    person_of: NDArray[np.int64]
    """[rows] which person each row of people is."""
    labels: tuple[pl.Series, ...]
    """By column the different released texts."""
    standing: tuple[NDArray[np.bool_], ...]
    """By column [labels, values] which texts stand for which values of people."""
    value: NDArray[np.int64]
    """[people, columns] which value each person has."""

    @property
    def people(self) -> int:
        """Number of different people."""
        return len(self.value)

    def alone(self, j: int) -> NDArray[np.int64]:
        """[people] the only text of column ``j`` that stands for the person's value; -1 if it is not one."""
        standing = self.standing[j]
        label = np.where(standing.sum(axis=0) == 1, standing.argmax(axis=0), -1)
        return np.asarray(label[self.value[:, j]], np.int64)


def who_fits(
    classes: Table,
    quasi: Sequence[str],
    people: Table,
    columns: Mapping[str, Column],
    *,
    every_value_occurs: bool = True,
) -> Fits:
    """Find the people who could be rows of classes, by what released texts stand for.

    Unless ``every_value_occurs``, a text that cannot be read otherwise is a value that none of them has.
    """
    person_of = _classes([people.column(name) for name in quasi])
    person = _examples(person_of)
    cells, values, labels, standing = [], [], [], []
    for name in quasi:
        text, cell = _different(as_text(classes.column(name)))
        there, value = _different(people.column(name).gather(person))
        labels.append(text)
        standing.append(covers(text, there, columns[name], every_value_occurs))
        cells.append(cell)
        values.append(value)
    value = np.stack(values, axis=1)
    pairs = fitting_pairs(np.stack(cells, axis=1), standing, value)
    return Fits(*pairs, person_of, tuple(labels), tuple(standing), value)


def _fitting(
    table: Table,
    quasi: Sequence[str],
    class_of: NDArray[np.int64],
    people: Table,
    columns: Mapping[str, Column],
) -> Fitting:
    """How people fit the classes of a release."""
    row = _examples(class_of)
    cells = [unpatterned(table.frame[name]).gather(row).alias(name) for name in quasi]
    classes = replace(table, frame=pl.DataFrame(cells))
    fits = who_fits(classes, quasi, people, columns)
    return Fitting.of(np.bincount(class_of), fits.class_of, fits.person, np.bincount(fits.person_of))


def _examples(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Some row of each number."""
    example = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    example[number] = np.arange(number.size)
    return example


def _different(column: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """The different values of a column, and which of them each row has."""
    number = np.unique(_numbered(column)[0], return_inverse=True)[1]
    return column.gather(_examples(number)), number


def _classes(columns: Sequence[pl.Series]) -> NDArray[np.int64]:
    """Number of the class of each row."""
    key, room = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        number, size = _numbered(column)
        if room * size > _ROOM:  # full: go on with the ranks of what it holds
            distinct, key = np.unique(key, return_inverse=True)
            room = distinct.size
        key, room = key * size + number, room * size
    return np.unique(key, return_inverse=True)[1]


def _numbered(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The number of each row's value as written, and how many there are; null is the last."""
    number = as_text(column).cast(pl.Categorical(pl.Categories.random())).to_physical()
    null = int(number.max() or 0) + 1  # type: ignore[arg-type]
    return number.fill_null(null).to_numpy().astype(np.int64), null + 1


def _values(series: pl.Series, column: Column, class_of: NDArray[np.int64]) -> Sensitive:
    """Count the sensitive values of every class."""
    number, size = _numbered(series)
    example = np.full(size, -1)
    example[number] = np.arange(number.size)
    there = np.flatnonzero(example[:-1] >= 0)
    code, scale = scaled(series.gather(example[there]), series.has_nulls(), column)
    code_of = np.full(size, code[-1])
    code_of[there] = code[:-1]
    return Sensitive.of_rows(class_of, code_of[number], scale)


def verdict_on(model: Model, counts: Counts) -> Verdict:
    """What becomes of one model."""
    return Verdict(
        name_of(MODELS, model), asked(model), model.achieved(counts), bool(model.holds(counts).all())
    )
