"""File formats: known by suffix or first bytes, opened through their compression."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from shoal.errors import ChangedError, InputError
from shoal.support.extensions import ExtensionTable
from shoal.table.base import TableFormat

Format: TypeAlias = str
"""``text``, ``parquet``, ``arrow``, ``jsonl`` or ``excel``, which are read and written in ways of their own;
or the name of one of `FORMATS`."""
Compression = Literal["gzip", "zstd"]

CHUNK = 1 << 20  # bytes
# Tables unpack to some 3 to 30 times their size, a file of nothing but zeros to 1,000 times.
EXPANDED, RATIO = 1 << 28, 200

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "excel",
}
_TEXT = (".csv", ".tsv", ".txt")
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}

_FORMAT_MAGIC: dict[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "excel"}
_COMPRESSION_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


_HEAD = 1 << 12  # bytes that tell what a table without a name is
# A brace alone may begin the name of a column in delimited text.
_OBJECT = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')
# An Arrow stream begins with the marker of its first message; Excel files are zip archives.
_HEADS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrows", b"PK\x03\x04": ".xlsx"}


# Further formats by their suffix, without the dot. Reading and writing one takes nothing but its class.
# The names of the others are taken as well, since a format is known by its name from here on.
_FURTHER: dict[str, type[Any] | str] = {
    "sav": "shoal.table.statistical:SavFile",
    "zsav": "shoal.table.statistical:ZsavFile",
    "por": "shoal.table.statistical:PorFile",
    "dta": "shoal.table.statistical:DtaFile",
    "sas7bdat": "shoal.table.statistical:SasFile",
    "xpt": "shoal.table.statistical:TransportFile",
}
FORMATS = ExtensionTable(
    "file format",
    "shoal.formats",
    TableFormat,
    ("read", "write"),
    _FURTHER,
    reserved=(*(suffix[1:] for suffix in (*_FORMATS, *_TEXT, *_COMPRESSIONS)), "text", *_FORMATS.values()),
)


def list_suffixes() -> list[str]:
    """The suffixes of all formats and compressions, those of plugins included."""
    return [*_TEXT, *_FORMATS, *(f".{name}" for name in FORMATS), *_COMPRESSIONS]


def by_suffix(path: Path) -> tuple[Format, Compression | None]:
    """Return what the name of ``path`` promises; text where it promises nothing."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    inner = path.with_suffix("") if compression else path
    return _find_named(inner.suffix.lower()), compression


def _find_named(suffix: str) -> Format:
    """The format of a suffix; a usual one is not looked for among plugins."""
    if suffix in _FORMATS:
        return _FORMATS[suffix]
    return suffix[1:] if suffix not in ("", *_TEXT) and suffix[1:] in FORMATS else "text"


def detect_format(path: Path) -> tuple[Format, Compression | None]:
    """Return what ``path`` is: by its first bytes where they are known ones, by its name otherwise."""
    # Bytes tell more than names: files are renamed, and .gz may be left out.
    named, _ = by_suffix(path)
    first = read_head(path, None, 8)
    compression = next((kind for magic, kind in _COMPRESSION_MAGIC.items() if first.startswith(magic)), None)
    if compression:
        first = read_head(path, compression, 8)
    return next(
        (kind for magic, kind in _FORMAT_MAGIC.items() if first.startswith(magic)), named
    ), compression


def choose_suffix(path: Path) -> str:
    """The suffix of the name under which a table is read as what it is, by its first bytes, unpacked."""
    first = read_head(path, detect_format(path)[1], _HEAD)
    if _OBJECT.match(first):
        return ".jsonl"
    return next((suffix for magic, suffix in _HEADS.items() if first.startswith(magic)), ".csv")


def has_magic(path: Path, format: Format, compression: Compression | None) -> bool:
    """Whether a file begins as those of ``format`` do; an Arrow stream with the length of its schema."""
    first = read_head(path, compression, 8)
    known = [magic for magic, kind in _FORMAT_MAGIC.items() if kind == format]
    return any(map(first.startswith, known)) or (format == "arrow" and first[:4] == b"\xff" * 4)


def read_head(path: Path, compression: Compression | None, size: int) -> bytes:
    """Return the first ``size`` bytes inside ``path``, or all of them."""
    found = bytearray()
    for chunk in read_chunks(path, compression, size):
        found += chunk
        # A compressed stream may give less at once than it was asked for.
        if len(found) >= size:
            break
    return bytes(found[:size])


def read_chunks(path: Path, compression: Compression | None, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the decompressed content of ``path`` in pieces.

    Where that is far more than a table would give, it ends with an InputError: a small file cannot fill the
    memory.
    """
    pieces = _decompress_file(path, compression, size)
    yield from pieces if compression is None else _limit_expansion(path, pieces)


def _limit_expansion(path: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    with explain_errors(path):
        most = max(EXPANDED, RATIO * path.stat().st_size)
    seen = 0
    for piece in pieces:
        # Counted while it unpacks, before the memory is full.
        seen += len(piece)
        if seen > most:
            raise InputError(
                f"{path} is refused: it unpacks to more than {RATIO} times its size, and to more than "
                f"{EXPANDED >> 20} MB; if you trust it, unpack it first"
            )
        yield piece


def _decompress_file(path: Path, compression: Compression | None, size: int) -> Iterator[bytes]:
    with explain_errors(path):
        if compression == "gzip":
            with gzip.open(path) as stream:
                yield from iter(lambda: stream.read(size), b"")
        else:
            with path.open("rb") as raw:
                pieces = iter(lambda: raw.read(size), b"")
                yield from _decompress_zstd(pieces) if compression == "zstd" else pieces


def _decompress_zstd(pieces: Iterator[bytes]) -> Iterator[bytes]:
    # The library's own reader takes a cut-off file for a whole one, so the end of each frame is checked here.
    zstandard = import_optional("zstandard", "shoal[zstd]")
    frame = None
    for piece in pieces:
        rest = piece
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise EOFError(str(error)) from error
            # Several frames may follow each other in one file.
            rest, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("compressed file ended before the end of its last frame")


@contextmanager
def ensure_unchanged(path: Path) -> Iterator[Callable[[], None]]:
    """Raise an InputError if the file is another one at the end: what was read is then neither of the two.

    What it lends asks the same earlier, for those who must know before they go on.
    """
    before = _read_state(path)

    def check_state() -> None:
        if _read_state(path) != before:
            raise ChangedError(f"{path} changed while it was read; run again once nobody writes to it")

    try:
        yield check_state
    # A file that somebody writes to explains any other error better.
    except Exception:
        check_state()
        raise
    check_state()


def _read_state(path: Path) -> tuple[int, ...]:
    """What tells a file from what it was."""
    with explain_errors(path):
        found = path.stat()
    # Not the time alone: its resolution can be coarse, and a copy may keep it.
    return found.st_size, found.st_mtime_ns, found.st_ino


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system says about reading ``path`` into an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path} is damaged: {_lower_first_letter(str(error))}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _lower_first_letter(text: str) -> str:
    """A sentence of a library to go on with; abbreviations stay as they are."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def import_optional(module: str, package: str) -> Any:
    """Import an optional ``module``, or say what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(f"this needs {module}, which is not installed: pip install {package}") from None
