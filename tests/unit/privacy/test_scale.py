"""Values of sensitive columns: what is one value, and in which order they come."""

from datetime import date

import polars as pl
import pytest

from shoal.encoding import Column
from shoal.errors import InputError
from shoal.hierarchies import Hierarchy
from shoal.privacy import scaled


def numbers(values, missing=False, **known):
    return scaled(pl.Series(values), missing, Column("s", **known))


def test_numbers_come_in_their_order_and_not_in_that_of_their_texts():
    number, scale = numbers(["10", "9", "-1", "2.5"])
    assert number[:-1].tolist() == [3, 2, 0, 1]
    assert scale.ordered


def test_texts_of_one_number_are_one_value():
    # Else "1" and "1.0" would pass for diversity.
    number, _ = numbers(["1", "1.0", "2"])
    assert number[:-1].tolist() == [0, 0, 1]


def test_dates_and_typed_values_have_an_order():
    assert numbers(["2020-03-01", "2019-12-31"])[0][:-1].tolist() == [1, 0]
    number, scale = numbers([date(2020, 3, 1), date(2019, 12, 31)])
    assert number[:-1].tolist() == [1, 0]
    assert scale.ordered
    assert numbers([2.5, -1.0])[0][:-1].tolist() == [1, 0]


def test_a_stated_order_is_an_order():
    number, scale = numbers(["low", "high", "medium"], order=("low", "medium", "high"))
    assert number[:-1].tolist() == [0, 2, 1]
    assert scale.ordered
    enum = pl.Series(["low", "high"], dtype=pl.Enum(["low", "medium", "high"]))
    number, scale = scaled(enum, False, Column("s"))
    assert number[:-1].tolist() == [0, 1]
    assert scale.ordered
    with pytest.raises(InputError, match="not in the stated order: 'huge'"):
        numbers(["low", "huge"], order=("low", "high"))


@pytest.mark.parametrize("values", [["x", "y"], ["true", "false"], ["01", "02"]])
def test_other_values_have_none(values):
    number, scale = numbers(values)
    assert sorted(number[:-1]) == [0, 1]
    assert not scale.ordered


def test_all_that_is_missing_is_one_value_and_comes_first():
    assert numbers(["b", "", "a"], missing=True)[0].tolist() == [2, 0, 1, 0]
    assert numbers(["b", "", "a"])[0][:-1].tolist() == [2, 0, 1]
    assert numbers(["3", "?", "1", "NA"], missing=True)[0].tolist() == [2, 0, 1, 0, 0]
    assert numbers(["3", "1"], missing=True)[0].tolist() == [2, 1, 0]


TREE = Hierarchy.from_tree({"lungs": ["flu", "cold"], "stomach": ["ulcer"]})


def test_a_hierarchy_tells_which_values_share_a_node():
    number, scale = numbers(["ulcer", "cold", "flu"], hierarchy=TREE)
    by_name = dict(zip(["ulcer", "cold", "flu"], number.tolist(), strict=False))
    leaves, groups = scale.levels
    assert groups[by_name["cold"]] == groups[by_name["flu"]] != groups[by_name["ulcer"]]
    assert len(set(leaves.tolist())) == 3


def test_what_a_hierarchy_does_not_have_stands_alone_below_the_root():
    number, scale = numbers(["ulcer", "flu", "gout"], missing=True, hierarchy=TREE)
    assert number[-1] == 0
    assert scale.levels.shape == (2, 4)
    assert len(set(scale.levels[1].tolist())) == 4


def test_only_leaves_that_occur_are_values():
    _, scale = numbers(["ulcer", "flu"], hierarchy=TREE)
    assert scale.levels.shape == (2, 2)
