"""Dates that become days since the first row of the same person: true values, but no day of the calendar."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, RecipeError
from shoal.table.formats import import_optional
from shoal.table.frames import Table, to_strings
from shoal.table.types import ColumnType, infer_type, parse_values

_COUNTED: tuple[ColumnType, ...] = ("date", "datetime", "integer", "float")


def make_relative(table: Table, name: str, person: NDArray[np.int64], type: ColumnType | None) -> Table:
    """The table with a column of dates as days since the first row of the same person.

    Numbers become differences to the least number of the person. Missing values stay missing.

    Parameters
    ----------
    person : int64[rows]
        The person of each row.
    type : str, optional
        What the column holds; inferred where None.
    """
    values = table.column(name)
    numbers = _parse_numbers(values, name, type)
    rows = pl.DataFrame({"person": person, "value": numbers})
    since = rows.select(pl.col("value") - pl.col("value").min().over("person")).to_series().alias(name)
    if table.origin.format == "text":
        since = to_strings(since)
    place = table.names.index(name)
    columns = table.frame.get_columns()
    columns[place] = since.alias(columns[place].name)
    native = _replace_native(table, place, since)
    return replace(table, frame=pl.DataFrame(columns), origin=replace(table.origin, native=native))


def _parse_numbers(values: pl.Series, name: str, type: ColumnType | None) -> pl.Series:
    """Days, or numbers as they are."""
    found = infer_type(values.unique(maintain_order=True))
    kind = type or found.type
    if kind not in _COUNTED:
        raise InputError(
            f"relative names '{name}', which holds no dates and no numbers; if it does, say which: "
            f"--type {name}=date"
        )
    if found.extra_na and type is None:
        values = values.set(to_strings(values).is_in(found.extra_na).fill_null(False), None)
    parsed = parse_values(values, kind, name)
    # The day of a time is what counts: the hour of a first visit is not to be learnt from a later one.
    return parsed.cast(pl.Date).to_physical().cast(pl.Int64) if kind in ("date", "datetime") else parsed


def _replace_native(table: Table, place: int, values: pl.Series) -> Any:
    """The frame that the table came from, with the new column instead of the old one."""
    kind, native = table.origin.kind, table.origin.native
    if kind == "pandas":
        if table.names[place] in table.origin.index:
            raise RecipeError(f"'{values.name}' is in the index of the frame: make it a column first")
        pandas = import_optional("pandas", "pandas")
        whole = "Int64" if values.has_nulls() else "int64"
        changed = native.copy(deep=False)
        changed.isetitem(place, pandas.array(values.to_list(), whole if values.dtype.is_integer() else None))
        return changed
    if kind == "pyarrow":
        return native.set_column(place, table.names[place], values.to_arrow())
    return native
