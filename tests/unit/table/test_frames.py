from datetime import UTC, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError, InternalError
from shoal.table import ReadOptions, infer_type, ordered_values, read_table

DATA = {"id": [7, 8, 9], "zip": ["00123", "00045", None], "cost": [1.5, float("nan"), 2.0]}


@pytest.fixture(params=["pandas", "polars", "lazy", "pyarrow", "path"])
def source(request, tmp_path):
    if request.param == "path":
        path = tmp_path / "x.csv"
        pl.DataFrame(DATA).write_csv(path)
        return path
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "pyarrow": pa.table}
    return make[request.param](DATA)


def listed(frame, name):
    if isinstance(frame, pd.DataFrame):
        return [None if pd.isna(value) else value for value in frame[name]]
    if isinstance(frame, pa.Table):
        return frame[name].to_pylist()
    return frame.lazy().collect()[name].to_list()


def test_the_same_kind_comes_out(source):
    table = read_table(source)
    released = table.build_release({"zip": pl.Series(["00***", None])}, np.array([2, 0]), ["cost"])
    assert type(released) is (pl.DataFrame if table.origin.kind == "path" else type(source))
    names = (
        released.collect_schema().names()
        if isinstance(released, pl.LazyFrame)
        else list(released.column_names if isinstance(released, pa.Table) else released.columns)
    )
    assert names == ["id", "zip"]
    assert listed(released, "zip") == ["00***", None]
    assert listed(released, "id") == (["9", "7"] if table.origin.kind == "path" else [9, 7])


def test_all_rows_and_columns_in_place(source):
    table = read_table(source)
    released = table.build_release(
        {"zip": pl.Series(["a", "b", "c"]), "id": pl.Series([None, "x", "y"])}, None, []
    )
    assert read_table(released).names == ["id", "zip", "cost"]
    assert listed(released, "id") == [None, "x", "y"]
    assert read_table(released).frame["cost"].to_list()[0] in (1.5, "1.5")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_a_name_is_not_a_pattern(kind):
    table = read_table(kind({"^a$": [1], "a": [2], "b.*": [3], "bc": [4]}))
    released = read_table(table.build_release({"b.*": pl.Series(["*"])}, None, ["^a$"]))
    assert released.frame.to_dict(as_series=False) == {"a": [2], "b.*": ["*"], "bc": [4]}
    assert table.column("^a$").unique().to_list() == [1]


def test_markers_in_a_column_whose_name_looks_like_a_pattern():
    frame = pl.DataFrame({"^a$": ["?", "x"], "^b$": [float("nan"), 1.0]})
    table = read_table(frame, ReadOptions(na=("?",)))
    assert table.column("^a$").to_list() == [None, "x"]
    assert table.column("^b$").to_list() == [None, 1.0]


def test_no_row_may_be_released_too(source):
    released = read_table(source).build_release(
        {"zip": pl.Series([], dtype=pl.String)}, np.array([], dtype=np.int64), []
    )
    assert listed(released, "id") == []


def test_a_column_of_the_wrong_length_is_a_bug(source):
    with pytest.raises(InternalError, match="3 rows are released, but not so many in 'zip'"):
        read_table(source).build_release({"zip": pl.Series(["a"])}, None, [])


def test_columns_show_what_is_missing(source):
    table = read_table(source, ReadOptions(na=("8", "00123", "NaN")))
    assert table.column("id").null_count() == 1
    assert table.column("zip").to_list() == [None, "00045", None]
    assert table.column("cost").null_count() == 1
    assert (table.rows, table.names) == (3, ["id", "zip", "cost"])
    assert table.frame["id"].null_count() == 0


def test_unknown_columns(source):
    with pytest.raises(InputError, match="unknown column 'Zip': did you mean 'zip'"):
        read_table(source).column("Zip")


