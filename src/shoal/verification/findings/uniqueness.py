"""Rows that are unique in all that is released, and the columns that make them so.

A privacy goal is about the quasi-identifiers that somebody named. A row can still be the only one with its
cells once plain and sensitive columns are looked at as well: a person who knows one of these finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.verification.findings.base import (
    HIGH,
    Finding,
    JudgedRelease,
    Severity,
    format_percent,
    list_names,
)
from shoal.verification.outsider import CellNumbers

SAMPLE_ROWS = 200_000
"""Rows in which sets of columns are compared."""
_PAIRED = 8  # columns of which pairs are looked at
_SHOWN = 3  # sets that the message names
_ALONE = 0.8  # part of what a column singles out with the quasi-identifiers that it does without them


class RowCounter(Protocol):
    """Counts rows of a release that are unique in some columns."""

    rows: int

    def count_unique(self, columns: Sequence[str]) -> int:
        """How many rows no other row equals in ``columns``."""
        ...

    def count_each(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """The same for several sets of columns, which may be had together at less cost."""
        ...

    def sample_classes(self, quasi: Sequence[str]) -> RowCounter:
        """Some of the rows, with all the rows that equal them in ``quasi``."""
        ...


class CellCounter:
    """Counts in memory, by one random word per cell and their sums per row.

    Rows with equal cells have equal sums. That rows with other cells have equal sums, too, happens once in
    millions of tables of a million rows.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        most: int = SAMPLE_ROWS,
        cells: CellNumbers | None = None,
        person: NDArray[np.integer] | None = None,
    ) -> None:
        self._frame, self._most, self._person = frame, most, person
        self._cells = cells or CellNumbers(frame)
        self._words: dict[str, NDArray[np.uint64]] = {}
        self._place = {name: at for at, name in enumerate(frame.columns)}
        self.rows = frame.height

    def count_unique(self, columns: Sequence[str]) -> int:
        """How many rows no other row equals in ``columns``."""
        key = np.zeros(self.rows, np.uint64)
        for name in columns:
            # Sums may wrap around at 64 bits: equal rows still have equal sums.
            key += self._words_of(name)
        if self._person is not None:
            return _count_rows_of_one_person(key, self._person)
        key.sort()
        new = np.ones(self.rows + 1, np.bool_)
        # Sorted: a row is unique if it differs from both neighbours. The ends have one each.
        np.not_equal(key[1:], key[:-1], out=new[1:-1])
        return int(np.count_nonzero(new[1:] & new[:-1]))

    def count_each(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """The same for several sets of columns."""
        return [
            self._count_alone(*columns) if len(columns) == 1 else self.count_unique(columns)
            for columns in sets
        ]

    def _count_alone(self, name: str) -> int:
        """The same for one column, whose cells need no words."""
        number = self._cells.number_column(name)[0]
        if self._person is not None:
            return _count_rows_of_one_person(number, self._person)
        return int(np.count_nonzero(np.bincount(number) == 1))

    def _words_of(self, name: str) -> NDArray[np.uint64]:
        if name not in self._words:
            number, size = self._cells.number_column(name)
            # Seeded by the place of the column, so that equal cells of two columns get other words.
            random = np.random.default_rng(self._place[name])
            self._words[name] = random.integers(1 << 64, size=size, dtype=np.uint64)[number]
        return self._words[name]

    def sample_classes(self, quasi: Sequence[str]) -> CellCounter:
        """Some of the rows, with all the rows that equal them in ``quasi``."""
        if self.rows <= self._most or not quasi:
            return self
        # Whole classes: part of a class would make its rows look unique.
        class_of = self._cells.number_rows(quasi)
        size = np.bincount(class_of)
        order = np.random.default_rng(0).permutation(size.size)
        taken = np.zeros(size.size, np.bool_)
        taken[order[: np.searchsorted(np.cumsum(size[order]), self._most) + 1]] = True
        kept = taken[class_of]
        person = None if self._person is None else self._person[kept]
        return CellCounter(self._frame.filter(pl.Series(kept)), self._most, person=person)


def _count_rows_of_one_person(key: NDArray[np.generic], person: NDArray[np.integer]) -> int:
    """How many rows equal, by their ``key``, rows of one person only: these bring them together."""
    order = np.argsort(key, kind="stable")
    begin = np.flatnonzero(np.concatenate(([True], key[order][1:] != key[order][:-1])))
    who = person[order]
    alone = np.minimum.reduceat(who, begin) == np.maximum.reduceat(who, begin)
    return int(np.diff(np.append(begin, key.size))[alone].sum())


def check_unique_rows(judged: JudgedRelease) -> Iterator[Finding]:
    """Find rows that are unique over all released columns."""
    return find_unique_rows(CellCounter(judged.frame, cells=judged.cells, person=judged.person), judged)


def find_unique_rows(counter: RowCounter, judged: JudgedRelease) -> Iterator[Finding]:
    """Find rows that are unique over all released columns, counted by ``counter``."""
    # Quasi-identifiers alone are the goal's business.
    unique = counter.count_unique(judged.frame.columns) if judged.other_columns else 0
    if not unique:
        return
    share = unique / counter.rows
    counts = counter.count_each([[name] for name in judged.other_columns])
    alone = {name: count / counter.rows for name, count in zip(judged.other_columns, counts, strict=True)}
    sets = _smallest_sets(counter, judged)
    # A few unique rows occur in nearly every table.
    severity: Severity = "low"
    if share > HIGH:
        severity = "high" if _is_severe(counter, judged, alone) else "medium"
    columns = _telling_columns(alone, sets)
    advised = [name for name in columns if name not in judged.protected_columns]
    yield Finding(
        "unique-rows",
        severity,
        _write_message(share, alone, sets),
        share,
        _write_remedy(columns, advised),
        columns=tuple(advised),
    )


def _smallest_sets(counter: RowCounter, judged: JudgedRelease) -> list[tuple[tuple[str, ...], float]]:
    """The smallest sets of columns that single out many rows together with the quasi-identifiers.

    One column more where that is enough, two otherwise; with the share of rows that each singles out.
    """
    part = counter.sample_classes(judged.quasi)
    share_of = _measure_shares(part, judged, [(name,) for name in judged.other_columns])
    found = [names for names, share in share_of.items() if share > HIGH]
    if not found:
        # Pairs grow with the square of the columns, so only the strongest are paired.
        strongest = sorted(judged.other_columns, key=lambda name: -share_of[name,])[:_PAIRED]
        share_of |= _measure_shares(part, judged, list(combinations(strongest, 2)))
        found = [names for names, share in share_of.items() if share > HIGH]
    shown = sorted(found, key=lambda names: -share_of[names])[:_SHOWN]
    # A sample finds the sets; the shares that are told are counted on all rows.
    whole = share_of if part is counter else _measure_shares(counter, judged, shown)
    return [(names, whole[names]) for names in shown]


def _measure_shares(
    counter: RowCounter, judged: JudgedRelease, sets: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], float]:
    """By set of columns, the share of rows that are unique in it together with the quasi-identifiers."""
    counts = counter.count_each([[*judged.quasi, *names] for names in sets]) if sets else []
    return {names: count / counter.rows for names, count in zip(sets, counts, strict=True)}


