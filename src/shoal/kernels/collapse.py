"""Collapse equal rows into weighted ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive keys (Knuth, TAOCP 6.4)


@entry_kernel
def first_seen(keys: NDArray[np.uint64], ids: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Number equal keys alike, in order of first appearance; return the distinct keys.

    Parameters
    ----------
    keys : uint64[n]
    ids : int32[n]
        Filled with the number of each key.
    """
    bits = 10
    slots = np.full(1 << bits, -1, np.int32)
    distinct = np.empty(1 << (bits - 1), np.uint64)
    count = 0
    for i in range(keys.size):
        key = keys[i]
        # Linear probing. The table is half full at most, so a search is short.
        slot = (key * _GOLDEN) >> np.uint64(64 - bits)
        while slots[slot] >= 0 and distinct[slots[slot]] != key:
            slot = (slot + np.uint64(1)) & np.uint64((1 << bits) - 1)
        if slots[slot] < 0:
            if count == distinct.size:  # half full: double, and find a place for every key again
                bits += 1
                distinct = np.concatenate((distinct, np.empty(count, np.uint64)))
                slots = np.full(1 << bits, -1, np.int32)
                for j in range(count):
                    place = (distinct[j] * _GOLDEN) >> np.uint64(64 - bits)
                    while slots[place] >= 0:
                        place = (place + np.uint64(1)) & np.uint64((1 << bits) - 1)
                    slots[place] = j
                slot = (key * _GOLDEN) >> np.uint64(64 - bits)
                while slots[slot] >= 0:
                    slot = (slot + np.uint64(1)) & np.uint64((1 << bits) - 1)
            slots[slot] = count
            distinct[count] = key
            count += 1
        ids[i] = slots[slot]
    return distinct[:count].copy()


def collapse_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the distinct keys in ascending order and, for each key, its place among them.

    Hashing first and sorting only what is distinct is near-linear in rows; the ascending
    order makes the result independent of the order of the rows.
    """
    ids = np.empty(keys.size, np.int32)
    distinct = first_seen(keys, ids)
    order = np.argsort(distinct)  # all different, so any sort is stable
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return distinct[order], rank[ids]
