"""Search on a cluster: the cells that executors find, and what released values rows are joined with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Progress
from shoal.algorithms.mondrian import CUTS
from shoal.codespace.domain import Domain
from shoal.codespace.recoding import ColumnCells, Proposal, Recoding
from shoal.engines.coupling import couple_counts
from shoal.engines.level_workers import CutSettings, cell_columns, pack_kernels
from shoal.engines.levels import LevelTrace, LevelwisePartition, check_distributable
from shoal.engines.spark.coding import CodedFrame, group_by_columns
from shoal.engines.spark.levels import SparkRows
from shoal.engines.spark.session import load_functions
from shoal.recipes.recipe import Recipe
from shoal.table.formats import import_optional

_CELLS = 1 << 26  # distinct cells of a column that the driver labels at most
_BROADCAST = 32 << 20  # bytes of Arrow that every executor can have; in a JVM they are several times as many

Hold = Callable[[Any], Any]
"""Keeps a Spark frame in memory, or on the disks of executors."""


_Found = tuple[ColumnCells, Any, NDArray[np.int64]]
"""The cells of a column, as Spark has them, and how many rows have each."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LevelProposal(Proposal):
    """What executors found: cells of every row, which the driver knows column by column only."""

    recoding: Recoding
    """Its cells weigh what they do; which go together has no meaning."""
    rows: Any
    """Spark frame: packed codes, and the cells that they go to."""
    found: tuple[_Found, ...]

    def label_rows(self, recipe: Recipe, coded: CodedFrame, spark: Any) -> Any:
        """Spark frame: every row, and what its cells are released as, ``v0``, ``v1``, ..."""
        pyarrow = import_optional("pyarrow", "shoal[spark]")
        frame = self.rows.drop("n")
        columns = zip(cell_columns(coded.layout), self.found, coded.native, strict=True)
        for j, (name, (each, keys, _), native) in enumerate(columns):
            shown = _to_arrow(each.render_values(native, recipe.render))
            words = _send_table(pyarrow.table({name: keys, f"v{j}": shown}), spark)
            frame = frame.join(words, name).drop(name)
        return coded.select_rows().join(frame, list(coded.layout.words))


def label_by_class(recipe: Recipe, coded: CodedFrame, recoding: Recoding, spark: Any) -> Any:
    """Spark frame: every row, and what its class is released as, ``v0``, ``v1``, ..."""
    pyarrow = import_optional("pyarrow", "shoal[spark]")
    kept = recoding.class_of >= 0
    words = coded.layout.packing.pack_codes(list(recoding.table.codes[kept].T))
    packed = {name: word.astype(np.int64) for name, word in zip(coded.layout.words, words, strict=True)}
    places = pyarrow.table({**packed, "class": recoding.class_of[kept]})
    values = recoding.render_classes(coded.native, recipe.render).values()
    columns = {f"v{j}": _to_arrow(series) for j, series in enumerate(values)}
    number = np.arange(recoding.size.size, dtype=np.int32)
    classes = _send_table(pyarrow.table({"class": number, **columns}), spark)
    # First the number of the class, then its texts: no table has texts for every distinct row.
    rows = coded.select_rows().join(_send_table(places, spark), list(coded.layout.words))
    return rows.join(classes, "class").drop("class")


def _send_table(table: Any, spark: Any) -> Any:
    """A table of Arrow on the cluster: on every executor if it is small, or else shared out by a shuffle."""
    f = load_functions()

    frame = spark.createDataFrame(table)
    return f.broadcast(frame) if table.nbytes <= _BROADCAST else frame


def _to_arrow(series: pl.Series) -> Any:
    """A column as Spark takes it."""
    pyarrow = import_optional("pyarrow", "shoal[spark]")
    found = series.to_arrow()
    # polars has large strings, which Spark does not take.
    return found.cast(pyarrow.string()) if series.dtype == pl.String else found


