"""What released texts stand for."""

from datetime import date

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.privacy.labels import build_cover_matrix
from shoal.table import Column
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": {"iron": ["smith", "welder"], "mason": ["mason"]}, "office": ["clerk"]})


def read(label, values, column):
    """The values that one text stands for."""
    values = pl.Series(values)
    return values.filter(pl.Series(build_cover_matrix(pl.Series([label]), values, column)[0])).to_list()


@pytest.mark.parametrize(
    ("label", "stands_for"),
    [
        ("21", ["21", "21.0"]),
        ("22", []),
        ("[20-35]", ["20", "21", "21.0", "35"]),
        ("[-4..20]", ["20", "-4"]),
        ("[20.5-40]", ["21", "21.0", "35"]),
        ("{20, 35, 36}", ["20", "35"]),
        ('{20, ""}', ["20", "?", None]),
        ("*", ["20", "21", "21.0", "35", "?", "-4", None]),
        (None, ["?", None]),
        ("", ["?", None]),
    ],
)
def test_numbers(label, stands_for):
    assert read(label, ["20", "21", "21.0", "35", "?", "-4", None], Column("age")) == stands_for


def test_whole_numbers_and_text_of_them_are_one():
    assert read("[20-30]", [20, 25, 31], Column("age")) == [20, 25]


@pytest.mark.parametrize(
    ("label", "stands_for"),
    [
        ("a", ["a"]),
        ("{a, c}", ["a"]),
        ('{"b, ""c""", a}', ["a", 'b, "c"']),
        ("{x}", ["{x}"]),
        ("[a-b]", ["[a-b]"]),
        ("*", ["a", 'b, "c"', "{x}", "[a-b]"]),
    ],
)
def test_categories(label, stands_for):
    assert read(label, ["a", 'b, "c"', "{x}", "[a-b]"], Column("colour")) == stands_for


@pytest.mark.parametrize(
    ("label", "stands_for"),
    [
        ("iron", ["smith", "welder"]),
        ("manual", ["smith", "welder", "mason"]),
        ("[smith..welder]", ["smith", "welder"]),
        ("clerk", []),
        ("pirate", ["pirate"]),
        ("{smith, pirate}", ["smith", "pirate"]),
        ("*", ["smith", "welder", "mason", "pirate", None]),
        (None, [None]),
    ],
)
def test_trees(label, stands_for):
    assert (
        read(label, ["smith", "welder", "mason", "pirate", None], Column("job", hierarchy=JOBS)) == stands_for
    )


def test_of_two_nodes_of_one_name_the_smaller_is_meant():
    tree = Hierarchy.from_tree({"wed": {"wed": ["a", "b"], "other": ["c"]}, "single": {"single": ["d"]}})
    assert read("wed", ["a", "b", "c", "d"], Column("status", hierarchy=tree)) == ["a", "b"]


def test_dates_and_orders():
    days = [date(2020, 1, 1), date(2020, 2, 1), date(2020, 3, 1)]
    assert read("[2020-01-15..2020-03-01]", days, Column("day")) == days[1:]
    # Alone the ends could be in March or April; the values tell.
    assert read("[03/04/2020..05/04/2020]", ["04/04/2020", "25/03/2020"], Column("day")) == ["04/04/2020"]
    sizes = Column("size", order=("S", "M..", "L", "XL"))
    assert read("[M....XL]", ["S", "M..", "L", "XL"], sizes) == ["M..", "L", "XL"]
    assert read("L", ["S", "L"], sizes) == ["L"]


@pytest.mark.parametrize(("label", "values"), [("30-39", ["30", "31"]), ("EU", ["fr", "de"]), ("{a", ["a"])])
def test_a_text_that_cannot_be_read(label, values):
    with pytest.raises(InputError, match=f"column 'c': cannot tell which .* '{label}' stands for.*hierarchy"):
        build_cover_matrix(pl.Series([label]), pl.Series(values), Column("c"))
