"""Spark: a recipe carried out on a cluster, with the release that one machine would have made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms import Progress, silent
from shoal.engines.counted import check_counted
from shoal.engines.frames import is_spark_frame
from shoal.engines.spark import recount
from shoal.engines.spark.coding import Coded
from shoal.engines.spark.output import address, check_output, committed
from shoal.engines.spark.search import Searched, level_by_level, on_driver, small
from shoal.engines.spark.session import explained, session, session_of
from shoal.engines.spark.source import Source, of_frame, of_path, path_of
from shoal.errors import GoalNotMet, InputError, RecipeError
from shoal.recipe import Recipe
from shoal.run import Clock, Release, check_rendering, shortfall
from shoal.table import Origin
from shoal.verify import Verification

_Check = Callable[[Any], tuple[Verification, NDArray[np.int64]]]
"""Counts a Spark frame; raises unless it satisfies the goal. Gives the sizes of the classes as well."""


@dataclass(frozen=True, slots=True, eq=False)
class SparkRelease(Release):
    """A verified release of a Spark frame, which is one itself."""

    check: _Check | None = field(default=None, repr=False)
    """What verified it."""
    held: tuple[Any, ...] = field(default=(), repr=False)
    """Spark frames that the cluster holds in memory, or on disk, for ``frame``."""

    def write(self, path: str | Path) -> None:
        """Write the release to a folder of Parquet files, which are counted again before it gets its name."""
        assert self.check is not None
        _written(self.frame, str(path), self.check)

    def unpersist(self) -> None:
        """Let the cluster forget what it holds for this release; ``frame`` is worked out anew if needed."""
        for frame in self.held:
            frame.unpersist()


def check(recipe: Recipe) -> None:
    """Refuse what a cluster cannot do as one machine does."""
    check_counted(recipe, "with Spark", "which no cluster shares out", "on one machine")
    if recipe.safe_csv:
        raise RecipeError("--safe-csv is about delimited text, and Spark writes Parquet")
    if recipe.output is not None:
        check_output(recipe.output)
    check_rendering(recipe)


def run(recipe: Recipe, source: object = None, on_progress: Progress = silent) -> SparkRelease:
    """Carry out a recipe on a Spark frame, in its session; or on a file, in a session that ends with the run.

    Of a file the release is written, and its ``frame`` is a lazy polars one that reads what was written.
    """
    check(recipe)
    if is_spark_frame(source):
        spark = session_of(source)
        with explained(spark):
            return _Run(recipe, of_frame(source, recipe.reading), spark, on_progress).release()
    path = path_of(recipe.input, source)
    if recipe.output is None:
        raise RecipeError("with Spark the release of a file is written by the cluster: name an output")
    with session(recipe.master) as spark, explained(spark):
        release = _Run(recipe, of_path(spark, path, recipe.reading), spark, on_progress).release()
    frame = pl.scan_parquet(f"{recipe.output}/*.parquet")
    return replace(release, frame=frame, solutions=(frame,))


class _Run:
    """One run on a cluster."""

    def __init__(self, recipe: Recipe, source: Source, spark: Any, on_progress: Progress) -> None:
        self.recipe, self.source, self.spark, self.on_progress = recipe, source, spark, on_progress
        self.clock = Clock(on_progress)
        self.held: list[Any] = []

    def release(self) -> SparkRelease:
        """Search, recode, verify, and write if that is asked for."""
        recipe = self.recipe
        with ExitStack() as kept:
            kept.callback(lambda: [frame.unpersist() for frame in self.held])
            with self.clock("read"):
                coded = Coded.of(recipe, self.source, self.spark)
                counted = self._hold(coded.counted())
                different = counted.count()
            with self.clock("search"):
                searched = self._searched(coded, counted, different)
            frame = self._released(coded, searched, different)
            check = _checker(recipe, self.source, searched, self.spark)
            if recipe.output is None:
                with self.clock("verify"):
                    found, sizes = check(frame)
                kept.pop_all()  # whoever uses the frame is glad of what is held
            else:
                with self.clock("write"):
                    found, sizes = _written(frame, recipe.output, check)
                frame = self.spark.read.parquet(address(recipe.output))
            report = replace(searched.report(recipe, found, sizes), seconds=self.clock.seconds())
            recoding = searched.recoding if searched.exact else None
            typed, held = searched.subject.typed(), tuple(self.held)
            return SparkRelease(
                frame, report, recipe, self.source.table(), (frame,), recoding, typed, check, held
            )

    def _hold(self, frame: Any) -> Any:
        self.held.append(frame.persist())
        return frame

    def _searched(self, coded: Coded, counted: Any, different: int) -> Searched:
        recipe, spark = self.recipe, self.spark
        if different <= recipe.driver_rows:
            return on_driver(recipe, coded, counted, spark, self.on_progress)
        return level_by_level(recipe, coded, counted, different, spark, self._hold, self.on_progress)

    def _released(self, coded: Coded, searched: Searched, different: int) -> Any:
        """The rows as they are released."""
        words = list(coded.layout.words)
        rows = coded.rows.drop(*coded.layout.values).join(small(searched.recoded, different), words)
        value = {name: f"v{j}" for j, name in enumerate(self.recipe.quasi)}
        names = _names(self.recipe, self.source)
        return rows.select(*(value.get(name) or self.source.column(name) for name in names)).toDF(*names)


def _names(recipe: Recipe, source: Source) -> list[str]:
    """Columns of the release."""
    return [name for name in source.names if name not in recipe.identifier]


def _checker(recipe: Recipe, source: Source, searched: Searched, spark: Any) -> _Check:
    """What verifies a release."""
    rows = searched.subject.problem.rows.rows - searched.recoding.suppressed
    names, columns = _names(recipe, source), searched.subject.columns

    def check(frame: Any) -> tuple[Verification, NDArray[np.int64]]:
        origin = Origin("spark", frame, format=source.origin.format)
        released = Source.of(frame, origin, recipe.reading.na, names)
        found, sizes = recount.verify(released, spark, recipe.quasi, recipe.sensitive, recipe.models, columns)
        if found.rows != rows:
            raise InputError(
                f"{source.origin} has other rows each time that it is read ({found.rows:,} where there were "
                f"{rows:,}): cache it, or write it to a file first"
            )
        if not found.holds:
            raise GoalNotMet(shortfall(found))
        return found, sizes

    return check


def _written(frame: Any, path: str, check: _Check) -> tuple[Verification, NDArray[np.int64]]:
    """Write a frame, count what was written, and only then give it its name."""
    spark = frame.sparkSession
    with committed(spark, path) as temporary:
        frame.write.parquet(temporary)
        return check(spark.read.parquet(temporary))
