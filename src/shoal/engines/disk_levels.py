"""Strict Mondrian of distinct rows that do not fit into memory: they lie in a file, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms import Problem, Progress
from shoal.algorithms.mondrian import CUTS, partition_rows
from shoal.codespace.frequency import FrequencyTable, Histograms, SortedRows
from shoal.codespace.recoding import Proposal
from shoal.engines.level_workers import (
    CutSettings,
    LeafCounter,
    LeafSampler,
    MarginCounter,
    NodeWalk,
    RowLayout,
    SampleCutter,
    with_values,
)
from shoal.engines.levels import LevelwisePartition
from shoal.recipes.recipe import Recipe
from shoal.table.formats import import_optional

_LEAVES = {"node": pl.Int32, "what": pl.Int32, "value": pl.Int64, "n": pl.Int64}


@dataclass(frozen=True, slots=True, eq=False)
class DiskRows:
    """Counted rows as `shoal.engines.level_workers` says: a single partition, in a file of Arrow."""

    path: Path
    layout: RowLayout
    distinct: int
    """How many weighted rows they are, sensitive values not told apart."""
    most: int
    """How many of these can be searched in memory at once."""

    def write_rows(self, batches: Iterable[Any], schema: Any) -> None:
        """Fill the file with rows in lexicographic order."""
        pyarrow = import_optional("pyarrow", "shoal[scale]")
        with pyarrow.OSFile(str(self.path), "wb") as file, pyarrow.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def iterate_batches(self) -> Iterator[Any]:
        """Yield all rows in their order."""
        pyarrow = import_optional("pyarrow", "shoal[scale]")
        with pyarrow.OSFile(str(self.path), "rb") as file, pyarrow.ipc.open_stream(file) as reader:
            for batch in reader:
                yield batch.append_column("part", pyarrow.array(np.zeros(batch.num_rows, np.int32)))

    def count_leaves(self, work: LeafCounter) -> pl.DataFrame:
        """Counts of all rows, added up."""
        found = [*work(self.iterate_batches())]
        # Where no sample had a cut to make there are no new leaves, and so nothing to count.
        return _concat(found) if found else pl.DataFrame(schema=_LEAVES)

    def cut_samples(self, sample: LeafSampler, cut: SampleCutter) -> pl.DataFrame:
        """The cuts of some nodes, each by the sample of its rows."""
        rows = _concat(sample(self.iterate_batches()))
        return _concat(cut(part.to_arrow()) for part in rows.partition_by("node", maintain_order=True))

    def count_margins(self, work: MarginCounter) -> pl.DataFrame:
        """Margins of all rows, put together."""
        return _concat(work(self.iterate_batches()))


def _concat(batches: Iterable[Any]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in batches])


def search_on_disk(recipe: Recipe, problem: Problem, rows: DiskRows, on_progress: Progress) -> Proposal:
    """The top of the tree by passes over the file; then the nodes, as many at once as memory holds.

    The rows of ``problem`` have the true number of every value, and tell nothing else.
    """
    problem.refuse_negative_weights("mondrian")
    trees = any(domain.kind == "tree" for domain in problem.domains)
    cut = recipe.algorithm.choose_cut(lambda: rows.distinct, trees)
    goal = CutSettings.from_rules(problem.build_axes(), problem.build_rules(problem.table), CUTS[cut])
    levels = LevelwisePartition(rows, rows.layout, goal, rows.most)
    levels.cut_large_nodes(on_progress)
    finish = _NodeFinisher(rows, levels, goal)
    finish.find_classes(on_progress)
    note = (
        f"searched level by level, by mondrian(cut={cut}), because {rows.distinct:,} distinct rows are more "
        f"than the {rows.most:,} that memory holds with all that a search knows of them; "
        f"{levels.trace.rounds} levels, {levels.trace.finished:,} parts"
    )
    first = (0, *np.cumsum(rows.layout.sensitive_sizes).tolist())
    nothing = Histograms(first, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
    table = FrequencyTable(finish.codes, finish.weight, np.empty(0, np.int32), nothing)
    return Proposal(table, finish.class_of, nodes=levels.trace.nodes, notes=(note,))


class _NodeFinisher:
    """Partitions the nodes of a tree down to classes, group after group of them."""

    def __init__(self, rows: DiskRows, levels: LevelwisePartition, goal: CutSettings) -> None:
        self.rows, self.levels, self.goal = rows, levels, goal
        sizes = rows.layout.packing.sizes
        dtype = np.uint16 if max(sizes) <= 1 << 16 else np.uint32
        self.codes = np.empty((rows.distinct, len(sizes)), dtype)
        self.weight = np.zeros(rows.distinct, np.int64)
        self.class_of = np.empty(rows.distinct, np.int32)
        self._classes = 0

    def find_classes(self, on_progress: Progress) -> None:
        """Give every weighted row its class."""
        groups = [*_group_nodes(self.levels.sizes, self.rows.most)] or [()]
        # A closed node is one class, however large: its rows need not be together.
        closed = dict.fromkeys(self.levels.closed, 0)
        for node in closed:
            closed[node] = self._number_classes(1)
        for at, group in enumerate(groups):
            on_progress("partitioning", at / len(groups))
            entries = self._collect_entries(group, closed, fill=at == 0)
            for part in entries.partition_by("node"):
                self._partition_node(part)
            self.levels.trace.finished += len(group)

    def _number_classes(self, more: int) -> int:
        self._classes += more
        return self._classes - more

    def _collect_entries(
        self, group: tuple[int, ...], closed: Mapping[int, int], *, fill: bool
    ) -> pl.DataFrame:
        """The rows of some nodes, with the places of their weighted rows; ``fill`` notes all codes."""
        before = 0
        wanted = pl.Series(group, dtype=pl.Int32).implode()
        found = [pl.DataFrame(schema={"node": pl.Int32, "place": pl.Int32})]
        for frame, codes in NodeWalk(self.rows.layout, self.levels.build_tree())(self.rows.iterate_batches()):
            new = frame["new"].to_numpy()
            place = before - 1 + np.cumsum(new)
            before = int(place[-1]) + 1
            if fill:
                self.codes[place[new]] = codes[new]
                # A place may occur several times, with other sensitive values.
                np.add.at(self.weight, place, frame["n"].to_numpy())
                for node, number in closed.items():
                    self.class_of[place[(frame["node"] == node).to_numpy()]] = number
            rows = frame.select("node", pl.Series("place", place.astype(np.int32)), *self._columns)
            found.append(rows.filter(rows["node"].is_in(wanted)))
        return pl.concat(found[1:] if len(found) > 1 else found)

    @property
    def _columns(self) -> list[str]:
        return [*self.rows.layout.values, "n"]

    def _partition_node(self, entries: pl.DataFrame) -> None:
        """Number the classes of one node, of which these are all rows."""
        layout = self.rows.layout
        place = entries["place"].to_numpy()
        new = np.diff(place, prepend=-1) > 0
        here = place[new]
        table = SortedRows.from_entries(
            self.codes[here],
            (np.cumsum(new) - 1).astype(np.int32),
            layout.packing.sizes,
            tuple(entries[name].to_numpy().astype(np.uint32) for name in layout.values),
            layout.sensitive_sizes,
            entries["n"].to_numpy().astype(np.int64),
        ).collapse_rows()
        known = table.histograms
        rules = with_values(self.goal.rules, known.start, known.value, known.count)
        class_of, _ = partition_rows(self.goal.axes, rules, table, self.goal.how)
        self.class_of[here] = class_of + self._number_classes(int(class_of.max()) + 1)


def _group_nodes(sizes: Mapping[int, int], most: int) -> Iterator[tuple[int, ...]]:
    """Nodes put together so that those of a group have ``most`` weighted rows at most, or are one node."""
    group: list[int] = []
    rows = 0
    for node, size in sorted(sizes.items()):
        if group and rows + size > most:
            yield tuple(group)
            group, rows = [], 0
        group.append(node)
        rows += size
    if group:
        yield tuple(group)
