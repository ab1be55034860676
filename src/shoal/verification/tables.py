"""The verifier for several tables of the same people, which it joins by the pseudonyms as anybody can.

It reads the released files alone. A person is whoever has the same pseudonym in all of them; what is known of
a person is the row in the table of people, and some rows in the event tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, RecipeError
from shoal.privacy import Counts, Model, for_columns
from shoal.privacy.people import count_people, number_people
from shoal.table import Column, Table, to_strings
from shoal.verification.findings import Finding, JudgedRelease, accept_findings, judge_release
from shoal.verification.findings.linked import check_linked_rows
from shoal.verification.linked import (
    LinkedRows,
    add_groups,
    check_linked_models,
    count_linked_people,
    number_histories,
)
from shoal.verification.outsider import number_rows
from shoal.verification.verifier import (
    Verdict,
    Verification,
    check_columns,
    count_values_of_people,
    judge_counts,
    judge_model,
    row_classes,
)

Ints = NDArray[np.int64]
_PEOPLE = "people"
EVENT_TABLE = "(table)"
"""The column that says of which table an event is, where all are joined."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTable:
    """One table of a release, with the roles of its columns."""

    name: str
    """What stands before the names of its columns; nothing for the table of people."""
    table: Table
    quasi: Sequence[str]
    sensitive: Sequence[str] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)
    """What is known of columns beyond their values."""

    def name_column(self, column: str) -> str:
        """A column of it as a recipe names it."""
        return f"{self.name}.{column}" if self.name else column


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRows:
    """The rows of all tables, brought together by person."""

    person: Ints
    """[rows] the person of each."""
    class_of: Ints
    """[rows] equal rows of one table share it, if they are of people with equal static columns."""
    table_of: Ints
    """[rows] the table of each; 0 is that of the people, which come first."""
    unknown: int
    """Events of people who are not in the table of people."""


def join_tables(tables: Sequence[ReleasedTable], person: str) -> JoinedRows:
    """Bring the rows of each person together, by the column that says whose row it is in every table."""
    for each in tables:
        if person not in each.table.names:
            raise InputError(
                f"{each.table.origin}: there is no column '{person}', which says whose row it is"
            )
        check_columns(each.table, each.quasi, each.sensitive)
    sizes = [each.table.rows for each in tables]
    number, _ = number_people(pl.concat([to_strings(each.table.column(person)) for each in tables]))
    table_of = np.repeat(np.arange(len(tables)), sizes)
    own = number[: sizes[0]]
    if (twice := own.size - np.unique(own).size) > 0:
        raise InputError(
            f"{tables[0].table.origin}: {twice:,} rows are of people who have another row there: in the "
            "table of people everybody has one row"
        )
    # Somebody who is not among the people has no static columns that anybody could know.
    static = np.full(int(number.max()) + 1, -1, np.int64)
    static[own] = row_classes(tables[0].table, tables[0].quasi)
    events = [np.zeros(sizes[0], np.int64), *(row_classes(each.table, each.quasi) for each in tables[1:])]
    cells = [table_of, static[number], np.concatenate(events)]
    class_of = number_rows([pl.Series(each) for each in cells])
    return JoinedRows(number, class_of, table_of, int(np.count_nonzero(static[number] < 0)))


def join_events(tables: Mapping[str, Table], person: str) -> tuple[Table, int]:
    """All events, each with the columns of its person, as one table; and how many people have none.

    The tables are by name, that of the people first. Columns of events are named as in a recipe. If there are
    several event tables, `EVENT_TABLE` says of which each row is; columns of the others are missing there.
    """
    for table in tables.values():
        if person not in table.names:
            raise InputError(
                f"{table.origin}: there is no column '{person}', so that nobody can join the tables: look at "
                "each of them by itself"
            )
    (_, people), *events = tables.items()
    number, _ = number_people(pl.concat([to_strings(table.column(person)) for table in tables.values()]))
    place = np.full(int(number.max()) + 1, -1, np.int64)
    place[number[: people.rows]] = np.arange(people.rows)
    owners = np.split(number, np.cumsum([table.rows for table in tables.values()])[:-1])[1:]
    parts = []
    for (name, table), whose in zip(events, owners, strict=True):
        known = np.flatnonzero(place[whose] >= 0)
        own = table.frame[known].drop(person)
        own = own.rename({column: f"{name}.{column}" for column in own.columns})
        static = people.frame[place[whose[known]]]
        which = [pl.repeat(name, known.size, eager=True).alias(EVENT_TABLE)] if len(events) > 1 else []
        parts.append(pl.DataFrame([*static.get_columns(), *own.get_columns(), *which]))
    # Without the path, so that nothing reads a file again.
    origin = replace(people.origin, kind="polars", native=None, path=None)
    met = np.unique(np.concatenate(owners))
    joined = Table(pl.concat(parts, how="diagonal"), origin, people.na)
    return joined, people.rows - int(np.count_nonzero(place[met] >= 0))


