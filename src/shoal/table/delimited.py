"""Delimited text: finding the delimiter, checking every row, reading every cell as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, InternalError
from shoal.kernels import scan as kernel
from shoal.kernels.compiled import as_written
from shoal.table.encodings import TextSource
from shoal.table.frames import check_names

# Best first where two fit equally well. A comma must win by two columns, because decimal commas in text
# delimited by semicolons make one column more than there is; a space only counts when nothing else fits.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE = 1 << 18  # bytes that the delimiter is found by
_SHORT = 1 << 15  # bytes that Python has read before numba is loaded


@dataclass(frozen=True, slots=True)
class DelimitedLayout:
    """What the scanner found out about a text, or about the beginning of one."""

    delimiter: str
    newline: str
    state: NDArray[np.int64]
    names: list[str] = field(default_factory=list)
    line_end: str = ""

    def __getitem__(self, slot: int) -> int:
        return int(self.state[slot])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self[kernel.EXPECTED]

    @property
    def is_regular(self) -> bool:
        """Whether all rows have equally many fields, and several."""
        return self.columns > 1 and self[kernel.PROBLEM] == kernel.NOTHING

    @property
    def rows(self) -> int:
        """Number of rows, with those of the header."""
        return self[kernel.ROWS]

    def build_read_settings(self, header: bool) -> dict[str, Any]:
        """The settings by which polars reads every cell as it stands, after the header if there is one."""
        return {
            # Names are set afterwards: polars would rename those that are equal.
            "has_header": False,
            "skip_lines": self[kernel.FIRST_LINES if header else kernel.SKIPPED],
            "schema": dict.fromkeys(make_column_names(self.columns), pl.String),
            "separator": self.delimiter,
            # Where no cell is quoted, a quote is a character like any other.
            "quote_char": '"' if self[kernel.QUOTED_CELLS] else None,
            "eol_char": self.newline,
            "glob": False,
        }


def read_delimited(path: Path, text: TextSource, layout: DelimitedLayout, header: bool) -> pl.DataFrame:
    """Read ``text``, the content of ``path``; every column is a String."""
    rows = layout.rows - header
    if rows == 0:  # which polars would refuse
        return pl.DataFrame(schema=dict.fromkeys(layout.names, pl.String))
    frame = pl.read_csv(text.payload, **layout.build_read_settings(header))
    if frame.height < rows:
        raise _make_lost_rows_error(path, rows, frame.height)
    frame.columns = layout.names
    return frame.head(rows)  # what follows are blank lines at the end


def read_batches(
    path: Path, text: TextSource, layout: DelimitedLayout, header: bool, columns: Sequence[str], size: int
) -> Iterator[pl.DataFrame]:
    """Read some columns of what `read_delimited` reads, about ``size`` rows at a time."""
    cells = pl.scan_csv(text.payload, **layout.build_read_settings(header))
    chosen = cells.select(pl.nth([layout.names.index(name) for name in columns]))
    rows, seen = layout.rows - header, 0
    for batch in chosen.collect_batches(chunk_size=size, maintain_order=True):
        batch.columns = list(columns)
        yield batch.head(rows - seen)
        seen = min(seen + batch.height, rows)
    if seen < rows:
        raise _make_lost_rows_error(path, rows, seen)


def _make_lost_rows_error(path: Path, rows: int, found: int) -> InternalError:
    return InternalError(f"{path} has {rows} rows, of which only {found} could be read")


def find_layout(
    path: Path, text: TextSource, delimiter: str | None, header: bool, may_be_empty: bool = False
) -> DelimitedLayout:
    """How rows and cells of ``text`` are told apart, once all rows are known to have equally many fields."""
    sample = text.read_head(_SAMPLE)
    # A carriage return ends lines by itself only where there is no line feed at all.
    newline = "\r" if b"\r" in sample and b"\n" not in sample else "\n"
    found = _detect_layout(sample, newline)
    layout = _scan_text(text.read_chunks(), delimiter or found.delimiter, newline)
    # A stated delimiter that divides nothing is a mistake where another divides every row.
    if layout.columns == 1 and found.is_regular and found.delimiter != delimiter:
        raise InputError(_better_delimiter(path, layout.delimiter, found))
    _check_layout(path, layout, header, may_be_empty)
    first = text.read_head(layout[kernel.FIRST_BYTES])
    names = _read_names(path, layout, first) if header else make_column_names(layout.columns)
    return replace(layout, names=names, line_end="\r\n" if first.endswith(b"\r\n") else newline)


def take_quasi_line(path: Path, text: TextSource, line: int) -> tuple[TextSource, list[int]]:
    """The text without the line that has the numbers of columns, and the numbers.

    Files with such a line have a blank after every comma, which is no part of the cell that follows.
    """
    lines = b"".join(bytes(chunk) for chunk in text.read_chunks()).splitlines(keepends=True)
    if line > len(lines):
        raise InputError(f"{path} has {len(lines)} lines, and none with the number {line}")
    cells = [cell.strip() for cell in lines.pop(line - 1).decode("utf-8", "replace").split(",")]
    if not all(cell.isascii() and cell.isdigit() for cell in cells):
        raise InputError(
            f"{path}: line {line} must have the numbers of columns, as 0, 1, 4, and nothing else"
        )
    return replace(text, payload=re.sub(rb",[ \t]+", b",", b"".join(lines))), [int(cell) for cell in cells]


def check_delimiter(delimiter: str) -> str:
    r"""Return ``delimiter``, with ``\t`` spelled out taken as a tab, if it can delimit anything."""
    char = "\t" if delimiter == r"\t" else delimiter
    if len(char) != 1 or not char.isascii() or char in '"\r\n\0':
        raise InputError(
            f"the delimiter must be one ASCII character other than a quote or newline, not {delimiter!r}"
        )
    return char


def _scan_text(
    chunks: Iterable[bytes | memoryview], delimiter: str, newline: str, whole: bool = True
) -> DelimitedLayout:
    state = kernel.new_state()
    for chunk in chunks:
        scan = as_written(kernel.scan_chunk) if len(chunk) <= _SHORT else kernel.scan_chunk
        scan(np.frombuffer(chunk, np.uint8), ord(delimiter), ord(newline), state)
        if state[kernel.PROBLEM]:
            break
    if whole:
        as_written(kernel.finish_scan)(state)
    return DelimitedLayout(delimiter, newline, state)


def _detect_layout(sample: bytes, newline: str) -> DelimitedLayout:
    """Return the layout in which all rows of the sample have equally many fields, or else the most rows."""
    # A full sample may end inside a row or a quote, which is no error then.
    whole = len(sample) < _SAMPLE
    *usual, space = [_scan_text([sample], char, newline, whole) for char in (*_DELIMITERS, " ")]
    if regular := [layout for layout in usual if layout.is_regular]:
        return max(regular, key=lambda layout: layout.columns - (layout.delimiter == ","))
    if space.is_regular and space[kernel.ROWS] > 1:
        return space
    several = [layout for layout in usual if layout.columns > 1]
    return max(several, key=lambda layout: layout[kernel.ROWS], default=usual[-1])


def _better_delimiter(path: Path, given: str, found: DelimitedLayout) -> str:
    return (
        f"{path} has one column with the delimiter {given!r} and {found.columns} with {found.delimiter!r}: "
        "leave the delimiter out or give that one"
    )


def _check_layout(path: Path, layout: DelimitedLayout, header: bool, may_be_empty: bool) -> None:
    if layout[kernel.PROBLEM]:
        raise InputError(f"{path}: line {layout[kernel.PROBLEM_LINE]} {_describe_problem(layout, header)}")
    if layout.columns == 0:
        raise InputError(f"{path} is empty")
    if header and layout[kernel.ROWS] == 1 and not may_be_empty:
        raise InputError(f"{path} has a header but no rows")
    if layout[kernel.QUOTED_CELLS] and layout[kernel.STRAY_LINE]:
        raise InputError(
            f"{path}: line {layout[kernel.STRAY_LINE]} has a quote inside a cell that is not quoted, while "
            "other cells are quoted; put the whole cell in quotes and write the quote inside twice"
        )


def _describe_problem(layout: DelimitedLayout, header: bool) -> str:
    match layout[kernel.PROBLEM]:
        case kernel.RAGGED:
            found = f"has {_format_field_count(layout[kernel.FOUND])}" if layout[kernel.FOUND] else "is blank"
            return (
                f"{found} where the {'header' if header else 'first row'} has "
                f"{_format_field_count(layout.columns)}"
            )
        case kernel.NUL:
            return "contains a NUL byte; is this a text file, and is its encoding the right one?"
        case kernel.UNCLOSED:
            return "opens a quote that is never closed"
        case _:
            return "has text after a closing quote; a quote inside a quoted cell is written twice"


def _format_field_count(count: int) -> str:
    return f"{count} field{'s' * (count != 1)}"


def make_column_names(count: int) -> list[str]:
    """Return the names of columns that have none."""
    return [f"column_{number}" for number in range(1, count + 1)]


def _read_names(path: Path, layout: DelimitedLayout, first: bytes) -> list[str]:
    cells = pl.read_csv(first, **layout.build_read_settings(header=False))
    names = [name or "" for name in cells.row(0)]
    check_names(str(path), names)
    return names
