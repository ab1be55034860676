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
from shoal.kernels.boxes import pack
from shoal.kernels.compiled import entry
from shoal.kernels.partition import (
    GREEDY,
    LOPSIDED,
    NEAREST,
    WHOLE,
    Cut,
    Rows,
    best_on,
    extents,
    nearest_on,
    take_widest,
    tighten,
    work_space,
)
from shoal.kernels.rules import Rules


def _decider(how: int) -> Callable[..., Any]:
    """Make the kernel for one way of cutting."""

    def decide(
        rows: Rows,
        ends: NDArray[np.int64],
        alike: int,
        total: int,
        axes: Axes,
        tests: Rules | None,
        values: int,
        small: int,
    ) -> Cut:
        d = axes.weight.size
        count = 0
        for j in range(d):
            count = max(count, ends[j + 1] - ends[j])
        boxes, use = work_space(axes, count, alike, values)
        cut = Cut(-1, 0, 0, WHOLE)
        if total < 2 * small:
            return cut
        tighten(rows, 0, ends[d], boxes.corner)
        if how == NEAREST:
            extents(axes, boxes.corner, boxes.extent)
            axis = take_widest(boxes.extent)
            while axis >= 0 and cut.axis < 0:
                cut = nearest_on(
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
        least = max(small, total // LOPSIDED)
        while least > 0 and cut.axis < 0:
            best = np.inf
            for axis in range(d):
                start, stop = ends[axis], ends[axis + 1]
                packing = pack(rows.codes, start, stop, boxes)
                best, better = best_on(
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

    return entry(decide)


_KERNELS = {how: _decider(how) for how in (NEAREST, GREEDY)}


def decide(
    rows: Rows, ends: NDArray[np.int64], alike: int, total: int, axes: Axes, rules: Rules, how: int
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
    tests = rules if rules.limit.size > 0 else None
    return Cut(*_KERNELS[how](rows, ends, alike, total, axes, tests, rules.values, rules.size))
