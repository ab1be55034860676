"""Writing a release: whole or not at all, and the same bytes every time."""

from __future__ import annotations

import codecs
import gzip
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, OutputError, ShoalError, quote
from shoal.support.addresses import check_address, is_address
from shoal.support.files import as_path, check_target, whole_path
from shoal.table.delimited import check_delimiter
from shoal.table.formats import FORMATS, Compression, Format, by_suffix, import_optional
from shoal.table.frames import Origin, from_native, to_strings, use_safe_name
from shoal.table.native import find_nested, leave_everything_out
from shoal.table.types import NUMBER

Judge = Callable[[Path, Origin], None]
"""Looks at a file that was written, and at how it was written; raises an error if it may not be released."""

_FORMULA = r"^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"  # some programs take the wide signs for the others
_NUL = re.compile(b"\0")
_BATCH = 1 << 17  # rows that are encoded together
# Names that promise what cannot be written; text under any other name is what it was asked for.
_FOREIGN = (".json", ".xls", ".xlsb", ".ods", ".xml", ".html", ".zip", ".bz2", ".xz", ".sqlite", ".db")
_ONLY_READ = (".zsav", ".por", ".sas7bdat", ".xpt")
_WRITTEN = (".csv", ".tsv", ".parquet", ".arrow", ".jsonl", ".xlsx")
_SHEET_ROWS, _SHEET_COLUMNS, _SHEET_CELL = (1 << 20) - 1, 1 << 14, 32767
_SHEET_DIGITS, _SHEET_NUMBER, _SHEET_DAY = 15, 10**15 - 1, date(1900, 3, 1)  # earlier, sheets count wrong


def write_table(
    frame: object,
    path: str | Path,
    *,
    like: Origin | None = None,
    delimiter: str | None = None,
    safe_csv: bool = False,
    keep_metadata: bool = False,
    private: bool = False,
    judge: Judge | None = None,
) -> None:
    """Write ``frame`` to ``path``, in the format and compression that its suffix names.

    The file appears whole or not at all: it is written beside its place under another name, judged there, and
    then moved.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow; the index of a pandas frame is written as columns, unless it
        only counts rows.
    path
        An existing file is replaced.
    like
        The origin of the input: delimited text is written with the delimiter, encoding and line ends it had,
        and without names where it had none.
    delimiter
        Overrides that.
    safe_csv
        Put an apostrophe before cells of delimited text that a spreadsheet would run as a formula.
    keep_metadata
        Whether what the footer of a Parquet file said is said by another one, too.
    private
        Whether only its owner may read the file, because it holds values of the original table.
    judge
        Gets the path of the written file and how it was written, before it is moved; raises an error if it
        may not be released.

    Raises
    ------
    OutputError
        When the file could not be written; nothing is left behind.
    """
    target = as_path(path)
    check_writable(target)
    table = _to_write(frame)
    layout = choose_layout(target, like, delimiter)
    refuse_nested_columns(table.schema, layout)
    if keep_metadata and like is not None:
        layout = replace(layout, metadata=like.metadata)
    if safe_csv and layout.format == "text":
        table = neutralize_formulas(table)
    with whole_path(target, private=private) as temporary:
        write_file(table, temporary, layout)
        if judge is not None:
            judge(temporary, layout)


def write_file(table: pl.DataFrame, path: Path, layout: Origin) -> None:
    """Write a file, and leave it to the disk before returning."""
    with path.open("wb") as raw:
        with _open_compressed(raw, layout.compression) as stream:
            _PUT.get(layout.format or "text", _write_by_extension)(table, stream, layout)
        # On the disk before the file is judged and moved.
        raw.flush()
        os.fsync(raw.fileno())


def check_writable(path: str | Path, forbidden: Iterable[Path] = (), *, table: bool = True) -> None:
    """Raise an OutputError if ``path`` could not be written, or is the same file as one of ``forbidden``.

    A ``table`` must have a suffix that tells how to write it.
    """
    if is_address(path):
        check_address(str(path))
        if table:
            return
    check_target(path)
    target = Path(path)
    if any(_same_file(target, Path(other)) for other in forbidden):
        raise OutputError(f"{target} is an input of this run; write the release to another file")
    if not table:
        return
    suffix = target.suffix.lower()
    if suffix in _ONLY_READ or (suffix in _FOREIGN and by_suffix(target)[0] == "text"):
        *others, last = [*_WRITTEN, *(f".{name}" for name in FORMATS if f".{name}" not in _ONLY_READ)]
        raise OutputError(
            f"{target}: {target.suffix} files cannot be written; use {', '.join(others)} or {last}, and .gz "
            "or .zst after it to compress"
        )
    for module, package in _list_needed_modules(target):
        try:
            import_optional(module, package)
        except InputError as error:
            raise OutputError(f"{target} cannot be written: {error}") from None