def test_empty_cells_are_missing_in_text_only(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\n"",1\n,2\nx,3\n')
    table = read_table(path)
    assert table.column("a").to_list() == [None, None, "x"]
    assert table.frame["a"].to_list() == ["", None, "x"]
    assert read_table(pl.DataFrame({"a": ["", "x"]})).column("a").to_list() == ["", "x"]


def test_markers_are_read_as_the_type_of_the_column():
    frame = pl.DataFrame(
        {
            "whole": [1, -9],
            "part": [1.0, -9.0],
            "flag": [True, False],
            "kind": pl.Series(["?", "x"], dtype=pl.Enum(["?", "x"])),
            "day": pl.Series(["2020-01-01", "1900-01-01"]).str.to_date(),
        }
    )
    table = read_table(frame, ReadOptions(na=("-9", "?", "1900-01-01")))
    assert [table.column(name).is_null().to_list() for name in table.names] == [
        [False, True],
        [False, True],
        [False, False],
        [True, False],
        [False, True],
    ]


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([5, 5, 3]),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["k", "l"]),
        pd.date_range("2020-01-01", periods=3, name="day"),
        pd.RangeIndex(3),
    ],
)
def test_pandas_dtypes_and_order_survive_and_the_index_if_asked_for(index):
    frame = pd.DataFrame(
        {
            "s": pd.Series(["a", None, "b"], index=range(3)).to_numpy(),
            "cat": pd.Categorical(["x", None, "y"]),
            "int": pd.array([1, None, 3], dtype="Int64"),
            "tz": pd.date_range("2020", periods=3, tz="Europe/Berlin"),
            7: [1, 2, 3],
            "period": pd.period_range("2020", periods=3, freq="M"),
        },
        index=index,
    )
    before = frame.copy(deep=True)
    released = read_table(frame).build_release({"s": pl.Series(["*", None, "*"])}, None, [], keep_index=True)
    pd.testing.assert_frame_equal(frame, before)
    expected = before.drop(columns="s").set_axis(
        before.index.remove_unused_levels() if index.nlevels > 1 else before.index
    )
    pd.testing.assert_frame_equal(released.drop(columns="s"), expected, check_freq=False)
    assert list(released.columns) == list(before.columns)
    some = read_table(frame).build_release({"s": pl.Series(["*", None])}, np.array([2, 0]), ["cat"])
    assert isinstance(some.index, pd.RangeIndex)
    levels = [str(name) for name in index.names if name is not None]
    left = before.drop(columns=["s", "cat"]).iloc[[2, 0]].reset_index(drop=not levels)
    expected = left[levels + [name for name in some.columns if name not in ("s", *levels)]]
    pd.testing.assert_frame_equal(some.drop(columns="s"), expected, check_column_type=False)
    some.loc[0, "s"] = "changed"
    released.iloc[0, list(released.columns).index("s")] = "changed"
    pd.testing.assert_frame_equal(frame, before)


def test_pandas_columns_of_every_kind_are_read():
    frame = pd.DataFrame(
        {
            "mixed": pd.Series([1, "x", None], dtype=object),
            "large": pd.Series([10**25, 1, None], dtype=object),
            "period": pd.period_range("2020", periods=3, freq="M"),
            "interval": pd.IntervalIndex.from_breaks([0, 1, 2, 3]),
            "category": pd.Categorical([30, None, 20]),
            "ordered": pd.Categorical(["low", None, "high"], ["low", "high"], ordered=True),
            "span": pd.to_timedelta([1, 2, 3], "h"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
        }
    )
    table = read_table(frame)
    assert table.column("mixed").to_list() == ["1", "x", None]
    assert table.column("large").to_list() == [str(10**25), "1", None]
    assert table.column("period").to_list() == ["2020-01", "2020-02", "2020-03"]
    assert table.column("interval").to_list()[0] == "(0, 1]"
    assert table.column("category").to_list() == [30, None, 20]
    assert ordered_values(table.column("ordered")) == ["low", "high"]
    assert table.column("ordered").to_list() == ["low", None, "high"]
    assert [infer_type(table.column(name)).type for name in ("large", "ordered", "span", "boolean")] == [
        "integer",
        "ordered",
        "string",
        "boolean",
    ]


def test_pyarrow_order_survives_and_metadata_if_asked_for():
    rank = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["low", "high"]), ordered=True)
    source = pa.table({"a": ["x", "y"], "rank": rank}).replace_schema_metadata({"made by": "us"})
    table = read_table(source)
    assert ordered_values(table.column("rank")) == ["low", "high"]
    assert table.build_release({}, None, []).schema.metadata is None
    released = table.build_release({"a": pl.Series(["*", "*"])}, None, [], keep_metadata=True)
    assert released.schema.metadata == source.schema.metadata
    assert released.field("rank") == source.field("rank")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the pandas frame: more than one column is called 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "more than one column is called '1'"),
        (pa.table([[1], [2]], names=["a", "a"]), "the pyarrow frame: more than one column is called 'a'"),
        (pl.DataFrame({"": [1]}), "column 1 has no name"),
        (pd.DataFrame({"a": []}), "has columns but no rows"),
        (pl.DataFrame(), "has no columns"),
        (pd.DataFrame({"a": [[1]]}), r"not plain values but List\(Int64\) in 'a'"),
        (pl.DataFrame({"a": [b"x"]}), "not plain values but Binary in 'a'"),
        (pl.LazyFrame({"a": [1]}).select("b"), "the lazy frame cannot be collected"),
    ],
)
def test_frames_that_cannot_be_used(frame, message):
    with pytest.raises(InputError, match=message):
        read_table(frame)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "jsonl", "xlsx"])
def test_columns_that_are_kept_may_have_names_like_patterns(tmp_path, suffix):
    frame = pl.DataFrame(
        {
            "age": [1, 1, 2, 2],
            "^note$": list("abcd"),
            "*": [1, 2, 3, 4],
            "^time$": [time(1, 2, at) for at in range(4)],
            "^took$": [timedelta(seconds=at) for at in range(4)],
            "when": [datetime(2020, 1, 1, tzinfo=UTC)] * 4,
        }
    ).rename({"when": "^when$"})
    path = tmp_path / f"out.{suffix}"
    found = shoal.anonymize(frame, quasi=["age"], others="keep", k=2, algorithm="mondrian", output=path)
    assert found.frame["^note$"].to_list() == list("abcd")
    assert read_table(path).names == frame.columns
    assert read_table(path).column("^note$").to_list() == list("abcd")
