import errno
import os
import tempfile
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import OutputError
from shoal.table import Origin, ReadOptions, check_writable, count_formula_cells, read_table, write_table
from shoal.table import formats as formats_module

FRAME = pl.DataFrame({"zip": ["00123", "", None], "age": [20, None, 40], "sum": ["=1+1", "-5", "x"]})
SUFFIXES = [
    "csv",
    "tsv",
    "txt",
    "csv.gz",
    "csv.zst",
    "parquet",
    "arrow",
    "feather",
    "jsonl",
    "jsonl.gz",
    "xlsx",
]


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz"])
def test_delimited_text_has_no_nul(tmp_path, suffix):
    with pytest.raises(OutputError, match=r"a cell has a NUL character, .* such as .parquet"):
        write_table(pl.DataFrame({"name": ["a\0b"]}), tmp_path / f"x.{suffix}")
    assert list(tmp_path.iterdir()) == []
    write_table(pl.DataFrame({"name": ["a\0b"]}), tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").frame["name"].to_list() == ["a\0b"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_is_read_back(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    write_table(FRAME, path)
    back = read_table(path)
    if back.origin.format == "text":
        assert back.frame.equals(FRAME.cast(pl.String))
    elif suffix == "xlsx":  # a sheet does not tell an empty text from an empty cell
        assert back.frame.equals(FRAME.with_columns(pl.col("zip").replace("", None)))
    else:
        assert back.frame.equals(FRAME)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_bytes_every_time(tmp_path, monkeypatch, suffix):
    frame = FRAME.with_columns(day=pl.lit(datetime(2020, 1, 1)))
    one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    write_table(frame, one)
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write_table(frame, two)
    assert one.read_bytes() == two.read_bytes()
    if suffix == "xlsx":
        assert b">2000-01-01T00:00:00Z<" in ZipFile(one).read("docProps/core.xml")


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_every_kind_of_frame_is_written(tmp_path, kind):
    write_table(kind({"a": ["x", "y"], "b": [1, 2]}), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "a,b\nx,1\ny,2\n"


def test_the_pandas_index_is_a_column_unless_it_counts_rows(tmp_path):
    write_table(pd.DataFrame({"a": [1, 2]}, index=["r", "s"]), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "index,a\nr,1\ns,2\n"
    write_table(pd.DataFrame({"a": [1, 2]}, index=[7, 5]), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "a\n1\n2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_text_is_written_like_the_input(tmp_path, encoding, delimiter, newline):
    raw = newline.join([f"näme{delimiter}b", f"x{delimiter}", f"ö{delimiter}2", ""]).encode(encoding)
    (tmp_path / "in.csv").write_bytes(raw)
    table = read_table(tmp_path / "in.csv")
    write_table(table.frame, tmp_path / "out.csv", like=table.origin)
    assert (tmp_path / "out.csv").read_bytes() == raw


def test_what_is_told_comes_before_what_was_read(tmp_path):
    like = Origin("path", format="text", delimiter=";")
    frame = pl.DataFrame({"a": ["x"], "b": ["y"]})
    written = []
    for name, delimiter in [
        ("x.csv", None),
        ("x.csv", "|"),
        ("x.tsv", None),
        ("x.tsv.gz", None),
        ("x.tsv", ","),
    ]:
        write_table(frame, tmp_path / name, like=like, delimiter=delimiter)
        written.append(read_table(tmp_path / name).origin.delimiter)
    assert written == [";", "|", "\t", "\t", ","]
    write_table(frame, tmp_path / "x.csv", like=Origin("path", format="parquet"))
    assert (tmp_path / "x.csv").read_text() == "a,b\nx,y\n"


def test_many_batches(tmp_path):
    frame = pl.DataFrame({"a": range(300_000), "b": ["é"] * 300_000}).cast(pl.String)
    write_table(frame, tmp_path / "x.csv", like=Origin("path", format="text", encoding="utf-16-le", bom=True))
    assert read_table(tmp_path / "x.csv").frame.equals(frame)
    write_table(frame, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == frame.write_csv()


def test_a_release_without_rows_has_its_header(tmp_path):
    write_table(FRAME.head(0), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "zip,age,sum\n"


def test_missing_values_at_the_end_of_one_column_stay(tmp_path):
    write_table(pl.DataFrame({"a": ["x", None, None]}), tmp_path / "x.csv")
    assert read_table(tmp_path / "x.csv").column("a").to_list() == ["x", None, None]


def test_a_character_the_encoding_has_not(tmp_path):
    like = Origin("path", format="text", encoding="cp1252")
    with pytest.raises(
        OutputError, match=r"x.csv cannot be written: the character '≥' does not exist in cp1252"
    ):
        write_table(pl.DataFrame({"a": ["≥ 5"]}), tmp_path / "x.csv", like=like)
    assert not list(tmp_path.iterdir())


def test_formula_cells():
    cells = ["=1", "-5", "+x", "@a", "\tq", "\rz", "-1e5", "+3.5", "-", None, "a=", ""]
    frame = pl.DataFrame({"a": cells, "b": ["x"] * 12, "n": [-1] * 12})
    assert count_formula_cells(frame, frame.columns) == {"a": 6}
    assert count_formula_cells(frame, ["b"]) == {}
    assert count_formula_cells(pl.DataFrame({"^a$": ["x"], "a": ["=1"]}), ["^a$"]) == {}
    assert count_formula_cells(frame.with_columns(pl.col("a").cast(pl.Categorical)), ["a"]) == {"a": 6}


def test_safe_csv(tmp_path):
    frame = pl.DataFrame({"a": ["=1", "-5", None], "c": pl.Series(["+x", "y", "y"], dtype=pl.Categorical)})
    write_table(frame, tmp_path / "x.csv", safe_csv=True)
    assert (tmp_path / "x.csv").read_text() == "a,c\n'=1,'+x\n-5,y\n,y\n"
    write_table(pl.DataFrame({"^a$": ["=1"], "a": ["x"]}), tmp_path / "x.csv", safe_csv=True)
    assert (tmp_path / "x.csv").read_text() == "^a$,a\n'=1,x\n"
    write_table(frame, tmp_path / "x.parquet", safe_csv=True)
    assert read_table(tmp_path / "x.parquet").frame["a"].to_list() == ["=1", "-5", None]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": ["x" * 32_768]}),
        pl.DataFrame({f"c{n}": [1] for n in range(16_385)}),
        pl.DataFrame({"a": pl.zeros(1 << 20, eager=True)}),
    ],
)
def test_what_no_sheet_can_hold(tmp_path, frame):
    with pytest.raises(OutputError, match="a sheet holds"):
        write_table(frame, tmp_path / "x.xlsx")
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_replaced_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")
    path.chmod(0o640)
    write_table(pl.DataFrame({"a": ["new"]}), path)
    assert path.read_text() == "a\nnew\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(pl.DataFrame({"a": ["new"]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a\nnew\n"


def test_places_that_cannot_be_written(tmp_path):
    for path, message in [
        (tmp_path / "no" / "x.csv", "there is no folder"),
        (tmp_path, "is a folder"),
        (Path("/dev/null"), "is not a regular file"),
    ]:
        with pytest.raises(OutputError, match=message):
            check_writable(path, [])
        with pytest.raises(OutputError, match=message):
            write_table(FRAME, path)


def test_read_only_places(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != tmp_path.resolve())
    with pytest.raises(OutputError, match=r"the folder .* is read-only"):
        write_table(FRAME, path)
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != path)
    with pytest.raises(OutputError, match="permission denied"):
        check_writable(path, [])
    assert path.read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_a_really_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="is read-only"):
        check_writable(tmp_path / "x.csv", [])
    tmp_path.chmod(0o700)


def test_an_input_is_not_overwritten(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("a\n1\n")
    (tmp_path / "symbolic.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    for name in ("in.csv", "symbolic.csv", "hard.csv", "../" + tmp_path.name + "/in.csv"):
        with pytest.raises(OutputError, match="is an input of this run"):
            check_writable(tmp_path / name, [tmp_path / "other.csv", source])
    check_writable(tmp_path / "out.csv", [source])
    with pytest.raises(OutputError, match="is an input"):
        check_writable(tmp_path / "a" / ".." / "gone.csv", [tmp_path / "gone.csv"])


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "parquet", "arrow", "jsonl", "xlsx"])
def test_a_full_disk(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=f"x.{suffix} cannot be written: no space left on device"):
        write_table(FRAME, path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_a_full_disk_as_polars_tells_it(tmp_path, monkeypatch):
    def full(*_, **__):
        raise pl.exceptions.ComputeError(
            "parquet: underlying IO error: No space left on device (os error 28)"
        )

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OutputError, match=r"cannot be written: no space left on device$"):
        write_table(FRAME, tmp_path / "x.parquet")


@pytest.mark.parametrize("where", ["write_csv", "fsync", "replace"])
def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch, where):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    owner = {"write_csv": pl.DataFrame, "fsync": os, "replace": Path}[where]
    monkeypatch.setattr(owner, where, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_table(FRAME, tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_table(pl.DataFrame({"a": [[1]]}), tmp_path / "x.csv")
    with pytest.raises(OutputError, match=r"not a builtins.list"):
        write_table([1], tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "package"), [("x.xlsx", r"shoal\[excel\]"), ("x.csv.zst", r"shoal\[zstd\]")]
)
def test_missing_extras_are_found_before_the_search(tmp_path, monkeypatch, name, package):
    def missing(module):
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(formats_module, "import_module", missing)
    with pytest.raises(OutputError, match=f"pip install {package}"):
        check_writable(tmp_path / name, [])


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=8)
awkward = st.text(alphabet="a\",;\t| \r\n'=é", max_size=8)
column = st.lists(st.none() | text | awkward, min_size=3, max_size=3)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    st.dictionaries((text | awkward).filter(bool), column, min_size=2, max_size=4),
    st.sampled_from([",", ";", "\t", "|", " "]),
    st.sampled_from([("utf-8", False), ("utf-8", True), ("utf-16-le", True), ("utf-16-be", True)]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["csv", "csv.gz", "csv.zst"]),
)
def test_any_text_survives(columns, delimiter, encoding, newline, suffix):
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    like = Origin("path", None, None, "text", None, delimiter, *encoding, newline)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{suffix}"
        write_table(frame, path, like=like)
        back = read_table(path, ReadOptions(delimiter=delimiter))
    assert back.frame.equals(frame, null_equal=True)
    assert back.names == frame.columns
    assert (back.origin.encoding, back.origin.bom, back.origin.newline) == (*encoding, newline)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.none() | st.text(alphabet='a",\r\n é', max_size=5), min_size=1, max_size=6))
