"""How many rows are equal in some of their columns, as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError, unknown
from shoal.privacy.people import count_people

MOST_SETS = 100_000
"""Sets of columns that are counted for one goal, at most."""


def check_number_of_sets(columns: int, m: int) -> None:
    """Refuse a goal about more sets of columns than anybody would wait for."""
    if comb(columns, m) > MOST_SETS:
        raise RecipeError(
            f"there are {comb(columns, m):,} sets of {m} of {columns} quasi-identifiers, and {MOST_SETS:,} "
            "can be looked at: ask for a smaller m, or for k of all columns"
        )


@dataclass(frozen=True, slots=True, eq=False)
class EqualCells:
    """The written cells of the classes, and who is in them."""

    names: tuple[str, ...]
    """The quasi-identifiers."""
    read_cells: Callable[[str], NDArray[np.int64]]
    """Gives for a column [classes] the number of its cell, from 0: equal ones have equal numbers."""
    size: NDArray[np.integer]
    """[classes] number of rows; or of people."""
    owners: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """[rows] the class and the person of each row, where some people have several."""
    _cells: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    _fewest: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def count_equal(self, names: Sequence[str]) -> NDArray[np.int64]:
        """[classes] how many rows, or people, are equal to those of the class in some columns."""
        group = np.zeros(self.size.size, np.int64)
        for name in names:
            group = _join(group, self._number_cells(name))
        return self._count_groups(group)

    def find_fewest(self, m: int) -> NDArray[np.int64]:
        """[classes] the least of these numbers, over all sets of m columns."""
        if m not in self._fewest:
            check_number_of_sets(len(self.names), m)
            fewest = self.size.astype(np.int64)
            if m < len(self.names):
                fewest = np.full(self.size.size, np.iinfo(np.int64).max)
                for group in self._list_groups(m):
                    np.minimum(fewest, self._count_groups(group), out=fewest)
            self._fewest[m] = fewest
        return self._fewest[m]

    def _number_cells(self, name: str) -> NDArray[np.int64]:
        """Read once, and only if a model asks: most are about all columns together."""
        if name not in self.names:
            raise RecipeError(unknown("quasi-identifier", name, self.names))
        if name not in self._cells:
            self._cells[name] = self.read_cells(name)
        return self._cells[name]

    def _list_groups(self, m: int) -> Iterator[NDArray[np.int64]]:
        """The groups of equal classes by every set of m columns."""
        kept: list[NDArray[np.int64]] = [np.zeros(self.size.size, np.int64)] * m
        before: tuple[int, ...] = ()
        for columns in combinations(range(len(self.names)), m):
            # Sets follow each other as words in a dictionary: what two have in common in front is kept.
            start = next((at for at, column in enumerate(before) if columns[at] != column), 0)
            for at in range(start, m):
                group = kept[at - 1] if at else np.zeros(self.size.size, np.int64)
                kept[at] = _join(group, self._number_cells(self.names[columns[at]]))
            before = columns
            yield kept[m - 1]

    def _count_groups(self, group: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.owners is not None:
            class_of, person = self.owners
            return count_people(group[class_of], person, int(group.max(initial=-1)) + 1)[group]
        # Sums of whole numbers below 2^53 are exact.
        return np.rint(np.bincount(group, self.size)).astype(np.int64)[group]


def _join(group: NDArray[np.int64], cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups that differ in a further column, numbered from 0 without gaps."""
    width = int(cell.max(initial=0)) + 1
    key = group * width + cell
    most = int(group.max(initial=0) + 1) * width
    if most > 8 * key.size:
        return np.asarray(np.unique(key, return_inverse=True)[1], np.int64)
    there = np.zeros(most, np.bool_)
    there[key] = True
    return np.asarray((np.cumsum(there) - 1)[key], np.int64)
