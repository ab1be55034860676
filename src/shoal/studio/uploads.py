"""Uploaded files: where they are, how many bytes they may have, and when they are removed."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from shoal.errors import InputError, OutputError
from shoal.studio.private import make_folder, open_private
from shoal.support.language import format_number

LIMIT = "2GB"
"""What all uploads together may take, unless `shoal studio --uploads` says otherwise."""


class IncomingFile(Protocol):
    """A file as it comes from a page."""

    def size(self) -> int:
        """Its bytes."""
        ...

    async def save(self, path: Path) -> None:
        """Write it to a path."""
        ...


class Uploads:
    """The files that were uploaded for the table that is open, each in a folder of its own."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self._folder = folder
        self._sizes: dict[Path, int] = {}
        self._arriving: set[Path] = set()  # saved, and not yet opened or refused
        self._number = 0
        make_folder(folder)

    @property
    def free_bytes(self) -> int:
        """Bytes that may still be uploaded."""
        return max(self.limit - sum(self._sizes.values()), 0)

    def reserve_file(self, name: str, size: int = 0) -> Path:
        """Make an empty file and reserve bytes for it; it is kept until it has been used.

        Raises
        ------
        InputError
            When the file is larger than the bytes that are free.
        """
        if size > self.free_bytes:
            raise InputError(
                f"'{name}' has {format_size(size)}, and of the {format_size(self.limit)} for uploads "
                f"{format_size(self.free_bytes)} are free: close the table to make room, or "
                "start the studio with "
                "more, as in --uploads 10GB, or with the name of the table, which copies nothing"
            )
        # A folder for each file, so that two uploads can have the same name.
        self._number += 1
        make_folder(folder := self._folder / str(self._number))
        # Made here, so that it is private before the first byte is written.
        with open(folder / name, "x", opener=open_private):
            pass
        self._sizes[folder / name] = size  # before it arrives: uploads at the same time count, too
        self._arriving.add(folder / name)
        return folder / name

    async def save_file(self, sent: IncomingFile, name: str) -> Path:
        """Keep a file that was sent.

        Raises
        ------
        InputError
            When the file is larger than the bytes that are free.
        OutputError
            When it cannot be written.
        """
        path = self.reserve_file(name, sent.size())
        try:
            await sent.save(path)
        except BaseException as error:
            # Also when the upload is broken off: half a file would use up the limit.
            self.remove_file(path)
            if isinstance(error, OSError):
                raise OutputError(f"'{name}' cannot be kept: {error.strerror}") from error
            raise
        return path

    def remove_file(self, path: Path) -> None:
        """Remove an uploaded file; one that is none, such as a table of the user's own, is left alone."""
        self._arriving.discard(path)
        if self._sizes.pop(path, None) is not None:
            shutil.rmtree(path.parent, ignore_errors=True)

    def keep_only(self, used: Collection[Path]) -> None:
        """Remove all files but those that are used, and those that somebody is just opening."""
        self._arriving -= set(used)  # opened by now, so the next table may remove them
        for path in self._sizes.keys() - set(used) - self._arriving:
            self.remove_file(path)


def format_size(size: int) -> str:
    """A number of bytes for people."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return format_number(size / unit, ".1f").removesuffix(".0") + f" {name}"
    return f"{size} bytes"
