"""Mondrian: top-down partitioning."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.sampled_cuts import (
    SHARE,
    choose_stride,
    cuts_of_sample,
    part_numbers,
    whole_nodes,
    whole_nodes_of_people,
)
from shoal.codespace.encoding import CategoryOrder
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.kernels.axes import START, Axes
from shoal.kernels.compiled import get_compile_progress
from shoal.kernels.cut_workspace import CLASSIC, GREEDY, NEAREST, WeightedRows
from shoal.kernels.partition import grow_partition
from shoal.kernels.rules import Rules
from shoal.kernels.sampled_cuts import CutTree, count_node_values, gather_parts, leaf_of
from shoal.privacy.counts import sum_by_place
from shoal.support.parameters import check_fields

CUTS = {"classic": CLASSIC, "nearest": NEAREST, "greedy": GREEDY}
"""The ways to cut, as the kernels know them."""


class _PartitionNode(NamedTuple):
    """A node: its first row, the row after its last, its box, and whether no sample tells how to cut it."""

    start: int
    stop: int
    box: NDArray[np.int64]
    plain: bool = False


_Done: TypeAlias = tuple[int, int, list[_PartitionNode]]
"""Of a step: the nodes visited, the rows finished and the parts left."""


@dataclass(frozen=True, slots=True)
class Mondrian(Algorithm):
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

    works_on_counted_rows = True
    counts_people = True
    links_people = True
    counted_rows_mode = "strict"

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def divides_equal_rows(self) -> bool:
        """In relaxed mode, which cuts between equal rows."""
        return self.mode == "relaxed"

    @property
    def needs_all_rows(self) -> bool:
        """Only for classic cuts: others are decided upon by counts, which can come from anywhere."""
        return self.cut == "classic"

    def choose_cut(self, count_rows: Callable[[], int], trees: bool) -> str:
        """As it was told to cut."""
        return self.cut

    @property
    def category_order(self) -> CategoryOrder:
        """Published programs take categories as they come."""
        return "appearance" if self.cut == "classic" else "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Partition the distinct rows, or in relaxed mode the rows one by one."""
        problem.refuse_negative_weights("mondrian")
        # Relaxed cuts divide equal rows, so each of them must be a row of its own.
        table = (
            problem.table_with_population
            if self.mode == "strict"
            else problem.rows.one_by_one(self.cut == "classic")
        )
        tree = _PartitionTree(
            problem.build_axes(), problem.build_rules(table), table, CUTS[self.cut], self.mode == "relaxed"
        )
        tree.grow_tree(problem.threads, on_progress)
        proposal = Proposal(table, tree.assign_classes(), nodes=tree.nodes)
        return proposal if self.cut != "classic" else _as_boxes(proposal)


def divide_classes(
    problem: Problem, table: FrequencyTable, class_of: NDArray[np.int32], on_progress: Progress = silent
) -> NDArray[np.int32]:
    """Partition classes that satisfy the goal further, each by itself, by greedy cuts; -1 stays -1."""
    tree = _PartitionTree(
        problem.build_axes(), problem.build_rules(table), table, GREEDY, divide=False, within=class_of
    )
    tree.grow_tree(problem.threads, on_progress)
    return tree.assign_classes()


def partition_rows(
    axes: Axes, rules: Rules, table: FrequencyTable, how: int
) -> tuple[NDArray[np.int32], int]:
    """Partition the rows of a node strictly, by one thread: their classes, and how many nodes were visited.

    ``rules`` are about the whole table, and have the sensitive values of these rows.
    """
    tree = _PartitionTree(axes, rules, table, how, divide=False)
    tree.grow_tree(1, silent)
    return tree.assign_classes(), tree.nodes


def root_box(axes: Axes) -> NDArray[np.int64]:
    """The box around everything there could be."""
    return np.stack([np.zeros(axes.weight.size, np.int64), np.diff(axes.shape[START]) - 1])


