"""Delimited text: finding the delimiter, checking every row, reading every cell as it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, InternalError
from shoal.kernels import scan as kernel
from shoal.table.encodings import Text
from shoal.table.frames import check_names

# Best first where two fit equally well. A comma must win by two columns, because decimal commas in text
# delimited by semicolons make one column more than there is; a space only counts when nothing else fits.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE = 1 << 18


@dataclass(frozen=True, slots=True)
class Delimited:
    """Delimited text that was read: every column a String, and how rows and cells were told apart."""

    frame: pl.DataFrame
    delimiter: str
    newline: str


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the scanner found out about a text, or about the beginning of one."""

    delimiter: str
    newline: str
    state: NDArray[np.int64]

    def __getitem__(self, slot: int) -> int:
        return int(self.state[slot])

    @property
    def columns(self) -> int:
        return self[kernel.EXPECTED]

    @property
    def regular(self) -> bool:
        return self.columns > 1 and self[kernel.PROBLEM] == kernel.NOTHING


def read_delimited(path: Path, text: Text, delimiter: str | None, header: bool) -> Delimited:
    """Read ``text``, the content of ``path``, once all rows are known to have equally many fields."""
    sample = text.head(_SAMPLE)
    newline = "\r" if b"\r" in sample and b"\n" not in sample else "\n"
    found = _detect(sample, newline)
    layout = _scan(text.chunks(), delimiter or found.delimiter, newline)
    if layout.columns == 1 and found.regular and found.delimiter != delimiter:
        raise InputError(_better_delimiter(path, layout.delimiter, found))
    _check(path, layout, header)
    first = text.head(layout[kernel.FIRST_BYTES])
    names = _names(path, layout, first) if header else numbered(layout.columns)
    frame = _rows(path, text.payload, layout, header)
    frame.columns = names
    return Delimited(frame, layout.delimiter, "\r\n" if first.endswith(b"\r\n") else newline)


def check_delimiter(delimiter: str) -> str:
    r"""Return ``delimiter``, with ``\t`` spelled out taken as a tab, if it can delimit anything."""
    char = "\t" if delimiter == r"\t" else delimiter
    if len(char) != 1 or not char.isascii() or char in '"\r\n\0':
        raise InputError(
            f"the delimiter must be one ASCII character other than a quote or newline, not {delimiter!r}"
        )
    return char


def _scan(chunks: Iterable[bytes | memoryview], delimiter: str, newline: str, whole: bool = True) -> _Layout:
    state = kernel.new_state()
    for chunk in chunks:
        kernel.scan(np.frombuffer(chunk, np.uint8), ord(delimiter), ord(newline), state)
        if state[kernel.PROBLEM]:
            break
    if whole:
        kernel.finish(state)
    return _Layout(delimiter, newline, state)


def _detect(sample: bytes, newline: str) -> _Layout:
    """Return the layout in which all rows of the sample have equally many fields, or else the most rows."""
    whole = len(sample) < _SAMPLE
    *usual, space = [_scan([sample], char, newline, whole) for char in (*_DELIMITERS, " ")]
    if regular := [layout for layout in usual if layout.regular]:
        return max(regular, key=lambda layout: layout.columns - (layout.delimiter == ","))
    if space.regular and space[kernel.ROWS] > 1:
        return space
    several = [layout for layout in usual if layout.columns > 1]
    return max(several, key=lambda layout: layout[kernel.ROWS], default=usual[-1])


def _better_delimiter(path: Path, given: str, found: _Layout) -> str:
    return (
        f"{path} has one column with the delimiter {given!r} and {found.columns} with {found.delimiter!r}: "
        "leave the delimiter out or give that one"
    )


def _check(path: Path, layout: _Layout, header: bool) -> None:
    if layout[kernel.PROBLEM]:
        raise InputError(f"{path}: line {layout[kernel.PROBLEM_LINE]} {_problem(layout, header)}")
    if layout.columns == 0:
        raise InputError(f"{path} is empty")
    if header and layout[kernel.ROWS] == 1:
        raise InputError(f"{path} has a header but no rows")
    if layout[kernel.QUOTED_CELLS] and layout[kernel.STRAY_LINE]:
        raise InputError(
            f"{path}: line {layout[kernel.STRAY_LINE]} has a quote inside a cell that is not quoted, while "
            "other cells are quoted; put the whole cell in quotes and write the quote inside twice"
        )


def _problem(layout: _Layout, header: bool) -> str:
    match layout[kernel.PROBLEM]:
        case kernel.RAGGED:
            found = f"has {_fields(layout[kernel.FOUND])}" if layout[kernel.FOUND] else "is blank"
            return f"{found} where the {'header' if header else 'first row'} has {_fields(layout.columns)}"
        case kernel.NUL:
            return "contains a NUL byte; is this a text file, and is its encoding the right one?"
        case kernel.UNCLOSED:
            return "opens a quote that is never closed"
        case _:
            return "has text after a closing quote; a quote inside a quoted cell is written twice"


def _fields(count: int) -> str:
    return f"{count} field{'s' * (count != 1)}"


def numbered(count: int) -> list[str]:
    """Return the names of columns that have none."""
    return [f"column_{number}" for number in range(1, count + 1)]


def _names(path: Path, layout: _Layout, first: bytes) -> list[str]:
    names = [name or "" for name in _cells(first, layout, layout[kernel.SKIPPED]).row(0)]
    check_names(str(path), names)
    return names


def _rows(path: Path, payload: Path | bytes, layout: _Layout, header: bool) -> pl.DataFrame:
    frame = _cells(payload, layout, layout[kernel.FIRST_LINES if header else kernel.SKIPPED])
    rows = layout[kernel.ROWS] - header
    if frame.height < rows:
        raise InternalError(f"{path} has {rows} rows, of which only {frame.height} could be read")
    return frame.head(rows)  # what follows are blank lines at the end


def _cells(payload: Path | bytes, layout: _Layout, skip: int) -> pl.DataFrame:
    return pl.read_csv(
        payload,
        has_header=False,
        skip_lines=skip,
        schema=dict.fromkeys(numbered(layout.columns), pl.String),
        separator=layout.delimiter,
        quote_char='"' if layout[kernel.QUOTED_CELLS] else None,
        eol_char=layout.newline,
        glob=False,
    )
