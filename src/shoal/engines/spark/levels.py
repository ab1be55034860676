"""Counted rows on a cluster: executors count them, cut samples of them, and finish the nodes of a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.engines.level_workers import (
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
)
from shoal.engines.levels import LevelwisePartition
from shoal.engines.spark.session import load_functions


@dataclass(frozen=True, slots=True, eq=False)
class SparkRows:
    """Counted rows as `shoal.engines.level_workers` says, in partitions of Spark."""

    frame: Any
    """Spark frame."""

    def count_leaves(self, work: LeafCounter) -> pl.DataFrame:
        """Counts of all rows, added up."""
        found = self.frame.mapInArrow(work.__call__, work.schema)
        key = ["node", "what", "value"]
        return _fetch(found.groupBy(*key).agg({"n": "sum"}).toDF(*key, "n"))

    def cut_samples(self, sample: LeafSampler, cut: SampleCutter) -> pl.DataFrame:
        """The cuts of some nodes, each by an executor that has the sample of its rows."""
        rows = self.frame.mapInArrow(sample.__call__, sample.schema)
        return _fetch(rows.groupBy("node").applyInArrow(_wrap_worker(cut), cut.schema))

    def count_margins(self, work: MarginCounter) -> pl.DataFrame:
        """Margins of all rows, put together."""
        rows = self.frame.mapInArrow(work.__call__, work.schema)
        merged = {name: "min" if name.startswith("lo") else "max" for name in work.corners}
        how = {"n": "sum", "tuples": "sum", **merged}
        key = ["node", "axis", "code", "value"]
        # Spark names aggregates itself, as in `sum(n)`, and in an order of its own.
        named = rows.groupBy(*key).agg(how).select(*key, *(f"`{by}({name})`" for name, by in how.items()))
        return _fetch(named.toDF(*key, *how))

    def build_cells(
        self,
        levels: LevelwisePartition,
        layout: RowLayout,
        goal: CutSettings,
        flat: tuple[bool, ...],
        tasks: int,
    ) -> Any:
        """Spark frame of weighted rows with the cells of their classes, as `NodePartitioner` says.

        The work is divided into so many ``tasks``.
        """
        f = load_functions()

        where = LeafFinder(layout, levels.build_tree())
        rows = self.frame.mapInArrow(where.__call__, where.schema)
        finish = NodePartitioner(layout, goal, flat)
        levels.trace.finished = len(levels.sizes)
        # A closed node is one class, however large: nothing is left to partition.
        closed = f.col("node").isin(list(levels.closed))
        # So many tasks, and not as many as Spark finds right for the bytes: the work is in the kernel.
        spread = rows.where(~closed).repartition(tasks, "node")
        frame = spread.groupBy("node").applyInArrow(_wrap_worker(finish), cell_schema(layout))
        for node, codes in levels.closed.items():
            cells = [
                f.array(*(f.lit(code).cast("int") for code in (each if one else (each[0], each[-1])))).alias(
                    name
                )
                for name, each, one in zip(cell_columns(layout), codes, flat, strict=True)
            ]
            whole = rows.where(f.col("node") == node).groupBy(*layout.words).agg(f.sum("n").alias("n"))
            frame = frame.unionByName(whole.select(*layout.words, *cells, "n"))
        return frame


def _fetch(frame: Any) -> pl.DataFrame:
    return pl.DataFrame(frame.toArrow())


def _wrap_worker(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A plain function: of a method Spark would count the object among its parameters."""

    def of_table(table: Any) -> Any:
        return work(table)

    return of_table
