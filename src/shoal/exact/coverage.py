"""Row options: which original rows a generalised row covers, and what that costs.

For the matching meaning of k-anonymity nothing else matters about a row: all cells that cover the same rows
at the same cost are ties, and those that cover no more for more are of no use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.exact.budget import Budget
from shoal.exact.options import TIE, Floats, Ints, Options, Space
from shoal.kernels.coverage import undominated
from shoal.progress import Figures

Words = NDArray[np.uint64]
Box = tuple[tuple[int, int], ...]
"""The cells of one row: the ends of an interval per column."""

_MOST = 200_000  # options of one row while they are combined; more would not fit a solver anyway

ROWS = 64
"""Rows up to which tables are searched row by row; beyond, there are too many options to do any good."""


class TooManyError(Exception):
    """There are more rows, or options of a row, than can be handled, or handled in time."""


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """The options of one row in order of rising cost."""

    cover: Words
    """[m, words]"""
    cost: Floats
    ways: Floats
    """In how many ways each can be written, at that cost."""

    def only(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Choices:
        """Some of them."""
        return Choices(self.cover[keep], self.cost[keep], self.ways[keep])

    def solving(self) -> Choices:
        """Those that a search for one optimum needs: of ties, only those that cover most."""
        order = np.lexsort((-counts(self.cover), np.rint(self.cost / TIE)))
        ranked = self.only(order)
        return ranked.only(undominated(ranked.cover, ranked.cost, -TIE))


def bits(covered: NDArray[np.bool_]) -> Words:
    """Rows of truth values as words of bits, lowest row first."""
    padded = np.zeros((covered.shape[0], -(-covered.shape[1] // 64) * 64), np.bool_)
    padded[:, : covered.shape[1]] = covered
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def truths(words: Words, rows: int) -> NDArray[np.bool_]:
    """Words of bits as rows of truth values."""
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :rows].astype(np.bool_)


def counts(words: Words) -> Ints:
    """How many bits are set in each row."""
    return np.asarray(np.bitwise_count(words).sum(axis=1), np.int64)


def choices(space: Space, k: int, budget: Budget) -> list[Choices]:
    """The options of every row that cover at least ``k`` rows; rows with equal codes share theirs.

    Raises
    ------
    TooManyError
    """
    if space.rows > ROWS:
        raise TooManyError
    covers = [_interval_covers(column) for column in space.columns]
    made: dict[tuple[int, ...], Choices] = {}
    for row in map(tuple, space.codes.tolist()):
        if row not in made:
            budget.tell("options of each row", Figures(), len(made) / space.rows)
            if budget.seconds_left == 0:
                raise TooManyError
            made[row] = _of_row(space, covers, row, k)
    return [made[row] for row in map(tuple, space.codes.tolist())]


def boxes(space: Space, row: int, cover: Words, cost: float) -> Iterator[Box]:
    """All cells that make ``row`` cover exactly the rows of ``cover`` at that cost."""
    covers = [_interval_covers(column) for column in space.columns]
    options = []
    for column, covered in zip(space.columns, covers, strict=True):
        at = column.around(int(column.code[row]), int(column.code[row]))
        options.append((at, covered[at], column.intervals[2][at]))
    fits = [~(cover & ~covered).any(axis=1) for _, covered, _ in options]
    options = [(a[fit], b[fit], c[fit]) for (a, b, c), fit in zip(options, fits, strict=True)]
    least = np.cumsum([c.min() for _, _, c in options[::-1]])[::-1]
    full = np.full_like(cover, np.iinfo(np.uint64).max)

    def extend(j: int, covered: Words, spent: float, box: Box) -> Iterator[Box]:
        if j == len(options):
            if np.array_equal(covered, cover) and abs(spent - cost) <= TIE:
                yield box
            return
        rest = least[j + 1] if j + 1 < len(options) else 0.0
        lo, hi, _ = space.columns[j].intervals
        for i, words, price in zip(*options[j], strict=True):
            if spent + price + rest <= cost + TIE:
                yield from extend(j + 1, covered & words, spent + price, (*box, (int(lo[i]), int(hi[i]))))

    yield from extend(0, full, 0.0, ())


def _interval_covers(column: Options) -> Words:
    lo, hi, _ = column.intervals
    return bits((lo[:, None] <= column.code) & (column.code <= hi[:, None]))


def _of_row(space: Space, covers: list[Words], row: tuple[int, ...], k: int) -> Choices:
    """Combine the columns one by one; what is of no use is dropped after each."""
    every = Choices(bits(np.ones((1, space.rows), np.bool_)), np.zeros(1), np.ones(1))
    for column, covered, code in zip(space.columns, covers, row, strict=True):
        at = column.around(code, code)
        every = _combined(every, covered[at], column.intervals[2][at], k)
    return every


def _combined(sofar: Choices, cover: Words, cost: Floats, k: int) -> Choices:
    if sofar.cost.size * cost.size > 50 * _MOST:
        raise TooManyError
    both = (sofar.cover[:, None, :] & cover[None, :, :]).reshape(-1, cover.shape[1])
    total = (sofar.cost[:, None] + cost[None, :]).ravel()
    ways = np.repeat(sofar.ways, cost.size)
    enough = counts(both) >= k
    merged = _cheapest(both[enough], total[enough], ways[enough])
    if merged.cost.size > _MOST:
        raise TooManyError
    return merged.only(undominated(merged.cover, merged.cost, TIE))


def _cheapest(cover: Words, cost: Floats, ways: Floats) -> Choices:
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
    return Choices(cover[example][order], least[order], times[order])
