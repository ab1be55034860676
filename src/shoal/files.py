"""Files that appear whole or not at all, and small ones that are read at once."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shoal.errors import InputError, OutputError

_unfinished: set[Path] = set()


_MEGABYTE = 1 << 20


def read_small(path: Path, megabytes: int) -> bytes:
    """The content of a file of settings or names; one of more than so many megabytes is refused, half-read.

    So that a wrong path, or one that somebody means ill with, costs no more than that.
    """
    with path.open("rb") as stream:
        content = stream.read(megabytes * _MEGABYTE + 1)
    if len(content) > megabytes * _MEGABYTE:
        raise InputError(
            f"'{path}' has more than {megabytes} MB, the most that is read: is it the right file?"
        )
    return content


def as_utf8(path: Path, content: bytes) -> str:
    """The text of a UTF-8 file, with or without byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"'{path}', line {line}: not UTF-8; save the file in that encoding") from None


def check_target(path: Path) -> None:
    """Raise an OutputError if a file could not be written at ``path``, whatever its content."""
    if path.is_symlink() and not path.exists() and Path(os.path.realpath(path)).is_symlink():
        raise OutputError(f"{path} is a link that leads to itself")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; give the path of a file")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{path} cannot be written: the folder {path.parent} is read-only")
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"{path} cannot be written: permission denied")


@contextmanager
def whole_path(path: str | Path) -> Iterator[Path]:
    """Lend a name beside ``path``; what is written there takes its place at the end, or is removed.

    A link is followed, and an existing file keeps its permissions.
    """
    check_target(Path(path))
    target = Path(path).resolve()
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(4)}.tmp")
    _unfinished.add(temporary)
    try:
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode)
        temporary.replace(target)
    except OutputError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    except Exception as error:
        from polars.exceptions import PolarsError  # noqa: PLC0415  the command line starts without polars

        if not isinstance(error, OSError | PolarsError):
            raise
        raise OutputError(f"{path} cannot be written: {_reason(error)}") from error
    finally:
        _remove(temporary)
        _unfinished.discard(temporary)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Lend a folder beside a file that is to be written, which has the room; it is removed at the end."""
    target = beside.resolve()
    folder = target.with_name(f".{target.name[:64]}.{secrets.token_hex(4)}.scratch")
    _unfinished.add(folder)
    try:
        folder.mkdir()
        yield folder
    finally:
        _remove(folder)
        _unfinished.discard(folder)


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Lend a stream to a file that takes the place of ``path`` once all is written and on disk."""
    with whole_path(path) as temporary, temporary.open("xb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def discard_unfinished() -> None:
    """Remove all that is still being written, for a process that ends without unwinding its threads."""
    for temporary in tuple(_unfinished):
        _remove(temporary)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # some thread may still write into it
    else:
        path.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    """What the operating system said; polars passes that on inside of a text of its own."""
    inside = re.search(r"\(os error (\d+)\)", str(error))
    reason = os.strerror(int(inside[1])) if inside else getattr(error, "strerror", None) or str(error)
    return f"{reason[:1].lower()}{reason[1:]}"
