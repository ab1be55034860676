"""Special uniques: rows that few of the quasi-identifiers tell from all others.

References
----------
M. J. Elliot, A. M. Manning, R. W. Ford, "A computational algorithm for handling the special uniques problem",
International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002: the scores.
A. M. Manning, D. J. Haglin, J. A. Keane, "A recursive search algorithm for statistical disclosure
assessment", Data Mining and Knowledge Discovery 16(2), 2008: SUDA2. M. J. Elliot, A. M. Manning, "Using DIS
to modify the classification of special uniques", UNECE work session on data confidentiality, 2003.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.encoding import build_dictionary
from shoal.errors import RecipeError
from shoal.support.arithmetic import exp, log
from shoal.support.progress import Progress, silent
from shoal.table import Table, to_strings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST = 3
"""Minimal sample uniques of up to so many columns are looked for, where nothing else is said."""
_WORK = 4_000_000_000  # rows times sets of columns: minutes


@dataclass(frozen=True, slots=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques: sets of columns that single out a row, while no part of the set does."""

    largest: int
    """Sets of up to so many columns were looked for."""
    sizes: tuple[int, ...]
    """How many minimal sample uniques of 1, 2, ... columns there are, over all rows."""
    rows: int
    """How many rows have any."""
    contributions: tuple[tuple[str, float], ...]
    """Columns, and which share of the sum of all scores is of sets that contain them."""
    score: Floats = field(repr=False)
    """[rows] the SUDA score; 0 for rows without a minimal sample unique."""
    chance: Floats | None = field(repr=False)
    """[rows] the DIS-SUDA score, where the sampling fraction is known: the chance that a match is right."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; without the scores of single rows."""
        return {
            "largest": self.largest,
            "rows": self.rows,
            "sizes": list(self.sizes),
            "highest_score": float(self.score.max(initial=0.0)),
            "contributions": dict(self.contributions),
            "highest_dis_score": None if self.chance is None else float(self.chance.max(initial=0.0)),
        }


def find_special_uniques(
    table: Table,
    quasi: Sequence[str],
    largest: int = LARGEST,
    fraction: float | None = None,
    on_progress: Progress = silent,
) -> SpecialUniques:
    """Find all minimal sample uniques of up to ``largest`` columns, and score the rows by them.

    A set of k columns counts (n - k)(n - k - 1)...(n - m), with n quasi-identifiers and sets of up to m < n
    columns: the fewer columns single a row out, the more. The score of a row is the sum over its sets.
    """
    largest = min(largest, max(len(quasi) - 1, 1))
    _check_work(table.rows, len(quasi), largest)
    codes = [
        build_dictionary(to_strings(table.column(name)).fill_null(""))[1].astype(np.int64) for name in quasi
    ]
    found = _find_minimal_sets(codes, largest, on_progress)
    score, by_column, sizes = np.zeros(table.rows), np.zeros(len(quasi)), [0] * largest
    for columns, rows in found.items():
        points = weigh_set(len(columns), len(quasi), largest)
        score[rows] += points
        by_column[list(columns)] += points * rows.size
        sizes[len(columns) - 1] += rows.size
    total = float(score.sum())
    return SpecialUniques(
        largest,
        tuple(sizes),
        int(np.count_nonzero(score)),
        tuple(zip(quasi, (by_column / (total or 1.0)).tolist(), strict=True)),
        score,
        None if fraction is None else _share_file_risk(codes, score, fraction),
    )


def weigh_set(size: int, columns: int, largest: int) -> float:
    """What a minimal sample unique of ``size`` of so many columns adds to the score of its row."""
    return float(prod(columns - i for i in range(size, min(largest, columns - 1) + 1)))


def share_dis_risk(score: Floats, unique: int, in_pairs: int, columns: int, fraction: float) -> Floats:
    """DIS-SUDA scores: the chance that a match with a unique row is right, divided by the rows' scores.

    Parameters
    ----------
    unique, in_pairs : int
        How many rows are in classes of one, and of two rows.
    """
    there = score > 0
    if not there.any():
        return np.zeros(score.size)
    # The chance for the whole file (DIS), from how often a class of the sample has a second row.
    matches = unique * fraction
    chance = matches / (matches + in_pairs * (1.0 - fraction))
    steepness = 1.0 + (8.0 - columns) / 20.0
    odds = np.zeros(score.size)
    odds[there] = exp(-steepness * log(score[there]))
    scale = (unique / chance - unique) / float(odds.sum())
    return np.where(there, 1.0 / (1.0 + odds * scale), 0.0)


def _share_file_risk(codes: Sequence[Ints], score: Floats, fraction: float) -> Floats:
    size = np.unique(np.stack(codes), axis=1, return_counts=True)[1]
    unique, in_pairs = int((size == 1).sum()), 2 * int((size == 2).sum())
    return share_dis_risk(score, unique, in_pairs, len(codes), fraction)


def _check_work(rows: int, columns: int, largest: int) -> None:
    if largest < 1:
        raise RecipeError(f"suda is a number of columns, at least 1, not {largest}")
    sets = sum(comb(columns, size) for size in range(1, largest + 1))
    if rows * sets > _WORK:
        raise RecipeError(
            f"special uniques of up to {largest} of {columns} columns are {sets:,} sets, too many for "
            f"{rows:,} rows: ask for smaller sets, or name fewer quasi-identifiers"
        )


def _find_minimal_sets(
    codes: Sequence[Ints], largest: int, on_progress: Progress
) -> dict[tuple[int, ...], Ints]:
    """By set of columns, the rows that it singles out while no part of it does."""
    found: dict[tuple[int, ...], Ints] = {}
    is_known = np.zeros(codes[0].size, np.bool_)
    for size in range(1, largest + 1):
        on_progress("special uniques", (size - 1) / largest)
        for columns, rows in _list_singled_out(codes, size):
            parts = chain.from_iterable(combinations(columns, fewer) for fewer in range(1, size))
            known = [found[part] for part in parts if part in found]
            for part in known:
                is_known[part] = True
            minimal = rows[~is_known[rows]]
            # Cleared row by row: there are many sets, and few rows in each.
            for part in known:
                is_known[part] = False
            if minimal.size:
                found[columns] = minimal
    return found


def _list_singled_out(codes: Sequence[Ints], size: int) -> Iterator[tuple[tuple[int, ...], Ints]]:
    """Every set of so many columns, and the rows that it singles out but its first columns do not."""
    width = [int(code.max(initial=0)) + 1 for code in codes]

    def add_column(
        columns: tuple[int, ...], rows: Ints, group: Ints
    ) -> Iterator[tuple[tuple[int, ...], Ints]]:
        first = columns[-1] + 1 if columns else 0
        for j in range(first, len(codes) - (size - len(columns)) + 1):
            key = group * width[j] + codes[j][rows]
            _, number, count = np.unique(key, return_inverse=True, return_counts=True)
            alike = count[number]
            if len(columns) + 1 == size:
                yield (*columns, j), rows[alike == 1]
            else:
                # Rows that stand alone do so with every further column: the rest gets small.
                yield from add_column((*columns, j), rows[alike > 1], number[alike > 1].astype(np.int64))

    rows = np.arange(codes[0].size)
    yield from add_column((), rows, np.zeros(rows.size, np.int64))
