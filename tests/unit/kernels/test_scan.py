import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import scan as kernel


def scanned(text: bytes, size: int = 1 << 20, delimiter: str = ",", newline: str = "\n"):
    state = kernel.new_state()
    for start in range(0, len(text), size):
        chunk = np.frombuffer(text[start : start + size], np.uint8)
        kernel.scan_chunk(chunk, ord(delimiter), ord(newline), state)
        if state[kernel.PROBLEM]:
            break
    kernel.finish_scan(state)
    return state


def outcome(state) -> tuple[int, int, int]:
    return int(state[kernel.PROBLEM]), int(state[kernel.PROBLEM_LINE]), int(state[kernel.FOUND])


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        (b"a,b\n1,2\n", 2, 2),
        (b"a,b\n1,2", 2, 2),
        (b"a,b\r\n1,2\r\n\r\n", 2, 2),
        (b"a,b\n1,2\n\n\n\n", 2, 2),
        (b"a\n1\n\n\n2\n\n", 1, 5),
        (b"a\r\n\r\n2\r\n", 1, 3),
        (b'a\n""\n""\n', 1, 3),
        (b"\n\r\na,b\n1,2\n", 2, 2),
        (b'"a,b","c\nd"\n"""",","\n', 2, 2),
        (b"a,b\n,\n", 2, 2),
        (b'a,b\n5" pipe,6"\n', 2, 2),
        (b"", 0, 0),
        (b"\n\n", 0, 0),
    ],
)
def test_counts_columns_and_rows(text, columns, rows):
    state = scanned(text)
    assert outcome(state) == (kernel.NOTHING, 0, 0)
    assert (state[kernel.EXPECTED], state[kernel.ROWS]) == (columns, rows)


@pytest.mark.parametrize(
    ("text", "problem", "line", "found"),
    [
        (b"a,b\n1,2\n3\n", kernel.RAGGED, 3, 1),
        (b"a,b\n1,2,3\n", kernel.RAGGED, 2, 3),
        (b"a,b\n1,2\n3,4,5", kernel.RAGGED, 3, 3),
        (b'a,b\n"x\ny",2\n"z\n",\n1\n', kernel.RAGGED, 6, 1),
        (b'a,b\n1,2\n"x\n\ny"\n', kernel.RAGGED, 3, 1),
        (b"a,b\n1,2\n\n\n3,4\n", kernel.RAGGED, 3, 0),
        (b"a,b\r\n1,2\r\n\r\n3,4\r\n", kernel.RAGGED, 3, 0),
        (b"a,b\n1,\x00\n", kernel.NUL, 2, 0),
        (b'a,b\n1,"\n\x00"\n', kernel.NUL, 3, 0),
        (b'a,b\n"x"y,2\n', kernel.AFTER_QUOTE, 2, 0),
        (b'a,b\n"x" ,2\n', kernel.AFTER_QUOTE, 2, 0),
        (b'a,b\n"x"\ry,2\n', kernel.AFTER_QUOTE, 2, 0),
        (b'a,b\n"x"\r,2\n', kernel.AFTER_QUOTE, 2, 0),
        (b'a,b\n1,2\n3,"x\n5,6\n', kernel.UNCLOSED, 3, 0),
        (b'"a', kernel.UNCLOSED, 1, 0),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_finds_the_first_problem_and_its_line(text, problem, line, found, size):
    assert outcome(scanned(text, size)) == (problem, line, found)


def test_tells_where_the_first_row_ends():
    state = scanned(b'\n"a\nb",c\r\n1,2\n')
    assert (state[kernel.SKIPPED], state[kernel.FIRST_LINES], state[kernel.FIRST_BYTES]) == (1, 3, 10)
    assert scanned(b"a,b")[kernel.FIRST_BYTES] == 3


def test_tells_quoted_cells_from_stray_quotes():
    state = scanned(b'a,b\n"x","y"\n5",6\n')
    assert (state[kernel.QUOTED_CELLS], state[kernel.STRAY_LINE]) == (2, 3)


def test_other_delimiters_and_line_ends():
    state = scanned(b"a;b,c\r1;2\r", delimiter=";", newline="\r")
    assert (state[kernel.EXPECTED], state[kernel.ROWS], state[kernel.PROBLEM]) == (2, 2, kernel.NOTHING)


@settings(deadline=None)
@given(st.lists(st.sampled_from(b'ab,"\r\n\0'), max_size=40).map(bytes), st.integers(1, 5))
def test_chunks_make_no_difference(text, size):
    assert np.array_equal(scanned(text, size)[kernel.EXPECTED :], scanned(text)[kernel.EXPECTED :])


cell = st.text(alphabet='ab ",;\r\n\té€', max_size=6)


@settings(deadline=None)
@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1)
    ),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_agrees_with_the_standard_library(table, quoting, newline):
    sink = io.StringIO()
    csv.writer(sink, quoting=quoting, lineterminator=newline).writerows(table)
    state = scanned(sink.getvalue().encode())
    assert outcome(state) == (kernel.NOTHING, 0, 0)
    assert (state[kernel.EXPECTED], state[kernel.ROWS]) == (len(table[0]), len(table))
