"""The verifier: reads a release as an outsider would, groups the released values and counts.

It shares no code with the search: not the codes, not the frequency table, not the recoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
    Measures,
    Model,
    Sensitive,
    asked,
    for_columns,
    measures,
    scaled,
)
from shoal.table import Column, ReadOptions, Table, as_text, read

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
        plain = asdict(self)
        if isinstance(self.achieved, float) and isinf(self.achieved):
            plain["achieved"] = None
        return plain


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
    known of sensitive columns beyond their values, which some models need: type, order, hierarchy.
    """
    table = read(source, options or ReadOptions())
    return verify_table(table, quasi, sensitive, models, columns)


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
) -> Verification:
    """Check a table that has been read."""
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    counts = count_classes(table, quasi, sensitive, columns)
    concrete = for_columns(models, sensitive)
    verdicts = tuple(_verdict(model, counts) for model in concrete)
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
) -> Counts:
    """Group rows with equal quasi-identifiers; count the rows and the sensitive values of each group.

    Quasi-identifiers count as written. All kinds of missing sensitive values (a marker, an empty
    text, NaN) are one, because to a reader they are.
    """
    for name in (*quasi, *sensitive):
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    if not quasi:
        raise RecipeError("no quasi-identifiers: name the columns that someone could recognise a person by")
    if both := [name for name in sensitive if name in quasi]:
        raise RecipeError(f"{quote(both)} is named both quasi and sensitive: give each column one role")
    class_of = _classes([table.frame[name] for name in quasi])
    return Counts(
        np.bincount(class_of),
        {name: _values(table.column(name), columns.get(name, Column(name)), class_of) for name in sensitive},
    )


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


def _verdict(model: Model, counts: Counts) -> Verdict:
    return Verdict(
        name_of(MODELS, model), asked(model), model.achieved(counts), bool(model.holds(counts).all())
    )
