"""Columns of sets on the command line."""

import json

import pytest

from shoal.recipes.equivalent import command_line, python_snippet
from shoal.recipes.recipe import Recipe

TABLE = "age,seconds,dx\n" + "".join(
    f"{20 + at % 4},{at % 3},{cell}\n" for at, cell in enumerate(["a|b", "a", "b|c", "a|c", "", "a|b|c"] * 5)
)
GOAL = ("-q", "age", "-k", 3, "--others", "drop")


@pytest.fixture
def table(write):
    return write("table.csv", TABLE)


def test_a_release_is_made_and_checked_again(shoal, table):
    told = shoal.succeeds(
        "anonymize", table, *GOAL, "--set", "dx=|", "--knows", 2, "-o", "out.csv", "--recipe-out", "r.toml"
    )
    assert "any 2 items of a person" in told
    found = json.loads(
        shoal.succeeds("verify", "out.csv", "-q", "age", "--set", "dx=|", "--knows", 2, "-k", 3, "--json")
    )
    assert found["holds"] and found["smallest_class"] >= 3
    shoal.succeeds("verify", "out.csv", "--recipe", "r.toml")
    # the table itself does not hold
    assert shoal("verify", table, "-q", "age,seconds", "--set", "dx=|", "--knows", 2, "-k", 3).code == 3
    before = (shoal.folder / "out.csv").read_bytes()
    shoal.succeeds("run", "r.toml")
    assert (shoal.folder / "out.csv").read_bytes() == before


def test_rows_can_be_sorted_by_sets_alone(shoal, table):
    shoal.succeeds(
        "anonymize",
        table,
        "-k",
        3,
        "--others",
        "drop",
        "--set",
        "dx=|",
        "--row-order",
        "released",
        "-o",
        "o.csv",
    )
    cells = (shoal.folder / "o.csv").read_text().splitlines()[1:]
    assert cells == sorted(cells)


def test_json_has_the_items(shoal, table):
    report = json.loads(shoal.succeeds("anonymize", table, *GOAL, "--set", "dx=|", "--json"))
    assert report["sets"]["dx"]["items"] == 50
    assert report["columns"]["dx"]["type"] == "set"


def test_findings_are_about_whole_sets(shoal, write):
    """The goal is about one item; sets are no columns that stay as they are."""
    cells = [f"i{at % 7}|j{at % 5}" for at in range(140)]
    table = write(
        "baskets.csv", "age,dx\n" + "".join(f"{20 + at % 2},{cell}\n" for at, cell in enumerate(cells))
    )
    report = json.loads(shoal.succeeds("anonymize", table, "-q", "age", "-k", 3, "--set", "dx=|", "--json"))
    found = {each["id"]: each for each in report["findings"]}
    assert found["whole-sets"]["severity"] == "high"
    assert found["whole-sets"]["figure"] == 1.0
    assert "unique-rows" not in found


def test_a_name_that_is_both_a_parameter_and_a_column(shoal, table):
    says = shoal.fails(2, "anonymize", table, *GOAL, "--set", "seconds=1")
    assert "both a parameter of auto and a column" in says
    assert "parameter:seconds=1" in says
    assert "column:seconds=1" in says
    shoal.succeeds("anonymize", table, *GOAL, "--set", "parameter:seconds=1", "--set", "dx=|")
    report = json.loads(shoal.succeeds("anonymize", table, *GOAL, "--set", "column:seconds=|", "--json"))
    assert list(report["sets"]) == ["seconds"]
    # every cell is one item, and that is said
    assert any("no cell of 'seconds' has the separator '|'" in each for each in report["warnings"])


def test_the_equivalent_command_names_sets(shoal, table):
    shoal.succeeds("anonymize", table, *GOAL, "--set", "column:seconds=;", "--recipe-out", "r.toml")
    recipe = Recipe.from_toml(shoal.folder / "r.toml")
    assert "--set 'column:seconds=;'" in command_line(recipe)
    assert "sets={'seconds': ';'}" in python_snippet(recipe)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--set", "dxx=|"), "unknown parameter of algorithm auto 'dxx'"),
        (("--set", "dx="), "the separator of 'dx' must be"),
        (("--set", "dx={"), "without braces"),
        (("--set", "dx=, ;/"), "take a simpler one"),
        (("--set", "dx=|", "-q", "dx"), "'dx' is named both set and quasi"),
        (("--set", "dx=|", "-s", "dx"), "'dx' is named both set and sensitive"),
        (("--set", "dx=|", "--person", "dx"), "'dx' is named both person and set"),
        (("--set", "dx=|", "--person", "age"), "'age' is named both person and quasi"),
        (("--set", "dx=|", "--person", "who"), "unknown column 'who'"),
        (("--set", "dx=|", "--person", "seconds", "-k", "4"), "k = 4, but the table has 3 people"),
        (("--set", "dx=|", "--person", "seconds", "--pseudonym"), "a pseudonym and columns of sets ('dx')"),
        (("--set", "dx=|", "--loss", "entropy"), "the loss of sets is ncp"),
        (("--set", "dx=|", "-a", "lattice"), "lattice takes no columns of sets"),
        (("--set", "dx=|", "--memory", "1GB", "-o", "x.csv"), "no columns of sets ('dx')"),
        (("--set", "dx=|", "--model", "average-risk(risk=0.5)"), "average-risk is about classes"),
        (("--set", "dx=|", "--type", "dx=int"), "items have no type"),
        (("--set", "dx=|", "--knows", "0"), "knows is a number"),
        (("--set", "dx=|", "--recoding-out", "r.json"), "no classes for later rows"),
        (("--set", "dx=|", "--suppress", "0.1", "-k", "31"), "31"),
    ],
)
def test_what_does_not_fit_is_refused(shoal, table, given, says):
    code = 3 if "31" in given or "4" in given else 2
    assert says in shoal.fails(code, "anonymize", table, *GOAL, *given)


def test_items_with_blanks_and_a_comma_between_them(shoal, write):
    cells = ['"heart failure, flu"', "flu", '"flu,heart failure"', '"flu, flu"', "heart failure"] * 4
    write("table.csv", "town,dx\n" + "".join(f"x,{cell}\n" for cell in cells))
    shoal.succeeds(
        "anonymize", "table.csv", "-q", "town", "-k", 3, "--set", "dx=,", "--knows", "all", "-o", "out.csv"
    )
    lines = (shoal.folder / "out.csv").read_text().splitlines()
    assert set(lines[1:]) == {'x,"flu,heart failure"', "x,flu", "x,heart failure"}


def test_a_group_that_contains_the_separator(shoal, table, write):
    write("dx.csv", "a;x|y;*\nb;x|y;*\nc;z;*\n")
    given = ("--set", "dx=|", "--hierarchies", "dx=dx.csv")
    assert "which contains the separator" in shoal.fails(2, "anonymize", table, *GOAL, *given)


def test_empty_sets_only(shoal, write):
    write("table.csv", "age,dx\n" + "1,\n2,\n" * 5)
    assert "no cell has an item" in shoal.fails(2, "anonymize", "table.csv", *GOAL, "--set", "dx=|")
