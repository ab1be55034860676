"""Large nodes are cut many times by a sample of their rows, and the cuts that the goal permits are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.axes import Axes
from shoal.kernels.cut_workspace import WeightedRows
from shoal.kernels.partition import grow_partition
from shoal.kernels.rules import Rules
from shoal.kernels.sampled_cuts import CutTree, check_nodes, check_stretches

SHARE = 1 << 15
"""Nodes of up to so many weighted rows are partitioned whole; larger ones are cut by a sample."""
_CLASSES = 1 << 11  # parts have this many classes at most, so that the depth below them does not grow
_SAMPLE = 1 << 14  # a node is cut by this many of its rows, or one in 32 if that is more
_SLIVER = 1024  # parts are at least this share of a sample: less would say little about the rest
_SCARCE = 128  # and a sample of fewer rows would
_TALLIES = 1 << 24  # most counters for the sensitive values of the parts of a node


def choose_stride(size: int) -> int:
    """Every so-maniest row of a node of ``size`` weighted rows, in lexicographic order, is in its sample."""
    return max(size // max(_SAMPLE, size >> 5), 1)


def cuts_of_sample(
    sample: WeightedRows,
    size: int,
    box: NDArray[np.int64],
    axes: Axes,
    rules: Rules,
    how: int,
    halt: NDArray[np.bool_],
) -> CutTree:
    """Cuts of a node of ``size`` rows into parts of at most half a share and so many classes.

    The rows of the sample are moved.
    """
    step = choose_stride(size)
    enough = max(SHARE // 2, 2 * size * rules.values // _TALLIES) // step
    leaf = np.zeros(sample.weight.size, np.bool_)
    cuts = [(-1, 0, 0, 0)]
    todo = [(0, 0, leaf.size, box)]
    while todo:
        node, start, stop, box = todo.pop()
        weight = int(sample.weight[start:stop].sum())
        small = stop - start <= enough and weight * step <= _CLASSES * rules.size
        if small or stop - start < _SCARCE:
            continue
        # The rules are for later, when all rows can be asked.
        lax = rules._replace(size=max(weight // _SLIVER, 1), limit=np.empty(0))
        boxes = np.stack([box, box, box])
        _, middle, cut = grow_partition(sample, start, stop, axes, lax, how, False, boxes, leaf, halt, False)
        if middle == stop:
            continue
        cuts[node] = (cut.axis, cut.lo, cut.hi, len(cuts))
        for child in ((start, middle, boxes[1]), (middle, stop, boxes[2])):
            todo.append((len(cuts), *child))
            cuts.append((-1, 0, 0, 0))
    return CutTree(*np.array(cuts, np.int64).T.copy())


def whole_nodes(
    cuts: CutTree, rules: Rules, weight: NDArray[np.int64], histogram: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which nodes stay one part: the leaves, and both sides of a cut that breaks a rule.

    Parameters
    ----------
    weight, histogram : int64[nodes], int64[nodes, values]
        Of the leaves; those of the other nodes are filled in.
    """
    # Children come after their parents, so that going backwards adds them up first.
    for node in np.flatnonzero(cuts.axis >= 0)[::-1]:
        left = cuts.left[node]
        weight[node] = weight[left] + weight[left + 1]
        histogram[node] = histogram[left] + histogram[left + 1]
    holds = weight >= rules.size
    if rules.limit.size > 0:
        holds &= check_nodes(rules, histogram)
    return _join_failing_nodes(cuts, holds)


def whole_nodes_of_people(
    cuts: CutTree, rules: Rules, ident: NDArray[np.int64], node_of: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """The same where people are counted, who may be on both sides of a cut: rows are counted at every node.

    Parameters
    ----------
    ident, node_of : [rows]
        Each row, and the leaf that it came to.
    """
    leaf, first, last = _order_leaves(cuts)
    order = np.argsort(leaf[node_of], kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(leaf[node_of], minlength=int(leaf.max()) + 1))))
    return _join_failing_nodes(cuts, check_stretches(rules, ident[order], begin[first], begin[last]))


def _order_leaves(cuts: CutTree) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The place of each leaf from left to right, -1 elsewhere; and which places lie below every node."""
    count = np.ones(cuts.axis.size, np.int64)
    for node in np.flatnonzero(cuts.axis >= 0)[::-1]:
        count[node] = count[cuts.left[node]] + count[cuts.left[node] + 1]
    first = np.zeros(cuts.axis.size, np.int64)
    for node in np.flatnonzero(cuts.axis >= 0):
        left = cuts.left[node]
        first[left], first[left + 1] = first[node], first[node] + count[left]
    return np.where(cuts.axis < 0, first, -1), first, first + count


def _join_failing_nodes(cuts: CutTree, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which nodes stay one part, given those that keep the rules."""
    whole = cuts.axis < 0
    for node in np.flatnonzero(~whole)[::-1]:
        left = cuts.left[node]
        whole[node] = not (holds[left] and holds[left + 1])
        # Two sides that hold stand apart: their node need not hold as a whole.
        holds[node] |= not whole[node]
    return whole


def part_numbers(cuts: CutTree, whole: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The part that each node belongs to, given those that stay whole; -1 above the parts."""
    part_of = np.full(whole.size, -1, np.int32)
    parts = 0
    for node in range(whole.size):
        if whole[node] and part_of[node] < 0:
            part_of[node] = parts
            parts += 1
        if cuts.axis[node] >= 0:
            part_of[cuts.left[node] : cuts.left[node] + 2] = part_of[node]
    return part_of
