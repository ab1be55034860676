"""The engine for several tables: one of people, and event tables with the same person column.

Without a pseudonym nobody can join the released files, and each table is anonymized by itself. With one they
are one problem of linked rows: a person has the row in the table of people and any number of events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Problem, Progress, silent
from shoal.algorithms.linked.goal import LinkedGoal, LinkedTables
from shoal.codespace.domain import Domain
from shoal.codespace.frequency import CodedRows
from shoal.codespace.recoding import Proposal
from shoal.engines.base import Engine, RecodedTable
from shoal.engines.checks import check_names, check_tables, refuse_unmet_goal
from shoal.engines.inputs import choose_source, list_inputs
from shoal.engines.linked import name_pseudonym, rank_values, warn_of_key
from shoal.engines.memory import (
    MemoryEngine,
    RecodedFrame,
    describe_groups,
    find_coded_rows,
    judge_whole,
    tell_group_risk,
)
from shoal.engines.people import describe_missing_ids
from shoal.engines.prepare import PreparedTable
from shoal.engines.release import Release, name_files
from shoal.errors import GoalNotMet, InputError, InternalError, RecipeError, quote
from shoal.privacy import for_columns
from shoal.privacy.groups import GroupAnonymity, measure_group_risk
from shoal.privacy.people import number_people
from shoal.privacy.pseudonyms import make_pseudonyms, read_key
from shoal.recipes.event_tables import join_column, select_table, split_column
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import collect_hierarchies
from shoal.report import Report
from shoal.report.build import build_report
from shoal.report.figures import TableFigures
from shoal.support.files import check_folder
from shoal.support.warning_codes import name_place
from shoal.table import Table, read_table, to_strings
from shoal.verification.findings import Finding, accept_findings
from shoal.verification.outsider import number_rows
from shoal.verification.tables import (
    ReleasedTable,
    combine_verifications,
    find_in_joined_rows,
    join_tables,
    name_findings,
    verify_tables,
)
from shoal.verification.verifier import Verification

Rows = NDArray[np.int64]
_OF_ONE_SEARCH = (
    "nodes",
    "cuts",
    "optimal",
    "lower_bound",
    "solutions",
    "search_space",
    "search_space_log10",
)


@dataclass(frozen=True, slots=True, eq=False)
class TableSources:
    """Where the tables of a run come from: files, frames or tables that have been read."""

    people: object
    events: Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """One table of a run."""

    name: str
    """What stands before the names of its columns; nothing for the table of people."""
    table: Table
    recipe: Recipe
    """What is said about this table alone."""

    @property
    def engine(self) -> MemoryEngine:
        """What does with this table what is done with any."""
        return MemoryEngine(self.recipe)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedTables(PreparedTable):
    """Tables made ready for search; what a `PreparedTable` has is that of the people, or of all together."""

    tables: tuple[PreparedTable, ...]
    """Each by itself."""
    owners: tuple[Rows, ...]
    """By table, the person of each row that takes part."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecodedTables(RecodedTable):
    """Tables as they are to be released."""

    sources: tuple[RunTable, ...]
    tables: tuple[RecodedFrame, ...]
    owners: tuple[Rows, ...]
    """By table, the person of each row that took part."""

    def read_frames(self) -> list[ReleasedTable]:
        """The frames, read as anybody would."""
        return [
            ReleasedTable(
                source.name,
                read_table(frame.frame, source.recipe.reading),
                source.recipe.quasi,
                source.recipe.sensitive,
                frame.subject.columns,
            )
            for source, frame in zip(self.sources, self.tables, strict=True)
        ]

    @property
    def group(self) -> Rows | None:
        """The group of the person of each released row, table by table, where groups are counted."""
        group = self.tables[0].subject.group
        return None if group is None else group[np.concatenate(self.list_released_owners())]

    def list_released_owners(self) -> list[Rows]:
        """By table, the person of each released row."""
        return [
            owner[find_coded_rows(frame.subject, frame.taken)]
            for owner, frame in zip(self.owners, self.tables, strict=True)
        ]


