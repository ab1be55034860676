"""Hilbert: rows along a space-filling curve, cut into classes as well as that order allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.space import Run, Space, pieces, sound, worker
from shoal.encoding import CategoryOrder
from shoal.kernels.hilbert import cut_sequence
from shoal.recoding import Proposal

_SLICE = 1 << 14  # rows between two reports of progress
_REACH = 8  # with rules beside k, classes are at most so many times k rows long, or _LEAST_REACH
_LEAST_REACH = 64


@dataclass(frozen=True, slots=True)
class Hilbert:
    """Orders the rows along a Hilbert curve and finds the best classes of consecutive rows.

    Takes n log n steps for the order and n k for the classes, so it suits millions of rows, with columns that
    have an order; a hierarchy is followed leaf by leaf, which suits it less.

    References
    ----------
    G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis, "Fast data anonymization with low information loss",
    VLDB 2007.
    """

    @property
    def category_order(self) -> CategoryOrder:
        """Common categories lie together, so that few classes span rare ones."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Order, then cut."""
        space = Space.of(problem, pieces(problem))
        with worker(on_progress) as run:
            order = space.order()
            reach = max(_REACH * space.rules.size, _LEAST_REACH)
            class_of = cut(space, order, reach, run, on_progress)
        return sound(problem, Proposal(space.table, class_of, nodes=order.size))


def cut(
    space: Space, order: NDArray[np.int64], reach: int, run: Run, on_progress: Progress = silent
) -> NDArray[np.int32]:
    """Class of every row when ``order`` is cut into consecutive classes with the least loss.

    Where no class of up to ``reach`` rows keeps the rules, longer ones are looked at.
    """
    n = order.size
    best, back = np.zeros(n + 1), np.zeros(n + 1, np.int64)
    lent = space.boxes(1)
    for first in range(0, n, _SLICE):
        last = min(first + _SLICE, n)
        arguments = (space.points, space.measure, space.rules, space.ident, order, lent, reach)
        run(cut_sequence, *arguments, first, last, best, back)
        on_progress("cutting", last / n)
    if np.isfinite(best[n]):
        return _classes(order, back)
    if reach >= space.table.rows:  # not even all rows as one class: the verifier will say how close it is
        return np.zeros(n, np.int32)
    return cut(space, order, 4 * reach, run)


def _classes(order: NDArray[np.int64], back: NDArray[np.int64]) -> NDArray[np.int32]:
    begins = np.zeros(order.size, np.int32)
    at = order.size
    while at > 0:
        at = int(back[at])
        begins[at] = 1
    class_of = np.empty(order.size, np.int32)
    class_of[order] = np.cumsum(begins) - 1
    return class_of
