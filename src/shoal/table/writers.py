"""Writing a release: whole or not at all, and the same bytes every time."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, OutputError
from shoal.files import check_target, whole_file
from shoal.table.delimited import check_delimiter
from shoal.table.formats import Compression, Format, by_suffix, needs
from shoal.table.frames import Origin, from_native, unpatterned
from shoal.table.types import NUMBER

_FORMULA = r"^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"  # some programs take the wide signs for the others
_BATCH = 1 << 17
# Names that promise what cannot be written; text under any other name is what it was asked for.
_FOREIGN = (".json", ".xls", ".xlsb", ".ods", ".xml", ".html", ".zip", ".bz2", ".xz", ".sqlite", ".db")
_SHEET_ROWS, _SHEET_COLUMNS, _SHEET_CELL = (1 << 20) - 1, 1 << 14, 32767


def write(
    frame: object,
    path: str | Path,
    *,
    like: Origin | None = None,
    delimiter: str | None = None,
    safe_csv: bool = False,
) -> None:
    """Write ``frame`` to ``path``, in the format and compression that its suffix names.

    The file appears whole or not at all: it is written beside its place under another name and then moved.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow; the index of a pandas frame is not written.
    path
        An existing file is replaced.
    like
        The origin of the input: delimited text is written with the delimiter, encoding and line ends it had,
        and without names where it had none.
    delimiter
        Overrides that.
    safe_csv
        Put an apostrophe before cells of delimited text that a spreadsheet would run as a formula.

    Raises
    ------
    OutputError
        When the file could not be written; nothing is left behind.
    """
    target = Path(path)
    check_writable(target)
    table = _to_write(frame)
    format, compression = by_suffix(target)
    if safe_csv and format == "text":
        table = neutralised(table)
    with whole_file(target) as raw, _compressed(raw, compression) as stream:
        _PUT[format](table, stream, layout_of(target, like, delimiter))


def check_writable(path: str | Path, forbidden: Iterable[Path] = (), *, table: bool = True) -> None:
    """Raise an OutputError if ``path`` could not be written, or is the same file as one of ``forbidden``.

    A ``table`` must have a suffix that tells how to write it.
    """
    target = Path(path)
    check_target(target)
    if any(_same_file(target, Path(other)) for other in forbidden):
        raise OutputError(f"{target} is an input of this run; write the release to another file")
    if not table:
        return
    if target.suffix.lower() in _FOREIGN:
        raise OutputError(
            f"{target}: {target.suffix} files cannot be written; use .csv, .tsv, .parquet, .arrow, .jsonl or "
            ".xlsx, and .gz or .zst after it to compress"
        )
    for module, package in _modules(target):
        try:
            needs(module, package)
        except InputError as error:
            raise OutputError(f"{target} cannot be written: {error}") from None


def formula_cells(frame: pl.DataFrame, columns: Iterable[str]) -> dict[str, int]:
    """Count, per column that has any, the cells that a spreadsheet would run as a formula."""
    text = [name for name in columns if frame.schema[name] in (pl.String, pl.Categorical, pl.Enum)]
    counts = {name: int(_runs(frame.get_column(name)).sum()) for name in text}
    return {name: count for name, count in counts.items() if count}


def formula_names(names: Sequence[str]) -> list[str]:
    """The names of columns that a spreadsheet would run: they are cells, too."""
    every = pl.Series(names, dtype=pl.String)
    return every.filter(_runs(every)).to_list()


def formula_rows(values: pl.Series, times: NDArray[np.int64]) -> int:
    """In how many rows a spreadsheet would run the value, where each stands for so many of them."""
    return int(times[_runs(values).to_numpy()].sum()) if values.dtype == pl.String else 0


def _runs(column: pl.Series) -> pl.Series:
    text = unpatterned(column).cast(pl.String)
    return (text.str.contains(_FORMULA) & ~text.str.contains(NUMBER)).fill_null(False)


def neutralised(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before cells and names that a spreadsheet would run as a formula."""
    found = [table.get_column(name) for name in formula_cells(table, table.columns)]
    safe = table.with_columns(_quoted(column.cast(pl.String), _runs(column)) for column in found)
    return safe.rename({name: f"'{name}" for name in formula_names(table.columns)})


