"""Columns that are released as they are and tell what a generalised one hides.

``birth_year`` beside ``age``, or ``education_num`` beside ``education``: the cell says [30-39], and the other
column says 34.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.verification.findings.base import (
    HIGH,
    Finding,
    JudgedRelease,
    OriginalColumn,
    Severity,
    format_percent,
)

_ROWS = 50_000  # that are looked at for one pair of columns
_CELLS = 20_000_000  # that are looked at in all
_FEWEST = 2_000
_LOW = 0.01
_NARROWER = 0.5  # how much narrower, or surer, a guess must be than the released cell
_SURE = 0.9
_MOST = 2 / 3  # of the rows must be narrowed down; in small groups of a column that tells nothing 0.3 are


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Some rows, with all the rows that have the same value in one released column."""

    given: NDArray[np.int64]
    """[rows] the number of its value in that column, from 0."""
    cell: Mapping[str, NDArray[np.int64]]
    """By quasi-identifier, [rows] the number of the released cell, from 0."""
    original: Mapping[str, OriginalColumn]
    """By quasi-identifier, what it was."""
    is_whole: bool = False
    """Whether these are all rows, in their order."""


Sampler = Callable[[str, Sequence[str], int], SampledRows | None]
"""Gives about so many rows by the values of a column, with some quasi-identifiers; None for a column of one
value."""


def check_determination(judged: JudgedRelease) -> Iterator[Finding]:
    """Find columns whose values tell those of a quasi-identifier better than its released cells do."""
    cells: dict[str, NDArray[np.int64]] = {}

    def sample_rows(other: str, hidden: Sequence[str], most: int) -> SampledRows | None:
        given, count = judged.cells.number_column(other)
        rows = _sample_groups(given, count, most)
        for name in hidden:  # once for all other columns
            if name not in cells:
                cells[name] = judged.cells.number_column(name)[0]
        known = {name: judged.original[name] for name in hidden}
        if rows is None:
            return SampledRows(given, cells, known, is_whole=True)
        return SampledRows(
            given[rows],
            {name: cells[name][rows] for name in hidden},
            {name: OriginalColumn(each.codes[rows], each.position) for name, each in known.items()},
        )

    return find_determination(judged, sample_rows)


def find_determination(judged: JudgedRelease, sample: Sampler) -> Iterator[Finding]:
    """Find columns whose values tell those of a quasi-identifier, in the rows that ``sample_rows`` gives."""
    # A column that was released unchanged hides nothing that another could tell.
    hidden = [name for name in judged.quasi if judged.lost.get(name, 0.0) > 0]
    if not hidden or not judged.other_columns:
        return
    # The work grows with the number of pairs, so wide tables get smaller samples.
    most = int(np.clip(_CELLS / (len(hidden) * len(judged.other_columns)), _FEWEST, _ROWS))
    whole: dict[str, _HiddenColumn] = {}
    for other in judged.other_columns:
        rows = sample(other, hidden, most)
        if rows is None or rows.given.size < 2 or rows.given.min() == rows.given.max():
            continue
        for name in hidden:
            known = whole.get(name) if rows.is_whole else None
            if known is None:
                known = _HiddenColumn.from_cells(rows.cell[name], rows.original[name])
            if rows.is_whole:  # the same for all other columns
                whole[name] = known
            told = known.measure_determination(rows.given)
            if told.is_determined():
                yield _make_finding(other, name, told)


def _sample_groups(number: NDArray[np.int64], count: int, most: int) -> NDArray[np.int64] | None:
    """Some rows, with all the rows that have the same value: about ``most`` of them; None for all rows."""
    if number.size <= most:
        return None
    size = np.bincount(number, minlength=count)
    # Whole groups by a fixed seed: rows of a group apart from each other would tell nothing.
    order = np.random.default_rng(0).permutation(count)
    taken = np.zeros(count, np.bool_)
    taken[order[: int(np.searchsorted(np.cumsum(size[order]), most)) + 1]] = True
    # The last group taken may be huge; four times the wish is the limit.
    return np.flatnonzero(taken[number])[: 4 * most]


@dataclass(frozen=True, slots=True)
class _Determination:
    """How well another column tells what the released cells of a column hide.

    It is about the rows whose cell stands for several values. A row that is alone with its value of the other
    column is told nothing by it.
    """

    share: float
    """Of all rows, those whose cell stands for several values."""
    told: float
    """Of these, the rows whose value the other column tells."""
    by_cell: float
    """Of these, the rows whose value can be guessed from the cell."""
    is_ordered: bool

    def is_determined(self) -> bool:
        """Whether the other column undoes the generalisation, or nearly does."""
        if self.is_ordered:
            return self.told >= _MOST
        # Sure, and with half the errors of a guess by the cell: a common value is no news.
        return self.told >= _SURE and 1 - self.told <= _NARROWER * (1 - self.by_cell)

    @property
    def severity(self) -> Severity:
        """By the share of the rows in which there is something to tell."""
        return "high" if self.share > HIGH else "medium" if self.share > _LOW else "low"


