"""From the texts of options to the fields of a recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.errors import RecipeError, quote, unknown
from shoal.table import TYPE_CODES, ColumnType, ReadOptions, Table


def reading_options(
    delimiter: str | None, encoding: str | None, no_header: bool, na: list[str] | None
) -> ReadOptions:
    """How the table is to be read."""
    return ReadOptions(delimiter, encoding, not no_header, tuple(na or ()))


def split(text: str) -> list[str]:
    """The parts of a comma-separated text."""
    return [part.strip() for part in text.split(",") if part.strip()]


def pairs(option: str, texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Read texts of the form ``name=value``."""
    parts = [text.partition("=") for text in texts or ()]
    if wrong := [name for name, equals, _ in parts if not equals]:
        raise RecipeError(f"{option} takes name=value, not '{wrong[0]}'")
    return [(name.strip(), value.strip()) for name, _, value in parts]


def roles_of(
    table: Table,
    by_position: str | None,
    quasi: list[str] | None,
    sensitive: list[str] | None,
    identifier: list[str] | None,
    plain: list[str] | None,
) -> dict[str, tuple[str, ...]]:
    """Roles by name or by position, as the fields of a recipe."""
    named = {"quasi": quasi, "sensitive": sensitive, "identifier": identifier, "plain": plain}
    by_name = {role: tuple(_column_names(table, texts or ())) for role, texts in named.items()}
    if by_position is None:
        if not by_name["quasi"]:
            raise RecipeError(
                f"say which columns someone could recognise a person by: --quasi "
                f"{','.join(table.names[:2])}, or --roles by position; the table has {quote(table.names, 20)}"
            )
        return by_name
    if any(by_name.values()):
        raise RecipeError("give roles by position (--roles) or by name, not both")
    letters = {"q": "quasi", "s": "sensitive", "i": "plain", "x": "identifier"}
    given = split(by_position)
    if len(given) > len(table.names):
        raise RecipeError(f"--roles has {len(given)} entries, but the table has {len(table.names)} columns")
    if wrong := [letter for letter in given if letter not in letters]:
        raise RecipeError(
            f"unknown role '{wrong[0]}' in --roles: q quasi, s sensitive, i ignored, x identifier"
        )
    assigned = [letters[letter] for letter in given] + ["quasi"] * (len(table.names) - len(given))
    return {
        role: tuple(name for name, its in zip(table.names, assigned, strict=True) if its == role)
        for role in named
    }


def _column_names(table: Table, texts: Sequence[str]) -> Iterator[str]:
    """Names from repeated options; a column whose own name has a comma may be named whole."""
    for text in texts:
        for name in [text] if text in table.names else split(text):
            if name not in table.names:
                raise RecipeError(f"{table.origin}: {unknown('column', name, table.names)}")
            yield name


_TYPE_NAMES: dict[str, ColumnType] = {
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


def types_of(table: Table, by_position: str | None, by_name: list[str] | None) -> dict[str, ColumnType]:
    """Types by position and by name."""
    letters = split(by_position or "")
    if len(letters) > len(table.names):
        raise RecipeError(f"--types has {len(letters)} entries, but the table has {len(table.names)} columns")
    types = {}
    for name, letter in zip(table.names, letters, strict=False):
        if letter not in TYPE_CODES:
            raise RecipeError(unknown("type in --types", letter, TYPE_CODES))
        types[name] = TYPE_CODES[letter]
    for name, value in pairs("--type", by_name):
        if name not in table.names:
            raise RecipeError(unknown("column in --type", name, table.names))
        if value not in _TYPE_NAMES:
            raise RecipeError(unknown(f"type of '{name}'", value, _TYPE_NAMES))
        types[name] = _TYPE_NAMES[value]
    return types


def weights_of(
    quasi: tuple[str, ...], by_position: str | None, by_name: list[str] | None
) -> dict[str, float]:
    """Weights by position and by name."""
    given = split(by_position or "")
    if len(given) > len(quasi):
        raise RecipeError(f"--weights has {len(given)} entries, but there are {len(quasi)} quasi-identifiers")
    named = [*zip(quasi, given, strict=False), *pairs("--weight", by_name)]
    try:
        return {name: float(value) for name, value in named}
    except ValueError as error:
        raise RecipeError(f"a weight must be a number: {error}") from None
