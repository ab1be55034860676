"""Rows that are read one by one: text against Python's own reader, damaged lines, values of every type."""

import csv
import gzip
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError, RecipeError
from shoal.table import ReadOptions, open_rows, read_table
from shoal.table.rowwise import ROW_TYPES, check_row_types, written_text

STRINGS = {"a": "string", "b": "string", "c": "string"}


def opened(path, content, **options):
    path.write_bytes(content)
    return open_rows(path, ReadOptions(**options))


def rows_of(path, content, types=STRINGS, **options):
    return opened(path, content, **options).read_columns(types).rows()


# Delimited text.

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_text_is_read_as_python_wrote_it(tmp_path_factory, rows, end, quoted):
    stream = StringIO()
    writer = csv.writer(stream, lineterminator=end, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerows([("a", "b", "c"), *rows])
    path = tmp_path_factory.mktemp("rows") / "t.csv"
    # Python quotes no carriage return where lines end without one, and then takes it for a line end itself.
    ends = [tuple(cell[:-1] if cell.endswith("\r") else cell for cell in row) for row in rows]
    found = rows_of(path, stream.getvalue().encode())
    assert found in (rows, [(*row[:2], end[2]) for row, end in zip(rows, ends, strict=True)])


LINE = st.binary(max_size=30).filter(lambda line: b"\n" not in line)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([b"1,2,3", b'4,"5",6', b'"a ""b""",,', b'"x,y",z,"two\nlines"']), max_size=6),
    LINE,
)
def test_no_line_changes_what_is_read_of_others(tmp_path_factory, good, line):
    path = tmp_path_factory.mktemp("rows") / "t.csv"
    without = rows_of(path, b"\n".join([b"a,b,c", *good, b""]))
    # Another line that opens a quote as well could end it; one that is written as it should be does not.
    first, last = (
        rows_of(path, b"\n".join([b"a,b,c", *lines, b""])) for lines in ([line, *good], [*good, line])
    )
    assert len(without) == len(good)
    assert last[: len(without)] == without
    assert len(last) - len(without) in (0, 1)
    assert first[len(first) - len(without) :] == without
    assert len(first) - len(without) in (0, 1)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"x,y", []),
        (b"x,y,z,w", []),
        (b"", []),
        (b"\r", []),
        (b'"x,y,z', []),
        (b'x,"y,z', []),
        (b'x,"y"y,z', []),
        (b'x,y,"z"z', []),
        (b"x,y,z\r", [("x", "y", "z")]),
        (b'x,y,"z"\r', [("x", "y", "z")]),
        (b"x,y,a\rb", [("x", "y", "a\rb")]),
        (b'x,y,5"', [("x", "y", '5"')]),
        (b'x,y,"5"""', [("x", "y", '5"')]),
        (b'x,y,""', [("x", "y", "")]),
        (b"x,y,", [("x", "y", "")]),
        (b",,", [("", "", "")]),
        (b"x,y,\xff", [("x", "y", "\ufffd")]),
        (b"x,y,\xe2\x82", [("x", "y", "\ufffd")]),
        (b"x,y,\0", [("x", "y", "\ufffd")]),
        (b'x,"1\n2",z', [("x", "1\n2", "z")]),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_lines(line, found, end, tmp_path):
    good = [("1", "2", "3")]
    assert rows_of(tmp_path / "t.csv", b"a,b,c\n1,2,3\n" + line + end) == good + found
    assert rows_of(tmp_path / "t.csv", b"a,b,c\n" + line + b"\n1,2,3" + end) == found + good


def test_columns_that_are_not_asked_for_are_not_looked_at(tmp_path):
    rows = opened(tmp_path / "t.csv", b'a,b,c\n\xff,"2",3\n')
    assert rows.read_columns({"c": "string", "b": "string"}).rows() == [("3", "2")]


