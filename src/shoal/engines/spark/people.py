"""People on a cluster: whose each row is, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from shoal.engines.spark.source import PERSON, SparkSource
from shoal.engines.spark.witness import render_cell
from shoal.privacy.people import fold_ids
from shoal.table import Origin, Table
from shoal.table.formats import import_optional


def _load_functions() -> Any:
    """What expressions about columns are made of."""
    return import_optional("pyspark.sql.functions", "shoal[spark]")


@dataclass(frozen=True, slots=True)
class PeopleCount:
    """How many people the rows of a table are of."""

    rows: int
    people: int
    """Of these, those without an id have one row each."""
    missing: int
    """How many rows have no id."""


@dataclass(frozen=True, slots=True, eq=False)
class _IdFolder:
    """Finds, in one partition of different ids, by what people are told apart."""

    name: str
    origin: Origin
    na: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        pyarrow = import_optional("pyarrow", "shoal[spark]")
        for batch in batches:
            raw = batch.column(0)
            seen = Table(pl.DataFrame([pl.Series(self.name, pl.from_arrow(raw))]), self.origin, self.na)
            folded = fold_ids(seen.column(self.name)).to_arrow().cast(pyarrow.string())
            yield pyarrow.record_batch([raw, folded], names=["raw", PERSON])


def count_ids(source: SparkSource, name: str) -> tuple[Any, PeopleCount]:
    """Spark frame of the different ids, each with its person or null; and how many people there are."""
    f = _load_functions()
    column, kind = source.column_name(name), source.kinds[source.names.index(name)]
    fold = _IdFolder(name, replace(source.origin, native=None), source.na)
    times = source.frame.groupBy(f.col(column).alias("raw")).agg(f.count(f.lit(1)).alias("n"))
    ids = times.select("raw").mapInArrow(fold.__call__, f"raw {kind}, {PERSON} string")
    told = times.join(ids.withColumnRenamed("raw", "id"), times["raw"].eqNullSafe(f.col("id")))
    found = told.groupBy(PERSON).agg(f.sum("n").alias("n")).groupBy(f.col(PERSON).isNull().alias("missing"))
    counted = {
        row["missing"]: row
        for row in found.agg(f.count(f.lit(1)).alias("m"), f.sum("n").alias("n")).collect()
    }
    known, missing = counted.get(False), counted.get(True)
    lost = int(missing["n"]) if missing else 0
    rows = lost + (int(known["n"]) if known else 0)
    return ids, PeopleCount(rows, lost + (int(known["m"]) if known else 0), lost)


def add_people(frame: Any, column: str, ids: Any) -> Any:
    """A frame with the person of each row; a row without an id is a person of its own."""
    f = _load_functions()
    joined = frame.join(ids, frame[column].eqNullSafe(ids["raw"]), "left").drop("raw")
    # No folded id has a control character.
    alone = f.concat(f.lit("\0"), f.monotonically_increasing_id().cast("string"))
    return joined.withColumn(PERSON, f.coalesce(f.col(PERSON), alone))


def count_people(frame: Any, words: Sequence[str], values: Sequence[str], most: int) -> Any:
    """Count rows by codes and people; what more than ``most`` people have goes to the last of these.

    Sensitive values do not tell rows apart, where a number of people is all that is asked.
    """
    f, sql = _load_functions(), import_optional("pyspark.sql", "shoal[spark]")
    some = [f.min(name).alias(name) for name in values]
    each = frame.groupBy(*words, PERSON).agg(f.count(f.lit(1)).alias("n"), *some)
    place = f.row_number().over(sql.Window.partitionBy(*words).orderBy(PERSON))
    numbered = each.withColumn("place", f.least(place, f.lit(most)))
    kept = [f.min(PERSON).alias(PERSON), f.sum("n").alias("n")]
    return numbered.groupBy(*words, "place").agg(*kept, *some).drop("place")


def sum_rows(source: SparkSource) -> tuple[Any, ...]:
    """What two frames share that have the same rows, in any order: the number of rows, and sums of hashes."""
    f = _load_functions()
    kinds = zip(source.names, source.kinds, strict=True)
    cells = [render_cell(source.column_name(name), kind) for name, kind in kinds]
    # Spark's hash passes over what is missing, so that is said beside it.
    parts = [part for cell in cells for part in (cell.isNull(), cell)]
    sums = [f.sum(f.xxhash64(f.lit(seed), *parts).cast("decimal(38,0)")) for seed in (1, 2)]
    return tuple(source.frame.agg(f.count(f.lit(1)), *sums).collect()[0])


def describe_rows(frame: Any) -> tuple[int, int, int]:
    """The rows of a frame, the people they are of, and the most that one has."""
    f = _load_functions()
    each = frame.groupBy(PERSON).agg(f.count(f.lit(1)).alias("n"))
    rows, people, most = each.agg(f.sum("n"), f.count(f.lit(1)), f.max("n")).collect()[0]
    return int(rows), int(people), int(most)
