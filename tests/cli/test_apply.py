"""``shoal apply``: later rows into the classes of an earlier release."""

import json

import pytest

EARLIER = "age,town,ill\n" + "".join(f"{20 + i % 4},ayr,{'xy'[i % 2]}\n" for i in range(8))


@pytest.fixture
def classes(shoal, write):
    write("people.csv", EARLIER)
    shoal.succeeds(
        *("anonymize", "people.csv", "-q", "age,town", "-s", "ill", "-k", 4, "-a", "mondrian"),
        *("-o", "release.csv", "--recoding-out", "classes.json", "--quiet"),
    )
    return "classes.json"


def test_rows_that_join_the_earlier_release(shoal, write, classes):
    write("later.csv", "age,town,ill\n21,ayr,x\n99,ayr,x\n")
    out = shoal.succeeds(
        *("apply", classes, "later.csv", "--earlier", "release.csv", "--suppress", 0.5, "-o", "out.csv")
    )
    assert "later.csv: 1 of 2 rows fit the classes" in out
    assert "new in 'age': 99" in out
    assert (shoal.folder / "out.csv").read_text("utf-8") == "age,town,ill\n[20-21],ayr,x\n"


def test_json(shoal, write, classes):
    write("later.csv", EARLIER)
    found = json.loads(shoal.succeeds("apply", classes, "later.csv", "--json"))
    assert (found["rows"], found["released_rows"], found["broken_rows"], found["holds"]) == (8, 8, 0, True)
    assert found["output"] is None


@pytest.mark.parametrize(
    ("rows", "options", "code", "complaint"),
    [
        ("21,ayr,x\n", (), 3, "of 1 rows 1 are in classes that would not satisfy the goal"),
        (
            "21,ely,x\n",
            ("--earlier", "release.csv"),
            3,
            "no class stands for 1 (new in column 'town': 'ely')",
        ),
        ("21,ayr,x\n", ("--earlier", "absent.csv"), 2, "absent.csv"),
        ("21,ayr,x\n", ("-o", "later.csv"), 2, "is an input of this run"),
        ("21,ayr,x\n", ("--suppress", 2), 2, "suppress is a share of the rows, from 0 to 1"),
        ("", (), 2, "no rows"),
    ],
)
def test_what_cannot_be(shoal, write, classes, rows, options, code, complaint):
    write("later.csv", "age,town,ill\n" + rows)
    assert complaint in shoal.fails(code, "apply", classes, "later.csv", *options)


def test_files_that_are_no_recoding(shoal, write, classes):
    write("later.csv", EARLIER)
    assert "not a saved recoding" in shoal.fails(2, "apply", "later.csv", "later.csv")
    assert "cannot read" in shoal.fails(2, "apply", "absent.json", "later.csv")
    write("other.csv", "age,ill\n21,x\n")
    assert "column 'town'" in shoal.fails(2, "apply", classes, "other.csv")


def test_one_file_cannot_be_two_things(shoal, write):
    write("people.csv", EARLIER)
    run = ("anonymize", "people.csv", "-q", "age", "-k", 2, "-o", "x.csv", "--recoding-out", "x.csv")
    assert "cannot be two things" in shoal.fails(2, *run)


def test_rows_wait_in_a_file_until_they_can_be_released(shoal, write, classes):
    """Day after day: a folder of releases, and one file of rows that wait."""
    (shoal.folder / "releases").mkdir()
    (shoal.folder / "release.csv").rename(shoal.folder / "releases" / "1.csv")
    write("later.csv", "age,town,ill\n21,ayr,x\n99,ayr,y\n")
    line = ("apply", classes, "later.csv", "--earlier", "releases", "--hold-back", "waiting.csv")
    out = shoal.succeeds(*line, "-o", "releases/2.csv")
    assert "held back because no class stands for them: 1" in out
    assert "wrote 1 rows to waiting.csv" in out
    assert (shoal.folder / "waiting.csv").read_text("utf-8") == "age,town,ill\n99,ayr,y\n"
    found = json.loads(shoal.succeeds(*line, "--json"))
    # The verifier counted the two earlier releases as well.
    assert (found["rows"], found["released_rows"], found["suppressed_rows"]) == (2, 1, 1)
    assert (found["verified_rows"], found["held_back"]) == (10, "waiting.csv")


def test_no_earlier_release_is_overwritten(shoal, write, classes):
    write("later.csv", EARLIER)
    for name in ("release.csv", "later.csv"):
        line = ("apply", classes, "later.csv", "--earlier", "rel*.csv", "--hold-back", name)
        assert "is an input of this run" in shoal.fails(2, *line, "-o", "out.csv")
    assert "is an input of this run" in shoal.fails(
        2, "apply", classes, "later.csv", "--earlier", "rel*.csv", "-o", "release.csv"
    )
