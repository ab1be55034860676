"""Further tables about the same people: read, looked at, and joined with the table of people.

Their columns are called ``table.column`` everywhere in the studio, as in a recipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shoal.assessment.risks import ProposedColumn
from shoal.assessment.risks.roles import propose_role
from shoal.engines.tables import RunTable, number_owners
from shoal.errors import InputError, quote
from shoal.recipes.event_tables import join_column, name_table
from shoal.recipes.recipe import Recipe
from shoal.studio.profile import ColumnProfile, profile_column
from shoal.table import ReadOptions, Table, read_table

_NO_EVENT_ROLES = {"person": "identifier", "set": "quasi"}  # roles that only the table of people has

_DROPPED = "by 'A missing value is' in the advanced part of Goal"  # the studio has no options of a command
# the studio has no options of a command


@dataclass(frozen=True, slots=True, eq=False)
class EventTable:
    """A further table, with what was found in its columns."""

    name: str
    """What stands before the names of its columns."""
    path: Path
    table: Table
    profiles: Mapping[str, ColumnProfile]
    """By the long names of the columns, as all that follows."""
    proposals: Mapping[str, ProposedColumn]

    @property
    def file(self) -> str:
        """What a recipe calls the file."""
        return self.path.name

    def rename_columns(self) -> Table:
        """The table with the long names of its columns."""
        longer = {column: join_column(self.name, column) for column in self.table.names}
        return replace(self.table, frame=self.table.frame.rename(longer))


@dataclass(slots=True, eq=False)
class EventTables:
    """The further tables of a workspace."""

    tables: dict[str, EventTable] = field(default_factory=dict)
    """Those that the next run takes, by name."""
    failure: str = ""
    """Why the last one could not be taken."""
    of_runs: dict[int, dict[str, EventTable]] = field(default_factory=dict)
    """Those of earlier runs, by the number of the run."""
    wanted: Recipe | None = None
    """A recipe whose event tables are to be brought along."""


def load_event_table(
    path: Path, person: str, people: Table, reading: ReadOptions, wanted: Recipe | None = None
) -> EventTable:
    """Read a further table and look at its columns. May take long.

    It is called as in the recipe that is ``wanted``, if that names its file, and else as its file.

    Raises
    ------
    InputError
        When it cannot be read, has no person column, or its columns could not be told from those of the
        table of people.
    """
    # As a run reads it: what the first file looks like says nothing about the others.
    options = replace(reading, delimiter=None, encoding=None, sheet=None)
    try:
        table = read_table(path, options)
    except InputError as error:  # the folder of an upload is not the user's
        raise InputError(str(error).replace(f"{path.parent}/", "")) from error
    if person not in table.names:
        raise InputError(
            f"the table {path.name} has no column '{person}', which says whose row it is in every table; it "
            f"has {quote(table.names, 20)}: rename its column, or bring another table"
        )
    named = {} if wanted is None else {Path(file).name: name for name, file in wanted.events.items()}
    # Without the signs that divide names in commands and recipes.
    name = named.get(path.name) or re.sub(r"[.,=/\\\s]", "_", name_table(path))
    if taken := [column for column in people.names if column.startswith(f"{name}.")]:
        raise InputError(
            f"the column '{taken[0]}' of the people is named as a column of {path.name} would be: rename one"
        )
    found = {column: profile_column(table, column) for column in table.names}
    return EventTable(
        name,
        path,
        table,
        {join_column(name, column): each for column, each in found.items()},
        {join_column(name, column): _propose(table, each) for column, each in found.items()},
    )


def _propose(table: Table, profile: ColumnProfile) -> ProposedColumn:
    found = propose_role(table, profile.alone)
    role = _NO_EVENT_ROLES.get(found.role, found.role)
    return replace(found, role=role, separator="")  # type: ignore[arg-type]


def check_owners(recipe: Recipe, people: Table, events: Iterable[EventTable]) -> None:
    """Raise if somebody has several rows in the table of people, or an event is of nobody. May take long."""
    tables = [RunTable("", people, recipe)]
    tables += [RunTable(each.name, each.table, recipe) for each in events]
    try:
        number_owners(recipe, tables)
    except InputError as error:  # which names files by their paths; those of uploads are not the user's
        told = str(error).replace("with --missing drop", _DROPPED)
        for each in tables:
            told = told.replace(str(each.table.origin), Path(str(each.table.origin)).name)
        raise InputError(told) from error