class TablesEngine(Engine[tuple[RunTable, ...], PreparedTables, RecodedTables]):
    """Holds one table of people and any number of event tables in memory."""

    def check_recipe(self) -> None:
        """Refuse what cannot be combined with event tables."""
        super().check_recipe()
        check_tables(self.recipe)
        # For their errors, and before the tables are read: each must have quasi-identifiers and a goal.
        for name in ("", *self.recipe.events):
            select_table(self.recipe, name)

    @contextmanager
    def open_run(self, source: object) -> Iterator[None]:
        """Refuse a folder that could not be written, before long work begins."""
        if self.recipe.output is not None:
            check_folder(self.recipe.output, None, list_inputs(self.recipe))
        yield

    def read(self, source: object) -> tuple[RunTable, ...]:
        """Read all tables whole."""
        tables = add_groups(self.recipe, read_tables(self.recipe, source))
        names = [join_column(name, column) for name, table in tables.items() for column in table.names]
        known = (*self.recipe.quasi, *self.recipe.sensitive)
        trees = {
            name: tree for name, tree in collect_hierarchies(self.recipe, names).items() if name in known
        }
        recipe = replace(self.recipe, trees=trees, hierarchies=())
        found = []
        for name, table in tables.items():
            alone = select_table(recipe, name)
            check_names(alone, table, name)
            found.append(RunTable(name, MemoryEngine(alone).read(table), alone))
        return tuple(found)

    def prepare(self, tables: tuple[RunTable, ...]) -> PreparedTables:
        """Find whose row each is in all tables, and encode these."""
        recipe = self.recipe
        person, told = number_owners(recipe, tables)
        own = tables[0].engine.prepare(tables[0].table)
        kept = np.arange(tables[0].table.rows) if own.rows is None else own.rows
        place = np.full(int(max(each.max(initial=0) for each in person)) + 1, -1, np.int64)
        place[person[0][kept]] = np.arange(kept.size)
        subjects, owners = [own], [np.arange(kept.size)]
        for each, whose in zip(tables[1:], person[1:], strict=True):
            rows = np.flatnonzero(place[whose] >= 0)
            with _name_table(each.name):
                if not rows.size:
                    raise InputError(f"{each.table.origin}: no row is of anybody in {tables[0].table.origin}")
                subject = each.engine.prepare(each.table, None if rows.size == whose.size else rows)
            taken = np.arange(whose.size) if subject.rows is None else subject.rows
            subjects.append(subject)
            owners.append(place[whose[taken]])
        warnings = [
            name_place(each.name, warning) if each.name else warning
            for each, subject in zip(tables, subjects, strict=True)
            for warning in subject.warnings
        ]
        made = PreparedTables(
            problem=own.problem,
            encoded=own.encoded,
            columns=own.columns,
            warnings=(*warnings, *told),
            tables=tuple(subjects),
            owners=tuple(owners),
        )
        return self._link_tables(tables, made) if recipe.pseudonym else made

    def _link_tables(self, tables: tuple[RunTable, ...], made: PreparedTables) -> PreparedTables:
        """The same, with pseudonyms, and with one problem of all rows."""
        key = read_key(self.recipe.key_file)
        ids = pl.concat([to_strings(each.table.column(str(self.recipe.person))) for each in tables])
        pseudonyms = make_pseudonyms(ids, key)
        end = np.cumsum([each.table.rows for each in tables])
        subjects = tuple(
            replace(subject, pseudonym=pseudonyms.slice(last - each.table.rows, each.table.rows))
            for each, subject, last in zip(tables, made.tables, end.tolist(), strict=True)
        )
        problem, goal = build_joint_problem(self.recipe, tables, replace(made, tables=subjects))
        warnings = (*made.warnings, *warn_of_key(self.recipe))
        return replace(made, problem=problem, linked=goal, tables=subjects, warnings=warnings)

    def search(self, subject: PreparedTables, on_progress: Progress = silent) -> Proposal:
        """Let the algorithm propose classes: in each table, or of people with all that is linked to them."""
        if subject.linked is None:
            found = [MemoryEngine(self.recipe).search(each, on_progress) for each in subject.tables]
            return replace(found[0], tables=tuple(found))
        from shoal.algorithms.linked.search import search_linked  # noqa: PLC0415  loads several algorithms

        return search_linked(self.recipe.algorithm, subject.problem, subject.linked, on_progress)

    def recode(
        self, tables: tuple[RunTable, ...], subject: PreparedTables, proposal: Proposal
    ) -> RecodedTables:
        """Make a frame of each table."""
        recipe = self.recipe
        linked: dict[str, Any] = {
            "pseudonym": recipe.pseudonym,
            "key_file": recipe.key_file,
            "knows": recipe.knows,
        }
        sources, frames = tables, []
        prepared = list(subject.tables)
        if recipe.pseudonym:
            # How many rows may be left out is said of all events together.
            sources = tuple(
                replace(each, recipe=replace(each.recipe, suppress=1.0, **linked)) for each in tables
            )
            prepared = [
                replace(each, person=owner) for each, owner in zip(prepared, subject.owners, strict=True)
            ]
        for each, own, proposed in zip(sources, prepared, proposal.tables, strict=True):
            if (proposed.class_of < 0).all():
                raise GoalNotMet(
                    f"the goal was not met: every row of '{each.name}' would be left out; ask for less, or "
                    "leave out this table"
                )
            frames.append(each.engine.recode(each.table, own, proposed))
        self._check_left_out(frames)
        first = frames[0]
        recoded = RecodedTables(
            first.table,
            sum(frame.rows for frame in frames),
            subject,
            proposal,
            first.recoding,
            first.frame,
            warnings=tuple(warning for frame in frames for warning in frame.warnings),
            sources=sources,
            tables=tuple(frames),
            owners=subject.owners,
        )
        return replace(recoded, notes=tuple(describe_tables(recipe, recoded)))

    def _check_left_out(self, frames: Sequence[RecodedFrame]) -> None:
        hidden = sum(frame.recoding.suppressed_rows for frame in frames)
        rows = sum(frame.recoding.table.rows for frame in frames)
        if hidden > self.recipe.suppress * rows + 1e-9:
            raise InternalError(
                f"{hidden} of {rows} rows would be left out, and {self.recipe.suppress:g} of them may be"
            )

    def verify(self, recoded: RecodedTables) -> Verification:
        """Count the rows of the frames: of each, or joined by the pseudonyms."""
        if self.recipe.pseudonym:
            return self._verify_joined(recoded)
        found: list[Verification] = []
        findings: list[Finding] = []
        for source, frame in zip(recoded.sources, recoded.tables, strict=True):
            with _name_table(source.name):
                found.append(source.engine.verify(frame))
            findings += name_findings(source.name, found[-1].findings)
        return replace(
            combine_verifications([source.name for source in recoded.sources], found),
            people=int(recoded.owners[0].size),
            findings=accept_findings(findings, self.recipe.accept),
        )

    def _verify_joined(self, recoded: RecodedTables) -> Verification:
        recipe, released = self.recipe, recoded.read_frames()
        check_pseudonyms(recipe, released, recoded.list_released_owners())
        group = recoded.group
        found = verify_tables(released, recipe.models, str(recipe.person), recipe.known_rows, group)
        refuse_unmet_goal(found)
        joined = join_tables(released, str(recipe.person))
        findings = list(find_in_joined_rows(joined, recipe.models, recipe.known_rows))
        for source, frame in zip(recoded.sources, recoded.tables, strict=True):
            # What rows of one table tell together is a part of what all of them do.
            alone = replace(source.recipe, knows="all")
            findings += name_findings(source.name, judge_whole(alone, frame))
        return replace(found, findings=accept_findings(findings, recipe.accept))

    def build_report(self, recoded: RecodedTables, found: Verification) -> Report:
        """What was done and lost, in each table and in all."""
        recipe = self.recipe
        names = [source.name for source in recoded.sources]
        reports = [
            build_report(
                source.recipe, frame.rows, frame.subject.encoded, frame.proposal, frame.recoding, found
            )
            for source, frame in zip(recoded.sources, recoded.tables, strict=True)
        ]
        nothing: dict[str, Any] = dict.fromkeys(_OF_ONE_SEARCH)
        files = list(name_files(recoded.sources[0].table, recipe.events))
        released = recoded.list_released_owners()
        figures = {
            file: measure_table(frame, owner, kept, report.ncp)
            for file, frame, owner, kept, report in zip(
                files, recoded.tables, recoded.owners, released, reports, strict=True
            )
        }
        columns = {
            join_column(name, column): figure
            for name, report in zip(names, reports, strict=True)
            for column, figure in report.columns.items()
        }
        lost = np.array([float(each["ncp"]) for each in columns.values()])
        weights = np.array([float(recipe.weights.get(name, 1.0)) for name in columns])
        value = float((lost * weights).cumsum()[-1]) / (float(weights.cumsum()[-1]) or 1.0)
        gone = np.setdiff1d(np.concatenate(recoded.owners[1:]), np.concatenate(released[1:])).size
        return replace(
            reports[0],
            rows=sum(each.rows for each in figures.values()),
            dropped_rows=sum(each.dropped_rows for each in figures.values()),
            suppressed_rows=sum(each.left_out for each in figures.values()),
            released_rows=sum(each.released_rows for each in figures.values()),
            quasi=recipe.quasi,
            sensitive=recipe.sensitive,
            identifier=recipe.identifier,
            loss={"name": "ncp", "value": value, "columns": dict(zip(columns, lost.tolist(), strict=True))},
            ncp=float(lost.cumsum()[-1]) / lost.size,
            columns=columns,
            findings=found.findings,
            warnings=(*recoded.subject.warnings, *recoded.warnings),
            notes=(*_list_notes(names, reports, recoded.proposal), *recoded.notes),
            output=recipe.output,
            tables=figures,
            people=found.people,
            people_left_out=gone,
            # What is proved of one table says nothing about all.
            **nothing,
            history=(),
            tried=(),
            levels={},
            states={},
        )

    def build_release(self, recoded: RecodedTables, report: Report) -> Release:
        """The release, with one of each table."""
        tables = {}
        names = name_files(recoded.sources[0].table, self.recipe.events)
        for name, source, frame in zip(names, recoded.sources, recoded.tables, strict=True):
            alone = replace(
                report, released_rows=frame.recoding.table.rows - frame.recoding.suppressed_rows, people=None
            )
            tables[name] = source.engine.build_release(frame, alone)
        return Release(
            recoded.frame,
            report,
            self.recipe,
            recoded.table,
            (recoded.frame,),
            recoded.recoding,
            group=recoded.group if self.recipe.pseudonym else None,
            tables=tables,
        )

    def write(self, recoded: RecodedTables, release: Release) -> Release:
        """Write a folder with a file for each table; it gets its name once its bytes have been counted."""
        release.write(str(self.recipe.output))
        return release


