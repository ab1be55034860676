"""The ARX layout: one line per value, ``value;level1;level2;...;root``, without a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from shoal.errors import InputError
from shoal.files import whole_file
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.text import read_text

DELIMITERS = ";\t,"

# A byte-order mark would be dropped from the beginning of the file if it stood there bare.
NEEDS_QUOTES = re.compile('[;"\r\n\ufeff]')


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
    path = Path(path)
    text, source = read_text(path), f"'{path}'"
    records = list(split_records(text, detect_delimiter(text, source), source))
    name = path.stem if column is None else column
    body = records[1:] if records and records[0][1][0].casefold() == name.casefold() else records
    # A header counts: it may be the only line that names every level.
    check_widths(body, max((len(cells) for _, cells in (*records[:1], *body[:1])), default=0), source)
    return Hierarchy.from_rows([cells for _, cells in body], source, [line for line, _ in body])


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
    text = "".join(";".join(map(quoted, row)) + "\n" for row in hierarchy.to_rows())
    with whole_file(path) as stream:
        stream.write(text.encode())


def quoted(label: str) -> str:
    """The label as a cell of a CSV file."""
    return '"' + label.replace('"', '""') + '"' if NEEDS_QUOTES.search(label) else label


def detect_delimiter(text: str, source: str) -> str:
    """The delimiter that divides the first line; ``;`` if none does."""
    for delimiter in DELIMITERS:
        _, cells = next(split_records(text, delimiter, source), (0, []))
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
            raise InputError(f"{source}, line {line}: {error}") from None
        if cells is None:
            return
        # Spreadsheets fill the shorter rows of an uneven tree up with empty cells.
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield line, cells
