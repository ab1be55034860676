"""The formats of files by name: how each is read, and how a hierarchy is written in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shoal.errors import InputError, RecipeError, unknown
from shoal.files import whole_file
from shoal.hierarchies.arx import delimited, list_rows
from shoal.hierarchies.assembly import Listings
from shoal.hierarchies.domains import domains_text, list_domains
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.outline import list_outline, outline_text
from shoal.hierarchies.toml import list_toml, toml_text


class Format(NamedTuple):
    """What can be done with files of one kind."""

    listed: Callable[[Path, str | None], Listings]
    """The trees in a file, of which a column may be asked for."""
    text: Callable[[str, Hierarchy], str]
    """A tree for a column as the content of a file."""


FORMATS: dict[str, Format] = {
    "arx": Format(lambda path, column: {None: lambda: list_rows(path, column)}, delimited),
    "anjana": Format(
        lambda path, column: {None: lambda: list_rows(path, column)},
        lambda column, tree: delimited(column, tree, ","),
    ),
    "domains": Format(lambda path, _: list_domains(path), domains_text),
    "toml": Format(lambda path, _: list_toml(path), toml_text),
    "outline": Format(lambda path, _: {None: lambda: list_outline(path)}, lambda _, tree: outline_text(tree)),
}
SUFFIXES = {".csv": "arx", ".tsv": "arx", ".toml": "toml", ".tree": "outline"}
WRITTEN = (".csv", ".toml", ".tree", ".txt")


def format_of(path: Path) -> Format:
    """The format that the name of a file stands for; a domains file where it stands for none."""
    return FORMATS[SUFFIXES.get(path.suffix.lower(), "domains")]


def listings(path: Path, column: str | None = None) -> Listings:
    """The trees of a file; one given for a single column may be in the ARX layout, whatever its suffix."""
    try:
        return format_of(path).listed(path, column)
    except InputError:
        if column is None or path.suffix.lower() in SUFFIXES or not path.is_file():
            raise
        return FORMATS["arx"].listed(path, column)


def save_hierarchy(
    hierarchy: Hierarchy, path: str | Path, column: str | None = None, format: str | None = None
) -> None:
    """Write a hierarchy in any of the formats; the file appears whole or not at all.

    Parameters
    ----------
    hierarchy : Hierarchy
    path : str or Path
        Its suffix names the format: ``.csv`` ARX, ``.toml`` TOML, ``.tree`` an outline, ``.txt`` domains.
    column : str, optional
        The column it is for, which domains and TOML files name; the name of the file if absent.
    format : str, optional
        A format that the suffix does not name: ``anjana`` for the CSV of that package.
    """
    path = Path(path)
    text = writer(path, format)(path.stem if column is None else column, hierarchy)
    with whole_file(path) as stream:
        stream.write(text.encode())


def writer(path: Path, format: str | None = None) -> Callable[[str, Hierarchy], str]:
    """How a file is written; an error if neither its suffix nor ``format`` says so."""
    if format is not None and format not in FORMATS:
        raise RecipeError(unknown("format", format, FORMATS))
    if format is None and path.suffix.lower() not in WRITTEN:
        raise InputError(
            f"'{path}': the suffix names no format; there are .csv, .toml, .tree (outline) and .txt (domains)"
        )
    return (FORMATS[format] if format is not None else format_of(path)).text
