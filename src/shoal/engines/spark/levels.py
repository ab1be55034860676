"""Strict Mondrian with more distinct rows than the driver holds: it keeps the top of the tree only.

It asks for counts, node by node and level by level, and decides upon them as the search in memory would. Once
a node is small enough for one executor, that partitions it with the same kernel. So the classes are those of
the search in memory, whatever the number of partitions and executors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.sampled_cuts import SHARE, whole_nodes
from shoal.engines.spark.session import load_functions
from shoal.engines.spark.workers import (
    TUPLES,
    VALUE,
    WEIGHT,
    CutSettings,
    LeafCounter,
    LeafFinder,
    LeafSampler,
    MarginCounter,
    NodePartitioner,
    RowLayout,
    SampleCutter,
    cell_columns,
    cell_schema,
    compute_strides,
    with_values,
)
from shoal.kernels.cut_workspace import Cut, WeightedRows
from shoal.kernels.margins import decide_cut
from shoal.kernels.sampled_cuts import CutTree
from shoal.support.progress import Progress

_LEAF = (-1, 0, 0, 0)


@dataclass(slots=True)
class Leaf:
    """A node that has not been cut so far."""

    tuples: int
    """Number of weighted rows."""
    lies: Counter[int] | None = None
    """How many of them lie in each partition of Spark, where that is known."""
    plain: bool = False
    """Whether no sample tells how to cut it."""


@dataclass(slots=True)
class LevelTrace:
    """What was done level by level."""

    rounds: int = 0
    samples: int = 0
    """Nodes that were cut many times, by a sample."""
    margins: int = 0
    """Nodes that were decided upon by their margins."""
    entries: int = 0
    """Counts that came to the driver."""
    finished: int = 0
    """Nodes that executors finished."""

    @property
    def nodes(self) -> int:
        """Nodes that the driver looked at."""
        return self.samples + self.margins


@dataclass(slots=True, eq=False)
class LevelwisePartition:
    """A partition in the making."""

    counted: Any
    """Spark frame of counted rows, as `workers` says."""
    layout: RowLayout
    goal: CutSettings
    most: int
    """Weighted rows that an executor takes at once."""
    tasks: int
    """How many tasks the work of executors is divided into."""
    trace: LevelTrace = field(default_factory=LevelTrace)
    _cuts: list[tuple[int, int, int, int]] = field(default_factory=lambda: [(-1, 0, 0, 0)])
    _open: dict[int, Leaf] = field(default_factory=dict)
    _closed: dict[int, list[list[int]]] = field(default_factory=dict)
    """Nodes that are too large for an executor and cannot be cut: the codes there, axis by axis."""

    def cut_large_nodes(self, on_progress: Progress) -> None:
        """Cut until every node is small enough, or cannot be cut."""
        lies = _count_by_partition(self._count_leaves(0))[0]
        self._open[0] = Leaf(lies.total(), lies)
        # A round is a few jobs of Spark, however many nodes it is about.
        while large := [node for node, leaf in self._open.items() if leaf.tuples > self.most]:
            done = 1 - sum(self._open[node].tuples for node in large) / self._count_tuples()
            on_progress(f"cutting, level {self.trace.rounds + 1}", max(done, 0.0))
            self._cut_level(large)
            self.trace.rounds += 1

    def _count_tuples(self) -> int:
        return max(sum(leaf.tuples for leaf in self._open.values()), 1)

    def _cut_level(self, large: Sequence[int]) -> None:
        """Cut some nodes, each once, or many times by a sample."""
        # The search in memory cuts nodes above SHARE by a sample; here it must be the same.
        wide = [node for node in large if self._open[node].tuples > SHARE and not self._open[node].plain]
        first = len(self._cuts)
        trees = self._cut_by_samples(wide) if wide else {}
        # In this order, so that numbers of new nodes do not depend on who answers first.
        for node in large:
            if node in trees:
                self._insert_tree(node, trees[node])
        if trees:
            counts = self._count_leaves(first)
            weight, histogram = self._sum_by_node(counts, len(self._cuts))
            lies = _count_by_partition(counts)
            for node, tree in trees.items():
                # A sample says where to cut; the rules are checked on counts of all rows.
                self._undo_violating_cuts(node, tree, weight, histogram, lies)
        for node, cut, inside in list(self._cut_by_margins([node for node in large if node not in trees])):
            self._insert_tree(
                node, CutTree(*np.array([(cut.axis, cut.lo, cut.hi, 1), _LEAF, _LEAF], np.int64).T)
            )
            left, whole = self._cuts[node][3], self._open.pop(node).tuples
            self._open |= {left: Leaf(inside), left + 1: Leaf(whole - inside)}

    def _insert_tree(self, node: int, tree: CutTree) -> None:
        """Put a tree in the place of a leaf; its nodes come after those there are."""
        # The root of the tree takes the place of the leaf, so all others move by one less.
        shift = len(self._cuts) - 1
        columns = [column.tolist() for column in tree]
        moved = [
            (axis, lo, hi, left + shift if axis >= 0 else 0)
            for axis, lo, hi, left in zip(*columns, strict=True)
        ]
        self._cuts[node] = moved[0]
        self._cuts += moved[1:]

    def _undo_violating_cuts(
        self,
        node: int,
        tree: CutTree,
        weight: NDArray[np.int64],
        histogram: NDArray[np.int64],
        lies: dict[int, Counter[int]],
    ) -> None:
        """Take back the cuts of a sample that break a rule."""
        shift = self._cuts[node][3] - 1 if tree.axis[0] >= 0 else 0
        here = np.append(node, np.arange(1, tree.axis.size) + shift)
        whole = whole_nodes(tree, self.goal.rules, weight[here], histogram[here])
        leaf = self._open.pop(node)
        # Not even the first cut holds: next time the node is decided upon by exact margins.
        if whole[0]:
            self._cuts[node] = _LEAF
            self._open[node] = replace(leaf, plain=True)
            return
        inside = [lies.get(int(at), Counter()) for at in here]
        # Children come after their parents, so backwards every sum is complete when it is used.
        for at in np.flatnonzero(tree.axis >= 0)[::-1]:
            inside[at] = inside[tree.left[at]] + inside[tree.left[at] + 1]
        todo = [0]
        while todo:
            at = todo.pop()
            if whole[at]:
                self._cuts[here[at]] = _LEAF
                self._open[int(here[at])] = Leaf(inside[at].total(), inside[at])
            else:
                todo += [int(tree.left[at]), int(tree.left[at]) + 1]

    def _build_tree(self) -> CutTree:
        return CutTree(*np.array(self._cuts, np.int64).T.copy())

    def _count_leaves(self, first: int) -> pl.DataFrame:
        """Counts of the leaves from ``first`` on."""
        work = LeafCounter(self.layout, self._build_tree(), first)
        frame = self.counted.mapInArrow(work.__call__, work.schema)
        return self._fetch_counts(
            frame.groupBy("node", "what", "value").agg({"n": "sum"}).toDF("node", "what", "value", "n")
        )

    def _fetch_counts(self, frame: Any) -> pl.DataFrame:
        found = pl.DataFrame(frame.toArrow())
        self.trace.entries += found.height
        return found

    def _sum_by_node(self, counts: pl.DataFrame, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Weight and sensitive values by node."""
        weight = np.zeros(nodes, np.int64)
        weighed = counts.filter(pl.col("what") == WEIGHT)
        weight[weighed["node"].to_numpy()] = weighed["n"].to_numpy()
        # Empty unless a model looks at sensitive values.
        histogram = np.zeros((nodes, self.goal.rules.values), np.int64)
        if self.goal.rules.values:
            values = counts.filter(pl.col("what") == VALUE)
            histogram[values["node"].to_numpy(), values["value"].to_numpy()] = values["n"].to_numpy()
        return weight, histogram

    def _cut_by_samples(self, nodes: Sequence[int]) -> dict[int, CutTree]:
        """Cuts of large nodes by samples of their rows, found by executors."""
        self.trace.samples += len(nodes)
        size = {node: self._open[node].tuples for node in nodes}
        if unknown := [node for node in nodes if self._open[node].lies is None]:
            lies = _count_by_partition(self._count_leaves(min(unknown)))
            for node in unknown:
                self._open[node].lies = lies[node]
        cuts = self._build_tree()
        # Every n-th weighted row over all partitions: their sizes must be known beforehand.
        sample = LeafSampler(self.layout, cuts, self._count_earlier_rows(nodes), compute_strides(size))
        cut = SampleCutter(self.layout, self.goal, size)
        rows = self.counted.mapInArrow(sample.__call__, sample.schema)
        found = self._fetch_counts(rows.groupBy("node").applyInArrow(_wrap_worker(cut), cut.schema))
        # Spark returns groups in any order, and cuts refer to each other by position.
        found = found.sort("node", "at", maintain_order=True)
        parts = found.partition_by("node", as_dict=True, maintain_order=True)
        return {
            int(node): CutTree(*(part[name].to_numpy().astype(np.int64) for name in CutTree._fields))
            for (node,), part in parts.items()
        }

    def _count_earlier_rows(self, nodes: Sequence[int]) -> dict[tuple[int, int], int]:
        """By node and partition, how many weighted rows of the node lie in earlier partitions."""
        found = {}
        for node in nodes:
            so_far = 0
            # Partitions are ranges of the keys, so their numbers follow lexicographic order.
            for part, number in sorted((self._open[node].lies or Counter()).items()):
                found[node, part] = so_far
                so_far += number
        return found

    def _cut_by_margins(self, nodes: Sequence[int]) -> Iterator[tuple[int, Cut, int]]:
        """The cuts of nodes, decided upon by their margins, and how many weighted rows go left.

        Nodes that have none are closed.
        """
        if not nodes:
            return
        self.trace.margins += len(nodes)
        margins = MarginCounter(self.layout, self._build_tree(), list(nodes))
        rows = self.counted.mapInArrow(margins.__call__, margins.schema)
        merged = {name: "min" if name.startswith("lo") else "max" for name in margins.corners}
        how = {"n": "sum", "tuples": "sum", **merged}
        key = ["node", "axis", "code", "value"]
        # Spark names aggregates itself, as in `sum(n)`, and in an order of its own.
        named = rows.groupBy(*key).agg(how).select(*key, *(f"`{by}({name})`" for name, by in how.items()))
        found = self._fetch_counts(named.toDF(*key, *how))
        for (node,), part in found.partition_by("node", as_dict=True).items():
            ordered = part.sort("axis", "code", "value", maintain_order=True)
            cut = self._decide_cut(ordered, self._open[node].tuples, margins.corners)
            if cut.axis >= 0:
                # Margins tell as well how many weighted rows go left: no second job.
                left = (pl.col("axis") == cut.axis) & pl.col("code").is_between(cut.lo, cut.hi)
                yield int(node), cut, int(part.filter(left & (pl.col("value") < 0))["tuples"].sum())
            else:
                del self._open[node]
                here = part.filter(pl.col("value") < 0).sort("axis", "code", maintain_order=True)
                self._closed[int(node)] = (
                    here.group_by("axis", maintain_order=True).agg("code")["code"].to_list()
                )

    def _decide_cut(self, margins: pl.DataFrame, tuples: int, corners: Sequence[str]) -> Cut:
        """The cut of one node."""
        d = len(corners) // 2
        weighed = margins.filter(pl.col("value") < 0)
        axis = weighed["axis"].to_numpy()
        boxes = weighed.select(corners).to_numpy().reshape(-1, 2, d)  # the corners of a box follow each other
        kind = np.uint16 if max(self.layout.packing.sizes) <= 1 << 16 else np.uint32
        # Two rows per code, the corners of its box; the weight is on the first, or it counts twice.
        weight = np.stack([weighed["n"].to_numpy(), np.zeros(weighed.height, np.int64)], axis=1).ravel()
        rows = WeightedRows(boxes.reshape(-1, d).astype(kind), weight, np.arange(weight.size))
        ends = 2 * np.searchsorted(axis, np.arange(d + 1))
        rules = self.goal.rules
        if rules.values:
            values = margins.filter(pl.col("value") >= 0)
            place = weighed.select("axis", "code").with_row_index("at")
            at = values.join(place, on=["axis", "code"], how="left", maintain_order="left")["at"].to_numpy()
            start = np.searchsorted(2 * at, np.arange(weight.size + 1))
            value, times = values["value"].to_numpy(), values["n"].to_numpy()
            # Copies: for arrays of polars, which cannot be written, the kernel would be compiled anew.
            rules = with_values(rules, start, value.astype(np.int32), times.astype(np.int64))
        total = int(weight[: ends[1]].sum())
        return decide_cut(rows, ends, tuples, total, self.goal.axes, rules, self.goal.how)

    def build_cells(self, flat: tuple[bool, ...]) -> Any:
        """Spark frame of weighted rows with the cells of their classes, as `workers.Finish` says."""
        f = load_functions()

        tree, schema = self._build_tree(), cell_schema(self.layout)
        where = LeafFinder(self.layout, tree)
        rows = self.counted.mapInArrow(where.__call__, where.schema)
        finish = NodePartitioner(self.layout, self.goal, flat)
        self.trace.finished = len(self._open)
        # A closed node is one class, however large: nothing is left to partition.
        closed = f.col("node").isin(list(self._closed))
        # So many tasks, and not as many as Spark finds right for the bytes: the work is in the kernel.
        spread = rows.where(~closed).repartition(self.tasks, "node")
        frame = spread.groupBy("node").applyInArrow(_wrap_worker(finish), schema)
        for node, codes in self._closed.items():
            cells = [
                f.array(*(f.lit(code).cast("int") for code in (each if one else (each[0], each[-1])))).alias(
                    name
                )
                for name, each, one in zip(cell_columns(self.layout), codes, flat, strict=True)
            ]
            whole = rows.where(f.col("node") == node).groupBy(*self.layout.words).agg(f.sum("n").alias("n"))
            frame = frame.unionByName(whole.select(*self.layout.words, *cells, "n"))
        return frame


def _wrap_worker(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A plain function: of a method Spark would count the object among its parameters."""

    def of_table(table: Any) -> Any:
        return work(table)

    return of_table


def _count_by_partition(counts: pl.DataFrame) -> dict[int, Counter[int]]:
    """By node, the number of weighted rows in each partition."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    tuples = counts.filter(pl.col("what") == TUPLES)
    for node, part, number in tuples.select("node", "value", "n").iter_rows():
        found[node][part] = number
    return found
