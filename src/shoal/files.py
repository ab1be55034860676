"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from shoal.errors import OutputError


def check_target(path: Path) -> None:
    """Raise an OutputError if a file could not be written at ``path``, whatever its content."""
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
    try:
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode)
        temporary.replace(target)
    except OutputError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{path} cannot be written: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Lend a stream to a file that takes the place of ``path`` once all is written and on disk."""
    with whole_path(path) as temporary, temporary.open("xb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def _reason(error: Exception) -> str:
    # Polars passes on what the operating system says, but not always as an OSError.
    full = os.strerror(errno.ENOSPC)
    if getattr(error, "errno", None) == errno.ENOSPC or full in str(error):
        return f"{full[0].lower()}{full[1:]}"
    return getattr(error, "strerror", None) or str(error)
