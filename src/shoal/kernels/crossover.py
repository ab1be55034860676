"""Genetic search over tables that are k-anonymous by matching: one option per row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.coverage import count_partners, fill_reachable, has_bit
from shoal.kernels.random import draw_below, draw_uniform, shuffle_order
from shoal.kernels.signatures import Matrix


class RowOptions(NamedTuple):
    """The options of every row in order of rising cost."""

    cover: Matrix[np.uint64]
    """[n * most, words]: option ``at`` of row ``i`` is ``i * most + at``."""
    cost: Matrix[np.float64]
    """[n, most]"""
    many: NDArray[np.int64]
    """[n] how many there are."""
    k: int


@inner_kernel
def _apply_option(genes: RowOptions, cover: NDArray[np.uint64], i: int, at: int) -> None:
    """Let row ``i`` cover what its option ``at`` does."""
    for w in range(cover.shape[1]):
        cover[i, w] = genes.cover[i * genes.cost.shape[1] + at, w]


@inner_kernel
def _is_permitted(cover: NDArray[np.uint64], reach: NDArray[np.uint64], k: int) -> bool:
    fill_reachable(cover, reach)
    fine = True
    for i in range(cover.shape[0]):
        # Rows that it covers and that lead back to it are those it has in some perfect matching.
        if count_partners(cover, reach, i) < k:
            fine = False
            break
    return fine


@inner_kernel
def _find_covering_option(genes: RowOptions, i: int, j: int) -> int:
    """The cheapest option with which row ``i`` covers row ``j``; the last one covers all."""
    for at in range(genes.many[i]):
        if has_bit(genes.cover, i * genes.cost.shape[1] + at, j):
            return at
    return int(genes.many[i]) - 1


@inner_kernel
def _repair_individual(
    genes: RowOptions,
    pick: NDArray[np.int64],
    cover: NDArray[np.uint64],
    reach: NDArray[np.uint64],
    state: NDArray[np.uint64],
) -> bool:
    """Make rows that fail and rows that they cover cover each other, until none fails, if ever."""
    n = pick.size
    # A round may undo what an earlier one did, so the number of rounds is bounded.
    for _ in range(4 * n):
        fill_reachable(cover, reach)
        # Start at a random row, so that none is favoured by its number.
        first = draw_below(state, n)
        failing = -1
        for step in range(n):
            i = (first + step) % n
            if count_partners(cover, reach, i) < genes.k:
                failing = i
                break
        if failing < 0:
            return True
        # Options rise in cost: a higher one covers more rows, or others.
        pick[failing] = max(pick[failing], draw_below(state, genes.many[failing]))
        _apply_option(genes, cover, failing, pick[failing])
        first = draw_below(state, n)
        for step in range(n):
            j = (first + step) % n
            # An arc counts only if its end leads back. One row per round: then `reach` is stale.
            if j != failing and has_bit(cover, failing, j) and not has_bit(reach, j, failing):
                pick[j] = _find_covering_option(genes, j, failing)
                _apply_option(genes, cover, j, pick[j])
                break
    return _is_permitted(cover, reach, genes.k)


@inner_kernel
def _improve_individual(
    genes: RowOptions,
    pick: NDArray[np.int64],
    cover: NDArray[np.uint64],
    reach: NDArray[np.uint64],
    order: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> None:
    """Give each row in turn the cheapest option with which the table stays permitted."""
    # Which rows get cheap options depends on the order, so it is a random one.
    shuffle_order(state, order, order.size)
    for step in range(order.size):
        i = order[step]
        # Options below the present one cost less, and the first that is permitted costs least.
        for at in range(pick[i]):
            _apply_option(genes, cover, i, at)
            if _is_permitted(cover, reach, genes.k):
                pick[i] = at
                break
        _apply_option(genes, cover, i, pick[i])  # undoes the last try where none was permitted


@inner_kernel
def _sum_costs(genes: RowOptions, pick: NDArray[np.int64]) -> float:
    total = 0.0
    for i in range(pick.size):
        total += genes.cost[i, pick[i]]
    return total


@entry_kernel
def improve_population(
    genes: RowOptions, picks: Matrix[np.int64], costs: NDArray[np.float64], state: NDArray[np.uint64]
) -> None:
    """Lower the cost of each of ``picks``, which are permitted, as far as changes of single rows do."""
    n = picks.shape[1]
    cover = np.empty((n, genes.cover.shape[1]), np.uint64)
    reach = np.empty((n, genes.cover.shape[1]), np.uint64)
    order = np.arange(n)
    for each in range(picks.shape[0]):
        for i in range(n):
            _apply_option(genes, cover, i, picks[each, i])
        _improve_individual(genes, picks[each], cover, reach, order, state)
        costs[each] = _sum_costs(genes, picks[each])


@entry_kernel
def replace_generation(
    genes: RowOptions,
    picks: Matrix[np.int64],
    costs: NDArray[np.float64],
    kept: int,
    mutation: float,
    state: NDArray[np.uint64],
) -> None:
    """One generation: all but the first ``kept`` of the population, which is in order of cost, are replaced.

    A child takes each row's option from one of two parents, or with the chance ``mutation`` any; then it
    is repaired and improved, so that the whole population stays permitted.
    """
    size, n = picks.shape
    parents = picks.copy()  # children overwrite the rows of `picks`
    cover = np.empty((n, genes.cover.shape[1]), np.uint64)
    reach = np.empty((n, genes.cover.shape[1]), np.uint64)
    order = np.arange(n)
    for each in range(kept, size):
        a = min(draw_below(state, size), draw_below(state, size))  # the better of two
        b = min(draw_below(state, size), draw_below(state, size))
        child = picks[each]
        for i in range(n):
            child[i] = parents[a, i] if draw_uniform(state) < 0.5 else parents[b, i]
            if draw_uniform(state) < mutation:
                child[i] = draw_below(state, genes.many[i])
            _apply_option(genes, cover, i, child[i])
        # Where the repair fails, the child becomes its first parent, which is permitted.
        if not _repair_individual(genes, child, cover, reach, state):
            for i in range(n):
                child[i] = parents[a, i]
                _apply_option(genes, cover, i, child[i])
        _improve_individual(genes, child, cover, reach, order, state)
        costs[each] = _sum_costs(genes, child)
