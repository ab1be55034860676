"""What an attacker has: the release as text, and what is known of some people.

Released values are read as the verifier reads them for a population: a released row fits a person if each
of its cells stands for the value that is known. Nothing of the search is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encoding import dictionary
from shoal.errors import InputError, RecipeError, unknown
from shoal.privacy.counts import sums
from shoal.privacy.labels import covers, ends
from shoal.table import Column, Table, as_text, infer_type, ordered_values, parse
from shoal.verify import row_classes

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_ROOM = 1 << 22  # of pairs of a person and a class that are looked at together
_MOST_VALUES = 20  # of a number that are told apart; more are put into ranges
_RANGES = 10


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Persons whom an attacker goes for, by what is known of them."""

    value: Ints
    """[people, quasi] which of the column's values each has."""
    secret: Mapping[str, Ints]
    """By sensitive column the value of each; -1 where the release does not have it."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Secret:
    """A sensitive column of the release."""

    of_row: Ints
    """The value of each released row."""
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A quasi-identifier: what is released, the values of people, and which of them it can be."""

    column: Column
    labels: pl.Series
    values: pl.Series
    stands: Mask
    """[labels, values]"""
    order: Ints | None
    """Rank of each value where values have an order, 0 for a missing one."""
    ends: Ints
    """[labels, 2] which values a released range begins and ends with, their number if nobody here has it;
    -1 for labels that are no ranges."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What of a release fits people."""

    rows: Ints
    """[people] how many released rows fit."""
    picked: Ints
    """[people] the class of one of these rows, drawn at random; -1 where none fits."""
    tally: Mapping[str, Ints]
    """By sensitive column: [people, values] how often each value occurs in these rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A release under attack."""

    known: tuple[Known, ...]
    cell: Ints
    """[classes, quasi] which label each class has."""
    size: Ints
    """[classes]"""
    class_of: Ints
    """[released rows]"""
    secrets: Mapping[str, Secret]
    members: People
    """People of the original."""
    control: People | None
    """People who are not in the release."""
    release: Table
    original: Table
    others: Table | None
    """The table that the control group is drawn from."""

    @classmethod
    def of(
        cls,
        release: Table,
        original: Table,
        control: Table | None,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        columns: Mapping[str, Column],
        attacks: int,
        rng: np.random.Generator,
    ) -> Scene:
        """Read the release, and draw people to attack."""
        tables = (release, original, *(() if control is None else (control,)))
        _check(tables, quasi, sensitive)
        class_of = row_classes(release, quasi)
        size = np.bincount(class_of)
        example = np.empty(size.size, np.int64)
        example[class_of] = np.arange(class_of.size)
        drawn = [_drawn(table, attacks, rng) for table in tables[1:]]
        secrets, codes = {}, []
        for name in sensitive:
            secrets[name], own = _secret(release.column(name), [t.column(name) for t in drawn])
            codes.append(own)
        known, cells, values = [], [], []
        for name in quasi:
            column = _typed(columns.get(name, Column(name)), original)
            each, cell, value = _known(release.column(name).gather(example), original, drawn, column)
            known.append(each)
            cells.append(cell)
            values.append(value)
        people = [
            People(
                np.stack([value[i] for value in values], axis=1),
                {name: own[i] for name, own in zip(sensitive, codes, strict=True)},
            )
            for i in range(len(drawn))
        ]
        return cls(
            tuple(known),
            np.stack(cells, axis=1),
            size,
            class_of,
            secrets,
            people[0],
            people[1] if len(people) > 1 else None,
            release,
            original,
            control,
        )

    def groups(self) -> list[People]:
        """The people of the original and, where there is one, the control group."""
        return [self.members, *([] if self.control is None else [self.control])]

    def find(self, people: People, rng: np.random.Generator, told: Mask | None = None) -> Found:
        """Look people up in the release; ``told`` says which columns are known of each, all if None.

        Sensitive values are counted only where all columns are known.
        """
        rows, picked = np.zeros(people.count, np.int64), np.full(people.count, -1)
        sparse = {} if told is not None else {name: self._counts(each) for name, each in self.secrets.items()}
        tally = {name: np.zeros((people.count, counts.shape[1]), np.int64) for name, counts in sparse.items()}
        for part, fits in self._fits(people, told):
            person, fitting = np.nonzero(fits)
            so_far = np.cumsum(self.size[fitting])
            rows[part] = sums(person, self.size[fitting], len(fits))
            before = np.cumsum(rows[part]) - rows[part]
            at = np.searchsorted(so_far, before + rng.random(len(fits)) * rows[part], "right")
            some = rows[part] > 0
            picked[part][some] = fitting[at[some]]
            for name, counts in sparse.items():
                tally[name][part] = (_pairs(person, fitting, fits.shape) @ counts).toarray()
        return Found(rows, picked, tally)

    def _fits(self, people: People, told: Mask | None) -> Iterator[tuple[slice, Mask]]:
        """For some people at a time: [people, classes] which classes they fit."""
        step = max(1, _ROOM // self.size.size)
        for start in range(0, people.count, step):
            part = slice(start, min(start + step, people.count))
            fits = np.ones((part.stop - start, self.size.size), np.bool_)
            for j, known in enumerate(self.known):
                stands = known.stands[:, people.value[part, j]].T
                if told is not None:
                    stands = stands | ~told[part, j][:, None]
                fits &= stands[:, self.cell[:, j]]
            yield part, fits

    def _counts(self, secret: Secret) -> Any:
        """[classes, values] how often each value occurs in each class, sparse."""
        return _pairs(self.class_of, secret.of_row, (self.size.size, len(secret.values)))


def _pairs(one: Ints, other: Ints, shape: tuple[int, ...]) -> Any:
    """How often each pair occurs, as a sparse matrix."""
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to load

    return csr_array((np.ones(one.size, np.int64), (one, other)), shape)


def _check(tables: Sequence[Table], quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if not quasi:
        raise RecipeError("no quasi-identifiers: name the columns that someone could recognise a person by")
    for table in tables:
        for name in (*quasi, *sensitive):
            if name not in table.names:
                raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")


def _drawn(table: Table, most: int, rng: np.random.Generator) -> Table:
    rows = rng.choice(table.rows, min(most, table.rows), replace=False)
    return replace(table, frame=table.frame[rows])


def _typed(column: Column, original: Table) -> Column:
    """A column with its type, as all of the original tells it: that of a few people could be another."""
    if column.type is not None or column.hierarchy is not None:
        return column
    values = original.column(column.name)
    if column.order or ordered_values(values):
        return replace(column, type="ordered", order=column.order or tuple(ordered_values(values) or ()))
    return replace(column, type=infer_type(values.drop_nulls().unique()).type)


def _known(
    cells: pl.Series, original: Table, drawn: Sequence[Table], column: Column
) -> tuple[Known, Ints, list[Ints]]:
    """A quasi-identifier, the label of each class, and the value of each person of each table."""
    labels, cell = numbered(cells)
    parts = [as_text(table.column(column.name)) for table in drawn]  # which may be of different types
    values, number, stands = reading(labels, pl.concat(parts), original, column)
    bounds = np.cumsum([0, *map(len, parts)]).tolist()
    people = [number[a:b] for a, b in pairwise(bounds)]
    order = _order(values.replace("", None), column)
    known = Known(column, labels, values, stands, order, _ends(labels, values, original, column.name))
    return known, cell, people


def _ends(labels: pl.Series, values: pl.Series, original: Table, name: str) -> Ints:
    there = set(as_text(original.column(name)).unique())
    place = {text: i for i, text in enumerate(values)}
    found = np.full((len(labels), 2), -1)
    for i, label in enumerate(labels):
        # Of the ways to divide a text the one whose ends are values.
        divided = next((pair for pair in ends(label) if there.issuperset(pair)), None)
        if divided is not None:
            found[i] = [place.get(end, len(values)) for end in divided]
    return found


def reading(
    labels: pl.Series, people: pl.Series, original: Table, column: Column
) -> tuple[pl.Series, Ints, Mask]:
    """The different values of people, which of them each has, and which of them each label stands for.

    A label that is a value of the original is read as that, also where none of the people has it.
    """
    there = labels.filter(labels.is_in(as_text(original.column(column.name)).unique().implode()))
    values, number = numbered(pl.concat([as_text(people), there]))
    return values, number[: len(people)], covers(labels, values.replace("", None), column)


def numbered(column: pl.Series) -> tuple[pl.Series, Ints]:
    """The different values as texts, a missing one empty, and which of them each is."""
    distinct, number, _ = dictionary(as_text(column).fill_null(""))
    return distinct, number.astype(np.int64)


def _order(values: pl.Series, column: Column) -> Ints | None:
    if column.hierarchy is not None or column.type in (None, "string", "boolean"):
        return None
    lost = infer_type(values.drop_nulls()).extra_na
    clean = values.replace(list(lost), [None] * len(lost)) if lost else values
    kind = column.type
    assert kind is not None
    rank = parse(clean, kind, column.name, list(column.order) if column.order else None).rank("dense")
    return rank.fill_null(0).to_numpy().astype(np.int64)


def _secret(released: pl.Series, drawn: Sequence[pl.Series]) -> tuple[Secret, list[Ints]]:
    """The values of a sensitive column, numbers in ten ranges; and those of the people of each table."""
    kind = infer_type(released.drop_nulls().unique()).type
    if kind in ("integer", "float") and released.n_unique() > _MOST_VALUES:
        return _ranges(released, drawn, kind)
    distinct, number = numbered(released)
    place = pl.Series(np.arange(len(distinct)))
    texts = [as_text(series).fill_null("") for series in drawn]
    people = [text.replace_strict(distinct, place, default=-1).to_numpy().astype(np.int64) for text in texts]
    return Secret(number, tuple(distinct)), people


def _ranges(released: pl.Series, drawn: Sequence[pl.Series], kind: Any) -> tuple[Secret, list[Ints]]:
    """Numbers by the tenth of the release that they fall into; a missing one is a value of its own."""
    numbers = [_floats(series, kind) for series in (released, *drawn)]
    edges = np.unique(np.nanquantile(numbers[0], np.linspace(0, 1, _RANGES + 1)[1:-1]))
    codes = [
        np.where(np.isnan(number), edges.size + 1, np.searchsorted(edges, number, "right"))
        for number in numbers
    ]
    names = [f"range {i + 1} of {edges.size + 1}" for i in range(edges.size + 1)]
    return Secret(codes[0], (*names, "missing")), codes[1:]


def _floats(series: pl.Series, kind: Any) -> NDArray[np.float64]:
    if series.dtype == pl.String:
        series = series.cast(pl.Float64, strict=False)
    return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
