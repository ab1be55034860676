"""New rows into the classes of a release: by the tree first, then to the nearest class of their leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.tree import GuidedTree
from shoal.codespace.encoding import EncodedColumn
from shoal.codespace.recoding import ColumnCells, Recoding
from shoal.kernels.nearest import (
    INTERVAL,
    LINE,
    SET,
    BoxTree,
    ReleasedBoxes,
    build_box_tree,
    count_before,
    find_near_boxes,
    find_places,
    read_between,
)
from shoal.learn.sklearn_io import convert_to_floats
from shoal.table import Table, to_strings

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_PARTS = 1 << 16  # parts of a range of numbers that are looked up before a bisection


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """Finds classes for rows."""

    guided: GuidedTree
    recoding: Recoding
    columns: tuple[EncodedColumn, ...]
    """What the tree looks at: the quasi-identifiers, then any others."""
    boxes: ReleasedBoxes
    """What every class covers."""
    nearby: BoxTree
    """The classes of each leaf, divided."""

    @classmethod
    def from_release(cls, guided: GuidedTree, recoding: Recoding, columns: Sequence[EncodedColumn]) -> Router:
        """A router to the classes of a release whose cells come from a tree."""
        boxes = _enclose_classes(recoding)
        kept = recoding.class_of >= 0
        classes = max(recoding.size.size, 1)
        # Which leaves have rows of which classes, each pair once and in order.
        pairs = np.unique(guided.leaf_of[kept] * classes + recoding.class_of[kept])
        leaf, item = np.divmod(pairs.astype(np.int64), classes)
        begin = np.searchsorted(leaf, np.arange(guided.tree.tree_.node_count + 1))
        return cls(guided, recoding, tuple(columns), boxes, build_box_tree(boxes, item, begin))

    def find_classes(self, table: Table) -> Ints:
        """Class of every row; -1 in a cell that was deleted.

        A row that is like one of those that the classes were made of goes where that one went; any other to
        the class of its leaf that it is nearest to.
        """
        codes = [encode_values(column, table.column(column.domain.name)) for column in self.columns]
        leaf = self.guided.tree.apply(self.guided.features.build_matrix(codes)).astype(np.int64)
        quasi = codes[: len(self.recoding.cells)]
        found = self._match_known_rows(leaf, quasi)
        # -2 means not found yet, -1 a class that was deleted: only the first are looked for.
        rest = np.flatnonzero(found < -1)
        # Leaf by leaf, so that the classes of a leaf are at hand for all of its rows: that halves the time.
        rest = rest[np.argsort(leaf[rest].astype(np.min_scalar_type(leaf.max())), kind="stable")]
        place = np.empty((rest.size, len(quasi)))
        for j, cells in enumerate(self.recoding.cells):
            place[:, j] = _find_positions(cells, quasi[j][rest])
        boxes, nearby = ReleasedBoxes(*map(own_array, self.boxes)), BoxTree(*map(own_array, self.nearby))
        found[rest] = find_near_boxes(boxes, nearby, leaf[rest], place)
        return found

    def _match_known_rows(self, leaf: Ints, quasi: Sequence[Floats]) -> Ints:
        """Classes of rows that are like known ones, -1 for deleted ones; -2 for others."""
        found = np.full(leaf.size, -2, np.int64)
        # A value between two known ones has no whole code, and its row is like none.
        alike = np.flatnonzero(np.logical_and.reduce([code == np.floor(code) for code in quasi]))
        if alike.size == 0:
            return found
        names = [f"{j}" for j in range(len(quasi))]
        known = pl.DataFrame(dict(zip(names, self.recoding.table.codes.astype(np.int32).T, strict=True)))
        known = known.with_columns(
            leaf=pl.Series(self.guided.leaf_of, dtype=pl.Int64),
            of=pl.Series(self.recoding.class_of, dtype=pl.Int64),
        )
        rows = pl.DataFrame(
            {name: code[alike].astype(np.int32) for name, code in zip(names, quasi, strict=True)}
        )
        keys = [*names, "leaf"]
        # Refinement may put equal rows into several classes; the first one stands for them.
        joined = rows.with_columns(leaf=pl.Series(leaf[alike])).join(
            known.unique(keys, keep="first", maintain_order=True), on=keys, how="left", maintain_order="left"
        )
        found[alike] = joined["of"].fill_null(-2).to_numpy()
        return found


def _enclose_classes(recoding: Recoding) -> ReleasedBoxes:
    """What every class covers in each column, as the kernel compares it with rows."""
    shape = (recoding.size.size, len(recoding.cells))
    bound = np.empty((shape[0], 2, shape[1]))
    first, last = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    kind, members, before = [], [], 0
    for j, cells in enumerate(recoding.cells):
        of, domain = cells.of_class, cells.domain
        for side, end in enumerate((cells.lo[of], cells.hi[of])):
            bound[:, side, j] = domain.position[end] if domain.has_ranges else end
        kind.append(LINE if domain.has_ranges else INTERVAL if cells.members is None else SET)
        if cells.members is not None:
            start, member = cells.members
            first[:, j], last[:, j] = before + start[of], before + start[of + 1]
            members.append(member)
            before += member.size
    every = np.concatenate([np.empty(0, np.int64), *members], dtype=np.int64)
    return ReleasedBoxes(np.array(kind, np.int64), bound, first, last, every)


def _find_positions(cells: ColumnCells, code: Floats) -> Floats:
    """Where codes lie on the axis of a column, as the boxes of classes do."""
    return read_between(own_array(cells.domain.position), code) if cells.domain.has_ranges else code


def own_array(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, or a copy where it is read-only, which to kernels is another type."""
    return np.require(array, requirements=["C", "W"])


def encode_values(column: EncodedColumn, series: pl.Series) -> Floats:
    """Codes of values, between two codes for a number between two; -1 for what has none."""
    domain = column.domain
    absent = -1.0 if domain.missing is None else float(domain.missing)
    if domain.kind == "number":
        first = int(domain.missing is not None)
        known = own_array(convert_to_floats(domain.values.slice(first), column))
        if known.size == 0:
            return np.full(len(series), absent)
        values = own_array(convert_to_floats(series, column))
        # Few values are found without a table of where to look.
        parts = _PARTS if min(values.size, known.size) > _PARTS else 1
        # Beyond the ends the place is the first or last one, so that outliers go to the edge.
        place = find_places(values, known, count_before(known, parts)) + first
        return np.nan_to_num(place, copy=False, nan=absent)
    labels = domain.labels.drop_nulls()
    at = pl.Series(np.flatnonzero(domain.labels.is_not_null().to_numpy()), dtype=pl.Float64)
    code = to_strings(series).replace_strict(labels, at, default=-1.0, return_dtype=pl.Float64)
    return code.set(series.is_null(), absent).to_numpy()
