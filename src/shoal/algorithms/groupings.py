"""Groups of rows that level vectors make equal, each made from the smallest grouping below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.levels import Ladder, words
from shoal.frequency import FrequencyTable
from shoal.kernels.lattice import figures, judge, nearest, regroup
from shoal.kernels.rules import Rules

Ints = NDArray[np.int64]

_KEPT = 1024  # groupings that are kept to make others from
_ROOM = 1 << 21  # and how many groups they have together; more in a table of more rows
_SHRUNK = 0.7  # of what it was made from: a larger one would not save much


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of rows, themselves like weighted rows."""

    vector: Ints
    row: NDArray[np.int32]
    """[groups] some row of each."""
    weight: Ints
    """[groups] number of rows."""
    key: NDArray[np.uint64]
    """[groups] sum of the words of the nodes."""
    entries: tuple[Ints, NDArray[np.int32], Ints]
    """Sensitive values, as `Rules.entry`, `Rules.value` and `Rules.times`."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """What a level vector makes of the rows. Valid until the next one is asked for."""

    vector: Ints
    source: Groups
    """What it was made from."""
    group: NDArray[np.int32]
    """[groups of the source]"""
    total: Ints
    """[groups] number of rows."""
    row: NDArray[np.int32]
    """[groups] some row of each."""
    holds: NDArray[np.bool_]
    """[groups] whether it satisfies the models."""
    size: int
    """Least size of a group that does."""

    def figures(self) -> Figures:
        """Count rows and groups."""
        found = figures(self.total, self.holds, self.total.size, self.size)
        suppressed, small, classes, large, kept_squares, squares = found.tolist()
        # Above, a class has a large group of these in it, or else as many rows of small ones as it needs.
        most = min(self.total.size, large + ceil(small / self.size))
        return Figures(int(suppressed), int(small), int(classes), most, kept_squares, squares)


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of a grouping."""

    suppressed: int
    """Rows in groups that do not satisfy the models."""
    small: int
    """Rows in groups that are too small."""
    classes: int
    """Groups that satisfy the models."""
    most_classes: float
    """No vector above has more classes, all suppressed rows counted as one."""
    kept_squares: float
    """Sum over the groups that satisfy the models of their squared sizes."""
    squares: float
    """No vector above has less discernibility."""


