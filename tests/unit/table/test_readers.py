import gzip
from datetime import date

import polars as pl
import pytest
import zstandard

from shoal.errors import InputError
from shoal.table import ReadOptions, read_table, write_table
from shoal.table import formats as formats_module
from shoal.table.readers import list_sheets

FRAME = pl.DataFrame(
    {"zip": ["00123", "00045", None], "age": [20, None, 40], "born": [date(2000, 1, 31)] * 3}
)
CSV = FRAME.write_csv().encode()


@pytest.mark.parametrize(
    ("name", "raw", "format", "compression"),
    [
        ("x.csv", CSV, "text", None),
        ("x.unheard-of", CSV, "text", None),
        ("x", CSV, "text", None),
        ("x.csv.gz", gzip.compress(CSV, mtime=0), "text", "gzip"),
        ("x.csv.zst", zstandard.compress(CSV), "text", "zstd"),
        ("x.csv.zst", zstandard.compress(CSV[:20]) + zstandard.compress(CSV[20:]), "text", "zstd"),
        ("lies.csv", gzip.compress(CSV, mtime=0), "text", "gzip"),
        ("lies.csv.gz", CSV, "text", None),
    ],
)
def test_text_formats(tmp_path, name, raw, format, compression):
    path = tmp_path / name
    path.write_bytes(raw)
    table = read_table(str(path))
    assert table.frame.equals(FRAME.cast(pl.String))
    assert (table.origin.format, table.origin.compression) == (format, compression)
    assert (table.origin.kind, table.origin.path) == ("path", path)


@pytest.mark.parametrize(
    ("name", "write", "format"),
    [
        ("x.parquet", "write_parquet", "parquet"),
        ("lies.csv", "write_parquet", "parquet"),
        ("x.arrow", "write_ipc", "arrow"),
        ("x.feather", "write_ipc", "arrow"),
        ("lies.txt", "write_ipc", "arrow"),
        ("x.ipc", "write_ipc_stream", "arrow"),
        ("x.XLSX", "write_excel", "excel"),
        ("lies.dat", "write_excel", "excel"),
    ],
)
def test_typed_formats_keep_their_types(tmp_path, name, write, format):
    path = tmp_path / name
    with path.open("wb") as stream:
        getattr(FRAME, write)(stream)
    table = read_table(path)
    assert table.frame.equals(FRAME)
    assert table.frame.schema == FRAME.schema
    assert table.origin.format == format


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.jsonl.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_lines(tmp_path, name, encoding):
    raw = '{"a": "00é", "b": 1}\n{"a": null, "b": 2.5, "c": true}\n'.encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    assert read_table(path).frame.rows() == [("00é", 1.0, None), (None, 2.5, True)]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "xlsx", "csv"])
def test_a_path_is_not_a_pattern(tmp_path, suffix):
    path = tmp_path / f"x[1]*.{suffix}"
    write_table(FRAME, path)
    assert read_table(path).rows == 3


def test_a_folder_name_adds_no_column(tmp_path):
    (tmp_path / "year=2020").mkdir()
    write_table(FRAME, tmp_path / "year=2020" / "x.parquet")
    assert read_table(tmp_path / "year=2020" / "x.parquet").names == FRAME.columns


def test_a_compressed_typed_file(tmp_path):
    path = tmp_path / "x.parquet.gz"
    with gzip.open(path, "wb") as stream:
        FRAME.write_parquet(stream)
    assert read_table(path).frame.equals(FRAME)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n\n{"a": 2,,}\n', "line 3 is not JSON"),
        ('{"a": 1}\n[1]\n', "line 2 is not a JSON object"),
        ('{"a": 1}\n{"a": [1]}\n', "line 2 has lists or objects in 'a'"),
        ('{"a": 1, "b": {"c": 2}}\n', "in 'b'"),
        ("\n\n", "no rows"),
    ],
)
def test_bad_json_lines(tmp_path, text, message):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_table(path)
    assert str(path) in str(error.value)


def sheet(path, rows):
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        for at, row in enumerate(rows):
            page.write_row(at, 0, row)


