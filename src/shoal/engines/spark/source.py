"""What is anonymized on Spark: a frame, or a file or folder that all of the cluster can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.engines.spark.output import make_uri
from shoal.errors import InputError, quote
from shoal.table import Origin, ReadOptions, Table, open_stream
from shoal.table.formats import detect_format, import_optional

PLAIN = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date")
PERSON = "p"
"""The column of a Spark frame that says whose row it is: the id as people are told apart by it."""
_ALSO = ("char(", "varchar(", "decimal(", "timestamp")


@dataclass(frozen=True, slots=True, eq=False)
class SparkSource:
    """A Spark frame and where it came from."""

    frame: Any = field(repr=False)
    """With columns ``x0``, ``x1``, ...: names that Spark takes for no expression."""
    names: list[str]
    kinds: list[str]
    """Types as Spark writes them."""
    origin: Origin
    na: tuple[str, ...]
    rows: int | None = None
    """How many there should be, where that is known."""

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        origin: Origin,
        na: tuple[str, ...],
        names: list[str] | None = None,
        rows: int | None = None,
    ) -> SparkSource:
        """A frame with names of its own, or given ones."""
        names = names or list(frame.columns)
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{origin}: more than one column is called {quote(dict.fromkeys(twice))}")
        kinds = [each.dataType.simpleString() for each in frame.schema.fields]
        return cls(frame.toDF(*(f"x{i}" for i in range(len(names)))), names, kinds, origin, na, rows)

    def column_name(self, name: str) -> str:
        """The name of a column in ``frame``."""
        return f"x{self.names.index(name)}"

    def make_table(self, frame: pl.DataFrame | None = None) -> Table:
        """Some values as a table; none by default."""
        none = pl.DataFrame(schema=dict.fromkeys(self.names, pl.String))
        return Table(none if frame is None else frame, self.origin, self.na)

    def check_kinds(self, names: tuple[str, ...]) -> None:
        """Refuse columns whose values have no order and no text of their own."""
        for name in names:
            kind = self.kinds[self.names.index(name)]
            if kind not in PLAIN and not kind.startswith(_ALSO):
                raise InputError(
                    f"{self.origin}: column '{name}' is {kind}, of which no codes can be made: cast it to a "
                    "number, a date or text, or make it plain"
                )


def wrap_frame(frame: Any, options: ReadOptions) -> SparkSource:
    """A frame that somebody gave."""
    return SparkSource.from_frame(frame, Origin("spark", frame), options.na)


def read_path(spark: Any, path: Path, options: ReadOptions) -> SparkSource:
    """A Parquet file, a folder of them, or delimited text."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    where = make_uri(path)
    form, compression = ("parquet", None) if path.is_dir() else detect_format(path)
    if form not in ("text", "parquet") or compression is not None:
        raise InputError(
            f"{path}: with Spark the input is Parquet or delimited text, not compressed as a whole"
        )
    if form == "parquet":
        errors = import_optional("pyspark.errors", "shoal[spark]")
        try:
            frame = spark.read.parquet(where)
        except errors.PySparkException as error:
            raise InputError(
                f"{path} is damaged or not what its name says: {str(error).splitlines()[0]}"
            ) from error
        return SparkSource.from_frame(frame, Origin("path", path=path, format="parquet"), options.na)
    stream = open_stream(path, options)
    settings = {
        "sep": stream.origin.delimiter,
        "header": stream.origin.header,
        # A quote inside of quotes is doubled, as the reader on one machine takes it.
        "escape": '"',
        "encoding": "UTF-8",
    }
    schema = ", ".join(f"x{i} string" for i in range(len(stream.names)))
    frame = spark.read.csv(where, schema=schema, **settings)
    return SparkSource.from_frame(frame, stream.origin, options.na, stream.names, stream.rows)


def check_rows(source: SparkSource, rows: int) -> None:
    """Refuse a table that has no rows, or whose cells Spark divides between rows."""
    if rows == 0:
        raise InputError(f"{source.origin} has columns but no rows")
    # Spark ends a row at every line end, even inside of quotes: then it counts more rows.
    if source.rows is not None and rows != source.rows:
        raise InputError(
            f"{source.origin}: Spark finds {rows:,} rows in it, but it has {source.rows:,}: cells have line "
            "breaks in them, so convert it to Parquet"
        )
