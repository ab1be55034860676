"""From the texts of options to the fields of a recipe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from shoal.algorithms import ALGORITHMS, Algorithm
from shoal.cli.standard import DASH
from shoal.engines.release import check_later_rows
from shoal.engines.tables import TableSources, read_tables
from shoal.errors import OutputError, RecipeError, quote, unknown
from shoal.recipes.event_tables import join_column, name_sources
from shoal.recipes.recipe import Recipe
from shoal.recipes.settings import Others, list_plain_settings
from shoal.report.figures import NO_EXCERPT
from shoal.support.addresses import is_address
from shoal.support.files import check_target
from shoal.support.parameters import build_entry
from shoal.table import (
    TYPE_CODES,
    ColumnType,
    Origin,
    ReadOptions,
    Table,
    check_decimal,
    open_rows,
    read_schema,
    read_table,
)
from shoal.table.addresses import load_address
from shoal.table.hierarchies import Hierarchy, read_hierarchies

_MOST = 10  # values of a range that are tried, where not said
_TOO_MANY = 1000  # values of a range that nobody means to try one by one


def reading_options(
    delimiter: str | None,
    encoding: str | None,
    no_header: bool,
    na: list[str] | None,
    sheet: str | None = None,
    quasi: list[str] | None = None,
    decimal: str = ".",
    query: str | None = None,
) -> ReadOptions:
    """How the table is to be read; ``--quasi line:2`` says that a line of it has numbers of columns."""
    line = re.fullmatch(r"line:(\d+)", quasi[0]) if quasi and len(quasi) == 1 else None
    return ReadOptions(
        delimiter=delimiter,
        encoding=encoding,
        header=not no_header,
        na=tuple(na or ()),
        quasi_line=int(line[1]) if line else None,
        sheet=sheet,
        decimal=check_decimal(decimal),
        query=query,
    )


def open_table(
    path: Path, recipe: Recipe, whole: bool, roles: Callable[[Table], dict[str, tuple[str, ...]]]
) -> tuple[Table, object]:
    """The table, or only its columns where there are several tables, or rows are read later; and what to run
    the recipe on.

    ``roles`` gives those of its columns, of which some may be left out and hold anything.
    """

    def with_roles(names: Sequence[str]) -> Recipe:
        bare = Table(pl.DataFrame(schema=dict.fromkeys(names, pl.Null)), Origin("path", path=path))
        return replace(recipe, **roles(bare))  # type: ignore[arg-type]

    def left_out(names: Sequence[str]) -> list[str]:
        return with_roles(names).left_out(names)

    def uncounted(names: Sequence[str]) -> list[str]:
        return with_roles(names).list_uncounted(names)

    if recipe.events:
        tables = read_tables(recipe, path)
        every = name_columns(tables)
        return every, TableSources(tables.pop(""), tables)
    if recipe.uses_safepub:  # where nothing may depend on single rows, not even reading
        rows = open_rows(path, recipe.reading)
        return rows.make_table(), rows
    if not whole and is_address(path):
        local = load_address(str(path), recipe.reading.query)
        return read_schema(local, replace(recipe.reading, query=None), left_out), local
    if not whole:
        return read_schema(path, recipe.reading, left_out), path
    table = read_table(path, recipe.reading, left_out=left_out, uncounted=uncounted)
    return table, table


def name_columns(tables: Mapping[str, Table]) -> Table:
    """The columns of all tables as a recipe names them, without rows."""
    names = [join_column(name, column) for name, table in tables.items() for column in table.names]
    return Table(pl.DataFrame(schema=dict.fromkeys(names, pl.Null)), tables[""].origin)


def events_of(sources: list[str] | None, output: Path | None = None) -> dict[str, str]:
    """Event tables by name."""
    if sources and output == DASH:
        raise RecipeError(
            "a release of several tables is a folder, and not for standard output: name it with -o"
        )
    return name_sources(sources or ())


def check_page(path: Path | None, others: Iterable[Path] = ()) -> None:
    """Refuse a page that could not be written, or is one of ``others``, before long work begins."""
    if path is None:
        return
    check_target(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{path}: a report is a page; name it with .html")
    if any(path.resolve() == other.resolve() for other in others):
        raise OutputError(f"{path} cannot be both the report and something else; give another file")


def check_excerpt(excerpt: bool, report: Path | None, recipe: Recipe) -> None:
    """An excerpt needs a page to stand in, and rows that may be shown."""
    if excerpt and report is None:
        raise RecipeError("--excerpt shows rows of the original in the page of --report: name that as well")
    if excerpt and recipe.uses_safepub:
        raise RecipeError(NO_EXCERPT)


def check_recoding(path: Path | None, recipe: Recipe) -> None:
    """Classes that were drawn by chance, or that need the rows before, are not for later rows."""
    if path is not None and recipe.uses_safepub:
        raise RecipeError("--recoding-out keeps classes for later rows, and those of safepub are not for any")
    if path is not None:
        check_later_rows(recipe)


def check_drawable(
    report: Path | None, memory: str | None, on_cluster: bool, events: Mapping[str, str] | None = None
) -> None:
    """A page is drawn from the rows of one table."""
    if report is not None and events:
        raise RecipeError(
            "--report draws one table, and there are event tables: leave it out, or take --json"
        )
    if report is not None and on_cluster:
        raise RecipeError("--report draws from the rows, which Spark leaves on the cluster: give one of them")
    if report is not None and memory is not None:
        raise RecipeError("--report draws from the rows, which --memory leaves on disk: give one of them")


def plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a recipe from the options that `shoal.cli.options.add_settings` added."""
    return {each.name: given[each.option.parameter] for each in list_plain_settings()}


