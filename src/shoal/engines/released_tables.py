"""A release of several tables, as somebody gets it: a folder with a file for each, or files and frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shoal.errors import InputError, RecipeError, quote
from shoal.privacy import Model, model_text
from shoal.privacy.people import list_countable_models
from shoal.recipes.event_tables import name_table, select_columns, select_entries, split_column
from shoal.table import Column, ReadOptions, Table, read_table
from shoal.verification.findings import Finding, accept_findings
from shoal.verification.tables import (
    ReleasedTable,
    combine_verifications,
    judge_tables,
    name_findings,
    select_own_models,
    verify_tables,
)
from shoal.verification.verifier import Verification, verify_whole


def read_released_tables(
    source: object, events: Mapping[str, object], options: ReadOptions, people: str | None = None
) -> dict[str, Table]:
    """The tables of a release by name, that of the people first and without one.

    Parameters
    ----------
    source : path, frame, Table or mapping
        The folder of the release, or the table of people; or all tables by name, that of the people first.
    events : mapping
        The event tables by name; in a folder the names are enough.
    people : str, optional
        The file that the table of people comes from, which is called alike in a folder; it is the only other
        file there if that is not said.
    """
    if isinstance(source, Mapping):
        named = dict(source)
        source, events = named.pop(next(iter(named))), named
    if isinstance(source, str | Path) and Path(source).is_dir():
        name = None if people is None else name_table(people)
        source, events = find_files(Path(source), list(events), name)
    if strange := [name for name, each in events.items() if isinstance(each, str) and not each]:
        raise RecipeError(f"there is nothing to read for {quote(strange)}: give the folder of the release")
    others = replace(options, delimiter=None, encoding=None, sheet=None, query=None)
    readings = {"": (source, options), **{name: (each, others) for name, each in events.items()}}
    return {
        name: each if isinstance(each, Table) else read_table(each, reading)
        for name, (each, reading) in readings.items()
    }


def find_files(
    folder: Path, events: Sequence[str], people: str | None = None
) -> tuple[Path, dict[str, object]]:
    """The file of the table of people in a folder, and those of the event tables."""
    files = {name_table(each): each for each in sorted(folder.iterdir()) if each.name[0] != "."}
    if missing := [name for name in events if name not in files]:
        raise InputError(
            f"{folder} has no file for the event table '{missing[0]}'; it has {quote(files, 20)}"
        )
    rest = [name for name in files if name not in events]
    if people not in rest:
        people = rest[0] if len(rest) == 1 else None
    if people is None:
        raise InputError(
            f"{folder} should have one file beside those of {quote(events)}, that of the people, and has "
            f"{quote(rest, 20) if rest else 'none'}: name that file instead of the folder"
        )
    return files[people], {name: files[name] for name in events}


def verify_released_tables(
    tables: Mapping[str, Table],
    roles: tuple[Sequence[str], Sequence[str]],
    models: Sequence[Model],
    person: str,
    knows: int | None,
    columns: Mapping[str, Column],
    accept: Mapping[str, str],
) -> Verification:
    """Check tables as an outsider would: joined by the person column, or each by itself if none has it."""
    events = [name for name in tables if name]
    for column in (name for role in roles for name in role):
        table, inside = split_column(events, column)
        if inside not in tables[table].names:
            raise InputError(f"{tables[table].origin}: there is no column '{inside}' for '{column}'")
    released = [
        ReleasedTable(
            name,
            table,
            select_columns(events, name, roles[0]),
            select_columns(events, name, roles[1]),
            select_entries(events, name, columns),
        )
        for name, table in tables.items()
    ]
    if any(person in table.names for table in tables.values()):
        found = verify_tables(released, models, person, knows)
        return replace(found, findings=judge_tables(released, models, person, knows, accept))
    return _verify_apart(released, models, person, accept)


def _verify_apart(
    tables: Sequence[ReleasedTable], models: Sequence[Model], person: str, accept: Mapping[str, str]
) -> Verification:
    """Check tables that nobody can join: of each, what rows tell about a goal that is about people."""
    found: list[Verification] = []
    findings: list[Finding] = []
    notes = [
        f"'{person}' is in none of the files, so that they cannot be joined and people cannot be counted: "
        "rows were, in each file. A class needs as many rows as people, but its rows are no proof of "
        "different people"
    ]
    for each in tables:
        asked = select_own_models(models, each)
        told = tuple(list_countable_models(asked))
        if not told:
            raise RecipeError(f"nothing of the goal can be checked in {each.table.origin} without '{person}'")
        if rest := [model_text(model) for model in asked if model not in told]:
            notes.append(f"not checked in {each.table.origin}, because it takes people: {', '.join(rest)}")
        one = verify_whole(each.table, each.quasi, each.sensitive, told, each.columns)
        found.append(one)
        findings += name_findings(each.name, one.findings)
    together = combine_verifications([each.name for each in tables], found)
    return replace(together, notes=tuple(notes), findings=accept_findings(findings, accept))