class _PartitionTree:
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
        self.rows = WeightedRows(table.codes[order], table.weight[order], order)
        # Rows with -1 are sorted to the front, and the first class begins after them.
        self.ends = np.array([0, order.size]) if within is None else np.cumsum(np.bincount(within + 1))
        self.axes, self.rules, self.how, self.divide = axes, rules, how, divide
        self.leaf = np.zeros(table.weight.size, np.bool_)
        self.halt = np.zeros(1, np.bool_)
        self.nodes = 0
        self.root = root_box(axes)

    def grow_tree(self, threads: int, on_progress: Progress) -> None:
        """Partition everything; which thread does what has no influence on the result."""
        whole = self.leaf.size
        finished = int(self.ends[0])
        done: SimpleQueue[Future[_Done]] = SimpleQueue()
        pool = ThreadPoolExecutor(max(threads, 1))

        def submit_part(part: _PartitionNode) -> None:
            pool.submit(self._partition_node, part).add_done_callback(done.put)

        try:
            for start, stop in pairwise(self.ends.tolist()):
                submit_part(_PartitionNode(start, stop, self.root, self.how == CLASSIC))
            while finished < whole:
                try:
                    nodes, rows, parts = done.get(timeout=1.0).result()
                except Empty:
                    # Nothing came for a second: on a first run the kernel is still being compiled.
                    if (standing := get_compile_progress()) is not None:
                        on_progress(str(standing), standing.share)
                    continue
                self.nodes += nodes
                finished += rows
                for part in parts:
                    submit_part(part)
                on_progress("partitioning", finished / whole)
        finally:
            # An interrupt is answered at once: the threads see this, but nobody waits for them.
            self.halt[0] = True
            pool.shutdown(wait=False, cancel_futures=True)

    def _partition_node(self, part: _PartitionNode) -> _Done:
        """Partition a small node whole; cut a large one by a sample of its rows, or else once."""
        start, stop, box, plain = part
        small = stop - start <= SHARE
        if not small and not plain:
            return self._cut_by_sample(part)
        boxes = np.stack([box, box, box])
        nodes, middle, _ = grow_partition(
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
        # Only this node is cut without a sample: its parts try one again, unless classic.
        plain = self.how == CLASSIC
        return (
            nodes,
            0,
            [_PartitionNode(start, middle, boxes[1], plain), _PartitionNode(middle, stop, boxes[2], plain)],
        )

    def _cut_by_sample(self, part: _PartitionNode) -> _Done:
        """Cut a large node many times by a sample of its rows, and move the rows once."""
        # A slice makes views, so that moving these rows moves those of the tree.
        rows = _select_rows(self.rows, slice(part.start, part.stop))
        size = rows.weight.size
        sample = _select_rows(rows, np.arange(0, size, choose_stride(size)))  # a copy
        cuts = cuts_of_sample(sample, size, part.box, self.axes, self.rules, self.how, self.halt)
        node_of = leaf_of(rows.codes, cuts)
        part_of = part_numbers(cuts, self._find_whole_nodes(cuts, rows, node_of))[node_of]
        ends = np.cumsum(np.bincount(part_of))
        # No cut by the sample is permitted once all rows are asked: cut this node by all of them.
        if ends.size == 1:
            return 1, 0, [part._replace(plain=True)]
        gather_parts(rows, part_of, np.concatenate([[0], ends[:-1]]))
        borders = pairwise((part.start + np.array([0, *ends])).tolist())
        return cuts.axis.size // 2, 0, [_PartitionNode(start, stop, part.box) for start, stop in borders]

    def _find_whole_nodes(
        self, cuts: CutTree, rows: WeightedRows, node_of: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Which nodes of a tree of cuts stay one part, because the rules do not permit to cut them."""
        if self.rules.units > 0:
            return whole_nodes_of_people(cuts, self.rules, rows.ident, node_of)
        weight = sum_by_place(node_of, rows.weight, cuts.axis.size)
        histogram = count_node_values(self.rules, rows.ident, node_of, cuts.axis.size)
        return whole_nodes(cuts, self.rules, weight, histogram)

    def assign_classes(self) -> NDArray[np.int32]:
        """Class of every weighted row: the leaf that it ended in."""
        class_of = np.empty(self.leaf.size, np.int32)
        # Rows before the first leaf are those that had no class: they get -1 again.
        class_of[self.rows.ident] = np.cumsum(self.leaf) - 1
        return class_of


def _select_rows(rows: WeightedRows, which: slice | NDArray[np.int64]) -> WeightedRows:
    return WeightedRows(rows.codes[which], rows.weight[which], rows.ident[which])


def _as_boxes(proposal: Proposal) -> Proposal:
    """State the classes' boxes, as the published programs release them, and not the values present."""
    codes, class_of = proposal.table.codes.astype(np.int64), proposal.class_of
    lo = np.full((int(class_of.max()) + 1, codes.shape[1]), codes.max() + 1)
    hi = np.full(lo.shape, -1)
    np.minimum.at(lo, class_of, codes)
    np.maximum.at(hi, class_of, codes)
    return Proposal(proposal.table, class_of, (lo, hi), proposal.nodes)
