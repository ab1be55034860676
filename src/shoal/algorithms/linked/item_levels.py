"""Items of which an attacker knows several: groups of items, so that no combination is rare.

Every item of a class goes to one group, which is a node of its hierarchy, or is left out for some people. The
method is that of apriori: combinations of one item, then of two, and so on. Items in rare combinations go up
one level where that costs less than to leave them out. From the best of several such beginnings, groups are
divided and united one by one as long as it helps.

References
----------
M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", VLDB 2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.set_items import Levels, PartItems

_LIFTED = 0.25  # share of the useful groups that are lifted before all combinations are counted anew
_WORK = 2.5e7  # combinations that are counted while groups are divided and united
_FEWEST, _MOST = 4, 400  # steps, whatever the combinations
_CLEAR = 1e-12  # a smaller gain is none


def choose_cells(part: PartItems, knows: int, k: int, improve: bool) -> tuple[NDArray[np.int64], float]:
    """The cell of each item, -1 if it is left out, so that no combination is rare; and what it costs."""
    uniform = [np.full(part.codes.size, level) for level in range(part.levels)]
    begun = [lift_rare_items(part, knows, k), *uniform]
    tried = [(*leave_out_rare_items(part, level, knows, k), level) for level in begun]
    lost, gone, level = min(tried, key=lambda each: each[0])
    if improve:
        work = _WORK / max(part.count_choices(knows), 1.0)
        lost, gone, level = improve_levels(part, (lost, gone, level), knows, k, int(_clip(work)))
    return part.number_cells(level, gone), lost


def _clip(steps: float) -> float:
    return min(max(steps, _FEWEST), _MOST)


def lift_rare_items(part: PartItems, knows: int, k: int) -> Levels:
    """The level of each code, lifted where its items are in rare combinations and that is the cheapest."""
    level = np.zeros(part.codes.size, np.int64)
    gone = np.zeros(part.rows.size, np.bool_)
    while (rare := part.find_rare(part.number_cells(level, gone), knows, k)) is not None:
        ratio, to_level, group = _find_useful_lifts(part, level, gone, rare)
        if ratio.size == 0:
            gone[rare] = True
            continue
        taken = np.zeros(level.size, np.bool_)
        best = np.argsort(ratio, kind="stable")[: max(1, int(_LIFTED * ratio.size))]
        for to, each in zip(to_level[best].tolist(), group[best].tolist(), strict=True):
            members = np.flatnonzero((part.nodes[to] == each) & (level < to))
            if not taken[members].any():  # of groups within each other, one at a time
                level[members], taken[members] = to, True
    return level


def _find_useful_lifts(
    part: PartItems, level: Levels, gone: NDArray[np.bool_], rare: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Levels, NDArray[np.int64]]:
    """Groups one level higher that cost less than to leave out the rare items below.

    Returns
    -------
    how much they cost of what that would, their levels, and their numbers
    """
    at = np.arange(level.size)
    kept = np.bincount(part.code[~gone], minlength=at.size)
    now = part.width[level, at]
    saved = np.bincount(part.code[rare], minlength=at.size) * part.cost * (1 - now)
    found = []
    for to in range(1, part.levels):
        group = part.nodes[to]
        added = np.where(level < to, kept * part.cost * (part.width[to] - now), 0.0)
        cost, gain = np.bincount(group, added), np.bincount(group, np.where(level == to - 1, saved, 0.0))
        (useful,) = np.nonzero((gain > 0) & (cost < gain))
        found.append((cost[useful] / gain[useful], np.full(useful.size, to), useful))
    if not found:
        return np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
    ratio, to_level, number = (np.concatenate(each) for each in zip(*found, strict=True))
    return ratio, to_level, number


def leave_out_rare_items(
    part: PartItems, level: Levels, knows: int, k: int, most: float = np.inf
) -> tuple[float, NDArray[np.bool_]]:
    """What is lost with these levels, and which items have to be left out.

    Once as much as ``most`` is lost, the rest is not looked at.
    """
    gone = np.zeros(part.rows.size, np.bool_)
    while (lost := part.sum_loss(level, gone)) < most:
        rare = part.find_rare(part.number_cells(level, gone), knows, k)
        if rare is None:
            return lost, gone
        gone[rare] = True
    return np.inf, gone


def improve_levels(
    part: PartItems, begun: tuple[float, NDArray[np.bool_], Levels], knows: int, k: int, steps: int
) -> tuple[float, NDArray[np.bool_], Levels]:
    """Divide and unite groups, one by one, as long as less is lost and there are steps left."""
    lost, gone, level = begun
    improved = True
    while improved and steps > 0:
        improved = False
        for before, to, members in _list_moves(part, level, gone):
            if steps == 0:
                break
            if (level[members] != before).any():  # changed since it was listed
                continue
            steps -= 1
            tried = level.copy()
            tried[members] = to
            found, left = leave_out_rare_items(part, tried, knows, k, lost - _CLEAR)
            if np.isfinite(found):
                lost, gone, level, improved = found, left, tried, True
    return lost, gone, level


def _list_moves(
    part: PartItems, level: Levels, gone: NDArray[np.bool_]
) -> list[tuple[Levels, int, NDArray[np.int64]]]:
    """Groups to divide or unite, and items to free from their group: old levels, level, codes.

    Those come first that lose most now.
    """
    at = np.arange(level.size)
    out = np.bincount(part.code[gone], minlength=at.size) * part.cost
    wide = np.bincount(part.code[~gone], minlength=at.size) * part.cost * part.width[level, at]
    moves = [(wide[each], 0, np.array([each])) for each in np.flatnonzero(wide > _CLEAR).tolist()]
    for to in range(part.levels):
        group = part.nodes[to]
        for lost, to_level, fits in ((wide, to - 1, level == to), (out, to, level < to)):
            if to_level < 0 or not fits.any():
                continue
            worth = np.bincount(group, np.where(fits, lost, 0.0))
            for each in np.flatnonzero(worth > _CLEAR).tolist():
                members = np.flatnonzero((group == each) & fits)
                moves.append((worth[each], to_level, members))
    moves.sort(key=lambda move: -move[0])
    return [(level[members], to, members) for _, to, members in moves]
