"""Combinations of rows of a person that too few people have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import Rows
from shoal.errors import RecipeError

_MOST = 1 << 26  # combinations that are counted at a time: they take some gigabytes


@dataclass(frozen=True, slots=True, eq=False)
class RareRows:
    """Rows in rare combinations: of every such combination, one row of each person who has it."""

    rows: Rows
    """The rows, each once, in their order."""
    cell: NDArray[np.int64]
    """[rows] the cell of each."""

    def list_cells(self) -> tuple[Rows, NDArray[np.int64]]:
        """The cells of these rows, and how many of the rows are in each."""
        return np.unique(self.cell, return_counts=True)


@dataclass(frozen=True, slots=True, eq=False)
class _RowCombinations:
    """Combinations of equally many rows of a person, each person's own."""

    last: NDArray[np.int64]
    """The last of the rows, as an item."""
    key: NDArray[np.int64]
    """Which combination of cells it is."""
    members: NDArray[np.int64]
    """[combinations, rows] all rows, as items."""


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """Rows by person and cell, of equal ones no more than can be known."""

    row: Rows
    end: NDArray[np.int64]
    """Where the items of the same person end."""
    cell: NDArray[np.int64]
    copy: NDArray[np.int64]
    """How many equal items of the person come before."""

    @classmethod
    def from_rows(cls, person: NDArray[np.int64], cell: NDArray[np.int64], copies: int) -> _Items:
        kept = np.flatnonzero(cell >= 0)
        row = kept[np.lexsort((cell[kept], person[kept]))]
        # The first of each run of equal rows of a person.
        new = np.ones(row.size, np.bool_)
        new[1:] = (np.diff(person[row]) != 0) | (np.diff(cell[row]) != 0)
        first = np.maximum.accumulate(np.where(new, np.arange(row.size), 0))
        copy = np.arange(row.size) - first
        few = copy < copies
        row, copy = row[few], copy[few]
        count = np.bincount(person[row], minlength=int(person.max()) + 1)
        return cls(row, np.cumsum(count)[person[row]], cell[row], copy)


def find_rare_rows(
    person: NDArray[np.int64],
    cell: NDArray[np.int64],
    knows: int,
    k: int,
    copies: int | None = None,
    owner: NDArray[np.int64] | None = None,
) -> RareRows | None:
    """Rows in rare combinations of one row, if there are any, else of two, and so on; None if there are none.

    Of a rare combination, the row in the cell with fewest rows is taken: it is the least common part of it.
    So many ``copies`` of a row can be known; as many as rows, where that is not said, and one in a set. Where
    an ``owner`` has several of what is a person here, owners are counted.
    """
    items = _Items.from_rows(person, cell, copies or knows)
    if items.row.size == 0:
        return None
    size = np.bincount(items.cell)
    (begin,) = np.nonzero(items.copy == 0)
    found = _RowCombinations(begin, items.cell[begin], begin[:, None])
    for length in range(1, knows + 1):
        if length > 1:
            found = _extend(items, found)
        people = _count_owners(found.key, None if owner is None else owner[person[items.row[found.last]]])
        if (people < k).any():
            members = found.members[people < k]
            least = np.argmin(size[items.cell[members]], axis=1)
            chosen = np.unique(items.row[members[np.arange(len(members)), least]])
            return RareRows(chosen, cell[chosen])
    return None


def _count_owners(key: NDArray[np.int64], owner: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """[combinations] how many have the same, of those who have several counted once."""
    if owner is None:
        return np.bincount(key)[key]
    width = int(owner.max(initial=0)) + 1
    return np.bincount(np.unique(key * width + owner) // width)[key]


def _extend(items: _Items, found: _RowCombinations) -> _RowCombinations:
    """Every combination with each further row of the same person, in the order of cells."""
    ahead = items.end[found.last] - found.last - 1
    if int(ahead.sum()) > _MOST:
        raise RecipeError(
            f"there are {int(ahead.sum()):,} combinations of {found.members.shape[1] + 1} rows of a person "
            f"to count at a time, and {_MOST:,} can be: ask for fewer known rows, or for knows = all"
        )
    of = np.repeat(np.arange(found.last.size), ahead)
    step = np.arange(of.size) - np.repeat(np.cumsum(ahead) - ahead, ahead)
    item = found.last[of] + 1 + step
    # Of equal rows, the second only after the first.
    again = (items.cell[item] == items.cell[found.last[of]]) & (
        items.copy[item] == items.copy[found.last[of]] + 1
    )
    fits = (items.copy[item] == 0) | again
    of, item = of[fits], item[fits]
    width = int(items.cell.max()) + 1
    key = np.unique(found.key[of] * width + items.cell[item], return_inverse=True)[1]
    return _RowCombinations(item, key, np.concatenate([found.members[of], item[:, None]], axis=1))
