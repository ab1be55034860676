"""Columns of sets: cells such as ``E11|I10|N18``, taken apart and put together again."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.table.frames import to_strings

# What stands between the values of a group, as in {a, b}: the first that the separator does not have.
_JOINERS = (", ", ";", "/")


def check_separator(column: str, separator: str) -> str:
    """Refuse a separator by which a cell could not be read again; give it back."""
    if not isinstance(separator, str) or not separator or any(mark in separator for mark in '{}"\n\r'):
        raise RecipeError(
            f"the separator of '{column}' must be one or more characters, without braces, quotes and line "
            f"ends, not {separator!r}"
        )
    choose_joiner(column, separator)
    return separator


def choose_joiner(column: str, separator: str) -> str:
    """What stands between the values of a group of items, so that no cell can be misread."""
    fitting = [joiner for joiner in _JOINERS if not set(joiner) & set(separator)]
    if not fitting:
        raise RecipeError(
            f"the separator {separator!r} of '{column}' has blanks or commas, semicolons and slashes: take a "
            "simpler one"
        )
    return fitting[0]


def split_sets(column: pl.Series, separator: str) -> tuple[pl.Series, NDArray[np.int64]]:
    """The items of all cells, and the row of each; blanks around an item are not part of it.

    An item that a cell has twice counts once. A missing or empty cell is an empty set.
    """
    cells = pl.DataFrame({"row": np.arange(column.len()), "item": to_strings(column)})
    items = (
        cells.drop_nulls()
        .with_columns(pl.col("item").str.split(separator))
        .explode("item")
        .with_columns(pl.col("item").str.strip_chars())
        .filter(pl.col("item") != "")
        .unique(maintain_order=True)
    )
    return items["item"], items["row"].to_numpy().astype(np.int64)


def join_sets(items: pl.Series, row: NDArray[np.int64], rows: int, separator: str) -> pl.Series:
    """Cells of items, sorted, each item once; of rows without items an empty text."""
    found = (
        pl.DataFrame({"row": row, "item": items})
        .unique(maintain_order=True)
        .sort("row", "item", maintain_order=True)
        .group_by("row", maintain_order=True)
        .agg(pl.col("item").str.join(separator))
    )
    cells = np.full(rows, "", object)
    cells[found["row"].to_numpy()] = found["item"].to_numpy()
    return pl.Series(cells.tolist(), dtype=pl.String)
