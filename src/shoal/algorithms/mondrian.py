"""Mondrian: top-down partitioning."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.spreading import SHARE, cuts_of_sample, part_numbers, stride, whole_nodes
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError
from shoal.frequency import FrequencyTable
from shoal.kernels.axes import START, Axes
from shoal.kernels.compiled import is_compiled
from shoal.kernels.partition import CLASSIC, GREEDY, KERNELS, NEAREST, Rows, grow
from shoal.kernels.rules import Rules
from shoal.kernels.spread import gather, leaf_of, tally
from shoal.parameters import check
from shoal.privacy.counts import sums
from shoal.recoding import Proposal

CUTS = {"classic": CLASSIC, "nearest": NEAREST, "greedy": GREEDY}
"""The ways to cut, as the kernels know them."""


class _Part(NamedTuple):
    """A node: its first row, the row after its last, its box, and whether no sample tells how to cut it."""

    start: int
    stop: int
    box: NDArray[np.int64]
    plain: bool = False


_Done: TypeAlias = tuple[int, int, list[_Part]]
"""Of a step: the nodes visited, the rows finished and the parts left."""


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
        table = problem.peopled if self.mode == "strict" else problem.rows.one_by_one(self.cut == "classic")
        tree = _Tree(problem.axes(), problem.rules(table), table, CUTS[self.cut], self.mode == "relaxed")
        tree.grow(problem.threads, on_progress)
        proposal = Proposal(table, tree.classes(), nodes=tree.nodes)
        return proposal if self.cut != "classic" else _as_boxes(proposal)


def divided(
    problem: Problem, table: FrequencyTable, class_of: NDArray[np.int32], on_progress: Progress = silent
) -> NDArray[np.int32]:
    """Partition classes that satisfy the goal further, each by itself, by greedy cuts; -1 stays -1."""
    tree = _Tree(problem.axes(), problem.rules(table), table, GREEDY, divide=False, within=class_of)
    tree.grow(problem.threads, on_progress)
    return tree.classes()


def partitioned(axes: Axes, rules: Rules, table: FrequencyTable, how: int) -> tuple[NDArray[np.int32], int]:
    """Partition the rows of a node strictly, by one thread: their classes, and how many nodes were visited.

    ``rules`` are about the whole table, and have the sensitive values of these rows.
    """
    tree = _Tree(axes, rules, table, how, divide=False)
    tree.grow(1, silent)
    return tree.classes(), tree.nodes


def root_box(axes: Axes) -> NDArray[np.int64]:
    """The box around everything there could be."""
    return np.stack([np.zeros(axes.weight.size, np.int64), np.diff(axes.shape[START]) - 1])


class _Tree:
    """A partition in the making: the large nodes here, the small ones in the kernel."""

    def __init__(
        self,
        axes: Axes,
        rules: Rules,
        table: FrequencyTable,
        how: int,
        divide: bool,
        within: NDArray[np.int32] | None = None,
    ) -> None:
        order = np.arange(table.weight.size) if within is None else np.argsort(within, kind="stable")
        self.rows = Rows(table.codes[order], table.weight[order], order)
        self.ends = np.array([0, order.size]) if within is None else np.cumsum(np.bincount(within + 1))
        self.axes, self.rules, self.how, self.divide = axes, rules, how, divide
        self.kernel = KERNELS[how]
        self.leaf = np.zeros(table.weight.size, np.bool_)
        self.halt = np.zeros(1, np.bool_)
        self.nodes = 0
        self.root = root_box(axes)

    def grow(self, threads: int, on_progress: Progress) -> None:
        """Partition everything; which thread does what has no influence on the result."""
        whole = self.leaf.size
        finished = int(self.ends[0])
        done: SimpleQueue[Future[_Done]] = SimpleQueue()
        pool = ThreadPoolExecutor(max(threads, 1))

        def submit(part: _Part) -> None:
            pool.submit(self._step, part).add_done_callback(done.put)

        try:
            for start, stop in pairwise(self.ends.tolist()):
                submit(_Part(start, stop, self.root, self.how == CLASSIC))
            while finished < whole:
                try:
                    nodes, rows, parts = done.get(timeout=1.0).result()
                except Empty:
                    if not is_compiled(self.kernel):
                        on_progress("compiling kernels, once on this machine", 0.0)
                    continue
                self.nodes += nodes
                finished += rows
                for part in parts:
                    submit(part)
                on_progress("partitioning", finished / whole)
        finally:
            # An interrupt is answered at once: the threads see this, but nobody waits for them.
            self.halt[0] = True
            pool.shutdown(wait=False, cancel_futures=True)

    def _step(self, part: _Part) -> _Done:
        """Partition a small node whole; cut a large one by a sample of its rows, or else once."""
        start, stop, box, plain = part
        small = stop - start <= SHARE
        if not small and not plain:
            return self._spread(part)
        boxes = np.stack([box, box, box])
        nodes, middle, _ = grow(
            self.rows,
            start,
            stop,
            self.axes,
            self.rules,
            self.how,
            self.divide,
            boxes,
            self.leaf,
            self.halt,
            small,
        )
        if small or middle == stop:
            return nodes, stop - start, []
        plain = self.how == CLASSIC
        return nodes, 0, [_Part(start, middle, boxes[1], plain), _Part(middle, stop, boxes[2], plain)]

    def _spread(self, part: _Part) -> _Done:
        """Cut a large node many times by a sample of its rows, and move the rows once."""
        rows = _some(self.rows, slice(part.start, part.stop))
        size = rows.weight.size
        sample = _some(rows, np.arange(0, size, stride(size)))  # a copy
        cuts = cuts_of_sample(sample, size, part.box, self.axes, self.rules, self.how, self.halt)
        node_of = leaf_of(rows.codes, cuts)
        weight = sums(node_of, rows.weight, cuts.axis.size)
        histogram = tally(self.rules, rows.ident, node_of, cuts.axis.size)
        part_of = part_numbers(cuts, whole_nodes(cuts, self.rules, weight, histogram))[node_of]
        ends = np.cumsum(np.bincount(part_of))
        if ends.size == 1:
            return 1, 0, [part._replace(plain=True)]
        gather(rows, part_of, np.concatenate([[0], ends[:-1]]))
        borders = pairwise((part.start + np.array([0, *ends])).tolist())
        return cuts.axis.size // 2, 0, [_Part(start, stop, part.box) for start, stop in borders]

    def classes(self) -> NDArray[np.int32]:
        """Class of every weighted row: the leaf that it ended in."""
        class_of = np.empty(self.leaf.size, np.int32)
        class_of[self.rows.ident] = np.cumsum(self.leaf) - 1
        return class_of


def _some(rows: Rows, which: slice | NDArray[np.int64]) -> Rows:
    return Rows(rows.codes[which], rows.weight[which], rows.ident[which])


def _as_boxes(proposal: Proposal) -> Proposal:
    """State the classes' boxes, as the published programs release them, and not the values present."""
    codes, class_of = proposal.table.codes.astype(np.int64), proposal.class_of
    lo = np.full((int(class_of.max()) + 1, codes.shape[1]), codes.max() + 1)
    hi = np.full(lo.shape, -1)
    np.minimum.at(lo, class_of, codes)
    np.maximum.at(hi, class_of, codes)
    return Proposal(proposal.table, class_of, (lo, hi), proposal.nodes)