def split_list(text: str) -> list[str]:
    """The parts of a comma-separated text."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_numbers(name: str, text: str, most: int | None = _MOST) -> tuple[int, ...]:
    """Whole numbers: ``5,10,20``, a range ``5..50``, or both mixed.

    A range is thinned out to ``most``, or to the number behind it: ``5..50:8``.
    """
    wrong = f"{name} takes numbers and ranges, as 5,10 or 5..50 or 5..50:8"
    values: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        whole, colon, several = part.partition(":")
        first, dots, last = whole.partition("..")
        try:
            low, high = int(first), int(last if dots else first)
            count = int(several) if colon else most
        except ValueError:
            raise RecipeError(f"{wrong}, not '{part}'") from None
        if high < low:
            raise RecipeError(f"{name}: the range {whole} ends before it begins")
        if count is not None and count < 1:
            raise RecipeError(f"{name}: {part} asks for {count} numbers of the range: ask for 1 or more")
        if count is None and high - low >= _TOO_MANY:
            raise RecipeError(
                f"{name}: {part} has {high - low + 1:,} numbers: take some of them, as {part}:20"
            )
        if count is None or high - low < count:
            values += range(low, high + 1)
        else:  # by factors, not steps: from k = 50 to 51 little changes, from 5 to 6 a lot
            values += np.unique(np.rint(np.geomspace(max(low, 1), high, count))).astype(int).tolist()
    if not values:
        raise RecipeError(f"{wrong}, not '{text}'")
    return tuple(dict.fromkeys(values))


def _by_position(
    option: str, text: str | None, names: Sequence[str], what: str, lenient: bool = False
) -> dict[str, str]:
    """Entries for ``names`` in their order; empty ones where nothing is said.

    Surplus ones are an error, or left out where ``lenient``.
    """
    entries = [entry.strip() for entry in (text or "").split(",")]
    if len(entries) > len(names) and not lenient:
        raise RecipeError(
            f"{option} has {len(entries)} entries, but there are {len(names)} {what}: leave out the surplus "
            "ones, or say --lenient"
        )
    entries = entries[: len(names)]
    return dict(zip_longest(names, entries, fillvalue=""))


def parse_pairs(option: str, texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Read texts of the form ``name=value``."""
    parts = [text.partition("=") for text in texts or ()]
    if wrong := [name for name, equals, _ in parts if not equals]:
        raise RecipeError(f"{option} takes name=value, not '{wrong[0]}'")
    return [(name.strip(), value.strip()) for name, _, value in parts]


