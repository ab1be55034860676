"""What the readers of the file formats share."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import InputError
from shoal.support.files import as_utf8, read_small

_MEGABYTES = 128  # millions of values


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without byte-order mark; an empty one is an error."""
    try:
        text = as_utf8(path, read_small(path, _MEGABYTES))
    except FileNotFoundError:
        raise InputError(f"no such file '{path}'") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from error
    if not text.strip():
        raise InputError(f"'{path}' is empty")
    return text
