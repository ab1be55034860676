"""How many people fit a class of which some rows are known: the expected value of one over their number.

References
----------
L. Franconi, S. Polettini, "Individual risk estimation in mu-Argus", Privacy in Statistical Databases 2004.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.support.arithmetic import expm1, log

_TERMS = 64  # of a series whose terms then are below the accuracy of a float


def compute_expected_share(
    size: NDArray[np.integer], alpha: float, share: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Expected value of 1/F, where F - size is negative binomial with size - alpha and chance ``share``.

    That is share / size times Gauss's hypergeometric function of 1 + alpha, 1 and size + 1 at 1 - share.
    """
    large = size.astype(np.float64)
    share = np.broadcast_to(np.asarray(share, np.float64), large.shape)
    rest = 1 - share
    term, series = np.ones_like(large), np.ones_like(large)
    for m in range(_TERMS):
        term = term * rest * (1 + alpha + m) / (large + 1 + m)
        series = series + term
    found = share / large * series
    slow = rest > 0.5
    if not slow.any():
        return found
    # For small sizes the series is slow there. But then each follows from the one before, by parts.
    near = np.where(slow, share, 0.5)
    rest = 1 - near
    value = -near * log(near) / rest if alpha == 0 else near * expm1(-alpha * log(near)) / (alpha * rest)
    for f in range(1, _TERMS):
        found = np.where(slow & (size == f), value, found)
        value = near / rest * (1 - f * value) / (f - alpha)
    return found
