"""What a builder sees of a column: its distinct values, and how many rows hold each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, quote


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The distinct values of a column in ascending order; a missing value is not among them."""

    text: pl.Series
    """How the table writes each value: these become the leaves."""
    value: pl.Series
    """What it is: a number, a date, a rank in a stated order, or text."""
    rows: NDArray[np.int64]
    """How many rows hold it."""
    profile: NDArray[np.int64] | None = None
    """[values, n] how many rows it shares with each of the n values of a target or of other columns."""

    def __post_init__(self) -> None:
        if not len(self.text):
            raise InputError("there are no values to build a hierarchy of: all of them are missing")

    @classmethod
    def of(cls, column: Iterable[Any]) -> Values:
        """Take the values of a column as Python, numpy or polars hold them; numbers and dates as such."""
        given = pl.Series("value", column)
        # NaN is a missing value, as in tables.
        present = (given.fill_nan(None) if given.dtype.is_float() else given).drop_nulls()
        counts = pl.DataFrame({"value": present}).group_by("value", maintain_order=True).len("rows")
        counts = counts.sort("value", maintain_order=True)
        text = counts["value"].cast(pl.String)
        return cls.from_distinct_values(text, counts["value"], counts["rows"].to_numpy().astype(np.int64))

    @classmethod
    def from_distinct_values(
        cls,
        text: pl.Series,
        value: pl.Series,
        rows: NDArray[np.int64],
        profile: NDArray[np.int64] | None = None,
    ) -> Values:
        """Put distinct values in order, without those that are nothing but spaces."""
        frame = pl.DataFrame({"value": value, "text": text}).with_row_index("at")
        shown = pl.Series([bool(each.strip()) for each in text], dtype=pl.Boolean)
        # Strings decide between equal values: 1 and 1.0 are two leaves.
        at = frame.filter(shown).sort("value", "text", maintain_order=True)["at"].to_numpy()
        return cls(text[at], value[at], rows[at], None if profile is None else profile[at])

    @property
    def leaves(self) -> list[str]:
        """The leaves of the tree to be."""
        return self.text.to_list()

    @property
    def has_integers(self) -> bool:
        """Whether all values are whole numbers."""
        return self.value.dtype.is_integer()

    def to_floats(self) -> NDArray[np.float64]:
        """The values as numbers, or an error if they are none."""
        if not self.value.dtype.is_numeric():
            raise InputError(f"intervals need numbers, not {quote(self.text.head(3))}")
        return self.value.cast(pl.Float64).to_numpy()

    def to_times(self) -> pl.Series:
        """The values as dates or times, or an error if they are none."""
        if self.value.dtype not in (pl.Date, pl.Datetime):
            raise InputError(f"weeks, months and years need dates, not {quote(self.text.head(3))}")
        return self.value
