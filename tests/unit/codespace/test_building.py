"""A column of a table becomes a hierarchy: by the method that suits it, or learned from other columns."""

from datetime import date

import polars as pl
import pytest

import shoal
from shoal.codespace.building import build_from_table
from shoal.errors import InputError, RecipeError
from shoal.support.parameters import name_of
from shoal.table import Column, ReadOptions, read_table
from shoal.table.hierarchies import BUILDERS, uncovered

PEOPLE = pl.DataFrame(
    {
        "age": ["21", "24", "?", "38", None, "38"],
        "zip": ["01001", "01002", "02001", "02001", "01001", "01002"],
        "born": ["31.12.1990", "01.02.1991", "15.06.2000", "31.12.1990", "", "01.02.1991"],
        "job": ["mason", "smith", "clerk", "judge", "clerk", "smith"],
        "tall": [True, False, True, True, False, None],
        "size": pl.Series(["S", "M", "L", "S", "M", "L"], dtype=pl.Enum(["S", "M", "L"])),
        "pay": ["low", "low", "high", "high", "high", "low"],
    }
)


def method(column, **known):
    return name_of(
        BUILDERS, build_from_table(read_table(PEOPLE), Column(column, **known), "auto", {}).builder
    )


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("age", "intervals"),
        ("zip", "mask"),
        ("born", "dates"),
        ("job", "learned"),
        ("tall", "frequency"),
        ("size", "order"),
        ("pay", "frequency"),
    ],
)
def test_the_type_of_a_column_suggests_the_method(column, expected):
    frame = PEOPLE.with_columns(pl.col("born").replace("", None))
    assert (
        name_of(BUILDERS, build_from_table(read_table(frame), Column(column), "auto", {}).builder) == expected
    )


def test_the_type_can_be_said():
    assert method("pay", order=("low", "high")) == "order"
    assert method("zip", type="integer") == "intervals"


def test_what_counts_as_missing_is_left_out_and_told():
    built = build_from_table(read_table(PEOPLE), Column("age"), "intervals", {"widths": "10"})
    assert built.left_out == ("?",)
    assert built.hierarchy.to_rows() == [("21", "20-29", "*"), ("24", "20-29", "*"), ("38", "30-39", "*")]


def test_leaves_are_texts_as_the_table_has_them():
    frame = PEOPLE.with_columns(pl.col("born").replace("", None))
    tree = shoal.build_hierarchy(frame, "born", "dates", spans=["year"])
    assert tree.to_rows()[0] == ("31.12.1990", "1990", "*")
    numbers = pl.DataFrame({"x": ["1", "1.0", "12"]})
    assert shoal.build_hierarchy(numbers, "x", "intervals", widths=[10]).to_rows()[1] == (
        "1.0",
        "[0, 10)",
        "*",
    )


@pytest.mark.parametrize(
    "values", [[-3, -1, None], [-2.5, None, 1e9], [date(2020, 1, 1), None], ["x"], [True]]
)
def test_every_value_of_typed_columns_is_covered(values):
    frame = pl.DataFrame({"x": values, "other": list(range(len(values)))})
    tree = shoal.build_hierarchy(frame, "x")
    assert uncovered(tree, frame["x"].drop_nulls().cast(pl.String)) == []


def test_a_column_of_nothing():
    with pytest.raises(InputError, match="all of them are missing"):
        shoal.build_hierarchy(pl.DataFrame({"x": [None, None], "y": [1, 2]}), "x")


class TestLearning:
    def test_from_a_target(self):
        tree = shoal.build_hierarchy(PEOPLE, "job", target="pay")
        assert tree.names[-2] == ("clerk, judge", "smith, mason")

    def test_from_a_number_and_from_all_other_columns(self):
        frame = pl.DataFrame(
            {
                "job": list("abcd") * 20,
                "age": [20 + (n % 2) * 40 + n // 8 for n in range(80)],
                "x": ["?"] * 80,
            }
        )
        for target in ("age", None):
            tree = shoal.build_hierarchy(frame, "job", "learned", target=target, groups=(2,))
            assert tree.names[1] == ("a, c", "b, d")

    def test_rows_with_a_missing_value_teach_nothing(self):
        frame = pl.DataFrame({"job": ["a", "b", "c", None], "pay": ["1", "1", "2", "3"]})
        assert shoal.build_hierarchy(frame, "job", "learned", target="pay").leaves == ("a", "b", "c")

    @pytest.mark.parametrize(
        ("method", "target", "message"),
        [
            ("learned", "pai", "unknown target 'pai': did you mean 'pay'"),
            ("learned", "job", "nothing can be learned about 'job' from itself"),
            ("mask", "pay", "the method mask does not learn, so it has no target"),
        ],
    )
    def test_targets_that_make_no_sense(self, method, target, message):
        with pytest.raises(RecipeError, match=message):
            shoal.build_hierarchy(PEOPLE, "job", method, target=target)

    def test_without_other_columns(self):
        with pytest.raises(InputError, match="learned from other columns, and the table has none"):
            shoal.build_hierarchy(PEOPLE.select("job"), "job", "learned")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"column": "agee"}, "unknown column 'agee': did you mean 'age'"),
        ({"column": "age", "method": "interval"}, "unknown method 'interval': did you mean 'intervals'"),
        ({"column": "age", "method": "intervals", "wide": 5}, "unknown parameter of method intervals 'wide'"),
        ({"column": "age", "widths": 5}, "parameters are those of a method: say which, of 'intervals', "),
        ({"column": "job", "method": "intervals"}, "intervals need numbers, not 'clerk', 'judge', 'mason'"),
        ({"column": "age", "method": "boundaries"}, "method boundaries needs 'boundaries'"),
    ],
)
def test_bad_requests(call, message):
    with pytest.raises(InputError, match=message):
        shoal.build_hierarchy(PEOPLE, **call)


def test_markers_of_missing_values_are_those_of_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("job,pay\nmason,1\nunknown,2\nclerk,3\n")
    built = build_from_table(read_table(path, ReadOptions(na=("unknown",))), Column("job"), "order", {})
    assert built.hierarchy.leaves == ("clerk", "mason")


def test_education_learned_from_the_salary(shared_data):
    tree = shoal.build_hierarchy(shared_data / "adult" / "adult_9col.csv", "education", target="salary-class")
    rows = {row[0]: row for row in tree.to_rows()}
    higher = {leaf for leaf, row in rows.items() if row[-2] == rows["Masters"][-2]}
    assert higher == {"Bachelors", "Masters", "Prof-school", "Doctorate"}
