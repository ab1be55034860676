"""Rows that stand in an order which tells what the cells hide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.verification.findings.base import Finding, JudgedRelease, Severity, format_percent
from shoal.verification.findings.readings import (
    BY_NAME,
    DAY_ORDERS,
    READINGS,
    is_read,
    may_be_read,
    read_column,
)

_REMEDY = "sort the release by what it shows: --row-order released"
_NEARLY = 0.1  # steps against the order, as a part of those in an arbitrary order
_FEWEST = 3.0  # steps against the order that an arbitrary one must have for a sorted one to mean something
_CELLS = 1 << 22  # cells of columns that are looked at together
_BESIDE = 0.2  # share of rows beside one of the same person, below which it may be chance


@dataclass(frozen=True, slots=True)
class Steps:
    """How the values of a column change from row to row."""

    up: int
    down: int
    beside: int
    """Rows that stand beside one with the same value."""
    rows: int
    squares: Callable[[], float]
    """Tells the sum of the squares of how often each value occurs; it is costly, and seldom needed."""
    reading: str = BY_NAME
    """How texts were read to be compared."""

    @classmethod
    def from_ranks(cls, ranks: NDArray[np.integer]) -> list[Steps]:
        """Count the steps of columns in memory, of which the ranks of values are given."""
        step = np.diff(ranks.astype(np.int64), axis=0)
        beside = np.zeros(ranks.shape, np.bool_)
        # Either neighbour counts, so every step of 0 marks two rows.
        beside[1:] |= step == 0
        beside[:-1] |= step == 0
        counts = (each.sum(axis=0).tolist() for each in (step > 0, step < 0, beside))
        return [
            cls(up, down, near, len(ranks), partial(_sum_squares, ranks[:, at]))
            for at, (up, down, near) in enumerate(zip(*counts, strict=True))
        ]

    @classmethod
    def from_columns(cls, columns: pl.DataFrame, reading: str = BY_NAME) -> list[Steps]:
        """Count the steps of columns in memory; missing values come first."""
        ranks = columns.select(pl.all().rank("dense").fill_null(0)).to_numpy()
        return [replace(each, reading=reading) for each in cls.from_ranks(ranks)]

    def measure_order(self) -> float | None:
        """The share of steps from row to row that go the same way, if rows are sorted; else None."""
        steps = self.rows - 1
        if min(self.up, self.down) > _NEARLY * steps / 2:  # whatever the values are
            return None
        # One row, or values that differ and are read as one number: large whole numbers as floats.
        if not self.up + self.down:
            return None
        # Steps that go up, or down, in random order: neighbours differ with probability
        # 1 - sum of squares / n**2, and half of the steps go either way.
        expected = (1 - self.squares() / self.rows**2) / 2 * steps
        if expected < _FEWEST or min(self.up, self.down) > _NEARLY * expected:
            return None
        # Steps of 0 say nothing about the direction.
        return max(self.up, self.down) / (self.up + self.down)

    def measure_neighbours(self) -> float | None:
        """The share of rows that stand beside a row with the same value, if that is no chance; else None."""
        beside = self.beside / max(self.rows, 1)
        if self.rows < 3 or beside <= _BESIDE:
            return None
        # Two neighbours, each equal by chance with probability sum of squares / n**2.
        expected = min(1.0, 2 * self.squares() / self.rows**2)
        return beside if beside > 3 * expected else None


def _sum_squares(ranks: NDArray[np.integer]) -> float:
    return float(np.square(np.unique(ranks, return_counts=True)[1].astype(np.float64)).sum())


def choose_reading(steps: Sequence[Steps]) -> Steps:
    """Of several readings of the texts of a column, the first by which rows are sorted; the last if none."""
    by_order = (each for each in steps if each.measure_order() is not None)
    return next(by_order, steps[-1])


def check_row_order(judged: JudgedRelease) -> Iterator[Finding]:
    """Find columns that are hidden, wholly or in part, and by which the rows are sorted."""
    left_out = _LeftOutSteps(judged.left_out)

    def steps_of(name: str) -> Steps:
        if name in judged.left_out:
            return left_out.steps_of(name)
        known = judged.original[name]
        rank = known.codes
        if known.position is not None:  # values are ranked, and not rows, of which there are far more
            rank = np.unique(known.position, return_inverse=True)[1][known.codes]
        return Steps.from_ranks(rank[:, np.newaxis])[0]

    return find_row_order(judged, list(judged.left_out), steps_of)


def find_row_order(
    judged: JudgedRelease, left_out: Sequence[str], steps_of: Callable[[str], Steps]
) -> Iterator[Finding]:
    """Find columns by which the rows are sorted, by what ``steps_of`` tells of each that is hidden."""
    if not judged.keeps_order:
        return
    for name in judged.quasi:
        if judged.lost.get(name, 0.0) > 0 and (share := steps_of(name).measure_order()) is not None:
            yield _sorted_finding(name, share, "a quasi-identifier that was generalised", "high")
    # Neighbours before order: rows of one person together say more than sorted rows.
    for name in left_out:
        steps = steps_of(name)
        if name in judged.identifiers and (share := steps.measure_neighbours()) is not None:
            yield _neighbours_finding(name, share)
        elif (share := steps.measure_order()) is not None:
            yield _sorted_finding(name, share, f"a column that is left out{_tell_reading(steps)}", "medium")


class _LeftOutSteps:
    """Steps of columns that are left out, counted for many of them at once: one by one takes far longer."""

    def __init__(self, columns: Mapping[str, pl.Series]) -> None:
        self._columns, self._names = columns, list(columns)
        rows = len(columns[self._names[0]]) if columns else 1
        self._width = max(1, _CELLS // max(rows, 1))
        self._counted: dict[str, Steps] = {}

    def steps_of(self, name: str) -> Steps:
        """How the values of a column change from row to row."""
        if name not in self._counted:
            first = self._names.index(name) // self._width * self._width
            batch = self._names[first : first + self._width]
            # Only these, since all columns together may be larger than the memory.
            steps = _count_steps([self._columns[each] for each in batch])
            self._counted = dict(zip(batch, steps, strict=True))
        return self._counted[name]


def _count_steps(columns: Sequence[pl.Series]) -> list[Steps]:
    """Count the steps of columns, of texts by the reading in which they are sorted, if there is one."""
    # Under their positions: polars takes a name like '^a$' for a pattern.
    frame = pl.DataFrame([series.alias(str(at)) for at, series in enumerate(columns)])
    kinds = frame.dtypes
    found = Steps.from_columns(frame.select(_make_comparable(str(at), kind) for at, kind in enumerate(kinds)))
    text = [str(at) for at, kind in enumerate(kinds) if kind == pl.String]
    first = frame.select(pl.col(text).drop_nulls().first()).row(0) if text else ()
    read: dict[int, list[Steps]] = {}
    for reading in READINGS:
        # One text rules most readings out, at little cost.
        likely = [name for name, value in zip(text, first, strict=True) if may_be_read(value, reading)]
        for at, steps in _read_steps(frame, likely, reading):
            read.setdefault(at, []).append(steps)
    return [choose_reading([*read.get(at, ()), by_name]) for at, by_name in enumerate(found)]


def _make_comparable(column: str, kind: pl.DataType) -> pl.Expr:
    cells = pl.col(column)
    if kind in (pl.Categorical, pl.Enum, pl.Boolean, pl.Null):
        return cells.cast(pl.String)  # compared by name
    return cells.to_physical() if kind.is_temporal() else cells


def _read_steps(frame: pl.DataFrame, names: Sequence[str], reading: str) -> Iterator[tuple[int, Steps]]:
    """Steps of columns by a reading, of those whose rows are sorted by it and whose texts all fit it."""
    if not names:
        return
    values = frame.select(read_column(name, reading) for name in names)
    for name, read, steps in zip(names, values, Steps.from_columns(values, reading), strict=True):
        if steps.measure_order() is not None and is_read(frame.get_column(name), read):
            yield int(name), steps


def _tell_reading(steps: Steps) -> str:
    """How dates were read; of other texts there is nothing to say."""
    return f" (read as {steps.reading})" if steps.reading in DAY_ORDERS else ""


def _sorted_finding(name: str, share: float, what: str, severity: Severity) -> Finding:
    return Finding(
        f"row-order:{name}",
        severity,
        f"the rows are sorted by '{name}', {what}: the place of a row tells its value",
        share,
        _REMEDY,
        columns=(name,),
    )


def _neighbours_finding(name: str, share: float) -> Finding:
    return Finding(
        f"row-order:{name}",
        "high",
        f"{format_percent(share)} of the rows stand beside a row with the same '{name}', which "
        "is left out: the "
        "rows of a person can be told by their places",
        share,
        _REMEDY,
        columns=(name,),
    )