def _is_severe(counter: RowCounter, judged: JudgedRelease, alone: dict[str, float]) -> bool:
    """Whether rows are singled out by what somebody may know, and there is something left to learn.

    In a class rows differ in the sensitive column: that is what a model about it asks for. A person who
    knows the value already learns nothing from it, unless there is another column.
    """
    protected = judged.protected_columns
    # One column that singles out people by itself needs no quasi-identifier.
    if max(alone.values()) > HIGH:
        return True
    open_columns = [name for name in judged.other_columns if name not in protected]
    known = [*judged.quasi, *open_columns]
    if open_columns and counter.count_unique(known) > HIGH * counter.rows:
        return True
    # Who knows the only other column has nothing left to learn.
    if len(judged.other_columns) < 2:
        return False
    by_one = _measure_shares(counter, judged, [(name,) for name in protected])
    return any(share > HIGH for share in by_one.values())


def _write_message(share: float, alone: dict[str, float], sets: list[tuple[tuple[str, ...], float]]) -> str:
    parts = [f"{format_percent(share)} of the rows are unique in all that is released"]
    for names, part in sets:
        own = alone.get(names[0], 0.0) if len(names) == 1 else 0.0
        if own > max(HIGH, _ALONE * part):
            parts.append(f"'{names[0]}' alone singles out {format_percent(own)}")
        else:
            parts.append(f"the quasi-identifiers with {list_names(names)} single out {format_percent(part)}")
    return "; ".join(parts)


def _telling_columns(alone: dict[str, float], sets: list[tuple[tuple[str, ...], float]]) -> list[str]:
    """The columns that single out most rows."""
    named = list(dict.fromkeys(name for names, _ in sets for name in names))
    return named or sorted(alone, key=lambda name: -alone[name])[:1]


def _write_remedy(columns: list[str], advised: list[str]) -> str:
    """What to do about columns, of which some may be generalised or left out."""
    joined = ",".join(advised)
    if not joined:
        return (
            f"ask for larger classes with a larger -k, or group the values of {list_names(columns)}; if only "
            "people who know nothing of it will see the release, accept this finding"
        )
    return f"generalise with --quasi {joined}, or leave out with --identifier {joined}"
