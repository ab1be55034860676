"""Columns to codes on a cluster: dictionaries go out, counted rows of codes come about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encoding import encode
from shoal.engines.packing import Packing
from shoal.engines.spark.source import Source, check_rows
from shoal.engines.spark.workers import Layout
from shoal.errors import InputError
from shoal.frequency import CodedRows
from shoal.privacy import Scale
from shoal.recipe import Recipe
from shoal.run import Subject, cautions, check_names, check_reach, known_columns, problem_of, sensitive_codes
from shoal.table.formats import needs

_INTEGER = (1 << 31) - 1  # what Spark takes for a limit


def by_column(frame: Any, names: Sequence[str], most: int, *aggregates: Any) -> list[Any]:
    """Group by one column after the other in a single pass: tables of Arrow, each with its column first.

    Little more than ``most`` groups per column come to the driver, even if there are more.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415

    grouped = frame.groupingSets([[name] for name in names], *names)
    counted = grouped.agg(f.grouping_id().alias("of"), *aggregates)
    found = counted.limit(min((most + 1) * len(names), _INTEGER)).toArrow()
    compute = needs("pyarrow.compute", "shoal[spark]")
    rest = [name for name in found.column_names if name not in (*names, "of")]
    every = (1 << len(names)) - 1
    masks = [every & ~(1 << (len(names) - 1 - j)) for j in range(len(names))]
    return [
        found.filter(compute.equal(found["of"], mask)).select([name, *rest])
        for name, mask in zip(names, masks, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """The different values of a column."""

    raw: Any
    """Column of Arrow."""
    series: pl.Series
    """The same, with null for what is missing."""
    count: NDArray[np.int64]
    """In how many rows each occurs."""


def dictionaries(source: Source, names: Sequence[str], in_order: bool, most: int) -> dict[str, Dictionary]:
    """The different values of some columns; in the order of the rows, if that is asked for."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    frame = source.frame.select(*(source.column(name) for name in names))
    aggregates = [f.count(f.lit(1)).alias("n")]
    if in_order:
        # Within a block of a file rows have rising numbers, but blocks need not come in their order.
        place = f.struct(f.input_file_name(), f.input_file_block_start(), f.monotonically_increasing_id())
        frame = frame.withColumn("place", place)
        aggregates.append(f.min("place").alias("place"))
    found = {}
    tables = by_column(frame, [source.column(name) for name in names], most, *aggregates)
    for name, table in zip(names, tables, strict=True):
        if table.num_rows > most:
            raise InputError(
                f"{source.origin}: column '{name}' has at least {table.num_rows:,} different values, more "
                f"than the driver takes ({most:,}): round it, make it plain, or raise --driver-rows"
            )
        ordered = _sorted(table) if in_order else table
        values: Any = pl.from_arrow(ordered.column(0))
        seen = source.table(pl.DataFrame([values.alias(name)])).column(name)
        found[name] = Dictionary(ordered.column(0), seen, ordered["n"].to_numpy())
    check_rows(source, int(next(iter(found.values())).count.sum()))
    return found


def _sorted(table: Any) -> Any:
    """By where each value occurs first."""
    place: Any = pl.from_arrow(table.column("place"))
    order = place.struct.unnest().with_row_index("at").sort(place.struct.fields)["at"]
    return table.take(order.to_arrow())


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A Spark frame in code space."""

    source: Source
    subject: Subject
    """Its problem has counted rows with the true number of every value, which tell nothing about which
    values occur together."""
    layout: Layout
    rows: Any
    """Spark frame: the columns of the source, packed codes and codes of sensitive values."""
    native: tuple[pl.DataType, ...]
    """Types of the quasi-identifiers."""

    @classmethod
    def of(cls, recipe: Recipe, source: Source, spark: Any) -> Coded:
        """Give the values of a frame their codes."""
        check_names(recipe, source.table())
        roles = (*recipe.quasi, *recipe.sensitive)
        source.check_kinds(roles)
        known = known_columns(recipe, source.names)
        order = recipe.category_order or recipe.algorithm.category_order
        values = dictionaries(source, roles, order == "appearance", recipe.driver_rows)
        encoded = [
            encode(values[name].series, known[name], order, values[name].count) for name in recipe.quasi
        ]
        sensitive = {name: sensitive_codes(values[name].series, known[name]) for name in recipe.sensitive}
        codes = {name: column.codes for name, column in zip(recipe.quasi, encoded, strict=True)}
        codes |= {name: found for name, (found, _) in sensitive.items()}
        scales: dict[str, Scale] = {name: scale for name, (_, scale) in sensitive.items()}
        rows = _coupled(recipe, values, codes, [column.domain.size for column in encoded])
        coded = [replace(column, codes=rows.quasi[j]) for j, column in enumerate(encoded)]
        problem = problem_of(recipe, coded, rows, scales)
        check_reach(problem)
        warnings = cautions(recipe, source.names, coded, rows.rows)
        subject = Subject(problem, tuple(coded), known, None, warnings, None)
        layout = Layout(Packing.of(rows.sizes), rows.sensitive_sizes)
        frame = _with_codes(source, spark, values, codes, layout, recipe)
        native = tuple(values[name].series.dtype for name in recipe.quasi)
        return cls(source, subject, layout, frame, native)

    def counted(self) -> Any:
        """Spark frame of the different rows of codes, and how many there are of each."""
        from pyspark.sql import functions as f  # noqa: PLC0415

        layout = self.layout
        return self.rows.groupBy(*layout.words, *layout.values).agg(f.count(f.lit(1)).alias("n"))

    def with_rows(self, rows: CodedRows) -> Subject:
        """What is searched, once the different rows are here."""
        encoded = tuple(replace(column, codes=rows.quasi[j]) for j, column in enumerate(self.subject.encoded))
        return replace(self.subject, problem=replace(self.subject.problem, rows=rows), encoded=encoded)


def _coupled(
    recipe: Recipe,
    values: Mapping[str, Dictionary],
    codes: Mapping[str, NDArray[np.unsignedinteger]],
    sizes: Sequence[int],
) -> CodedRows:
    """Counted rows that have every code as often as the table has it; which go together has no meaning."""
    names = (*recipe.quasi, *recipe.sensitive)
    count = [_times(codes[name], values[name].count) for name in names]
    columns, weight = coupled(count)
    quasi = tuple(column.astype(np.uint32) for column in columns[: len(recipe.quasi)])
    sensitive = tuple(column.astype(np.uint32) for column in columns[len(recipe.quasi) :])
    sensitive_sizes = tuple(int(codes[name].max(initial=0)) + 1 for name in recipe.sensitive)
    return CodedRows(quasi, tuple(sizes), sensitive, sensitive_sizes, weight)


def coupled(counts: Sequence[NDArray[np.int64]]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Weighted rows with given numbers of every code in each column: a few more than there are codes."""
    sums = [np.cumsum(count) for count in counts]
    ends = np.unique(np.concatenate(sums))
    ends = ends[ends > 0]
    return [np.searchsorted(each, ends) for each in sums], np.diff(ends, prepend=0)


def _times(code: NDArray[np.unsignedinteger], count: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.rint(np.bincount(code, count)).astype(np.int64)


def _with_codes(
    source: Source,
    spark: Any,
    values: Mapping[str, Dictionary],
    codes: Mapping[str, NDArray[np.unsignedinteger]],
    layout: Layout,
    recipe: Recipe,
) -> Any:
    from pyspark.sql import functions as f  # noqa: PLC0415

    frame = source.frame
    for j, (name, of_value) in enumerate(codes.items()):
        frame = looked_up(frame, source.column(name), spark, values[name].raw, of_value, f"c{j}")
    words = [f.lit(0).cast("bigint")] * layout.packing.words
    for j, (size, word) in enumerate(zip(layout.packing.sizes, layout.packing.word_of, strict=True)):
        words[word] = words[word] * f.lit(size).cast("bigint") + f.col(f"c{j}")
    number = len(layout.packing.sizes)
    chosen = [f.col(f"x{i}") for i in range(len(source.names))]
    chosen += [word.alias(name) for word, name in zip(words, layout.words, strict=True)]
    chosen += [f.col(f"c{number + i}").alias(name) for i, name in enumerate(layout.values)]
    return frame.select(*chosen)


def looked_up(
    frame: Any, column: str, spark: Any, raw: Any, code: NDArray[np.integer], name: str, how: str = "inner"
) -> Any:
    """A frame with the codes of one of its columns, by a dictionary that goes to every executor."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    pyarrow = needs("pyarrow", "shoal[spark]")
    columns = {"raw": raw, name: pyarrow.array(code.astype(np.int32))}
    words = f.broadcast(spark.createDataFrame(pyarrow.table(columns)))
    return frame.join(words, frame[column].eqNullSafe(words["raw"]), how).drop("raw")
