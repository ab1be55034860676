"""Mondrian: top-down partitioning."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Problem, Progress, silent
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError
from shoal.frequency import FrequencyTable
from shoal.kernels.compiled import is_compiled
from shoal.kernels.partition import CLASSIC, GREEDY, KERNELS, NEAREST, Rows, grow
from shoal.parameters import check
from shoal.recoding import Proposal

_CUTS = {"classic": CLASSIC, "nearest": NEAREST, "greedy": GREEDY}
_Part: TypeAlias = tuple[
    int, int, NDArray[np.int64]
]  # a node: its first row, the row after its last, its box
_SHARE = 1 << 15  # larger nodes are cut one by one, smaller ones partitioned whole, each by one thread


@dataclass(frozen=True, slots=True)
class Mondrian:
    """Top-down partitioning: cut the table in two, and again, while both parts can stand alone.

    Near-linear in the number of distinct rows. The privacy models are enforced in every cut.

    References
    ----------
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006.
    J. Xu et al., "Utility-based anonymization using local recoding", KDD 2006 (greedy cuts).
    """

    mode: Literal["strict", "relaxed"] = "strict"
    """strict keeps rows with equal values together; relaxed may divide them between two classes."""
    cut: Literal["classic", "nearest", "greedy"] = "greedy"
    """classic: the rules of published programs; nearest: the widest column, cut as near the median as
    allowed; greedy: of all columns and allowed cuts, the one that saves most loss for its evenness."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def category_order(self) -> CategoryOrder:
        """Published programs take categories as they come."""
        return "appearance" if self.cut == "classic" else "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Partition the distinct rows, or in relaxed mode the rows one by one."""
        if (problem.weights < 0).any():
            raise RecipeError("mondrian takes weights from 0 up; mingen and genetic take any")
        table = problem.table if self.mode == "strict" else problem.rows.one_by_one(self.cut == "classic")
        tree = _Tree(problem, table, _CUTS[self.cut], self.mode == "relaxed")
        tree.grow(problem.threads, on_progress)
        proposal = Proposal(table, tree.classes(), nodes=tree.nodes)
        return proposal if self.cut != "classic" else _as_boxes(proposal)


class _Tree:
    """A partition in the making: the large nodes here, the small ones in the kernel."""

    def __init__(self, problem: Problem, table: FrequencyTable, how: int, divide: bool) -> None:
        self.rows = Rows(table.codes.copy(), table.weight.copy(), np.arange(table.weight.size))
        self.settings = (problem.axes(), problem.rules(table), how, divide)
        self.kernel = KERNELS[how]
        self.leaf = np.zeros(table.weight.size, np.bool_)
        self.halt = np.zeros(1, np.bool_)
        self.nodes = 0
        self.root = np.zeros((2, len(problem.domains)), np.int64)
        self.root[1] = [domain.size - 1 for domain in problem.domains]

    def grow(self, threads: int, on_progress: Progress) -> None:
        """Partition everything; which thread does what has no influence on the result."""
        whole = self.leaf.size
        finished = 0
        pool = ThreadPoolExecutor(max(threads, 1))
        todo = {pool.submit(self._step, 0, whole, self.root)}
        try:
            while todo:
                done, todo = wait(todo, timeout=1.0, return_when=FIRST_COMPLETED)
                if not done and not is_compiled(self.kernel):
                    on_progress("compiling kernels, once on this machine", 0.0)
                for nodes, rows, parts in map(Future.result, done):
                    self.nodes += nodes
                    finished += rows
                    todo |= {pool.submit(self._step, *part) for part in parts}
                    on_progress("partitioning", finished / whole)
        finally:
            # An interrupt is answered at once: the threads see this, but nobody waits for them.
            self.halt[0] = True
            pool.shutdown(wait=False, cancel_futures=True)

    def _step(self, start: int, stop: int, box: NDArray[np.int64]) -> tuple[int, int, list[_Part]]:
        """Partition a small node whole, or cut a large one once.

        Returns the nodes visited, the rows finished and the parts left.
        """
        small = stop - start <= _SHARE
        boxes = np.stack([box, box, box])
        nodes, middle = grow(self.rows, start, stop, *self.settings, boxes, self.leaf, self.halt, small)
        if small or middle == stop:
            return nodes, stop - start, []
        return nodes, 0, [(start, middle, boxes[1]), (middle, stop, boxes[2])]

    def classes(self) -> NDArray[np.int32]:
        """Class of every weighted row: the leaf that it ended in."""
        class_of = np.empty(self.leaf.size, np.int32)
        class_of[self.rows.ident] = np.cumsum(self.leaf) - 1
        return class_of


def _as_boxes(proposal: Proposal) -> Proposal:
    """State the classes' boxes, as the published programs release them, and not the values present."""
    codes, class_of = proposal.table.codes.astype(np.int64), proposal.class_of
    lo = np.full((int(class_of.max()) + 1, codes.shape[1]), codes.max() + 1)
    hi = np.full(lo.shape, -1)
    np.minimum.at(lo, class_of, codes)
    np.maximum.at(hi, class_of, codes)
    return Proposal(proposal.table, class_of, (lo, hi), proposal.nodes)