def test_one_column_survives(cells):
    with tempfile.TemporaryDirectory() as folder:
        write_table(pl.DataFrame({"a": cells}, schema={"a": pl.String}), Path(folder) / "x.csv")
        back = read_table(Path(folder) / "x.csv").column("a").to_list()
    assert back == [cell or None for cell in cells]


# What a sheet cannot hold.

MOMENT = datetime(2020, 1, 1, 1, 2, 3)
TOO_FINE = {
    "microseconds": [MOMENT, MOMENT.replace(microsecond=1)],
    "times of day": [time(1, 2, 3, 4), time(1, 2, 3, 5)],
    "durations": [timedelta(days=1, microseconds=1), timedelta(days=1)],
    "zones": [MOMENT.replace(tzinfo=UTC), MOMENT.replace(tzinfo=UTC, microsecond=1)],
    "large numbers": [2**60, 2**60 + 1],
    "long decimals": [Decimal("1234567890123456.01"), Decimal("1234567890123456.02")],
    "before sheets count": [date(1850, 1, 1), date(1850, 1, 2)],
}


@pytest.mark.parametrize("name", TOO_FINE)
def test_what_a_sheet_would_round_is_written_as_text(tmp_path, name):
    frame = pl.DataFrame({"value": TOO_FINE[name]})
    write_table(frame, tmp_path / "a.xlsx")
    again = pl.read_excel(tmp_path / "a.xlsx")["value"]
    assert again.dtype == pl.String
    assert again.n_unique() == 2