def test_sheets(tmp_path):
    path = tmp_path / "x.xlsx"
    sheet(path, [["a", "b"], [1, "x"], [None, None], [2, "y"]])
    assert read_table(path).frame.rows() == [(1, "x"), (None, None), (2, "y")]
    assert read_table(path, ReadOptions(header=False)).frame.rows()[0] == ("a", "b")
    assert read_table(path, ReadOptions(header=False)).names == ["column_1", "column_2"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "a"], [1, 2]], "more than one column is called 'a'"),
        ([["a", None, "c"], [1, 2, 3]], "column 2 has no name"),
        ([["a", "b"]], "has columns but no rows"),
        ([], "has no columns"),
    ],
)
def test_bad_sheets(tmp_path, rows, message):
    path = tmp_path / "x.xlsx"
    sheet(path, rows)
    with pytest.raises(InputError, match=message):
        read_table(path)


def test_excel_is_an_extra(tmp_path, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(module)

    path = tmp_path / "x.xlsx"
    sheet(path, [["a"], [1]])
    monkeypatch.setattr(formats_module, "import_module", missing)
    with pytest.raises(InputError, match=r"pip install shoal\[excel\]"):
        read_table(path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "xlsx"])
def test_damaged_typed_files(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    for raw in (
        b"a,b\n1,2\n",
        {"parquet": b"PAR1", "arrow": b"ARROW1\0\0", "xlsx": b"PK\3\4"}[suffix] + b"junk" * 9,
    ):
        path.write_bytes(raw)
        with pytest.raises(InputError, match=f"x.{suffix} (is damaged|cannot be read|is no )"):
            read_table(path)


def test_a_panic_of_the_reader_is_an_input_error(tmp_path, monkeypatch):
    def panic(_):
        raise pl.exceptions.PanicException("out of range")

    path = tmp_path / "x.parquet"
    FRAME.write_parquet(path)
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError, match="is damaged"):
        read_table(path)


@pytest.mark.parametrize("cut", [3, 9, 20])
@pytest.mark.parametrize(("name", "pack"), [("x.csv.gz", gzip.compress), ("x.csv.zst", zstandard.compress)])
def test_cut_off_compressed_files(tmp_path, name, pack, cut):
    path = tmp_path / name
    path.write_bytes(pack(CSV)[:-cut])
    with pytest.raises(InputError, match=f"{name} is damaged"):
        read_table(path)


@pytest.mark.parametrize(
    "raw", [b"\x1f\x8bnot gzip at all", b"\x28\xb5\x2f\xfd and junk", zstandard.compress(CSV) + b"zz"]
)
def test_corrupt_compressed_files(tmp_path, raw):
    path = tmp_path / "x.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="is damaged"):
        read_table(path)


def test_nested_columns_are_named(tmp_path):
    path = tmp_path / "x.parquet"
    pl.DataFrame({"a": [1], "b": [[1]], "c": [{"d": 1}]}).write_parquet(path)
    with pytest.raises(InputError, match=r"x.parquet: not plain values but List\(Int64\) in 'b', 'c'"):
        read_table(path)


def test_typed_file_without_rows(tmp_path):
    path = tmp_path / "x.parquet"
    FRAME.head(0).write_parquet(path)
    with pytest.raises(InputError, match="has columns but no rows"):
        read_table(path)


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.csv: no such file"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="is not a regular file"):
        read_table("/dev/null")
    (tmp_path / "empty.parquet").touch()
    with pytest.raises(InputError, match=r"empty.parquet is empty"):
        read_table(tmp_path / "empty.parquet")
    with pytest.raises(InputError, match=r"not a builtins.list"):
        read_table([1])


def test_unreadable(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "x.csv"
    path.write_bytes(CSV)
    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(InputError, match=r"x.csv cannot be read: Permission denied"):
        read_table(path)


def write_book(path):
    """A workbook whose first sheet has no rows."""
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        for name, rows in (
            ("readme", [["what this is"]]),
            ("people", [["age"], [20], [30]]),
            ("b", [["x"], [1]]),
        ):
            sheet = book.add_worksheet(name)
            for at, cells in enumerate(rows):
                sheet.write_row(at, 0, cells)
    return path


def test_a_sheet_is_read_by_its_name_and_an_empty_one_names_the_others(tmp_path):
    path = write_book(tmp_path / "book.xlsx")
    assert list_sheets(path) == ["readme", "people", "b"]
    assert read_table(path, ReadOptions(sheet="people")).column("age").to_list() == [20, 30]
    assert list(read_table(path, ReadOptions(sheet="b")).names) == ["x"]
    with pytest.raises(InputError, match=r"the sheet 'readme' has no rows; .*--sheet NAME: 'people', 'b'"):
        read_table(path)
    with pytest.raises(InputError, match=r"unknown sheet 'peopel'.*'people'"):
        read_table(path, ReadOptions(sheet="peopel"))
