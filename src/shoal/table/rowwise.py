"""Tables of which every row is read by itself, for releases that promise differential privacy.

What a cell is taken for depends on that cell and on what was stated, never on other rows. So nothing is
detected: not the encoding, not the delimiter, not the type of a column. A row that cannot be read is left out
without a word, because a word about it would be a word about somebody.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, RecipeError, quote
from shoal.kernels.records import find_cells
from shoal.table.formats import Compression, by_suffix, detect_format, ensure_unchanged, read_chunks
from shoal.table.frames import (
    Origin,
    Table,
    check_names,
    check_schema,
    from_native,
    to_strings,
    use_safe_name,
)
from shoal.table.native import is_pandas_frame, is_pyarrow_table
from shoal.table.readers import ReadOptions, check_file, read_typed
from shoal.table.types import FALSE_WORDS, NUMBER, TRUE_WORDS, ColumnType

ROW_TYPES: tuple[ColumnType, ...] = ("string", "integer", "float", "date", "boolean")
"""Types by which a value can be read without a look at others."""

Types: TypeAlias = Mapping[str, ColumnType]
"""Columns that are to be read, each with its stated type."""

_ROWS_AT_ONCE = 1 << 16
# A whole number beyond has neighbours that a float does not tell apart, and one missing value in a column of
# pandas makes floats of all its whole numbers.
_EXACT = float(1 << 53)
_TEXTS = ("object", "str", "string")
"""Types of pandas in which any object may stand."""
_DAY = r"^(\d{4}-\d{2}-\d{2})(?:[T ].*)?$"
# Not written: one other row with a time of day makes times of all days in a column.
_MIDNIGHT = "T00:00:00.000000"
_UNREADABLE = "\ufffd"


@dataclass(frozen=True, slots=True, eq=False)
class RowSource:
    """A table that has been opened, but of which no row has been looked at."""

    names: list[str]
    """Column names, in order."""
    origin: Origin
    """Where it came from, and how its release is written: as is known without its rows."""
    has_types: bool
    """Whether values come with types, as in frames: other rows may have decided these."""
    _read: Callable[[Types], pl.DataFrame] = field(repr=False)
    _labels: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What a pandas frame calls its columns."""

    def make_table(self, na: tuple[str, ...] = ()) -> Table:
        """The columns, without rows."""
        return Table(pl.DataFrame(schema=dict.fromkeys(self.names, pl.String)), self.origin, na)

    def read_columns(self, types: Types) -> pl.DataFrame:
        """Read the columns that have a type, of the rows that can be read; the others are not looked at."""
        return self._read(types)

    def give_back(self, frame: pl.DataFrame) -> Any:
        """Return a frame of the kind that came in; a polars one for a file."""
        if self.origin.kind == "pandas":
            made = frame.to_pandas()
            made.columns = [self._labels[name] for name in frame.columns]
            return made
        return frame.to_arrow() if self.origin.kind == "pyarrow" else frame


def open_rows(source: object, options: ReadOptions) -> RowSource:
    """Open a file or a frame whose rows are to be read one by one.

    Raises
    ------
    InputError
        When the source is of a kind that tells nothing of its columns before all rows were seen.
    """
    if isinstance(source, RowSource):
        return source
    if isinstance(source, str | PathLike):
        return _open_path(Path(source), options)
    if isinstance(source, Table):
        raise InputError(
            f"{source.origin} was read by looking at all of its rows: give its path, or the frame itself"
        )
    if is_pandas_frame(source):
        return _open_pandas(source)
    if isinstance(source, pl.LazyFrame):
        raise InputError("what a lazy frame is made of is only known once it is collected: collect it first")
    if is_pyarrow_table(source):
        table: Any = source
        return _open_typed(
            table.column_names, Origin("pyarrow"), lambda names: from_native(table.select(names))[0]
        )
    frame = from_native(source)[0]
    return _open_typed(frame.columns, Origin("polars"), lambda names: _select_columns(frame, names))


def _open_path(path: Path, options: ReadOptions) -> RowSource:
    with ensure_unchanged(path):
        check_file(path)
        format, compression = detect_format(path)
        if format == "text":
            return _open_text(path, compression, options)
        if format not in ("parquet", "arrow"):
            what = {"jsonl": "JSON lines", "excel": "a workbook"}.get(format, f"a .{format} file")
            raise InputError(
                f"{path}: the types of {what} are those of single cells, so that one row could decide on a "
                "column; take text, Parquet or Arrow"
            )
        frame = read_typed(path, format, compression)
    origin = Origin("path", path=path, format=format, compression=compression)
    return _open_typed(frame.columns, origin, lambda names: _select_columns(frame, names))


