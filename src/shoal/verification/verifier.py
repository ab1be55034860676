"""The verifier: reads a release as an outsider would, groups the released values and counts.

It shares no code with the search: not the codes, not the frequency table, not the recoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, repeat
from math import isinf
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import GoalNotMet, InputError, InternalError, RecipeError, quote, unknown
from shoal.privacy import (
    Achieved,
    Counts,
    Measures,
    Model,
    PopulationFit,
    SafePub,
    SensitiveCounts,
    ValueScale,
    achieved_text,
    fitting_pairs,
    for_columns,
    measure_classes,
    model_name,
    model_parameters,
    number_distinct_values,
)
from shoal.privacy.equal_cells import EqualCells
from shoal.privacy.fitting import PopulationRows
from shoal.privacy.groups import GroupAnonymity
from shoal.privacy.labels import build_cover_matrix
from shoal.privacy.people import count_people, count_people_by_value, has_repeated_people, read_people
from shoal.privacy.population import PopulationTable
from shoal.support.notebooks import draw_grid, draw_note, draw_words
from shoal.table import Column, ReadOptions, Table, read_table, to_strings
from shoal.table.frames import use_safe_name
from shoal.verification.findings import Finding, JudgedRelease, judge_release
from shoal.verification.outsider import CellNumbers, number_cells, number_rows, read_json_cells

_NOTHING_KNOWN: Mapping[str, Column] = MappingProxyType({})
_NOTHING_ACCEPTED: Mapping[str, str] = MappingProxyType({})


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
        # The empty name stands for the one figure of a model with one parameter.
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
    findings: tuple[Finding, ...] = ()
    """What all columns of the release give away together, the most severe first."""
    people: int | None = None
    """How many there are, where people were counted and not rows; so they are in ``smallest_class``."""
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""

    def __bool__(self) -> bool:
        """Whether the goal holds, so that ``assert shoal.verify(...)`` does what it says."""
        return self.holds

    def raise_for_goal(self) -> None:
        """Raise `GoalNotMet`, which says what was asked and what was reached, unless the goal holds."""
        if not self.holds:
            raise GoalNotMet(f"the goal does not hold: {describe_shortfall(self)}")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        findings = [finding.to_dict() for finding in self.findings]
        plain = asdict(self) | {"models": [model.to_dict() for model in self.models], "findings": findings}
        # Most releases are of one row each, of which nothing more is to be told.
        more = {name: plain.pop(name) for name in ("people", "notes")}
        return plain | {name: value for name, value in more.items() if value not in (None, ())}

    def _repr_html_(self) -> str:
        """In notebooks: what was asked, what was found, and what the release as a whole gives away."""
        return draw_note(
            "Every promise holds" if self.holds else "The goal does not hold", self._draw_parts()
        )

    def _draw_parts(self) -> Iterator[str]:
        who = "rows" if self.people is None else f"rows of {self.people:,} people"
        yield draw_words(
            f"{self.rows:,} {who} in {self.classes:,} classes, the smallest of {self.smallest_class:,}."
        )
        yield draw_grid(
            ("model", "asked", "found", "result"),
            [
                (
                    each.name,
                    ", ".join(f"{key} = {value}" for key, value in each.asked.items()),
                    achieved_text(each.achieved),
                    "holds" if each.holds else "does not hold",
                )
                for each in self.models
            ],
        )
        if self.findings:
            yield draw_grid(
                ("finding", "severity", "what it is", "accepted"),
                [(each.id, each.severity, each.message, each.accepted) for each in self.findings],
            )
        yield from (draw_words(note, "soft") for note in self.notes)


def describe_shortfall(found: Verification, because: Iterable[str] = ()) -> str:
    """Which models do not hold, how near they came and, verdict by verdict, because of what."""
    return "; ".join(
        f"{verdict.name} asked {verdict.asked}, reached {achieved_text(verdict.achieved)}{why}"
        for verdict, why in zip(found.models, chain(because, repeat("")), strict=False)
        if not verdict.holds
    )


def verify_whole(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: PopulationTable | None = None,
    accept: Mapping[str, str] = _NOTHING_ACCEPTED,
    person: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
) -> Verification:
    """Check a table against models, and find what all its columns give away together."""
    found = verify_table(table, quasi, sensitive, models, columns, people, person, group)
    judged = JudgedRelease(table.frame, quasi, sensitive, models, columns, person=person)
    return replace(found, findings=judge_release(judged, accept))


def may_release_nothing(models: Sequence[Model]) -> bool:
    """Whether a release without rows can be right: a private sample may have no class of enough rows."""
    return any(isinstance(model, SafePub) for model in models)


def measure_source(
    source: object,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    options: ReadOptions | None = None,
    person: str | None = None,
) -> Measures:
    """What a table, released or not, reaches under every model at once."""
    table = read_table(source, options or ReadOptions())
    people = read_people(table, person)
    return measure_classes(count_classes(table, quasi, sensitive, columns, person=people))


def verify_table(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: PopulationTable | None = None,
    person: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
    cells: CellNumbers | None = None,
) -> Verification:
    """Check a table that has been read.

    Parameters
    ----------
    people : PopulationTable, optional
        The population, if a model compares with one.
    person : int64[rows], optional
        The person of each row, if people are to be counted instead of rows.
    group : int64[rows], optional
        The group of each row's person, if every class must have as many groups as it must have people.
    cells : CellNumbers, optional
        The cells of the table, where they are numbered for other checks, too.
    """
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    if group is not None:
        models = (*models, GroupAnonymity.from_goal(models))
    counts = count_classes(table, quasi, sensitive, columns, people, person, group, cells)
    found = judge_counts(counts, sensitive, models)
    if person is None or not counts.counts_people:
        return found
    return replace(found, people=int(np.count_nonzero(np.bincount(person))))


def judge_counts(counts: Counts, sensitive: Sequence[str], models: Sequence[Model]) -> Verification:
    """Check classes that have been counted."""
    verdicts = tuple(judge_model(model, counts) for model in for_columns(models, sensitive))
    return Verification(
        holds=all(verdict.holds for verdict in verdicts),
        rows=counts.rows,
        classes=counts.classes,
        smallest_class=int(counts.size.min()) if counts.classes else 0,
        models=verdicts,
    )


def count_classes(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: PopulationTable | None = None,
    person: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
    cells: CellNumbers | None = None,
) -> Counts:
    """Group rows with equal quasi-identifiers; count the rows and the sensitive values of each group.

    And, of ``people``, those who could be rows of the group. Where ``person`` says whose row each is, and
    somebody has several, people are counted instead, as `shoal.privacy.people` defines; and where ``group``
    says to which group that person belongs, groups beside them.

    Quasi-identifiers count as written. All kinds of missing sensitive values (a marker, an empty
    text, NaN) are one, because to a reader they are.
    """
    table.check_single_values((*quasi, *sensitive))
    check_columns(table, quasi, sensitive)
    # Sizes are counted from written cells, never from codes of the search.
    class_of = row_classes(table, quasi) if cells is None else cells.number_rows(quasi)
    suppressed = _find_suppressed_class(table, quasi, class_of)
    known = {name: columns.get(name, Column(name)) for name in (*quasi, *sensitive)}
    if person is not None and (group is not None or has_repeated_people(person)):
        if group is not None and people is not None:
            raise RecipeError(
                "models that compare with a population count people, not groups: leave out the group, or "
                "take other models"
            )
        size = count_people(class_of, person)
        return Counts(
            size,
            {
                name: count_values_of_people(table.column(name), known[name], class_of, person)
                for name in sensitive
            },
            None if people is None else _match_people(table, quasi, class_of, people, known, size),
            rows_of=np.bincount(class_of),
            groups=None if group is None else count_people(class_of, group),
            suppressed=suppressed,
            equal=_prepare_equal_cells(table, quasi, class_of, size, person),
        )
    size = np.bincount(class_of)
    return Counts(
        size,
        {name: _count_sensitive_values(table.column(name), known[name], class_of) for name in sensitive},
        None if people is None else _match_people(table, quasi, class_of, people, known),
        suppressed=suppressed,
        equal=_prepare_equal_cells(table, quasi, class_of, size),
    )


def _prepare_equal_cells(
    table: Table,
    quasi: Sequence[str],
    class_of: NDArray[np.int64],
    size: NDArray[np.int64],
    person: NDArray[np.int64] | None = None,
) -> EqualCells:
    """What is written in each class, for models that ask how many rows are equal in some columns."""
    example = _pick_examples(class_of)

    def read_cells(name: str) -> NDArray[np.int64]:
        return row_classes(table, [name])[example]

    return EqualCells(tuple(quasi), read_cells, size, None if person is None else (class_of, person))


def _find_suppressed_class(table: Table, quasi: Sequence[str], class_of: NDArray[np.int64]) -> int | None:
    """The class of the rows of `*` alone, if there are several of them and other rows beside."""
    cells = [use_safe_name(table.frame[name]) for name in quasi]
    if any(cell.dtype not in (pl.String, pl.Categorical, pl.Enum) for cell in cells):
        return None
    rows = np.flatnonzero(
        np.logical_and.reduce([(cell == "*").fill_null(False).to_numpy() for cell in cells])
    )
    # One such row alone is that of whoever fits no other: it counts as any other class.
    return int(class_of[rows[0]]) if 1 < rows.size < table.rows else None


def check_columns(table: Table, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    """Refuse roles that do not fit a table."""
    names = table.names
    for name in (*quasi, *sensitive):
        if name not in names:
            raise InputError(f"{table.origin}: {unknown('column', name, names)}")
    if not quasi:
        raise RecipeError("no quasi-identifiers: name the columns that someone could recognise a person by")
    if both := [name for name in sensitive if name in quasi]:
        raise RecipeError(f"{quote(both)} is named both quasi and sensitive: give each column one role")


def find_violating_rows(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[Model],
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    person: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Which rows are in classes that violate a model; people are counted where ``person`` says whose."""
    counts = count_classes(table, quasi, sensitive, columns, person=person)
    # A row is good only if its class satisfies every model at once.
    good = np.logical_and.reduce([model.holds(counts) for model in for_columns(models, sensitive)])
    return np.asarray(~good[row_classes(table, quasi)])


