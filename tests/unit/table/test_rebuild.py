"""Copies of columns hold the values of their rows, and nothing else."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.table.rebuild import copy_column, copy_columns

pytest.importorskip("pyarrow")

LONG = [f"a hidden value of the row {row}" for row in range(1000)]
SHORT = [f"hidden{row}" for row in range(1000)]


def read_memory(series: pl.Series) -> bytes:
    """All that the buffers of a column hold, as they are."""
    array = series.to_arrow(compat_level=pl.CompatLevel.newest())
    return b"".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)


@pytest.mark.parametrize("rows", [0, 1, 2, 30, 999])
@pytest.mark.parametrize("texts", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Binary], ids=str)
def test_a_copy_holds_its_own_rows_alone(texts: list[str], dtype: pl.DataType, rows: int) -> None:
    series = pl.Series("a", texts).cast(dtype).head(rows)
    copy = copy_column(series)
    assert copy.to_list() == series.to_list()
    assert copy.dtype == dtype
    assert read_memory(copy).count(b"hidden") == rows


@pytest.mark.parametrize("texts", [LONG, SHORT], ids=["long", "short"])
def test_nothing_is_left_below_a_missing_value(texts: list[str]) -> None:
    whole = pl.Series("a", texts)
    series = whole.set(whole.str.ends_with("7"), None)
    copy = copy_column(series)
    assert copy.to_list() == series.to_list()
    assert read_memory(copy).count(b"hidden") == 900


def test_columns_share_no_memory_and_keep_their_order() -> None:
    frame = pl.DataFrame({"^a$": LONG, "b": range(1000), "c": SHORT}).filter(pl.col("b") < 10)
    copies = copy_columns(frame.get_columns())
    assert [copy.name for copy in copies] == ["^a$", "b", "c"]
    assert [copy.to_list() for copy in copies] == [series.to_list() for series in frame]
    assert [read_memory(copy).count(b"hidden") for copy in copies] == [10, 0, 10]
