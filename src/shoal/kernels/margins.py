"""The cut of a node whose rows are elsewhere, from what each axis tells of them.

Which cut `partition` makes depends on little: along each axis on the weight and the sensitive values at each
code, and for greedy cuts on the box around the rows there. These *margins* of a node add up over rows, and so
can be counted in many places. Here they are decided upon with the functions of `partition` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import Axes
from shoal.kernels.boxes import pack_rows
from shoal.kernels.buckets import tighten_bounds
from shoal.kernels.compiled import entry_kernel
from shoal.kernels.cut_workspace import GREEDY, LOPSIDED, NEAREST, WHOLE, Cut, WeightedRows, make_workspace
from shoal.kernels.cuts import find_best_on_axis, find_nearest_on_axis, measure_extents, take_widest
from shoal.kernels.rules import Rules


def _make_cut_kernel(how: int) -> Callable[..., Any]:
    """Make the kernel for one way of cutting."""

    def find_margin_cut(
        rows: WeightedRows,
        ends: NDArray[np.int64],
        alike: int,
        total: int,
        axes: Axes,
        tests: Rules | None,
        values: int,
        small: int,
    ) -> Cut:
        d = axes.weight.size
        # The axes are looked at one by one, so the memory is for the longest margin.
        count = 0
        for j in range(d):
            count = max(count, ends[j + 1] - ends[j])
        boxes, use = make_workspace(axes, count, alike, values)
        cut = Cut(-1, 0, 0, WHOLE)
        if total < 2 * small:
            return cut
        # Margin rows are corners of boxes around rows, so together they have the node's own bounds.
        tighten_bounds(rows, 0, ends[d], boxes.corner)
        if how == NEAREST:
            measure_extents(axes, boxes.corner, boxes.extent)
            axis = take_widest(boxes.extent)
            while axis >= 0 and cut.axis < 0:
                # Never with ties divided: margins know how many rows have a code, not which.
                cut = find_nearest_on_axis(
                    rows,
                    ends[axis],
                    ends[axis + 1],
                    alike,
                    axes,
                    axis,
                    tests,
                    total,
                    small,
                    False,
                    boxes,
                    use,
                )
                axis = take_widest(boxes.extent)
            return cut
        # The same two rounds as in `partition`: parts of some size first, then any that are
        # allowed.
        least = max(small, total // LOPSIDED)
        while least > 0 and cut.axis < 0:
            best = np.inf
            for axis in range(d):
                start, stop = ends[axis], ends[axis + 1]
                packing = pack_rows(rows.codes, start, stop, boxes)
                best, better = find_best_on_axis(
                    rows,
                    start,
                    stop,
                    alike,
                    axes,
                    axis,
                    tests,
                    total,
                    least,
                    small,
                    False,
                    packing,
                    boxes,
                    use,
                    best,
                )
                if better.axis >= 0:
                    cut = better
            least = small if least > small else 0
        return cut

    return entry_kernel(find_margin_cut)


_KERNELS = {how: _make_cut_kernel(how) for how in (NEAREST, GREEDY)}


def decide_cut(
    rows: WeightedRows, ends: NDArray[np.int64], alike: int, total: int, axes: Axes, rules: Rules, how: int
) -> Cut:
    """The cut that `partition` would make of a node, given its margins; its axis is -1 if there is none.

    Parameters
    ----------
    rows : Rows
        The margins of one axis after the other, as weighted rows: for every code two rows, which are opposite
        corners of the box around the rows of the node that have the code; one of them weighs 0. Their
        sensitive values are in ``rules``.
    ends : int64[d + 1]
        Where the margins of each axis begin.
    alike, total : int
        How many weighted rows the node has, and what they weigh.
    how : NEAREST or GREEDY
    """
    # None is a type of its own for numba: a kernel without rules is compiled by itself, and faster.
    tests = rules if rules.limit.size > 0 else None
    return Cut(*_KERNELS[how](rows, ends, alike, total, axes, tests, rules.values, rules.size))