def row_classes(table: Table, quasi: Sequence[str]) -> NDArray[np.int64]:
    """Number of the class of each row: the classes of `count_classes`, in its order."""
    if table.origin.format == "jsonl" and table.origin.path is not None:
        # A reader of the lines tells 34 from 34.0, and null from a key that is not there.
        cells = read_json_cells(table.origin.path, table.origin, quasi)
        if cells.height != table.rows:
            raise InternalError(f"{table.origin} has {table.rows} rows, but {cells.height} lines")
        return number_rows(cells.get_columns())
    return number_rows([use_safe_name(table.frame[name]) for name in quasi])


def describe_violating_classes(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    model: Model,
    columns: Mapping[str, Column] = _NOTHING_KNOWN,
    people: PopulationTable | None = None,
    person: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
) -> str:
    """The classes that violate a model, in words: how many there are, and the smallest of them."""
    counts = count_classes(table, quasi, sensitive, columns, people, person, group)
    (bad,) = np.nonzero(~model.holds(counts))
    # The smallest class is the easiest to understand as an example.
    worst = int(bad[np.argmin(counts.size[bad])])
    row = _pick_examples(row_classes(table, quasi))[worst]
    cells = ", ".join(f"{name} {table.frame[name][int(row)]}" for name in quasi)
    others = f" and {bad.size - 1} more" if bad.size > 1 else ""
    return f"the class of {counts.size[worst]} {counts.unit} with {cells}{others}"


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

    def find_only_labels(self, j: int) -> NDArray[np.int64]:
        """[people] the only text of column ``j`` that stands for the person's value; -1 if it is not one."""
        standing = self.standing[j]
        # argmax gives the first True, which is the only one where the sum is 1.
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
    person_of = number_rows([people.column(name) for name in quasi])
    # Equal people are matched once; most tables repeat them often.
    person = _pick_examples(person_of)
    cells, values, labels, standing = [], [], [], []
    for name in quasi:
        text, cell = _number_distinct(to_strings(classes.column(name)))
        there, value = _number_distinct(people.column(name).gather(person))
        labels.append(text)
        standing.append(build_cover_matrix(text, there, columns[name], every_value_occurs))
        cells.append(cell)
        values.append(value)
    value = np.stack(values, axis=1)
    pairs = fitting_pairs(np.stack(cells, axis=1), standing, value)
    return Fits(*pairs, person_of, tuple(labels), tuple(standing), value)


