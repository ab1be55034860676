"""Strict Mondrian with more different rows than the driver holds: it keeps the top of the tree only.

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

from shoal.algorithms.spreading import SHARE, whole_nodes
from shoal.engines.spark.workers import (
    TUPLES,
    VALUE,
    WEIGHT,
    CutSample,
    Finish,
    Goal,
    InNode,
    Layout,
    Margins,
    Sample,
    Tally,
    cell_columns,
    cell_schema,
    steps,
    with_values,
)
from shoal.kernels.margins import decide
from shoal.kernels.partition import Cut, Rows
from shoal.kernels.spread import Cuts
from shoal.progress import Progress

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
class Trace:
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
class Levels:
    """A partition in the making."""

    counted: Any
    """Spark frame of counted rows, as `workers` says."""
    layout: Layout
    goal: Goal
    most: int
    """Weighted rows that an executor takes at once."""
    tasks: int
    """How many tasks the work of executors is divided into."""
    trace: Trace = field(default_factory=Trace)
    _cuts: list[tuple[int, int, int, int]] = field(default_factory=lambda: [(-1, 0, 0, 0)])
    _open: dict[int, Leaf] = field(default_factory=dict)
    _closed: dict[int, list[list[int]]] = field(default_factory=dict)
    """Nodes that are too large for an executor and cannot be cut: the codes there, axis by axis."""

    def grow(self, on_progress: Progress) -> None:
        """Cut until every node is small enough, or cannot be cut."""
        lies = _lying(self._tally(0))[0]
        self._open[0] = Leaf(lies.total(), lies)
        while large := [node for node, leaf in self._open.items() if leaf.tuples > self.most]:
            done = 1 - sum(self._open[node].tuples for node in large) / self._whole()
            on_progress(f"cutting, level {self.trace.rounds + 1}", max(done, 0.0))
            self._level(large)
            self.trace.rounds += 1

    def _whole(self) -> int:
        return max(sum(leaf.tuples for leaf in self._open.values()), 1)

    def _level(self, large: Sequence[int]) -> None:
        """Cut some nodes, each once, or many times by a sample."""
        wide = [node for node in large if self._open[node].tuples > SHARE and not self._open[node].plain]
        first = len(self._cuts)
        trees = self._sampled(wide) if wide else {}
        for node in large:
            if node in trees:
                self._graft(node, trees[node])
        if trees:
            counts = self._tally(first)
            weight, histogram = self._sums(counts, len(self._cuts))
            lies = _lying(counts)
            for node, tree in trees.items():
                self._keep(node, tree, weight, histogram, lies)
        for node, cut, inside in list(self._by_margins([node for node in large if node not in trees])):
            self._graft(node, Cuts(*np.array([(cut.axis, cut.lo, cut.hi, 1), _LEAF, _LEAF], np.int64).T))
            left, whole = self._cuts[node][3], self._open.pop(node).tuples
            self._open |= {left: Leaf(inside), left + 1: Leaf(whole - inside)}

    def _graft(self, node: int, tree: Cuts) -> None:
        """Put a tree in the place of a leaf; its nodes come after those there are."""
        shift = len(self._cuts) - 1
        columns = [column.tolist() for column in tree]
        moved = [
            (axis, lo, hi, left + shift if axis >= 0 else 0)
            for axis, lo, hi, left in zip(*columns, strict=True)
        ]
        self._cuts[node] = moved[0]
        self._cuts += moved[1:]

    def _keep(
        self,
        node: int,
        tree: Cuts,
        weight: NDArray[np.int64],
        histogram: NDArray[np.int64],
        lies: dict[int, Counter[int]],
    ) -> None:
        """Take back the cuts of a sample that break a rule."""
        shift = self._cuts[node][3] - 1 if tree.axis[0] >= 0 else 0
        here = np.append(node, np.arange(1, tree.axis.size) + shift)
        whole = whole_nodes(tree, self.goal.rules, weight[here], histogram[here])
        leaf = self._open.pop(node)
        if whole[0]:
            self._cuts[node] = _LEAF
            self._open[node] = replace(leaf, plain=True)
            return
        inside = [lies.get(int(at), Counter()) for at in here]
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

    def _tree(self) -> Cuts:
        return Cuts(*np.array(self._cuts, np.int64).T.copy())

    def _tally(self, first: int) -> pl.DataFrame:
        """Counts of the leaves from ``first`` on."""
        work = Tally(self.layout, self._tree(), first)
        frame = self.counted.mapInArrow(work.__call__, work.schema)
        return self._fetched(
            frame.groupBy("node", "what", "value").agg({"n": "sum"}).toDF("node", "what", "value", "n")
        )

    def _fetched(self, frame: Any) -> pl.DataFrame:
        found = pl.DataFrame(frame.toArrow())
        self.trace.entries += found.height
        return found

    def _sums(self, counts: pl.DataFrame, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Weight and sensitive values by node."""
        weight = np.zeros(nodes, np.int64)
        weighed = counts.filter(pl.col("what") == WEIGHT)
        weight[weighed["node"].to_numpy()] = weighed["n"].to_numpy()
        histogram = np.zeros((nodes, self.goal.rules.values), np.int64)
        if self.goal.rules.values:
            values = counts.filter(pl.col("what") == VALUE)
            histogram[values["node"].to_numpy(), values["value"].to_numpy()] = values["n"].to_numpy()
        return weight, histogram

    def _sampled(self, nodes: Sequence[int]) -> dict[int, Cuts]:
        """Cuts of large nodes by samples of their rows, found by executors."""
        self.trace.samples += len(nodes)
        size = {node: self._open[node].tuples for node in nodes}
        if unknown := [node for node in nodes if self._open[node].lies is None]:
            lies = _lying(self._tally(min(unknown)))
            for node in unknown:
                self._open[node].lies = lies[node]
        cuts = self._tree()
        sample = Sample(self.layout, cuts, self._before(nodes), steps(size))
        cut = CutSample(self.layout, self.goal, size)
        rows = self.counted.mapInArrow(sample.__call__, sample.schema)
        found = self._fetched(rows.groupBy("node").applyInArrow(_taking(cut), cut.schema)).sort("node", "at")
        parts = found.partition_by("node", as_dict=True, maintain_order=True)
        return {
            int(node): Cuts(*(part[name].to_numpy().astype(np.int64) for name in Cuts._fields))
            for (node,), part in parts.items()
        }

    def _before(self, nodes: Sequence[int]) -> dict[tuple[int, int], int]:
        """By node and partition, how many weighted rows of the node lie in earlier partitions."""
        found = {}
        for node in nodes:
            so_far = 0
            for part, number in sorted((self._open[node].lies or Counter()).items()):
                found[node, part] = so_far
                so_far += number
        return found

    def _by_margins(self, nodes: Sequence[int]) -> Iterator[tuple[int, Cut, int]]:
        """The cuts of nodes, decided upon by their margins, and how many weighted rows go left.

        Nodes that have none are closed.
        """
        if not nodes:
            return
        self.trace.margins += len(nodes)
        margins = Margins(self.layout, self._tree(), list(nodes))
        rows = self.counted.mapInArrow(margins.__call__, margins.schema)
        merged = {name: "min" if name.startswith("lo") else "max" for name in margins.corners}
        how = {"n": "sum", "tuples": "sum", **merged}
        key = ["node", "axis", "code", "value"]
        named = rows.groupBy(*key).agg(how).select(*key, *(f"`{by}({name})`" for name, by in how.items()))
        found = self._fetched(named.toDF(*key, *how))
        for (node,), part in found.partition_by("node", as_dict=True).items():
            cut = self._decided(part.sort("axis", "code", "value"), self._open[node].tuples, margins.corners)
            if cut.axis >= 0:
                left = (pl.col("axis") == cut.axis) & pl.col("code").is_between(cut.lo, cut.hi)
                yield int(node), cut, int(part.filter(left & (pl.col("value") < 0))["tuples"].sum())
            else:
                del self._open[node]
                here = part.filter(pl.col("value") < 0).sort("axis", "code")
                self._closed[int(node)] = (
                    here.group_by("axis", maintain_order=True).agg("code")["code"].to_list()
                )

    def _decided(self, margins: pl.DataFrame, tuples: int, corners: Sequence[str]) -> Cut:
        """The cut of one node."""
        d = len(corners) // 2
        weighed = margins.filter(pl.col("value") < 0)
        axis = weighed["axis"].to_numpy()
        boxes = weighed.select(corners).to_numpy().reshape(-1, 2, d)  # the corners of a box follow each other
        kind = np.uint16 if max(self.layout.packing.sizes) <= 1 << 16 else np.uint32
        weight = np.stack([weighed["n"].to_numpy(), np.zeros(weighed.height, np.int64)], axis=1).ravel()
        rows = Rows(boxes.reshape(-1, d).astype(kind), weight, np.arange(weight.size))
        ends = 2 * np.searchsorted(axis, np.arange(d + 1))
        rules = self.goal.rules
        if rules.values:
            values = margins.filter(pl.col("value") >= 0)
            place = weighed.select("axis", "code").with_row_index("at")
            at = values.join(place, on=["axis", "code"], how="left", maintain_order="left")["at"].to_numpy()
            start = np.searchsorted(2 * at, np.arange(weight.size + 1))
            rules = with_values(
                rules, start, values["value"].to_numpy().astype(np.int32), values["n"].to_numpy()
            )
        total = int(weight[: ends[1]].sum())
        return decide(rows, ends, tuples, total, self.goal.axes, rules, self.goal.how)

    def cells(self, flat: tuple[bool, ...]) -> Any:
        """Spark frame of weighted rows with the cells of their classes, as `workers.Finish` says."""
        from pyspark.sql import functions as f  # noqa: PLC0415

        tree, schema = self._tree(), cell_schema(self.layout)
        where = InNode(self.layout, tree)
        rows = self.counted.mapInArrow(where.__call__, where.schema)
        finish = Finish(self.layout, self.goal, flat)
        self.trace.finished = len(self._open)
        closed = f.col("node").isin(list(self._closed))
        # So many tasks, and not as many as Spark finds right for the bytes: the work is in the kernel.
        spread = rows.where(~closed).repartition(self.tasks, "node")
        frame = spread.groupBy("node").applyInArrow(_taking(finish), schema)
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


def _taking(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A plain function: of a method Spark would count the object among its parameters."""

    def of_table(table: Any) -> Any:
        return work(table)

    return of_table


def _lying(counts: pl.DataFrame) -> dict[int, Counter[int]]:
    """By node, the number of weighted rows in each partition."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    tuples = counts.filter(pl.col("what") == TUPLES)
    for node, part, number in tuples.select("node", "value", "n").iter_rows():
        found[node][part] = number
    return found
