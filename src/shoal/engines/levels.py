"""Strict Mondrian with more distinct rows than memory holds: only the top of the tree is there.

It asks for counts, node by node and level by level, and decides upon them as the search in memory would. Once
a node is small enough, it is partitioned with the same kernel. So the classes are those of the search in
memory, wherever the rows are: on disk, or in any number of partitions on executors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS
from shoal.algorithms.sampled_cuts import SHARE, whole_nodes
from shoal.codespace.loss import LOSSES
from shoal.engines.level_workers import (
    TUPLES,
    VALUE,
    WEIGHT,
    CutSettings,
    LeafCounter,
    LeafSampler,
    MarginCounter,
    RowLayout,
    SampleCutter,
    compute_strides,
    with_values,
)
from shoal.errors import RecipeError
from shoal.kernels.cut_workspace import Cut, WeightedRows
from shoal.kernels.margins import decide_cut
from shoal.kernels.sampled_cuts import CutTree
from shoal.privacy import model_text
from shoal.recipes.recipe import Recipe
from shoal.support.parameters import name_of
from shoal.support.progress import Progress

_LEAF = (-1, 0, 0, 0)


class CountedRows(Protocol):
    """Counted rows as `level_workers` says, wherever they are; what comes of them is small."""

    def count_leaves(self, work: LeafCounter) -> pl.DataFrame:
        """Counts of all rows, added up."""

    def cut_samples(self, sample: LeafSampler, cut: SampleCutter) -> pl.DataFrame:
        """The cuts of some nodes, each by the sample of its rows."""

    def count_margins(self, work: MarginCounter) -> pl.DataFrame:
        """Margins of all rows, put together."""


@dataclass(slots=True)
class Leaf:
    """A node that has not been cut so far."""

    tuples: int
    """Number of weighted rows."""
    lies: Counter[int] | None = None
    """How many of them lie in each partition, where that is known."""
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
    """Counts that were asked for."""
    finished: int = 0
    """Nodes that were small enough to be partitioned whole."""

    @property
    def nodes(self) -> int:
        """Nodes that the driver looked at."""
        return self.samples + self.margins


@dataclass(slots=True, eq=False)
class LevelwisePartition:
    """A partition in the making."""

    rows: CountedRows
    layout: RowLayout
    goal: CutSettings
    most: int
    """Weighted rows that are partitioned at once."""
    trace: LevelTrace = field(default_factory=LevelTrace)
    _cuts: list[tuple[int, int, int, int]] = field(default_factory=lambda: [(-1, 0, 0, 0)])
    _open: dict[int, Leaf] = field(default_factory=dict)
    closed: dict[int, list[list[int]]] = field(default_factory=dict)
    """Nodes that are too large and cannot be cut: the codes there, axis by axis."""

    def cut_large_nodes(self, on_progress: Progress) -> None:
        """Cut until every node is small enough, or cannot be cut."""
        lies = _count_by_partition(self._count_leaves(0))[0]
        self._open[0] = Leaf(lies.total(), lies)
        # A round is a few passes over the rows, however many nodes it is about.
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

    def build_tree(self) -> CutTree:
        """All cuts so far."""
        return CutTree(*np.array(self._cuts, np.int64).T.copy())

    def _count_leaves(self, first: int) -> pl.DataFrame:
        """Counts of the leaves from ``first`` on."""
        return self._note_entries(self.rows.count_leaves(LeafCounter(self.layout, self.build_tree(), first)))

    def _note_entries(self, found: pl.DataFrame) -> pl.DataFrame:
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
        """Cuts of large nodes by samples of their rows."""
        self.trace.samples += len(nodes)
        size = {node: self._open[node].tuples for node in nodes}
        if unknown := [node for node in nodes if self._open[node].lies is None]:
            lies = _count_by_partition(self._count_leaves(min(unknown)))
            for node in unknown:
                self._open[node].lies = lies[node]
        cuts = self.build_tree()
        # Every n-th weighted row over all partitions: their sizes must be known beforehand.
        sample = LeafSampler(self.layout, cuts, self._count_earlier_rows(nodes), compute_strides(size))
        cut = SampleCutter(self.layout, self.goal, size)
        # Nodes come in any order, and cuts refer to each other by position.
        found = self._note_entries(self.rows.cut_samples(sample, cut)).sort("node", "at", maintain_order=True)
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
        margins = MarginCounter(self.layout, self.build_tree(), list(nodes))
        found = self._note_entries(self.rows.count_margins(margins))
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
                self.closed[int(node)] = (
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

    @property
    def sizes(self) -> dict[int, int]:
        """The nodes that are small enough to be partitioned whole, and how many weighted rows each has."""
        return {node: leaf.tuples for node, leaf in self._open.items()}


def _count_by_partition(counts: pl.DataFrame) -> dict[int, Counter[int]]:
    """By node, the number of weighted rows in each partition."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    tuples = counts.filter(pl.col("what") == TUPLES)
    for node, part, number in tuples.select("node", "value", "n").iter_rows():
        found[node][part] = number
    return found


def check_distributable(recipe: Recipe, why: str) -> None:
    """Refuse what takes all distinct rows in one place; ``why`` says why they are not there."""
    name = None
    if recipe.algorithm.needs_all_rows:
        which = name_of(ALGORITHMS, recipe.algorithm)
        name = f"{which} has to see them all; mondrian with cut=nearest or greedy has not"
    elif recipe.render not in ("label", "interval"):
        name = f"render '{recipe.render}' has to see them all; label and interval have not"
    elif not LOSSES[recipe.loss].by_cells:
        name = f"the loss {recipe.loss} has to see them all; others have not"
    elif unknown := [model for model in recipe.models if not model.known_to_search]:
        name = f"the model {model_text(unknown[0])} has to see them all, because no search knows its rule"
    if name is not None:
        raise RecipeError(f"{why}, and {name}")
