"""Released rows in the order of their released values, sorted by DuckDB within the memory limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from shoal.table import to_strings

_BATCH = 1 << 17


def sort_rows(
    connection: Any, batches: Iterable[pl.DataFrame], first: Sequence[str], beside: Sequence[str] = ()
) -> Iterator[pl.DataFrame]:
    """Yield the rows of all batches, sorted by their texts: by the columns ``first``, then by the others.

    Those ``beside`` go along, and are not sorted by.
    """
    schema: pl.Schema | None = None
    for batch in batches:
        connection.register("batch", _prepare_batch(batch).to_arrow())
        how = "CREATE TABLE unsorted AS" if schema is None else "INSERT INTO unsorted"
        connection.execute(f"{how} SELECT * FROM batch")
        connection.unregister("batch")
        schema = batch.schema
    # A release has rows, so there was a batch.
    assert schema is not None
    names = schema.names()
    order = [*first, *(name for name in names if name not in (*first, *beside))]
    places = [(names.index(name), schema[name] == pl.String) for name in order]
    keys = ", ".join(f"{'c' if is_text else 't'}{j} NULLS LAST" for j, is_text in places)
    cells = ", ".join(f"c{j}" for j in range(len(names)))
    for found in connection.sql(f"SELECT {cells} FROM unsorted ORDER BY {keys}").to_arrow_reader(_BATCH):
        part = pl.DataFrame(pl.from_arrow(found))
        columns = zip(part.get_columns(), schema.items(), strict=True)
        yield pl.DataFrame([_restore_type(series, dtype).alias(name) for series, (name, dtype) in columns])
    connection.execute("DROP TABLE unsorted")


def _prepare_batch(batch: pl.DataFrame) -> pl.DataFrame:
    """Rows as a database keeps them: cells, and texts to sort by where the cells are none."""
    cells = [_to_plain_type(each).alias(f"c{j}") for j, each in enumerate(batch)]
    texts = [to_strings(each).alias(f"t{j}") for j, each in enumerate(batch) if each.dtype != pl.String]
    return pl.DataFrame([*cells, *texts])


def _to_plain_type(series: pl.Series) -> pl.Series:
    """A column in a type that every database has and from which its own type comes back whole."""
    dtype = series.dtype
    if dtype.is_temporal():
        return series.to_physical().cast(pl.Int64)
    kept = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float32, pl.Float64, pl.Boolean, pl.String)
    return series if dtype in kept else series.cast(pl.String)


def _restore_type(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Null:
        return pl.Series(series.name, [None] * len(series), dtype=pl.Null)
    if dtype.is_temporal():
        return series.cast(pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype)
    return series.cast(dtype)
