"""Columns of pandas read and written without pyarrow, which pandas does not need and polars asks for.

Numbers and times are taken as they lie in memory, everything else value by value.
"""

from __future__ import annotations

from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl

_DECIMAL = 38  # digits that polars has


def has_pyarrow() -> bool:
    """Whether pyarrow can be used."""
    return find_spec("pyarrow") is not None


def read_arrowless(column: Any) -> pl.Series:
    """A column of pandas in the type that polars has for it."""
    kind = column.dtype
    if getattr(kind, "tz", None) is not None:
        plain = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return read_arrowless(plain).dt.replace_time_zone("UTC").dt.convert_time_zone(str(kind.tz))
    if isinstance(kind, np.dtype) and kind.kind in "iufb":
        return pl.Series(column.to_numpy(), nan_to_null=True)
    if isinstance(kind, np.dtype) and kind.kind in "mM":
        unit = np.datetime_data(kind)[0]
        return pl.Series(column.to_numpy().astype(f"{kind.kind}8[{'ms' if unit == 's' else unit}]"))
    missing = column.isna().to_numpy()
    if hasattr(kind, "numpy_dtype") and kind.kind in "iufb":  # numbers with a mask
        filled = column.to_numpy(dtype=kind.numpy_dtype, na_value=0)
        return pl.Series(filled).set(pl.Series(missing), None)
    values = column.astype(object).where(~missing, None).to_list()
    if any(isinstance(value, Decimal) for value in values):
        return pl.Series(values, dtype=_decimal_type(values), strict=True)
    return pl.Series(values, strict=True)


def _decimal_type(values: list[Any]) -> pl.Decimal:
    """The type that has room for all digits; ValueError where polars has none."""
    parts = [value.as_tuple() for value in values if isinstance(value, Decimal) and value.is_finite()]
    whole = max((len(part.digits) + int(part.exponent) for part in parts), default=0)
    after = max((-int(part.exponent) for part in parts), default=0)
    digits = max(whole, 0) + max(after, 0)
    if not 0 < digits <= _DECIMAL:
        raise ValueError(f"polars has no decimal numbers of {digits} digits")
    return pl.Decimal(digits, max(after, 0))


def write_arrowless(series: pl.Series, pandas: Any) -> Any:
    """A column of polars as pandas would hold such values."""
    kind = series.dtype
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        plain = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return write_arrowless(plain, pandas).dt.tz_localize("UTC").dt.tz_convert(kind.time_zone)
    if kind == pl.Date:
        return pandas.Series(series.to_numpy().astype("M8[ms]"))
    if kind.is_float() or isinstance(kind, pl.Datetime | pl.Duration) or not series.has_nulls():
        values = series.to_numpy() if kind.is_numeric() or kind.is_temporal() else series.to_list()
        return pandas.Series(values)
    # Whole numbers beside missing ones would become floats.
    return pandas.Series(series.to_list(), dtype=object if kind.is_integer() else None)
