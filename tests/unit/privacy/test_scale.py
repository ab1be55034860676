"""Values of sensitive columns: what is one value, and in which order they come."""

from datetime import date

import polars as pl
import pytest

import shoal
from shoal.codespace.encoding import Column
from shoal.errors import InputError
from shoal.privacy import number_distinct_values
from shoal.table.hierarchies import Hierarchy


def numbers(values, missing=False, **known):
    return number_distinct_values(pl.Series(values), missing, Column("s", **known))


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
    number, scale = number_distinct_values(enum, False, Column("s"))
    assert number[:-1].tolist() == [0, 1]
    assert scale.ordered
    with pytest.raises(InputError, match="not in the stated order: 'huge'"):
        numbers(["low", "huge"], order=("low", "high"))


def test_spellings_in_a_stated_order_share_the_first_place_of_theirs():
    order = ("low", "unknown", "Low ", "high", "NA", "HIGH")
    assert numbers(order, order=order)[0][:-1].tolist() == [0, 1, 0, 2, 1, 2]
    assert numbers(order, order=order, fold=False)[0][:-1].tolist() == [0, 1, 2, 3, 4, 5]
    # Beside null, markers of a missing value are missing, too.
    assert numbers(order, missing=True, order=order)[0].tolist() == [1, 0, 1, 2, 0, 2, 0]


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


def test_spellings_of_a_number_among_texts_are_one_value():
    texts = ["1", "1.0", "+1", " 1.00", "1e0", "10", "1e1", "-0", "0.0", ".5", "0.50", "01", "x", "unknown"]
    number = numbers(texts)[0][:-1].tolist()
    same = [{0, 1, 2, 3, 4}, {5, 6}, {7, 8}, {9, 10}, {11}, {12}, {13}]
    found = {}
    for at, value in enumerate(number):
        found.setdefault(value, set()).add(at)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, same))
    assert len(set(numbers(texts, fold=False)[0][:-1].tolist())) == len(texts)


def test_numbers_that_differ_stay_different_however_long_they_are():
    texts = [
        "1.00000000000000000000000000000000000001",
        "1.0",
        "1e999999999",
        "1e-999999999",
        "9" * 50 + ".0",
        "x",
    ]
    assert len(set(numbers(texts)[0][:-1].tolist())) == len(texts)


@pytest.mark.parametrize("memory", [None, "1GB"])
def test_spellings_of_a_number_are_no_diversity(tmp_path, memory):
    rows = "".join(f"{at % 5},{['1', '1.0', '+1'][at % 3]}\n" for at in range(60)) + "1,unknown\n"
    (tmp_path / "in.csv").write_text("age,score\n" + rows)
    settings = {"quasi": ["age"], "sensitive": ["score"], "k": 2, "memory": memory}
    release = shoal.anonymize(tmp_path / "in.csv", **settings, l=2, output=tmp_path / "out.csv")
    # Of all classes one alone has two values, so all rows must be in it.
    assert release.report.classes == 1
    assert shoal.verify(tmp_path / "out.csv", quasi=["age"], sensitive=["score"], l=2)
    assert not shoal.verify(tmp_path / "in.csv", quasi=["age"], sensitive=["score"], l=2)
