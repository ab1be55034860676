"""Whole sets that k people share: people are divided by what they have, as long as each side has k people.

Of a class, an item stays that all have; of the others, the lowest groups that all have an item of; the rest
is left out. A class is never worse divided than whole, so that what divides it best is taken until nothing
can.

References
----------
Y. He, J. F. Naughton, "Anonymization of set-valued data via top-down, local generalization", VLDB 2009.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import Rows
from shoal.algorithms.linked.set_items import PartItems
from shoal.codespace.domain import expand_intervals

_TRIED = 8  # groups by which a class is tried to be divided

Permits = Callable[[Rows], bool]
"""Whether people, numbered as in a part, may be a class."""


def choose_shared_cells(part: PartItems, people: int, permits: Permits) -> tuple[NDArray[np.int64], float]:
    """The cell of each item, -1 if it is left out, so that classes share their sets; and what it costs.

    Parameters
    ----------
    people : int
        How many there are in the part, with those who have no items: their numbers come last.
    """
    order = np.argsort(part.person, kind="stable")
    end = np.searchsorted(part.person[order], np.arange(people + 1))
    cell, used, total = np.full(part.rows.size, -1, np.int64), 0, 0.0
    waiting = [np.arange(people)]
    while waiting:
        group = waiting.pop()
        places = order[expand_intervals(end[group], end[group + 1] - 1)[1]]
        divided = _divide(part, places, group, permits)
        if divided is not None:
            waiting += divided
            continue
        level, lost = _share_items(part, places, group.size)
        kept = level >= 0
        key = level * (int(part.nodes.max()) + 1) + part.nodes[level, part.code[places]]
        number = np.unique(key[kept], return_inverse=True)[1]
        cell[places[kept]] = number + used
        used += int(number.max(initial=-1)) + 1
        total += lost
    return cell, total


def _divide(part: PartItems, places: Rows, group: Rows, permits: Permits) -> list[Rows] | None:
    """The two parts of a class that lose least, by who has an item of a group of items; None if none may."""
    best, least = None, np.inf
    for has in _list_divisions(part, places, group):
        sides = [group[has], group[~has]]
        if not all(side.size and permits(side) for side in sides):
            continue
        inside = has[np.searchsorted(group, part.person[places])]
        lost = [
            _share_items(part, places[inside == own], side.size)[1]
            for own, side in zip((True, False), sides, strict=True)
        ]
        if sum(lost) < least:
            best, least = sides, sum(lost)
    return best


def _list_divisions(part: PartItems, places: Rows, group: Rows) -> list[NDArray[np.bool_]]:
    """For some groups of items, who of a class has one: those that most have, but not all, on each level."""
    found: dict[bytes, tuple[int, NDArray[np.bool_]]] = {}
    whose = np.searchsorted(group, part.person[places])
    for level in range(part.levels):
        node, number = np.unique(part.nodes[level, part.code[places]], return_inverse=True)
        pairs = np.unique(number * group.size + whose)
        have = np.bincount(pairs // group.size, minlength=node.size)
        some = np.flatnonzero((have > 0) & (have < group.size))
        for each in some[np.argsort(-have[some], kind="stable")][:_TRIED].tolist():
            has = np.zeros(group.size, np.bool_)
            has[pairs[pairs // group.size == each] % group.size] = True
            found.setdefault(has.tobytes(), (int(have[each]), has))
    # The most even first: both sides have to be classes.
    even = sorted(found.values(), key=lambda each: abs(2 * each[0] - group.size))
    return [has for _, has in even[:_TRIED]]


def _share_items(part: PartItems, places: Rows, people: int) -> tuple[NDArray[np.int64], float]:
    """The level on which each item is shared by all people of a class, -1 if on none; and what it costs."""
    level = np.full(places.size, -1, np.int64)
    code, person = part.code[places], part.person[places]
    lost = part.cost[code].copy()
    for at in range(part.levels):
        rest = np.flatnonzero(level < 0)
        if rest.size == 0:
            break
        node, number = np.unique(part.nodes[at, code[rest]], return_inverse=True)
        width = int(person.max()) + 1
        have = np.bincount(np.unique(number * width + person[rest]) // width, minlength=node.size)
        shared = have[number] == people
        if shared.any():
            taken = rest[shared]
            level[taken] = at
            lost[taken] *= _compute_widths(part, code[taken], number[shared])
    return level, float(np.add.accumulate(lost)[-1]) if lost.size else 0.0


def _compute_widths(
    part: PartItems, code: NDArray[np.int64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The width of the cell of each item, around the codes that are in its group."""
    distinct, number = np.unique(code, return_inverse=True)
    of = np.empty(distinct.size, np.int64)
    of[number] = group
    return part.items.compute_widths(part.codes[distinct], of)[number]
