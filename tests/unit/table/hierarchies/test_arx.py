from pathlib import Path

import pytest

from shoal.errors import InputError, OutputError
from shoal.table.hierarchies import (
    Hierarchy,
    read_hierarchy,
    read_source,
    save_hierarchy,
    write_hierarchy,
)

JOBS = [("mason", "manual", "*"), ("smith", "manual", "*"), ("clerk", "office", "*")]


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes) -> Path:
        path = tmp_path / "job.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        "mason;manual;*\nsmith;manual;*\nclerk;office;*\n",
        "mason,manual,*\nsmith,manual,*\nclerk,office,*",
        "mason\tmanual\t*\nsmith\tmanual\t*\nclerk\toffice\t*\n",
        b"\xef\xbb\xbfmason;manual;*\r\nsmith;manual;*\r\n\r\nclerk;office;*\r\n",
        "JOB;level 1;level 2\nmason;manual;*\nsmith;manual;*\nclerk;office;*\n",
        '"mason";"manual";"*"\nsmith;manual;*\nclerk;office;*\n',
        "\n;;\nmason;manual;*;\nsmith;manual;*;;\nclerk;office;*\n",
    ],
    ids=["semicolon", "comma", "tab", "BOM and CRLF", "header", "quotes", "blank and trailing cells"],
)
def test_one_hierarchy_in_several_dresses(file, content):
    assert read_hierarchy(file(content)).to_rows() == JOBS


def test_quotes_protect_delimiters_quotes_and_line_breaks(file):
    tree = read_hierarchy(file('"a;b";"say ""x""";*\n"two\nlines";g,h;*\n'))
    assert tree.to_rows() == [("a;b", 'say "x"', "*"), ("two\nlines", "g,h", "*")]


def test_a_header_is_known_by_the_column_it_is_read_for(file):
    path = file("Work;level1\nmason;*\n")
    assert read_hierarchy(path, "work").leaves == ("mason",)
    assert read_hierarchy(path).leaves == ("Work", "mason")


def test_shorter_lines_are_padded(file):
    assert read_hierarchy(file("a;A;X;*\nb;*;;\nc\n")).to_rows()[1:] == [
        ("b", "b", "b", "*"),
        ("c", "c", "c", "*"),
    ]


def test_a_header_may_be_the_widest_line(file):
    assert read_hierarchy(file("job;1;2;3\na;*\nb;B;*\n")).height == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (" \r\n\n", "is empty"),
        (";;\n", "there are no values"),
        ("job;group\n", "there are no values"),
        ("a;*\nb;B;*\n", "line 2: 3 cells, but the first line has 2; .* longest line"),
        ('a;*\n"two\nlines";*\n\na;*\nb;;*\n', "line 6: 3 cells"),
        ('a;A;*\n"two\nlines";B;*\n\nb;;*\n', "line 5: an empty label at level 1"),
        (";A;*\n", r"line 1: an empty label at level 0 \(the value\)"),
        ("a;A;*\nb;B;*\na;B;*\n", r"line 3: the value 'a' is in 'B' .*'A' before \(line 1\)"),
        ("a;A;X;*\nb;A;Y;*\n", r"line 2: .*'A' \(level 1\) is in 'Y' .*'X' before \(line 1\)"),
        ('a;*\n"b;*\n', "line 2: a quote is opened and never closed"),
        ('a;*\n"b"c;*\n', "line 2: ';' expected after"),
        (b"a;*\n\xff;*\n", "line 2: not UTF-8"),
        ("a;*\nb;" + "x" * 200_000 + "\n", "line 2: field larger than field limit"),
    ],
)
def test_bad_files(file, content, message):
    with pytest.raises(InputError, match=rf"'.*job\.csv'.*{message}"):
        read_hierarchy(file(content))


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match=r"no such file '.*none\.csv'"):
        read_hierarchy(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot read"):
        read_hierarchy(tmp_path)


class TestWrite:
    def test_the_layout(self, tmp_path):
        write_hierarchy(Hierarchy.from_rows([*JOBS, ("a;b", 'x"', "*")]), tmp_path / "out.csv")
        expected = 'mason;manual;*\nsmith;manual;*\nclerk;office;*\n"a;b";"x""";*\n'
        assert (tmp_path / "out.csv").read_bytes() == expected.encode()
        assert list(tmp_path.iterdir()) == [tmp_path / "out.csv"]

    def test_it_replaces_a_file(self, tmp_path):
        path = tmp_path / "out.csv"
        path.write_text("old")
        write_hierarchy(Hierarchy.from_rows(JOBS), path)
        assert read_hierarchy(path).to_rows() == JOBS

    def test_a_failure_leaves_nothing_behind(self, tmp_path):
        tree = Hierarchy.from_rows(JOBS)
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").touch()
        for path in ("folder", "missing/out.csv", "file/out.csv"):
            with pytest.raises(OutputError, match=f"{path} (is a folder|cannot be written)"):
                write_hierarchy(tree, tmp_path / path)
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_value_that_is_called_like_the_column_is_no_header(tmp_path):
    tree = Hierarchy.from_rows([["Job", "A", "*"], ["clerk", "B", "*"]])
    for path in (tmp_path / "job.csv", tmp_path / "other.csv"):
        write_hierarchy(tree, path)
        assert read_hierarchy(path) == tree
    save_hierarchy(tree, tmp_path / "x.csv", "job", "anjana")
    assert read_source(tmp_path / "x.csv", "job") == read_source(tmp_path / "x.csv") == tree
