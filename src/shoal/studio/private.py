"""Files and folders that only their owner may read: they hold the values of the table."""

from __future__ import annotations

import os
from pathlib import Path

_FILE, _FOLDER = 0o600, 0o700  # nothing for the group and for others


def make_folder(path: Path) -> None:
    """Make a folder."""
    path.mkdir(mode=_FOLDER)


def open_private(path: str, flags: int) -> int:
    """What `open` takes as ``opener``."""
    # When the file is created: until a later chmod others could open it.
    return os.open(path, flags, _FILE)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8."""
    with open(path, "w", encoding="utf-8", opener=open_private) as stream:
        stream.write(text)


def close_to_others(folder: Path) -> None:
    """Take a folder and its files from others; links are left alone: what they lead to is not ours."""
    folder.chmod(_FOLDER)
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink():
            path.chmod(_FILE)
