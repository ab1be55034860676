"""File formats: known by suffix or first bytes, opened through their compression."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from shoal.errors import InputError

Format = Literal["text", "parquet", "arrow", "jsonl", "excel"]
Compression = Literal["gzip", "zstd"]

CHUNK = 1 << 20
# Tables unpack to some 3 to 30 times their size, a file of nothing but zeros to 1,000 times.
EXPANDED, RATIO = 1 << 28, 200

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "excel",
}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}

_FORMAT_MAGIC: dict[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "excel"}
_COMPRESSION_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def by_suffix(path: Path) -> tuple[Format, Compression | None]:
    """Return what the name of ``path`` promises; text where it promises nothing."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    inner = path.with_suffix("") if compression else path
    return _FORMATS.get(inner.suffix.lower(), "text"), compression


def sniff(path: Path) -> tuple[Format, Compression | None]:
    """Return what ``path`` is: by its first bytes where they are known ones, by its name otherwise."""
    named, _ = by_suffix(path)
    first = head(path, None, 8)
    compression = next((kind for magic, kind in _COMPRESSION_MAGIC.items() if first.startswith(magic)), None)
    if compression:
        first = head(path, compression, 8)
    return next(
        (kind for magic, kind in _FORMAT_MAGIC.items() if first.startswith(magic)), named
    ), compression


def has_magic(path: Path, format: Format, compression: Compression | None) -> bool:
    """Whether a file begins as those of ``format`` do; an Arrow stream with the length of its schema."""
    first = head(path, compression, 8)
    known = [magic for magic, kind in _FORMAT_MAGIC.items() if kind == format]
    return any(map(first.startswith, known)) or (format == "arrow" and first[:4] == b"\xff" * 4)


def head(path: Path, compression: Compression | None, size: int) -> bytes:
    """Return the first ``size`` bytes inside ``path``, or all of them."""
    found = bytearray()
    for chunk in chunks(path, compression, size):
        found += chunk
        if len(found) >= size:
            break
    return bytes(found[:size])


def chunks(path: Path, compression: Compression | None, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the decompressed content of ``path`` in pieces.

    Where that is far more than a table would give, it ends with an InputError: a small file cannot fill the
    memory.
    """
    pieces = _unpacked(path, compression, size)
    yield from pieces if compression is None else _bounded(path, pieces)


def _bounded(path: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    with explained(path):
        most = max(EXPANDED, RATIO * path.stat().st_size)
    seen = 0
    for piece in pieces:
        seen += len(piece)
        if seen > most:
            raise InputError(
                f"{path} is refused: it unpacks to more than {RATIO} times its size, and to more than "
                f"{EXPANDED >> 20} MB; if you trust it, unpack it first"
            )
        yield piece


def _unpacked(path: Path, compression: Compression | None, size: int) -> Iterator[bytes]:
    with explained(path):
        if compression == "gzip":
            with gzip.open(path) as stream:
                yield from iter(lambda: stream.read(size), b"")
        else:
            with path.open("rb") as raw:
                pieces = iter(lambda: raw.read(size), b"")
                yield from _unzstd(pieces) if compression == "zstd" else pieces


def _unzstd(pieces: Iterator[bytes]) -> Iterator[bytes]:
    # The library's own reader takes a cut-off file for a whole one, so the end of each frame is checked here.
    zstandard = needs("zstandard", "zstandard")
    frame = None
    for piece in pieces:
        rest = piece
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise EOFError(str(error)) from error
            rest, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("compressed file ended before the end of its last frame")


@contextmanager
def unchanged(path: Path) -> Iterator[Callable[[], None]]:
    """Raise an InputError if the file is another one at the end: what was read is then neither of the two.

    What it lends asks the same earlier, for those who must know before they go on.
    """
    before = _state(path)

    def check() -> None:
        if _state(path) != before:
            raise InputError(f"{path} changed while it was read; run again once nobody writes to it")

    try:
        yield check
    except Exception:
        check()
        raise
    check()


def _state(path: Path) -> tuple[int, ...]:
    """What tells a file from what it was."""
    with explained(path):
        found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the operating system says about reading ``path`` into an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path} is damaged: {_begun_small(str(error))}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _begun_small(text: str) -> str:
    """A sentence of a library to go on with; abbreviations stay as they are."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def needs(module: str, package: str) -> Any:
    """Import an optional ``module``, or say what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(f"this needs {module}, which is not installed: pip install {package}") from None
