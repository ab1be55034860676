"""What every file format offers that is not read and written in a way of its own."""

from __future__ import annotations

from typing import IO, Protocol

import polars as pl


class TableFormat(Protocol):
    """A file format with one method for either way; it is a frozen dataclass without parameters."""

    __slots__ = ()

    def read(self, stream: IO[bytes]) -> pl.DataFrame:
        """The table in a file; the stream can be sought in."""
        ...

    def write(self, table: pl.DataFrame, stream: IO[bytes]) -> None:
        """Write a table: nothing but its values, and the same bytes every time."""
        ...
