"""A ledger of what was released day after day: how many rows of each class, with which sensitive values.

It holds released cells and counts, and so tells no more than the releases do. With it the releases of earlier
days need not be read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError, OutputError, RecipeError, quote
from shoal.support.files import as_path, read_json_format, whole_file
from shoal.table import Origin, Table, to_strings
from shoal.table.frames import use_safe_name

_FORMAT = "shoal ledger 1"
_MEGABYTES = 1024
_COUNT = "\0rows"  # the name of no column


def spell_cells(series: pl.Series) -> pl.Series:
    """Cells as texts, with whole numbers alike in every type that a day may have them in."""
    texts = to_strings(use_safe_name(series))
    return (texts.str.replace(r"\.0$", "") if series.dtype.is_float() else texts).alias(series.name)


def _hash_rows(cells: pl.DataFrame) -> str:
    """The checksum of rows in an order of their own."""
    return hashlib.sha256(cells.sort(cells.columns).write_ndjson().encode()).hexdigest()


def _number_columns(names: Sequence[str]) -> list[str]:
    return [str(at) for at in range(len(names))]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One release that was counted."""

    name: str
    rows: int
    sha256: str
    """The checksum of its cells in the columns that count, whatever the order of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The classes of all releases so far, counted."""

    names: tuple[str, ...]
    """Quasi-identifiers and sensitive columns."""
    counts: pl.DataFrame
    """Distinct rows of these columns, as texts, and how often each was released.

    Columns are called by their positions: polars takes a name like '^a$' for a pattern.
    """
    entries: tuple[LedgerEntry, ...] = ()

    @classmethod
    def begin(cls, names: Sequence[str]) -> Ledger:
        """A ledger without releases."""
        schema: dict[str, Any] = {**dict.fromkeys(_number_columns(names), pl.String), _COUNT: pl.Int64}
        return cls(tuple(names), pl.DataFrame(schema=schema))

    @property
    def rows(self) -> int:
        """How many rows were released so far."""
        return sum(entry.rows for entry in self.entries)

    def add(self, name: str, frame: pl.DataFrame) -> Ledger:
        """The ledger with another release, of which ``frame`` has the columns that count.

        Raises
        ------
        RecipeError
            When it is in the ledger already: rows that count twice would promise too much.
        """
        if absent := [each for each in self.names if each not in frame.columns]:
            raise InputError(f"{name}: a release without {quote(absent)}, which the ledger counts")
        numbers = _number_columns(self.names)
        cells = pl.DataFrame(
            [spell_cells(frame[each]).alias(at) for each, at in zip(self.names, numbers, strict=True)]
        )
        entry = LedgerEntry(name, cells.height, _hash_rows(cells))
        if twice := [each.name for each in self.entries if each.sha256 == entry.sha256 and cells.height]:
            raise RecipeError(
                f"{name} has the rows of {quote(twice)}, which the ledger counts already: a release that is "
                "counted twice would promise too much"
            )
        counted = cells.group_by(numbers, maintain_order=True).len(_COUNT)
        joined = pl.concat([self.counts, counted.with_columns(pl.col(_COUNT).cast(pl.Int64))])
        summed = joined.group_by(numbers, maintain_order=True).agg(pl.col(_COUNT).sum())
        return replace(self, counts=summed, entries=(*self.entries, entry))

    def make_table(self) -> Table:
        """All rows that were released, in the columns that count."""
        rows = np.repeat(np.arange(self.counts.height), self.counts[_COUNT].to_numpy())
        released = self.counts.drop(_COUNT)[rows]
        released.columns = list(self.names)
        return Table(released, Origin("polars"))

    def save(self, path: str | Path) -> None:
        """Write it to a file (JSON), whole or not at all.

        Raises
        ------
        OutputError
            When the file counts releases that this ledger does not, as those of another process.
        """
        if Path(path).exists():
            known = {each.sha256 for each in self.entries}
            there = type(self).load(path).entries
            if others := [each.name for each in there if each.sha256 not in known]:
                raise OutputError(
                    f"{path} counts {quote(others)}, which were added meanwhile: load it again, and add the "
                    "release to that"
                )
        content = {
            "format": _FORMAT,
            "columns": self.names,
            "releases": [
                {"name": each.name, "rows": each.rows, "sha256": each.sha256} for each in self.entries
            ],
            "classes": [list(row) for row in self.counts.iter_rows()],
        }
        with whole_file(Path(path)) as stream:
            stream.write(json.dumps(content, ensure_ascii=False).encode())

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read what `save` wrote."""
        path = as_path(path)
        try:
            content = read_json_format(path, _MEGABYTES, _FORMAT, "ledger", "shoal apply --ledger")
        except OSError as error:
            raise InputError(f"{path}: cannot read the ledger: {error.strerror}") from error
        try:
            return cls._from_content(content, path)
        except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{path}: a damaged ledger: {error!r}") from error

    @classmethod
    def _from_content(cls, content: Mapping[str, Any], path: Path) -> Ledger:
        names = tuple(map(str, content["columns"]))
        entries = tuple(LedgerEntry(**each) for each in content["releases"])
        begun = cls.begin(names)
        counts = pl.DataFrame(content["classes"], schema=begun.counts.schema, orient="row")
        made = cls(names, counts, entries)
        if counts[_COUNT].sum() != made.rows or (counts[_COUNT] < 1).any():
            raise InputError(f"{path}: a damaged ledger: its classes have other rows than its releases")
        return made