@dataclass(frozen=True, slots=True, eq=False)
class _HiddenColumn:
    """What the released cells of a column say about it, in some rows."""

    rank: NDArray[np.int64]
    """[rows] the rank of the value on its axis, or its code if there is none."""
    places: NDArray[np.float64] | None
    """[ranks] where these lie on the axis, from 0 to 1."""
    is_hidden: NDArray[np.bool_]
    """[rows] whether the cell stands for several values."""
    share: float
    """Of all rows, those."""
    by_cell: NDArray[Any]
    """[hidden rows] whether the cell tells the value; of a column that is ordered, how wide the cell is."""

    @classmethod
    def from_cells(cls, cell: NDArray[np.int64], known: OriginalColumn) -> _HiddenColumn:
        """Look at the cells of rows of which the values are known."""
        is_hidden = _find_mixed(cell, known.codes)
        rank, places = known.codes.astype(np.int64), None
        if known.position is not None:
            places, rank_of = np.unique(known.position, return_inverse=True)
            rank = rank_of[rank]
        by_cell = _describe_groups(cell, rank, places)[is_hidden]
        return cls(rank, places, is_hidden, float(is_hidden.mean()), by_cell)

    def measure_determination(self, given: NDArray[np.int64]) -> _Determination:
        """Compare with what another column tells, of which the values are ``given``."""
        if not self.share:
            return _Determination(0.0, 0.0, 0.0, True)
        by_other = _describe_groups(given, self.rank, self.places)[self.is_hidden]
        by_cell = self.by_cell
        if self.places is None:
            return _Determination(self.share, float(by_other.mean()), float(by_cell.mean()), False)
        # A cell of no width hides nothing, so it cannot be narrowed.
        narrow = (by_cell > 0) & (by_other <= _NARROWER * by_cell)
        return _Determination(self.share, float(narrow.mean()), 0.0, True)


def _describe_groups(
    group: NDArray[np.int64], rank: NDArray[np.int64], places: NDArray[np.float64] | None
) -> NDArray[Any]:
    """What a reader who knows the group of each row can say about its value."""
    return _find_commonest(group, rank) if places is None else _measure_group_widths(group, rank, places)


def _find_mixed(cell: NDArray[np.int64], codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """The rows whose cell is that of rows with another value, too."""
    order = np.lexsort((codes, cell))
    size = np.bincount(cell)
    # Sorted by cell and code, a cell is mixed if its first and last code differ.
    last = np.cumsum(size) - 1
    first = np.minimum(last - size + 1, cell.size - 1)
    ordered = codes[order]
    mixed: NDArray[np.bool_] = (ordered[first] != ordered[last])[cell]
    return mixed


def _measure_group_widths(
    group: NDArray[np.int64], rank: NDArray[np.int64], places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each row the width of the middle nine tenths of its group, as a part of the whole axis.

    Few rows lie close together by chance: n of them cover (n - 1) / (n + 1) of a width on average. What they
    cover is stretched by that, so that a column of small groups does not seem to tell something.
    """
    # Group and rank as one number, which is sorted much faster than the two are one after the other.
    ordered = places[np.sort(group * places.size + rank) % places.size]
    size = np.bincount(group)
    first = np.cumsum(size) - size
    last = np.maximum(size - 1, 0)
    low, high = (np.minimum(first + np.floor(last * q + 0.5).astype(np.int64), group.size - 1)
                 for q in (0.05, 0.95))  # fmt: skip
    # The inverse of (n - 1) / (n + 1).
    stretch = (size + 1) / np.maximum(size - 1, 1)
    width = np.minimum((ordered[high] - ordered[low]) * stretch, 1.0)
    return np.where(size > 1, width, 1.0)[group]


def _find_commonest(group: NDArray[np.int64], codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """The rows whose value is the commonest of their group and has at least one more row of it."""
    # Group and code as one number, to count the pairs at once.
    pair = group * (int(codes.max()) + 1) + codes
    row, pair_of, count = np.unique(pair, return_index=True, return_inverse=True, return_counts=True)[1:]
    # Of several that are equally common, the one that comes first.
    order = np.lexsort((row, -count, group[row]))
    of_group = group[row[order]]
    best = order[np.append(True, of_group[1:] != of_group[:-1])]
    commonest = np.full(int(group.max()) + 1, -1)
    commonest[group[row[best]]] = best
    # A row alone with its value is always "the commonest": that is no prediction.
    right: NDArray[np.bool_] = (commonest[group] == pair_of) & (count[pair_of] > 1)
    return right


def _make_finding(other: str, name: str, told: _Determination) -> Finding:
    how = f"tells the hidden value of '{name}'"
    if told.is_ordered:
        how = f"narrows '{name}' down to half of its released width or less"
    return Finding(
        f"determines:{other}:{name}",
        told.severity,
        f"'{other}' {how} in {format_percent(told.told)} of the rows that hide it "
        f"({format_percent(told.share)} of all)",
        told.told,
        f"generalise it too with --quasi {other}, or leave it out with --identifier {other}",
        columns=(other,),
    )
