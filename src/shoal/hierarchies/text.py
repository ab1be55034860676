"""What the readers of the file formats share."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import InputError


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
