"""The frequency table: rows with equal codes collapsed into one weighted row.

Every class-based algorithm, model and nearly every loss works on it. It does not depend on the order of the
rows, and two of them merge into one by adding weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.collapse import collapse_keys

_MOST_COMBINATIONS = 1 << 62  # keys of several columns fit 64 bits up to here


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """Sensitive values of each weighted row, sparse.

    The values of all sensitive columns are numbered through, column after column.
    """

    first: tuple[int, ...]
    """Where each column's values begin; one more entry for the end."""
    start: NDArray[np.int64]
    """[u + 1] where each weighted row's entries begin."""
    value: NDArray[np.int32]
    count: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyTable:
    """Distinct rows of codes in lexicographic order, with their weights."""

    codes: NDArray[np.unsignedinteger]
    """[u, d]"""
    weight: NDArray[np.int64]
    """[u]"""
    of_row: NDArray[np.int32]
    """[n] which weighted row each of the coded rows belongs to."""
    histograms: Histograms

    @property
    def rows(self) -> int:
        """Number of original rows."""
        return int(self.weight.sum())

    def drop_rows(self) -> FrequencyTable:
        """The distinct rows and their weights alone, without the rows they were made of and their values."""
        bare = Histograms(
            self.histograms.first, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        )
        return FrequencyTable(self.codes, self.weight, np.empty(0, np.int32), bare)

    def count_codes(self, column: int, size: int) -> NDArray[np.int64]:
        """How often each of ``size`` codes occurs in a column."""
        return _sum_weights(self.codes[:, column], self.weight, size)


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """A table in code space, row by row, or with equal rows counted by others already."""

    quasi: tuple[NDArray[np.unsignedinteger], ...]
    sizes: tuple[int, ...]
    """Number of codes of each quasi-identifier."""
    sensitive: tuple[NDArray[np.unsignedinteger], ...] = ()
    sensitive_sizes: tuple[int, ...] = ()
    count: NDArray[np.int64] | None = None
    """How many original rows each of these stands for; one each where None. Counted rows stay together."""

    @property
    def rows(self) -> int:
        """Number of original rows."""
        return self.quasi[0].size if self.count is None else int(self.count.sum())

    def drop_rows(self) -> CodedRows:
        """The sizes of the columns, without a row."""
        quasi, sensitive = (
            tuple(np.empty(0, each.dtype) for each in part) for part in (self.quasi, self.sensitive)
        )
        return CodedRows(quasi, self.sizes, sensitive, self.sensitive_sizes)

    def take_rows(self, order: NDArray[np.int64]) -> CodedRows:
        """The same rows in another order."""
        assert self.count is None
        quasi, sensitive = (tuple(each[order] for each in part) for part in (self.quasi, self.sensitive))
        return CodedRows(quasi, self.sizes, sensitive, self.sensitive_sizes)

    def collapse_rows(self) -> FrequencyTable:
        """Equal rows as one weighted row, in lexicographic order."""
        of_row = rank_rows(self.quasi, self.sizes)
        # Any row serves: those of one number have equal codes.
        some_row = np.empty(int(of_row.max()) + 1, np.int64)
        some_row[of_row] = np.arange(of_row.size)
        weight = self._count_rows(of_row)
        return FrequencyTable(
            self._stack_codes(some_row), weight, of_row, self._build_histograms(of_row, weight.size)
        )

    def one_by_one(self, in_order: bool) -> FrequencyTable:
        """Every row with weight 1: in the order of the input, or lexicographically."""
        assert self.count is None
        order = np.arange(self.rows)
        if not in_order:
            # Stable, so that equal rows keep the order of the input.
            order = np.argsort(rank_rows(self.quasi, self.sizes), kind="stable")
        of_row = np.empty(self.rows, np.int32)
        of_row[order] = np.arange(self.rows, dtype=np.int32)
        weight = np.ones(self.rows, np.int64)
        return FrequencyTable(
            self._stack_codes(order), weight, of_row, self._build_histograms(of_row, self.rows)
        )

    def divide_rows(self, most: int, person: NDArray[np.integer] | None = None) -> FrequencyTable:
        """Like `collapse_rows`, but up to ``most`` rows of each weighted row stand alone.

        So they can go to different classes, while the table stays small however many equal rows there are.
        Where ``person`` says whose row each is, rows of different people come first.
        """
        assert self.count is None
        rank = rank_rows(self.quasi, self.sizes)
        # By sensitive value within equal rows: which of them stand alone does not depend
        # on the order of the input.
        order = np.lexsort((*self.sensitive, rank) if person is None else _order_people(self, person, rank))
        weight = np.bincount(rank)
        before = np.cumsum(weight) - weight
        # Rows from number `most` on share one weighted row.
        nth = np.minimum(np.arange(order.size) - before[rank[order]], most)
        alone = np.cumsum(np.minimum(weight, most + 1))
        of_row = np.empty(order.size, np.int32)
        of_row[order] = nth + (alone - np.minimum(weight, most + 1))[rank[order]]
        some_row = np.empty(int(alone[-1]), np.int64)
        some_row[of_row] = np.arange(of_row.size)
        pieces = np.bincount(of_row)
        return FrequencyTable(
            self._stack_codes(some_row), pieces, of_row, self._build_histograms(of_row, pieces.size)
        )

    def _count_rows(self, number: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many original rows have each number."""
        return np.bincount(number) if self.count is None else _sum_weights(number, self.count, 0)

    def _stack_codes(self, rows: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        # Half the memory for nearly all tables; kernels are compiled for both types.
        dtype = np.uint16 if max(self.sizes) <= 1 << 16 else np.uint32
        codes = np.empty((rows.size, len(self.quasi)), dtype)
        for j, column in enumerate(self.quasi):
            codes[:, j] = column[rows]
        return codes

    def _build_histograms(self, of_row: NDArray[np.int32], size: int) -> Histograms:
        first = np.concatenate(([0], np.cumsum(self.sensitive_sizes, dtype=np.int64)))
        # Key = weighted row * width + value: sorting it groups values by row.
        width = np.uint64(max(int(first[-1]), 1))
        keys, counts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        # `first` has one entry more, the end.
        for column, offset in zip(self.sensitive, first, strict=False):
            distinct, number = collapse_keys(of_row.astype(np.uint64) * width + column + np.uint64(offset))
            keys.append(distinct)
            counts.append(self._count_rows(number))
        key, count = np.concatenate(keys), np.concatenate(counts)
        order = np.argsort(key)
        start = np.searchsorted(key[order], np.arange(size + 1, dtype=np.uint64) * width)
        return Histograms(tuple(first.tolist()), start, (key[order] % width).astype(np.int32), count[order])


@dataclass(frozen=True, slots=True, eq=False)
class SortedRows(CodedRows):
    """Rows that others counted and sorted, so that their frequency table is there already.

    Its parts are shared with the table: of many distinct rows a second copy is felt. The quasi-identifiers of
    each row are in the table alone.
    """

    table: FrequencyTable | None = None

    @classmethod
    def from_entries(
        cls,
        codes: NDArray[np.unsignedinteger],
        of_row: NDArray[np.int32],
        sizes: tuple[int, ...],
        sensitive: tuple[NDArray[np.unsignedinteger], ...],
        sensitive_sizes: tuple[int, ...],
        count: NDArray[np.int64],
    ) -> SortedRows:
        """Rows in lexicographic order, sensitive values last.

        Parameters
        ----------
        codes : [u, d]
            The distinct rows of quasi-identifiers.
        of_row : int32[n]
            Which of them each row has: ascending.
        """
        bare = tuple(np.empty(0, np.uint16) for _ in sizes)
        rows = cls(bare, sizes, sensitive, sensitive_sizes, count)
        weight = _sum_weights(of_row, count, codes.shape[0])
        histograms = rows._build_histograms(of_row, weight.size)
        return replace(rows, table=FrequencyTable(codes, weight, of_row, histograms))

    def collapse_rows(self) -> FrequencyTable:
        """The table that is there."""
        assert self.table is not None
        return self.table

    def _build_histograms(self, of_row: NDArray[np.int32], size: int) -> Histograms:
        # slots=True makes a new class, which super() without arguments would not find.
        if len(self.sensitive) != 1:
            return CodedRows._build_histograms(self, of_row, size)
        assert self.count is not None
        # Sorted by row and value: these are the entries as they are.
        start = np.searchsorted(of_row, np.arange(size + 1))
        return Histograms((0, *self.sensitive_sizes), start, self.sensitive[0].astype(np.int32), self.count)


def rank_rows(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Rank of every row among the distinct rows, in lexicographic order."""
    # Mixed-radix number with the first column in front: numeric order is lexicographic order.
    key = np.zeros(columns[0].size, np.uint64)
    combinations = 1
    for column, size in zip(columns, sizes, strict=True):
        if combinations * size > _MOST_COMBINATIONS:  # the key is full: go on with the ranks of what it holds
            distinct, ranks = collapse_keys(key)
            key, combinations = ranks.astype(np.uint64), distinct.size
        key *= np.uint64(size)  # in place: of tens of millions of rows every copy is felt
        # Of signed and unsigned numbers numpy makes floats, which do not hold every key.
        unsigned = column if column.dtype.kind == "u" else column.astype(np.uint64)
        np.add(key, unsigned, out=key, casting="unsafe")
        combinations *= size
    return collapse_keys(key)[1]


def _order_people(
    rows: CodedRows, person: NDArray[np.integer], rank: NDArray[np.int32]
) -> tuple[NDArray[np.integer], ...]:
    """Keys of an order in which, of equal rows, the first of every person come before the second."""
    order = np.lexsort((*rows.sensitive, person, rank))
    same = (np.diff(rank[order], prepend=-1) == 0) & (
        np.diff(person[order].astype(np.int64), prepend=-1) == 0
    )
    at = np.arange(order.size)
    turn = np.empty(order.size, np.int64)
    turn[order] = at - np.maximum.accumulate(np.where(same, 0, at))
    return (person, *rows.sensitive, turn, rank)


def _sum_weights(code: NDArray[np.integer], weight: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Exact sums of weights per code."""
    # bincount adds floats, which are exact for whole numbers up to 2**53.
    return np.rint(np.bincount(code, weight, size)).astype(np.int64)
