from datetime import date, datetime, time, timedelta
from decimal import Decimal

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.table import TYPE_CODES, Inference, infer_type, ordered_values, parse_values


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["1", "2", "-3", None], "integer"),
        (["0", "1"], "integer"),
        (["+5", " 7 "], "integer"),
        (["9" * 19, "1"], "integer"),
        (["9" * 38, "-" + "9" * 38], "integer"),
        (["9" * 40], "string"),
        (["00123", "99999"], "string"),
        (["-01"], "string"),
        (["0.5", "01.5"], "string"),
        (["1.5", "2"], "float"),
        (["1.", ".5", "-1e-5", "1E10"], "float"),
        (["1e400"], "string"),
        (["1,5"], "string"),
        (["inf", "1.0"], "string"),
        (["٣"], "string"),
        (["2020-01-31", "2020-1-1"], "date"),
        (["2020/12/31"], "date"),
        (["31.12.2020", "1.2.2020"], "date"),
        (["01/02/2020", "31/12/2020"], "date"),
        (["01/02/2020", "12/31/2020"], "date"),
        (["01/02/2020", "03/04/2020"], "string"),
        (["01/01/2020", "02/02/2020"], "date"),
        (["13/01/2020", "01/13/2020"], "string"),
        (["2020-01-31", "31.01.2020"], "string"),
        (["2020-02-30"], "string"),
        (["01.02.20"], "string"),
        (["2020-01-31T10:00", "2020-01-31 10:00:05", "2020-01-31 10:00:05.25"], "datetime"),
        (["2020-01-31T10:00Z", "2020-01-31T10:00+02:00", "2020-01-31T10:00-0300"], "datetime"),
        (["2020-01-31", "2020-01-31 10:00"], "datetime"),
        (["2020-01-31T10:00Z", "2020-01-31T10:00"], "string"),
        (["2020-01-31T25:00"], "string"),
        (["true", "False"], "boolean"),
        (["YES", "no"], "boolean"),
        (["yes"], "boolean"),
        (["y", "N"], "boolean"),
        (["T", "F"], "boolean"),
        (["F"], "string"),
        (["yes", "false"], "string"),
        (["red", "1"], "string"),
        ([None], "string"),
        ([], "string"),
    ],
)
def test_infers_the_type_of_text(values, type):
    assert infer_type(pl.Series(values, dtype=pl.String)) == Inference(type)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2", "?", "NA"], Inference("integer", ("?", "NA"))),
        (["1.5", " nan"], Inference("float", (" nan",))),
        (["1", "N/A", "null"], Inference("string")),
        (["1", "2", "3", "missing"], Inference("string")),
        (["01", "02", "?"], Inference("string")),
        (["?"], Inference("string")),
        (["a", "?"], Inference("string")),
    ],
)
def test_numbers_with_markers_for_missing_ones(values, expected):
    assert infer_type(pl.Series(values)) == expected


@pytest.mark.parametrize("marker", ["NA", "N/A", "NaN", "nan", "null", "None", "?", "-", "."])
def test_every_known_marker(marker):
    assert infer_type(pl.Series(["1", marker])) == Inference("integer", (marker,))


@pytest.mark.parametrize(
    ("series", "type"),
    [
        (pl.Series([1], dtype=pl.UInt8), "integer"),
        (pl.Series([1], dtype=pl.Int128), "integer"),
        (pl.Series([1.0], dtype=pl.Float32), "float"),
        (pl.Series([Decimal("1.5")]), "float"),
        (pl.Series([True]), "boolean"),
        (pl.Series([date(2020, 1, 1)]), "date"),
        (pl.Series([datetime(2020, 1, 1)]), "datetime"),
        (pl.Series(["a"], dtype=pl.Enum(["a"])), "ordered"),
        (pl.Series(["a"], dtype=pl.Categorical), "string"),
        (pl.Series([time(1)]), "string"),
        (pl.Series([timedelta(1)]), "string"),
        (pl.Series([None]), "string"),
    ],
)
def test_typed_columns_keep_their_type_and_parse(series, type):
    found = infer_type(series)
    assert found == Inference(type)
    parsed = parse_values(series, found.type, "x")
    assert parsed.null_count() == series.null_count()


def test_type_codes():
    codes = {"s": "string", "i": "integer", "f": "float", "d": "date", "o": "ordered", "b": "boolean"}
    assert codes == TYPE_CODES


