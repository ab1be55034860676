"""What a cell may become and what that costs.

A cell may stay, become an ancestor in its column's hierarchy, a range whose ends are values of the column, or
``*``. A category without a hierarchy may stay or become ``*``; where whole classes are released, a column of
such categories may also become the set of the values present in the class (``sets``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.loss import LOSSES, CellCosts, CellLoss, find_cell_costs
from shoal.codespace.recoding import ColumnCells
from shoal.errors import RecipeError, quote
from shoal.kernels.axes import LEVELS, START, TREE
from shoal.kernels.groups import GroupCosts
from shoal.table.hierarchies import Hierarchy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TIE = 1e-9
"""Sums of costs that differ by less are equal: the order of adding makes a difference of about 1e-15."""
PRESENT = -1
"""Instead of the ends of an interval: the set of the values present in the class."""
_MOST_VALUES = 3000  # a line of m values has m^2/2 ranges


@dataclass(frozen=True, eq=False)
class ColumnOptions:
    """The options of the cells of one column."""

    domain: Domain
    code: Ints
    """[rows]"""
    loss: str
    weight: float
    sets: bool = False
    """Whether a class may release the set of its values."""

    @cached_property
    def distinct_count(self) -> int:
        """Number of distinct values in the column."""
        return np.unique(self.code).size

    @cached_property
    def kind(self) -> CellCosts:
        """How the loss counts."""
        costs = find_cell_costs(self.loss)
        assert costs is not None  # `TableSpace.from_codes` has made sure of it
        return costs

    def compute_costs(self, lo: Ints, hi: Ints) -> Floats:
        """What one cell costs that becomes the permitted interval ``lo..hi``."""
        cells = ColumnCells(self.domain, np.arange(lo.size, dtype=np.int32), lo, hi, None)
        loss: CellLoss = LOSSES[self.loss]()
        return self.weight * loss.per_cell(cells, self.distinct_count)

    def compute_set_cost(self, codes: Ints) -> float:
        """What one cell costs that becomes the set of the distinct ``codes``."""
        if self.kind.spans_sets:
            return float(self.compute_costs(codes[:1], codes[-1:])[0])
        return self.weight * min(1.0, (codes.size - 1) * self.unit_cost)

    @property
    def is_narrowest_cheapest(self) -> bool:
        """Whether the narrowest cell that any algorithm may release is permitted here, and the cheapest."""
        permitted = self.sets or self.domain.kind != "flat"
        # By the certainty score, for one, a node can cost more than the one above it.
        return permitted and self.weight >= 0 and (self.domain.hierarchy is None or self.kind.rises)

    @property
    def unit_cost(self) -> float:
        """What each further value of a set costs, before the weight."""
        return 1.0 if self.kind.step else 1 / max(self.domain.size - 1, 1)

    @cached_property
    def intervals(self) -> tuple[Ints, Ints, Floats]:
        """Ends and costs of every interval that some cell may become, sets apart."""
        lo, hi = _list_intervals(self.domain, np.unique(self.code))
        return lo, hi, self.compute_costs(lo, hi)

    def find_intervals_around(self, first: int, last: int) -> NDArray[np.intp]:
        """Which of the intervals hold the codes ``first`` to ``last``, the narrowest first."""
        lo, hi, _ = self.intervals
        at = np.flatnonzero((lo <= first) & (hi >= last))
        return at[np.argsort(hi[at] - lo[at], kind="stable")]

    def find_cheapest_cells(self, codes: Ints) -> tuple[float, list[tuple[int, int]]]:
        """The least cost of a cell that covers ``codes``, and all that have it, the narrowest first."""
        lo, hi, cost = self.intervals
        at = self.find_intervals_around(int(codes.min()), int(codes.max()))
        choices = [(float(cost[i]), (int(lo[i]), int(hi[i]))) for i in at]
        present = np.unique(codes)
        # A single value and `*` are among the intervals already.
        if self.sets and 1 < present.size < self.domain.size:
            choices.insert(0, (self.compute_set_cost(present), (PRESENT, PRESENT)))
        least = min(choices)[0]
        return least, [ends for each, ends in choices if each <= least + TIE]


@dataclass(frozen=True, eq=False)
class TableSpace:
    """All tables that a search may choose from."""

    columns: tuple[ColumnOptions, ...]
    scale: float
    """A loss is this times the sum of the cells' costs."""

    @classmethod
    def from_codes(
        cls, domains: Sequence[Domain], codes: NDArray[np.integer], loss: str, weights: Floats, sets: bool
    ) -> TableSpace:
        """The space of a table, given as codes row by row."""
        costs = find_cell_costs(loss)
        if costs is None:
            exact = [name for name in LOSSES.built_in if find_cell_costs(name) is not None]
            raise RecipeError(f"loss '{loss}' cannot be minimised cell by cell: take {quote(exact)}")
        columns = tuple(
            ColumnOptions(
                domain, codes[:, j].astype(np.int64), loss, float(weights[j]), sets and domain.kind == "flat"
            )
            for j, domain in enumerate(domains)
        )
        parts = float(np.abs(weights).sum()) * codes.shape[0]
        return cls(columns, (1 / parts if parts else 0.0) if costs.mean else 1.0)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.columns[0].code.size

    @property
    def codes(self) -> Ints:
        """[rows, columns]"""
        return np.stack([column.code for column in self.columns], axis=1)

    def count_tables(self) -> int:
        """How many tables there are, sets apart."""
        total = 1
        for column in self.columns:
            codes, times = np.unique(column.code, return_counts=True)
            options = [column.find_intervals_around(code, code).size for code in codes.tolist()]
            total *= prod(many**often for many, often in zip(options, times.tolist(), strict=True))
        return total

    def build_costs(self) -> tuple[GroupCosts, float]:
        """What the cheapest cells around any rows cost, for the kernels; and what every row costs besides."""
        parts = [_column_costs(column) for column in self.columns]
        shape = np.zeros((3, len(parts) + 1), np.int64)
        for j, part in enumerate(parts):
            shape[START, j + 1] = shape[START, j] + part.position.size
            shape[LEVELS, j] = part.node.shape[0]
            shape[TREE, j + 1] = shape[TREE, j] + part.node.size
        costs = GroupCosts(
            np.array([part.weight for part in parts]),
            np.array([part.unit for part in parts]),
            shape,
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.node.ravel() for part in parts]),
            np.concatenate([part.node_cost.ravel() for part in parts]),
        )
        return costs, sum(part.always for part in parts)


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnCosts:
    """A column as `Costs` holds it: a line, a tree, or sets."""

    weight: float
    position: Floats
    node: NDArray[np.int32]
    node_cost: Floats
    unit: float = 0.0
    always: float = 0.0
    """What a cell costs whatever it covers: the gain from suppression where that is a gain."""