class Groupings:
    """Makes groupings of a table, and keeps some of them to make others from."""

    def __init__(self, table: FrequencyTable, ladders: Sequence[Ladder], rules: Rules, lowest: Ints) -> None:
        self.rules, self.table = rules, table
        self.word, begin = words(ladders)
        rows, d = table.codes.shape
        self._axes = np.arange(d)
        self._begin = np.zeros((d, max(each.size for each in begin)), np.int64)
        for j, each in enumerate(begin):
            self._begin[j, : each.size] = each
        entries = rules.value.size if rules.limit.size else 0
        self._keys, self._slots = np.empty(rows, np.uint64), np.empty(4 * rows + 32, np.int32)
        self._group, self._first = np.empty(rows, np.int32), np.empty(rows, np.int32)
        self._total, self._holds = np.empty(rows, np.int64), np.empty(rows, np.bool_)
        self._chain, self._start = np.empty((2, rows), np.int32), np.empty(rows + 1, np.int64)
        self._value, self._times = np.empty(entries, np.int32), np.empty(entries, np.int64)
        self._vectors = np.zeros((_KEPT, d), np.int64)
        self._sizes = np.zeros(_KEPT, np.int64)
        self._kept: list[Groups] = []
        self._turn = 0
        self._room = max(_ROOM, 4 * rows)
        by_values = np.argsort([-ladder.domain.size for ladder in ladders], kind="stable")
        self._lowest = lowest
        self._rests = [by_values[d // 3 :], by_values[2 * d // 3 :]] if d > 2 else []
        self._asked: Counter[bytes] = Counter()
        row, key = np.arange(rows, dtype=np.int32), self.keys(table.codes, lowest)
        self._keep(Groups(lowest, row, table.weight, key, (rules.entry, rules.value, rules.times)))

    def starts(self, vector: Ints) -> Ints:
        """Where, per column, what belongs to a level begins in arrays laid out like the words."""
        return self._begin[self._axes, vector]

    def keys(self, codes: NDArray[np.unsignedinteger], vector: Ints) -> NDArray[np.uint64]:
        """The sums of words of rows of codes: equal where the vector makes rows equal."""
        key = np.zeros(len(codes), np.uint64)
        for j, start in enumerate(self.starts(vector)):
            key += self.word[start + codes[:, j]]
        return key

    def at(self, vector: Ints, most: int | None = None) -> Grouping:
        """The groups of a level vector; of what has more than ``most`` rows to suppress, not every one is
        judged.
        """
        for stone in self._stones(vector):
            source, groups = self._regrouped(stone)
            self._judge(source, groups, True, self.table.rows)
            self._keep(self._merged(stone, source, groups))
        source, groups = self._regrouped(vector)
        keep = groups <= _SHRUNK * source.weight.size
        self._judge(source, groups, keep, self.table.rows if most is None else most)
        if keep:
            self._keep(self._merged(vector, source, groups))
        return Grouping(
            vector,
            source,
            self._group[: source.weight.size],
            self._total[:groups],
            source.row[self._first[:groups]],
            self._holds[:groups],
            self.rules.size,
        )

    def _stones(self, vector: Ints) -> Iterator[Ints]:
        """Vectors below from which to make this one and others like it, once there are others.

        They are equal to it in the columns with the most values, and lie as low as possible in the rest.
        """
        for rest in self._rests:
            stone = vector.copy()
            stone[rest] = self._lowest[rest]
            name = stone.tobytes()
            self._asked[name] += 1
            if self._asked[name] == 2:
                yield stone

    def _regrouped(self, vector: Ints) -> tuple[Groups, int]:
        """Make the groups of a vector; give what they are made from, and how many they are."""
        source = self._kept[nearest(self._vectors, self._sizes, len(self._kept), vector)]
        axis = np.flatnonzero(source.vector != vector)
        groups = regroup(
            self.table.codes,
            source.row,
            source.weight,
            source.key,
            self.word,
            axis,
            self.starts(source.vector)[axis],
            self.starts(vector)[axis],
            self._keys,
            self._group,
            self._total,
            self._first,
            self._slots,
        )
        return source, groups

    def entries(self, grouping: Grouping) -> tuple[Ints, NDArray[np.int32], Ints]:
        """The sensitive values of the groups of the latest grouping."""
        groups = grouping.total.size
        if self.rules.limit.size == 0:
            return np.zeros(groups + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        holds = grouping.holds.copy()
        self._judge(grouping.source, groups, True, self.table.rows)
        grouping.holds[:] = holds
        return self._entries(groups)

    def _judge(self, source: Groups, groups: int, keep: bool, most: int) -> None:
        if self.rules.limit.size == 0:
            np.greater_equal(self._total[:groups], self.rules.size, out=self._holds[:groups])
            return
        entry, value, times = source.entries
        judge(
            self.rules._replace(entry=entry, value=value, times=times),
            self._group,
            source.weight.size,
            self._total,
            groups,
            keep,
            most,
            self._holds,
            self._chain,
            self._start,
            self._value,
            self._times,
        )

    def _merged(self, vector: Ints, source: Groups, groups: int) -> Groups:
        row = source.row[self._first[:groups]]
        entries = self._entries(groups) if self.rules.limit.size else source.entries
        return Groups(vector.copy(), row, self._total[:groups].copy(), self._keys[:groups].copy(), entries)

    def _entries(self, groups: int) -> tuple[Ints, NDArray[np.int32], Ints]:
        start = self._start[: groups + 1].copy()
        return start, self._value[: start[-1]].copy(), self._times[: start[-1]].copy()

    def _keep(self, groups: Groups) -> None:
        """Keep a grouping; the oldest ones but the first make room for it."""
        at = len(self._kept)
        if at < _KEPT and self._room > 0:
            self._kept.append(groups)
        else:
            at = self._turn = self._turn % (len(self._kept) - 1) + 1
            self._room += self._kept[at].weight.size
            self._kept[at] = groups
        self._room -= groups.weight.size
        self._vectors[at], self._sizes[at] = groups.vector, groups.weight.size
