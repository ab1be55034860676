"""The search: by the driver if the different rows fit there, else level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import ALGORITHMS, Auto, Mondrian, Progress
from shoal.algorithms.auto import cut_in_one_pass
from shoal.algorithms.mondrian import CUTS
from shoal.domain import Domain
from shoal.engines.spark.coding import Coded, by_column, coupled
from shoal.engines.spark.levels import Levels
from shoal.engines.spark.workers import Goal, cell_columns
from shoal.errors import RecipeError
from shoal.loss import LOSSES, ClassSize, Discernibility
from shoal.parameters import name_of
from shoal.recipe import Recipe
from shoal.recoding import Cells, Proposal, Recoding
from shoal.report import Report
from shoal.run import Subject, recoding_of, report_of
from shoal.table.formats import needs
from shoal.verify import Verification

_CELLS = 1 << 26  # different cells of a column that the driver labels at most
SMALL = 2_000_000
"""Different rows that every executor can have; more are brought together by a shuffle."""

Hold = Callable[[Any], Any]
"""Keeps a Spark frame in memory, or on the disks of executors."""


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """What the search found."""

    subject: Subject
    proposal: Proposal
    recoding: Recoding
    """Its cells weigh what they do; unless it is ``exact``, which go together has no meaning."""
    exact: bool
    recoded: Any
    """Spark frame: packed codes, and the released values ``v0``, ``v1``, ..."""
    note: str

    def report(self, recipe: Recipe, found: Verification, sizes: NDArray[np.int64]) -> Report:
        """What was done and lost, given what the verifier found and the sizes of the classes."""
        subject, rows, loss = self.subject, self.subject.problem.rows.rows, recipe.loss
        by_size = not self.exact and LOSSES[loss] in (Discernibility, ClassSize)
        asked = replace(recipe, loss="ncp") if by_size else recipe
        report = report_of(asked, rows, subject, self.proposal, self.recoding, found)
        if by_size:
            measured = LOSSES[loss]().measure(replace(self.recoding, size=sizes), subject.problem.weights)
            report = replace(report, loss={"name": loss, "value": measured.value, "columns": None})
        return replace(report, notes=(*report.notes, self.note))


def on_driver(recipe: Recipe, coded: Coded, counted: Any, spark: Any, on_progress: Progress) -> Searched:
    """The search of one machine, on the different rows."""
    frame: Any = pl.from_arrow(counted.toArrow())
    subject, different = coded.with_rows(coded.layout.coded(frame)), frame.height
    del frame
    proposal = recipe.algorithm.search(subject.problem, on_progress)
    recoding = recoding_of(recipe, subject, proposal)
    note = f"Spark counted the rows, and the driver searched {different:,} different ones"
    return Searched(subject, proposal, recoding, True, _by_class(recipe, coded, recoding, spark), note)


def _by_class(recipe: Recipe, coded: Coded, recoding: Recoding, spark: Any) -> Any:
    """Rows of packed codes with what their classes are released as."""
    pyarrow = needs("pyarrow", "shoal[spark]")
    kept = recoding.class_of >= 0
    words = coded.layout.packing.pack(list(recoding.table.codes[kept].T))
    packed = {name: word.astype(np.int64) for name, word in zip(coded.layout.words, words, strict=True)}
    places = pyarrow.table({**packed, "class": recoding.class_of[kept]})
    values = recoding.values(coded.native, recipe.render).values()
    columns = {f"v{j}": _arrow(series) for j, series in enumerate(values)}
    number = np.arange(recoding.size.size, dtype=np.int32)
    classes = spark.createDataFrame(pyarrow.table({"class": number, **columns}))
    return spark.createDataFrame(places).join(small(classes, number.size), "class").drop("class")


def small(frame: Any, rows: int) -> Any:
    """A frame of so many rows, to go to every executor if they are few."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    return f.broadcast(frame) if rows <= SMALL else frame


def _arrow(series: pl.Series) -> Any:
    """A column as Spark takes it."""
    pyarrow = needs("pyarrow", "shoal[spark]")
    found = series.to_arrow()
    return found.cast(pyarrow.string()) if series.dtype == pl.String else found


