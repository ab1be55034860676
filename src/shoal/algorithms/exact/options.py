"""What a cell may become and what that costs.

A cell may stay, become an ancestor in its column's hierarchy, a range whose ends are values of the column, or
``*``. A category without a hierarchy may stay or become ``*``; where whole classes are released, a column of
such categories may also become the set of the values present in the class (``sets``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import frexp, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.exact.amounts import (
    count_limbs,
    find_common_unit,
    list_places,
    read_decimal,
    read_fraction,
    to_array,
)
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
"""Sums of costs that differ by less are equal to a heuristic; proofs and counts compare exact amounts."""
PRESENT = -1
"""Instead of the ends of an interval: the set of the values present in the class."""
_MOST_VALUES = 3000  # a line of m values has m^2/2 ranges
_CLOSE = 1e-8  # share of a row that floats need not tell apart: a solver's tolerance is somewhat less
_LIGHTEST = 1e-4  # weight beside 1 to 2 up to which they can


def find_scale(weights: Floats) -> float:
    """The power of 2 next below the largest weight: dividing by it changes no digit."""
    return 2.0 ** (frexp(float(np.abs(weights).max()))[1] - 1) if weights.any() else 1.0


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
    one: float = 1.0
    """The weight that costs 1 as a float: so that floats are of one scale, whatever that of the weights."""

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

    @property
    def scaled_weight(self) -> float:
        """What a cell that loses everything costs, as a float."""
        return self.weight / self.one

    def compute_costs(self, lo: Ints, hi: Ints) -> Floats:
        """What one cell costs that becomes the permitted interval ``lo..hi``."""
        return self.scaled_weight * self._compute_shares(lo, hi)

    def _compute_shares(self, lo: Ints, hi: Ints) -> Floats:
        """What one cell loses, before the weight."""
        cells = ColumnCells(self.domain, np.arange(lo.size, dtype=np.int32), lo, hi, None)
        loss: CellLoss = LOSSES[self.loss]()
        return loss.per_cell(cells, self.distinct_count)

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

    @cached_property
    def _parts(self) -> tuple[NDArray[Any], int]:
        """What each interval loses as whole numbers, and which number is everything."""
        lo, hi, _ = self.intervals
        if not self.domain.has_ranges:
            shares = [read_fraction(share) for share in self._compute_shares(lo, hi).tolist()]
            whole = lcm(
                max(self.domain.size - 1, 1) if self.sets else 1, *(each.denominator for each in shares)
            )
            return to_array([int(share * whole) for share in shares]), whole
        if self.kind.step:
            return (hi > lo).astype(np.int64), 1
        place = list_places(self.domain)
        whole = max(int(place[-1]), 1)
        # An interval with the missing value would be wider than the axis.
        return np.minimum(place[hi] - place[lo], whole), whole

    @property
    def share(self) -> Fraction:
        """The exact cost of one step, see `steps`."""
        return abs(read_decimal(self.weight)) / self._parts[1]

    @cached_property
    def steps(self) -> NDArray[Any]:
        """[intervals] what each of them costs exactly, as a whole number of the column's shares."""
        return self._parts[0] * self._sign

    @property
    def _sign(self) -> int:
        return (self.weight > 0) - (self.weight < 0)

    @property
    def most_steps(self) -> int:
        """No cell costs or gains more steps than this."""
        return max(abs(int(self.steps.max())), abs(int(self.steps.min())), self._parts[1])

    def count_set_steps(self, codes: Ints) -> int:
        """What the set of the distinct ``codes`` costs exactly, in steps."""
        whole = self._parts[1]
        if self.kind.step:
            return self._sign * whole
        values = int(codes[-1] - codes[0]) if self.kind.spans_sets else codes.size - 1
        return self._sign * min(whole, values * whole // (self.domain.size - 1))

    def find_intervals_around(self, first: int, last: int) -> NDArray[np.intp]:
        """Which of the intervals hold the codes ``first`` to ``last``, the narrowest first."""
        lo, hi, _ = self.intervals
        at = np.flatnonzero((lo <= first) & (hi >= last))
        return at[np.argsort(hi[at] - lo[at], kind="stable")]

    def find_cheapest_cells(self, codes: Ints) -> tuple[int, list[tuple[int, int]]]:
        """The least steps of a cell that covers ``codes``, and all that have them, the narrowest first."""
        lo, hi, _ = self.intervals
        at = self.find_intervals_around(int(codes.min()), int(codes.max()))
        choices = [(int(self.steps[i]), (int(lo[i]), int(hi[i]))) for i in at]
        present = np.unique(codes)
        # A single value and `*` are among the intervals already.
        if self.sets and 1 < present.size < self.domain.size:
            choices.insert(0, (self.count_set_steps(present), (PRESENT, PRESENT)))
        least = min(choices)[0]
        return least, [ends for steps, ends in choices if steps == least]


@dataclass(frozen=True, eq=False)
class TableSpace:
    """All tables that a search may choose from."""

    columns: tuple[ColumnOptions, ...]
    scale: float
    """A loss is this times the sum of the cells' costs as floats."""

    @classmethod
    def from_codes(
        cls, domains: Sequence[Domain], codes: NDArray[np.integer], loss: str, weights: Floats, sets: bool
    ) -> TableSpace:
        """The space of a table, given as codes row by row."""
        costs = find_cell_costs(loss)
        if costs is None:
            exact = [name for name in LOSSES.built_in if find_cell_costs(name) is not None]
            raise RecipeError(f"loss '{loss}' cannot be minimised cell by cell: take {quote(exact)}")
        one = find_scale(weights)
        columns = tuple(
            ColumnOptions(
                domain,
                codes[:, j].astype(np.int64),
                loss,
                float(weights[j]),
                sets and domain.kind == "flat",
                one,
            )
            for j, domain in enumerate(domains)
        )
        parts = float(np.abs(weights / one).sum()) * codes.shape[0]
        return cls(columns, (1 / parts if parts else 0.0) if costs.mean else one)

    @cached_property
    def _common_unit(self) -> tuple[tuple[int, ...], Fraction]:
        return find_common_unit([column.share for column in self.columns])

    @property
    def amounts(self) -> tuple[int, ...]:
        """Per column, the exact cost of one of its steps in the unit that all columns share."""
        return self._common_unit[0]

    @cached_property
    def limbs(self) -> int:
        """How many limbs hold the amount of any table."""
        each = [times * column.most_steps for times, column in zip(self.amounts, self.columns, strict=True)]
        return count_limbs(self.rows * sum(each))

    @cached_property
    def _unit_cost(self) -> Fraction:
        return self._common_unit[1] / Fraction(self.columns[0].one)

    def to_cost(self, amount: int) -> float:
        """An exact amount as a float, in the scale of all costs that are floats."""
        return amount * self._unit_cost.numerator / self._unit_cost.denominator

    def settle_bound(self, bound: float, cost: float) -> float:
        """What a bound that was computed in floats proves of a table of that cost: at most the cost itself.

        A bound that equals the cost is a proof, and the only form of one. Floats give it where what they
        cannot tell from the cost is next to nothing of the lightest column. Where weights are so different
        that a light column vanishes beside a heavy one, they prove nothing.
        """
        weights = [abs(column.scaled_weight) for column in self.columns if column.weight]
        lightest = min(weights, default=1.0)
        if lightest < _LIGHTEST:
            return min(bound, cost - _CLOSE * self.rows)
        return cost if bound >= cost - _CLOSE * lightest * self.rows else bound

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
    gain = min(column.scaled_weight, 0.0) if domain.size > 1 else 0.0
    # Places that are 1 apart: every range costs the same.
    position = np.arange(domain.size, dtype=np.float64) if column.kind.step else domain.position
    unit = column.unit_cost if column.sets and not column.kind.spans_sets else 0.0
    return _ColumnCosts(max(column.scaled_weight, 0.0), position, _NO_TREE, np.empty(0), unit, gain)


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
