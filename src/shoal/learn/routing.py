"""New rows into the classes of a release: by the tree first, then to the nearest class of their leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.tree import GuidedTree
from shoal.codespace.encoding import EncodedColumn
from shoal.codespace.recoding import ColumnCells, Recoding
from shoal.learn.sklearn_io import convert_to_floats
from shoal.table import Table, to_strings

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_ROOM = 4_000_000  # distances that are worked out at once


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """Finds classes for rows."""

    guided: GuidedTree
    recoding: Recoding
    columns: tuple[EncodedColumn, ...]
    """What the tree looks at: the quasi-identifiers, then any others."""

    def find_classes(self, table: Table) -> Ints:
        """Class of every row; -1 in a cell that was deleted.

        A row that is like one of those that the classes were made of goes where that one went; any other to
        the class of its leaf that it is nearest to.
        """
        codes = [encode_values(column, table.column(column.domain.name)) for column in self.columns]
        leaf = self.guided.tree.apply(self.guided.features.build_matrix(codes)).astype(np.int64)
        quasi = np.stack(codes[: len(self.recoding.cells)], axis=1)
        # -2 means not found yet, -1 a class that was deleted: only the first are looked for.
        found = self._match_known_rows(leaf, quasi)
        for each in np.unique(leaf[found < -1]):
            rows = np.flatnonzero((leaf == each) & (found < -1))
            found[rows] = self._find_nearest(int(each), quasi[rows])
        return found

    def _match_known_rows(self, leaf: Ints, quasi: Floats) -> Ints:
        """Classes of rows that are like known ones; -2 for others."""
        names = [f"{j}" for j in range(quasi.shape[1])]
        known = pl.DataFrame(dict(zip(names, self.recoding.table.codes.astype(np.float64).T, strict=True)))
        known = known.with_columns(
            leaf=pl.Series(self.guided.leaf_of, dtype=pl.Int64),
            of=pl.Series(self.recoding.class_of, dtype=pl.Int64),
        )
        rows = pl.DataFrame(dict(zip(names, quasi.T, strict=True))).with_columns(leaf=pl.Series(leaf))
        keys = [*names, "leaf"]
        # Refinement may put equal rows into several classes; the first one stands for them.
        joined = rows.join(
            known.unique(keys, keep="first", maintain_order=True), on=keys, how="left", maintain_order="left"
        )
        # A copy, because arrays of polars are read-only and the caller fills in the rest.
        return joined["of"].fill_null(-2).to_numpy().copy()

    def _find_nearest(self, leaf: int, quasi: Floats) -> Ints:
        """The class of a leaf that each row would widen least."""
        there = np.unique(self.recoding.class_of[self.guided.leaf_of == leaf])
        # A leaf whose rows were all deleted has no class to offer.
        there = there[there >= 0].astype(np.int64)
        if there.size == 0:
            return np.full(len(quasi), -1)
        # Bounds the memory for distances, whatever the number of rows.
        parts = np.array_split(quasi, max(1, len(quasi) * there.size // _ROOM))
        return np.concatenate([there[self._measure_distances(part, there).argmin(axis=1)] for part in parts])

    def _measure_distances(self, quasi: Floats, classes: Ints) -> Floats:
        """[rows, classes]"""
        total = np.zeros((len(quasi), classes.size))
        for j, cells in enumerate(self.recoding.cells):
            total += _measure_distance_outside(cells, quasi[:, j], classes)
        return total


def _measure_distance_outside(cells: ColumnCells, code: Floats, classes: Ints) -> Floats:
    """[rows, classes] how far a value lies outside of the cell of each class, from 0 to 1."""
    domain, of = cells.domain, cells.of_class[classes]
    lo, hi = cells.lo[of], cells.hi[of]
    if domain.has_ranges:
        at = np.interp(code, np.arange(domain.size), domain.position)[:, None]
        return np.maximum(0.0, np.maximum(domain.position[lo] - at, at - domain.position[hi]))
    if cells.members is None:
        return np.asarray((code[:, None] < lo) | (code[:, None] > hi), np.float64)
    start, member = cells.members
    # One more column: the code -1 of an unknown value reads it, and lies in no cell.
    holds = np.zeros((cells.count, domain.size + 1), np.bool_)
    holds[np.repeat(np.arange(cells.count), np.diff(start)), member] = True
    return np.asarray(~holds[of][:, code.astype(np.int64)].T, np.float64)


def encode_values(column: EncodedColumn, series: pl.Series) -> Floats:
    """Codes of values, between two codes for a number between two; -1 for what has none."""
    domain = column.domain
    absent = -1.0 if domain.missing is None else float(domain.missing)
    if domain.kind == "number":
        first = int(domain.missing is not None)
        known = convert_to_floats(domain.values.slice(first), column)
        if known.size == 0:
            return np.full(len(series), absent)
        # Beyond the ends interp gives the first or last code, so that outliers go to the edge.
        return np.nan_to_num(
            np.interp(convert_to_floats(series, column), known, np.arange(first, domain.size)), nan=absent
        )
    labels = domain.labels.drop_nulls()
    at = pl.Series(np.flatnonzero(domain.labels.is_not_null().to_numpy()), dtype=pl.Float64)
    code = to_strings(series).replace_strict(labels, at, default=-1.0, return_dtype=pl.Float64)
    return code.set(series.is_null(), absent).to_numpy()