def _select_columns(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    # Column by column, since polars takes a name like '^a$' for a pattern.
    return pl.DataFrame([frame.get_column(name) for name in names])


def _open_typed(names: list[str], origin: Origin, chosen: Callable[[list[str]], pl.DataFrame]) -> RowSource:
    """Columns that have types, of which ``chosen`` gives some."""
    check_names(str(origin), names)

    def read_columns(types: Types) -> pl.DataFrame:
        frame = chosen(list(types))
        check_schema(str(origin), frame.schema)
        return frame

    return RowSource(names, origin, True, read_columns)


# Delimited text.


def _open_text(path: Path, compression: Compression | None, options: ReadOptions) -> RowSource:
    if not options.header:
        raise InputError(
            f"{path}: the names of its columns are needed in a header, since without one the first row would "
            "tell how many there are"
        )
    if options.decimal == ",":
        raise InputError(
            f"{path}: all rows together would decide which columns have decimal commas; "
            "write numbers with points"
        )
    encoding = _check_encoding(options.encoding)
    inner = path.with_suffix("") if by_suffix(path)[1] else path
    # By the name only: to detect it, one would have to look at rows.
    delimiter = options.delimiter or ("\t" if inner.suffix.lower() == ".tsv" else ",")
    names = _read_names(path, _first_line(path, compression, encoding), delimiter)
    origin = Origin("path", path=path, format="text", compression=compression, delimiter=delimiter)

    def read_columns(types: Types) -> pl.DataFrame:
        with ensure_unchanged(path):
            body = _read_body(path, compression, encoding)
        return _read_cells(body, delimiter, names, list(types))

    return RowSource(names, origin, False, read_columns)


def _check_encoding(stated: str | None) -> str:
    """The encoding, if a wrong byte in it spoils no other line: UTF-8, or one byte per character."""
    try:
        name = codecs.lookup(stated or "utf-8").name.removesuffix("-sig")
        # Each byte before a letter and a line end: if it swallows them, the length is another.
        pairs = b"".join(bytes([byte, 97, 10]) for byte in range(256))
        whole = name == "utf-8" or len(pairs.decode(name, "replace")) == len(pairs)
    except LookupError:
        raise InputError(f"unknown encoding '{stated}'; for example utf-8, latin-1 or cp1252") from None
    if not whole:
        raise InputError(
            f"in {stated} one wrong byte can change the characters after it, and so other rows: convert the "
            "table to UTF-8"
        )
    return name


def _first_line(path: Path, compression: Compression | None, encoding: str) -> str:
    """The header, after blank lines."""
    found = b""
    for chunk in read_chunks(path, compression, 1 << 16):
        found = (found + chunk).removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
        if b"\n" in found:
            break
    return found.partition(b"\n")[0].removesuffix(b"\r").decode(encoding, "replace")


def _read_names(path: Path, line: str, delimiter: str) -> list[str]:
    try:
        (names,) = csv.reader([line], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"{path}: the header cannot be read: {error}") from None
    check_names(str(path), names)
    return names


def _read_body(path: Path, compression: Compression | None, encoding: str) -> bytes:
    """What follows the header, as UTF-8; bytes that are no text become a character that says so."""
    raw = b"".join(read_chunks(path, compression)).removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    text = raw.partition(b"\n")[2].decode(encoding, "replace")
    return text.replace("\0", _UNREADABLE).encode()


def _read_cells(body: bytes, delimiter: str, names: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """The cells of some columns, of the lines that can be read."""
    slot = np.array([columns.index(name) if name in columns else -1 for name in names], np.int64)
    text, at = np.frombuffer(body, np.uint8), 0
    parts = [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
    shape = (_ROWS_AT_ONCE, len(columns))
    first, last, doubled = np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.bool_)
    while at < text.size:
        rows, at = find_cells(text, at, ord(delimiter), slot, first, last, doubled)
        found = (
            _extract_strings(text, first[:rows, j], last[:rows, j], doubled[:rows, j])
            for j in range(shape[1])
        )
        parts.append(pl.DataFrame([each.alias(name) for each, name in zip(found, columns, strict=True)]))
    return pl.concat(parts)


def _extract_strings(
    text: NDArray[np.uint8], first: NDArray[np.int64], last: NDArray[np.int64], doubled: NDArray[np.bool_]
) -> pl.Series:
    """Cells as texts, given where they begin and end: laid end to end with a NUL after each, then split."""
    if first.size == 0:
        return pl.Series([], dtype=pl.String)
    size = last - first + 1
    end = np.cumsum(size)
    # The place after a cell is read, too, and then overwritten; the last may lie beyond the text.
    index = np.arange(end[-1]) + np.repeat(first - (end - size), size)
    joined = text[np.minimum(index, text.size - 1)]
    # No cell contains a NUL: `_read_body` has replaced them.
    joined[end - 1] = 0
    cells = pl.Series([joined[:-1].tobytes().decode()]).str.split("\0").explode()
    if not doubled.any():
        return cells
    return cells.str.replace_all('""', '"', literal=True).zip_with(pl.Series(doubled), cells)


# Frames of pandas.


def _open_pandas(frame: Any) -> RowSource:
    names = [str(name) for name in frame.columns]
    check_names("the pandas frame", names)

    def read_columns(types: Types) -> pl.DataFrame:
        return pl.DataFrame(
            [_from_pandas(frame.iloc[:, names.index(name)], type).alias(name) for name, type in types.items()]
        )

    return RowSource(
        names, Origin("pandas"), True, read_columns, dict(zip(names, frame.columns, strict=True))
    )


def _from_pandas(column: Any, type: ColumnType) -> pl.Series:
    if hasattr(column, "cat"):
        categories = plain_text(_from_pandas(column.cat.categories.to_series(), type), type)
        return categories.gather(pl.Series(column.cat.codes.to_numpy(), dtype=pl.Int64).replace(-1, None))
    if hasattr(column, "sparse"):
        return _from_pandas(column.sparse.to_dense(), type)
    # A span of time as an object, too: one other value among them makes objects of all.
    is_object = str(column.dtype) in _TEXTS or str(column.dtype).startswith("string")
    if is_object or getattr(column.dtype, "kind", "") == "m":
        return _from_objects(column.astype(object), type)
    if getattr(getattr(column.dtype, "pyarrow_dtype", column.dtype), "tz", None) is not None:
        column = column.dt.tz_localize(None)  # what the clock says there, as objects say it
    if getattr(column.dtype, "kind", "") == "c":
        numbers = column.to_numpy()
        return pl.Series(np.where(numbers.imag == 0, numbers.real, np.nan))
    frame: pl.DataFrame = from_native(column.reset_index(drop=True).to_frame("value"))[0]
    check_schema("the pandas frame", frame.schema)
    return frame.to_series()


def _from_objects(column: Any, type: ColumnType) -> pl.Series:
    """Objects as texts, each by itself: pandas and pyarrow would look at all of them to find a type."""
    missing = column.isna().to_numpy()
    there = column.to_numpy()[~missing]
    found = _from_texts(there)
    if found is None:
        number, text = zip(*map(_object_text, there), strict=True)
        texts = pl.Series(text, dtype=pl.String)
        found = texts.zip_with(texts.is_not_null(), plain_text(pl.Series(number, dtype=pl.Float64), type))
    place = np.where(missing, -1, np.cumsum(~missing) - 1)
    return found.gather(pl.Series(place, dtype=pl.Int64).replace(-1, None))


def _from_texts(values: NDArray[np.object_]) -> pl.Series | None:
    """Objects that are all texts, in one go; None if some are not, or have characters that are none."""
    try:
        return pl.Series(values.tolist(), dtype=pl.String)
    except (TypeError, ValueError):  # those about characters are ValueErrors
        return None


def _object_text(value: Any) -> tuple[float | None, str | None]:
    """An object as a number, or else as a text; as neither where it cannot be had, and so is missing."""
    try:
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = value.astype(f"{value.dtype.kind}8[us]").item()
        if isinstance(value, int | float | complex | Decimal | np.number) and not isinstance(value, bool):
            return _to_real(value), None
        text = _as_python_text(value)
        return None, text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    except (ArithmeticError, TypeError, ValueError):  # somebody's own type
        return None, None


def _to_real(value: Any) -> float | None:
    return float(value.real) if value.imag == 0 else None


def _as_python_text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")[:26].removesuffix(_MIDNIGHT)
    if isinstance(value, timedelta):
        return str(to_strings(pl.Series([value], dtype=pl.Duration("us")))[0])
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.isoformat() if isinstance(value, date) else str(value)


# Values.


def written_text(values: pl.Series, type: ColumnType, na: Sequence[str] = ()) -> pl.Series:
    """Return values as they are written in a release, each by itself; null for what counts as missing.

    Parameters
    ----------
    values
        Text or typed values, with nulls.
    type
        One of `ROW_TYPES`. Text stays as it is, numbers are written in one way however they came. A value
        that is not of the type counts as missing, and so does a whole number that floats do not tell from
        its neighbours.
    na
        Further values that count as missing.
    """
    plain = plain_text(use_safe_name(values), type)
    written = _WRITTEN[type](plain)
    marks = pl.Series([*na, ""], dtype=pl.String)
    missing = plain.is_in(marks.to_list()) | written.is_in(_WRITTEN[type](marks).drop_nulls().to_list())
    return written.set(missing.fill_null(True), None)


def plain_text(values: pl.Series, type: ColumnType) -> pl.Series:
    """Return typed values as text: a number is the same text whatever the type of its column."""
    if values.dtype.is_numeric():
        number = values.cast(pl.Float64, strict=False)
        if type != "float":  # then the digits count, and are not known where they are not exact
            number = number.set((number.abs() >= _EXACT).fill_null(False), None)
        return number_text(number)
    if isinstance(values.dtype, pl.Datetime):
        return values.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f").str.strip_suffix(_MIDNIGHT)
    # A NUL cannot be written to delimited text so that everybody can read it.
    return to_strings(values).str.replace_all("\0", _UNREADABLE, literal=True)


def number_text(number: pl.Series) -> pl.Series:
    """Return numbers as text: whole ones without a point; null for what is not finite."""
    number = number.set(~number.is_finite(), None)
    whole = _is_whole(number)
    return number.set(~whole, None).cast(pl.Int64).cast(pl.String).zip_with(whole, number.cast(pl.String))


def _is_whole(number: pl.Series) -> pl.Series:
    return ((number == number.floor()) & (number.abs() < _EXACT)).fill_null(False)


def _parse_numbers(text: pl.Series) -> pl.Series:
    stripped = text.str.strip_chars()
    return stripped.set(~stripped.str.contains(NUMBER).fill_null(False), None).cast(pl.Float64, strict=False)


def _integer_text(text: pl.Series) -> pl.Series:
    number = _parse_numbers(text)
    return number_text(number.set(~_is_whole(number), None))


def _date_text(text: pl.Series) -> pl.Series:
    day = text.str.strip_chars().str.extract(_DAY)
    return day.str.to_date("%Y-%m-%d", strict=False).cast(pl.String)


def _boolean_text(text: pl.Series) -> pl.Series:
    number = number_text(_parse_numbers(text))
    word = number.zip_with(number.is_not_null(), text.str.strip_chars().str.to_lowercase())
    truth = dict.fromkeys(TRUE_WORDS, "true") | dict.fromkeys(FALSE_WORDS, "false")
    return word.replace_strict(truth, default=None, return_dtype=pl.String)


_WRITTEN: dict[ColumnType, Callable[[pl.Series], pl.Series]] = {
    "string": lambda text: text,
    "integer": _integer_text,
    "float": lambda text: number_text(_parse_numbers(text)),
    "date": _date_text,
    "boolean": _boolean_text,
}


def check_row_types(types: Types, columns: Sequence[str], needed: bool) -> None:
    """Refuse columns whose values cannot be read one by one, or whose types are ``needed`` and not stated."""
    if absent := [name for name in columns if needed and name not in types]:
        raise RecipeError(
            f"state the type of {quote(absent)}, as in --type {absent[0]}=integer: the type that a frame or "
            f"a typed file has may be due to a single row; there are {quote(ROW_TYPES)}"
        )
    if wrong := [name for name in columns if types.get(name, "string") not in ROW_TYPES]:
        raise RecipeError(
            f"the type of '{wrong[0]}' cannot be {types[wrong[0]]} here, where every value is read by "
            f"itself: there are {quote(ROW_TYPES)}"
        )
