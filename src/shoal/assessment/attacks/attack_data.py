"""What an attacker has: the release as strings, and what is known of some people.

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

from shoal.codespace.encoding import build_dictionary
from shoal.errors import InputError, RecipeError, unknown
from shoal.privacy.counts import sum_by_place
from shoal.privacy.labels import build_cover_matrix, split_range
from shoal.privacy.people import read_people
from shoal.table import Column, Table, infer_type, ordered_values, parse_values, to_strings
from shoal.table.formats import import_optional
from shoal.verification.verifier import row_classes

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MOST_PAIRS = 1 << 22  # of pairs of a person and a class that are looked at together
_MOST_VALUES = 20  # of a number that are told apart; more are put into ranges
_RANGES = 10
_WITH_MEANS = ("integer", "float")  # columns that can be released as means of several values


@dataclass(frozen=True, slots=True, eq=False)
class AttackedPeople:
    """People who are attacked, and what is known of them."""

    value: Ints
    """[people, quasi] which of the column's values each has."""
    secret: Mapping[str, Ints]
    """By sensitive column the value of each; -1 where the release does not have it."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """A sensitive column of the release."""

    of_row: Ints
    """The value of each released row."""
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumn:
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
class MatchedRows:
    """What of a release fits people."""

    rows: Ints
    """[people] how many released rows fit."""
    picked: Ints
    """[people] the class of one of these rows, drawn at random; -1 where none fits."""
    tally: Mapping[str, Ints]
    """By sensitive column: [people, values] how often each value occurs in these rows."""


@dataclass(frozen=True, slots=True, eq=False)
class AttackData:
    """A release, and the people who are looked up in it."""

    known: tuple[KnownColumn, ...]
    cell: Ints
    """[classes, quasi] which label each class has."""
    size: Ints
    """[classes]"""
    class_of: Ints
    """[released rows]"""
    secrets: Mapping[str, SensitiveColumn]
    members: AttackedPeople
    """People of the original."""
    control: AttackedPeople | None
    """People who are not in the release."""
    release: Table
    original: Table
    others: Table | None
    """The table that the control group is drawn from."""
    described: tuple[str, ...]
    """Released columns that people are described by: quasi-identifiers first, then sensitive ones."""
    unmatched: tuple[str, ...]
    """Those that the control group does not have, so that they are left out."""
    columns: Mapping[str, Column]
    """What is known of columns beyond their values."""
    drawn: tuple[Table, ...]
    """The rows of the people who are attacked: those of the original, and of the control group."""

    @classmethod
    def from_tables(
        cls,
        release: Table,
        original: Table,
        control: Table | None,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        columns: Mapping[str, Column],
        attacks: int,
        rng: np.random.Generator,
        described: Sequence[str] | None = None,
        person: str | None = None,
    ) -> AttackData:
        """Read the release, and draw people to attack.

        ``described`` are the released columns that people can be described by, if not all that the original
        has as well. With a column that says whose row it is, one row of each of them is drawn.
        """
        tables = (release, original, *(() if control is None else (control,)))
        _check_columns(tables, quasi, sensitive)
        shared, unmatched = _find_shared_columns(tables, (*quasi, *sensitive), described)
        class_of = row_classes(release, quasi)
        size = np.bincount(class_of)
        # Any row of a class shows the cells of all its rows.
        example = np.empty(size.size, np.int64)
        example[class_of] = np.arange(class_of.size)
        # The original first: with and without a control group a seed attacks the same people.
        drawn = [_draw_rows(table, attacks, rng, person) for table in tables[1:]]
        secrets, codes = {}, []
        for name in sensitive:
            secrets[name], own = _read_sensitive_column(release.column(name), [t.column(name) for t in drawn])
            codes.append(own)
        known, cells, values = [], [], []
        for name in quasi:
            column = add_inferred_type(columns.get(name, Column(name)), original)
            each, cell, value = read_quasi_identifier(
                release.column(name).gather(example), original, drawn, column, control
            )
            known.append(each)
            cells.append(cell)
            values.append(value)
        people = [
            AttackedPeople(
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
            shared,
            unmatched,
            columns,
            tuple(drawn),
        )

    def typed_column(self, name: str) -> Column:
        """What is known of a column, with its type."""
        return add_inferred_type(self.columns.get(name, Column(name)), self.original)

    def list_groups(self) -> list[AttackedPeople]:
        """The people of the original and, where there is one, the control group."""
        return [self.members, *([] if self.control is None else [self.control])]

    def find_matching_rows(
        self, people: AttackedPeople, rng: np.random.Generator, told: Mask | None = None
    ) -> MatchedRows:
        """Look people up in the release; ``told`` says which columns are known of each, all if None.

        Sensitive values are counted only where all columns are known.
        """
        rows, picked = np.zeros(people.count, np.int64), np.full(people.count, -1)
        # Only attacks that know all columns look at the sensitive values.
        sparse = (
            {}
            if told is not None
            else {name: self._count_values(each) for name, each in self.secrets.items()}
        )
        tally = {name: np.zeros((people.count, counts.shape[1]), np.int64) for name, counts in sparse.items()}
        for part, fits in self._match_classes(people, told):
            person, fitting = np.nonzero(fits)
            # The fitting rows of all people laid end to end, so that a class is picked in
            # proportion to its size.
            so_far = np.cumsum(self.size[fitting])
            rows[part] = sum_by_place(person, self.size[fitting], len(fits))
            before = np.cumsum(rows[part]) - rows[part]
            at = np.searchsorted(so_far, before + rng.random(len(fits)) * rows[part], "right")
            # Where no row fits, the search finds the class of somebody else.
            some = rows[part] > 0
            picked[part][some] = fitting[at[some]]
            for name, counts in sparse.items():
                tally[name][part] = (_count_pairs(person, fitting, fits.shape) @ counts).toarray()
        return MatchedRows(rows, picked, tally)

    def find_nearest_rows(
        self, people: AttackedPeople, rng: np.random.Generator, told: Mask | None = None
    ) -> Ints:
        """[people] one of the released rows nearest to each, drawn at random; ``told`` as above.

        The distance is summed over the columns: 0 where a cell covers what is known; otherwise 1 or, where
        values have an order, the gap up to the nearest value that it covers, as a share of the column.
        """
        gaps = [_measure_gaps(known) for known in self.known]
        by_class, first = np.argsort(self.class_of, kind="stable"), np.cumsum(self.size) - self.size
        picked = np.empty(people.count, np.int64)
        for part in self._divide_people(people):
            distance = np.zeros((part.stop - part.start, self.size.size))
            for j, gap in enumerate(gaps):
                of_label = gap[:, people.value[part, j]].T
                if told is not None:
                    of_label = of_label * told[part, j][:, None]
                distance += of_label[:, self.cell[:, j]]
            distance = distance.round(9)  # equally far is equal, in whatever order columns were added
            person, near = np.nonzero(distance == distance.min(axis=1, keepdims=True))
            # The nearest rows of all people laid end to end: one number draws a class and a row of it.
            so_far = np.cumsum(self.size[near])
            rows = sum_by_place(person, self.size[near], len(distance))
            drawn = np.cumsum(rows) - rows + (rng.random(rows.size) * rows).astype(np.int64)
            at = np.searchsorted(so_far, drawn, "right")
            picked[part] = by_class[first[near[at]] + drawn - (so_far[at] - self.size[near[at]])]
        return picked

    def _divide_people(self, people: AttackedPeople) -> Iterator[slice]:
        """Some people at a time: all of them with all classes would not fit into memory."""
        step = max(1, _MOST_PAIRS // self.size.size)
        for start in range(0, people.count, step):
            yield slice(start, min(start + step, people.count))

    def _match_classes(self, people: AttackedPeople, told: Mask | None) -> Iterator[tuple[slice, Mask]]:
        """For some people at a time: [people, classes] which classes they fit."""
        for part in self._divide_people(people):
            fits = np.ones((part.stop - part.start, self.size.size), np.bool_)
            for j, known in enumerate(self.known):
                stands = known.stands[:, people.value[part, j]].T
                # A column that is not known excludes no class.
                if told is not None:
                    stands = stands | ~told[part, j][:, None]
                fits &= stands[:, self.cell[:, j]]
            yield part, fits

    def _count_values(self, secret: SensitiveColumn) -> Any:
        """[classes, values] how often each value occurs in each class, sparse."""
        return _count_pairs(self.class_of, secret.of_row, (self.size.size, len(secret.values)))


def _measure_gaps(known: KnownColumn) -> NDArray[np.float64]:
    """[labels, values] how far each value is from what each label covers, from 0 to 1."""
    apart = np.where(known.stands, 0.0, 1.0)
    if known.order is None:
        return apart
    # Rank 0 is a missing value, which is no nearer to one number than to another.
    place = np.where(known.order > 0, known.order.astype(np.float64), np.nan)
    single = np.full(len(known.labels), np.nan)
    if known.column.type in _WITH_MEANS:
        place, single = (
            series.cast(pl.Float64, strict=False).to_numpy() for series in (known.values, known.labels)
        )
    inside = known.stands & ~np.isnan(place)
    # A number that nobody has is where it is; all else is where its values are.
    low = np.where(inside.any(axis=1), np.where(inside, place, np.inf).min(axis=1, initial=np.inf), single)
    high = np.where(inside.any(axis=1), np.where(inside, place, -np.inf).max(axis=1, initial=-np.inf), single)
    gap = np.maximum(np.maximum(low[:, None] - place, place - high[:, None]), 0.0)
    span = np.nanmax(gap, initial=0.0) or 1.0
    return np.where(known.stands, 0.0, np.where(np.isnan(gap), 1.0, gap / span))


def _count_pairs(one: Ints, other: Ints, shape: tuple[int, ...]) -> Any:
    """How often each pair occurs, as a sparse matrix."""
    sparse = import_optional("scipy.sparse", "shoal[scipy]")

    # Pairs that occur again are added up by the sparse matrix.
    return sparse.csr_array((np.ones(one.size, np.int64), (one, other)), shape)


def _check_columns(tables: Sequence[Table], quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if not quasi:
        raise RecipeError("no quasi-identifiers: name the columns that someone could recognise a person by")
    for table in tables:
        for name in (*quasi, *sensitive):
            if name not in table.names:
                raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")


def _find_shared_columns(
    tables: Sequence[Table], first: Sequence[str], asked: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that all tables have, ``first`` ones first, and those that only the control group lacks."""
    release, original, *control = tables
    for table in (release, original):
        for name in asked or ():
            if name not in table.names:
                raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    wanted = release.names if asked is None else asked
    both = [name for name in dict.fromkeys((*first, *wanted)) if name in wanted and name in original.names]
    lacking = [name for name in both if any(name not in table.names for table in control)]
    return tuple(name for name in both if name not in lacking), tuple(lacking)


