"""The formats of files by name: how each is read, and how a hierarchy is written in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shoal.errors import InputError, RecipeError, unknown
from shoal.support.files import whole_file
from shoal.table.hierarchies.arx import list_rows, render_arx
from shoal.table.hierarchies.assembly import Listings
from shoal.table.hierarchies.domains import list_domains, render_domains
from shoal.table.hierarchies.hierarchy import Hierarchy
from shoal.table.hierarchies.outline import list_outline, render_outline
from shoal.table.hierarchies.toml import list_toml, render_toml


class HierarchyFormat(NamedTuple):
    """What can be done with files of one kind."""

    listed: Callable[[Path, str | None], Listings]
    """The trees in a file, of which a column may be asked for."""
    text: Callable[[str, Hierarchy], str]
    """A tree for a column as the content of a file."""


# Trees are given as functions: of a file with many only those that are asked for are checked.
FORMATS: dict[str, HierarchyFormat] = {
    "arx": HierarchyFormat(lambda path, column: {None: lambda: list_rows(path, column)}, render_arx),
    "anjana": HierarchyFormat(
        lambda path, column: {None: lambda: list_rows(path, column)},
        lambda column, tree: render_arx(column, tree, ","),
    ),
    "domains": HierarchyFormat(lambda path, _: list_domains(path), render_domains),
    "toml": HierarchyFormat(lambda path, _: list_toml(path), render_toml),
    "outline": HierarchyFormat(
        lambda path, _: {None: lambda: list_outline(path)}, lambda _, tree: render_outline(tree)
    ),
}
SUFFIXES = {".csv": "arx", ".tsv": "arx", ".toml": "toml", ".tree": "outline"}
WRITTEN = (".csv", ".toml", ".tree", ".txt")


def find_format(path: Path) -> HierarchyFormat:
    """The format that the name of a file stands for; a domains file where it stands for none."""
    return FORMATS[SUFFIXES.get(path.suffix.lower(), "domains")]


def list_file(path: Path, column: str | None = None) -> Listings:
    """The trees of a file; one given for a single column may be in the ARX layout, whatever its suffix."""
    try:
        return find_format(path).listed(path, column)
    except InputError:
        # Where the suffix names a format, the error of its reader is the one that helps.
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
    text = choose_writer(path, format)(path.stem if column is None else column, hierarchy)
    with whole_file(path, private=True) as stream:
        stream.write(text.encode())


def choose_writer(path: Path, format: str | None = None) -> Callable[[str, Hierarchy], str]:
    """How a file is written; an error if neither its suffix nor ``format`` says so."""
    if format is not None and format not in FORMATS:
        raise RecipeError(unknown("format", format, FORMATS))
    if format is None and path.suffix.lower() not in WRITTEN:
        raise InputError(
            f"'{path}': the suffix names no format; there are .csv, .toml, .tree (outline) and .txt (domains)"
        )
    return (FORMATS[format] if format is not None else find_format(path)).text