@contextmanager
def _name_table(name: str) -> Iterator[None]:
    """Say in which table it is that a goal cannot be met."""
    try:
        yield
    except GoalNotMet as error:
        raise GoalNotMet(f"{name}: {error}" if name else str(error)) from error


def read_tables(recipe: Recipe, source: object) -> dict[str, Table]:
    """The tables of a run by name, that of the people first and without one."""
    given = source if isinstance(source, TableSources) else TableSources(source, recipe.events)
    people = choose_source(recipe, given.people)
    named = {"": people, **{name: given.events.get(name, path) for name, path in recipe.events.items()}}
    found = {}
    for name, each in named.items():
        if isinstance(each, str) and not each:
            raise RecipeError(
                f"there is nothing to read for the event table '{name}': the recipe names no file"
            )
        options = (
            replace(recipe.reading, delimiter=None, encoding=None, sheet=None, query=None)
            if name
            else recipe.reading
        )
        table = each if isinstance(each, Table) else read_table(each, options)
        if str(recipe.person) not in table.names:
            raise InputError(
                f"{table.origin}: there is no column '{recipe.person}', which says whose row it is in every "
                f"table; it has {quote(table.names, 20)}"
            )
        found[name] = table
    for column in found[""].names:
        if split_column(recipe.events, column)[0]:
            raise InputError(
                f"{found[''].origin}: the column '{column}' is named as a column of the event table "
                f"'{split_column(recipe.events, column)[0]}' would be: rename it, or give the event table "
                "another name"
            )
    return found