def verify_tables(
    tables: Sequence[ReleasedTable],
    models: Sequence[Model],
    person: str,
    knows: int | None,
    group: Ints | None = None,
) -> Verification:
    """Check released tables: whoever knows the static columns and some events of a person finds k people.

    ``group`` is the group of the person of each row of all tables, one after another, if groups are counted.
    """
    if not models:
        raise RecipeError("no privacy goal: say what must hold, for example k = 5")
    check_linked_models(models, knows)
    joined = join_tables(tables, person)
    linked = LinkedRows(joined.person, knows, group=group)
    models = add_groups(models, linked)
    counts = count_linked_people(joined.class_of, linked, max(model.least_size() for model in models))
    sensitive = [each.name_column(column) for each in tables for column in each.sensitive]
    verdicts = []
    for model in for_columns(models, sensitive):
        if model.sensitive:
            verdicts.append(_judge_values(tables, joined, model))
        else:
            verdicts.append(judge_counts(counts, (), [model]).models[0])
    notes: tuple[str, ...] = ()
    if joined.unknown:
        notes = (f"{joined.unknown:,} events are of people who are not in {tables[0].table.origin}",)
    return Verification(
        all(verdict.holds for verdict in verdicts),
        joined.person.size,
        int(joined.class_of.max()) + 1,
        int(counts.size.min()),
        tuple(verdicts),
        people=np.unique(joined.person).size,
        notes=notes,
    )


def _judge_values(tables: Sequence[ReleasedTable], joined: JoinedRows, model: Model) -> Verdict:
    """Judge the values of one sensitive column, among people who have the same rows in all tables.

    And among people with an equal row, by the values in these rows: who knows all rows knows each of them.
    """
    named: str = model.column  # type: ignore[attr-defined]
    at, column = next(
        (at, column)
        for at, each in enumerate(tables)
        for column in each.sensitive
        if each.name_column(column) == named
    )
    here = joined.table_of == at
    person = np.unique(joined.person, return_inverse=True)[1]
    group = number_histories(joined.class_of, person)
    values, known = tables[at].table.column(column), tables[at].columns.get(column, Column(column))
    found = []
    for number, size in (
        (group[person[here]], np.bincount(group)),
        (joined.class_of[here], count_people(joined.class_of, person)),
    ):
        # Only of classes that have rows in this table: of others there are no values to tell.
        present, class_of = np.unique(number, return_inverse=True)
        counted = count_values_of_people(values, known, class_of, person[here])
        counts = Counts(size[present], {named: counted}, rows_of=np.bincount(class_of))
        found.append(judge_model(model, counts))
    by_group, by_row = found
    return by_group if not by_group.holds or by_row.holds else by_row


def judge_tables(
    tables: Sequence[ReleasedTable],
    models: Sequence[Model],
    person: str,
    knows: int | None,
    accept: Mapping[str, str],
) -> tuple[Finding, ...]:
    """What all columns of all tables give away together, beside the pseudonyms."""
    joined = join_tables(tables, person)
    found = list(find_in_joined_rows(joined, models, knows))
    for at, each in enumerate(tables):
        frame, whose = each.table.frame.drop(person), joined.person[joined.table_of == at]
        roles = (each.quasi, each.sensitive, select_own_models(models, each))
        judged = JudgedRelease(frame, *roles, each.columns, person=whose)
        found += name_findings(each.name, judge_release(judged))
    return accept_findings(found, accept)


def find_in_joined_rows(joined: JoinedRows, models: Sequence[Model], knows: int | None) -> Iterator[Finding]:
    """Find people who have company by the events that may be known, but not by all of them."""
    told = "all" if knows is None else str(knows)
    frame = pl.DataFrame({"row": joined.class_of})
    plain = [model for model in models if not model.sensitive]
    yield from check_linked_rows(
        JudgedRelease(frame, ["row"], [], plain, {}, person=joined.person, knows=told)
    )


def name_findings(table: str, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Findings about one table, which name it and its columns as a recipe does."""
    for each in findings:
        if not table:
            yield each
            continue
        kind, colon, rest = each.id.partition(":")
        yield replace(
            each,
            id=f"{kind}:{table}{'.' if colon else ''}{rest}",
            message=f"{table}: {each.message}",
            remedy=_name_in_options(each.remedy, table, each.columns),
            columns=tuple(f"{table}.{column}" for column in each.columns),
        )


def _name_in_options(remedy: str, table: str, columns: Sequence[str]) -> str:
    """A remedy whose options name columns as a recipe does."""
    for column in columns:
        # A name in a list of names: between blanks or commas.
        remedy = re.sub(
            rf"(?<=[ ,]){re.escape(column)}(?=[ ,;.]|$)", lambda found: f"{table}.{found[0]}", remedy
        )
    return remedy


def select_own_models(models: Sequence[Model], table: ReleasedTable) -> list[Model]:
    """The models that are about rows of a table, or about its own sensitive columns."""
    found = []
    for model in models:
        column = getattr(model, "column", None)
        if not model.sensitive or (column is None and table.sensitive):
            found.append(model)
        elif column is not None:
            inside = [each for each in table.sensitive if table.name_column(each) == column]
            found += [replace(model, column=each) for each in inside]  # type: ignore[type-var]
    return found


def combine_verifications(names: Sequence[str], found: Sequence[Verification]) -> Verification:
    """What was found in tables that nobody can join: each verdict says of which table it is."""
    return Verification(
        all(each.holds for each in found),
        sum(each.rows for each in found),
        sum(each.classes for each in found),
        min(each.smallest_class for each in found),
        tuple(
            replace(verdict, asked={**verdict.asked, "table": name or _PEOPLE})
            for name, each in zip(names, found, strict=True)
            for verdict in each.models
        ),
    )