def _quoted(text: pl.Series, runs: pl.Series) -> pl.Series:
    return ("'" + unpatterned(text)).zip_with(runs, text).alias(text.name)


def _to_write(frame: object) -> pl.DataFrame:
    try:
        return from_native(frame)[0]
    except InputError as error:
        raise OutputError(f"the release cannot be written: {error}") from error


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _modules(path: Path) -> Iterator[tuple[str, str]]:
    format, compression = by_suffix(path)
    if format == "excel":
        yield "xlsxwriter", "shoal[excel]"
    if compression == "zstd":
        yield "zstandard", "zstandard"


def layout_of(path: Path, like: Origin | None, delimiter: str | None) -> Origin:
    """Return how to write delimited text: as told, as the name says, as the input was."""
    origin = like if like is not None and like.format == "text" else Origin("path")
    is_tsv = ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:])
    char = check_delimiter(delimiter) if delimiter is not None else "\t" if is_tsv else origin.delimiter
    return replace(origin, delimiter=char)


def _put_text(table: pl.DataFrame, stream: IO[bytes], layout: Origin) -> None:
    starts = range(0, max(table.height, 1), _BATCH)
    put_text((table.slice(start, _BATCH) for start in starts), stream, layout)


def put_text(batches: Iterable[pl.DataFrame], stream: IO[bytes], layout: Origin) -> None:
    """Write delimited text, batch by batch."""
    encoder = codecs.getincrementalencoder(layout.encoding)()
    stream.write(encoder.encode("\ufeff" * layout.bom))
    for at, table in enumerate(batches):
        batch = BytesIO()
        table.write_csv(
            batch,
            separator=layout.delimiter,
            line_terminator=layout.newline,
            include_header=at == 0 and layout.header,
            # A missing value alone on its line would be a blank line, which at the end of a file is nothing.
            null_value='""' if table.width == 1 else "",
        )
        stream.write(batch.getbuffer() if layout.encoding == "utf-8" else _encoded(encoder, batch, layout))


def _encoded(encoder: codecs.IncrementalEncoder, batch: BytesIO, layout: Origin) -> bytes:
    text = batch.getvalue().decode()
    try:
        return encoder.encode(text)
    except UnicodeEncodeError as error:
        raise OutputError(
            f"the character {text[error.start]!r} does not exist in {layout.encoding}, the encoding of the "
            "input; convert the input to UTF-8 or write another format, such as .parquet"
        ) from None


def _put_excel(table: pl.DataFrame, stream: IO[bytes], _: Origin) -> None:
    text = [column for column in table.get_columns() if column.dtype == pl.String]
    long = any((column.str.len_chars() > _SHEET_CELL).any() for column in text)
    if long or table.height > _SHEET_ROWS or table.width > _SHEET_COLUMNS:
        raise OutputError(
            f"a sheet holds {_SHEET_ROWS} rows, {_SHEET_COLUMNS} columns and {_SHEET_CELL} characters per "
            "cell, less than the release needs; write another format, such as .csv"
        )
    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with needs("xlsxwriter", "shoal[excel]").Workbook(stream, options) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})  # the time of writing would be in every file
        table.write_excel(book)


_PUT: dict[Format, Callable[[pl.DataFrame, IO[bytes], Origin], None]] = {
    "text": _put_text,
    "excel": _put_excel,
    "parquet": lambda table, stream, _: table.write_parquet(stream),
    "arrow": lambda table, stream, _: table.write_ipc(stream),
    "jsonl": lambda table, stream, _: table.write_ndjson(stream),
}


@contextmanager
def _compressed(raw: IO[bytes], compression: Compression | None) -> Iterator[IO[bytes]]:
    if compression == "gzip":
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif compression == "zstd":
        with needs("zstandard", "zstandard").ZstdCompressor().stream_writer(raw, closefd=False) as stream:
            yield stream
    else:
        yield raw
