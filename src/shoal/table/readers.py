"""Reading a table from a file of any supported format, or from a frame."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import polars as pl

from shoal.errors import InputError, PluginError, ShoalError, quote, unknown
from shoal.support.addresses import is_address
from shoal.support.files import as_path
from shoal.support.parameters import check_fields
from shoal.table.addresses import load_address, refuse_query
from shoal.table.decimals import Decimal, check_decimal, read_decimal_commas
from shoal.table.delimited import (
    DelimitedLayout,
    check_delimiter,
    find_layout,
    make_column_names,
    read_delimited,
    take_quasi_line,
)
from shoal.table.encodings import TextSource, load_text
from shoal.table.formats import (
    FORMATS,
    Compression,
    Format,
    detect_format,
    explain_errors,
    has_magic,
    import_optional,
    read_chunks,
    read_head,
)
from shoal.table.frames import Origin, Table, check_columns, check_names, check_schema, from_native
from shoal.table.native import (
    LeftOut,
    explain_failure,
    find_nested,
    flatten_column,
    flatten_left_out,
    holds_values,
    leave_everything_out,
    leave_nothing_out,
)
from shoal.table.sources import (
    ensure_parts_unchanged,
    is_delta_table,
    is_file_object,
    join_parts,
    list_parts,
    open_delta_table,
    spool_file_object,
)

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

_LEAST_ADDRESSES = 1_500 << 20  # seen on two cores: below, threads of polars may never start


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
    quasi_line
        The line of delimited text that has the numbers of the quasi-identifiers, as in files of Mondrian in
        C: it is no row, and blanks after commas are no part of the cells.
    sheet
        Of a workbook, by its name; the first when None.
    decimal
        What stands before the decimals of numbers in delimited text: a point, or a comma as in ``1.234,50``.
        Such numbers are released with a point.
    query
        What is read of a database, as SQL; a table if its address names one.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    na: tuple[str, ...] = ()
    quasi_line: int | None = None
    sheet: str | None = None
    decimal: Decimal = "."
    query: str | None = None

    def __post_init__(self) -> None:
        check_decimal(self.decimal)  # whose error says more
        check_fields(self)
        if self.quasi_line is not None and self.quasi_line < 1:
            raise InputError(f"lines are counted from 1, so that there is no line {self.quasi_line}")
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))

    def for_releases(self) -> ReadOptions:
        """The same for a release of the table, in which numbers have a point."""
        return replace(self, decimal=".", query=None)


_DEFAULTS = ReadOptions()


def read_table(
    source: object,
    options: ReadOptions = _DEFAULTS,
    *,
    with_index: bool = True,
    may_be_empty: bool = False,
    left_out: LeftOut = leave_nothing_out,
    uncounted: LeftOut = leave_nothing_out,
) -> Table:
    """Read a table.

    Parameters
    ----------
    source
        A path, a frame of pandas, polars (also lazy) or pyarrow, an Arrow stream, or an open file. Files are
        delimited text, Parquet, Arrow, JSON lines or Excel, by their first bytes or else their suffix, and
        may be compressed by gzip or zstd. A folder, or a pattern such as ``day_*.parquet``, is one table in
        several files; so is what an address names, as ``sqlite:///clinic.db#patients``.
    options
        For delimited text, what need not be detected; for all sources, what counts as missing.
    with_index
        Whether the index of a pandas frame becomes columns, where it is more than a count of the rows.
    may_be_empty
        Whether a table without rows is one, too, as a private sample may be.
    left_out
        Gets the names of all columns, and says which of them are left out of the release: these may hold
        anything, and are read as texts where they hold no single values.
    uncounted
        Says which of them are released as they are and counted nowhere: these may hold lists, structures or
        bytes, for which texts stand wherever values are told apart.

    Raises
    ------
    InputError
        When the source cannot be read whole and without doubt; names the line or column.
    """
    if isinstance(source, str | os.PathLike):
        refuse_query(source, options.query)
    if is_address(source):
        frame, origin = _read_address(str(source), options, may_be_empty)
    elif isinstance(source, str | os.PathLike):
        frame, origin = _read_files(as_path(source), options, may_be_empty)
    elif is_file_object(source):
        with spool_file_object(source) as path:
            frame, origin = _read_path(path, options, may_be_empty)
        origin = replace(origin, path=None)
    else:
        frame, origin = from_native(source, with_index=with_index, left_out=left_out)
    nested = find_nested(frame, uncounted)
    flat = flatten_left_out(frame.with_columns(map(flatten_column, nested.values())), left_out)
    check_schema(str(origin), flat.schema) if may_be_empty else check_columns(str(origin), flat)
    pairs = zip(frame.schema.items(), flat.dtypes, strict=True)
    changed = {name: kind for (name, kind), now in pairs if kind != now}
    flattened = {name: _describe_type(kind) for name, kind in changed.items()}
    return Table(flat, origin, options.na, flattened, nested)


def read_released(source: object, options: ReadOptions = _DEFAULTS, *, may_be_empty: bool = False) -> Table:
    """Read a release, whose columns may hold anything; who counts some of them refuses those that do."""
    return read_table(source, options, may_be_empty=may_be_empty, left_out=leave_everything_out)


def _describe_type(kind: pl.DataType) -> str:
    """What a column held that had to become texts."""
    return f"{kind} outside of the calendar" if holds_values(kind) else str(kind)


def check_file(path: Path) -> None:
    """Raise an InputError unless ``path`` is a file with something in it, and there is memory to read it."""
    check_address_space()
    with explain_errors(path):
        size = path.stat().st_size
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of a file")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file; save its content to a file first")
    if size == 0:
        raise InputError(f"{path} is empty")


def check_address_space() -> None:
    """Refuse to begin where polars could not start its threads: it would wait for them without an end."""
    if resource is None:
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY and most < _LEAST_ADDRESSES:
        raise InputError(
            f"this process may use {most >> 20:,} MB of addresses (ulimit -v), and needs "
            f"{_LEAST_ADDRESSES >> 20:,} MB to begin: raise that limit"
        )


def _read_address(address: str, options: ReadOptions, may_be_empty: bool) -> tuple[pl.DataFrame, Origin]:
    """Read what an address names, by way of a private file."""
    path = load_address(address, options.query)
    try:
        frame, origin = _read_files(path, options, may_be_empty)
    except InputError as error:
        raise InputError(str(error).replace(str(path), address)) from error
    return frame, replace(origin, path=None, address=address)


def _read_files(path: Path, options: ReadOptions, may_be_empty: bool) -> tuple[pl.DataFrame, Origin]:
    """Read a file, or all parts of a table that is several."""
    if is_delta_table(path):
        with explain_failure(f"the Delta table {path}"):
            rows = pl.DataFrame(pl.from_arrow(open_delta_table(path).to_table()))
        return rows, Origin("path", path=path, format="parquet")
    parts = list_parts(path)
    with ensure_parts_unchanged(parts or [path]):
        if parts is None:
            return _read_path(path, options, may_be_empty)
        origins = []

        def read_part(part: Path) -> pl.DataFrame:
            frame, origin = _read_path(part, options, may_be_empty=True)
            origins.append(origin)
            return frame

        frame = join_parts(path, parts, read_part)
    # The release is written as the first of them is.
    return frame, replace(origins[0], path=path)


def _read_path(path: Path, options: ReadOptions, may_be_empty: bool) -> tuple[pl.DataFrame, Origin]:
    check_file(path)
    _refuse_database(path)
    format, compression = detect_format(path)
    if format == "text":
        return _read_text(path, compression, options, may_be_empty)
    origin = Origin("path", path=path, format=format, compression=compression)
    if format == "parquet":
        origin = add_metadata(origin, path, compression)
    if format == "jsonl":
        return _read_json_lines(path, load_text(path, compression, options.encoding)), origin
    if format in ("parquet", "arrow"):
        return read_typed(path, format, compression), origin
    if format != "excel":
        return _read_extension(path, format, compression), origin
    _check_magic(path, format, compression)
    with _open_content(path, compression) as content:
        return _read_excel(path, content, options), origin


def _refuse_database(path: Path) -> None:
    """Say how a table of a database is named, to somebody who named its file alone."""
    head = read_head(path, None, 16)
    schemes = {"sqlite": head.startswith(b"SQLite format 3\0"), "duckdb": head[8:12] == b"DUCK"}
    for scheme, is_one in schemes.items():
        if is_one:
            strokes = "///"  # a path from the root begins with a fourth
            raise InputError(f"{path} is a database: name a table in it, as {scheme}:{strokes}{path}#TABLE")


def _read_extension(path: Path, format: Format, compression: Compression | None) -> pl.DataFrame:
    """Read a file by the class of its format."""
    content = BytesIO(b"".join(read_chunks(path, compression)))
    return read_by_extension(format, content, str(path))


def read_by_extension(format: Format, content: IO[bytes], where: str) -> pl.DataFrame:
    """The table that the class of a format reads; whatever it raises becomes an InputError."""
    try:
        found = FORMATS[format]().read(content)
    except ShoalError:
        raise
    except Exception as error:  # the code of somebody else may raise anything
        raise InputError(f"{where} cannot be read as {format}: {error or type(error).__name__}") from error
    if not isinstance(found, pl.DataFrame):
        raise PluginError(f"the file format '{format}' reads no polars frame, but {type(found).__name__}")
    return found


def read_typed(path: Path, format: Format, compression: Compression | None) -> pl.DataFrame:
    """Read a Parquet or an Arrow file."""
    _check_magic(path, format, compression)
    with _open_content(path, compression) as content:
        return _run_reader(path, pl.read_parquet if format == "parquet" else _read_arrow, content)


def add_metadata(origin: Origin, path: Path, compression: Compression | None) -> Origin:
    """What the footer of a Parquet file says besides its columns."""
    with _open_content(path, compression) as content:
        try:
            found = pl.read_parquet_metadata(content)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeDecodeError):
            return origin  # the reader of the rows says better what is wrong
    # Arrow's copy of the schema is no content: every writer makes its own.
    kept = {key: text for key, text in found.items() if key != "ARROW:schema"}
    return replace(origin, attached=("the metadata of the file",), metadata=kept) if kept else origin


def _read_text(
    path: Path, compression: Compression | None, options: ReadOptions, may_be_empty: bool
) -> tuple[pl.DataFrame, Origin]:
    text = load_text(path, compression, options.encoding)
    if options.quasi_line is not None:
        text, _ = take_quasi_line(path, text, options.quasi_line)
    layout = find_layout(path, text, options.delimiter, options.header, may_be_empty)
    frame = read_delimited(path, text, layout, options.header)
    if options.decimal == ",":
        frame = read_decimal_commas(frame, options.na)
    return frame, text_origin(path, text, layout, options.header, compression)


def read_quasi_names(path: Path, options: ReadOptions) -> list[str]:
    """The names of the columns whose numbers, from 0, stand in the line that the options name."""
    format, compression = detect_format(path)
    if format != "text" or options.quasi_line is None:
        raise InputError(f"{path} is no delimited text: no line of it has the numbers of columns")
    text = load_text(path, compression, options.encoding)
    text, numbers = take_quasi_line(path, text, options.quasi_line)
    names = find_layout(path, text, options.delimiter, options.header).names
    if wrong := [number for number in numbers if number >= len(names)]:
        raise InputError(
            f"{path}: line {options.quasi_line} names column {wrong[0]}, but the last one is {len(names) - 1}"
        )
    return [names[number] for number in numbers]


def text_origin(
    path: Path,
    text: TextSource,
    layout: DelimitedLayout,
    header: bool,
    compression: Compression | None = None,
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


def _open_content(path: Path, compression: Compression | None) -> IO[bytes]:
    # Polars gets an open file, since it would take the brackets in a path like 'a[1].parquet' for a pattern;
    # without a buffer, since it goes on where the operating system says the file stands.
    with explain_errors(path):
        return (
            BytesIO(b"".join(read_chunks(path, compression))) if compression else path.open("rb", buffering=0)
        )


def _run_reader(path: Path, reader: Callable[..., pl.DataFrame], content: IO[bytes]) -> pl.DataFrame:
    with explain_errors(path):
        try:
            return reader(content)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(f"{path} is damaged or not what its name says: {error}") from error


def _read_arrow(content: IO[bytes]) -> pl.DataFrame:
    # Streams have no magic bytes at their beginning.
    is_file = content.read(6) == b"ARROW1"
    content.seek(0)
    return pl.read_ipc(content) if is_file else pl.read_ipc_stream(content)


def _read_json_lines(path: Path, text: TextSource) -> pl.DataFrame:
    try:
        # All lines decide on the types: one far down may have another type than the first.
        return pl.read_ndjson(BytesIO(b"".join(text.read_chunks())), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: {_bad_json(text) or error}") from error


def _bad_json(text: TextSource) -> str:
    """Find the first line that is not an object of plain values, which polars does not tell."""
    lines = BytesIO(b"".join(text.read_chunks())).readlines()
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


def _read_excel(path: Path, content: IO[bytes], options: ReadOptions) -> pl.DataFrame:
    fastexcel = import_optional("fastexcel", "shoal[excel]")
    book = content.read()
    try:
        opened = fastexcel.read_excel(book)
        sheet = _choose_sheet(path, opened.sheet_names, options.sheet)
        names = _sheet_names(opened, sheet, options.header)
        check_names(str(path), names)
        frame = pl.read_excel(
            BytesIO(book),
            sheet_name=sheet,
            # Names are known; polars would take one like '*' for all columns.
            has_header=False,
            read_options={"skip_rows": 1} if options.header else {},
            # Types by all rows, and nothing is dropped: rows and columns may be empty on purpose.
            infer_schema_length=None,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read as a workbook: {_first_line(error)}") from error
    if not frame.height and len(opened.sheet_names) > 1:
        raise InputError(
            f"{path}: the sheet '{sheet}' has no rows; name another, as in --sheet NAME: "
            f"{quote(each for each in opened.sheet_names if each != sheet)}"
        )
    frame.columns = names
    return frame


def list_sheets(path: Path) -> list[str]:
    """The names of the sheets of a workbook."""
    fastexcel = import_optional("fastexcel", "shoal[excel]")
    with _open_content(path, detect_format(path)[1]) as content:
        names: list[str] = fastexcel.read_excel(content.read()).sheet_names
    return names


def _choose_sheet(path: Path, names: Sequence[str], asked: str | None) -> str:
    if asked is not None and asked not in names:
        raise InputError(f"{path}: {unknown('sheet', asked, names)}")
    return names[0] if asked is None else asked


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].removeprefix("calamine error: ")


def _sheet_names(book: Any, sheet: str, header: bool) -> list[str]:
    """Return the names of columns as they are; polars would rename equal and missing ones."""
    first = pl.DataFrame(book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string"))
    if not header:
        return make_column_names(first.width)
    return [name or "" for name in (first.row(0) if first.height else ())]
