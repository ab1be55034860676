"""From groups of groups to a hierarchy: what every builder ends with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.table.hierarchies.assembly import ROOT
from shoal.table.hierarchies.hierarchy import Hierarchy

Groups: TypeAlias = NDArray[np.int64]


class Level(NamedTuple):
    """The group that each leaf belongs to, and what the groups are called."""

    group: Groups
    """Numbers from 0, without gaps."""
    labels: Sequence[str]


def make_level(group: NDArray[np.generic], label: Callable[[int], str]) -> Level:
    """A level from the group of each leaf, whatever its number, called after its first leaf by ``label``."""
    _, first, dense = np.unique(group, return_index=True, return_inverse=True)
    return Level(dense.astype(np.int64), [label(int(leaf)) for leaf in first])


def build_from_levels(leaves: Sequence[str], levels: Sequence[Level]) -> Hierarchy:
    """The hierarchy with these levels above the leaves, and a root above all.

    A label that already stands for other values, on whatever level, gets a number: in a release nobody could
    tell the two apart.
    """
    columns = [list(leaves)]
    taken = {leaf: (at, 1) for at, leaf in enumerate(leaves)}
    for level in levels:
        _, first, size = np.unique(level.group, return_index=True, return_counts=True)
        # Groups are nested: those with the same first leaf and as many of them are the same.
        parts = list(zip(first.tolist(), size.tolist(), strict=True))
        names = [reserve_name(label, part, taken) for label, part in zip(level.labels, parts, strict=True)]
        columns.append([names[group] for group in level.group])
    columns.append([ROOT] * len(leaves))
    return Hierarchy.from_rows(list(zip(*columns, strict=True)))


def reserve_name(label: str, part: tuple[int, int], taken: dict[str, tuple[int, int]]) -> str:
    """A name for a part of the leaves that stands for no other part."""
    name, number = label, 1
    # The same name for the same part is one node that repeats on a higher level.
    while taken.setdefault(name, part) != part:
        number += 1
        name = f"{label} ({number})"
    return name


def group_neighbours(first: Groups, factor: int) -> list[Groups]:
    """``first``, then ``factor`` neighbours joined again and again, while that leaves several groups."""
    check_factor(factor)
    levels = [first]
    while levels[-1].min() != levels[-1].max():
        joined = np.floor_divide(levels[-1], factor)
        # Below and above zero never join: the root does that.
        if np.array_equal(joined, levels[-1]):
            return levels
        levels.append(joined)
    return levels[:-1] or levels


def find_coarser_levels(levels: Sequence[Groups], leaves: int) -> list[int]:
    """Which of nested ``levels`` have fewer groups than what lies below, each, and more than one."""
    # Each level is compared with the one right below it, the first with the leaves.
    counts = [len(np.unique(groups)) for groups in levels]
    return [at for at, count in enumerate(counts) if 1 < count < ([leaves, *counts][at])]


def check_factor(factor: int) -> None:
    """Refuse a number of groups to be joined that would join none."""
    if factor < 2:
        raise InputError(f"factor is how many groups become one on the next level: 2 or more, not {factor}")
