"""Hilbert: rows along a space-filling curve, cut into classes as well as that order allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.space import (
    ClusteringSpace,
    Worker,
    replace_unsound_proposal,
    split_equal_rows,
    start_worker,
)
from shoal.codespace.recoding import Proposal
from shoal.kernels.hilbert import cut_sequence

_SLICE = 1 << 14  # rows between two reports of progress
_REACH = 8  # with rules beside k, classes are at most so many times k rows long, or _LEAST_REACH
_LEAST_REACH = 64


@dataclass(frozen=True, slots=True)
class Hilbert(Algorithm):
    """Orders the rows along a Hilbert curve and finds the best classes of consecutive rows.

    Takes n log n steps for the order and n k for the classes, so it suits millions of rows, with columns that
    have an order; a hierarchy is followed leaf by leaf, which suits it less.

    References
    ----------
    G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis, "Fast data anonymization with low information loss",
    VLDB 2007.
    """

    works_on_counted_rows = True
    counts_people = True
    links_people = True

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Order, then cut."""
        space = ClusteringSpace.from_table(problem, split_equal_rows(problem))
        with start_worker(on_progress) as run:
            order = space.sort_along_curve()
            reach = max(_REACH * space.rules.size, _LEAST_REACH)
            class_of = cut_into_classes(space, order, reach, run, on_progress)
        return replace_unsound_proposal(problem, Proposal(space.table, class_of, nodes=order.size))


def cut_into_classes(
    space: ClusteringSpace,
    order: NDArray[np.int64],
    reach: int,
    run: Worker,
    on_progress: Progress = silent,
) -> NDArray[np.int32]:
    """Class of every row when ``order`` is cut into consecutive classes with the least loss.

    Where no class of up to ``reach`` rows keeps the rules, longer ones are looked at.
    """
    n = order.size
    best, back = np.zeros(n + 1), np.zeros(n + 1, np.int64)
    lent = space.make_boxes(1)
    for first in range(0, n, _SLICE):
        last = min(first + _SLICE, n)
        arguments = (space.points, space.measure, space.rules, space.ident, order, lent, reach)
        run(cut_sequence, *arguments, first, last, best, back)
        on_progress("cutting", last / n)
    if np.isfinite(best[n]):
        return _trace_classes(order, back)
    if reach >= space.table.rows:  # not even all rows as one class: the verifier will say how close it is
        return np.zeros(n, np.int32)
    return cut_into_classes(space, order, 4 * reach, run)


def _trace_classes(order: NDArray[np.int64], back: NDArray[np.int64]) -> NDArray[np.int32]:
    begins = np.zeros(order.size, np.int32)
    at = order.size
    # Back through the dynamic programme: each step leads to where a class begins.
    while at > 0:
        at = int(back[at])
        begins[at] = 1
    class_of = np.empty(order.size, np.int32)
    class_of[order] = np.cumsum(begins) - 1
    return class_of
