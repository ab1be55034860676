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

from shoal.errors import InputError, RecipeError, quote
from shoal.support.files import read_json_format, whole_file
from shoal.table import Origin, Table, to_strings

_FORMAT = "shoal ledger 1"
_MEGABYTES = 1024
_COUNT = "\0rows"  # the name of no column


def spell_cells(series: pl.Series) -> pl.Series:
    """Cells as texts, with whole numbers alike in every type that a day may have them in."""
    texts = to_strings(series).alias(series.name)
    return texts.str.replace(r"\.0$", "") if series.dtype.is_float() else texts


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One release that was counted."""

    name: str
    rows: int
    sha256: str
    """The checksum of its cells in the columns that count, in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The classes of all releases so far, counted."""

    names: tuple[str, ...]
    """Quasi-identifiers and sensitive columns."""
    counts: pl.DataFrame
    """Distinct rows of these columns, as texts, and how often each was released."""
    entries: tuple[LedgerEntry, ...] = ()

    @classmethod
    def begin(cls, names: Sequence[str]) -> Ledger:
        """A ledger without releases."""
        schema: dict[str, Any] = {**dict.fromkeys(names, pl.String), _COUNT: pl.Int64}
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
        cells = pl.DataFrame([spell_cells(frame[each]) for each in self.names])
        found = hashlib.sha256()
        for row in cells.iter_rows():
            found.update(json.dumps(row).encode() + b"\n")
        entry = LedgerEntry(name, cells.height, found.hexdigest())
        if twice := [each.name for each in self.entries if each.sha256 == entry.sha256 and cells.height]:
            raise RecipeError(
                f"{name} has the rows of {quote(twice)}, which the ledger counts already: a release that is "
                "counted twice would promise too much"
            )
        counted = cells.group_by(self.names, maintain_order=True).len(_COUNT)
        joined = pl.concat([self.counts, counted.with_columns(pl.col(_COUNT).cast(pl.Int64))])
        summed = joined.group_by(self.names, maintain_order=True).agg(pl.col(_COUNT).sum())
        return replace(self, counts=summed, entries=(*self.entries, entry))

    def make_table(self) -> Table:
        """All rows that were released, in the columns that count."""
        rows = np.repeat(np.arange(self.counts.height), self.counts[_COUNT].to_numpy())
        return Table(self.counts.select(self.names)[rows], Origin("polars"))

    def save(self, path: str | Path) -> None:
        """Write it to a file (JSON), whole or not at all."""
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
        path = Path(path)
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
