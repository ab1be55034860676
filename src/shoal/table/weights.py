"""Survey weights: a column that tells how many people of the population a row stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.table.frames import Table
from shoal.table.types import parse_values


def read_weights(table: Table, name: str) -> NDArray[np.float64]:
    """The weight of each row: a number above 0."""
    series = table.column(name)
    if not series.dtype.is_numeric():
        series = parse_values(series, "float", name)
    if (missing := series.null_count()) > 0:
        raise InputError(f"{table.origin}: the weight '{name}' is missing in {missing:,} rows")
    weights = series.cast(float).to_numpy()
    if (bad := weights[~((weights > 0) & np.isfinite(weights))]).size:
        raise InputError(f"{table.origin}: the weight '{name}' must be above 0, but here it has {bad[0]:g}")
    return np.asarray(weights, np.float64)