_COLUMN, _PARAMETER = "column:", "parameter:"


def read_set_options(
    algorithm: str, texts: list[str] | None, names: Sequence[str] | None = None
) -> tuple[Algorithm, dict[str, str]]:
    """What --set says: the algorithm by name, with its parameters; and columns of sets, with separators.

    The rule: a name is a parameter if the algorithm has it, and otherwise a column of sets. Once the
    ``names`` of the columns are known, one that is both or neither is an error; ``column:`` or ``parameter:``
    before it says which is meant.
    """
    if algorithm not in ALGORITHMS:
        raise RecipeError(unknown("algorithm", algorithm, ALGORITHMS))
    known = [field.name for field in fields(ALGORITHMS[algorithm])]
    parameters: dict[str, str] = {}
    sets: dict[str, str] = {}
    for text, (said, value) in zip(texts or (), parse_pairs("--set", texts), strict=True):
        name = said.removeprefix(_COLUMN).removeprefix(_PARAMETER)
        is_column = names is not None and name in names
        if said == name and name in known and is_column:
            raise RecipeError(
                f"--set {name} is both a parameter of {algorithm} and a column of the table: write "
                f"{_PARAMETER}{name}={value} for the one, {_COLUMN}{name}={value} for the other"
            )
        if said.startswith(_PARAMETER) or (said == name and name in known):
            parameters[name] = value
            continue
        if names is not None and not is_column:
            told = unknown(f"parameter of algorithm {algorithm}", name, known)
            raise RecipeError(f"{told}; and the table has no such column, to be a column of sets")
        sets[name] = text.partition("=")[2]  # a blank can be a separator
    found: Algorithm = build_entry("algorithm", ALGORITHMS, algorithm, parameters)
    return found, sets


def separators_of(table: Table, texts: list[str] | None) -> dict[str, str]:
    """Columns of sets, where no algorithm has parameters."""
    sets = {
        text.partition("=")[0].strip().removeprefix(_COLUMN): text.partition("=")[2] for text in texts or ()
    }
    parse_pairs("--set", texts)  # for its error
    return {name: sets[name] for name in names_of(table, list(sets))}


def roles_of(
    table: Table,
    by_position: str | None,
    quasi: list[str] | None,
    sensitive: list[str] | None,
    identifier: list[str] | None,
    plain: list[str] | None,
    needed: bool = True,
    person: str | None = None,
    group: str | None = None,
    lenient: bool = False,
    sets: Iterable[str] = (),
) -> dict[str, tuple[str, ...]]:
    """Roles by name or by position, as the fields of a recipe; quasi-identifiers are ``needed`` or not.

    The columns of the ``person``, the ``group`` and the ``sets`` are named only, and have no other role,
    whatever stands at their positions.
    """
    owners = [name for name in (person, group) if name is not None]
    # As they are, for a name is no list, and for the error: the columns must be there.
    tuple(name for owner in owners for name in names_of(table, [owner]))
    named = {"quasi": quasi, "sensitive": sensitive, "identifier": identifier, "plain": plain}
    by_name = {role: tuple(names_of(table, texts or ())) for role, texts in named.items()}
    if by_position is None:
        if needed and not by_name["quasi"]:
            raise RecipeError(
                f"say which columns someone could recognise a person by: --quasi "
                f"{','.join(table.names[:2])}, or --roles by position; the table has {quote(table.names, 20)}"
            )
        return by_name
    if any(by_name.values()):
        raise RecipeError("give roles by position (--roles) or by name, not both")
    letters = {"": "quasi", "q": "quasi", "s": "sensitive", "i": "plain", "x": "identifier"}
    given = _by_position("--roles", by_position, table.names, "columns of the table", lenient)
    if wrong := [letter for letter in given.values() if letter not in letters]:
        raise RecipeError(
            f"unknown role '{wrong[0]}' in --roles: q quasi, s sensitive, i ignored, x identifier"
        )
    return {
        role: tuple(
            name
            for name, letter in given.items()
            if letters[letter] == role and name not in owners and name not in sets
        )
        for role in by_name
    }


