"""Lists, structures and bytes in columns that are released as they are, with their types."""

import pickle
from datetime import datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end
from shoal.errors import InputError, OutputError

LISTS = pl.DataFrame(
    {
        "age": [1, 1, 2, 2, 30],
        "tags": [["a", "b"], None, [], ["c"], ["hunter2"]],
        "visit": [
            {"x": 1, "y": "q"},
            None,
            {"x": None, "y": "z"},
            {"x": 4, "y": "w"},
            {"x": 5, "y": "hunter2"},
        ],
        "photo": [b"a", None, b"", b"d", b"hunter2"],
        "pair": pl.Series([[1, 2], [3, 4], None, [5, 6], [7, 8]], dtype=pl.Array(pl.Int8, 2)),
        "days": pl.Series(
            [[datetime(2020, 1, 1)], [], None, [None], []], dtype=pl.List(pl.Datetime("ns", "Europe/Berlin"))
        ),
    }
)
GOAL = {"quasi": ["age"], "others": "keep", "k": 2, "suppress": 0.3}
KEPT = LISTS.head(4).drop("age")


def release_of(frame):
    return shoal.anonymize(frame, **GOAL, algorithm="lattice", types={"age": "string"})


def to_frame(frame) -> pl.DataFrame:
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_frames_keep_values_and_types(lazy):
    release = release_of(LISTS.lazy() if lazy else LISTS)
    assert release.report.suppressed_rows == 1
    found = to_frame(release.frame).drop("age")
    assert found.equals(KEPT) and found.schema == KEPT.schema
    assert release.recipe.schema(LISTS) == release.schema == to_frame(release.frame).schema
    assert shoal.verify(release.frame, quasi=["age"], k=2).holds


def test_pyarrow_tables_keep_values_and_types():
    table = LISTS.to_arrow()
    at = table.schema.get_field_index("tags")
    small = table.set_column(at, "tags", table["tags"].cast(pa.list_(pa.string())))
    found = release_of(small).frame.drop(["age"])
    assert found.schema == small.drop(["age"]).schema
    assert found.to_pylist() == KEPT.to_arrow().to_pylist()


@pytest.mark.parametrize("arrow", [False, True])
def test_pandas_frames_keep_values_and_types(arrow):
    frame = LISTS.select("age", "tags", "visit").to_pandas(use_pyarrow_extension_array=arrow)
    found = release_of(frame).frame
    for name in ("tags", "visit"):
        assert found[name].dtype == frame[name].dtype
        assert list(map(str, found[name])) == list(map(str, frame[name].head(4)))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows", ".jsonl"])
def test_files_that_have_a_place_for_them(tmp_path, suffix):
    frame = LISTS.drop("photo") if suffix == ".jsonl" else LISTS
    release = release_of(frame)
    path = tmp_path / f"release{suffix}"
    release.write(path)
    assert b"hunter2" not in path.read_bytes()
    assert shoal.verify(path, quasi=["age"], k=2).holds
    again = shoal.anonymize(path, quasi=["age"], k=2, others="keep").frame
    if suffix != ".jsonl":  # whose types are those of JSON
        assert again.drop("age").equals(KEPT)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_files_that_have_none(tmp_path, suffix):
    path = tmp_path / f"release{suffix}"
    with pytest.raises(OutputError, match="no place for List"):
        release_of(LISTS).write(path)
    searched = []
    with pytest.raises(OutputError, match="no place for List"):
        shoal.anonymize(LISTS, **GOAL, output=path, on_progress=lambda stage, _: searched.append(stage))
    assert not any("search" in each for each in searched)
    assert list(tmp_path.iterdir()) == []


def test_nothing_stays_below_a_missing_value_or_beside_a_list(tmp_path):
    """Of the rows that are left out, of other rows in a shared buffer, and below nulls."""
    hidden = pl.Series(["hunter2"] * 4 + ["long enough to stand in a buffer of its own: hunter2"])
    struct = LISTS.select(
        "age", visit=pl.when(pl.col("age") > 99).then(pl.struct(y=hidden)), tags=pl.lit(hidden).implode()
    )
    struct = struct.with_columns(tags=pl.when(pl.col("age") > 99).then(pl.col("tags")))
    enum = pl.Series([["a"], [], None, ["a"], ["hunter2"]], dtype=pl.List(pl.Enum(["a", "hunter2"])))
    for frame in (struct, LISTS, LISTS.select("age", tags=enum), LISTS.select("age", tags=enum).to_arrow()):
        release = release_of(frame)
        release.write(tmp_path / "release.arrow")
        assert b"hunter2" not in (tmp_path / "release.arrow").read_bytes()
        assert b"hunter2" not in pickle.dumps(release.frame)
        assert b"hunter2" not in pickle.dumps(release)
        stream = pa.BufferOutputStream()
        table = pa.table(release)
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        assert b"hunter2" not in stream.getvalue().to_pybytes()


@pytest.mark.parametrize("role", ["quasi", "sensitive", "person"])
def test_columns_that_are_counted_hold_single_values(role):
    settings = {"quasi": ["age"], "others": "keep", role: "tags" if role == "person" else ["tags"], "k": 2}
    with pytest.raises(InputError, match="not plain values"):
        shoal.anonymize(LISTS, **settings)
    if role != "person":
        with pytest.raises(InputError, match="not plain values"):
            shoal.verify(LISTS, **{"quasi": ["age"], role: ["tags"], "k": 2})


def test_with_a_memory_limit_they_are_refused(tmp_path):
    LISTS.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(InputError, match="not plain values"):
        shoal.anonymize(tmp_path / "in.parquet", **GOAL, memory="500MB", output=tmp_path / "out.parquet")


def test_on_the_command_line_with_a_report_and_later_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LISTS.head(4).write_parquet("in.parquet")
    line = ["anonymize", "in.parquet", "-q", "age", "-k", "2", "--others", "keep", "--quiet"]
    written = [
        "-o",
        "out.parquet",
        "--report",
        "r.html",
        "--recipe-out",
        "r.toml",
        "--recoding-out",
        "c.json",
    ]
    assert run_to_end(run_command_line, [*line, *written]) == (0, "")
    assert pl.read_parquet("out.parquet").drop("age").equals(KEPT)
    later = ["apply", "c.json", "in.parquet", "--earlier", "out.parquet", "-o", "more.parquet", "--quiet"]
    assert run_to_end(run_command_line, later) == (0, "")
    assert pl.read_parquet("more.parquet").drop("age").equals(KEPT)
    assert run_to_end(run_command_line, ["run", "r.toml", "--quiet"]) == (0, "")


def test_equal_lists_in_rows_of_one_class_do_not_single_anyone_out():
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "tags": [["a"], ["a"], ["b"], ["b"]]})
    ids = {each.id for each in shoal.anonymize(frame, quasi=["age"], k=2, others="keep").report.findings}
    other = frame.with_columns(tags=pl.Series([["a"], ["b"], ["c"], ["d"]]))
    found = {each.id for each in shoal.anonymize(other, quasi=["age"], k=2, others="keep").report.findings}
    assert "unique-rows" in found and "unique-rows" not in ids


def test_pandas_objects_that_are_lists():
    frame = pd.DataFrame({"age": [1, 1, 2, 2], "tags": [[1], [2, 3], None, []]})
    found = shoal.anonymize(frame, quasi=["age"], k=2, others="keep").frame
    assert found["tags"].tolist() == frame["tags"].tolist()