def count_formula_cells(frame: pl.DataFrame, columns: Iterable[str]) -> dict[str, int]:
    """Count, per column that has any, the cells that a spreadsheet would run as a formula."""
    schema = frame.schema  # once: it is made anew whenever it is asked for
    text = [name for name in columns if schema[name] in (pl.String, pl.Categorical, pl.Enum)]
    # The first signs of all columns at once: few of thousands have any, and those are looked at closely.
    cells = pl.DataFrame([frame.get_column(name).alias(str(at)) for at, name in enumerate(text)])
    found = cells.select(pl.all().cast(pl.String).str.contains(_FORMULA).any())
    likely = [name for at, name in enumerate(text) if found.item(0, at)]
    counts = {name: int(_find_formulas(frame.get_column(name)).sum()) for name in likely}
    return {name: count for name, count in counts.items() if count}


def find_formula_names(names: Sequence[str]) -> list[str]:
    """The names of columns that a spreadsheet would run: they are cells, too."""
    every = pl.Series(names, dtype=pl.String)
    return every.filter(_find_formulas(every)).to_list()


def count_formula_rows(values: pl.Series, times: NDArray[np.int64]) -> int:
    """In how many rows a spreadsheet would run the value, where each stands for so many of them."""
    return int(times[_find_formulas(values).to_numpy()].sum()) if values.dtype == pl.String else 0


def _find_formulas(column: pl.Series) -> pl.Series:
    text = use_safe_name(column).cast(pl.String)
    return (text.str.contains(_FORMULA) & ~text.str.contains(NUMBER)).fill_null(False)


