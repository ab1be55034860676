"""Dividing a cell of one column, so that rows stay equal in every set of columns that somebody may know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.signatures import Matrix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads keys over a table


class _Numbering(NamedTuple):
    """Room for numbering the rows of a cell by what they have in other columns."""

    number: Matrix[np.int32]
    """[columns + 1, rows] the group of each row by the first columns of a set."""
    slots: NDArray[np.int32]
    distinct: NDArray[np.uint64]


@entry_kernel
def settle_division(
    cell: Matrix[np.int32],
    rows: NDArray[np.int64],
    part: NDArray[np.int32],
    gain: NDArray[np.float64],
    known: Matrix[np.int64],
    least: NDArray[np.int64],
    enough: float,
    passes: int,
) -> int:
    """Let as many ``rows`` of a cell as can go to narrower cells, the parts from 1 on; the others stay, in 0.

    Afterwards there are ``least`` rows, or none, of each part that are equal in the columns ``known`` beside
    this one, for every such set. Returns how many passes it took; 0 if the division is not worth while.

    Parameters
    ----------
    cell : int32[columns, n]
        The cell of each row.
    part : int32[rows]
        Where each row is to go; changed in place.
    gain : float64[parts + 1]
        What a row gains by that.
    known : int64[sets, most columns]
        The other columns of each set, -1 where it has fewer; in the order of words in a dictionary.
    enough : float
        The gain of all rows below which nothing is divided.
    """
    count, parts = rows.size, gain.size
    bits = 1
    while (1 << bits) < 2 * count:
        bits += 1
    number = np.zeros((known.shape[1] + 1, count), np.int32)
    room = _Numbering(number, np.empty(1 << bits, np.int32), np.empty(count, np.uint64))
    groups = np.ones(known.shape[1] + 1, np.int64)
    size = np.zeros(parts, np.int32)
    total = 0.0
    for i in range(count):
        total += gain[part[i]]
    for done in range(1, passes + 1):
        back = 0
        for s in range(known.shape[0]):
            depth = _number_by_set(cell, rows, known, s, bits, room, groups)
            if size.size < groups[depth] * parts:
                size = np.zeros(groups[depth] * parts, np.int32)
            if _count_returns(part, number[depth], groups[depth], parts, least[s], size):
                for i in range(count):
                    at = number[depth, i] * parts + part[i]
                    if part[i] > 0 and size[at] > 0:
                        size[at] -= 1
                        total -= gain[part[i]]
                        part[i] = 0
                        back += 1
                if total < enough:
                    return 0
        if back == 0:
            return done
    return 0


@inner_kernel
def _number_by_set(
    cell: Matrix[np.int32],
    rows: NDArray[np.int64],
    known: Matrix[np.int64],
    s: int,
    bits: int,
    room: _Numbering,
    groups: NDArray[np.int64],
) -> int:
    """Number the rows by the cells that they have in a set of columns; what the last set began with is there.

    Returns of how many columns the set is.
    """
    depth = 0
    if s > 0:
        while depth < known.shape[1] and known[s, depth] == known[s - 1, depth] and known[s, depth] >= 0:
            depth += 1
    while depth < known.shape[1] and known[s, depth] >= 0:
        groups[depth + 1] = _refine_groups(cell, rows, known[s, depth], depth, bits, room)
        depth += 1
    return depth


@inner_kernel
def _refine_groups(
    cell: Matrix[np.int32], rows: NDArray[np.int64], column: int, depth: int, bits: int, room: _Numbering
) -> int:
    """Divide the groups at a depth by a further column; return how many there are."""
    mask = np.uint64((1 << bits) - 1)
    for slot in range(1 << bits):
        room.slots[slot] = -1
    found = 0
    for i in range(rows.size):
        key = (np.uint64(room.number[depth, i]) << np.uint64(32)) | np.uint64(cell[column, rows[i]])
        at = (key * _GOLDEN) >> np.uint64(64 - bits)
        while room.slots[at] >= 0 and room.distinct[room.slots[at]] != key:
            at = (at + np.uint64(1)) & mask
        if room.slots[at] < 0:
            room.slots[at] = found
            room.distinct[found] = key
            found += 1
        room.number[depth + 1, i] = room.slots[at]
    return found


@inner_kernel
def _count_returns(
    part: NDArray[np.int32],
    group: NDArray[np.int32],
    groups: int,
    parts: int,
    least: int,
    size: NDArray[np.int32],
) -> bool:
    """How many rows of each group and part have to go back: in ``size``, by group and part."""
    size[: groups * parts] = 0
    for i in range(part.size):
        size[group[i] * parts + part[i]] += 1
    some = False
    for g in range(groups):
        first = g * parts
        stays = int(size[first])
        size[first] = 0
        # Rows that stay are below 0 for now.
        for at in range(first + 1, first + parts):
            if 0 < size[at] < least:
                stays += size[at]
                some = True
            else:
                size[at] = -size[at]
        while 0 < stays < least:
            some = True
            stays += _take_from_group(size, first, parts, least, least - stays)
        for at in range(first + 1, first + parts):
            size[at] = max(size[at], 0)
    return some


@inner_kernel
def _take_from_group(size: NDArray[np.int32], first: int, parts: int, least: int, wanted: int) -> int:
    """Send so many rows of a group back, of the largest part that keeps enough; or else the smallest part."""
    largest, smallest = -1, -1
    for at in range(first + 1, first + parts):
        rows = -size[at]
        if rows >= least + wanted and (largest < 0 or rows > -size[largest]):
            largest = at
        if rows > 0 and (smallest < 0 or rows < -size[smallest]):
            smallest = at
    if largest >= 0:
        size[largest] = wanted
        return wanted
    size[smallest] = -size[smallest]
    return int(size[smallest])
