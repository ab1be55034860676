"""Reading a table from a file of any supported format, or from a frame."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import polars as pl

from shoal.errors import InputError, quote
from shoal.table.delimited import Layout, check_delimiter, find_layout, numbered, read_delimited
from shoal.table.encodings import Text, load
from shoal.table.formats import Compression, Format, chunks, explained, has_magic, needs, sniff, unchanged
from shoal.table.frames import Origin, Table, check_columns, check_names, from_native


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the reader is told rather than left to find out.

    Parameters
    ----------
    delimiter, encoding
        Of delimited text; detected when None.
    header
        Whether the first row of delimited text or of a sheet has the names; else ``column_1``, ``column_2``.
    na
        Cells that stand for a missing value.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    na: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))


_DEFAULTS = ReadOptions()


def read(source: object, options: ReadOptions = _DEFAULTS) -> Table:
    """Read a table.

    Parameters
    ----------
    source
        A path, or a frame of pandas, polars (also lazy) or pyarrow. Files are delimited text, Parquet, Arrow,
        JSON lines or Excel, by their first bytes or else their suffix, and may be compressed by gzip or zstd.
    options
        For delimited text, what need not be detected; for all sources, what counts as missing.

    Raises
    ------
    InputError
        When the source cannot be read whole and without doubt; names the line or column.
    """
    if isinstance(source, str | os.PathLike):
        with unchanged(Path(source)):
            frame, origin = _read_path(Path(source), options)
    else:
        frame, origin = from_native(source)
    check_columns(str(origin), frame)
    return Table(frame, origin, options.na)


def check_file(path: Path) -> None:
    """Raise an InputError unless ``path`` is a file with something in it."""
    with explained(path):
        size = path.stat().st_size
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of a file")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file; save its content to a file first")
    if size == 0:
        raise InputError(f"{path} is empty")


def _read_path(path: Path, options: ReadOptions) -> tuple[pl.DataFrame, Origin]:
    check_file(path)
    format, compression = sniff(path)
    if format == "text":
        return _read_text(path, compression, options)
    origin = Origin("path", path=path, format=format, compression=compression)
    if format == "jsonl":
        return _read_json_lines(path, load(path, compression, options.encoding)), origin
    _check_magic(path, format, compression)
    with _content(path, compression) as content:
        if format == "excel":
            return _read_excel(path, content, options.header), origin
        return _typed(path, pl.read_parquet if format == "parquet" else _read_arrow, content), origin


def _read_text(
    path: Path, compression: Compression | None, options: ReadOptions
) -> tuple[pl.DataFrame, Origin]:
    text = load(path, compression, options.encoding)
    layout = find_layout(path, text, options.delimiter, options.header)
    frame = read_delimited(path, text, layout, options.header)
    return frame, text_origin(path, text, layout, options.header, compression)


def text_origin(
    path: Path, text: Text, layout: Layout, header: bool, compression: Compression | None = None
) -> Origin:
    """What there is to say of delimited text."""
    return Origin(
        "path",
        path=path,
        format="text",
        compression=compression,
        delimiter=layout.delimiter,
        encoding=text.encoding,
        bom=text.bom,
        newline=layout.line_end,
        header=header,
    )


def _check_magic(path: Path, format: Format, compression: Compression | None) -> None:
    """Refuse text, or whatever else it is, under the name of another format; an Arrow stream has no mark."""
    if not has_magic(path, format, compression):
        raise InputError(
            f"{path} is no {format} file, whatever its name says: it does not begin as one; if it is text, "
            "give it a name that ends in .csv"
        )


def _content(path: Path, compression: Compression | None) -> IO[bytes]:
    # Polars gets an open file, since it would take the brackets in a path like 'a[1].parquet' for a pattern;
    # without a buffer, since it goes on where the operating system says the file stands.
    with explained(path):
        return BytesIO(b"".join(chunks(path, compression))) if compression else path.open("rb", buffering=0)


def _typed(path: Path, reader: Callable[..., pl.DataFrame], content: IO[bytes]) -> pl.DataFrame:
    with explained(path):
        try:
            return reader(content)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(f"{path} is damaged or not what its name says: {error}") from error


def _read_arrow(content: IO[bytes]) -> pl.DataFrame:
    is_file = content.read(6) == b"ARROW1"
    content.seek(0)
    return pl.read_ipc(content) if is_file else pl.read_ipc_stream(content)


def _read_json_lines(path: Path, text: Text) -> pl.DataFrame:
    try:
        return pl.read_ndjson(BytesIO(b"".join(text.chunks())), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: {_bad_json(text) or error}") from error


def _bad_json(text: Text) -> str:
    """Find the first line that is not an object of plain values, which polars does not tell."""
    lines = BytesIO(b"".join(text.chunks())).readlines()
    wrong = ((number, _bad_object(line)) for number, line in enumerate(lines, 1) if line.strip())
    found = next((f"line {number} {problem}" for number, problem in wrong if problem), "")
    return found if any(map(bytes.strip, lines)) else "there are no rows in it"


def _bad_object(line: bytes) -> str:
    try:
        found = json.loads(line.strip())
    except json.JSONDecodeError as error:
        return f"is not JSON: {error.msg}, at character {error.colno}"
    except (ValueError, RecursionError) as error:
        return f"is not JSON: {error}"
    if not isinstance(found, dict):
        return "is not a JSON object"
    nested = [name for name, value in found.items() if isinstance(value, dict | list)]
    return f"has lists or objects in {quote(nested)}; flatten them to plain values" if nested else ""


def _read_excel(path: Path, content: IO[bytes], header: bool) -> pl.DataFrame:
    fastexcel = needs("fastexcel", "shoal[excel]")
    book = content.read()
    try:
        names = _sheet_names(fastexcel.read_excel(book), header)
        check_names(str(path), names)
        frame = pl.read_excel(
            BytesIO(book),
            has_header=header,
            infer_schema_length=None,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read as a workbook: {_first_line(error)}") from error
    frame.columns = names
    return frame


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].removeprefix("calamine error: ")


def _sheet_names(book: Any, header: bool) -> list[str]:
    """Return the names in the first sheet as they stand; polars would rename equal and missing ones."""
    first = pl.DataFrame(book.load_sheet(0, header_row=None, n_rows=1, dtypes="string"))
    if not header:
        return numbered(first.width)
    return [name or "" for name in (first.row(0) if first.height else ())]
