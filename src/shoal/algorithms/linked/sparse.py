"""Static classes in which few people have rows of some table: their rows alone would give them away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import Rows, count_least_people
from shoal.algorithms.linked.goal import LinkedTables
from shoal.algorithms.linked.merging import MergedCells, merge_cheapest, renumber_cells
from shoal.algorithms.problem import Problem
from shoal.privacy.people import count_people

_BLOCK = 1024  # classes that are compared with each other: neighbours, so that time grows with their number


def merge_sparse_classes(
    by_person: Problem,
    class_of: NDArray[np.int64],
    person: NDArray[np.integer],
    tables: LinkedTables,
    owner: NDArray[np.integer],
) -> NDArray[np.int64]:
    """[people] classes of people, merged until of every table k people of a class have rows, or nobody has.

    Whoever knows a row knows its table as well, so that fewer people could not be hidden by any cell. A table
    of which fewer than k people have rows at all stays as it is. ``owner`` says who is counted for each row:
    its person, or the group of that person.
    """
    k = max(model.least_people() for problem in tables.problems for model in problem.models)
    k = max(k, *(count_least_people(problem) for problem in tables.problems))
    size = _BLOCK
    while (sparse := find_sparse_classes(class_of, person, tables, k, owner)).size and class_of.max() > 0:
        merged = _merge_in_blocks(by_person, class_of, sparse, size)
        # A block of which nothing could be merged has one class: it has to go with its neighbours.
        size = size if merged.max() < class_of.max() else 2 * size
        class_of = merged
    return class_of


def find_sparse_classes(
    class_of: NDArray[np.int64],
    person: NDArray[np.integer],
    tables: LinkedTables,
    k: int,
    owner: NDArray[np.integer],
) -> Rows:
    """The classes in which some, but fewer than k people have rows of a table."""
    classes = int(class_of.max()) + 1
    sparse = np.zeros(classes, np.bool_)
    for table in range(1, len(tables.columns)):
        here = tables.table_of == table
        if np.unique(owner[here]).size >= k:
            holders = count_people(class_of[person[here]], owner[here], classes)
            sparse |= (holders > 0) & (holders < k)
    return np.flatnonzero(sparse)


def _merge_in_blocks(
    by_person: Problem, class_of: NDArray[np.int64], sparse: Rows, size: int
) -> NDArray[np.int64]:
    """Merge sparse classes with the nearest of the classes that stand beside them in an order of codes."""
    cells = MergedCells.from_rows(by_person, class_of)
    order = np.lexsort((*(cells.high + cells.low).T[::-1],))
    block = np.empty(order.size, np.int64)
    block[order] = np.arange(order.size) // size
    chosen, nearest, cost = [], [], []
    for number in np.unique(block[sparse]).tolist():
        (inside,) = np.nonzero(block == number)
        if inside.size > 1:
            here = np.searchsorted(inside, sparse[block[sparse] == number])
            near, price = cells.select(inside).find_nearest(here)
            chosen.append(inside[here])
            nearest.append(inside[near])
            cost.append(price)
    if not chosen:
        return class_of
    return renumber_cells(
        merge_cheapest(class_of, np.concatenate(chosen), np.concatenate(nearest), np.concatenate(cost))
    )
