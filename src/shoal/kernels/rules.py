"""Privacy models as the search sees them: counts in, verdict out.

The verifier does not use this file: it has its own count of the released values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import inner

DISTINCT = 0
"""At least ``limit`` distinct values."""

KIND, FIRST, LAST = 0, 1, 2
"""Columns of `Rules.test`."""


class Rules(NamedTuple):
    """What every class must satisfy.

    The values of all sensitive columns are numbered through, column after column, so that a
    class has one histogram; each rule looks at its own column's part of it.
    """

    size: int
    """Least number of rows."""
    test: NDArray[np.int64]
    """[r, 3] KIND: one of the constants above; FIRST, LAST: where the rule's column begins and ends."""
    limit: NDArray[np.float64]
    """[r] the rule's parameter."""
    values: int
    """Length of the histogram; 0 when no rule looks at a sensitive column."""
    entry: NDArray[np.int64]
    """[u + 1] where each weighted row's entries begin in `value` and `times`."""
    value: NDArray[np.int32]
    times: NDArray[np.int64]


@inner
def add_row(rules: Rules, row: int, histogram: NDArray[np.int64], side: int) -> None:
    """Add the sensitive values of one weighted row to ``histogram[side]``."""
    for at in range(rules.entry[row], rules.entry[row + 1]):
        histogram[side, rules.value[at]] += rules.times[at]


@inner
def satisfied(rules: Rules, histogram: NDArray[np.int64], side: int) -> bool:
    """Whether a class with the histogram ``histogram[side]`` satisfies every rule (its size aside)."""
    for r in range(rules.limit.size):
        if rules.test[r, KIND] == DISTINCT:
            distinct = 0
            for value in range(rules.test[r, FIRST], rules.test[r, LAST]):
                if histogram[side, value] > 0:
                    distinct += 1
            if distinct < rules.limit[r]:
                return False
    return True
