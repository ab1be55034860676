"""Columns to codes on a cluster: dictionaries go out, counted rows of codes come about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.checks import check_names, check_people, check_reach
from shoal.engines.coupling import couple_codes
from shoal.engines.level_workers import RowLayout
from shoal.engines.packing import CodePacking
from shoal.engines.people import describe_missing_ids
from shoal.engines.prepare import (
    Codes,
    DistinctValues,
    PreparedTable,
    encode_distinct,
    prepare_rows,
    read_known_columns,
)
from shoal.engines.spark.people import add_people, count_ids, count_people
from shoal.engines.spark.session import load_functions
from shoal.engines.spark.source import PERSON, SparkSource, check_rows
from shoal.errors import InputError
from shoal.privacy.people import count_needed_people
from shoal.recipes.defaults import choose_category_order
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import choose_cell_types
from shoal.table.formats import import_optional

_INTEGER = (1 << 31) - 1  # what Spark takes for a limit


def group_by_columns(frame: Any, names: Sequence[str], most: int, *aggregates: Any) -> list[Any]:
    """Group by one column after the other in a single pass: tables of Arrow, each with its column first.

    Little more than ``most`` groups per column come to the driver, even if there are more.
    """
    f = load_functions()

    grouped = frame.groupingSets([[name] for name in names], *names)
    counted = grouped.agg(f.grouping_id().alias("of"), *aggregates)
    # One more than permitted per column, to see that there are too many.
    found = counted.limit(min((most + 1) * len(names), _INTEGER)).toArrow()
    compute = import_optional("pyarrow.compute", "shoal[spark]")
    rest = [name for name in found.column_names if name not in (*names, "of")]
    every = (1 << len(names)) - 1
    # grouping_id has a bit set for each column that is not grouped by, the first one highest.
    masks = [every & ~(1 << (len(names) - 1 - j)) for j in range(len(names))]
    return [
        found.filter(compute.equal(found["of"], mask)).select([name, *rest])
        for name, mask in zip(names, masks, strict=True)
    ]


def read_dictionaries(
    source: SparkSource, names: Sequence[str], in_order: bool, most: int
) -> dict[str, DistinctValues]:
    """The distinct values of some columns; in the order of the rows, if that is asked for."""
    f = load_functions()

    frame = source.frame.select(*(source.column_name(name) for name in names))
    aggregates = [f.count(f.lit(1)).alias("n")]
    if in_order:
        # Within a block of a file rows have rising numbers, but blocks need not come in their order.
        place = f.struct(f.input_file_name(), f.input_file_block_start(), f.monotonically_increasing_id())
        frame = frame.withColumn("place", place)
        aggregates.append(f.min("place").alias("place"))
    found = {}
    tables = group_by_columns(frame, [source.column_name(name) for name in names], most, *aggregates)
    for name, table in zip(names, tables, strict=True):
        if table.num_rows > most:
            raise InputError(
                f"{source.origin}: column '{name}' has at least {table.num_rows:,} distinct values, more "
                f"than the driver takes ({most:,}): round it, make it plain, or raise --driver-rows"
            )
        ordered = _sort_by_appearance(table) if in_order else table
        # The raw values join with the cluster's rows; the codes come from them as in memory.
        values: Any = pl.from_arrow(ordered.column(0))
        seen = source.make_table(pl.DataFrame([values.alias(name)])).column(name)
        found[name] = DistinctValues(ordered.column(0), seen, ordered["n"].to_numpy())
    # Any column will do: the counts of each add up to all rows.
    check_rows(source, int(next(iter(found.values())).count.sum()))
    return found


def _sort_by_appearance(table: Any) -> Any:
    """By where each value occurs first."""
    place: Any = pl.from_arrow(table.column("place"))
    order = place.struct.unnest().with_row_index("at").sort(place.struct.fields, maintain_order=True)["at"]
    return table.take(order.to_arrow())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CodedFrame(PreparedTable):
    """A Spark frame in code space.

    Unless its rows are on the driver, its problem has counted rows with the true number of every value, which
    tell nothing about which values occur together.
    """

    layout: RowLayout
    frame: Any
    """Spark frame: the columns of the source, packed codes and codes of sensitive values."""
    native: tuple[pl.DataType, ...]
    """Types that the quasi-identifiers are released in."""
    counted: Any = None
    """Spark frame: the distinct rows of codes, and how many there are of each."""
    distinct: int = 0
    """How many these are."""
    is_on_driver: bool = False
    """Whether the driver has them."""
    counts_people: bool = False
    """Whether people are counted: then ``frame`` says whose row each is."""

    @classmethod
    def from_source(cls, recipe: Recipe, source: SparkSource, spark: Any) -> CodedFrame:
        """Give the values of a frame their codes."""
        check_names(recipe, source.make_table())
        roles = (*recipe.quasi, *recipe.sensitive)
        source.check_kinds(roles)
        known = read_known_columns(recipe, source.names)
        in_order = choose_category_order(recipe) == "appearance"
        values = read_dictionaries(source, roles, in_order, recipe.driver_rows)
        codes = encode_distinct(recipe, known, values)
        ids, people = (None, None) if recipe.person is None else count_ids(source, recipe.person)
        told = () if people is None else describe_missing_ids(recipe, people.missing)
        counts_people = people is not None and people.people < people.rows
        if counts_people:
            check_people(recipe)
        # Losses and models ask for counts per column, which these few rows have exactly.
        rows = couple_codes(recipe, values, codes)
        subject = prepare_rows(recipe, source.names, known, codes, rows, reach=not counts_people)
        layout = RowLayout(CodePacking.from_sizes(codes.sizes), codes.sensitive_sizes)
        # Lazy: codes are joined to the rows when the cluster counts them.
        frame = _add_codes(source, spark, values, codes.collect_codes(), layout)
        if counts_people:
            frame = add_people(frame, source.column_name(str(recipe.person)), ids)
        return cls(
            problem=subject.problem,
            encoded=subject.encoded,
            columns=subject.columns,
            warnings=(*subject.warnings, *told),
            layout=layout,
            frame=frame,
            counts_people=counts_people,
            everybody=people.people if people is not None and counts_people else None,
            native=choose_cell_types(recipe, (values[name].series.dtype for name in recipe.quasi)),
        )

    def select_rows(self) -> Any:
        """Spark frame of all rows, with the packed codes by which they find what they become."""
        return self.frame.drop(*self.layout.values)

    def count_rows(self) -> Any:
        """Spark frame of the distinct rows of codes, and how many there are of each."""
        f = load_functions()

        columns = [*self.layout.words, *self.layout.values]
        if not self.counts_people:
            return self.frame.groupBy(*columns).agg(f.count(f.lit(1)).alias("n"))
        most = count_needed_people(self.problem.models)
        if most is not None:
            return count_people(self.frame, self.layout.words, self.layout.values, most)
        return self.frame.groupBy(*columns, PERSON).agg(f.count(f.lit(1)).alias("n"))

    def fetch_rows(self) -> CodedFrame:
        """The same with the distinct rows, which come to the driver."""
        found: Any = pl.from_arrow(self.counted.toArrow())
        rows = self.layout.unpack_rows(found)
        encoded = tuple(replace(column, codes=rows.quasi[j]) for j, column in enumerate(self.encoded))
        person = found[PERSON].rank("dense").to_numpy().astype(np.int64) - 1 if self.counts_people else None
        problem = replace(self.problem, rows=rows, person=person)
        if self.counts_people:
            check_reach(problem.models, problem.table_counts)
        return replace(self, problem=problem, encoded=encoded, is_on_driver=True, person=person)


def _add_codes(
    source: SparkSource,
    spark: Any,
    values: Mapping[str, DistinctValues],
    codes: Mapping[str, Codes],
    layout: RowLayout,
) -> Any:
    """The rows of the source, with their packed codes and the codes of their sensitive values."""
    f = load_functions()

    frame = source.frame
    for j, (name, of_value) in enumerate(codes.items()):
        frame = join_codes(frame, source.column_name(name), spark, values[name].raw, of_value, f"c{j}")
    words = [f.lit(0).cast("bigint")] * layout.packing.words
    for j, (size, word) in enumerate(zip(layout.packing.sizes, layout.packing.word_of, strict=True)):
        # The same mixed-radix words as on one machine, so that the driver can unpack them.
        words[word] = words[word] * f.lit(size).cast("bigint") + f.col(f"c{j}")
    number = len(layout.packing.sizes)
    chosen = [f.col(f"x{i}") for i in range(len(source.names))]
    chosen += [word.alias(name) for word, name in zip(words, layout.words, strict=True)]
    chosen += [f.col(f"c{number + i}").alias(name) for i, name in enumerate(layout.values)]
    return frame.select(*chosen)


def join_codes(
    frame: Any, column: str, spark: Any, raw: Any, code: NDArray[np.integer], name: str, how: str = "inner"
) -> Any:
    """A frame with the codes of one of its columns, by a dictionary that goes to every executor."""
    f = load_functions()

    pyarrow = import_optional("pyarrow", "shoal[spark]")
    columns = {"raw": raw, name: pyarrow.array(code.astype(np.int32))}
    # Dictionaries are small beside the rows: to send them around avoids a shuffle.
    words = f.broadcast(spark.createDataFrame(pyarrow.table(columns)))
    # Null-safe, since a missing value has a code as well.
    return frame.join(words, frame[column].eqNullSafe(words["raw"]), how).drop("raw")
