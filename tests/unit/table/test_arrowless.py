"""pandas frames are taken without pyarrow, and read and given back as with it."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal.table import arrowless, native

COLUMNS = {
    "whole": pd.Series([1, 2, 3], dtype="int32"),
    "float": pd.Series([1.5, np.nan, 3.0]),
    "truth": pd.Series([True, False, True]),
    "masked": pd.Series([1, None, 2**60 + 1], dtype="Int64"),
    "masked truth": pd.Series([True, None, False], dtype="boolean"),
    "text": pd.Series(["a", None, "c"], dtype=object),
    "string": pd.Series(["a", None, "c"], dtype="string"),
    "date": pd.Series([dt.date(2020, 1, 2), None, dt.date(1890, 3, 4)], dtype=object),
    "time": pd.Series(pd.to_datetime(["2020-01-02 03:04:05.000000006", None], format="ISO8601")),
    "seconds": pd.Series(pd.to_datetime(["2020-01-02", None, "1999-12-31"])).astype("datetime64[s]"),
    "zone": pd.Series(pd.to_datetime(["2020-07-02", None, "1999-12-31"])).dt.tz_localize("Europe/Berlin"),
    "span": pd.Series(pd.to_timedelta([1, None, 3], unit="h")),
    "decimal": pd.Series([Decimal("1.50"), None, Decimal("-2.25")], dtype=object),
    "long decimal": pd.Series([Decimal("1e30"), Decimal("1e-30"), Decimal(1)], dtype=object),
    "category": pd.Series(["a", None, "b"], dtype="category"),
    "period": pd.Series(pd.period_range("2020-01", periods=3, freq="M")),
    "mixed": pd.Series([1, "a", None], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_alike(monkeypatch, name):
    column = COLUMNS[name]
    with_pyarrow = native.read_column(column)
    monkeypatch.setattr(native, "has_pyarrow", lambda: False)
    monkeypatch.setattr(pl, "from_pandas", None)
    found = native.read_column(column)
    assert found.dtype == with_pyarrow.dtype
    assert found.to_list() == with_pyarrow.to_list()


TYPED = ("whole", "float", "truth", "masked", "masked truth", "time", "seconds", "zone", "span")


@pytest.mark.parametrize("name", TYPED)
def test_what_stays_what_it_is_keeps_its_type_and_every_digit(name):
    column = COLUMNS[name]
    found = arrowless.write_arrowless(native.read_column(column), pd).astype(column.dtype)
    pd.testing.assert_series_equal(found, column)


@pytest.mark.parametrize("name", ["text", "string", "category", "mixed"])
def test_texts_are_as_they_were(name):
    series = native.read_column(COLUMNS[name])
    found = arrowless.write_arrowless(series, pd)
    assert [None if pd.isna(value) else value for value in found] == series.to_list()


SCRIPT = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
import shoal
people = pd.DataFrame({
    "age": pd.array([21, 22, None, 38], dtype="Int64"), "born": pd.to_datetime(["1999-01-01"] * 4),
    "sex": pd.Categorical(["f", "m", "f", "m"]), "illness": ["x", "y", "x", "z"],
})
release = shoal.anonymize(people, quasi=["age", "sex"], sensitive=["illness"], plain=["born"], k=2,
                          algorithm="mondrian")
assert list(release.frame.columns) == list(people.columns)
assert str(release.frame["born"].dtype) == str(people["born"].dtype)
assert shoal.verify(release.frame, quasi=["age", "sex"], sensitive=["illness"], k=2)
"""


@pytest.mark.exhaustive
def test_a_whole_run_needs_no_pyarrow():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
