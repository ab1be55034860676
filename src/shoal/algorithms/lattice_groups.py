"""Groups of rows that level vectors make equal, each made from the smallest grouping below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.levels import Ladder, draw_node_words
from shoal.codespace.frequency import FrequencyTable
from shoal.kernels.lattice import check_groups, find_smallest_below, merge_groups, summarize_groups
from shoal.kernels.rules import Rules

Ints = NDArray[np.int64]

_KEPT = 1024  # groupings that are kept to make others from
_ROOM = 1 << 21  # and how many groups they have together; more in a table of more rows
_SHRUNK = 0.7  # of what it was made from: a larger one would not save much


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
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
    source: GroupedRows
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

    def compute_figures(self) -> GroupingFigures:
        """Count rows and groups."""
        found = summarize_groups(self.total, self.holds, self.total.size, self.size)
        suppressed, small, classes, large, kept_squares, squares = found.tolist()
        # Above, a class has a large group of these in it, or else as many rows of small ones as it needs.
        most = min(self.total.size, large + ceil(small / self.size))
        return GroupingFigures(int(suppressed), int(small), int(classes), most, kept_squares, squares)


@dataclass(frozen=True, slots=True)
class GroupingFigures:
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


class GroupingCache:
    """Makes groupings of a table, and keeps some of them to make others from."""

    def __init__(self, table: FrequencyTable, ladders: Sequence[Ladder], rules: Rules, lowest: Ints) -> None:
        self.rules, self.table = rules, table
        self.word, begin = draw_node_words(ladders)
        rows, d = table.codes.shape
        self._axes = np.arange(d)
        self._begin = np.zeros((d, max(each.size for each in begin)), np.int64)
        for j, each in enumerate(begin):
            self._begin[j, : each.size] = each
        entries = rules.value.size if rules.limit.size else 0
        # Every grouping uses these buffers again: so one is valid only until the next. The slots
        # are a hash table of twice the groups, rounded up to a power of 2.
        self._keys, self._slots = np.empty(rows, np.uint64), np.empty(4 * rows + 32, np.int32)
        self._group, self._first = np.empty(rows, np.int32), np.empty(rows, np.int32)
        self._total, self._holds = np.empty(rows, np.int64), np.empty(rows, np.bool_)
        self._chain, self._start = np.empty((2, rows), np.int32), np.empty(rows + 1, np.int64)
        self._value, self._times = np.empty(entries, np.int32), np.empty(entries, np.int64)
        self._vectors = np.zeros((_KEPT, d), np.int64)
        self._sizes = np.zeros(_KEPT, np.int64)
        self._kept: list[GroupedRows] = []
        self._turn = 0
        self._room = max(_ROOM, 4 * rows)
        by_values = np.argsort([-ladder.domain.size for ladder in ladders], kind="stable")
        self._lowest = lowest
        # What stays low in intermediate vectors: all but the first one or two thirds by values.
        self._rests = [by_values[d // 3 :], by_values[2 * d // 3 :]] if d > 2 else []
        self._asked: Counter[bytes] = Counter()
        row, key = np.arange(rows, dtype=np.int32), self.compute_keys(table.codes, lowest)
        self._keep_groups(
            GroupedRows(lowest, row, table.weight, key, (rules.entry, rules.value, rules.times))
        )

    def find_level_starts(self, vector: Ints) -> Ints:
        """Where, per column, what belongs to a level begins in arrays laid out like the words."""
        return self._begin[self._axes, vector]

    def compute_keys(self, codes: NDArray[np.unsignedinteger], vector: Ints) -> NDArray[np.uint64]:
        """The sums of words of rows of codes: equal where the vector makes rows equal."""
        key = np.zeros(len(codes), np.uint64)
        for j, start in enumerate(self.find_level_starts(vector)):
            key += self.word[start + codes[:, j]]
        return key

    def group_rows(self, vector: Ints, most: int | None = None) -> Grouping:
        """The groups of a level vector; of what has more than ``most`` rows to suppress, not every one is
        judged.
        """
        for stone in self._find_intermediate_vectors(vector):
            source, groups = self._regroup_rows(stone)
            # No limit on failing rows: groups made from these need the entries of all of them.
            self._judge_groups(source, groups, True, self.table.rows)
            self._keep_groups(self._build_groups(stone, source, groups))
        source, groups = self._regroup_rows(vector)
        keep = groups <= _SHRUNK * source.weight.size
        self._judge_groups(source, groups, keep, self.table.rows if most is None else most)
        if keep:
            self._keep_groups(self._build_groups(vector, source, groups))
        return Grouping(
            vector,
            source,
            self._group[: source.weight.size],
            self._total[:groups],
            source.row[self._first[:groups]],
            self._holds[:groups],
            self.rules.size,
        )

    def _find_intermediate_vectors(self, vector: Ints) -> Iterator[Ints]:
        """Vectors below from which to make this one and others like it, once there are others.

        They are equal to it in the columns with the most values, and lie as low as possible in the rest.
        """
        for rest in self._rests:
            stone = vector.copy()
            stone[rest] = self._lowest[rest]
            name = stone.tobytes()
            self._asked[name] += 1
            # For a single vector the detour would not pay.
            if self._asked[name] == 2:
                yield stone

    def _regroup_rows(self, vector: Ints) -> tuple[GroupedRows, int]:
        """Make the groups of a vector; give what they are made from, and how many they are."""
        source = self._kept[find_smallest_below(self._vectors, self._sizes, len(self._kept), vector)]
        axis = np.flatnonzero(source.vector != vector)
        groups = merge_groups(
            self.table.codes,
            source.row,
            source.weight,
            source.key,
            self.word,
            axis,
            self.find_level_starts(source.vector)[axis],
            self.find_level_starts(vector)[axis],
            self._keys,
            self._group,
            self._total,
            self._first,
            self._slots,
        )
        return source, groups

    def collect_entries(self, grouping: Grouping) -> tuple[Ints, NDArray[np.int32], Ints]:
        """The sensitive values of the groups of the latest grouping."""
        groups = grouping.total.size
        if self.rules.limit.size == 0:
            return np.zeros(groups + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        # Judging again fills the entries, but overwrites the verdicts: these are put back.
        holds = grouping.holds.copy()
        self._judge_groups(grouping.source, groups, True, self.table.rows)
        grouping.holds[:] = holds
        return self._copy_entries(groups)

    def _judge_groups(self, source: GroupedRows, groups: int, keep: bool, most: int) -> None:
        if self.rules.limit.size == 0:
            np.greater_equal(self._total[:groups], self.rules.size, out=self._holds[:groups])
            return
        entry, value, times = source.entries
        check_groups(
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

    def _build_groups(self, vector: Ints, source: GroupedRows, groups: int) -> GroupedRows:
        row = source.row[self._first[:groups]]
        entries = self._copy_entries(groups) if self.rules.limit.size else source.entries
        return GroupedRows(
            vector.copy(), row, self._total[:groups].copy(), self._keys[:groups].copy(), entries
        )

    def _copy_entries(self, groups: int) -> tuple[Ints, NDArray[np.int32], Ints]:
        start = self._start[: groups + 1].copy()
        return start, self._value[: start[-1]].copy(), self._times[: start[-1]].copy()

    def _keep_groups(self, groups: GroupedRows) -> None:
        """Keep a grouping; when the memory is full, it replaces the oldest one but the first."""
        at = len(self._kept)
        if at < _KEPT and self._room > 0:
            self._kept.append(groups)
        else:
            # Never the first: it lies below all vectors, so that there is always one to start from.
            at = self._turn = self._turn % (len(self._kept) - 1) + 1
            self._room += self._kept[at].weight.size
            self._kept[at] = groups
        self._room -= groups.weight.size
        self._vectors[at], self._sizes[at] = groups.vector, groups.weight.size
