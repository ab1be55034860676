"""Delimited text in which every line stands for itself: find the cells of the lines that can be read.

A line that cannot be read (it is blank, has more or fewer cells than the header, a quote that is not closed
or text after a closing quote) is passed over alone: what is found in the other lines does not depend on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.signatures import Matrix, ReadOnly

# ASCII codes.
_QUOTE, _RETURN, _NEWLINE = 34, 13, 10
_BAD = -1


@entry_kernel
def find_cells(
    text: ReadOnly[np.uint8],
    at: int,
    delimiter: int,
    slot: NDArray[np.int64],
    first: Matrix[np.int64],
    last: Matrix[np.int64],
    doubled: Matrix[np.bool_],
) -> tuple[int, int]:
    """Find the cells of the next rows, as many as fit.

    Parameters
    ----------
    text : uint8[n]
        In an encoding that agrees with ASCII.
    at : int
        Where a line begins.
    slot : int64[fields]
        The number of the wanted column that each field of a row is, or -1.
    first, last : int64[rows, wanted]
        Filled with where each cell begins and ends, without its quotes.
    doubled : bool[rows, wanted]
        Filled with whether a cell has quotes in it, which are written twice.

    Returns
    -------
    how many rows were found, and where the next line begins
    """
    rows = 0
    while at < text.size and rows < first.shape[0]:
        end = _read_row(text, at, delimiter, slot, first[rows], last[rows], doubled[rows])
        if end == _BAD:
            # Only this line is lost: an open quote must not take the following rows with it.
            at = _skip_line(text, at)
        else:
            at = end
            rows += 1
    return rows, at


@inner_kernel
def _read_row(
    text: NDArray[np.uint8],
    at: int,
    delimiter: int,
    slot: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    doubled: NDArray[np.bool_],
) -> int:
    """Return where the line after a row begins, or -1 if it cannot be read; a quoted cell may have lines."""
    if _is_line_end(text, at):
        return _BAD
    for field in range(slot.size):
        quoted = at < text.size and text[at] == _QUOTE
        begin = at + quoted
        if quoted:
            at, twice = _close_quote(text, begin)
        else:
            at, twice = _end_bare(text, begin, delimiter), False
        if at == _BAD:
            return _BAD
        end = at
        at += quoted  # behind the closing quote
        # A carriage return before the newline ends the line and is no part of the cell.
        if not quoted and end > begin and text[end - 1] == _RETURN and _is_line_end(text, end):
            end -= 1
        elif quoted and at < text.size and text[at] == _RETURN and _is_line_end(text, at + 1):
            at += 1
        if slot[field] >= 0:
            first[slot[field]], last[slot[field]], doubled[slot[field]] = begin, end, twice
        if field < slot.size - 1:
            # Too few cells, or something after a closing quote.
            if at == text.size or text[at] != delimiter:
                return _BAD
            at += 1
    # Too many cells, or something after the last closing quote.
    if at < text.size and text[at] != _NEWLINE:
        return _BAD
    # The last line need not end in a newline.
    return min(at + 1, text.size)


@inner_kernel
def _is_line_end(text: NDArray[np.uint8], at: int) -> bool:
    """Whether a line ends here, perhaps by a carriage return first."""
    if at < text.size and text[at] == _RETURN:
        at += 1
    return at >= text.size or text[at] == _NEWLINE


@inner_kernel
def _close_quote(text: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """Return where the quote is that ends a cell, and whether there are others before it."""
    twice = False
    while at < text.size:
        if text[at] == _QUOTE:
            # Two quotes in a row stand for one character of the cell.
            if at + 1 == text.size or text[at + 1] != _QUOTE:
                return at, twice
            twice = True
            at += 1
        at += 1
    return _BAD, twice


@inner_kernel
def _end_bare(text: NDArray[np.uint8], at: int, delimiter: int) -> int:
    """Return where a cell without quotes ends; a quote inside of it is a character like any other."""
    while at < text.size and text[at] != delimiter and text[at] != _NEWLINE:
        at += 1
    return at


@inner_kernel
def _skip_line(text: NDArray[np.uint8], at: int) -> int:
    """Return where the next line begins."""
    while at < text.size and text[at] != _NEWLINE:
        at += 1
    return at + 1
