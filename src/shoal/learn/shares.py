"""Classes released by how often each value occurs in them, and rows drawn from that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.recoding import ColumnCells, Recoding

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ClassShares:
    """Of every class and quasi-identifier, which values its rows have and how many rows have each.

    All rows of a class are released alike: with the values of the whole class, and not with their own. Which
    values of two columns belong together is not released.
    """

    class_of: Ints
    """[rows] the class of each released row."""
    columns: tuple[ColumnShares, ...]

    @classmethod
    def from_recoding(cls, recoding: Recoding) -> ClassShares:
        """The shares of classes that were found."""
        of_row = recoding.table.of_row
        class_of = recoding.class_of[of_row].astype(np.int64)
        kept = class_of >= 0
        columns = []
        for j, cells in enumerate(recoding.cells):
            code = recoding.table.codes[of_row[kept], j].astype(np.int64)
            columns.append(ColumnShares.from_codes(cells.domain, class_of[kept], code))
        return cls(class_of[kept], tuple(columns))

    def render_columns(self) -> dict[str, pl.Series]:
        """The quasi-identifiers as released, row by row: ``{"a": 3, "b": 2}`` where three of five have a."""
        return {
            each.domain.name: each.render_cells().gather(self.class_of).alias(each.domain.name)
            for each in self.columns
        }

    def draw_codes(self, seed: int) -> list[Ints]:
        """Of each column [rows] a value: those of a class are dealt to its rows by chance, each as often as
        it occurs, and column by column.
        """
        rng = np.random.default_rng(seed)
        by_class = np.argsort(self.class_of, kind="stable")
        found = []
        for column in self.columns:
            code = np.repeat(column.code, column.count)
            within = np.repeat(column.class_of, column.count)
            dealt = np.empty(code.size, np.int64)
            dealt[by_class] = code[np.lexsort((rng.random(code.size), within))]
            found.append(dealt)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ColumnShares:
    """What occurs in one column: an entry for each value in each class, by class and then by value."""

    domain: Domain
    class_of: Ints
    code: Ints
    count: Ints

    @classmethod
    def from_codes(cls, domain: Domain, class_of: Ints, code: Ints) -> ColumnShares:
        """Count the values of rows."""
        pair, count = np.unique(class_of * domain.size + code, return_counts=True)
        within, value = np.divmod(pair, domain.size)
        return cls(domain, within, value, count.astype(np.int64))

    def render_cells(self) -> pl.Series:
        """[classes] the cell of each class."""
        # Always quoted, so that no two cells look alike.
        quoted = '"' + self.domain.labels.alias("").str.replace_all('"', '""', literal=True) + '"'
        label = quoted.fill_null("missing") + ": "
        entry = pl.DataFrame({"class": self.class_of, "label": label.gather(self.code), "count": self.count})
        text = pl.concat_str("label", pl.col("count").cast(pl.String))
        cells = entry.group_by("class", maintain_order=True).agg(text.str.join(", ").alias("text"))
        return "{" + cells["text"] + "}"

    def render_codes(self, code: Ints, dtype: pl.DataType) -> pl.Series:
        """Single values, in the type of the column."""
        alone = ColumnCells(self.domain, np.arange(code.size, dtype=np.int32), code, code, None)
        return alone.render_values(dtype)