def search_by_levels(
    recipe: Recipe, coded: CodedFrame, spark: Any, hold: Hold, on_progress: Progress
) -> LevelProposal:
    """The top of the tree by the driver, the rest by executors."""
    f = load_functions()

    problem, words = coded.problem, coded.layout.words
    check_distributable(
        recipe,
        f"there are {coded.distinct:,} distinct rows, more than the {recipe.driver_rows:,} that the "
        "driver takes (--driver-rows)",
    )
    # The search of the algorithm, which would refuse them, is not called here.
    problem.refuse_negative_weights("mondrian")
    # Two per core, so that a slow task does not leave the others idle for long.
    tasks = max(2 * spark.sparkContext.defaultParallelism, 2)
    # The workers rely on it: lexicographic order within and over partitions.
    ranged = coded.counted.repartitionByRange(tasks, *words).sortWithinPartitions(*words)
    rows = hold(ranged.withColumn("part", f.spark_partition_id()))
    trees = any(domain.kind == "tree" for domain in problem.domains)
    cut = recipe.algorithm.choose_cut(rows.select(*words).distinct().count, trees)
    goal = CutSettings.from_rules(problem.build_axes(), problem.build_rules(problem.table), CUTS[cut])
    layout = replace(coded.layout, kernels=pack_kernels(coded.layout, goal.how))
    stored = SparkRows(rows)
    levels = LevelwisePartition(stored, layout, goal, recipe.driver_rows)
    levels.cut_large_nodes(on_progress)
    flat = tuple(domain.kind == "flat" for domain in problem.domains)
    on_progress("partitioning on executors", 0.0)
    cells = hold(stored.build_cells(levels, layout, goal, flat, tasks))
    return _build_proposal(recipe, coded, cells, levels.trace, cut)


def _build_proposal(
    recipe: Recipe, coded: CodedFrame, cells: Any, trace: LevelTrace, cut: str
) -> LevelProposal:
    """What the driver knows of cells that executors have."""
    problem = coded.problem
    found = _find_cells(cells, cell_columns(coded.layout), problem.domains)
    # Which cells go together stays on the cluster: the loss needs their weights only.
    of_class, size = couple_counts([weight for _, _, weight in found])
    coupled = tuple(
        replace(each, of_class=at.astype(np.int32)) for (each, _, _), at in zip(found, of_class, strict=True)
    )
    class_of = np.zeros(problem.table.weight.size, np.int32)
    note = (
        f"Spark searched level by level, by mondrian(cut={cut}): there are {coded.distinct:,} different "
        f"rows, more than the {recipe.driver_rows:,} that the driver takes; {trace.rounds} levels, "
        f"{trace.entries:,} counts to the driver, {trace.finished:,} parts finished by executors"
    )
    return LevelProposal(
        problem.table,
        class_of,
        nodes=trace.nodes,
        notes=(note,),
        recoding=Recoding(problem.table, class_of, size, coupled),
        rows=cells,
        found=tuple(found),
    )


def _find_cells(cells: Any, names: Sequence[str], domains: Sequence[Domain]) -> list[_Found]:
    """The distinct cells of every column."""
    f = load_functions()

    tables = group_by_columns(cells, names, _CELLS, f.sum("n").alias("n"))
    found = []
    for table, domain in zip(tables, domains, strict=True):
        keys = table.column(0).combine_chunks()
        code = keys.values.to_numpy().astype(np.int64)
        start = keys.offsets.to_numpy().astype(np.int64)
        lo, hi = code[start[:-1]], code[start[1:] - 1]
        # Executors know codes only; to widen to a node takes the hierarchy, which is here.
        if domain.kind != "flat":
            lo, hi = domain.snap(lo, hi)
        members = (start, code) if domain.kind == "flat" else None
        found.append(
            (ColumnCells(domain, np.empty(0, np.int32), lo, hi, members), keys, table["n"].to_numpy())
        )
    return found
