"""Top-down partitioning: cut a set of weighted rows in two until no cut is allowed.

The rows of a node lie next to each other and are moved in place, so that every class is a slice
in the end and threads can work on different slices. A node's result depends on its own rows only.
Loops are written out and buffers reused: slices and sorts cost more to compile than they save.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import Axes
from shoal.kernels.boxes import (
    LOWER,
    UPPER,
)
from shoal.kernels.compiled import entry_kernel, inline_kernel, inner_kernel
from shoal.kernels.cut_workspace import (
    CLASSIC,
    FIRST,
    GREEDY,
    NEAREST,
    WHOLE,
    Cut,
    WeightedRows,
    make_workspace,
)
from shoal.kernels.cuts import classic_cut, greedy_cut, nearest_cut
from shoal.kernels.rules import Rules, count_slots
from shoal.kernels.signatures import Cube


@inline_kernel
def _copy_row(source: WeightedRows, i: int, target: WeightedRows, at: int) -> None:
    for j in range(source.codes.shape[1]):
        target.codes[at, j] = source.codes[i, j]
    target.weight[at] = source.weight[i]
    target.ident[at] = source.ident[i]


@inner_kernel
def _separate_sides(rows: WeightedRows, start: int, stop: int, cut: Cut, spare: WeightedRows) -> int:
    """Move the rows of both sides of a cut together, left ones first; return where the right side begins.

    Ties are divided as the published program does: the last ones join the left side, backwards.
    """
    left = start
    right = 0
    end = stop - start
    tied = end  # ties fill the spare rows from the end
    for i in range(start, stop):
        code = np.int64(rows.codes[i, cut.axis])
        if cut.ties != WHOLE and code == cut.hi:
            tied -= 1
            _copy_row(rows, i, spare, tied)
        elif cut.lo <= code <= cut.hi:
            # `left` never passes `i`, so nothing is overwritten that is still to be read.
            _copy_row(rows, i, rows, left)
            left += 1
        else:
            _copy_row(rows, i, spare, right)
            right += 1
    # Then, in this order: the ties that go left, the right side, and the other ties backwards.
    for at in range(tied, tied + max(cut.ties, 0)):
        _copy_row(spare, at, rows, left)
        left += 1
    middle = left
    for at in range(right):
        _copy_row(spare, at, rows, left)
        left += 1
    for at in range(end - 1, tied + max(cut.ties, 0) - 1, -1):
        _copy_row(spare, at, rows, left)
        left += 1
    return middle


@inner_kernel
def _least_code(codes: NDArray[np.unsignedinteger], start: int, stop: int, axis: int) -> int:
    least = np.int64(codes[start, axis])
    for i in range(start + 1, stop):
        least = min(least, np.int64(codes[i, axis]))
    return int(least)


def _make_grow_kernel(how: int) -> Callable[..., Any]:
    """Make the kernel for one way of cutting, so that each is compiled only when it is used."""

    def grow_node(
        rows: WeightedRows,
        start: int,
        stop: int,
        axes: Axes,
        tests: Rules | None,
        slots: int,
        small: int,
        divide: bool,
        bounds_of: Cube[np.int64],
        leaf: NDArray[np.bool_],
        halt: NDArray[np.bool_],
        deep: bool,
    ) -> tuple[int, int, Cut]:
        count = stop - start
        d = axes.weight.size
        boxes, use = make_workspace(axes, count, count, slots)
        spare = WeightedRows(
            np.empty((count, d), rows.codes.dtype), np.empty(count, np.int64), np.empty(count, np.int64)
        )
        todo = np.empty((64, 2), np.int64)  # the smaller side goes first, so a stack of 64 never fills
        stacked = np.empty((65, 2, d), np.int64)
        corner = boxes.corner
        todo[0, 0], todo[0, 1] = start, stop
        for j in range(d):
            stacked[0, LOWER, j], stacked[0, UPPER, j] = bounds_of[0, LOWER, j], bounds_of[0, UPPER, j]
        waiting = 1
        nodes = 0
        first_middle = stop
        first_cut = Cut(-1, 0, 0, WHOLE)
        while waiting > 0 and not halt[0]:
            waiting -= 1
            first, last = todo[waiting, 0], todo[waiting, 1]
            for j in range(d):
                corner[LOWER, j], corner[UPPER, j] = stacked[waiting, LOWER, j], stacked[waiting, UPPER, j]
            total = FIRST  # a typed zero
            for i in range(first, last):
                total += rows.weight[i]
            cut = Cut(-1, 0, 0, WHOLE)
            if total >= 2 * small:
                # `how` is a constant to numba, which compiles only the branch that is taken.
                if how == CLASSIC:
                    cut = classic_cut(rows, first, last, axes, tests, small, total, divide, boxes, use)
                elif how == NEAREST:
                    cut = nearest_cut(rows, first, last, axes, tests, small, total, divide, boxes, use)
                else:
                    cut = greedy_cut(rows, first, last, axes, tests, small, total, divide, boxes, use)
            middle = last
            if cut.axis >= 0:
                middle = _separate_sides(rows, first, last, cut, spare)
            if nodes == 0:
                first_middle = middle
                first_cut = cut
            nodes += 1
            if middle == last:
                leaf[first] = True
                continue
            left_first = middle - first <= last - middle  # the smaller side goes on top
            for side in range(2):
                at = waiting + (side if not left_first else 1 - side)
                todo[at, 0] = middle if side else first
                todo[at, 1] = last if side else middle
                for j in range(d):
                    stacked[at, LOWER, j], stacked[at, UPPER, j] = corner[LOWER, j], corner[UPPER, j]
                # The classic rule inherits bounds: on the axis of the cut each side has its own.
                if how == CLASSIC and side == 0:
                    stacked[at, UPPER, cut.axis] = cut.hi
                elif how == CLASSIC:
                    stacked[at, LOWER, cut.axis] = _least_code(rows.codes, middle, last, cut.axis)
                for j in range(d):
                    bounds_of[1 + side, LOWER, j] = stacked[at, LOWER, j]
                    bounds_of[1 + side, UPPER, j] = stacked[at, UPPER, j]
            waiting += 2
            if not deep:
                break
        return nodes, first_middle, first_cut

    return entry_kernel(grow_node)


KERNELS = {how: _make_grow_kernel(how) for how in (CLASSIC, NEAREST, GREEDY)}
"""The compiled part of `grow`."""


def grow_partition(
    rows: WeightedRows,
    start: int,
    stop: int,
    axes: Axes,
    rules: Rules,
    how: int,
    divide: bool,
    bounds_of: NDArray[np.int64],
    leaf: NDArray[np.bool_],
    halt: NDArray[np.bool_],
    deep: bool,
) -> tuple[int, int, Cut]:
    """Partition a node down to its leaves, or cut it once if not ``deep``.

    ``leaf`` is marked where each leaf begins.

    Parameters
    ----------
    how : CLASSIC, NEAREST or GREEDY
    divide : bool
        Whether rows with equal codes may be divided (relaxed partitioning); all weights are 1 then.
    bounds_of : int64[3, 2, d]
        Bounds of the node; those of the children after the one cut of a shallow call.
    halt : bool[1]
        Set by another thread to end the work early.

    Returns
    -------
    nodes visited; where the right side of the first cut begins (``stop`` if there was none); that cut
    """
    tests = rules if rules.limit.size > 0 else None
    slots = 0 if tests is None else count_slots(rules)
    nodes, middle, cut = KERNELS[how](
        rows, start, stop, axes, tests, slots, rules.size, divide, bounds_of, leaf, halt, deep
    )
    return int(nodes), int(middle), Cut(*cut)
