"""Tables that are read and written a batch of rows at a time, for those larger than memory.

The cells are those that `read` gives and `write` writes; only Parquet and delimited text can be had in parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

from shoal.errors import InputError, OutputError
from shoal.table.delimited import Layout, find_layout, read_batches
from shoal.table.encodings import Text, load
from shoal.table.formats import by_suffix, explained, needs, sniff
from shoal.table.frames import Origin, Table, check_schema, unpatterned
from shoal.table.readers import ReadOptions, check_file, text_origin
from shoal.table.writers import layout_of, put_text

_BATCH = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A file whose rows come in batches, in their order."""

    origin: Origin
    schema: pl.Schema
    rows: int
    na: tuple[str, ...] = ()
    _text: tuple[Text, Layout] | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return self.schema.names()

    def table(self, frame: pl.DataFrame | None = None) -> Table:
        """Some rows of the file as a table; none by default."""
        return Table(pl.DataFrame(schema=self.schema) if frame is None else frame, self.origin, self.na)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield some columns of all rows."""
        path = self.origin.path
        assert path is not None
        if self._text is not None:
            return read_batches(path, *self._text, self.origin.header, columns, _BATCH)
        return self._typed_batches(path, columns)

    def _typed_batches(self, path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        parquet = needs("pyarrow.parquet", "shoal[scale]")
        with explained(path), parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH, columns=list(columns)):
                found: Any = pl.from_arrow(batch)
                series = [unpatterned(found.get_column(name)).cast(self.schema[name]) for name in columns]
                yield pl.DataFrame([each.alias(name) for each, name in zip(series, columns, strict=True)])


def open_stream(path: Path, options: ReadOptions) -> Stream:
    """Look at a file, without reading more of it into memory than its outline.

    Raises
    ------
    InputError
        When it cannot be read, or not in parts: only Parquet and delimited UTF-8 text can, uncompressed.
    """
    check_file(path)
    format, compression = sniff(path)
    if compression is not None or format not in ("text", "parquet"):
        raise InputError(
            f"{path} cannot be read in parts: with a memory limit the input is Parquet or delimited text, "
            "not compressed as a whole"
        )
    if format == "text":
        return _open_text(path, options)
    return _open_parquet(path, options)


def outline(path: Path, options: ReadOptions) -> Table:
    """The columns of a file, or of a folder of Parquet files, without rows."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} is a folder without Parquet files")
    return open_stream(files[0], options).table()


def _open_text(path: Path, options: ReadOptions) -> Stream:
    text = load(path, None, options.encoding or "utf-8")
    if isinstance(text.payload, bytes):
        raise InputError(f"{path} is {text.encoding}, which cannot be read in parts: convert it to UTF-8")
    layout = find_layout(path, text, options.delimiter, options.header)
    schema = pl.Schema(dict.fromkeys(layout.names, pl.String))
    origin = text_origin(path, text, layout, options.header)
    return Stream(origin, schema, layout.rows - options.header, options.na, (text, layout))


def _open_parquet(path: Path, options: ReadOptions) -> Stream:
    parquet = needs("pyarrow.parquet", "shoal[scale]")
    with explained(path):
        try:
            rows = parquet.read_metadata(path).num_rows
            with path.open("rb") as content:
                schema = pl.Schema(pl.read_parquet_schema(content))
        except (pl.exceptions.PolarsError, ValueError) as error:  # those of pyarrow are ValueErrors
            raise InputError(f"{path} is damaged or not what its name says: {error}") from error
    check_schema(str(path), schema)
    if rows == 0:
        raise InputError(f"{path} has columns but no rows")
    return Stream(Origin("path", path=path, format="parquet"), schema, rows, options.na)


def check_streamable(path: Path) -> None:
    """Raise an OutputError unless a file of that name can be written in parts."""
    format, compression = by_suffix(path)
    if compression is not None or format not in ("text", "parquet"):
        raise OutputError(
            f"{path} cannot be written in parts: with a memory limit the release is .parquet, .csv or .tsv, "
            "not compressed as a whole"
        )


def written_as(path: Path, like: Origin, delimiter: str | None) -> Origin:
    """How a release of ``like`` is written to ``path``, by its suffix."""
    if by_suffix(path)[0] == "parquet":
        return Origin("path", path=path, format="parquet")
    return layout_of(path, like, delimiter)


def write_batches(batches: Iterable[pl.DataFrame], path: Path, form: Origin) -> None:
    """Write batches to ``path``, whatever its name, in the form that `written_as` gives."""
    with path.open("xb") as stream:
        if form.format == "parquet":
            _put_parquet(batches, stream)
        else:
            put_text(batches, stream, form)
        stream.flush()
        os.fsync(stream.fileno())


def _put_parquet(batches: Iterable[pl.DataFrame], stream: IO[bytes]) -> None:
    parquet = needs("pyarrow.parquet", "shoal[scale]")
    rest = iter(batches)
    first = next(rest).to_arrow()
    with parquet.ParquetWriter(stream, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for batch in rest:
            writer.write_table(batch.to_arrow())
