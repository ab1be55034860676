"""Groups learned from the data: values that go with the same things are put together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.support.arithmetic import log
from shoal.support.parameters import check_fields
from shoal.table.hierarchies.builders.levels import Groups, Level, build_from_levels, make_level
from shoal.table.hierarchies.builders.values import Values
from shoal.table.hierarchies.hierarchy import Hierarchy

Floats: TypeAlias = NDArray[np.float64]

MOST_VALUES = 2000
"""Distinct values; the work grows with their square."""
_NAMED = 3
"""Values that the label of a group lists."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Values together that go with the same values of a target, or of all other columns.

    Agglomerative information bottleneck: of all pairs of groups those two are joined that lose the least
    information about the target, again and again. Rare values say little, so they are joined early.

    Parameters
    ----------
    groups : tuple of int
        How many groups each level has, descending; by default half as many on each level, down to two.

    References
    ----------
    N. Slonim, N. Tishby: Agglomerative information bottleneck. NIPS 1999.
    """

    groups: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        if any(count < 2 for count in self.groups) or any(not a > b for a, b in pairwise(self.groups)):
            raise InputError(
                f"groups is how many there are on each level, descending to 2, not {self.groups}"
            )

    def build(self, values: Values) -> Hierarchy:
        """The hierarchy of a column with a profile."""
        if values.profile is None:
            raise InputError("groups are learned from a target or other columns, and there are none")
        size = len(values.text)
        if size > MOST_VALUES:
            raise InputError(
                f"groups are learned of at most {MOST_VALUES:,} distinct values, and there are {size:,}"
            )
        counts = self.groups or list_halved_counts(size)
        parts = cut_merges(
            find_merges(values.profile.astype(np.float64)), [count for count in counts if count < size], size
        )
        return build_from_levels(values.leaves, [_build_level(values, part) for part in parts])


def list_halved_counts(size: int) -> list[int]:
    """Half as many again and again, down to two."""
    counts = [size]
    while counts[-1] > 2:
        counts.append((counts[-1] + 1) // 2)
    return counts[1:]


def find_merges(counts: Floats) -> list[tuple[int, int]]:
    """Pairs in the order in which they are joined; the first of a pair stands for both from then on."""
    counts = counts.copy()
    size = len(counts)
    information = _measure_information(counts)
    # Both halves, so that the minimum of a row is its nearest group; a group never joins itself.
    cost = np.full((size, size), np.inf)
    for at in range(size):
        cost[at, :at] = cost[:at, at] = _measure_merge_costs(counts, information, at, slice(0, at))
    best = cost.argmin(axis=1)
    least = cost[np.arange(size), best]
    joined = []
    for _ in range(size - 1):
        one = int(least.argmin())
        # The lower number stands for both, however the pair was found.
        keep, gone = sorted((one, int(best[one])))
        joined.append((keep, gone))
        counts[keep] += counts[gone]
        information[keep] = _measure_information(counts[keep : keep + 1])[0]
        cost[gone, :] = cost[:, gone] = np.inf
        costs = _measure_merge_costs(counts, information, keep, slice(0, size))
        # Infinite stays infinite: groups that are gone, and the group itself.
        cost[keep, :] = cost[:, keep] = np.where(np.isfinite(cost[keep]), costs, np.inf)
        # Only rows that lost their nearest, or found a nearer one, have to look again.
        stale = np.flatnonzero((best == keep) | (best == gone) | (cost[:, keep] < least))
        stale = np.unique([*stale, keep, gone])
        best[stale] = cost[stale].argmin(axis=1)
        least[stale] = cost[stale, best[stale]]
    return joined


def cut_merges(joined: list[tuple[int, int]], counts: list[int], size: int) -> list[Groups]:
    """The group of each value when so many groups are left, for each of descending ``counts``."""
    group = np.arange(size)
    found = {size: group.copy()}
    for left, (keep, gone) in zip(range(size - 1, 0, -1), joined, strict=True):
        # One group less after each merge.
        group[group == gone] = keep
        if left in counts:
            found[left] = group.copy()
    return [found[count] for count in counts]


def _measure_information(counts: Floats) -> Floats:
    """Rows times their entropy, negative: what a group says about the target, but for a constant."""
    total = counts.sum(axis=1)
    information: Floats = _xlogx(counts).sum(axis=1) - _xlogx(total)
    return information


def _measure_merge_costs(counts: Floats, information: Floats, at: int, others: slice) -> Floats:
    """The information that is lost if the group ``at`` is joined with each of the ``others``."""
    together = _measure_information(counts[others] + counts[at])
    # Information is never gained by joining; rounding may say so.
    lost: Floats = np.maximum(information[others] + information[at] - together, 0.0)
    return lost


def _xlogx(counts: Floats) -> Floats:
    # 0 log 0 counts as 0; other counts are at least 1.
    product: Floats = counts * log(np.maximum(counts, 1.0))
    return product


def _build_level(values: Values, part: Groups) -> Level:
    """A level whose groups are called after their commonest values."""

    def name_group(leaf: int) -> str:
        members = np.flatnonzero(part == part[leaf])
        common = members[np.argsort(-values.rows[members], kind="stable")]
        rest = len(common) - _NAMED
        named = ", ".join(values.text[int(at)] for at in common[: _NAMED if rest > 0 else None])
        return f"{named} and {rest} more" if rest > 0 else named

    return make_level(part, name_group)
