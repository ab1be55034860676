import polars as pl
import pytest

from shoal.errors import InputError
from shoal.table import ReadOptions, read_table


@pytest.fixture
def given(tmp_path):
    def put(text: str | bytes, name: str = "people.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return put


def cells(path, **options):
    frame = read_table(path, ReadOptions(**options)).frame
    assert set(frame.dtypes) == {pl.String}
    return frame.columns, frame.rows()


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
def test_finds_the_delimiter(given, delimiter):
    table = read_table(given("zip,age,job\n00123,20,cook\n00045,30,clerk\n".replace(",", delimiter)))
    assert table.names == ["zip", "age", "job"]
    assert table.frame.row(0) == ("00123", "20", "cook")
    assert table.origin.delimiter == delimiter


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("x;y;z\n1,5;2,5;3,5\n", 3),
        ("1,5;2,5;3,5\n4,5;5,5;6,5\n", 3),
        ("id,name,place\n1,a,52.5;13.4\n2,b,48.1;11.5\n", 3),
        ("1,2,3,52.5;13.4\n4,5,6,48.1;11.5\n", 4),
        ("first name,last name\nAnn B,C D\n", 2),
        ('"a,b";"c,d"\n"1,2";"3,4"\n', 2),
        ("full name\nAnn\nBob Lee\n", 1),
        ("name\nAnn\nBob\n", 1),
    ],
)
def test_is_not_misled_by_other_delimiters(given, text, columns):
    assert len(read_table(given(text)).names) == columns


def test_a_stated_delimiter_is_used(given):
    assert cells(given("a,b;c\n1,2;3\n"), delimiter=";") == (["a,b", "c"], [("1,2", "3")])
    assert cells(given("a\tb\n1\t2\n"), delimiter=r"\t")[0] == ["a", "b"]


def test_a_stated_delimiter_that_does_not_occur(given):
    with pytest.raises(InputError, match=r"people.csv has one column with the delimiter ';' and 2 with ','"):
        read_table(given("a,b\n1,2\n"), ReadOptions(delimiter=";"))
    assert cells(given("a\n1\n"), delimiter=";") == (["a"], [("1",)])


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "§"])
def test_impossible_delimiters(delimiter):
    with pytest.raises(InputError, match="one ASCII character"):
        ReadOptions(delimiter=delimiter)


def test_cells_are_kept_as_they_stand(given):
    text = 'a,b,c\n 007,1.50,"x"\n-0,NA, y \n,"",?\n'
    assert cells(given(text), na=("?", "NA"))[1] == [
        (" 007", "1.50", "x"),
        ("-0", "NA", " y "),
        (None, "", "?"),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_quoted_cells_hold_anything(given, newline):
    path = given(f'"a ""q""","b{newline}b"{newline}"1,2","x{newline}{newline}y"{newline}"""","z\r"')
    names, rows = cells(path)
    assert names == ['a "q"', f"b{newline}b"]
    assert rows == [("1,2", f"x{newline}{newline}y"), ('"', "z\r")]
    assert read_table(path).origin.newline == newline


def test_old_macintosh_line_ends(given):
    path = given("a,b\r1,2\r3,4\r")
    assert cells(path) == (["a", "b"], [("1", "2"), ("3", "4")])
    assert read_table(path).origin.newline == "\r"


def test_quotes_are_ordinary_characters_where_no_cell_is_quoted(given):
    assert cells(given('a,b\n5" pipe,6"\n'))[1] == [('5" pipe', '6"')]


def test_without_header(given):
    assert cells(given("1,2\n3,4\n"), header=False) == (["column_1", "column_2"], [("1", "2"), ("3", "4")])


def test_no_final_newline_and_blank_lines_at_both_ends(given):
    assert cells(given("a,b\n1,2"))[1] == [("1", "2")]
    assert cells(given("\n\na,b\n1,2\n\n\r\n\n"))[1] == [("1", "2")]


def test_blank_lines_in_one_column_are_missing_values(given):
    assert cells(given("a\n1\n\n2\n\n\n"))[1] == [("1",), (None,), ("2",)]
    assert cells(given("a\r\n\r\n2\r\n"))[1] == [(None,), ("2",)]


def test_a_cell_of_a_megabyte_and_hundreds_of_columns(given):
    big = "x" * 1_000_000
    assert cells(given(f'a,b\n1,{big}\n2,"{big},"\n'))[1] == [("1", big), ("2", big + ",")]
    row = ",".join(map(str, range(300)))
    assert len(read_table(given(f"{row}\n{row}\n")).names) == 300


def test_quoted_newlines_across_many_chunks(given):
    frame = pl.DataFrame({"a": [f"{n}\n,{n}" for n in range(200_000)], "b": ["z"] * 200_000})
    path = given(frame.write_csv())
    assert read_table(path).frame.equals(frame)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 field where the header has 2 fields"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 fields where the header has 2 fields"),
        ("a;b;c\n1;2\n", "line 2 has 2 fields where the header has 3 fields"),
        ('a,b\n"x\ny",2\n3\n', "line 4 has 1 field"),
        ("a,b\n1,2\n\n3,4\n", "line 3 is blank where the header has 2 fields"),
        ("a,b\n1,\0\n", "line 2 contains a NUL byte"),
        ('a,b\n1,2\n3,"x\n5,6\n', "line 3 opens a quote that is never closed"),
        ('a,b\n"x"y,2\n', "line 2 has text after a closing quote"),
        ('a,b\n"x",2\n5",1\n', "line 3 has a quote inside a cell that is not quoted"),
        ("a,b,a,b,c\n1,2,3,4,5\n", "more than one column is called 'a', 'b'"),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("a,b\n", "has a header but no rows"),
        ("a,b", "has a header but no rows"),
        ("", "is empty"),
        ("\n\n", "is empty"),
    ],
)
def test_malformed_text_is_refused(given, text, message):
    path = given(text)
    with pytest.raises(InputError, match=message) as error:
        read_table(path)
    assert str(path) in str(error.value)


def test_without_a_header_the_first_row_sets_the_width(given):
    with pytest.raises(InputError, match="line 2 has 1 field where the first row has 2 fields"):
        read_table(given("1,2\n3\n"), ReadOptions(header=False))


def test_names_like_those_of_nameless_columns(given):
    assert cells(given("column_2,column_1\n1,2\n")) == (["column_2", "column_1"], [("1", "2")])
