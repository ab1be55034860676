"""Reads what was written, as a stranger would: the judge's own readers, which share nothing with Shoal.

Delimited text and JSON are read with the standard library, workbooks as the XML that they are, Parquet and
Arrow with pyarrow. Every cell is known in two ways: as it stands there, which tells rows apart, and as the
value that it stands for, which can be compared with the original.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import pickle
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet
import zstandard

ZSTD = b"\x28\xb5\x2f\xfd"
TOKEN = re.compile(rb"zq\d{9}qz")
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_EPOCH = datetime(1899, 12, 30)


@dataclass(frozen=True)
class Cells:
    """A table that was read."""

    names: list[str]
    columns: dict[str, list[Any]]
    is_text: bool = False
    """Whether an empty cell may be a missing value or an empty text."""
    is_sheet: bool = False


class Spelling(str):
    """A number in JSON as it is spelt, which is no text."""


def read_cells(content: bytes, format: str) -> Cells:
    """Read a file by its suffix, or a frame that was pickled."""
    return _READERS[format](content)


def _of_rows(names: list[str], rows: Iterable[Sequence[Any]], **told: bool) -> Cells:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return Cells(names, {name: list(cells) for name, cells in zip(names, columns, strict=True)}, **told)


def _read_text(content: bytes, delimiter: str = ",") -> Cells:
    names, *rows = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
    return _of_rows(names, [row or [""] for row in rows], is_text=True)


def _read_lines(content: bytes) -> Cells:
    lines = [
        json.loads(line, parse_int=Spelling, parse_float=Spelling)
        for line in content.decode().split("\n")
        if line
    ]
    names = list(lines[0]) if lines else []
    if wrong := next((line for line in lines if list(line) != names), None):
        raise ValueError(f"a line has other keys: {wrong}")
    return _of_rows(names, [list(line.values()) for line in lines])


def _read_book(content: bytes) -> Cells:
    """The first sheet of a workbook."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        parts = set(book.namelist())
        shared = []
        if "xl/sharedStrings.xml" in parts:
            root = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
            shared = ["".join(t.text or "" for t in si.iter(f"{_SHEET}t")) for si in root]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    rows = [_sheet_row(row, shared) for row in sheet.iter(f"{_SHEET}row")]
    names = [str(name) for name in rows[0]]
    padded = [row + [None] * (len(names) - len(row)) for row in rows[1:]]
    return _of_rows(names, padded, is_text=True, is_sheet=True)


def _sheet_row(row: Any, shared: list[str]) -> list[Any]:
    found: list[Any] = []
    for cell in row:
        at = _place(cell.get("r"))
        found += [None] * (at - len(found))
        value = cell.find(f"{_SHEET}v")
        kind = cell.get("t")
        text = None if value is None else value.text
        if kind == "s" and text is not None:
            found.append(_unescaped(shared[int(text)]))
        elif kind == "b":
            found.append(text == "1")
        else:
            found.append(None if text is None else text if kind == "str" else float(text))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"_x([0-9A-F]{4})_", lambda m: chr(int(m[1], 16)), text)


def _place(reference: str) -> int:
    at = 0
    for letter in re.match(r"[A-Z]+", reference)[0]:  # type: ignore[index]
        at = 26 * at + ord(letter) - 64
    return at - 1


def _read_arrow(table: pa.Table) -> Cells:
    return Cells(table.column_names, {name: _listed(table.column(name)) for name in table.column_names})


def _listed(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_duration(kind):  # which pandas would be needed for
        ticks = {"s": 10**6, "ms": 10**3, "us": 1, "ns": Decimal("0.001")}[kind.unit]
        return [None if v is None else timedelta(microseconds=float(v * ticks))
                for v in column.cast(pa.int64()).to_pylist()]  # fmt: skip
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz))  # refused if something would be lost
    return column.to_pylist()


def _read_pickle(content: bytes) -> Cells:
    frame = pickle.loads(content)
    module = type(frame).__module__.split(".")[0]
    if module == "pyarrow":
        return _read_arrow(frame)
    if module == "polars":
        frame = frame.collect() if hasattr(frame, "collect") else frame
        return Cells(frame.columns, {series.name: series.to_list() for series in frame})
    if list(frame.index) != list(range(len(frame))):
        raise ValueError(f"the released frame has an index of its own: {frame.index}")
    columns = {str(name): list(map(_from_pandas, frame[name].tolist())) for name in frame.columns}
    return Cells(list(columns), columns)