def names_of(table: Table, texts: Sequence[str]) -> Iterator[str]:
    """Names from repeated options; a column whose own name has a comma or spaces may be named whole."""
    for text in texts:
        for part in [text] if text in table.names else filter(str.strip, text.split(",")):
            name = part if part in table.names else part.strip()
            if name not in table.names:
                raise RecipeError(f"{table.origin}: {unknown('column', name, table.names)}")
            yield name


_TYPE_NAMES: dict[str, ColumnType] = {
    **TYPE_CODES,
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "float",
    "date": "date",
    "datetime": "datetime",
    "ordered": "ordered",
    "bool": "boolean",
    "boolean": "boolean",
}


def types_of(
    table: Table, by_position: str | None, by_name: list[str] | None, lenient: bool = False
) -> dict[str, ColumnType]:
    """Types by position and by name."""
    types = {}
    given = _by_position("--types", by_position, table.names, "columns of the table", lenient)
    for name, letter in given.items():
        if letter and letter not in TYPE_CODES:
            raise RecipeError(unknown("type in --types", letter, TYPE_CODES))
        if letter:
            types[name] = TYPE_CODES[letter]
    for name, value in parse_pairs("--type", by_name):
        if name not in table.names:
            raise RecipeError(unknown("column in --type", name, table.names))
        if value not in _TYPE_NAMES:
            raise RecipeError(unknown(f"type of '{name}'", value, _TYPE_NAMES))
        types[name] = _TYPE_NAMES[value]
    return types


def orders_of(by_name: list[str] | None) -> dict[str, tuple[str, ...]]:
    """The values of ordered columns, in order."""
    return {name: tuple(split_list(values)) for name, values in parse_pairs("--order", by_name)}


def reasons_of(accepted: list[str] | None) -> dict[str, str]:
    """Findings that are accepted, by id, with the reasons."""
    return dict(parse_pairs("--accept", accepted))


def folded_of(given: list[str] | None) -> tuple[str, ...] | None:
    """Sensitive columns that are folded before they are counted; None for all."""
    if not given:
        return None
    names = [name for each in given for name in split_list(each)]
    # Three answers: not asked (None, all columns), none of them, and those named.
    return () if names == ["none"] else tuple(names)


def others_of(given: str | None) -> Others | None:
    """What happens to columns that nothing is said about."""
    if given not in (None, *get_args(Others)):
        raise RecipeError(unknown("choice of --others", str(given), get_args(Others)))
    return given  # type: ignore[return-value]


def trees_of(table: Table, sources: list[str] | None) -> dict[str, Hierarchy]:
    """Hierarchies for columns of a table."""
    found: dict[str, Hierarchy] = {}
    for source in sources or ():
        found |= read_hierarchies(source, table.names)
    return found


def weights_of(
    quasi: tuple[str, ...], by_position: str | None, by_name: list[str] | None, lenient: bool = False
) -> dict[str, float]:
    """Weights by position and by name."""
    # With sets alone there are no quasi-identifiers to have weights in order.
    given = _by_position("--weights", by_position, quasi, "quasi-identifiers", lenient) if by_position else {}
    named = [*((name, value) for name, value in given.items() if value), *parse_pairs("--weight", by_name)]
    return {name: _parse_weight(name, value) for name, value in named}


def _parse_weight(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise RecipeError(f"the weight of '{name}' must be a number, not '{value}'") from None
