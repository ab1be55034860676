import polars as pl
import pytest

from shoal.errors import RecipeError
from shoal.table.sets import check_separator, choose_joiner, join_sets, split_sets


def test_cells_are_taken_apart_and_put_together():
    items, row = split_sets(pl.Series(["b| a|b", None, "", " | ", "heart failure|a"]), "|")
    assert list(zip(row.tolist(), items.to_list(), strict=True)) == [
        (0, "b"),
        (0, "a"),
        (4, "heart failure"),
        (4, "a"),
    ]
    assert join_sets(items, row, 5, "|").to_list() == ["a|b", "", "", "", "a|heart failure"]


def test_what_stands_in_groups_is_not_the_separator():
    assert [choose_joiner("dx", each) for each in ("|", ",", " ", ";", "; ")] == [
        ", ",
        ";",
        ";",
        ", ",
        "/",
    ]


@pytest.mark.parametrize("separator", ["", "{", '"', "\n", None, ", ;/"])
def test_a_separator_by_which_cells_would_be_misread(separator):
    with pytest.raises(RecipeError, match="of 'dx'"):
        check_separator("dx", separator)