def neutralize_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before cells and names that a spreadsheet would run as a formula."""
    found = [table.get_column(name) for name in count_formula_cells(table, table.columns)]
    safe = table.with_columns(
        _add_apostrophes(column.cast(pl.String), _find_formulas(column)) for column in found
    )
    return safe.rename({name: f"'{name}" for name in find_formula_names(table.columns)})


def _add_apostrophes(text: pl.Series, runs: pl.Series) -> pl.Series:
    return ("'" + use_safe_name(text)).zip_with(runs, text).alias(text.name)


def refuse_nested_columns(schema: Mapping[str, pl.DataType], layout: Origin) -> None:
    """Refuse lists, structures and bytes where a format has no place for them."""
    if layout.format in ("parquet", "arrow"):
        return
    # Text has bytes in no form that everybody reads.
    odd = [
        name
        for name, dtype in schema.items()
        if dtype == pl.Binary or (dtype.is_nested() and layout.format != "jsonl")
    ]
    if odd:
        raise OutputError(
            f"{layout.path} cannot be written: this format has no place for {schema[odd[0]]} in "
            f"{quote(odd)}; write .parquet or .arrow, or leave the column out as an identifier"
        )


def _to_write(frame: object) -> pl.DataFrame:
    try:
        table = from_native(frame)[0]
    except InputError as error:
        raise OutputError(f"the release cannot be written: {error}") from error
    # Categories in lists come with all that this process has seen.
    return table.with_columns(find_nested(table, leave_everything_out).values())


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    # A file that does not exist yet has nothing but its path.
    return os.path.realpath(one) == os.path.realpath(other)


def _list_needed_modules(path: Path) -> Iterator[tuple[str, str]]:
    format, compression = by_suffix(path)
    if format in ("sav", "dta"):
        yield "pyreadstat", "shoal[statistics]"
    if format == "excel":
        yield "xlsxwriter", "shoal[excel]"
    if compression == "zstd":
        yield "zstandard", "shoal[zstd]"


def choose_layout(path: Path, like: Origin | None, delimiter: str | None) -> Origin:
    """Return how to write a file: in the format that its name says; delimited text as told, or as it was."""
    format, compression = by_suffix(path)
    if format != "text":
        is_stream = ".arrows" in (suffix.lower() for suffix in path.suffixes[-2:])
        return Origin("path", path=path, format=format, compression=compression, is_stream=is_stream)
    origin = like if like is not None and like.format == "text" else Origin("path")
    # Neither the frame nor the metadata of the input goes along unasked.
    origin = replace(origin, native=None, metadata=None)
    is_tsv = ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:])
    char = check_delimiter(delimiter) if delimiter is not None else "\t" if is_tsv else origin.delimiter
    return replace(origin, path=path, format="text", compression=compression, delimiter=char)


def _write_delimited(table: pl.DataFrame, stream: IO[bytes], layout: Origin) -> None:
    starts = range(0, max(table.height, 1), _BATCH)
    write_delimited((table.slice(start, _BATCH) for start in starts), stream, layout)


def write_delimited(batches: Iterable[pl.DataFrame], stream: IO[bytes], layout: Origin) -> None:
    """Write delimited text, batch by batch."""
    encoder = codecs.getincrementalencoder(layout.encoding)()
    stream.write(encoder.encode("\ufeff" * layout.bom))
    for at, part in enumerate(batches):
        table = part.with_columns(
            to_strings(each) for each in part.get_columns() if each.dtype == pl.Duration
        )
        batch = BytesIO()
        table.write_csv(
            batch,
            separator=layout.delimiter,
            line_terminator=layout.newline,
            include_header=at == 0 and layout.header,
            # A missing value alone on its line would be a blank line, which at the end of a file is nothing.
            null_value='""' if table.width == 1 else "",
        )
        if _NUL.search(batch.getbuffer()):
            raise OutputError(
                "a cell has a NUL character, with which no program reads delimited text; write another "
                "format, such as .parquet"
            )
        stream.write(
            batch.getbuffer() if layout.encoding == "utf-8" else _encode_batch(encoder, batch, layout)
        )


def _encode_batch(encoder: codecs.IncrementalEncoder, batch: BytesIO, layout: Origin) -> bytes:
    text = batch.getvalue().decode()
    try:
        return encoder.encode(text)
    except UnicodeEncodeError as error:
        raise OutputError(
            f"the character {text[error.start]!r} does not exist in {layout.encoding}, the encoding of the "
            "input; convert the input to UTF-8 or write another format, such as .parquet"
        ) from None


def _write_excel(table: pl.DataFrame, stream: IO[bytes], _: Origin) -> None:
    text = [use_safe_name(column) for column in table.get_columns() if column.dtype == pl.String]
    long = any((column.str.len_chars() > _SHEET_CELL).any() for column in text)
    if long or table.height > _SHEET_ROWS or table.width > _SHEET_COLUMNS:
        raise OutputError(
            f"a sheet holds {_SHEET_ROWS} rows, {_SHEET_COLUMNS} columns and {_SHEET_CELL} characters per "
            "cell, less than the release needs; write another format, such as .csv"
        )
    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with import_optional("xlsxwriter", "shoal[excel]").Workbook(stream, options) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})  # the time of writing would be in every file
        # Column by column, since polars takes a name like '^a$' for a pattern.
        pl.DataFrame([_for_sheet(use_safe_name(column)).alias(column.name) for column in table]).write_excel(
            book
        )


def _for_sheet(column: pl.Series) -> pl.Series:
    """A column as a sheet can hold it: as text, where its numbers or times would lose something there."""
    return column if _fits_sheet(column) else to_strings(column)


def _fits_sheet(column: pl.Series) -> bool:
    """Whether a sheet holds all values: it has numbers of 15 digits, and times of so many milliseconds."""
    dtype = column.dtype
    if dtype.is_integer():
        # Wide enough for the bounds, which small types cannot be compared with.
        return bool(column.cast(pl.Int128).is_between(-_SHEET_NUMBER, _SHEET_NUMBER).all())
    if dtype.is_decimal():
        texts = column.cast(pl.String).str.replace_all(r"[^0-9]", "").str.strip_chars_start("0")
        return bool((texts.str.len_chars() <= _SHEET_DIGITS).all())
    if dtype == pl.Time:
        return bool((column.to_physical() % 1_000_000 == 0).all())
    if dtype == pl.Date:
        return bool(column.is_between(_SHEET_DAY, date.max).all())
    if isinstance(dtype, pl.Datetime):
        whole = column.dt.truncate("1ms") == column
        days = column.dt.date().is_between(_SHEET_DAY, date.max)
        return dtype.time_zone is None and bool((whole & days).all())
    return dtype != pl.Duration


def _write_arrow(table: pl.DataFrame, stream: IO[bytes], layout: Origin) -> None:
    if layout.is_stream:
        table.write_ipc_stream(stream)
    else:
        table.write_ipc(stream)


def _write_by_extension(table: pl.DataFrame, stream: IO[bytes], layout: Origin) -> None:
    """Write by the class of a format; whatever it raises becomes an OutputError."""
    try:
        FORMATS[str(layout.format)]().write(table, stream)
    except ShoalError:
        raise
    except Exception as error:  # the code of somebody else may raise anything
        said = error or type(error).__name__
        raise OutputError(f"{layout.path} cannot be written as {layout.format}: {said}") from error


def _copy_metadata(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    return dict(metadata) if metadata else None


_PUT: dict[Format, Callable[[pl.DataFrame, IO[bytes], Origin], None]] = {
    "text": _write_delimited,
    "excel": _write_excel,
    "parquet": lambda table, stream, layout: table.write_parquet(
        stream, metadata=_copy_metadata(layout.metadata)
    ),
    "arrow": _write_arrow,
    "jsonl": lambda table, stream, _: table.write_ndjson(stream),
}


@contextmanager
def _open_compressed(raw: IO[bytes], compression: Compression | None) -> Iterator[IO[bytes]]:
    if compression == "gzip":
        # No name and no time in the header: the same table gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif compression == "zstd":
        with (
            import_optional("zstandard", "shoal[zstd]")
            .ZstdCompressor()
            .stream_writer(raw, closefd=False) as stream
        ):
            yield stream
    else:
        yield raw
