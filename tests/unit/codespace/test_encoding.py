from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest

from shoal.codespace.encoding import Column, build_dictionary, encode_column, find_missing_rows
from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})


def encoded(values, category_order="frequency", dtype=None, **known):
    return encode_column(pl.Series(values, dtype=dtype), Column("c", **known), category_order)


def decoded(column):
    """What every row becomes again when its code alone is released."""
    return column.domain.labels.gather(column.codes.astype(np.int64)).to_list()


@pytest.mark.parametrize(
    ("values", "dtype", "type", "kind", "labels"),
    [
        pytest.param(
            ["30", "4", "200"], None, "integer", "number", ["4", "30", "200"], id="integers as text"
        ),
        pytest.param(["-3", "0", "-20"], None, "integer", "number", ["-20", "-3", "0"], id="negative"),
        pytest.param(
            ["1.5", "1e-3", "2"], None, "float", "number", ["1e-3", "1.5", "2"], id="floats as text"
        ),
        pytest.param([3, 1, 2], None, "integer", "number", ["1", "2", "3"], id="integers"),
        pytest.param([0.5, -1.5], None, "float", "number", ["-1.5", "0.5"], id="floats"),
        pytest.param(
            ["03.04.2020", "25.12.2019"],
            None,
            "date",
            "number",
            ["25.12.2019", "03.04.2020"],
            id="dates as text",
        ),
        pytest.param(
            [date(2020, 1, 1), date(1969, 7, 20)],
            None,
            "date",
            "number",
            ["1969-07-20", "2020-01-01"],
            id="dates",
        ),
        pytest.param(
            [datetime(2020, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)],
            None,
            "datetime",
            "number",
            ["1969-01-01 00:00:00.000000+00:00", "2020-01-01 00:00:00.000000+00:00"],
            id="times",
        ),
        pytest.param(
            ["00210", "9", "00030"], None, "string", "flat", ["00030", "00210", "9"], id="leading zeros"
        ),
        pytest.param([True, False, True], None, "boolean", "flat", ["true", "false"], id="booleans"),
        pytest.param(["yes", "no", "no"], None, "boolean", "flat", ["no", "yes"], id="booleans as text"),
        pytest.param(
            ["low", "high"], pl.Enum(["high", "mid", "low"]), "ordered", "ordered", ["high", "low"], id="enum"
        ),
        pytest.param(["b", "a"], pl.Categorical, "string", "flat", ["a", "b"], id="categorical"),
        pytest.param(
            [2**64 - 1, 5], pl.UInt64, "integer", "number", ["5", "18446744073709551615"], id="past int64"
        ),
        pytest.param(
            [str(10**30 + 1), str(10**30)],
            None,
            "integer",
            "number",
            ["1" + "0" * 30, "1" + "0" * 29 + "1"],
            id="past 64 bits as text",
        ),
    ],
)
def test_every_type_has_its_domain(values, dtype, type, kind, labels):
    column = encoded(values, dtype=dtype)
    assert (column.type, column.domain.kind, column.domain.labels.to_list()) == (type, kind, labels)
    assert decoded(column) == pl.Series(values, dtype=dtype).cast(pl.String).to_list()
    assert (column.codes.dtype, column.warnings) == (np.uint16, ())


def test_texts_of_one_number_share_a_code():
    column = encoded(["1.0", "2", "1", "+1", "01.5"], type="float")
    assert column.codes.tolist() == [0, 2, 0, 0, 1]
    assert column.domain.labels.to_list() == ["+1", "01.5", "2"]  # the first by name stands for all


def test_a_type_that_is_said_is_not_inferred():
    assert encoded([10, 9], type="string").domain.kind == "flat"
    assert encoded(["007", "12"], type="integer").domain.labels.to_list() == ["007", "12"]
    with pytest.raises(InputError, match="column 'c' has values that are not integers: 'x'"):
        encoded(["1", "x"], type="integer")


def test_missing_values_come_first_on_a_line_and_by_frequency_among_categories():
    numbers = encoded([5, None, 3, None])
    assert (numbers.domain.labels.to_list(), numbers.codes.tolist()) == ([None, "3", "5"], [2, 0, 1, 0])
    assert numbers.domain.missing == 0
    colours = encoded(["red", None, None, "blue"])
    assert (colours.domain.labels.to_list(), colours.codes.tolist()) == ([None, "blue", "red"], [2, 0, 0, 1])
    assert colours.domain.missing == 0


@pytest.mark.parametrize("dtype", [pl.String, pl.Int64, pl.Float64, pl.Date, pl.Boolean, pl.Null])
def test_a_column_with_nothing_in_it(dtype):
    column = encoded([None, None, None], dtype=dtype)
    assert column.domain.labels.to_list() == [None]
    assert (column.codes.tolist(), column.domain.missing) == ([0, 0, 0], 0)