def _draw_rows(table: Table, most: int, rng: np.random.Generator, person: str | None) -> Table:
    """Rows drawn at random; where people have several, people and then a row of each."""
    whose = read_people(table, person)
    if whose is None:
        rows = rng.choice(table.rows, min(most, table.rows), replace=False)
    else:
        shuffled = rng.permutation(table.rows)
        first = shuffled[np.unique(whose[shuffled], return_index=True)[1]]
        rows = rng.choice(first, min(most, first.size), replace=False)
    return replace(table, frame=table.frame[rows])


def add_inferred_type(column: Column, original: Table) -> Column:
    """A column with its type, as all of the original tells it: that of a few people could be another."""
    if column.type is not None or column.hierarchy is not None:
        return column
    values = original.column(column.name)
    if column.order or ordered_values(values):
        return replace(column, type="ordered", order=column.order or tuple(ordered_values(values) or ()))
    return replace(column, type=infer_type(values.drop_nulls().unique(maintain_order=True)).type)


def read_quasi_identifier(
    cells: pl.Series, original: Table, drawn: Sequence[Table], column: Column, control: Table | None = None
) -> tuple[KnownColumn, Ints, list[Ints]]:
    """A quasi-identifier, the label of each class, and the value of each person of each table.

    Values of all people tell the ends of a range, so that no group has them oftener by definition.
    """
    labels, cell = number_strings(cells)
    parts = [to_strings(table.column(column.name)) for table in drawn]  # which may be of different types
    # The people of all tables together, so that a value has the same number in all of them. A released mean
    # is a number that nobody need have.
    values, number, stands = match_labels(
        labels, pl.concat(parts), original, column, every_value_occurs=column.type not in _WITH_MEANS
    )
    bounds = np.cumsum([0, *map(len, parts)]).tolist()
    people = [number[a:b] for a, b in pairwise(bounds)]
    order = _rank_values(values.replace("", None), column)
    everybody = (original, *(() if control is None else (control,)))
    known = KnownColumn(
        column, labels, values, stands, order, _find_range_ends(labels, values, everybody, column.name)
    )
    return known, cell, people


