"""Counted rows that have the true number of every value, where the true rows are too many to be in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.frequency import CodedRows
from shoal.engines.prepare import Codes, DistinctValues, RoleCodes
from shoal.recipes.recipe import Recipe


def couple_codes(recipe: Recipe, values: Mapping[str, DistinctValues], codes: RoleCodes) -> CodedRows:
    """Counted rows that have every code as often as the table has it; which go together has no meaning."""
    count = [_count_codes(code, values[name].count) for name, code in codes.collect_codes().items()]
    columns, weight = couple_counts(count)
    narrow = [column.astype(np.uint32) for column in columns]
    quasi, sensitive = narrow[: len(recipe.quasi)], narrow[len(recipe.quasi) :]
    return CodedRows(tuple(quasi), codes.sizes, tuple(sensitive), codes.sensitive_sizes, weight)


def couple_counts(counts: Sequence[NDArray[np.int64]]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Weighted rows with given numbers of every code in each column: a few more than there are codes."""
    sums = [np.cumsum(count) for count in counts]
    # All columns cut into pieces at the same places: within a piece every code is constant.
    ends = np.unique(np.concatenate(sums))
    ends = ends[ends > 0]
    return [np.searchsorted(each, ends) for each in sums], np.diff(ends, prepend=0)


def _count_codes(code: Codes, count: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.rint(np.bincount(code, count)).astype(np.int64)
