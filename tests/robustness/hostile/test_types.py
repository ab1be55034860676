"""Unusual types: each is taken, or refused with a typed error that names the column and the type.

Every type comes as every role, through every call. A column that is left out may have any type at all.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.cases import thin_out

import shoal
from shoal.errors import InternalError, ShoalError

ROWS = 12
ROLES = ("quasi", "sensitive", "identifier", "plain")
CALLS = ("anonymize", "representative", "risk", "verify", "suggest")

DAY = dt.datetime(2020, 1, 1)
TEXTS = [f"text number {i % 4}" for i in range(ROWS)]
NUMBERS = [i % 4 for i in range(ROWS)]
MIXED = [1, "a", 2.5, None, (1, 2), DAY, 1, "a", 2.5, None, (1, 2), DAY]

ARROW: dict[str, Callable[[], Any]] = {
    "null": lambda: pa.nulls(ROWS),
    "bool": lambda: pa.array([True, False, None] * 4),
    **{
        str(kind): lambda kind=kind: pa.array(NUMBERS, kind)
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
                     pa.uint64(), pa.float32(), pa.float64())
    },
    "float16": lambda: pa.array(np.array(NUMBERS, np.float16)),
    **{
        str(kind): lambda kind=kind: pa.array([Decimal(n) for n in NUMBERS], kind)
        for kind in (pa.decimal32(5, 1), pa.decimal64(12, 2), pa.decimal128(20, 3), pa.decimal256(70, 4))
    },
    "decimal256, large": lambda: pa.array([Decimal(10**60 + n) for n in NUMBERS], pa.decimal256(70, 4)),
    "decimal128, negative scale": lambda: pa.array(
        [Decimal(n * 1000) for n in NUMBERS], pa.decimal128(20, -2)
    ),
    **{
        f"{kind}": lambda kind=kind: pa.array(TEXTS, kind)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    **{
        f"{kind}": lambda kind=kind: pa.array([text.encode() for text in TEXTS], kind)
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(13))
    },
    "date32": lambda: pa.array([DAY.date()] * ROWS, pa.date32()),
    "date64": lambda: pa.array([DAY.date()] * ROWS, pa.date64()),
    **{
        f"timestamp {unit} {zone}": lambda unit=unit, zone=zone: pa.array(NUMBERS, pa.timestamp(unit, zone))
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Berlin", "+05:30", "-00:15", "No/Where")
    },
    **{
        str(kind): lambda kind=kind: pa.array(NUMBERS, kind)
        for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("s"),
                     pa.duration("ms"), pa.duration("us"), pa.duration("ns"))
    },
    "dates beyond all": lambda: pa.array([2**31 - 1 - n for n in NUMBERS], pa.date32()),
    **{
        f"timestamp {unit} beyond all": lambda unit=unit: pa.array(
            [2**62 + n for n in NUMBERS], pa.timestamp(unit)
        )
        for unit in ("s", "ms")
    },
    "month_day_nano": lambda: pa.array([(n, n, n) for n in NUMBERS], pa.month_day_nano_interval()),
    "list": lambda: pa.array([[n] for n in NUMBERS], pa.list_(pa.int64())),
    "large_list": lambda: pa.array([[n] for n in NUMBERS], pa.large_list(pa.int64())),
    "list_view": lambda: pa.array([[n] for n in NUMBERS], pa.list_view(pa.int64())),
    "fixed list": lambda: pa.array([[n, n] for n in NUMBERS], pa.list_(pa.int64(), 2)),
    "struct": lambda: pa.array([{"a": n} for n in NUMBERS]),
    "map": lambda: pa.array([[("a", n)] for n in NUMBERS], pa.map_(pa.string(), pa.int64())),
    "dense union": lambda: pa.UnionArray.from_dense(
        pa.array([0, 1] * 6, pa.int8()), pa.array([i // 2 for i in range(ROWS)], pa.int32()),
        [pa.array(range(6)), pa.array(list("abcdef"))],
    ),
    "sparse union": lambda: pa.UnionArray.from_sparse(
        pa.array([0, 1] * 6, pa.int8()), [pa.array(NUMBERS), pa.array(TEXTS)]
    ),
    "dictionary": lambda: pa.array(TEXTS).dictionary_encode(),
    "ordered dictionary": lambda: pa.DictionaryArray.from_arrays(
        pa.array(NUMBERS, pa.int8()), pa.array(["a", "b", "c", "d"]), ordered=True
    ),
    "dictionary of numbers": lambda: pa.array(NUMBERS).dictionary_encode(),
    "ordered dictionary of numbers": lambda: pa.DictionaryArray.from_arrays(
        pa.array(NUMBERS, pa.int8()), pa.array([5, 3, 2, 1]), ordered=True
    ),
    "dictionary of dates": lambda: pa.array([DAY.date()] * ROWS).dictionary_encode(),
    "dictionary with a null": lambda: pa.DictionaryArray.from_arrays(
        pa.array(NUMBERS, pa.int8()), pa.array(["a", None, "c", "d"])
    ),
    "runs of numbers": lambda: pa.RunEndEncodedArray.from_arrays([6, ROWS], [1, 2]),
    "runs of texts": lambda: pa.RunEndEncodedArray.from_arrays([6, ROWS], ["one text", "other text"]),
    "uuid": lambda: pa.array([uuid.UUID(int=n).bytes for n in NUMBERS], pa.uuid()),
    "json": lambda: pa.array(['{"a": 1}'] * ROWS, pa.json_()),
    "bool8": lambda: pa.ExtensionArray.from_storage(
        pa.bool8(), pa.array([n % 2 for n in NUMBERS], pa.int8())
    ),
    "tensor": lambda: pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((ROWS, 2, 2))),
    "opaque": lambda: pa.ExtensionArray.from_storage(
        pa.opaque(pa.binary(), "geometry", "somebody"), pa.array([b"x"] * ROWS)
    ),
}  # fmt: skip


def objects(*values: Any) -> Any:
    """A pandas column of objects."""
    return pd.Series([values[i % len(values)] for i in range(ROWS)], dtype=object)


PANDAS: dict[str, Callable[[], Any]] = {
    **{
        name: lambda name=name: pd.Series(pd.array(NUMBERS, dtype=name))
        for name in ("int8", "uint64", "float32", "Int8", "UInt16", "Int64", "Float32", "Float64",
                     "int64[pyarrow]", "uint8[pyarrow]", "double[pyarrow]")
    },
    "float16": lambda: pd.Series(np.array(NUMBERS, np.float16)),
    "longdouble": lambda: pd.Series(np.array(NUMBERS, np.longdouble)),
    "complex": lambda: pd.Series(np.array(NUMBERS, complex)),
    "bool": lambda: pd.Series([True, False] * 6),
    "boolean": lambda: pd.Series(pd.array([True, None] * 6, dtype="boolean")),
    "string": lambda: pd.Series(TEXTS, dtype="string"),
    "string[python]": lambda: pd.Series(TEXTS, dtype="string[python]"),
    "string[pyarrow]": lambda: pd.Series(TEXTS, dtype="string[pyarrow]"),
    "datetime s": lambda: pd.Series(np.array(NUMBERS, "datetime64[s]")),
    "datetime ns": lambda: pd.Series(np.array(NUMBERS, "datetime64[ns]")),
    "datetime Berlin": lambda: pd.Series(pd.date_range(DAY, periods=ROWS, tz="Europe/Berlin")),
    "datetime +05:30": lambda: pd.Series(
        pd.date_range(DAY, periods=ROWS, tz=dt.timezone(dt.timedelta(hours=5, minutes=30)))
    ),
    "datetime +00:00:01": lambda: pd.Series(
        pd.date_range(DAY, periods=ROWS, tz=dt.timezone(dt.timedelta(seconds=1)))
    ),
    "timedelta": lambda: pd.Series(pd.to_timedelta(NUMBERS, unit="s")),
    "period": lambda: pd.Series(pd.period_range("2020-01", periods=ROWS, freq="M")),
    "interval": lambda: pd.Series(pd.arrays.IntervalArray.from_breaks(range(ROWS + 1))),
    "cut": lambda: pd.Series(pd.cut(NUMBERS, 3)),
    "cut with missing ones": lambda: pd.Series(pd.cut(NUMBERS, [0, 1, 2])),
    "qcut": lambda: pd.Series(pd.qcut(range(ROWS), 3)),
    "cut with labels": lambda: pd.Series(pd.cut(NUMBERS, 3, labels=["low", "mid", "high"])),
    "cut into numbers": lambda: pd.Series(pd.cut(NUMBERS, 3, labels=False)),
    "categorical": lambda: pd.Series(TEXTS, dtype="category"),
    "categorical of numbers": lambda: pd.Series(NUMBERS, dtype="category"),
    "ordered categorical": lambda: pd.Series(pd.Categorical(TEXTS, sorted(set(TEXTS)), ordered=True)),
    "ordered numbers": lambda: pd.Series(pd.Categorical(NUMBERS, [3, 1, 0, 2], ordered=True)),
    "ordered 1 and '1'": lambda: pd.Series(pd.Categorical([1, "1"] * 6, [1, "1"], ordered=True)),
    "mixed categorical": lambda: pd.Series(pd.Categorical([1, "a", 2.5, None] * 3, [1, "a", 2.5])),
    "mixed ordered categorical": lambda: pd.Series(
        pd.Categorical([1, "a", 2.5, None] * 3, ["a", 2.5, 1], ordered=True)
    ),
    "categorical of times": lambda: pd.Series(pd.Categorical(pd.date_range(DAY, periods=ROWS))),
    "sparse": lambda: pd.Series(pd.arrays.SparseArray(NUMBERS)),
    "sparse floats": lambda: pd.Series(pd.arrays.SparseArray([1.0, np.nan] * 6)),
    "decimals": lambda: objects(Decimal("1.50"), Decimal("2")),
    "decimals far apart": lambda: objects(Decimal("1E+30"), Decimal("1E-30")),
    "decimal not a number": lambda: objects(Decimal("NaN"), Decimal("1")),
    "decimal infinity": lambda: objects(Decimal("Infinity"), Decimal("1")),
    "decimal that signals": lambda: objects(Decimal("sNaN"), Decimal("1")),
    "dates": lambda: objects(DAY.date(), None),
    "dates and times": lambda: objects(DAY.date(), DAY),
    "years far away": lambda: objects(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)),
    "times of day": lambda: objects(dt.time(1, 2, 3, 4), dt.time(23)),
    "times with zones": lambda: objects(dt.time(1, tzinfo=dt.UTC), dt.time(2)),
    "zones of all kinds": lambda: objects(
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))),
        DAY,
    ),
    "large integers": lambda: objects(2**70, 1),
    "integers beyond all": lambda: objects(10**60, 1),
    "bytes": lambda: objects(b"x", b"\xff"),
    "lone surrogates": lambda: objects("a\ud800", "b"),
    "null characters": lambda: objects("a\0b", "b"),
    "lists": lambda: objects([1], [2, 3]),
    "dicts": lambda: objects({"a": 1}, {"b": 2}),
    "sets": lambda: objects({1}, frozenset([2])),
    "arrays": lambda: objects(np.array([1, 2]), np.array([3])),
    "tuples": lambda: objects((1, 2), (3,)),
    "uuids": lambda: objects(uuid.UUID(int=1), uuid.UUID(int=2)),
    "ellipses": lambda: objects(..., None),
    "functions": lambda: objects(len, max),
    "mixed": lambda: objects(*MIXED),
    "text and numbers": lambda: objects("a", 1),
    "booleans and text": lambda: objects(True, "x", None),
    "none": lambda: objects(None),
    "not a number": lambda: objects(float("nan"), None, pd.NA, pd.NaT),
    "numpy scalars": lambda: objects(np.int64(1), np.float64(2.5), np.str_("x")),
    **{
        f"pyarrow {name}": lambda make=make: pd.Series(
            pd.arrays.ArrowExtensionArray(pa.chunked_array([make()]))
        )
        for name, make in ARROW.items()
        if "union" not in name and not isinstance(make().type, pa.BaseExtensionType)
    },
}  # fmt: skip

POLARS: dict[str, Callable[[], pl.Series]] = {
    **{
        str(kind): lambda kind=kind: pl.Series(NUMBERS, dtype=kind)
        for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int128, pl.UInt8, pl.UInt64, pl.Float32, pl.Duration,
                     pl.Decimal(38, 9))
    },
    "Null": lambda: pl.Series([None] * ROWS),
    "Binary": lambda: pl.Series([text.encode() for text in TEXTS]),
    "Object": lambda: pl.Series([object() for _ in NUMBERS], dtype=pl.Object),
    "Object of texts": lambda: pl.Series(TEXTS, dtype=pl.Object),
    "List": lambda: pl.Series([[n] for n in NUMBERS]),
    "List of texts": lambda: pl.Series([[text] for text in TEXTS]),
    "Array": lambda: pl.Series([[n, n] for n in NUMBERS], dtype=pl.Array(pl.Int64, 2)),
    "Struct": lambda: pl.Series([{"a": n} for n in NUMBERS]),
    "Categorical": lambda: pl.Series(TEXTS, dtype=pl.Categorical),
    "Enum": lambda: pl.Series(TEXTS, dtype=pl.Enum(sorted(set(TEXTS)))),
    "empty Enum": lambda: pl.Series([None] * ROWS, dtype=pl.Enum([])),
    "Time": lambda: pl.Series([dt.time(1, 2, 3, n) for n in NUMBERS]),
    "Date": lambda: pl.Series([DAY.date()] * ROWS),
    "Date beyond all": lambda: pl.Series([-(2**31) + n for n in NUMBERS], dtype=pl.Int32).cast(pl.Date),
    "Date of the year 20000": lambda: pl.Series([6_585_000] * ROWS, dtype=pl.Int32).cast(pl.Date),
    "Datetime": lambda: pl.Series([DAY] * ROWS, dtype=pl.Datetime("ns", "Asia/Kolkata")),
    "NaN": lambda: pl.Series([float("nan"), float("inf"), None, -0.0] * 3),
}  # fmt: skip


def framed(library: str, name: str) -> Any:
    """A frame with a column of the type, and others."""
    ages = [20 + i % 3 for i in range(ROWS)]
    if library == "pyarrow":
        return pa.table({"age": ages, "odd": ARROW[name](), "note": TEXTS})
    if library == "pandas":
        return pd.DataFrame({"age": ages, "odd": PANDAS[name](), "note": TEXTS})
    return pl.DataFrame({"age": ages, "odd": POLARS[name](), "note": TEXTS})


def carry_out(call: str, frame: Any, role: str) -> Any:
    """A call with the column in a role."""
    quasi = ["age", "odd"] if role == "quasi" else ["age"]
    sensitive = ["odd"] if role == "sensitive" else []
    identifier = ["odd"] if role == "identifier" else []
    roles = {"quasi": quasi, "sensitive": sensitive}
    if call in ("anonymize", "representative"):
        render = "representative" if call == "representative" else "label"
        return shoal.anonymize(
            frame, **roles, identifier=identifier, others="keep", k=2, algorithm="mondrian", render=render
        )
    if call == "risk":
        return shoal.risk(frame, **roles, identifier=identifier)
    if call == "verify":
        return shoal.verify(frame, **roles, k=2)
    return shoal.suggest(frame)


def test_a_type_that_is_taken_stays_itself_where_nothing_happens_to_it():
    runs = framed("pyarrow", "runs of numbers")
    assert carry_out("anonymize", runs, "plain").frame.column("odd").to_pylist() == [1] * 6 + [2] * 6
    zoned = framed("pyarrow", "timestamp us +05:30")
    released = carry_out("anonymize", zoned, "plain").frame
    assert released.schema.field("odd").type == zoned.schema.field("odd").type
    cut = framed("pandas", "cut")
    released = carry_out("representative", cut, "quasi").frame["odd"]
    assert set(released.cat.categories) <= set(cut["odd"].cat.categories)


def test_the_error_says_which_column_has_which_type():
    with pytest.raises(ShoalError, match=r"column 'odd' has the type month_day_nano_interval, which cannot"):
        carry_out("anonymize", framed("pyarrow", "month_day_nano"), "plain")
    with pytest.raises(ShoalError, match=r"column 'odd' has the type object of str"):
        carry_out("risk", framed("pandas", "lone surrogates"), "quasi")


def test_rows_of_one_person_are_told_by_an_identifier_of_any_type():
    frame = pl.DataFrame({"age": [20, 20, 30, 30] * 5, "who": [[i // 4] for i in range(20)]})
    found = shoal.anonymize(frame, quasi=["age"], identifier=["who"], k=2, algorithm="mondrian")
    assert "who" in " ".join(finding.id for finding in found.report.findings)


@pytest.mark.parametrize("levels", [1, 2])
def test_an_index_of_any_type_is_a_column_like_others(levels):
    odd = ["a\ud800", "b"] * 6
    frame = pd.DataFrame({"age": [20 + i % 3 for i in range(ROWS)]})
    one = pd.Index(odd, name="odd", dtype=object)
    frame.index = (
        one if levels == 1 else pd.MultiIndex.from_arrays([one, pd.CategoricalIndex(TEXTS, name="note")])
    )
    released = carry_out("anonymize", frame, "identifier").frame
    assert "odd" not in released.columns
    with pytest.raises(ShoalError, match=r"column 'odd' has the type object of str"):
        carry_out("anonymize", frame, "plain")


def test_days_that_are_far_away_are_written(tmp_path):
    frame = framed("polars", "Date of the year 20000")
    carry_out("anonymize", frame, "plain").write(tmp_path / "far.xlsx")
    beyond = framed("polars", "Date beyond all")
    odd_name = beyond.rename({"odd": "^odd$"})
    assert shoal.anonymize(odd_name, quasi=["age"], others="drop", k=2).frame.columns == ["age"]
    beyond.write_parquet(tmp_path / "beyond.parquet")
    roles = {"quasi": ["age"], "others": "keep", "k": 2}
    for memory in (None, "200MB"):
        with pytest.raises(ShoalError, match=r"days of the type Date in 'odd' are outside of the calendar"):
            shoal.anonymize(tmp_path / "beyond.parquet", **roles, memory=memory, output=tmp_path / "a.csv")


TYPES = [
    (library, name)
    for library, known in (("pyarrow", ARROW), ("pandas", PANDAS), ("polars", POLARS))
    for name in known
]


@pytest.mark.parametrize(
    ("library", "name"), thin_out(TYPES, 4), ids=[f"{one} {other}" for one, other in TYPES]
)
def test_every_type_is_taken_or_refused_by_name(library, name):
    frame = framed(library, name)
    for role in ROLES:
        for call in CALLS:
            try:
                carry_out(call, frame, role)
            except InternalError:
                raise
            except ShoalError as error:
                assert "'odd'" in str(error) or "goal" in str(error), (role, call, str(error))
                assert role != "identifier" or call in ("verify", "suggest"), (role, call, str(error))


NESTED = ["List", "Struct", "Binary", "Array", "Date beyond all"]


@pytest.mark.parametrize("name", [name for name in POLARS if name.startswith(tuple(NESTED))])
def test_what_is_neither_released_nor_counted_may_have_any_type_in_a_file(tmp_path, name):
    """By every way that a file goes."""
    from shoal.cli import run_command_line
    from shoal.cli.process import run_to_end

    file, out = str(tmp_path / "in.parquet"), str(tmp_path / "out.csv")
    framed("polars", name).write_parquet(file)
    quiet = ("-q", "age", "--quiet")
    for line in (
        ("risk", file, *quiet),
        ("risk", file, *quiet, "--identifier", "odd"),
        ("suggest", file, "--quiet"),
        ("anonymize", file, *quiet, "-k", "2", "--others", "drop", "-o", out),
        ("anonymize", file, *quiet, "-k", "2", "--others", "drop", "-o", out, "--memory", "500MB"),
        ("anonymize", file, "-q", "age,note", "--identifier", "odd", "-k", "2", "-o", out, "--memory", "1GB"),
    ):
        code, told = run_to_end(run_command_line, line)
        assert code == 0, (line, told)
    for role in ("-q", "-s"):
        code, told = run_to_end(run_command_line, ("risk", file, *quiet, role, "odd"))
        assert code == 2
        assert "'odd'" in told


def test_suggest_leaves_a_column_of_lists_out():
    frame = pl.DataFrame({"age": [20 + at for at in range(30)], "tags": [["a", "b"]] * 15 + [["c"]] * 15})
    (tags,) = (column for column in shoal.suggest(frame).columns if column.name == "tags")
    assert (tags.role, "List(String)" in tags.why) == ("identifier", True)


def test_lists_that_differ_far_behind_are_two(tmp_path):
    """As texts of an identifier, by which the rows of one person are told."""
    lists = [[0] * 50 + [at // 4] for at in range(20)]
    frame = pl.DataFrame({"age": [20, 20, 30, 30] * 5, "who": lists})
    frame.write_parquet(tmp_path / "in.parquet")
    found = []
    for memory in (None, "500MB"):
        settings = {"quasi": ["age"], "identifier": ["who"], "k": 2, "memory": memory}
        release = shoal.anonymize(tmp_path / "in.parquet", **settings, output=tmp_path / "out.csv")
        found.append([(each.id, each.figure) for each in release.report.findings])
    assert found[0] == found[1] != []


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128])
@pytest.mark.parametrize("role", ROLES)
def test_numbers_too_wide_for_a_memory_limit_are_refused_by_name(tmp_path, kind, role):
    pl.DataFrame({"age": [20, 20, 30, 30], "odd": pl.Series([1, 2, 1, 2], dtype=kind)}).write_parquet(
        tmp_path / "in.parquet"
    )
    roles = {"quasi": ["age"], role: ["age", "odd"] if role == "quasi" else ["odd"], "k": 2}
    shoal.anonymize(tmp_path / "in.parquet", **roles, output=tmp_path / "out.csv")
    with pytest.raises(
        ShoalError, match=rf"column 'odd' has the type {kind.__name__}, which cannot be read in"
    ):
        shoal.anonymize(tmp_path / "in.parquet", **roles, memory="500MB", output=tmp_path / "out.csv")