def _find_range_ends(labels: pl.Series, values: pl.Series, tables: Sequence[Table], name: str) -> Ints:
    there = {text for table in tables for text in to_strings(table.column(name)).unique(maintain_order=True)}
    place = {text: i for i, text in enumerate(values)}
    found = np.full((len(labels), 2), -1)
    for i, label in enumerate(labels):
        # Of the ways to divide a text the one whose ends are values.
        divided = next((pair for pair in split_range(label) if there.issuperset(pair)), None)
        if divided is not None:
            # len(values) is the number of no value: a guess of that end is always wrong.
            found[i] = [place.get(end, len(values)) for end in divided]
    return found


def match_labels(
    labels: pl.Series,
    people: pl.Series,
    original: Table,
    column: Column,
    *,
    every_value_occurs: bool = True,
) -> tuple[pl.Series, Ints, Mask]:
    """The distinct values of people, which of them each has, and which of them each label stands for.

    A label that is a value of the original is read as that, also where none of the people has it. What cannot
    be read is an error, or stands for nothing unless ``every_value_occurs``.
    """
    known = to_strings(original.column(column.name)).unique(maintain_order=True)
    # Values of the original get a number even if nobody here has them: they are no ranges or nodes.
    there = labels.filter(labels.is_in(known.implode()))
    values, number = number_strings(pl.concat([to_strings(people), there]))
    stands = build_cover_matrix(labels, values.replace("", None), column, every_value_occurs)
    return values, number[: len(people)], stands


