"""Which rows a generalised row covers, as bits: bit ``j % 64`` of word ``j // 64`` stands for row ``j``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inline_kernel, inner_kernel
from shoal.kernels.signatures import Matrix

_ONE = np.uint64(1)
_PAIRS, _FOURS, _EIGHTS = (np.uint64(int(digits * 8, 16)) for digits in ("55", "33", "0f"))


@inline_kernel
def has_bit(cover: NDArray[np.uint64], i: int, row: int) -> bool:
    """Whether bit ``row`` of ``cover[i]`` is set."""
    return bool((cover[i, row >> 6] >> np.uint64(row & 63)) & _ONE)


@inline_kernel
def count_ones(word: np.uint64) -> int:
    """Number of bits that are set."""
    pairs = word - ((word >> _ONE) & _PAIRS)
    fours = (pairs & _FOURS) + ((pairs >> np.uint64(2)) & _FOURS)
    eights = (fours + (fours >> np.uint64(4))) & _EIGHTS
    sums = eights + (eights >> np.uint64(8))
    sums = sums + (sums >> np.uint64(16))
    return int((sums + (sums >> np.uint64(32))) & np.uint64(127))


@entry_kernel
def find_undominated(cover: Matrix[np.uint64], cost: NDArray[np.int64], less: int) -> NDArray[np.bool_]:
    """Which options no other one covers for less; options stand in order of rising cost, given as ranks.

    One option dominates another if it covers the same rows or more and its cost is ``less`` ranks lower, or
    more.
    """
    kept = np.zeros(cost.size, np.bool_)
    for a in range(cost.size):
        free = True
        for b in range(a):
            # Options that were dropped need not be compared: what dominates them dominates this
            # one, too.
            if not kept[b] or cost[a] - cost[b] < less:
                continue
            inside = True
            for w in range(cover.shape[1]):
                if cover[a, w] & ~cover[b, w] != 0:
                    inside = False
                    break
            if inside:
                free = False
                break
        kept[a] = free
    return kept


@inner_kernel
def fill_reachable(cover: NDArray[np.uint64], reach: NDArray[np.uint64]) -> None:
    """Fill ``reach`` with what can be reached along arcs of ``cover`` (Warshall, on words of bits)."""
    n = cover.shape[0]
    for i in range(n):
        for w in range(cover.shape[1]):
            reach[i, w] = cover[i, w]
    # The intermediate row is the outer loop: each row is done with before the next one is used.
    for via in range(n):
        for i in range(n):
            if has_bit(reach, i, via):
                for w in range(reach.shape[1]):
                    reach[i, w] |= reach[via, w]


@inner_kernel
def count_partners(cover: NDArray[np.uint64], reach: NDArray[np.uint64], i: int) -> int:
    """Number of rows that ``i`` covers and that lead back to it."""
    count = 0
    for j in range(cover.shape[0]):
        # Back from j to i along some path: with the arc from i to j that is a cycle.
        if has_bit(cover, i, j) and has_bit(reach, j, i):
            count += 1
    return count


@entry_kernel
def k_scores(cover: Matrix[np.uint64]) -> NDArray[np.int64]:
    """To how many original rows each generalised row is assigned in some perfect matching.

    Every row covers itself, so the identity is a perfect matching; an arc then lies in some perfect matching
    exactly if its two ends lie in one strongly connected component.
    """
    reach = np.empty(cover.shape, np.uint64)
    fill_reachable(cover, reach)
    result = np.empty(cover.shape[0], np.int64)
    for i in range(result.size):
        result[i] = count_partners(cover, reach, i)
    return result