def test_many_rows_come_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.table.rowwise._ROWS_AT_ONCE", 7)
    content = b"a,b,c\n" + b"".join(b'%d,"%d",\n' % (i, i) for i in range(50))
    assert rows_of(tmp_path / "t.csv", content) == [(str(i), str(i), "") for i in range(50)]


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.csv", b"a,b,c\n1,2,3\n", {}),
        ("t.csv", b"\xef\xbb\xbfa,b,c\r\n1,2,3\r\n", {}),
        ("t.csv", b'\n\n"a",b,c\n1,2,3', {}),
        ("t.tsv", b"a\tb\tc\n1\t2\t3\n", {}),
        ("t.tsv.gz", gzip.compress(b"a\tb\tc\n1\t2\t3\n", mtime=0), {}),
        ("t.csv", b"a;b;c\n1;2;3\n", {"delimiter": ";"}),
        ("t.csv.gz", gzip.compress(b"a,b,c\n1,2,3\n", mtime=0), {}),
        ("t.csv", b"a,b,c\n1,2,3\n", {"encoding": "cp1252"}),
    ],
)
def test_what_is_stated_or_told_by_the_name(name, content, options, tmp_path):
    assert rows_of(tmp_path / name, content, **options) == [("1", "2", "3")]


def test_an_encoding_is_stated_or_utf_8(tmp_path):
    content = "a,b,c\nMünchen,2,3\n".encode("latin-1")
    assert rows_of(tmp_path / "t.csv", content, encoding="latin-1")[0][0] == "München"
    assert rows_of(tmp_path / "t.csv", content)[0][0] == "M\ufffdnchen"


def test_how_a_release_is_written_does_not_depend_on_rows(tmp_path):
    content = "a;b;c\r\nMünchen;2;3\r\n".encode("latin-1")
    origin = opened(tmp_path / "t.csv", content, encoding="latin-1", delimiter=";").origin
    written = origin.delimiter, origin.encoding, origin.newline, origin.bom, origin.header
    assert written == (";", "utf-8", "\n", False, True)


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        (b"1,2,3\n", {"header": False}, "names of its columns are needed in a header"),
        (b"a,b,c\n", {"encoding": "utf-16"}, "one wrong byte can change"),
        (b"a,b,c\n", {"encoding": "shift_jis"}, "one wrong byte can change"),
        (b"a,b,c\n", {"encoding": "no-such"}, "unknown encoding 'no-such'"),
        (b"a,b,a\n", {}, "more than one column is called 'a'"),
        (b'a,"b\n', {}, "header cannot be read"),
        (b"\n\n", {}, "no columns"),
    ],
)
def test_what_is_refused_whatever_the_rows_are(content, options, says, tmp_path):
    for rows in (b"", b"1,2,3\n"):
        with pytest.raises(InputError, match=says):
            opened(tmp_path / "t.csv", content + (rows if b"a" in content else b""), **options)


@pytest.mark.parametrize("suffix", ["jsonl", "xlsx"])
def test_files_without_types_of_their_own_are_refused(suffix, tmp_path):
    frame, path = pl.DataFrame({"a": [1]}), tmp_path / f"t.{suffix}"
    frame.write_ndjson(path) if suffix == "jsonl" else frame.write_excel(path)
    with pytest.raises(InputError, match="one row could decide on a column"):
        open_rows(path, ReadOptions())


def test_a_table_without_rows(tmp_path):
    assert rows_of(tmp_path / "t.csv", b"a,b,c") == []
    assert rows_of(tmp_path / "t.csv", b"a,b,c\n\n\n") == []
    assert (
        open_rows(pl.DataFrame(schema={"a": pl.Int64}), ReadOptions()).read_columns({"a": "integer"}).height
        == 0
    )


# Frames.


def test_frames_are_opened_without_a_look_at_their_rows():
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    for source in (frame, frame.to_arrow(), frame.to_pandas()):
        rows = open_rows(source, ReadOptions())
        assert (rows.names, rows.has_types, rows.origin.native) == (["a", "b"], True, None)
        assert rows.make_table().rows == 0
        assert rows.read_columns({"b": "string"}).rows() == [("x",), (None,)]
        assert type(rows.give_back(frame)) is type(source)
        assert open_rows(rows, ReadOptions()) is rows