def _from_pandas(value: Any) -> Any:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    for convert in ("to_pydatetime", "to_pytimedelta"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    return value


_READERS: dict[str, Callable[[bytes], Cells]] = {
    "csv": _read_text,
    "tsv": lambda content: _read_text(content, "\t"),
    "csv.gz": lambda content: _read_text(gzip.decompress(content)),
    "csv.zst": lambda content: _read_text(zstandard.ZstdDecompressor().decompressobj().decompress(content)),
    "parquet": lambda content: _read_arrow(pyarrow.parquet.read_table(io.BytesIO(content))),
    "arrow": lambda content: _read_arrow(pa.ipc.open_file(content).read_all()),
    "feather": lambda content: _read_arrow(pa.ipc.open_file(content).read_all()),
    "arrows": lambda content: _read_arrow(pa.ipc.open_stream(content).read_all()),
    "jsonl": _read_lines,
    "xlsx": _read_book,
    "pickle": _read_pickle,
}


# Values.


def value_of(cell: Any, kind: str, cells: Cells) -> Any:
    """What a cell of an untouched column stands for; the cell itself, if it is no value of its kind."""
    if cell is None or (cells.is_text and cell == ""):
        return None
    try:
        return _VALUES.get(kind, _same)(cell)
    except (ValueError, TypeError, InvalidOperation, AttributeError):
        return cell


def label_of(cell: Any, kind: str, cells: Cells) -> Any:
    """A cell of a quasi-identifier as a reader of labels takes it: a value that stayed itself, or a text."""
    if cell is None:
        return "" if cells.is_sheet else None
    if cell == "" and cells.is_text:
        return ""
    if kind in ("time", "duration"):
        found = value_of(cell, kind, cells)
        return iso_text(found) if isinstance(found, time | timedelta) else str(cell)
    if isinstance(cell, Spelling):
        return str(cell)
    if kind == "zoned" or (cells.is_sheet and isinstance(cell, float)):
        return value_of(cell, kind, cells)
    return cell


def _same(cell: Any) -> Any:
    return str(cell) if isinstance(cell, Spelling) else cell


def _to_date(cell: Any) -> date:
    if isinstance(cell, float):
        return (_EPOCH + timedelta(cell)).date()
    if isinstance(cell, datetime):
        return cell.date()
    return cell if isinstance(cell, date) else date.fromisoformat(cell[:10])


def _to_moment(cell: Any) -> datetime:
    if isinstance(cell, float):
        return _EPOCH + timedelta(milliseconds=round(cell * 86_400_000))
    found = cell if isinstance(cell, datetime) else datetime.fromisoformat(cell)
    return (
        found if found.tzinfo is None else found.astimezone(UTC)
    )  # else Python ignores changes of the clock


def _to_time(cell: Any) -> time:
    if isinstance(cell, float):
        return (_EPOCH + timedelta(milliseconds=round(cell * 86_400_000))).time()
    return cell if isinstance(cell, time) else time.fromisoformat(cell)


_DURATION = re.compile(
    r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?"
)  # as ISO 8601 has it


def _to_duration(cell: Any) -> timedelta:
    if isinstance(cell, timedelta):
        return cell
    if not (match := _DURATION.fullmatch(cell)):
        raise ValueError(cell)
    sign, days, hours, minutes, seconds, fraction = match.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    found = timedelta(int(days or 0), int(seconds or 0), micros, 0, int(minutes or 0), int(hours or 0))
    return -found if sign else found


def _to_bool(cell: Any) -> bool:
    return cell if isinstance(cell, bool) else {"true": True, "false": False}[cell]


def _to_decimal(cell: Any) -> Decimal:
    return Decimal(repr(cell) if isinstance(cell, float) else cell)


def _to_int(cell: Any) -> int:
    if isinstance(cell, float) and cell != int(cell):
        raise ValueError(cell)
    return int(cell)


_VALUES: dict[str, Callable[[Any], Any]] = {
    "int": _to_int,
    "id": _to_int,
    "large": _to_int,
    "float": float,
    "bool": _to_bool,
    "date": _to_date,
    "datetime": _to_moment,
    "zoned": _to_moment,
    "time": _to_time,
    "duration": _to_duration,
    "decimal": _to_decimal,
}


def iso_text(value: time | timedelta) -> str:
    """A time of day or a duration as releases write them: fractions in groups of three digits."""
    if isinstance(value, time):
        return value.replace(microsecond=0).isoformat() + _fraction(value.microsecond)
    micros = value // timedelta(microseconds=1)
    sign, micros = "-" * (micros < 0), abs(micros)
    seconds, fraction = divmod(micros, 10**6)
    days, seconds = divmod(seconds, 86400)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    told = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if seconds or fraction:
        told += f"{seconds}{_fraction(fraction).rstrip('0')}S"
    day = f"{days}D" * (days > 0)
    if not (day or told):
        return "PT0S"
    return f"{sign}P{day}" + ("T" + told if told else "")


def _fraction(micros: int) -> str:
    if not micros:
        return ""
    return f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"


def apart(cell: Any) -> Any:
    """A cell as it is told apart from others: by type and by all that it holds."""
    return cell if isinstance(cell, str) and not isinstance(cell, Spelling) else (type(cell), repr(cell))


# Hidden values.


def unpacked(content: bytes, format: str) -> bytes:
    """Bytes, followed by whatever is compressed in them."""
    parts = [content]
    if content.startswith(b"\x1f\x8b"):
        parts.append(gzip.decompress(content))
    if format == "xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            parts += [book.read(name) for name in book.namelist()]
    for found in re.finditer(re.escape(ZSTD), content):
        try:
            parts.append(zstandard.ZstdDecompressor().decompressobj().decompress(content[found.start() :]))
        except zstandard.ZstdError:
            continue
    return b"\n".join(parts)


def hidden_tokens(content: bytes, format: str, cells: Cells) -> set[bytes]:
    """Tokens that are in the bytes, but in no cell that a reader sees."""
    found = set(TOKEN.findall(unpacked(content, format)))
    if not found:
        return set()
    shown: set[bytes] = set()
    for values in cells.columns.values():
        texts = [value for value in values if isinstance(value, str)]
        shown |= set(TOKEN.findall("\n".join(texts).encode(errors="replace")))
    return found - shown


def read_path(path: Path, format: str) -> tuple[bytes, Cells]:
    """The bytes of a file, and its cells."""
    content = path.read_bytes()
    return content, read_cells(content, format)
