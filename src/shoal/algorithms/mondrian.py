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
from shoal.encoding import CategoryOrder
from shoal.errors import RecipeError
from shoal.frequency import FrequencyTable
from shoal.kernels.compiled import is_compiled
from shoal.kernels.partition import CLASSIC, GREEDY, KERNELS, NEAREST, Rows, grow
from shoal.kernels.spread import Cuts, gather, leaf_of, tally, verdicts
from shoal.parameters import check
from shoal.recoding import Proposal

_CUTS = {"classic": CLASSIC, "nearest": NEAREST, "greedy": GREEDY}
_SHARE = 1 << 15  # smaller nodes are partitioned whole, each by one thread
_CLASSES = 1 << 11  # and have this many classes at most, so that the depth below them does not grow
_SAMPLE = 1 << 14  # a larger one is cut by this many of its rows, or one in 32 if that is more
_SLIVER = 1024  # parts are at least this share of a sample: less would say little about the rest
_SCARCE = 128  # and a sample of fewer rows would
_TALLIES = 1 << 24  # most counters for the sensitive values of the parts of a node


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
        tree = _Tree(problem, table, _CUTS[self.cut], self.mode == "relaxed")
        tree.grow(problem.threads, on_progress)
        proposal = Proposal(table, tree.classes(), nodes=tree.nodes)
        return proposal if self.cut != "classic" else _as_boxes(proposal)


def divided(
    problem: Problem, table: FrequencyTable, class_of: NDArray[np.int32], on_progress: Progress = silent
) -> NDArray[np.int32]:
    """Partition classes that satisfy the goal further, each by itself, by greedy cuts; -1 stays -1."""
    tree = _Tree(problem, table, GREEDY, divide=False, within=class_of)
    tree.grow(problem.threads, on_progress)
    return tree.classes()


class _Tree:
    """A partition in the making: the large nodes here, the small ones in the kernel."""

    def __init__(
        self,
        problem: Problem,
        table: FrequencyTable,
        how: int,
        divide: bool,
        within: NDArray[np.int32] | None = None,
    ) -> None:
        order = np.arange(table.weight.size) if within is None else np.argsort(within, kind="stable")
        self.rows = Rows(table.codes[order], table.weight[order], order)
        self.ends = np.array([0, order.size]) if within is None else np.cumsum(np.bincount(within + 1))
        self.axes, self.rules, self.how, self.divide = problem.axes(), problem.rules(table), how, divide
        self.kernel = KERNELS[how]
        self.leaf = np.zeros(table.weight.size, np.bool_)
        self.halt = np.zeros(1, np.bool_)
        self.nodes = 0
        self.root = np.zeros((2, len(problem.domains)), np.int64)
        self.root[1] = [domain.size - 1 for domain in problem.domains]

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
        small = stop - start <= _SHARE
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
        cuts = self._cuts_of_sample(rows, part.box)
        node_of = leaf_of(rows.codes, cuts)
        part_of = self._parts(rows, cuts, node_of)[node_of]
        ends = np.cumsum(np.bincount(part_of))
        if ends.size == 1:
            return 1, 0, [part._replace(plain=True)]
        gather(rows, part_of, np.concatenate([[0], ends[:-1]]))
        borders = pairwise((part.start + np.array([0, *ends])).tolist())
        return cuts.axis.size // 2, 0, [_Part(start, stop, part.box) for start, stop in borders]

    def _cuts_of_sample(self, rows: Rows, box: NDArray[np.int64]) -> Cuts:
        """Cuts into parts of at most half a share and so many classes, found on every so-maniest row."""
        size = rows.weight.size
        step = max(size // max(_SAMPLE, size >> 5), 1)
        sample = _some(rows, np.arange(0, size, step))  # a copy
        enough = max(_SHARE // 2, 2 * size * self.rules.values // _TALLIES) // step
        leaf = np.zeros(sample.weight.size, np.bool_)
        cuts = [(-1, 0, 0, 0)]
        todo = [(0, _Part(0, leaf.size, box))]
        while todo:
            node, (start, stop, box, _) = todo.pop()
            weight = int(sample.weight[start:stop].sum())
            small = stop - start <= enough and weight * step <= _CLASSES * self.rules.size
            if small or stop - start < _SCARCE:
                continue
            least = max(weight // _SLIVER, 1)
            rules = self.rules._replace(size=least, limit=np.empty(0))
            boxes = np.stack([box, box, box])
            _, middle, cut = grow(
                sample, start, stop, self.axes, rules, self.how, False, boxes, leaf, self.halt, False
            )
            if middle == stop:
                continue
            cuts[node] = (cut.axis, cut.lo, cut.hi, len(cuts))
            for child in (_Part(start, middle, boxes[1]), _Part(middle, stop, boxes[2])):
                todo.append((len(cuts), child))
                cuts.append((-1, 0, 0, 0))
        return Cuts(*np.array(cuts, np.int64).T.copy())

    def _parts(self, rows: Rows, cuts: Cuts, node_of: NDArray[np.int32]) -> NDArray[np.int32]:
        """The part that each node belongs to, where both sides of a cut that breaks a rule stay one part."""
        holds = self._holds(rows, cuts, node_of)
        whole = cuts.axis < 0
        for node in np.flatnonzero(~whole)[::-1]:
            left = cuts.left[node]
            whole[node] = not (holds[left] and holds[left + 1])
            holds[node] |= not whole[node]
        part_of = np.full(whole.size, -1, np.int32)
        parts = 0
        for node in range(whole.size):
            if whole[node] and part_of[node] < 0:
                part_of[node] = parts
                parts += 1
            if cuts.axis[node] >= 0:
                part_of[cuts.left[node] : cuts.left[node] + 2] = part_of[node]
        return part_of

    def _holds(self, rows: Rows, cuts: Cuts, node_of: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which nodes would be allowed as classes."""
        rules, nodes = self.rules, cuts.axis.size
        weight = np.bincount(node_of, rows.weight, nodes)
        tested = rules.limit.size > 0
        histogram = tally(rules, rows.ident, node_of, nodes) if tested else np.zeros((nodes, 0), np.int64)
        for node in np.flatnonzero(cuts.axis >= 0)[::-1]:
            left = cuts.left[node]
            weight[node] = weight[left] + weight[left + 1]
            histogram[node] = histogram[left] + histogram[left + 1]
        return (weight >= rules.size) & (verdicts(rules, histogram) if tested else True)

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
