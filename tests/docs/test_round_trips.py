"""The table of `docs/howto/types.md`: what becomes of the types of a column that is kept or generalised.

``python tests/docs/test_round_trips.py`` writes it.
"""

from __future__ import annotations

import re
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa

import shoal
from shoal.errors import ShoalError

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "types.md"
BEGIN, END = "<!-- round trips -->", "<!-- end of round trips -->"
DAYS = [date(2020, 1, 1), date(2020, 1, 2), None, date(2020, 1, 4)]
TIMES = [datetime(2020, 1, 1, 2, 3), datetime(2020, 1, 2), None, datetime(2020, 1, 4)]

KINDS = {
    "pandas": {
        "`int64`": pd.Series([1, 2, 3, 4]),
        "`Int64`, nullable": pd.Series([1, 2, None, 4], dtype="Int64"),
        "`float64`": pd.Series([1.5, 2, None, 4]),
        "`boolean`, nullable": pd.Series([True, False, None, True], dtype="boolean"),
        "`string`": pd.Series(["a", "b", None, "d"], dtype="string"),
        "`category`, no order": pd.Series(["a", "b", None, "b"], dtype="category"),
        "`category`, ordered": pd.Series(
            pd.Categorical(["a", "b", None, "b"], categories=["b", "a"], ordered=True)
        ),
        "`datetime64[us]`": pd.Series(TIMES).astype("datetime64[us]"),
        "`datetime64[us, Europe/Berlin]`": pd.Series(TIMES)
        .astype("datetime64[us]")
        .dt.tz_localize("Europe/Berlin"),
        "`timedelta64[us]`": pd.Series([timedelta(1), timedelta(2), None, timedelta(4)]).astype(
            "timedelta64[us]"
        ),
        "`period[M]`": pd.Series(pd.period_range("2020-01", periods=4, freq="M")),
        "`interval`": pd.Series(pd.interval_range(0, 4)),
        "objects, `date`": pd.Series(DAYS, dtype=object),
        "objects, `Decimal`": pd.Series([Decimal("1.50"), Decimal(2), None, Decimal(4)], dtype=object),
        "objects, lists": pd.Series([[1], [2, 3], None, []], dtype=object),
    },
    "polars": {
        "`Int64`": pl.Series([1, 2, None, 4]),
        "`UInt8`": pl.Series([1, 2, None, 4], dtype=pl.UInt8),
        "`Float32`": pl.Series([1.5, 2, None, 4], dtype=pl.Float32),
        "`Boolean`": pl.Series([True, False, None, True]),
        "`Categorical`": pl.Series(["a", "b", None, "b"], dtype=pl.Categorical),
        "`Enum`": pl.Series(["a", "b", None, "b"], dtype=pl.Enum(["b", "a"])),
        "`Date`": pl.Series(DAYS),
        "`Datetime`, `Europe/Berlin`": pl.Series(TIMES).dt.replace_time_zone("Europe/Berlin"),
        "`Time`": pl.Series([time(1), time(2), None, time(4)]),
        "`Duration`": pl.Series([timedelta(1), timedelta(2), None, timedelta(4)]),
        "`Decimal(10, 2)`": pl.Series(["1.50", "2", None, "4"]).cast(pl.Decimal(10, 2)),
        "`List(Int64)`": pl.Series([[1], [2, 3], None, []]),
        "`Struct`": pl.Series([{"a": 1}, {"a": 2}, None, {"a": 4}]),
        "`Binary`": pl.Series([b"a", b"b", None, b"d"]),
    },
    "pyarrow": {
        "`int32`": pa.array([1, 2, None, 4], pa.int32()),
        "`dictionary`, ordered": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 1], pa.int8()), pa.array(["b", "a"]), ordered=True
        ),
        "`decimal256(50, 2)`": pa.array(
            [Decimal("1.50"), Decimal(2), None, Decimal(4)], pa.decimal256(50, 2)
        ),
        "`timestamp[us, +02:00]`": pa.array(TIMES, pa.timestamp("us", "+02:00")),
        "`list<int64>`": pa.array([[1], [2, 3], None, []]),
    },
}
ROLES = ("plain", "label", "representative")


def make_frame(library: str, column):
    group = [1, 1, 2, 2]
    if library == "pandas":
        return pd.DataFrame({"x": column, "group": group})
    if library == "polars":
        return pl.DataFrame({"x": column, "group": group})
    return pa.table({"x": column, "group": group})


def read_column(frame):
    """The type of a column and its values."""
    if isinstance(frame, pd.DataFrame):
        return frame["x"].dtype, frame["x"].astype(object).where(frame["x"].notna(), None).tolist()
    if isinstance(frame, pl.DataFrame):
        return frame["x"].dtype, frame["x"].to_list()
    return frame.schema.field("x").type, frame["x"].to_pylist()


def tell_outcome(library: str, column, role: str) -> str:
    """What becomes of a column, as the table says it."""
    frame = make_frame(library, column)
    try:
        if role == "plain":
            release = shoal.anonymize(frame, quasi=["group"], plain=["x"], k=2).frame
        else:
            release = shoal.anonymize(frame, quasi=["x"], plain=["group"], k=1, render=role).frame
    except ShoalError:
        return "refused"
    (before, values), (after, now) = read_column(frame), read_column(release)
    same = now == values
    if role == "label" and str(after) in ("str", "string", "String", "large_string", "object"):
        return "text"
    if str(after) == str(before):
        return "the same" if same else "the same type, other values"
    name = str(after)
    return f"`{name}`" if same else f"`{name}`, other values"


def write_table() -> str:
    lines = [
        "| from | column | kept as it is | `label` | `representative` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for library, columns in KINDS.items():
        for name, column in columns.items():
            told = [tell_outcome(library, column, role) for role in ROLES]
            lines.append(f"| {library} | {name} | {' | '.join(told)} |")
    return "\n".join(lines)


def read_page() -> str:
    return re.search(f"{BEGIN}\n\n(.*?)\n\n{END}", PAGE.read_text("utf-8"), re.DOTALL)[1]


def test_the_table_says_what_happens():
    assert read_page() == write_table(), "if that is meant: python tests/docs/test_round_trips.py"


def test_no_value_changes_unless_the_table_says_so():
    assert "other values" not in read_page()


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    new = re.sub(f"{BEGIN}\n.*{END}", lambda _: f"{BEGIN}\n\n{write_table()}\n\n{END}", text, flags=re.DOTALL)
    PAGE.write_text(new, "utf-8")
    sys.stdout.write(new.split(BEGIN)[1].split(END)[0])
