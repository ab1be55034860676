import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import read_hierarchies

COLUMNS = ["Job", "Name: first", "Age"]


@pytest.fixture
def read(tmp_path):
    def read(content: str, columns=COLUMNS):
        path = tmp_path / "domains.txt"
        path.write_bytes(content.encode())
        return read_hierarchies(path, columns)

    return read


def test_groups_and_subgroups(read):
    found = read(
        "\ufeffJob/Office/Front: clerk, porter\r\nJob/Office/Back : cook\r\nJob/Manual/Stone: mason\r\n"
    )
    assert found["Job"].to_rows() == [
        ("clerk", "Front", "Office", "*"),
        ("porter", "Front", "Office", "*"),
        ("cook", "Back", "Office", "*"),
        ("mason", "Stone", "Manual", "*"),
    ]


def test_one_group_is_not_taken_for_the_root(read):
    assert read("Job/Office: clerk, cook\n")["Job"].to_rows()[0] == ("clerk", "Office", "*")


def test_comments_blank_lines_and_a_group_continued_later(read):
    found = read("# jobs\n\nJob/A: x\nJob/B: y\n  # more\nJob/A: z\n")
    assert found["Job"].leaves == ("x", "z", "y")


def test_values_without_group_and_uneven_groups(read):
    assert read("Job: none\nJob/A: a\nJob/B/C: c\nJob/B: b\n")["Job"].to_rows() == [
        ("none", "none", "none", "*"),
        ("a", "A", "A", "*"),
        ("c", "C", "B", "*"),
        ("b", "b", "B", "*"),
    ]


def test_quotes_keep_commas_slashes_colons_spaces_and_quotes(read):
    found = read('"Name: first"/"A/B": "x, y" , " z ",5" pipe,"say ""w""",u:v/w\n')
    assert found["Name: first"].to_rows() == [
        ("x, y", "A/B", "*"),
        (" z ", "A/B", "*"),
        ('5" pipe', "A/B", "*"),
        ('say "w"', "A/B", "*"),
        ("u:v/w", "A/B", "*"),
    ]


def test_numbers_ascend(read):
    assert read("Age/old: 70, 60\nAge/young: 7, 6\n")["Age"].leaves == ("6", "7", "60", "70")


def test_other_columns_are_passed_over_even_if_their_tree_is_wrong(read):
    assert list(read("Jobs/A: x\nJobs/B: x\nAge/old: 70\n")) == ["Age"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Jobs/A: x\n", r"domains\.txt': unknown column 'Jobs': did you mean 'Job'\?"),
        ("# nothing\n", "holds no hierarchies"),
        ("\n", "is empty"),
        ("Job/A: x\nJob/B\n", "line 2: cannot read 'Job/B'; expected 'Column/Group: value, value'"),
        ("\nJob/A:\n", "line 2: an empty name or value in 'Job/A:'"),
        ("Job//A: x\n", "line 1: an empty name or value"),
        ("Job/A: x,, y\n", "line 1: an empty name or value"),
        ('Job/A: "x, y\n', "line 1: cannot read '\"x, y'"),
        ('Job/A: x, "y" z\n', "line 1: cannot read"),
        (
            "Job/A: x\n\nJob/B: y, x\n",
            r"column 'Job', line 3: the value 'x' is in 'B' \(level 1\) here, but in 'A' before \(line 1\)",
        ),
        (
            "Job/A/C: x\nJob/B/C: y\n",
            r"column 'Job', line 2: the levels are not nested: 'C' .* 'B' .* 'A' before \(line 1\)",
        ),
    ],
)
def test_bad_files(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content)
