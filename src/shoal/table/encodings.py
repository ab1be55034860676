"""Text of any encoding as UTF-8, without a copy where it is UTF-8 already."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path

from shoal.errors import InputError
from shoal.table.formats import CHUNK, Compression, read_chunks, read_head

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# All bytes are Latin-1, so it comes last; cp1252 agrees with it on all printable characters and has more.
_GUESSES = ("utf-8", "cp1252", "latin-1")
_SAMPLE = 1 << 16


class _NotTextError(InputError):
    """Bytes that are not what the encoding says; another may fit."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """UTF-8 text that is still on disk, or in memory where it had to be unpacked or transcoded.

    Parameters
    ----------
    payload
        The file itself, which may start with a byte order mark, or the bytes, which never do.
    encoding, bom
        How the text was encoded in the file.
    """

    payload: Path | bytes
    encoding: str
    bom: bool

    def read_chunks(self) -> Iterator[bytes | memoryview]:
        """Yield the text in pieces, without the byte order mark."""
        if isinstance(self.payload, bytes):
            view = memoryview(self.payload)
            yield from (view[start : start + CHUNK] for start in range(0, len(view), CHUNK))
        else:
            yield from _without_mark(read_chunks(self.payload, None))

    def read_head(self, size: int) -> bytes:
        """Return the first ``size`` bytes of the text, without the byte order mark."""
        if isinstance(self.payload, bytes):
            return self.payload[:size]
        # Three bytes more, for the mark that is cut off.
        return read_head(self.payload, None, size + 3).removeprefix(codecs.BOM_UTF8)[:size]


def load_text(path: Path, compression: Compression | None, stated: str | None) -> TextSource:
    """Decompress and decode ``path``; the encoding is detected where it is not ``stated``."""
    first = read_head(path, compression, _SAMPLE)
    mark = next((mark for mark in _MARKS if first.startswith(mark)), b"")
    *guesses, last = _list_encodings(first, mark, stated)
    for encoding in guesses:
        with suppress(_NotTextError):
            return _decode_file(path, compression, encoding, _MARKS.get(mark) == encoding)
    # The last one outside of `suppress`: its error is the one to show.
    return _decode_file(path, compression, last, _MARKS.get(mark) == last)


def _list_encodings(first: bytes, mark: bytes, stated: str | None) -> tuple[str, ...]:
    if stated is None:
        found = _MARKS.get(mark) or _detect_utf16(first)
        return (found,) if found else _GUESSES
    try:
        # Also refuses codecs that are no encodings of text, such as 'hex'.
        b"a".decode(stated, "replace")
    except LookupError:
        raise InputError(
            f"unknown encoding '{stated}'; for example utf-8, utf-16, latin-1 or cp1252"
        ) from None
    name = codecs.lookup(stated).name
    # The name leaves the order of the bytes open.
    if name == "utf-16":
        return (_MARKS.get(mark) or _detect_utf16(first) or "utf-16-le",)
    return ("utf-8" if name == "utf-8-sig" else name,)


def _detect_utf16(first: bytes) -> str | None:
    """Recognise UTF-16 without a mark: ASCII in it has a zero in every second byte, as have its line ends."""
    for encoding, zeros in (("utf-16-le", first[1::2]), ("utf-16-be", first[::2])):
        # A fifth is enough: other scripts still have ASCII delimiters, digits and line ends.
        if len(first) % 2 == 0 and zeros.count(0) * 5 >= len(zeros):
            text = first.decode(encoding, errors="replace")
            ends, bytes_of_ends = text.count("\n") + text.count("\r"), first.count(b"\n") + first.count(b"\r")
            # In real UTF-16 most bytes 10 and 13 are line ends, elsewhere halves of characters.
            if "\0" not in text and 2 * ends > bytes_of_ends:
                return encoding
    return None


def _decode_file(path: Path, compression: Compression | None, encoding: str, bom: bool) -> TextSource:
    parts = _as_utf8(path, read_chunks(path, compression), encoding)
    if encoding == "utf-8" and compression is None:
        # Once to the end: all bytes are checked, and the file can then be used as it is.
        for _ in parts:
            pass
        return TextSource(path, encoding, bom)
    sink = BytesIO()
    for part in _without_mark(parts):
        sink.write(part)
    return TextSource(sink.getvalue(), encoding, bom)


def _without_mark(parts: Iterator[bytes]) -> Iterator[bytes]:
    return chain((next(parts, b"").removeprefix(codecs.BOM_UTF8),), parts)


def _as_utf8(path: Path, parts: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Yield ``parts`` as UTF-8; the error names the line of the first bytes that are not ``encoding``."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    # The empty part at the end finds a character that was cut off.
    for part in chain(parts, (b"",)):
        # ASCII needs no decoding, unless the last part ended within a character.
        if encoding == "utf-8" and part.isascii() and part and not decoder.getstate()[0]:
            lines += part.count(b"\n")
            yield part
            continue
        try:
            text = decoder.decode(part, final=not part)
        except UnicodeDecodeError as error:
            lines += error.object[: error.start].decode(encoding).count("\n")
            bad = error.object[error.start : error.start + 4].hex(" ")
            raise _NotTextError(
                f"{path}: line {lines} is not {encoding} text (bytes {bad}); state its encoding"
            ) from None
        lines += text.count("\n")
        yield text.encode()
