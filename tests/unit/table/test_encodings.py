import codecs

import pytest

from shoal.errors import InputError
from shoal.table import ReadOptions, read_table

TEXT = "name,note\nJürgen,naïve\nZoë,50 €\n"


@pytest.mark.parametrize(
    ("raw", "encoding", "bom"),
    [
        (TEXT.encode(), "utf-8", False),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8", True),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le", True),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be", True),
        (TEXT.encode("utf-16-le"), "utf-16-le", False),
        (TEXT.encode("utf-16-be"), "utf-16-be", False),
        (TEXT.encode("cp1252"), "cp1252", False),
    ],
)
def test_finds_the_encoding(tmp_path, raw, encoding, bom):
    path = tmp_path / "x.csv"
    path.write_bytes(raw)
    table = read_table(path)
    assert table.frame.rows() == [("Jürgen", "naïve"), ("Zoë", "50 €")]
    assert table.names == ["name", "note"]
    assert (table.origin.encoding, table.origin.bom) == (encoding, bom)


def test_latin_1_is_what_nothing_else_can_be(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n\x81,\xe4\n")
    assert read_table(path).frame.row(0) == ("\x81", "ä")
    assert read_table(path).origin.encoding == "latin-1"


def test_the_first_odd_byte_may_come_late(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 600_000 + b"\xe4,2\n")
    table = read_table(path)
    assert table.frame.row(-1) == ("ä", "2")
    assert table.rows == 600_001


def test_a_character_may_be_cut_by_a_chunk(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1," + "ä€".encode() * 500_000 + b"\n")
    assert read_table(path).frame.item(0, "b") == "ä€" * 500_000


@pytest.mark.parametrize("stated", ["utf-8", "UTF8", "utf-8-sig"])
def test_stated_utf8_with_and_without_a_mark(tmp_path, stated):
    path = tmp_path / "x.csv"
    for mark in (b"", codecs.BOM_UTF8):
        path.write_bytes(mark + TEXT.encode())
        table = read_table(path, ReadOptions(encoding=stated))
        assert (table.names, table.origin.encoding) == (["name", "note"], "utf-8")


@pytest.mark.parametrize("stated", ["utf-16", "shift_jis", "latin-1", "utf-32"])
def test_any_encoding_may_be_stated(tmp_path, stated):
    path = tmp_path / "x.csv"
    text = "a,b\n日本,1\n" if stated in ("shift_jis", "utf-16") else "a,b\n§,1\n"
    path.write_bytes(text.encode(stated))
    assert read_table(path, ReadOptions(encoding=stated)).frame.rows() == [
        tuple(text.split("\n")[1].split(","))
    ]


def test_text_that_is_not_in_the_stated_encoding(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,2\n3,\xe4\n")
    with pytest.raises(InputError, match=r"x.csv: line 3 is not utf-8 text \(bytes e4 0a\)"):
        read_table(path, ReadOptions(encoding="utf-8"))
    path.write_bytes(b"a,b\n1,2\n3,\xc3")
    with pytest.raises(InputError, match="line 3 is not utf-8 text"):
        read_table(path, ReadOptions(encoding="utf-8"))


@pytest.mark.parametrize("stated", ["klingon", "rot13"])
def test_unknown_encodings(tmp_path, stated):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=f"unknown encoding '{stated}'"):
        read_table(path, ReadOptions(encoding=stated))


@pytest.mark.parametrize("raw", [b"a,b\n1,\x0023\n", b"a,b\n1,\x00\n", b"a,b\n12\x00,\n"])
def test_a_zero_byte_does_not_make_utf16(tmp_path, raw):
    path = tmp_path / "x.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="line 2 contains a NUL byte"):
        read_table(path)
