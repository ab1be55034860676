"""Genetic search over tables that are k-anonymous by matching: one option per row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel, maker_kernel
from shoal.kernels.coverage import count_ones, count_partners, fill_reachable, has_bit
from shoal.kernels.random import draw_below, draw_uniform, shuffle_order
from shoal.kernels.signatures import Matrix

_ONE = np.uint64(1)


class RowOptions(NamedTuple):
    """The options of every row in order of rising cost."""

    cover: Matrix[np.uint64]
    """[n * most, words]: option ``at`` of row ``i`` is ``i * most + at``."""
    cost: Matrix[np.float64]
    """[n, most]"""
    many: NDArray[np.int64]
    """[n] how many there are."""
    k: int


class Arcs(NamedTuple):
    """Who covers whom in one table, and room to find out what hangs on the arcs of one row."""

    cover: Matrix[np.uint64]
    """[n, words] the rows that each row covers."""
    into: Matrix[np.uint64]
    """[n, words] the rows that cover each row."""
    reach: Matrix[np.uint64]
    """[n, words] the rows that each row leads to."""
    back: NDArray[np.uint64]
    """[words] the rows that lead to the row in question."""
    onto: Matrix[np.uint64]
    """[n, words] the rows that lead to each row which needs the row in question."""
    todo: NDArray[np.int64]
    """[n] rows whose arcs are still to be followed."""


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
def _fill_arcs(arcs: Arcs) -> None:
    """Fill what follows from ``cover``."""
    fill_reachable(arcs.cover, arcs.reach)
    for i in range(arcs.cover.shape[0]):
        for w in range(arcs.cover.shape[1]):
            arcs.into[i, w] = np.uint64(0)
    for i in range(arcs.cover.shape[0]):
        for j in range(arcs.cover.shape[0]):
            if has_bit(arcs.cover, i, j):
                arcs.into[j, i >> 6] |= _ONE << np.uint64(i & 63)


@inner_kernel
def _find_sources(arcs: Arcs, row: int, without: int, found: NDArray[np.uint64]) -> None:
    """Fill ``found`` with the rows that lead to ``row``, itself included, by no arc out of ``without``."""
    found[:] = np.uint64(0)
    found[row >> 6] = _ONE << np.uint64(row & 63)
    arcs.todo[0] = row
    many = 1
    while many > 0:
        many -= 1
        at = arcs.todo[many]
        for w in range(found.size):
            fresh = arcs.into[at, w] & ~found[w]
            if w == without >> 6:
                fresh &= ~(_ONE << np.uint64(without & 63))
            found[w] |= fresh
            while fresh != 0:
                lowest = fresh & (~fresh + _ONE)
                arcs.todo[many] = 64 * w + count_ones(lowest - _ONE)
                many += 1
                fresh &= ~lowest


@inner_kernel
def _find_needy_rows(arcs: Arcs, k: int, row: int) -> int:
    """How many other rows have too few partners without the arcs of ``row``; fills ``back`` and ``onto``.

    An arc counts that lies on a cycle, so only rows on a cycle with ``row`` can lose by its arcs.
    """
    for w in range(arcs.back.size):
        arcs.back[w] = np.uint64(0)
    for j in range(arcs.cover.shape[0]):
        if has_bit(arcs.reach, j, row):
            arcs.back[j >> 6] |= _ONE << np.uint64(j & 63)
    needy = 0
    for j in range(arcs.cover.shape[0]):
        if j == row or not has_bit(arcs.reach, j, row) or not has_bit(arcs.reach, row, j):
            continue
        onto = arcs.onto[needy]
        _find_sources(arcs, j, row, onto)
        partners = 0
        for w in range(onto.size):
            partners += count_ones(arcs.cover[j, w] & onto[w])
        if partners < k:
            needy += 1
    return needy


@inner_kernel
def _stays_permitted(genes: RowOptions, arcs: Arcs, row: int, at: int, needy: int) -> bool:
    """Whether a permitted table stays so with another option of ``row``."""
    option = genes.cover[row * genes.cost.shape[1] + at]
    partners = 0
    for w in range(option.size):
        partners += count_ones(option[w] & arcs.back[w])
    if partners < genes.k:
        return False
    # A row in need has enough as soon as `row` leads to it: then it is on a cycle with all that it had.
    for j in range(needy):
        is_led_to = False
        for w in range(option.size):
            if option[w] & arcs.onto[j, w] != 0:
                is_led_to = True
                break
        if not is_led_to:
            return False
    return True


@inner_kernel
def _improve_individual(
    genes: RowOptions,
    pick: NDArray[np.int64],
    arcs: Arcs,
    order: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> None:
    """Give each row in turn the cheapest option with which the table, which is permitted, stays so."""
    _fill_arcs(arcs)
    # Which rows get cheap options depends on the order, so it is a random one.
    shuffle_order(state, order, order.size)
    for step in range(order.size):
        i = order[step]
        if pick[i] == 0:
            continue
        needy = _find_needy_rows(arcs, genes.k, i)
        # Options below the present one cost less, and the first that is permitted costs least.
        for at in range(pick[i]):
            if _stays_permitted(genes, arcs, i, at, needy):
                pick[i] = at
                _apply_option(genes, arcs.cover, i, at)
                _fill_arcs(arcs)
                break


@maker_kernel
def _make_arcs(n: int, words: int) -> Arcs:
    """Room for the arcs of a table."""
    return Arcs(
        np.empty((n, words), np.uint64),
        np.empty((n, words), np.uint64),
        np.empty((n, words), np.uint64),
        np.empty(words, np.uint64),
        np.empty((n, words), np.uint64),
        np.empty(n, np.int64),
    )


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
    arcs = _make_arcs(n, genes.cover.shape[1])
    order = np.arange(n)
    for each in range(picks.shape[0]):
        for i in range(n):
            _apply_option(genes, arcs.cover, i, picks[each, i])
        _improve_individual(genes, picks[each], arcs, order, state)
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
    arcs = _make_arcs(n, genes.cover.shape[1])
    order = np.arange(n)
    for each in range(kept, size):
        a = min(draw_below(state, size), draw_below(state, size))  # the better of two
        b = min(draw_below(state, size), draw_below(state, size))
        child = picks[each]
        for i in range(n):
            child[i] = parents[a, i] if draw_uniform(state) < 0.5 else parents[b, i]
            if draw_uniform(state) < mutation:
                child[i] = draw_below(state, genes.many[i])
            _apply_option(genes, arcs.cover, i, child[i])
        # Where the repair fails, the child becomes its first parent, which is permitted.
        if not _repair_individual(genes, child, arcs.cover, arcs.reach, state):
            for i in range(n):
                child[i] = parents[a, i]
                _apply_option(genes, arcs.cover, i, child[i])
        _improve_individual(genes, child, arcs, order, state)
        costs[each] = _sum_costs(genes, child)
