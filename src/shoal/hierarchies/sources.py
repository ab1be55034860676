"""One ``--hierarchies`` argument: a folder, ``column=path``, a domains text file or TOML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.errors import InputError, quote, unknown
from shoal.hierarchies.arx import read_hierarchy
from shoal.hierarchies.domains import read_domains
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.toml import read_toml


def read_hierarchies(path: str | Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the hierarchies that ``path`` has for the given columns; those for other columns are passed over.

    Parameters
    ----------
    path : str or Path
        A folder with files ``<column>.csv`` in the ARX layout; one such file, as ``column=path`` unless it is
        called ``<column>.csv``; a ``.toml`` file; any other file is read in the domains text format.
    columns : sequence of str
        The names of the table's columns.
    """
    file = Path(path)
    if file.is_dir():
        return read_folder(file, columns)
    if not file.exists():
        return read_assignment(str(path), columns)
    if file.suffix.lower() in (".csv", ".tsv"):
        return read_named(file, columns)
    return (read_toml if file.suffix.lower() == ".toml" else read_domains)(file, columns)


def read_folder(folder: Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read ``<column>.csv`` for every column that has one."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    tables = {path.stem: path for path in files if path.suffix.lower() == ".csv"}
    found = {column: read_hierarchy(tables[column], column) for column in columns if column in tables}
    if not found:
        holds = quote(path.name for path in files) or "no files"
        raise InputError(
            f"folder '{folder}' has no '<column>.csv' for any of {quote(columns)}: it holds {holds}"
        )
    return found


def read_assignment(text: str, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read ``column=path``."""
    # A column's name may contain '='; the longest that fits is meant.
    for column in sorted(columns, key=len, reverse=True):
        if text.startswith(f"{column}="):
            return {column: read_hierarchy(text[len(column) + 1 :], column)}
    if "=" in text:
        raise InputError(f"'{text}': {unknown('column', text.partition('=')[0], columns)}")
    raise InputError(
        f"no such file or folder '{text}'; expected a folder, column=path, a domains text file or TOML"
    )


def read_named(file: Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read a file whose name says which column it is for."""
    if file.stem not in columns:
        raise InputError(
            f"which column is '{file}' for? Say so, as in '{next(iter(columns), 'column')}={file}'"
        )
    return {file.stem: read_hierarchy(file)}
