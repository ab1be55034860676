"""Neighbours in an order together, or rare values together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import floordiv

import numpy as np

from shoal.errors import InputError
from shoal.support.parameters import check_fields
from shoal.table.hierarchies.builders.levels import (
    Groups,
    Level,
    build_from_levels,
    find_coarser_levels,
    group_neighbours,
    make_level,
)
from shoal.table.hierarchies.builders.values import Values
from shoal.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class OrderedGroups:
    """Neighbours together: S and M, L and XL, then all four.

    Parameters
    ----------
    sizes : tuple of int
        How many neighbours become one group on each level; the last goes on until two groups are left.
    """

    sizes: tuple[int, ...] = (2,)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.sizes or min(self.sizes) < 2:
            raise InputError(
                f"sizes is how many neighbours become one group: 2 or more each, not {self.sizes}"
            )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column, in the order of its type; of text, the order is that of the alphabet."""
        part = values.value.rank("dense").to_numpy().astype(np.int64) - 1
        # The stated sizes one after another; the last is repeated until two groups are left.
        parts = list(accumulate(self.sizes[:-1], floordiv, initial=part))
        parts += group_neighbours(parts[-1], self.sizes[-1])[1:]
        # The first part is the values themselves, which are the leaves.
        return build_from_levels(values.leaves, [_build_run_level(values, part) for part in parts[1:]])


def _build_run_level(values: Values, part: Groups) -> Level:
    """A level of runs, each called after its first and its last value."""
    # Groups are runs of neighbours, so that a run ends where the number changes.
    last = np.append(np.flatnonzero(np.diff(part)), len(part) - 1)

    def name_group(leaf: int) -> str:
        end = int(last[np.searchsorted(last, leaf)])
        return values.text[leaf] if end == leaf else f"{values.text[leaf]}..{values.text[end]}"

    return make_level(part, name_group)


@dataclass(frozen=True, slots=True)
class RareTogether:
    """Values that few rows hold together in one group; all others stay as they are.

    A level on which no further value is rare is left out.

    Parameters
    ----------
    below : tuple of float
        For each level, ascending, the number of rows below which a value counts as rare; numbers below 1 are
        shares of all rows.
    """

    below: tuple[float, ...] = (0.01, 0.05)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.below or self.below[0] <= 0 or any(not low < high for low, high in pairwise(self.below)):
            raise InputError(f"below must be greater than 0 and ascend, not {self.below}")
        if self.below[0] < 1 <= self.below[-1]:
            raise InputError(
                f"below is either shares of the rows or numbers of rows, not both as in {self.below}"
            )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column of any kind."""
        levels = [_build_rare_level(values, limit) for limit in self.below]
        kept = find_coarser_levels([level.group for level in levels], len(values.text))
        return build_from_levels(values.leaves, [levels[at] for at in kept])


def _build_rare_level(values: Values, limit: float) -> Level:
    rare = values.rows < (limit * values.rows.sum() if limit < 1 else limit)
    # All rare values share the group -1; every other value is a group of its own.
    group = np.where(rare, -1, np.arange(len(rare)))
    most = f"{100 * limit:g} %" if limit < 1 else f"{limit:g} rows"
    return make_level(group, lambda leaf: f"rare (below {most})" if rare[leaf] else values.text[leaf])
