"""The ARX layout: one line per value, ``value;level1;level2;...;root``, without a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from shoal.errors import InputError
from shoal.support.files import whole_file
from shoal.table.hierarchies.assembly import Listing, Row, assemble_hierarchy
from shoal.table.hierarchies.hierarchy import Hierarchy
from shoal.table.hierarchies.labels import read_label_table
from shoal.table.hierarchies.text import read_text

DELIMITERS = ";\t,"


def read_hierarchy(path: str | Path, column: str | None = None) -> Hierarchy:
    """Read one hierarchy from a CSV file in the ARX layout.

    Parameters
    ----------
    path : str or Path
        UTF-8, delimited by ``;``, tab or ``,`` (the first that divides the first line). No line may have more
        cells than the first.
    column : str, optional
        The column that the hierarchy is for; the file's name without extension if absent. A first line that
        begins with it, in any case, is a header and is passed over.
    """
    return Hierarchy(*assemble_hierarchy(*list_rows(Path(path), column)))


def list_rows(path: Path, column: str | None = None) -> Listing:
    """The rows of a file, checked for nothing but their width."""
    text, source = read_text(path), f"'{path}'"
    delimiter = detect_delimiter(text, source)
    name = path.stem if column is None else column
    table = read_label_table(text, delimiter)
    if table is not None:
        headed = table[0][0].casefold() == name.casefold()
        rows = table[1:] if headed else table
        return Listing.from_lines(rows, source, range(1 + headed, len(table) + 1))
    records = list(split_records(text, delimiter, source))
    body = records[1:] if records and records[0][1][0].casefold() == name.casefold() else records
    # A header counts: it may be the only line that names every level.
    check_widths(body, max((len(cells) for _, cells in (*records[:1], *body[:1])), default=0), source)
    return Listing.from_lines([cells for _, cells in body], source, [line for line, _ in body])


def check_widths(records: list[tuple[int, list[str]]], width: int, source: str) -> None:
    """Refuse a record with more than ``width`` cells: its label was probably cut at a delimiter."""
    for line, cells in records:
        if len(cells) > width:
            raise InputError(
                f"{source}, line {line}: {len(cells)} cells, but the first line has {width}; "
                "quote labels that contain the delimiter, or begin with the longest line"
            )


def write_hierarchy(hierarchy: Hierarchy, path: str | Path) -> None:
    """Write ``hierarchy`` in the ARX layout; the file appears whole or not at all."""
    with whole_file(path, private=True) as stream:
        stream.write(render_arx(Path(path).stem, hierarchy).encode())


def render_arx(column: str, hierarchy: Hierarchy, delimiter: str = ";") -> str:
    """The lines of a file for ``column``, a value with its groups on each."""
    # A byte-order mark would be dropped from the beginning of the file if it stood there bare.
    unclear = re.compile(f'[{delimiter}"\r\n\ufeff]')
    tried = DELIMITERS[: DELIMITERS.index(delimiter)]

    def render_line(row: Row) -> str:
        # A reader tries some delimiters first, and can tell by the quotes that they do not fit.
        every = any(sign in label for sign in tried for label in row)
        return (
            delimiter.join(quote_cell(cell) if every or unclear.search(cell) else cell for cell in row) + "\n"
        )

    lines = list(map(render_line, hierarchy.to_rows()))
    # A first line that begins with the name of the column would be taken for a header; one that comes again
    # does no harm.
    again = lines[:1] if hierarchy.leaves[0].casefold() == column.casefold() else []
    return "".join([*again, *lines])


def quote_cell(cell: str) -> str:
    """The text of a cell in quotes."""
    return '"' + cell.replace('"', '""') + '"'


def detect_delimiter(text: str, source: str) -> str:
    """The delimiter that divides the first line; ``;`` if none does."""
    for delimiter in DELIMITERS:
        try:
            _, cells = next(split_records(text, delimiter, source), (0, []))
        except InputError:  # quotes that fit another delimiter
            continue
        if len(cells) > 1:
            return delimiter
    return DELIMITERS[0]


def split_records(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, with the line it begins on and without empty cells at its end."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    for _ in count():
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            found = "a quote is opened and never closed" if "end of data" in str(error) else error
            raise InputError(f"{source}, line {line}: {found}") from None
        if cells is None:
            return
        # Spreadsheets fill the shorter rows of an uneven tree up with empty cells.
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield line, cells