def add_groups(recipe: Recipe, tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables, in which each event has the group of its person, as the table of people says it."""
    people, *events = tables.values()
    if recipe.group is None:
        return dict(tables)
    if recipe.group not in people.names:
        raise InputError(
            f"{people.origin}: there is no column '{recipe.group}', which says which group a person is in; "
            f"it has {quote(people.names, 20)}"
        )
    ids = [to_strings(each.column(str(recipe.person))) for each in tables.values()]
    number, _ = number_people(pl.concat(ids))
    own, *others = np.split(number, np.cumsum([len(each) for each in ids])[:-1])
    row_of = np.full(int(number.max(initial=-1)) + 1, -1, np.int64)
    row_of[own] = np.arange(own.size)
    groups = to_strings(people.column(recipe.group))
    grouped = [people]
    for each, whose in zip(events, others, strict=True):
        # Events of nobody who is known have no group; they are refused or left out anyway.
        place = pl.Series(row_of[whose])
        group = groups.gather(place.set(place < 0, None)).alias(recipe.group)
        grouped.append(replace(each, frame=each.frame.with_columns(group)))
    return dict(zip(tables, grouped, strict=True))


def number_owners(recipe: Recipe, tables: Sequence[RunTable]) -> tuple[list[Rows], list[str]]:
    """The person of each row in all tables, and what is to be told; refuses what cannot be joined.

    Everybody has one row in the table of people; a row without an id is somebody of whom there are no events.
    An event of nobody who is there is an error, unless rows with missing values are dropped.
    """
    ids = [to_strings(each.table.column(str(recipe.person))) for each in tables]
    number, _ = number_people(pl.concat(ids))
    person = np.split(number, np.cumsum([len(each) for each in ids])[:-1])
    missing = [number_people(each)[1] for each in ids]
    own, origin = person[0], tables[0].table.origin
    _, first, times = np.unique(own, return_index=True, return_counts=True)
    if (times > 1).any():
        at = int(first[np.argmax(times > 1)])
        again = np.flatnonzero(own == own[at])[1]
        raise InputError(
            f"{origin}: {np.count_nonzero(times > 1):,} people have several rows, first in rows {at + 1} and "
            f"{again + 1}: in the table of people everybody has one row by '{recipe.person}'; put what "
            "changes into an event table, or remove what is there twice"
        )
    told = list(describe_missing_ids(recipe, missing[0]))
    for each, whose, nobody in zip(tables[1:], person[1:], missing[1:], strict=True):
        unknown = int(np.count_nonzero(~np.isin(whose, own)))
        if not unknown:
            continue
        why = f"{unknown - nobody:,} of people who are not in {origin}"
        why += f" and {nobody:,} without an id" if nobody else ""
        if recipe.missing != "drop":
            raise InputError(
                f"{each.table.origin}: {unknown:,} of {whose.size:,} events are of nobody who is known "
                f"({why}): add these people, remove the events, or leave them out with --missing drop"
            )
        told.append(f"{each.name}: {unknown:,} of {whose.size:,} events were dropped, {why}")
    return person, told


def build_joint_problem(
    recipe: Recipe, tables: Sequence[RunTable], made: PreparedTables
) -> tuple[Problem, LinkedGoal]:
    """All rows as one problem, and what an attacker may know of a person.

    Every column counts alike over the rows of its table, however many these are.
    """
    sizes = [owner.size for owner in made.owners]
    rows, table_of = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    person = np.concatenate(made.owners)
    domains: list[Domain] = []
    codes, weights, columns = [], [], []
    for at, (subject, owner) in enumerate(zip(made.tables, made.owners, strict=True)):
        own, here = subject.problem, table_of == at
        columns.append(tuple(range(len(domains), len(domains) + len(own.domains))))
        domains += own.domains
        weights += (own.weights * rows / owner.size).tolist()
        for j, each in enumerate(own.rows.quasi):
            # Static columns are known of every row; others of the rows of their table only.
            wide = each[person] if at == 0 else np.zeros(rows, each.dtype)
            wide[here] = own.rows.quasi[j]
            codes.append(wide)
    # The values of a table are judged by its people. Groups are those of all rows together.
    group = made.tables[0].group
    problems = tuple(
        replace(
            subject.problem,
            person=owner,
            group=None,
            models=tuple(each for each in subject.problem.models if not isinstance(each, GroupAnonymity)),
        )
        for subject, owner in zip(made.tables, made.owners, strict=True)
    )
    models = for_columns(recipe.models, recipe.sensitive)
    problem = replace(
        problems[0],
        domains=tuple(domains),
        rows=CodedRows(tuple(codes), tuple(domain.size for domain in domains)),
        sensitive=(),
        models=models if group is None else (*models, GroupAnonymity.from_goal(models)),
        weights=np.array(weights),
        scales={},
        person=person,
        group=None if group is None else group[person],
    )
    linked = LinkedTables(table_of, tuple(columns), problems)
    return problem, LinkedGoal(recipe.known_rows, columns[0], _rank_rows(recipe, tables, made), linked)


def _rank_rows(recipe: Recipe, tables: Sequence[RunTable], made: PreparedTables) -> Rows | None:
    """The place of each row in the order of the column that events are aligned by, if one is named."""
    if recipe.align is None:
        return None
    name, column = split_column(recipe.events, recipe.align)
    return np.concatenate(
        [
            rank_values(each.recipe, each.table, column, subject.rows)
            if each.name == name
            else np.zeros(owner.size, np.int64)
            for each, subject, owner in zip(tables, made.tables, made.owners, strict=True)
        ]
    )


def check_pseudonyms(recipe: Recipe, released: Sequence[ReleasedTable], owners: Sequence[Rows]) -> None:
    """The pseudonyms must tell people apart as the ids do, in all tables together."""
    ids = pl.concat([to_strings(each.table.column(str(recipe.person))) for each in released])
    told, missing = number_people(ids)
    true = np.concatenate(owners)
    pairs = np.unique(told * (int(true.max()) + 1) + true).size
    if missing or not np.unique(told).size == np.unique(true).size == pairs:
        raise InternalError("the pseudonyms in the release do not tell the people apart as the ids do")


def _list_notes(names: Sequence[str], reports: Sequence[Report], proposal: Proposal) -> Iterator[str]:
    """What is told of the search: of that of each table, or of the one for all."""
    for name, report in zip(names, reports, strict=True):
        yield from (f"{name}: {note}" if name else note for note in report.notes)
    if any(note not in proposal.tables[0].notes for note in proposal.notes):
        yield from proposal.notes


def measure_table(frame: RecodedFrame, owner: Rows, kept: Rows, ncp: float) -> TableFigures:
    """What became of one table; ``owner`` and ``kept`` are the people of its rows, before and after."""
    return TableFigures(
        rows=frame.rows,
        dropped_rows=frame.rows - owner.size,
        left_out=owner.size - kept.size,
        released_rows=kept.size,
        people=np.unique(kept).size,
        people_left_out=np.setdiff1d(owner, kept).size,
        ncp=ncp,
    )


def _describe_joined_groups(recipe: Recipe, recoded: RecodedTables) -> Iterator[str]:
    """What a row of one member of a group tells of the others, to whoever joins the tables."""
    problem, goal = recoded.subject.problem, recoded.subject.linked
    if goal is None or goal.tables is None or problem.group is None or problem.person is None:
        return
    group = recoded.group
    assert group is not None
    kinds = number_rows([pl.Series(codes) for codes in (goal.tables.table_of, *problem.rows.quasi)])
    before = measure_group_risk(kinds, problem.person, np.asarray(problem.group, np.int64))
    joined = join_tables(recoded.read_frames(), str(recipe.person))
    after = measure_group_risk(joined.class_of, joined.person, group)
    yield from tell_group_risk(recipe, before, after)


def describe_tables(recipe: Recipe, recoded: RecodedTables) -> Iterator[str]:
    """What was done with the tables, in words."""
    yield from _describe_joined_groups(recipe, recoded)
    for source, frame in zip(recoded.sources, recoded.tables if not recipe.pseudonym else (), strict=False):
        told = describe_groups(source.recipe, frame.table, frame.subject, frame.frame, frame.taken)
        yield from (f"{source.name}: {note}" if source.name else note for note in told)
    people, released = recoded.owners[0].size, recoded.list_released_owners()
    for source, owner, kept in list(zip(recoded.sources, recoded.owners, released, strict=True))[1:]:
        rows = np.bincount(owner)
        yield (
            f"'{source.name}' has {owner.size:,} rows of {np.count_nonzero(rows):,} of the {people:,} "
            f"people, of whom one has {rows.max():,}"
        )
        if owner.size > kept.size:
            gone = np.setdiff1d(owner, kept).size
            yield (
                f"'{source.name}': {owner.size - kept.size:,} rows were left out, among them all rows of "
                f"{gone:,} people"
            )
    if not recipe.pseudonym:
        yield (
            f"'{recipe.person}' was left out of all files, whose rows are sorted by what is released: nobody "
            "can tell which rows are of one person, and the columns of one table cannot be joined with those "
            "of another"
        )
        return
    known = {"1": "any one event", "all": "all events"}.get(recipe.knows, f"any {recipe.knows} events")
    yield f"static columns, those of the table of people: {', '.join(recoded.sources[0].recipe.quasi)}"
    yield (
        f"somebody who knows the static columns and {known} of a person, of any table, finds as many people "
        "as the goal says"
    )
    yield f"{name_pseudonym(recipe)}; it is the same in all files, whose rows are sorted by what is released"
