"""Cells that match anything, such as suppressed ones: which rows could be of the same person all the same.

Two rows fit together if they are equal in every column in which neither has such a cell. Rows are compared
pattern by pattern, where a pattern is the set of columns that are hidden, and not pair by pair: all rows of
two patterns are compared in the columns that both show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.support.progress import Progress, silent
from shoal.table import Table, to_strings
from shoal.verification.verifier import row_classes

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_MOST = 1 << 62  # numbers below it fit 64 bits


def sum_fitting_classes(
    table: Table,
    quasi: Sequence[str],
    class_of: Ints,
    amounts: Sequence[NDArray[np.float64]],
    wildcards: Sequence[str],
    on_progress: Progress = silent,
) -> list[NDArray[np.float64]]:
    """For each class, what the classes that fit it, itself among them, add up to: one sum of each amount.

    ``wildcards`` are the texts of cells that match anything; an empty text stands for missing cells, too.
    """
    example = np.empty(amounts[0].size, np.int64)
    example[class_of] = np.arange(class_of.size)
    cells = np.stack([row_classes(table, [name])[example] for name in quasi], axis=1)
    hidden = np.stack([_find_wildcards(table, name, wildcards)[example] for name in quasi], axis=1)
    return sum_fitting(cells, hidden, amounts, on_progress)


def _find_wildcards(table: Table, name: str, wildcards: Sequence[str]) -> Flags:
    """Which rows have a cell of the column that matches anything."""
    text = to_strings(table.column(name))
    found = text.is_in(list(wildcards)).fill_null("" in wildcards)
    return found.to_numpy()


def sum_fitting(
    cells: Ints, hidden: Flags, amounts: Sequence[NDArray[np.float64]], on_progress: Progress = silent
) -> list[NDArray[np.float64]]:
    """The same for [classes, columns] of numbered cells, of which some are hidden."""
    patterns, pattern_of = np.unique(hidden, axis=0, return_inverse=True)
    members = [np.flatnonzero(pattern_of.ravel() == at) for at in range(len(patterns))]
    found = [np.zeros(len(cells)) for _ in amounts]
    for at, pattern in enumerate(patterns):
        on_progress("wildcards", at / len(patterns))
        for shown, others in _group_patterns(pattern, patterns).items():
            theirs = np.concatenate([members[other] for other in others])
            mine, number = _number_alike(cells, np.flatnonzero(shown), members[at], theirs)
            for amount, total in zip(amounts, found, strict=True):
                by_number = np.bincount(number, amount[theirs], int(mine.max()) + 1)
                total[members[at]] += by_number[mine]
    return found


def _group_patterns(pattern: Flags, patterns: Flags) -> dict[tuple[bool, ...], list[int]]:
    """All patterns, by the columns that they show together with this one."""
    groups: dict[tuple[bool, ...], list[int]] = defaultdict(list)
    for at, shown in enumerate((~(patterns | pattern)).tolist()):
        groups[tuple(shown)].append(at)
    return groups


def _number_alike(cells: Ints, columns: Ints, mine: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Numbers of two lists of classes, equal where their cells in some columns are."""
    rows = cells[np.concatenate([mine, theirs])]
    number, size = np.zeros(len(rows), np.int64), 1
    for j in columns:
        width = int(rows[:, j].max()) + 1
        if size * width >= _MOST:
            number, size = _renumber(number)
        number, size = number * width + rows[:, j], size * width
    number, _ = _renumber(number)
    return number[: mine.size], number[mine.size :]


def _renumber(number: Ints) -> tuple[Ints, int]:
    different, place = np.unique(number, return_inverse=True)
    return place.astype(np.int64), different.size