def number_strings(column: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct values as strings, a missing one empty, and which of them each is."""
    distinct, number, _ = build_dictionary(to_strings(column).fill_null(""))
    return distinct, number.astype(np.int64)


def _rank_values(values: pl.Series, column: Column) -> Ints | None:
    if column.hierarchy is not None or column.type in (None, "string", "boolean"):
        return None
    # Markers of missing values would not parse; as null they get rank 0.
    lost = infer_type(values.drop_nulls()).extra_na
    clean = values.replace(list(lost), [None] * len(lost)) if lost else values
    kind = column.type
    assert kind is not None
    rank = parse_values(clean, kind, column.name, list(column.order) if column.order else None).rank("dense")
    return rank.fill_null(0).to_numpy().astype(np.int64)


def _read_sensitive_column(
    released: pl.Series, drawn: Sequence[pl.Series]
) -> tuple[SensitiveColumn, list[Ints]]:
    """The values of a sensitive column, numbers in ten ranges; and those of the people of each table."""
    kind = infer_type(released.drop_nulls().unique(maintain_order=True)).type
    if kind in ("integer", "float") and released.n_unique() > _MOST_VALUES:
        return _divide_into_ranges(released, drawn, kind)
    distinct, number = number_strings(released)
    place = pl.Series(np.arange(len(distinct)))
    texts = [to_strings(series).fill_null("") for series in drawn]
    # -1 where the release does not have the value: no guess can be right there.
    people = [text.replace_strict(distinct, place, default=-1).to_numpy().astype(np.int64) for text in texts]
    return SensitiveColumn(number, tuple(distinct)), people


def _divide_into_ranges(
    released: pl.Series, drawn: Sequence[pl.Series], kind: Any
) -> tuple[SensitiveColumn, list[Ints]]:
    """Numbers by the tenth of the release that they fall into; a missing one is a value of its own."""
    numbers = [_to_floats(series, kind) for series in (released, *drawn)]
    # Edges of the release, all that an attacker sees; equal ones of a skewed column become one.
    edges = np.unique(np.nanquantile(numbers[0], np.linspace(0, 1, _RANGES + 1)[1:-1]))
    codes = [
        np.where(np.isnan(number), edges.size + 1, np.searchsorted(edges, number, "right"))
        for number in numbers
    ]
    names = [f"range {i + 1} of {edges.size + 1}" for i in range(edges.size + 1)]
    return SensitiveColumn(codes[0], (*names, "missing")), codes[1:]


def _to_floats(series: pl.Series, kind: Any) -> NDArray[np.float64]:
    if series.dtype == pl.String:
        series = series.cast(pl.Float64, strict=False)
    return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
