"""Where hierarchies come from: a folder, a file, ``column=path``, or one that ships with Shoal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.errors import InputError, quote, unknown
from shoal.support.filenames import match_files
from shoal.table.hierarchies.assembly import Listing, assemble_hierarchy
from shoal.table.hierarchies.formats import list_file
from shoal.table.hierarchies.hierarchy import Hierarchy
from shoal.table.hierarchies.ready import is_ready, list_ready


def read_hierarchies(path: str | Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the hierarchies that ``path`` has for the given columns; those for other columns are passed over.

    Parameters
    ----------
    path : str or Path
        A folder with files ``<column>.csv`` in the ARX layout; ``column=path`` or ``column=@name``, a
        ready-made one; a file called ``<column>.csv`` or ``<column>.tree``; a ``.toml`` file; any other
        file is read in the domains text format.
    columns : sequence of str
        The names of the table's columns.
    """
    file = Path(path)
    if file.is_dir():
        return read_folder(file, columns)
    # Existing files first: the name of a file may contain '='.
    if not file.exists():
        column, source = split_assignment(str(path), columns)
        return {column: read_source(source, column)}
    return {
        column: Hierarchy(*assemble_hierarchy(*listing))
        for column, listing in list_columns(file, columns).items()
    }


def read_source(source: str | Path, column: str | None = None) -> Hierarchy:
    """Read one hierarchy: a file of any format, or ``@name`` for one that ships with Shoal.

    Parameters
    ----------
    source : str or Path
    column : str, optional
        The column it is for. It can be left out unless a file has several.
    """
    return Hierarchy(*assemble_hierarchy(*list_source(source, column)))


def list_source(source: str | Path, column: str | None = None) -> Listing:
    """The rows of one hierarchy, not checked yet."""
    if is_ready(source):
        return list_ready(str(source)[1:])
    found = list_file(Path(source), column)
    if None in found or column in found:
        return found[None if None in found else column]()
    columns = [str(each) for each in found]
    if column is None and len(columns) == 1:
        return found[columns[0]]()
    if column is not None or not columns:
        raise InputError(f"'{source}': {unknown('column', str(column), columns)}")
    raise InputError(
        f"'{source}' has hierarchies for {quote(columns, 20)}: say which, as in --column {columns[0]}"
    )


def list_columns(file: Path, columns: Sequence[str]) -> dict[str, Listing]:
    """The rows of those ``columns`` that a file is for; none at all is an error."""
    found = list_file(file)
    if not found:
        raise InputError(f"'{file}' holds no hierarchies")
    # A file with a single tree says by its name which column that is for.
    if None in found:
        named = match_files({file.stem}, columns)
        if not named:
            raise InputError(
                f"which column is '{file}' for? Say so, as in '{next(iter(columns), 'column')}={file}'"
            )
        return {name: found[None]() for name in named}
    known = {name: found[name] for name in columns if name in found}
    if not known:
        raise InputError(f"'{file}': {unknown('column', str(next(iter(found))), columns)}")
    return {name: listing() for name, listing in known.items()}


def read_folder(folder: Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the file of every column that has one: ``<column>.csv``, or as `file_names` calls it."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    tables = {path.stem: path for path in files if path.suffix.lower() == ".csv"}
    named = match_files(tables.keys(), columns)
    found = {column: read_source(tables[named[column]], column) for column in columns if column in named}
    if not found:
        holds = quote(path.name for path in files) or "no files"
        raise InputError(
            f"folder '{folder}' has no '<column>.csv' for any of {quote(columns)}: it holds {holds}"
        )
    return found


def split_assignment(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """The two parts of ``column=path``."""
    # A column's name may contain '='; the longest that fits is meant.
    for column in sorted(columns, key=len, reverse=True):
        if text.startswith(f"{column}="):
            return column, text[len(column) + 1 :]
    if "=" in text:
        raise InputError(f"'{text}': {unknown('column', text.partition('=')[0], columns)}")
    if is_ready(text):
        raise InputError(
            f"which column is '{text}' for? Say so, as in '{next(iter(columns), 'column')}={text}'"
        )
    raise InputError(
        f"no such file or folder '{text}'; expected a folder, column=path, a domains text file or TOML"
    )