def level_by_level(
    recipe: Recipe, coded: Coded, counted: Any, different: int, spark: Any, hold: Hold, on_progress: Progress
) -> Searched:
    """The top of the tree by the driver, the rest by executors."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    problem, words = coded.subject.problem, coded.layout.words
    _check(recipe, different)
    tasks = max(2 * spark.sparkContext.defaultParallelism, 2)
    ranged = counted.repartitionByRange(tasks, *words).sortWithinPartitions(*words)
    rows = hold(ranged.withColumn("part", f.spark_partition_id()))
    cut = _cut(recipe, rows.select(*words).distinct().count, coded.subject)
    goal = Goal.of(problem.axes(), problem.rules(problem.table), CUTS[cut])
    levels = Levels(rows, coded.layout, goal, recipe.driver_rows, tasks)
    levels.grow(on_progress)
    flat = tuple(domain.kind == "flat" for domain in problem.domains)
    on_progress("partitioning on executors", 0.0)
    cells = hold(levels.cells(flat))
    found = _found_cells(cells, cell_columns(coded.layout), problem.domains)
    of_class, size = coupled([weight for _, _, weight in found])
    told = tuple(
        replace(each, of_class=at.astype(np.int32)) for (each, _, _), at in zip(found, of_class, strict=True)
    )
    class_of = np.zeros(problem.table.weight.size, np.int32)
    recoding = Recoding(problem.table, class_of, size, told)
    trace = levels.trace
    note = (
        f"Spark searched level by level, by mondrian(cut={cut}): there are {different:,} different rows, "
        f"more than the {recipe.driver_rows:,} that the driver takes; {trace.rounds} levels, "
        f"{trace.entries:,} counts to the driver, {trace.finished:,} parts finished by executors"
    )
    recoded = _labelled(recipe, coded, cells, found, spark)
    return Searched(
        coded.subject, Proposal(problem.table, class_of, nodes=trace.nodes), recoding, False, recoded, note
    )


def _check(recipe: Recipe, different: int) -> None:
    """Refuse what takes all different rows in one place."""
    algorithm = recipe.algorithm
    cuts = isinstance(algorithm, Mondrian) and algorithm.cut != "classic"
    why = None
    if not cuts and not isinstance(algorithm, Auto):
        name = name_of(ALGORITHMS, algorithm)
        why = f"{name} has to see them all; mondrian with cut=nearest or greedy has not"
    elif recipe.render not in ("label", "interval"):
        why = f"render '{recipe.render}' has to see them all; label and interval have not"
    elif recipe.loss == "squared-error":
        why = "the loss squared-error has to see them all; others have not"
    if why is not None:
        raise RecipeError(
            f"there are {different:,} different rows, more than the {recipe.driver_rows:,} that the driver "
            f"takes (--driver-rows), and {why}"
        )


def _cut(recipe: Recipe, tuples: Callable[[], int], subject: Subject) -> str:
    """The way to cut; `auto` takes the one that it takes in memory for so many weighted rows."""
    if isinstance(recipe.algorithm, Mondrian):
        return recipe.algorithm.cut
    trees = any(domain.kind == "tree" for domain in subject.problem.domains)
    return cut_in_one_pass(tuples(), recipe.algorithm.seconds, trees)  # type: ignore[attr-defined]


_Found = tuple[Cells, Any, NDArray[np.int64]]
"""The cells of a column, as Spark has them, and how many rows have each."""


def _found_cells(cells: Any, names: Sequence[str], domains: Sequence[Domain]) -> list[_Found]:
    """The different cells of every column."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    tables = by_column(cells, names, _CELLS, f.sum("n").alias("n"))
    found = []
    for table, domain in zip(tables, domains, strict=True):
        keys = table.column(0).combine_chunks()
        code = keys.values.to_numpy().astype(np.int64)
        start = keys.offsets.to_numpy().astype(np.int64)
        lo, hi = code[start[:-1]], code[start[1:] - 1]
        if domain.kind != "flat":
            lo, hi = domain.snap(lo, hi)
        members = (start, code) if domain.kind == "flat" else None
        found.append((Cells(domain, np.empty(0, np.int32), lo, hi, members), keys, table["n"].to_numpy()))
    return found


def _labelled(recipe: Recipe, coded: Coded, cells: Any, found: Sequence[_Found], spark: Any) -> Any:
    """Rows of packed codes with what their cells are released as."""
    pyarrow = needs("pyarrow", "shoal[spark]")
    frame = cells.drop("n")
    columns = zip(cell_columns(coded.layout), found, coded.native, strict=True)
    for j, (name, (each, keys, _), native) in enumerate(columns):
        shown = _arrow(each.values(native, recipe.render))
        words = spark.createDataFrame(pyarrow.table({name: keys, f"v{j}": shown}))
        frame = frame.join(small(words, each.count), name).drop(name)
    return frame
