"""Row options: which original rows a generalised row covers, and what that costs.

For the matching meaning of k-anonymity nothing else matters about a row: all cells that cover the same rows
at the same cost are ties, and those that cover no more for more are of no use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.options import TIE, ColumnOptions, Floats, Ints, TableSpace
from shoal.kernels.coverage import find_undominated
from shoal.support.progress import SearchFigures

Words = NDArray[np.uint64]
Box = tuple[tuple[int, int], ...]
"""The cells of one row: the ends of an interval per column."""

_MOST = 200_000  # options of one row while they are combined; more would not fit a solver anyway

ROWS = 64
"""Rows up to which tables are searched row by row; beyond, there are too many options to do any good."""


class TooManyError(Exception):
    """There are more rows, or options of a row, than can be handled, or handled in time."""


@dataclass(frozen=True, slots=True, eq=False)
class CoverOptions:
    """The options of one row in order of rising cost."""

    cover: Words
    """[m, words]"""
    cost: Floats
    ways: Floats
    """In how many ways each can be written, at that cost."""

    def select_options(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> CoverOptions:
        """Some of them."""
        return CoverOptions(self.cover[keep], self.cost[keep], self.ways[keep])

    def keep_undominated(self) -> CoverOptions:
        """Those that a search for one optimum needs: of ties, only those that cover most."""
        # In units of a tie, or rounding would separate ties; of these what covers most comes first.
        order = np.lexsort((-count_bits(self.cover), np.rint(self.cost / TIE)))
        ranked = self.select_options(order)
        # A limit below 0 drops also what covers less for the same cost.
        return ranked.select_options(find_undominated(ranked.cover, ranked.cost, -TIE))


def pack_bits(covered: NDArray[np.bool_]) -> Words:
    """Rows of truth values as words of bits, lowest row first."""
    padded = np.zeros((covered.shape[0], -(-covered.shape[1] // 64) * 64), np.bool_)
    padded[:, : covered.shape[1]] = covered
    # As the kernels read it: bit j of the words is row j.
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack_bits(words: Words, rows: int) -> NDArray[np.bool_]:
    """Words of bits as rows of truth values."""
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :rows].astype(np.bool_)


def count_bits(words: Words) -> Ints:
    """How many bits are set in each row."""
    return np.asarray(np.bitwise_count(words).sum(axis=1), np.int64)


def list_cover_options(space: TableSpace, k: int, budget: Budget) -> list[CoverOptions]:
    """The options of every row that cover at least ``k`` rows; rows with equal codes share theirs.

    Raises
    ------
    TooManyError
    """
    if space.rows > ROWS:
        raise TooManyError
    covers = [_interval_covers(column) for column in space.columns]
    made: dict[tuple[int, ...], CoverOptions] = {}
    for row in map(tuple, space.codes.tolist()):
        if row not in made:
            budget.report_progress("options of each row", SearchFigures(), len(made) / space.rows)
            if budget.seconds_left == 0:
                raise TooManyError
            made[row] = _list_options_of_row(space, covers, row, k)
    return [made[row] for row in map(tuple, space.codes.tolist())]


def list_boxes(space: TableSpace, row: int, cover: Words, cost: float) -> Iterator[Box]:
    """All cells that make ``row`` cover exactly the rows of ``cover`` at that cost."""
    covers = [_interval_covers(column) for column in space.columns]
    options = []
    for column, covered in zip(space.columns, covers, strict=True):
        at = column.find_intervals_around(int(column.code[row]), int(column.code[row]))
        options.append((at, covered[at], column.intervals[2][at]))
    # A cell must cover all these rows; what it covers beyond, other columns can take away.
    fits = [~(cover & ~covered).any(axis=1) for _, covered, _ in options]
    options = [(a[fit], b[fit], c[fit]) for (a, b, c), fit in zip(options, fits, strict=True)]
    # What the columns from each one on cost at least: branches that exceed the cost are cut off.
    least = np.cumsum([c.min() for _, _, c in options[::-1]])[::-1]
    full = np.full_like(cover, np.iinfo(np.uint64).max)

    def extend_box(j: int, covered: Words, spent: float, box: Box) -> Iterator[Box]:
        if j == len(options):
            if np.array_equal(covered, cover) and abs(spent - cost) <= TIE:
                yield box
            return
        rest = least[j + 1] if j + 1 < len(options) else 0.0
        lo, hi, _ = space.columns[j].intervals
        for i, words, price in zip(*options[j], strict=True):
            if spent + price + rest <= cost + TIE:
                yield from extend_box(j + 1, covered & words, spent + price, (*box, (int(lo[i]), int(hi[i]))))

    yield from extend_box(0, full, 0.0, ())


def _interval_covers(column: ColumnOptions) -> Words:
    lo, hi, _ = column.intervals
    return pack_bits((lo[:, None] <= column.code) & (column.code <= hi[:, None]))


def _list_options_of_row(
    space: TableSpace, covers: list[Words], row: tuple[int, ...], k: int
) -> CoverOptions:
    """Combine the columns one by one; what is of no use is dropped after each."""
    every = CoverOptions(pack_bits(np.ones((1, space.rows), np.bool_)), np.zeros(1), np.ones(1))
    for column, covered, code in zip(space.columns, covers, row, strict=True):
        at = column.find_intervals_around(code, code)
        every = _combine_options(every, covered[at], column.intervals[2][at], k)
    return every


def _combine_options(sofar: CoverOptions, cover: Words, cost: Floats, k: int) -> CoverOptions:
    # Before the product is made, which might not fit the memory.
    if sofar.cost.size * cost.size > 50 * _MOST:
        raise TooManyError
    both = (sofar.cover[:, None, :] & cover[None, :, :]).reshape(-1, cover.shape[1])
    total = (sofar.cost[:, None] + cost[None, :]).ravel()
    ways = np.repeat(sofar.ways, cost.size)
    # Further columns only take rows away, so that what covers too few never recovers.
    enough = count_bits(both) >= k
    merged = _keep_cheapest(both[enough], total[enough], ways[enough])
    if merged.cost.size > _MOST:
        raise TooManyError
    # Ties stay: all tables of least cost are counted and listed later.
    return merged.select_options(find_undominated(merged.cover, merged.cost, TIE))


def _keep_cheapest(cover: Words, cost: Floats, ways: Floats) -> CoverOptions:
    """One option for each set of rows, in order of cost; the ways of ties add up."""
    _, group = np.unique(cover, axis=0, return_inverse=True)
    group = group.ravel()
    least = np.full(int(group.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, group, cost)
    tie = cost <= least[group] + TIE
    example = np.empty(least.size, np.int64)
    example[group] = np.arange(group.size)
    order = np.argsort(least, kind="stable")
    times = np.asarray(np.bincount(group[tie], ways[tie], least.size), np.float64)
    return CoverOptions(cover[example][order], least[order], times[order])