def test_columns_of_pandas_keep_their_labels():
    rows = open_rows(pd.DataFrame({7: [1], ("a", "b"): [2]}), ReadOptions())
    assert rows.names == ["7", "('a', 'b')"]
    assert list(rows.give_back(pl.DataFrame({"('a', 'b')": ["2"], "7": ["1"]})).columns) == [("a", "b"), 7]


DAYS = [date(2020, 1, 1), date(2020, 2, 3)]


def test_a_day_is_written_alike_in_all_types():
    kinds = [pd.ArrowDtype(kind) for kind in (pa.date32(), pa.date64(), pa.timestamp("ns"))]
    columns = [*(pd.Series(DAYS, dtype=kind) for kind in (*kinds, object)), pd.Series(pd.to_datetime(DAYS))]
    for column in columns:
        rows = open_rows(pd.DataFrame({"a": column}), ReadOptions())
        found = written_text(rows.read_columns({"a": "string"})["a"], "string").to_list()
        assert found == ["2020-01-01", "2020-02-03"]


def spans() -> pd.Series:
    return pd.Series(pd.to_timedelta(["1s", "2 days"]))


def nights(zone: object) -> pd.Series:
    """Times of which UTC says another day than their own clock."""
    return pd.Series(pd.to_datetime(["2020-01-01 02:00", "2020-06-01 00:00"])).dt.tz_localize(zone)


@pytest.mark.parametrize(
    ("type", "column"),
    [
        ("string", pd.Series([1, 30])),
        ("string", pd.Series([True, False])),
        ("string", pd.Series(pd.arrays.SparseArray([0, 30]))),
        ("string", spans()),
        ("string", spans().astype("category")),
        ("date", nights("Europe/Paris")),
        ("date", nights(timezone(timedelta(hours=5)))),
        ("string", nights(timezone(timedelta(hours=5)))),
        ("date", nights(timezone(timedelta(hours=5))).astype("category")),
        ("date", nights(None).astype(pd.ArrowDtype(pa.timestamp("us", "+05:00")))),
        ("string", pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32()))),
        ("string", pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date64()))),
        ("string", pd.Series(DAYS, dtype=pd.ArrowDtype(pa.timestamp("us")))),
        ("string", pd.Series(DAYS, dtype=object)),
        ("string", pd.Series(pd.to_datetime(DAYS))),
        ("string", pd.Series([time(1, 2, 3), time(1, 2, 3, 500)], dtype=pd.ArrowDtype(pa.time64("us")))),
        ("string", pd.Series([time(1, 2, 3), time(1, 2, 3, 500)], dtype=pd.ArrowDtype(pa.time64("ns")))),
        ("string", pd.Series([Decimal("1.50"), Decimal(2)], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))),
    ],
)
@pytest.mark.parametrize(
    "other", ["x", 1.5, None, datetime(2020, 1, 1), datetime(2020, 1, 1, 10), timedelta(days=1)]
)
def test_one_more_row_changes_no_other_in_a_frame_of_pandas(type, column, other):
    def texts(values: pd.Series) -> list[str | None]:
        rows = open_rows(pd.DataFrame({"a": values}), ReadOptions())
        return written_text(rows.read_columns({"a": type})["a"], type).to_list()

    with_one_more = pd.concat([column, pd.Series([other])], ignore_index=True)
    assert texts(with_one_more)[:-1] == texts(column)
    assert None not in texts(column)


def test_times_of_numpy_are_written_like_those_of_python():
    moment, span = np.datetime64("2020-01-01T10:30", "m"), np.timedelta64(90, "s")
    column = pd.Series([moment, span, datetime(2020, 1, 1, 10, 30), timedelta(seconds=90)], dtype=object)
    rows = open_rows(pd.DataFrame({"a": column}), ReadOptions())
    found = written_text(rows.read_columns({"a": "string"})["a"], "string").to_list()
    assert found == ["2020-01-01T10:30:00.000000", "PT1M30S"] * 2