@pytest.mark.parametrize(
    ("values", "type", "dtype", "expected"),
    [
        (["10", "-9", " 8", None], "integer", pl.Int64, [10, -9, 8, None]),
        ([str(2**63), "1", None], "integer", pl.Int128, [2**63, 1, None]),
        ([1.0, 3.0, None], "integer", pl.Int64, [1, 3, None]),
        ([7], "integer", pl.Int64, [7]),
        (["1.5", "-1e3", "2", None], "float", pl.Float64, [1.5, -1000.0, 2.0, None]),
        ([Decimal("1.5")], "float", pl.Float64, [1.5]),
        (["2020-01-31", None], "date", pl.Date, [date(2020, 1, 31), None]),
        (["31.12.2020", "1.2.2020"], "date", pl.Date, [date(2020, 12, 31), date(2020, 2, 1)]),
        (["01/02/2020", "31/12/2020"], "date", pl.Date, [date(2020, 2, 1), date(2020, 12, 31)]),
        (["01/02/2020", "12/31/2020"], "date", pl.Date, [date(2020, 1, 2), date(2020, 12, 31)]),
        (["2020-01-31 10:00"], "date", pl.Date, [date(2020, 1, 31)]),
        ([datetime(2020, 1, 31, 10)], "date", pl.Date, [date(2020, 1, 31)]),
        (
            ["2020-01-31", "2020-01-31 10:00", "2020-01-31T10:00:05.25", None],
            "datetime",
            pl.Datetime("us"),
            [
                datetime(2020, 1, 31),
                datetime(2020, 1, 31, 10),
                datetime(2020, 1, 31, 10, 0, 5, 250_000),
                None,
            ],
        ),
        ([date(2020, 1, 31)], "datetime", pl.Datetime("us"), [datetime(2020, 1, 31)]),
        (["Yes", "n", "1", "FALSE", None], "boolean", pl.Boolean, [True, False, True, False, None]),
        ([12, None], "string", pl.String, ["12", None]),
        ([timedelta(hours=1)], "string", pl.String, ["PT1H"]),
    ],
)
def test_parses_to_comparable_values(values, type, dtype, expected):
    parsed = parse_values(pl.Series("x", values), type, "x")
    assert parsed.dtype == dtype
    assert parsed.to_list() == expected
    assert parsed.name == "x"


@pytest.mark.parametrize("value", ["1", "1.5", "2020-01-31", "2020-01-31 10:00", "yes", "red"])
def test_a_name_is_not_a_pattern(value):
    values = pl.Series("^a$", [value, None])
    parsed = parse_values(values, infer_type(values).type, "^a$")
    assert (parsed.name, parsed.null_count()) == ("^a$", 1)
    assert parse_values(values, "ordered", "^a$", [value]).to_list() == [0, None]


def test_time_zones_are_compared_in_one():
    parsed = parse_values(pl.Series(["2020-01-31T10:00+02:00", "2020-01-31T09:00Z"]), "datetime", "x")
    assert parsed.dtype == pl.Datetime("us", "UTC")
    assert parsed[0] < parsed[1]


def test_ordered_values_become_ranks():
    text = pl.Series(["high", "low", None])
    assert parse_values(text, "ordered", "x", ["low", "mid", "high"]).to_list() == [2, 0, None]
    typed = pl.Series(["high", "low", None], dtype=pl.Enum(["low", "mid", "high"]))
    assert ordered_values(typed) == ["low", "mid", "high"]
    assert parse_values(typed, "ordered", "x").to_list() == [2, 0, None]
    assert parse_values(typed, "ordered", "x", ["high", "mid", "low"]).to_list() == [0, 2, None]
    assert parse_values(pl.Series([30, 10, None]), "ordered", "x").to_list() == [1, 0, None]
    assert parse_values(pl.Series([3, 1]), "ordered", "x", ["3", "1"]).to_list() == [0, 1]
    assert ordered_values(text) is None


@pytest.mark.parametrize(
    ("values", "type", "order", "message"),
    [
        (["1", "x", "2.5"], "integer", None, r"column 'age' has values that are not integers: 'x', '2.5'"),
        (["9" * 40], "integer", None, "not integers"),
        ([1.5, 2.0], "integer", None, "not integers: '1.5'"),
        (["1", "inf", "nan", "1e400"], "float", None, "not finite numbers: 'inf', 'nan', '1e400'"),
        ([1.0, float("inf")], "float", None, "not finite numbers: 'inf'"),
        ([float("nan")], "float", None, "not finite numbers: 'NaN'"),
        (["2020-01-01", "2020-13-01"], "date", None, "not dates .*: '2020-13-01'"),
        (["01/02/2020", "03/04/2020"], "date", None, "read in one way only"),
        (["2020-01-01 10:00", "noon"], "datetime", None, "not times .*: 'noon'"),
        (["maybe"], "boolean", None, "not true or false, yes or no: 'maybe'"),
        (["a", "b", "c"], "ordered", ["a"], "not in the stated order: 'b', 'c'"),
        (["a"], "ordered", ["a", "a"], "has a value twice"),
        (["a"], "ordered", None, "nothing states the order"),
        ([str(n) + "x" for n in range(9)], "integer", None, "and 4 more"),
        (["a"], "integr", None, "unknown type 'integr': did you mean 'integer'"),
        ([timedelta(1)], "integer", None, "not integers: 'P1D'"),
        ([time(1)], "date", None, "not dates"),
    ],
)
def test_values_of_another_type_are_named(values, type, order, message):
    with pytest.raises(InputError, match=message) as error:
        parse_values(pl.Series(values), type, "age", order)
    assert "age" in str(error.value) or "integr" in str(error.value)
