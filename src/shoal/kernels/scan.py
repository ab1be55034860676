"""One pass over delimited text that finds where rows end and the first thing wrong with them.

The text arrives in chunks of any size; everything that must be remembered between two chunks is in a small
``state`` array, so that a file of any length is checked in constant memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.signatures import ReadOnly

# Slots of the state. First: where we are.
MODE, FIELDS, WIDTH, LAST, OFFSET, LINE, ROW_LINE, QUOTE_LINE, BLANKS, BLANK_LINE = range(10)
# Then what was found: fields of the first row, all rows, blank lines before the first row, lines and bytes up
# to its end, cells in quotes, the first line with a quote inside a bare cell, and the problem.
EXPECTED, ROWS, SKIPPED, FIRST_LINES, FIRST_BYTES, QUOTED_CELLS, STRAY_LINE = range(10, 17)
PROBLEM, PROBLEM_LINE, FOUND = range(17, 20)

# Outside quotes; between them; after a quote that may have closed a cell; after that and a carriage return.
OUTSIDE, QUOTED, CLOSED, RETURNED = range(4)

# What can be wrong.
NOTHING, RAGGED, NUL, AFTER_QUOTE, UNCLOSED = range(5)

_QUOTE, _RETURN = 34, 13


def new_state() -> NDArray[np.int64]:
    """Return the state before the first byte."""
    state = np.zeros(20, np.int64)
    state[[FIELDS, LINE, ROW_LINE]] = 1
    return state


@inner_kernel
def _record_problem(state: NDArray[np.int64], problem: int, line: int, found: int) -> None:
    state[PROBLEM], state[PROBLEM_LINE], state[FOUND] = problem, line, found


@inner_kernel
def _end_row(state: NDArray[np.int64], fields: int) -> None:
    """Count a row, and the blank lines before it, which only now turn out not to be the end of the text."""
    if state[EXPECTED] == 0:
        state[EXPECTED], state[SKIPPED], state[FIRST_LINES] = fields, state[BLANKS], state[LINE]
    # In a table of one column a blank line is a row with an empty cell.
    elif state[EXPECTED] == 1:
        state[ROWS] += state[BLANKS]
    elif state[BLANKS] > 0:
        _record_problem(state, RAGGED, state[BLANK_LINE], 0)
        return
    state[BLANKS] = 0
    if fields == state[EXPECTED]:
        state[ROWS] += 1
    else:
        _record_problem(state, RAGGED, state[ROW_LINE], fields)


@inner_kernel
def _end_line(state: NDArray[np.int64], fields: int, width: int, returned: bool, end: int) -> None:
    """Take note of a row of ``width`` bytes that is over, or of a blank line."""
    if width == 0 or (width == 1 and returned):
        if state[BLANKS] == 0:
            state[BLANK_LINE] = state[LINE]
        state[BLANKS] += 1
    else:
        if state[EXPECTED] == 0:
            state[FIRST_BYTES] = end
        _end_row(state, fields)
    state[LINE] += 1
    state[ROW_LINE] = state[LINE]


@inner_kernel
def _open_quote(state: NDArray[np.int64], opens: bool) -> int:
    """Return the mode after a quote outside quotes: only at the start of a cell does it open one."""
    if opens:
        state[QUOTE_LINE] = state[LINE]
        state[QUOTED_CELLS] += 1
        return QUOTED
    if state[STRAY_LINE] == 0:
        state[STRAY_LINE] = state[LINE]
    return OUTSIDE


@inner_kernel
def _after_quote(state: NDArray[np.int64], mode: int, byte: int, delimiter: int) -> int:
    """Return the mode after the byte that follows what may be a closing quote."""
    if mode == CLOSED and byte == _QUOTE:
        return QUOTED
    if mode == CLOSED and byte == delimiter:
        return OUTSIDE
    # After the quote only a carriage return may come here; the caller has handled the newline.
    if mode == RETURNED or byte != _RETURN:
        _record_problem(state, AFTER_QUOTE, state[LINE], 0)
    return RETURNED


@inner_kernel
def _skip_plain_bytes(chunk: NDArray[np.uint8], at: int, kind: NDArray[np.int64]) -> tuple[int, int]:
    """Return where the next quote, line end or NUL stands, and how many delimiters come before it."""
    # Nearly all bytes of a file pass through here: counting without a branch keeps it fast.
    passed = 0
    while at < chunk.size and kind[chunk[at]] < 2:
        passed += kind[chunk[at]]
        at += 1
    return at, passed


@entry_kernel
def scan_chunk(chunk: ReadOnly[np.uint8], delimiter: int, newline: int, state: NDArray[np.int64]) -> None:
    """Advance ``state`` over ``chunk``, up to the first problem.

    Parameters
    ----------
    chunk
        The next bytes of the text, in an encoding that agrees with ASCII.
    delimiter, newline
        The bytes that end a cell and a row.
    state
        From :func:`new_state`, or as a former call left it; changed in place.
    """
    kind = np.zeros(256, np.int64)
    kind[delimiter] = 1
    kind[0] = kind[_QUOTE] = kind[newline] = 2
    # The row may have begun before this chunk: then its start is negative.
    mode, fields, start, at = state[MODE], state[FIELDS], -state[WIDTH], 0
    while at < chunk.size and state[PROBLEM] == NOTHING:
        # Between quotes delimiters are passed over as well, but do not count.
        if mode <= QUOTED:
            at, passed = _skip_plain_bytes(chunk, at, kind)
            fields += passed if mode == OUTSIDE else 0
            if at == chunk.size:
                break
        byte = chunk[at]
        last = chunk[at - 1] if at > 0 else state[LAST]
        if byte == 0:
            _record_problem(state, NUL, state[LINE], 0)
        elif mode == QUOTED:
            if byte == _QUOTE:
                mode = CLOSED
                if at + 2 < chunk.size and chunk[at + 1] == delimiter and chunk[at + 2] == _QUOTE:
                    # Between two quoted cells: where all cells are quoted, this halves the time.
                    mode = _open_quote(state, True)
                    fields += 1
                    at += 2
            elif byte == newline:
                state[LINE] += 1
        elif byte == newline:
            _end_line(state, fields, at - start, last == _RETURN, state[OFFSET] + at + 1)
            start, fields, mode = at + 1, 1, OUTSIDE
        elif mode == OUTSIDE:
            mode = _open_quote(state, at == start or last == delimiter)
        else:
            mode = _after_quote(state, mode, byte, delimiter)
            fields += mode == OUTSIDE
        at += 1
    state[MODE], state[FIELDS], state[WIDTH] = mode, fields, chunk.size - start
    state[OFFSET] += chunk.size
    if chunk.size > 0:
        state[LAST] = chunk[-1]


@entry_kernel
def finish_scan(state: NDArray[np.int64]) -> None:
    """Close the last row, which need not end in a newline."""
    if state[PROBLEM] == NOTHING and state[MODE] == QUOTED:
        _record_problem(state, UNCLOSED, state[QUOTE_LINE], 0)
    elif state[PROBLEM] == NOTHING and state[WIDTH] > 0:
        _end_line(state, state[FIELDS], state[WIDTH], state[LAST] == _RETURN, state[OFFSET])
