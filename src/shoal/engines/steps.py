"""Steps from row to row, counted batch by batch, for rows that are never in memory together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
import polars as pl

from shoal.table import to_strings
from shoal.table.frames import use_safe_name
from shoal.verification.findings import Steps
from shoal.verification.findings.order import choose_reading
from shoal.verification.findings.readings import BY_NAME, READINGS, read_texts


class StepCounter:
    """Counts how a column goes up and down, and how often it stays; missing values come first."""

    def __init__(self) -> None:
        self.up = self.down = self.beside = self.rows = 0
        self._last: pl.Series | None = None
        self._stayed = False

    def add_rows(self, series: pl.Series) -> None:
        """Go on with the next rows."""
        self.rows += len(series)
        # The step from the last row of one batch to the first of the next counts, too.
        joint = series if self._last is None else pl.concat([self._last, series])
        before, after = joint.head(len(joint) - 1), joint.slice(1)
        if len(after):
            self.up += _count_true(after > before) + _count_true(before.is_null() & after.is_not_null())
            self.down += _count_true(after < before) + _count_true(before.is_not_null() & after.is_null())
            same = before.eq_missing(after).to_numpy()
            # A run of equal steps has one row more than steps.
            runs = np.count_nonzero(same & ~np.insert(same[:-1], 0, self._stayed))
            self.beside += int(np.count_nonzero(same) + runs)
            self._stayed = bool(same[-1])
        self._last = joint.tail(1)

    def build_steps(self, squares: Callable[[], float], reading: str = BY_NAME) -> Steps:
        """What was counted, with what tells how often each value occurs."""
        return Steps(self.up, self.down, self.beside, self.rows, squares, reading)


def _count_true(which: pl.Series) -> int:
    return int(which.sum() or 0)


class ColumnSteps:
    """Counts the steps of a column by name, and by every reading that all of its texts fit."""

    def __init__(self) -> None:
        self.counters = {reading: StepCounter() for reading in (*READINGS, BY_NAME)}
        """What was counted by each reading that fits so far."""

    def add_rows(self, series: pl.Series) -> None:
        """Go on with the next rows, in which what is missing is null."""
        plain = use_safe_name(series)
        if plain.dtype != pl.String:
            named = plain.dtype in (pl.Categorical, pl.Enum, pl.Boolean)
            self._add_values({BY_NAME: to_strings(plain) if named else plain})
            return
        read = {name: read_texts(plain, name) for name in self.counters if name != BY_NAME}
        self._add_values({**read, BY_NAME: plain})

    def _add_values(self, read: Mapping[str, pl.Series | None]) -> None:
        # A reading that some texts do not fit is given up, whatever comes later.
        self.counters = {name: self.counters[name] for name, values in read.items() if values is not None}
        for name, counter in self.counters.items():
            counter.add_rows(cast(pl.Series, read[name]))

    def build_steps(self, squares: Callable[[], float]) -> Steps:
        """What was counted by the reading in which the rows are sorted, or by name."""
        return choose_reading([each.build_steps(squares, name) for name, each in self.counters.items()])


def tell_apart(series: pl.Series) -> pl.Series:
    """A column as whole numbers or texts, which differ where the values do, down to the sign of zero."""
    plain = use_safe_name(series)
    if plain.dtype.is_temporal():
        return plain.to_physical().cast(pl.Int64)
    wide = (pl.UInt64, pl.Int128, pl.UInt128)
    if plain.dtype.is_integer() and plain.dtype not in wide:
        return plain.cast(pl.Int64)
    return plain.cast(pl.String)
