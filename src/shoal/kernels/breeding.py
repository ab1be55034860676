"""Evolution of tables that are k-anonymous by matching: one option per row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry, inner
from shoal.kernels.coverage import connect, has, score
from shoal.kernels.random import below, shuffle, uniform


class Genes(NamedTuple):
    """The options of every row in order of rising cost."""

    cover: NDArray[np.uint64]
    """[n * most, words]: option ``at`` of row ``i`` is ``i * most + at``."""
    cost: NDArray[np.float64]
    """[n, most]"""
    many: NDArray[np.int64]
    """[n] how many there are."""
    k: int


@inner
def _choose(genes: Genes, cover: NDArray[np.uint64], i: int, at: int) -> None:
    """Let row ``i`` cover what its option ``at`` does."""
    for w in range(cover.shape[1]):
        cover[i, w] = genes.cover[i * genes.cost.shape[1] + at, w]


@inner
def _is_fine(cover: NDArray[np.uint64], reach: NDArray[np.uint64], k: int) -> bool:
    connect(cover, reach)
    fine = True
    for i in range(cover.shape[0]):
        if score(cover, reach, i) < k:
            fine = False
            break
    return fine


@inner
def _covering(genes: Genes, i: int, j: int) -> int:
    """The cheapest option with which row ``i`` covers row ``j``; the last one covers all."""
    for at in range(genes.many[i]):
        if has(genes.cover, i * genes.cost.shape[1] + at, j):
            return at
    return int(genes.many[i]) - 1


@inner
def _mend(
    genes: Genes,
    pick: NDArray[np.int64],
    cover: NDArray[np.uint64],
    reach: NDArray[np.uint64],
    state: NDArray[np.uint64],
) -> bool:
    """Make rows that fail and rows that they cover cover each other, until none fails, if ever."""
    n = pick.size
    for _ in range(4 * n):
        connect(cover, reach)
        first = below(state, n)
        failing = -1
        for step in range(n):
            i = (first + step) % n
            if score(cover, reach, i) < genes.k:
                failing = i
                break
        if failing < 0:
            return True
        pick[failing] = max(pick[failing], below(state, genes.many[failing]))
        _choose(genes, cover, failing, pick[failing])
        first = below(state, n)
        for step in range(n):
            j = (first + step) % n
            if j != failing and has(cover, failing, j) and not has(reach, j, failing):
                pick[j] = _covering(genes, j, failing)
                _choose(genes, cover, j, pick[j])
                break
    return _is_fine(cover, reach, genes.k)


@inner
def _settle(
    genes: Genes,
    pick: NDArray[np.int64],
    cover: NDArray[np.uint64],
    reach: NDArray[np.uint64],
    order: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> None:
    """Give each row in turn the cheapest option with which the table stays permitted."""
    shuffle(state, order, order.size)
    for step in range(order.size):
        i = order[step]
        for at in range(pick[i]):
            _choose(genes, cover, i, at)
            if _is_fine(cover, reach, genes.k):
                pick[i] = at
                break
        _choose(genes, cover, i, pick[i])


@inner
def _total(genes: Genes, pick: NDArray[np.int64]) -> float:
    total = 0.0
    for i in range(pick.size):
        total += genes.cost[i, pick[i]]
    return total


@entry
def settle(
    genes: Genes, picks: NDArray[np.int64], costs: NDArray[np.float64], state: NDArray[np.uint64]
) -> None:
    """Lower the cost of each of ``picks``, which are permitted, as far as changes of single rows do."""
    n = picks.shape[1]
    cover = np.empty((n, genes.cover.shape[1]), np.uint64)
    reach = np.empty((n, genes.cover.shape[1]), np.uint64)
    order = np.arange(n)
    for each in range(picks.shape[0]):
        for i in range(n):
            _choose(genes, cover, i, picks[each, i])
        _settle(genes, picks[each], cover, reach, order, state)
        costs[each] = _total(genes, picks[each])


@entry
def breed(
    genes: Genes,
    picks: NDArray[np.int64],
    costs: NDArray[np.float64],
    kept: int,
    mutation: float,
    state: NDArray[np.uint64],
) -> None:
    """One generation: all but the first ``kept`` of the population, which is in order of cost, are replaced.

    A child takes each row's option from one of two parents, or with the chance ``mutation`` any; it is mended
    and settled, so that the whole population stays permitted.
    """
    size, n = picks.shape
    parents = picks.copy()
    cover = np.empty((n, genes.cover.shape[1]), np.uint64)
    reach = np.empty((n, genes.cover.shape[1]), np.uint64)
    order = np.arange(n)
    for each in range(kept, size):
        a = min(below(state, size), below(state, size))  # the better of two
        b = min(below(state, size), below(state, size))
        child = picks[each]
        for i in range(n):
            child[i] = parents[a, i] if uniform(state) < 0.5 else parents[b, i]
            if uniform(state) < mutation:
                child[i] = below(state, genes.many[i])
            _choose(genes, cover, i, child[i])
        if not _mend(genes, child, cover, reach, state):
            for i in range(n):
                child[i] = parents[a, i]
                _choose(genes, cover, i, child[i])
        _settle(genes, child, cover, reach, order, state)
        costs[each] = _total(genes, child)
