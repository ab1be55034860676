"""Row options: which original rows a generalised row covers, and what that costs.

For the matching meaning of k-anonymity nothing else matters about a row: all cells that cover the same rows
at the same cost are ties, and those that cover no more for more are of no use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.amounts import carry_limbs, join_limbs, rank_limbs, sort_limbs, split_limbs
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.options import ColumnOptions, Floats, Ints, TableSpace
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


@dataclass(frozen=True, eq=False)
class CoverOptions:
    """The options of one row in order of rising cost."""

    cover: Words
    """[m, words]"""
    limbs: Ints
    """[m, limbs] the exact amounts, as limbs."""
    ways: Floats
    """In how many ways each can be written, at that cost."""
    space: TableSpace

    @cached_property
    def amount(self) -> list[int]:
        """What each costs exactly."""
        return join_limbs(self.limbs)

    @cached_property
    def cost(self) -> Floats:
        """What each costs, as floats."""
        return np.array([self.space.to_cost(amount) for amount in self.amount], np.float64)

    @property
    def size(self) -> int:
        """Number of options."""
        return self.ways.size

    def select_options(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> CoverOptions:
        """Some of them."""
        return CoverOptions(self.cover[keep], self.limbs[keep], self.ways[keep], self.space)

    def keep_undominated(self) -> CoverOptions:
        """Those that a search for one optimum needs: of ties, only those that cover most."""
        # What covers most comes first among ties, and drops what covers less for the same cost.
        order = np.lexsort((-count_bits(self.cover), rank_limbs(self.limbs)))
        return self.select_options(order).drop_dominated(0)

    def drop_dominated(self, less: int) -> CoverOptions:
        """Those that no other covers for less, or for the same where ``less`` is 0."""
        return self.select_options(find_undominated(self.cover, rank_limbs(self.limbs), less))


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


def list_boxes(space: TableSpace, row: int, cover: Words, amount: int) -> Iterator[Box]:
    """All cells that make ``row`` cover exactly the rows of ``cover`` for that amount."""
    options = []
    for column, unit in zip(space.columns, space.amounts, strict=True):
        at = column.find_intervals_around(int(column.code[row]), int(column.code[row]))
        covered = _interval_covers(column)[at]
        # A cell must cover all these rows; what it covers beyond, other columns can take away.
        fit = ~(cover & ~covered).any(axis=1)
        lo, hi, _ = column.intervals
        ends = list(zip(lo[at[fit]].tolist(), hi[at[fit]].tolist(), strict=True))
        options.append((ends, covered[fit], [int(steps) * unit for steps in column.steps[at[fit]]]))
    # What the columns from each one on cost at least: branches that exceed the amount are cut off.
    least = [0]
    for _, _, price in options[::-1]:
        least.insert(0, least[0] + min(price))
    full = np.full_like(cover, np.iinfo(np.uint64).max)

    def extend_box(j: int, covered: Words, spent: int, box: Box) -> Iterator[Box]:
        if j == len(options):
            if spent == amount and np.array_equal(covered, cover):
                yield box
            return
        for ends, words, price in zip(*options[j], strict=True):
            if spent + price + least[j + 1] <= amount:
                yield from extend_box(j + 1, covered & words, spent + price, (*box, ends))

    yield from extend_box(0, full, 0, ())


def _interval_covers(column: ColumnOptions) -> Words:
    lo, hi, _ = column.intervals
    return pack_bits((lo[:, None] <= column.code) & (column.code <= hi[:, None]))


def _list_options_of_row(
    space: TableSpace, covers: list[Words], row: tuple[int, ...], k: int
) -> CoverOptions:
    """Combine the columns one by one; what is of no use is dropped after each."""
    nothing = np.zeros((1, space.limbs), np.int64)
    every = CoverOptions(pack_bits(np.ones((1, space.rows), np.bool_)), nothing, np.ones(1), space)
    for column, unit, covered, code in zip(space.columns, space.amounts, covers, row, strict=True):
        at = column.find_intervals_around(code, code)
        limbs = split_limbs([int(steps) * unit for steps in column.steps[at]], space.limbs)
        every = _combine_options(every, covered[at], limbs, k)
    return every


def _combine_options(sofar: CoverOptions, cover: Words, limbs: Ints, k: int) -> CoverOptions:
    # Before the product is made, which might not fit the memory.
    if sofar.size * len(cover) > 50 * _MOST:
        raise TooManyError
    both = (sofar.cover[:, None, :] & cover[None, :, :]).reshape(-1, cover.shape[1])
    # Further columns only take rows away, so that what covers too few never recovers.
    enough = np.flatnonzero(count_bits(both) >= k)
    mine, other = np.divmod(enough, len(cover))
    total = carry_limbs(sofar.limbs[mine] + limbs[other])
    merged = _keep_cheapest(CoverOptions(both[enough], total, sofar.ways[mine], sofar.space))
    if merged.size > _MOST:
        raise TooManyError
    # Ties stay: all tables of least cost are counted and listed later.
    return merged.drop_dominated(1)


def _keep_cheapest(every: CoverOptions) -> CoverOptions:
    """One option for each set of rows, in order of cost; the ways of ties add up."""
    group = np.unique(every.cover, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((*every.limbs.T[::-1], group))
    ranked, of = every.select_options(order), group[order]
    first = np.flatnonzero(np.diff(of, prepend=-1))
    tie = (ranked.limbs == ranked.limbs[first[of]]).all(axis=1)
    times = np.asarray(np.bincount(of[tie], ranked.ways[tie], first.size), np.float64)
    least = CoverOptions(ranked.cover[first], ranked.limbs[first], times, every.space)
    return least.select_options(sort_limbs(least.limbs))