def test_what_a_sheet_holds_stays_what_it_is(tmp_path):
    frame = pl.DataFrame({"n": [10**15 - 1, 3], "d": [date(2020, 1, 1), None], "m": [MOMENT, MOMENT]})
    write_table(frame, tmp_path / "a.xlsx")
    assert pl.read_excel(tmp_path / "a.xlsx").cast({"m": pl.Datetime("us")}).equals(frame)


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int16, pl.UInt64])
def test_a_sheet_holds_integers_of_every_width(tmp_path, dtype):
    frame = pl.DataFrame({"n": pl.Series([1, 100], dtype=dtype)})
    write_table(frame, tmp_path / "a.xlsx")
    assert pl.read_excel(tmp_path / "a.xlsx")["n"].to_list() == [1, 100]


def test_rows_without_values_at_the_end_of_a_sheet_are_counted(tmp_path):
    frame = pl.DataFrame({"age": [1, 1, None, None], "note": ["a", "b", None, None]})
    release = shoal.anonymize(
        frame, quasi=["age"], plain=["note"], k=2, algorithm="mondrian", output=tmp_path / "a.xlsx"
    )
    assert release.report.released_rows == 4


def test_numbers_beyond_all_integers_are_read_in_a_sheet(tmp_path):
    frame = pl.DataFrame({"x": [1.7e308, 1.7e308, 2.0, 2.0]})
    shoal.anonymize(frame, quasi=["x"], k=2, algorithm="mondrian", output=tmp_path / "a.xlsx")
    assert (tmp_path / "a.xlsx").exists()
