"""Tables that are read and written a batch of rows at a time, for those larger than memory.

The cells are those that `read` gives and `write` writes; only Parquet and delimited text can be had in parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from shoal.errors import InputError, OutputError
from shoal.table.delimited import DelimitedLayout, find_layout, read_batches
from shoal.table.encodings import TextSource, load_text
from shoal.table.formats import by_suffix, detect_format, explain_errors, import_optional
from shoal.table.frames import Origin, Table, check_calendar, check_schema, use_safe_name
from shoal.table.native import LeftOut, holds_values, leave_nothing_out, write_values
from shoal.table.readers import ReadOptions, add_metadata, check_file, text_origin
from shoal.table.sources import add_partition, list_parts
from shoal.table.writers import write_delimited

_BATCH = 1 << 16  # rows that are in memory at once, several times over: as read, recoded and written


@dataclass(frozen=True, slots=True, eq=False)
class TableStream:
    """A file whose rows come in batches, in their order."""

    origin: Origin
    schema: pl.Schema
    rows: int
    na: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Columns of a typed file that are not released, and may hold anything."""
    _text: tuple[TextSource, DelimitedLayout] | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return self.schema.names()

    def make_table(self, frame: pl.DataFrame | None = None) -> Table:
        """Some rows of the file as a table; none by default."""
        return Table(pl.DataFrame(schema=self.schema) if frame is None else frame, self.origin, self.na)

    def iterate_batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield some columns of all rows."""
        path = self.origin.path
        assert path is not None
        if self._text is not None:
            return read_batches(path, *self._text, self.origin.header, columns, _BATCH)
        return self._typed_batches(path, columns)

    def _typed_batches(self, path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        parquet = import_optional("pyarrow.parquet", "shoal[scale]")
        # Read ahead, all columns of the whole file would stay in memory until the last batch.
        with explain_errors(path), parquet.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_BATCH, columns=list(columns)):
                series = [self._read_column(batch.column(name), name) for name in columns]
                rows = pl.DataFrame([each.alias(name) for each, name in zip(series, columns, strict=True)])
                check_calendar(str(path), rows)
                yield rows

    def _read_column(self, values: Any, name: str) -> pl.Series:
        if name in self.left_out and self.schema[name] == pl.String:
            return write_values(values.to_pylist(), "")
        found = use_safe_name(pl.Series(pl.from_arrow(values)))
        # Days that are left out may lie outside of the calendar; their numbers have the same order.
        plain = found.to_physical() if name in self.left_out and found.dtype.is_temporal() else found
        # pyarrow may choose other types than polars; the schema decides.
        return plain.cast(self.schema[name])


def open_stream(path: Path, options: ReadOptions, left_out: LeftOut = leave_nothing_out) -> TableStream:
    """Look at a file, without reading more of it into memory than its outline.

    Columns that are ``left_out`` of the release may have any type.

    Raises
    ------
    InputError
        When it cannot be read, or not in parts: only Parquet and delimited UTF-8 text can, uncompressed.
    """
    check_file(path)
    format, compression = detect_format(path)
    if compression is not None or format not in ("text", "parquet"):
        raise InputError(
            f"{path} cannot be read in parts: with a memory limit the input is Parquet or delimited text, "
            "not compressed as a whole"
        )
    if format == "text":
        return _open_text(path, options)
    return _open_parquet(path, options, left_out)


def read_schema(path: Path, options: ReadOptions, left_out: LeftOut = leave_nothing_out) -> Table:
    """The columns of a file, or of Parquet files that are one table, without rows."""
    parts = list_parts(path)
    # The parts have the same columns.
    table = open_stream(path if parts is None else parts[0], options, left_out).make_table()
    return table if parts is None else replace(table, frame=add_partition(table.frame, path, parts[0]))


def _open_text(path: Path, options: ReadOptions) -> TableStream:
    if options.quasi_line is not None:
        raise InputError(f"{path} has a line with numbers of columns, and cannot be read in parts")
    if options.decimal == ",":
        raise InputError(
            f"{path} has decimal commas, and cannot be read in parts: write its numbers with points"
        )
    # Nothing else is guessed: to transcode a file, all of it would have to be in memory.
    text = load_text(path, None, options.encoding or "utf-8")
    if isinstance(text.payload, bytes):
        raise InputError(f"{path} is {text.encoding}, which cannot be read in parts: convert it to UTF-8")
    layout = find_layout(path, text, options.delimiter, options.header)
    schema = pl.Schema(dict.fromkeys(layout.names, pl.String))
    origin = text_origin(path, text, layout, options.header)
    return TableStream(origin, schema, layout.rows - options.header, options.na, _text=(text, layout))


def _open_parquet(path: Path, options: ReadOptions, left_out: LeftOut) -> TableStream:
    parquet = import_optional("pyarrow.parquet", "shoal[scale]")
    with explain_errors(path):
        try:
            rows = parquet.read_metadata(path).num_rows
            schema = _read_parquet_schema(path)
        except NotImplementedError as error:  # a type that pyarrow does not have, in whatever column
            raise _refuse_file(path, _read_parquet_schema(path), error) from error
        except (pl.exceptions.PolarsError, ValueError) as error:  # those of pyarrow are ValueErrors
            raise InputError(f"{path} is damaged or not what its name says: {error}") from error
    hidden = frozenset(left_out(schema.names()))
    schema = pl.Schema(
        {name: _choose_hidden_type(kind) if name in hidden else kind for name, kind in schema.items()}
    )
    check_schema(str(path), schema)
    if rows == 0:
        raise InputError(f"{path} has columns but no rows")
    origin = add_metadata(Origin("path", path=path, format="parquet"), path, None)
    return TableStream(origin, schema, rows, options.na, left_out=hidden)


def _read_parquet_schema(path: Path) -> pl.Schema:
    # An open file, since polars takes brackets in a path for a pattern.
    with path.open("rb") as content:
        return pl.Schema(pl.read_parquet_schema(content))


def _refuse_file(path: Path, schema: pl.Schema, error: Exception) -> InputError:
    """That a file cannot be opened because of a type, even if the column is left out."""
    wide = [name for name, kind in schema.items() if kind in (pl.Int128, pl.UInt128)]
    what = f"column '{wide[0]}' has the type {schema[wide[0]]}, which" if wide else f"a type ({error})"
    return InputError(f"{path}: {what} cannot be read in parts; convert it, or leave the memory limit out")


def _choose_hidden_type(kind: pl.DataType) -> pl.DataType:
    """The type in which a column that is left out is read: its values are told apart, and not released."""
    if not holds_values(kind):
        return pl.String()
    return pl.Int64() if kind in (pl.Date, pl.Datetime) else kind


def check_streamable(path: Path) -> None:
    """Raise an OutputError unless a file of that name can be written in parts."""
    format, compression = by_suffix(path)
    if compression is not None or format not in ("text", "parquet"):
        raise OutputError(
            f"{path} cannot be written in parts: with a memory limit the release is .parquet, .csv or .tsv, "
            "not compressed as a whole"
        )


def write_batches(batches: Iterable[pl.DataFrame], path: Path, form: Origin) -> None:
    """Write batches to ``path``, whatever its name, in the form that `layout_of` gives."""
    with path.open("wb") as stream:
        if form.format == "parquet":
            _write_parquet(batches, stream, form)
        else:
            write_delimited(batches, stream, form)
        # On the disk before the caller moves the file to its place.
        stream.flush()
        os.fsync(stream.fileno())


def _write_parquet(batches: Iterable[pl.DataFrame], stream: IO[bytes], form: Origin) -> None:
    parquet = import_optional("pyarrow.parquet", "shoal[scale]")
    rest = iter(batches)
    # The first batch has the schema of all.
    first = next(rest).to_arrow()
    with parquet.ParquetWriter(stream, first.schema, compression="zstd") as writer:
        if form.metadata:
            writer.add_key_value_metadata(dict(form.metadata))
        writer.write_table(first)
        for batch in rest:
            writer.write_table(batch.to_arrow())