_NO_TREE = np.empty((0, 0), np.int32)


def _column_costs(column: ColumnOptions) -> _ColumnCosts:
    domain = column.domain
    if not domain.has_ranges and not column.sets:
        return _tree_costs(column)
    # With a weight below 0 `*` is the cheapest cell for any rows, so that width plays no part.
    gain = min(column.weight, 0.0) if domain.size > 1 else 0.0
    # Places that are 1 apart: every range costs the same.
    position = np.arange(domain.size, dtype=np.float64) if column.kind.step else domain.position
    unit = column.unit_cost if column.sets and not column.kind.spans_sets else 0.0
    return _ColumnCosts(max(column.weight, 0.0), position, _NO_TREE, np.empty(0), unit, gain)


def _tree_costs(column: ColumnOptions) -> _ColumnCosts:
    """Costs of the cheapest node at or above each node: a node may cost more than the one above it."""
    domain, leaf = column.domain, np.arange(column.domain.size)
    if domain.hierarchy is None:
        node = np.stack([leaf, np.zeros_like(leaf)]).astype(np.int32)
        lo, hi = np.stack([leaf, np.zeros_like(leaf)]), np.stack([leaf, np.full_like(leaf, domain.size - 1)])
    else:
        node = domain.hierarchy.nodes
        lo, hi = _find_extents(domain.hierarchy, leaf)
    cost = column.compute_costs(lo.ravel(), hi.ravel()).reshape(lo.shape)
    return _ColumnCosts(1.0, np.zeros(domain.size), node, np.minimum.accumulate(cost[::-1], axis=0)[::-1])


def _find_extents(hierarchy: Hierarchy, leaf: Ints) -> tuple[Ints, Ints]:
    """[levels, leaves] the ends of the nodes above leaves."""
    lo, hi = hierarchy.extent(np.arange(hierarchy.height + 1)[:, None], leaf[None, :])
    return lo.astype(np.int64), hi.astype(np.int64)


def _list_intervals(domain: Domain, present: Ints) -> tuple[Ints, Ints]:
    """Ends of the permitted intervals that hold a value which is present."""
    if domain.hierarchy is not None:
        lo, hi = _find_extents(domain.hierarchy, present)
    elif domain.has_ranges:
        if domain.size > _MOST_VALUES:
            raise RecipeError(
                f"column '{domain.name}' has {domain.size} distinct values; exact search takes at most "
                f"{_MOST_VALUES}: round them, give it a hierarchy, or take --algorithm mondrian"
            )
        # The missing value has the code 0, and is in no range but `*`.
        start = 0 if domain.missing is None else 1
        lo, hi = (ends + start for ends in np.triu_indices(domain.size - start))
        # Beside the ranges: `*` and, where there is one, the missing value alone.
        lo, hi = np.append(lo, [0] * (start + 1)), np.append(hi, [domain.size - 1, *([0] * start)])
    else:
        lo, hi = np.append(present, 0), np.append(present, domain.size - 1)
    ends = np.unique(np.stack([np.ravel(lo), np.ravel(hi)]).astype(np.int64), axis=1)
    return ends[0], ends[1]