def test_what_is_no_table(tmp_path):
    with pytest.raises(InputError, match=r"not a builtins\.int"):
        open_rows(5, ReadOptions())
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="read by looking at all of its rows"):
        open_rows(read_table(tmp_path / "t.csv"), ReadOptions())
    with pytest.raises(InputError, match="collect it first"):
        open_rows(pl.LazyFrame({"a": [1]}), ReadOptions())
    with pytest.raises(InputError, match="not plain values"):
        open_rows(pl.DataFrame({"a": [[1]]}), ReadOptions()).read_columns({"a": "string"})


# Values.


@pytest.mark.parametrize(
    ("values", "type", "found"),
    [
        (["30", " 30", "30.0", "+30", "3e1", "030"], "integer", ["30"] * 6),
        (["30.5", "x", "", None, "1e400", "nan", "9007199254740992", "1_000"], "integer", [None] * 8),
        (
            [30.0, 30.5, None, float("nan"), float("inf"), -0.0],
            "integer",
            ["30", None, None, None, None, "0"],
        ),
        ([30, None, 2**53 - 1, 2**53], "integer", ["30", None, "9007199254740991", None]),
        ([30, None, 2**53], "string", ["30", None, None]),
        ([30.0, 0.1], "string", ["30", "0.1"]),
        (["30", "30.0", "0.10", "x", "-0.0"], "float", ["30", "30", "0.1", None, "0"]),
        ([30, 1e300], "float", ["30", "1e300"]),
        ([Decimal("1.10"), None], "float", ["1.1", None]),
        (["Yes", "n", "1.0", "0", "maybe"], "boolean", ["true", "false", "true", "false", None]),
        ([True, None], "boolean", ["true", None]),
        ([1.0, 0.0, 2.0], "boolean", ["true", "false", None]),
        (
            ["2020-12-31", " 2020-12-31T10:00", "31.12.2020", "2020-02-30"],
            "date",
            ["2020-12-31"] * 2 + [None] * 2,
        ),
        ([datetime(2020, 12, 31, 10), None], "date", ["2020-12-31", None]),
        ([date(2020, 12, 31)], "date", ["2020-12-31"]),
        ([" a ", "A", "a\0"], "string", [" a ", "A", "a\ufffd"]),
        ([time(10, 30)], "string", ["10:30:00"]),
        ([None, None], "integer", [None, None]),
    ],
)
def test_values_are_written_in_one_way(values, type, found):
    written = written_text(pl.Series(values, strict=False), type).to_list()
    assert [each if each is None else each.replace("e+", "e") for each in written] == found


@pytest.mark.parametrize("type", ROW_TYPES)
def test_a_value_is_written_alike_beside_any_others(type):
    pool = ["30", "30.5", "x", "", "true", "2020-12-31", None, " 1 ", "NA"]
    alone = [written_text(pl.Series([value], dtype=pl.String), type, ["NA"])[0] for value in pool]
    assert written_text(pl.Series(pool), type, ["NA"]).to_list() == alone
    assert alone[pool.index("")] is alone[pool.index("NA")] is None


def test_markers():
    assert written_text(pl.Series([1.0, 999.0]), "integer", ["999.0"]).to_list() == ["1", None]
    assert written_text(pl.Series(["1", "999"]), "float", ["999.0"]).to_list() == ["1", None]
    assert written_text(pl.Series(["?", " ?"]), "string", ["?"]).to_list() == [None, " ?"]


def test_arrow_dictionaries_and_categories():
    column = pa.array(["x", None, "y"]).dictionary_encode()
    rows = open_rows(pa.table({"a": column}), ReadOptions())
    assert written_text(rows.read_columns({"a": "string"})["a"], "string").to_list() == ["x", None, "y"]
    frame = pl.DataFrame({"a": pl.Series(["x", None], dtype=pl.Categorical)})
    assert written_text(frame["a"], "string").to_list() == ["x", None]


def test_types_have_to_be_such_as_need_no_other_values():
    check_row_types({"a": "integer"}, ["a", "b"], needed=False)
    with pytest.raises(RecipeError, match="state the type of 'b'"):
        check_row_types({"a": "integer"}, ["a", "b"], needed=True)
    for type in ("ordered", "datetime"):
        with pytest.raises(RecipeError, match=f"cannot be {type} here"):
            check_row_types({"a": type}, ["a"], needed=False)
