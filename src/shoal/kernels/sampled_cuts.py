"""Many cuts at once: the rows of a large node each find their part, and are moved only then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel
from shoal.kernels.cut_workspace import FIRST, WeightedRows
from shoal.kernels.rules import (
    Rules,
    add_row,
    asks_only_people,
    clear_histogram,
    count_slots,
    is_satisfied,
    lacks_people,
)
from shoal.kernels.signatures import Matrix


class CutTree(NamedTuple):
    """A binary tree of cuts; node 0 is the root, children come after their parents."""

    axis: NDArray[np.int64]
    """[nodes] the axis that a node is cut on; -1 at a leaf."""
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    """[nodes] codes from ``lo`` to ``hi`` go left."""
    left: NDArray[np.int64]
    """[nodes] the left child; the right one comes next."""


@entry_kernel
def leaf_of(codes: Matrix[np.unsignedinteger], cuts: CutTree) -> NDArray[np.int32]:
    """The leaf that each row comes to."""
    axis, lo, hi, left = cuts
    found = np.empty(codes.shape[0], np.int32)
    for i in range(codes.shape[0]):
        at = 0
        while axis[at] >= 0:
            code = np.int64(codes[i, axis[at]])
            # What does not go left goes right, and the right child comes next.
            at = left[at] + (0 if lo[at] <= code <= hi[at] else 1)
        found[i] = at
    return found


@entry_kernel
def gather_parts(rows: WeightedRows, part_of: NDArray[np.int32], first: NDArray[np.int64]) -> None:
    """Move the rows of each part together, in the order that they have; ``first`` is where each begins."""
    # From copies: a part may go where rows of others still are.
    codes, weight, ident = rows.codes.copy(), rows.weight.copy(), rows.ident.copy()
    to_codes, to_weight, to_ident = rows
    following = first.copy()
    for i in range(part_of.size):
        # Rows keep their order within a part, so the result does not depend on threads.
        to = following[part_of[i]]
        following[part_of[i]] += 1
        for j in range(codes.shape[1]):
            to_codes[to, j] = codes[i, j]
        to_weight[to] = weight[i]
        to_ident[to] = ident[i]


@entry_kernel
def count_node_values(
    rules: Rules, ident: NDArray[np.int64], node_of: NDArray[np.int32], nodes: int
) -> NDArray[np.int64]:
    """Sensitive values of the rows of each node, [nodes, values]."""
    histogram = np.zeros((nodes, rules.values), np.int64)
    for i in range(ident.size):
        add_row(rules, ident[i], histogram, node_of[i])
    return histogram


@entry_kernel
def check_stretches(
    rules: Rules, ident: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which of the stretches ``ident[first:last]`` of rows satisfy every rule (their size aside).

    Where people are counted: those of two parts do not add up, so that every stretch is counted by itself.
    """
    holds = np.empty(first.size, np.bool_)
    histogram = np.zeros((1, count_slots(rules)), np.int64)
    for at in range(first.size):
        clear_histogram(rules, histogram, FIRST)
        for i in range(first[at], last[at]):
            add_row(rules, ident[i], histogram, FIRST)
            if asks_only_people(rules) and not lacks_people(rules, histogram, FIRST):
                break
        holds[at] = is_satisfied(rules, histogram, FIRST)
    return holds


@entry_kernel
def check_nodes(rules: Rules, histogram: Matrix[np.int64]) -> NDArray[np.bool_]:
    """Which nodes satisfy every rule (their size aside), by their sensitive values."""
    holds = np.empty(histogram.shape[0], np.bool_)
    for node in range(holds.size):
        holds[node] = is_satisfied(rules, histogram, node)
    return holds
