"""Several tables in one recipe: that of the people, and event tables that have the same person column.

A column of an event table is named ``table.column``. The name of a table is that of its file, unless another
is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import RecipeError
from shoal.recipes.settings import ROLES

if TYPE_CHECKING:
    from shoal.privacy import Model
    from shoal.recipes.recipe import Recipe

PEOPLE = "people"
"""The name of the table of people where it comes from no file."""
_COMPRESSED = (".gz", ".zst")
T = TypeVar("T")


def name_table(path: str | Path) -> str:
    """The name of the table in a file: that of the file, without what names its format."""
    name = Path(path).name
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).stem


def name_sources(sources: Iterable[str | Path]) -> dict[str, str]:
    """Event tables by name, from paths, or from texts ``name=path``."""
    found: dict[str, str] = {}
    for source in map(str, sources):
        # A file whose own name has an equals sign is taken as a path.
        given, equals, path = ("", "", source) if Path(source).exists() else source.rpartition("=")
        name = given.strip() if equals else name_table(path)
        if name in found:
            raise RecipeError(
                f"two event tables are called '{name}' ({found[name]} and {path}): give one of them another "
                f"name, as --events other={path}"
            )
        found[name] = path
    return found


def check_event_tables(recipe: Recipe) -> None:
    """Refuse names of event tables by which columns could not be told apart."""
    if not isinstance(recipe.events, Mapping):
        raise RecipeError(f"events is a mapping from names of tables to files, not {recipe.events!r}")
    if not recipe.events:
        return
    if recipe.person is None:
        raise RecipeError(
            "event tables need a person: name the column that says whose row it is in all tables"
        )
    for name in recipe.events:
        if not str(name).strip() or any(sign in name for sign in "/\\,="):
            raise RecipeError(
                f"an event table cannot be called '{name}': give it a name of letters and digits"
            )
        if longer := [other for other in recipe.events if other.startswith(f"{name}.")]:
            raise RecipeError(
                f"the event tables '{name}' and '{longer[0]}' cannot be told apart in names of columns: give "
                "one of them another name"
            )
    if recipe.input is not None and name_table(recipe.input) in recipe.events:
        name = name_table(recipe.input)
        raise RecipeError(
            f"the table of people and an event table are both called '{name}': give the events another name, "
            f"as --events other={recipe.events[name]}"
        )


def split_column(events: Iterable[str], column: str) -> tuple[str, str]:
    """The event table of a column, and its name there; an empty name is that of the table of people."""
    for name in events:
        if column.startswith(f"{name}."):
            return name, column[len(name) + 1 :]
    return "", column


def join_column(table: str, column: str) -> str:
    """The name of a column in a recipe."""
    return f"{table}.{column}" if table else column


def sort_columns(events: Sequence[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Columns by their table, those of the people first; in their order within it."""
    place = {name: at for at, name in enumerate(("", *events))}
    return tuple(sorted(columns, key=lambda column: place[split_column(events, column)[0]]))


def select_columns(events: Iterable[str], table: str, named: Iterable[str]) -> tuple[str, ...]:
    """Those of some columns that are of one table, by their names there."""
    split = (split_column(events, column) for column in named)
    return tuple(column for name, column in split if name == table)


def select_entries(events: Iterable[str], table: str, entries: Mapping[str, T]) -> dict[str, T]:
    """Entries by column, of one table."""
    split = ((split_column(events, column), value) for column, value in entries.items())
    return {column: value for (name, column), value in split if name == table}


def select_table(recipe: Recipe, table: str) -> Recipe:
    """What a recipe says about one of its tables, as a recipe for this table alone.

    The goal is that of the whole recipe, without models about sensitive columns of other tables. Findings are
    accepted elsewhere, and nothing is written.
    """
    events = recipe.events
    roles: dict[str, Any] = {role: select_columns(events, table, getattr(recipe, role)) for role in ROLES}
    if table:  # the group of an event is that of its person, whatever the event table says
        roles["identifier"] = tuple(name for name in roles["identifier"] if name != recipe.group)
    told = f"the event table '{table}'" if table else "the table of people"
    if not roles["quasi"]:
        raise RecipeError(
            f"{told} has no quasi-identifiers: name the columns that someone could recognise a person by, as "
            f"-q {join_column(table, 'COLUMN')}"
        )
    models = tuple(_select_models(recipe, table, bool(roles["sensitive"])))
    if not models:
        raise RecipeError(f"nothing is asked of {told}: say how many people must look alike, as -k 5")
    relative = select_columns(events, table, [] if recipe.relative is None else [recipe.relative])
    by_column: dict[str, Any] = {
        name: select_entries(events, table, getattr(recipe, name))
        for name in ("types", "orders", "weights", "top", "bottom", "trees")
    }
    reading = recipe.reading
    return replace(
        recipe,
        **roles,
        **by_column,
        models=models,
        fold=None if recipe.fold is None else select_columns(events, table, recipe.fold),
        # What the files look like is said of the first; others are looked at.
        reading=replace(reading, delimiter=None, encoding=None, sheet=None, query=None) if table else reading,
        events={},
        relative=relative[0] if relative else None,
        align=None,
        hierarchies=(),
        accept={},
        strict=False,
        input=None,
        output=None,
        pseudonym=False,
        key_file=None,
        knows="1",
        row_order="released",
    )


def _select_models(recipe: Recipe, table: str, is_sensitive: bool) -> Iterable[Model]:
    """The models that one table has to satisfy."""
    for model in recipe.models:
        column = getattr(model, "column", None)
        if column is None:
            if is_sensitive or not model.sensitive:
                yield model
            continue
        name, inside = split_column(recipe.events, column)
        if name == table:
            yield replace(model, column=inside)  # type: ignore[type-var]


def write_sections(recipe: Recipe, inputs: Mapping[str, str]) -> list[dict[str, Any]]:
    """The event tables as sections of a recipe file, each with the roles of its columns."""
    sections = []
    for name, path in inputs.items():
        roles = {role: list(select_columns(recipe.events, name, getattr(recipe, role))) for role in ROLES}
        sections.append(
            {"name": name}
            | ({"input": path} if path else {})
            | {role: columns for role, columns in roles.items() if columns}
        )
    return sections


def read_sections(content: Any) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Event tables by name, and by role their columns, from the sections of a recipe file."""
    if not isinstance(content, list) or not all(isinstance(each, Mapping) for each in content):
        raise RecipeError("event tables must be sections, each written [[events]]")
    events: dict[str, str] = {}
    roles: dict[str, list[str]] = {role: [] for role in ROLES}
    for section in content:
        if strange := [name for name in section if name not in ("name", "input", *ROLES)]:
            raise RecipeError(f"unknown setting in [[events]]: '{strange[0]}'")
        path = section.get("input", "")
        name = section.get("name", name_table(str(path)))
        if not isinstance(path, str) or not isinstance(name, str) or not name:
            raise RecipeError("an event table has an input, which is a path, or a name: both are texts")
        if name in events:
            raise RecipeError(f"two event tables are called '{name}': give one of them another name")
        events[name] = path
        for role in ROLES:
            columns = section.get(role, [])
            if not isinstance(columns, list) or not all(isinstance(each, str) for each in columns):
                raise RecipeError(f"{role} in [[events]] must be a list of texts, not {columns!r}")
            roles[role] += [join_column(name, column) for column in columns]
    return events, roles