def _match_people(
    table: Table,
    quasi: Sequence[str],
    class_of: NDArray[np.int64],
    people: PopulationTable,
    columns: Mapping[str, Column],
    size: NDArray[np.int64] | None = None,
) -> PopulationFit:
    """How people fit the classes of a release; ``size`` is how many people these have, if not rows count."""
    # One row stands for its class: their quasi-identifiers are equal.
    row = _pick_examples(class_of)
    cells = [use_safe_name(table.frame[name]).gather(row).alias(name) for name in quasi]
    classes = replace(table, frame=pl.DataFrame(cells))
    fits = who_fits(classes, quasi, people.table, columns)
    members = np.bincount(class_of) if size is None else size
    rows = PopulationRows.from_rows(fits.person_of, people.person)
    return PopulationFit.from_pairs(members, fits.class_of, fits.person, rows, shared=size is not None)


def _pick_examples(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Some row of each number."""
    example = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    example[number] = np.arange(number.size)
    return example


def _number_distinct(column: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """The distinct values of a column, and which of them each row has."""
    number = np.unique(number_cells(column)[0], return_inverse=True)[1]
    return column.gather(_pick_examples(number)), number


def _count_sensitive_values(
    series: pl.Series, column: Column, class_of: NDArray[np.int64]
) -> SensitiveCounts:
    """Count the sensitive values of every class."""
    code, scale = _number_sensitive_values(series, column)
    return SensitiveCounts.of_rows(class_of, code, scale)


def count_values_of_people(
    series: pl.Series, column: Column, class_of: NDArray[np.int64], person: NDArray[np.int64]
) -> SensitiveCounts:
    """Count the people of every class who have each sensitive value."""
    code, scale = _number_sensitive_values(series, column)
    return count_people_by_value(class_of, code, person, scale)


def _number_sensitive_values(series: pl.Series, column: Column) -> tuple[NDArray[np.int64], ValueScale]:
    """The number of the sensitive value of each row, and how the values lie to each other."""
    number, size = number_cells(series)
    example = np.full(size, -1)
    example[number] = np.arange(number.size)
    # The last number is that of null, which has no value to look at.
    there = np.flatnonzero(example[:-1] >= 0)
    code, scale = number_distinct_values(series.gather(example[there]), series.has_nulls(), column)
    code_of = np.full(size, code[-1])
    code_of[there] = code[:-1]
    return code_of[number], scale


def judge_model(model: Model, counts: Counts) -> Verdict:
    """What becomes of one model."""
    return Verdict(
        model_name(model),
        model_parameters(model),
        model.achieved(counts),
        bool(model.holds(counts).all()),
    )