def test_damaged_numbers_count_as_missing_and_are_named():
    column = encoded(["12", "?607", "3", None], na=("?",))
    assert column.type == "integer"
    assert column.codes.tolist() == [2, 0, 1, 0]
    assert column.warnings == ("column 'c': '?607' counted as missing, since the rest are numbers",)
    assert find_missing_rows(pl.Series(["12", "?607", "3", None]), Column("c", na=("?",))).tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_markers_of_missing_numbers_are_found():
    column = encoded(["12", "NA", "3", "5"])
    assert (column.type, column.codes.tolist()) == ("integer", [3, 0, 1, 2])
    assert column.warnings == ("column 'c': 'NA' counted as missing, since the rest are numbers",)
    assert find_missing_rows(pl.Series(["12", "NA"]), Column("c")).tolist() == [False, True]
    assert find_missing_rows(pl.Series(["twelve", "NA"]), Column("c")).tolist() == [False, False]


def test_a_number_that_contains_a_marker_is_a_number():
    for marker in ("-", "9", "99"):
        column = encoded(["-5", "199", "1"], type="integer", na=(marker,))
        assert (decoded(column), column.warnings) == (["-5", "199", "1"], ())


def test_a_marker_in_text_is_text():
    column = encoded(["what?", "nothing"], na=("?",))
    assert (column.type, decoded(column), column.warnings) == ("string", ["what?", "nothing"], ())


def test_ordered_columns():
    column = encoded(["mid", "low", None, "mid"], order=("low", "mid", "high"))
    assert (column.type, column.domain.labels.to_list()) == ("ordered", [None, "low", "mid"])
    assert column.codes.tolist() == [2, 1, 0, 2]
    with pytest.raises(InputError, match="not in the stated order: 'top'"):
        encoded(["low", "top"], order=("low", "mid"))
    with pytest.raises(InputError, match="column 'c' is ordered, but its order is not said"):
        encoded(["low", "top"], type="ordered")


def test_a_tree_covers_all_its_leaves():
    column = encoded(["judge", "mason", None], hierarchy=JOBS)
    assert column.domain.kind == "tree"
    assert column.domain.labels.to_list() == [*JOBS.leaves, None]
    assert decoded(column) == ["judge", "mason", None]
    assert column.warnings == ()


def test_values_that_the_hierarchy_lacks_are_named():
    column = encoded(["pirate", "mason", "alchemist"], hierarchy=JOBS)
    assert decoded(column) == ["pirate", "mason", "alchemist"]
    assert column.warnings == (
        "column 'c': the hierarchy does not have 'alchemist', 'pirate'; they can only stay or be suppressed",
    )
    assert encoded(["pirate"], hierarchy=JOBS).warnings[0].endswith("it can only stay or be suppressed")


def test_in_a_column_with_a_hierarchy_any_text_is_a_value():
    ages = Hierarchy.from_tree({"young": ["1", "2"], "old": ["80"]})
    column = encoded(["1", "NA", "80", "?2"], hierarchy=ages, na=("?",))
    assert decoded(column) == ["1", "NA", "80", "?2"]
    assert column.domain.missing is None
    assert len(column.warnings) == 1
    assert not find_missing_rows(pl.Series(["1", "NA"]), Column("c", hierarchy=ages)).any()


def test_a_hierarchy_finds_typed_values_by_their_text():
    days = Hierarchy.from_tree({"2020": ["2020-01-01", "2020-06-01"], "2021": ["2021-01-01"]})
    column = encoded([date(2021, 1, 1), date(2020, 1, 1)], hierarchy=days)
    assert (column.type, column.codes.tolist(), column.warnings) == ("date", [2, 0], ())


def test_categories_come_by_frequency_whatever_the_order_of_rows():
    values = ["b", "c", "c", "a", "c", "b", "d"]
    expected = ["c", "b", "a", "d"]  # three, two, and the single ones by name
    rng = np.random.default_rng(0)
    for _ in range(5):
        shuffled = rng.permutation(values).tolist()
        column = encoded(shuffled)
        assert column.domain.labels.to_list() == expected
        assert decoded(column) == shuffled


def test_categories_as_they_appear():
    column = encoded(["b", None, "c", "a", "b"], category_order="appearance")
    assert column.domain.labels.to_list() == ["b", None, "c", "a"]
    assert (column.codes.tolist(), column.domain.missing) == ([0, 1, 2, 3, 0], 1)


def test_a_column_in_many_chunks():
    parts = [pl.Series("c", ["x", None, "y"]), pl.Series("c", ["z", "y"]), pl.Series("c", ["x", "z"])]
    whole = pl.concat(parts, rechunk=False)
    assert whole.n_chunks() == 3
    assert decoded(encode_column(whole, Column("c"))) == ["x", None, "y", "z", "y", "x", "z"]


def test_codes_grow_with_the_domain():
    column = encoded(np.arange(70_000)[::-1])
    assert column.codes.dtype == np.uint32
    assert column.codes[:3].tolist() == [69_999, 69_998, 69_997]


@pytest.mark.parametrize("values", [["x", None, "y", "x"], [3, None, 1, 3], [True, None, False, True]])
def test_the_dictionary_of_a_column(values):
    distinct, number, missing = build_dictionary(pl.Series(values))
    assert sorted(distinct.to_list()) == sorted({value for value in values if value is not None})
    assert [*distinct.to_list(), None][number[0]] == values[0]
    assert [[*distinct.to_list(), None][at] for at in number] == values
    assert missing
    assert not build_dictionary(pl.Series(values[:1]))[2]
