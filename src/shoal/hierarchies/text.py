"""What the readers of the file formats share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from shoal.errors import InputError, unknown


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without byte-order mark; an empty one is an error."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"no such file '{path}'") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"'{path}', line {line}: not UTF-8; save the file in that encoding") from None
    if not text.strip():
        raise InputError(f"'{path}' is empty")
    return text


def known_columns(names: Iterable[str], columns: Sequence[str], path: Path) -> list[str]:
    """Those ``columns`` that are among the ``names`` a file has; none at all is an error."""
    given = list(names)
    found = [column for column in columns if column in given]
    if not given:
        raise InputError(f"'{path}' holds no hierarchies")
    if not found:
        raise InputError(f"'{path}': {unknown('column', given[0], columns)}")
    return found
