"""How sets of columns tell rows apart: partitions refined column by column.

A partition is *stripped*: of the classes only those with at least two distinct rows are kept, since the
others cannot be divided any more (Huhtala et al., TANE, Computer Journal 42(2), 1999). It shrinks with every
column, so large sets cost little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry_kernel, inner_kernel
from shoal.kernels.signatures import Matrix

Ints = NDArray[np.int64]


@inner_kernel
def _refine_partition(
    code: NDArray[np.uint32],
    weight: Ints,
    rows: NDArray[np.int32],
    ends: NDArray[np.int32],
    classes: int,
    settled: Ints,
    out_rows: NDArray[np.int32],
    out_ends: NDArray[np.int32],
    settled_out: Ints,
    sum_of: Ints,
    many_of: NDArray[np.int32],
    touched: NDArray[np.int32],
    goes_on: bool,
) -> int:
    """Divide every class by a column; returns how many classes can be divided further.

    ``settled`` holds what those contribute that cannot: classes, single rows, pairs of equal rows; and at 3
    and 4 the classes and pairs of those that can. These are written down only where a further column follows.
    """
    # Classes that cannot be divided count on for every longer set of columns.
    for at in range(3):
        settled_out[at] = settled[at]
    begin, kept, at = 0, 0, 0
    for number in range(classes):
        end, found = ends[number], 0
        for i in range(begin, end):
            value = code[rows[i]]
            # A class has few of all values: list them, so that only their counters are cleared.
            if many_of[value] == 0:
                touched[found] = value
                found += 1
            many_of[value] += 1
            sum_of[value] += weight[rows[i]]
        for j in range(found):
            value = touched[j]
            # One distinct row, however often it occurs: no column divides it any more.
            if many_of[value] == 1:
                size = sum_of[value]
                settled_out[0] += 1
                settled_out[1] += size == 1
                settled_out[2] += size * (size - 1) // 2
                many_of[value] = -1  # none of its rows is written
            else:
                settled_out[3] += 1
                settled_out[4] += sum_of[value] * (sum_of[value] - 1) // 2
                size = many_of[value]
                many_of[value] = at  # from now on where its next row goes
                at += size
                out_ends[kept] = at
                kept += 1
        for i in range(begin, end if goes_on else begin):
            value = code[rows[i]]
            if many_of[value] >= 0:
                out_rows[many_of[value]] = rows[i]
                many_of[value] += 1
        for j in range(found):
            many_of[touched[j]] = 0
            sum_of[touched[j]] = 0
        begin = end
    return kept


@inner_kernel
def _is_prefix(chosen: NDArray[np.int16], length: int, sets: NDArray[np.int16], number: int) -> bool:
    """Whether a set of columns is the beginning of another one."""
    if number == sets.shape[0]:
        return False
    at = 0
    while at < length and sets[number, at] == chosen[at]:
        at += 1
    return at == length


@entry_kernel
def tell_apart(
    codes: Matrix[np.uint32],
    weight: Ints,
    most: int,
    sets: Matrix[np.int16],
    limit: int,
    figures: Matrix[np.int64],
) -> None:
    """Count the classes, the single rows and the pairs of equal rows by each of many sets of columns.

    Parameters
    ----------
    codes : [columns, rows]
        Distinct rows.
    weight : [rows]
        How many rows of the table each stands for.
    most : int
        Codes are below.
    sets : [sets, columns]
        Columns of each set, the rest -1; in lexicographic order, so that neighbours share their beginnings.
    limit : int
        Where the beginning of a set leaves this many single rows, the set is passed over.
    figures : [sets, 3]
        To be filled: classes, single rows, pairs; classes is -1 where a set was passed over.
    """
    depth, size = sets.shape[1], weight.size
    rows = np.empty((depth + 1, size), np.int32)
    # A class that is kept has at least two distinct rows.
    ends = np.empty((depth + 1, size // 2 + 1), np.int32)
    classes = np.zeros(depth + 1, np.int64)
    settled = np.zeros((depth + 1, 5), np.int64)
    sum_of = np.zeros(most, np.int64)
    many_of = np.zeros(most, np.int32)
    touched = np.empty(most, np.int32)
    for i in range(size):
        rows[0, i] = i
    ends[0, 0] = size
    classes[0] = 1
    shared = 0
    full = depth + 1  # from this depth on the beginning of the last set singled out enough
    for number in range(sets.shape[0]):
        chosen = sets[number]
        length = 0
        while length < depth and chosen[length] >= 0:
            length += 1
        if number > 0:
            # Partitions by the columns that both sets begin with are still there.
            same = 0
            while same < shared and same < length and chosen[same] == sets[number - 1, same]:
                same += 1
            shared = same
        if full <= shared and full < length:
            figures[number, 0] = -1
            continue
        full = depth + 1
        while shared < length:
            settled[shared + 1] = 0
            classes[shared + 1] = _refine_partition(
                codes[chosen[shared]],
                weight,
                rows[shared],
                ends[shared],
                classes[shared],
                settled[shared],
                rows[shared + 1],
                ends[shared + 1],
                settled[shared + 1],
                sum_of,
                many_of,
                touched,
                shared + 1 < length or _is_prefix(chosen, length, sets, number + 1),
            )
            shared += 1
            if settled[shared, 1] >= limit and full > shared:
                full = shared
        figures[number, 0] = settled[length, 0] + settled[length, 3]
        figures[number, 1] = settled[length, 1]
        figures[number, 2] = settled[length, 2] + settled[length, 4]
