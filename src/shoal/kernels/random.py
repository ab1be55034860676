"""Random numbers for kernels: the state is an argument, so that a seed gives the same run everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import inner

_TWO_53 = 1.0 / 9007199254740992.0


@inner
def uniform(state: NDArray[np.uint64]) -> float:
    """A number from 0 up to 1 (Marsaglia's xorshift, scrambled by a product)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) * _TWO_53


@inner
def below(state: NDArray[np.uint64], number: int) -> int:
    """A whole number from 0 up to ``number``."""
    return int(uniform(state) * number)


@inner
def shuffle(state: NDArray[np.uint64], order: NDArray[np.int64], size: int) -> None:
    """Shuffle ``order[:size]``."""
    for i in range(size - 1, 0, -1):
        j = below(state, i + 1)
        order[i], order[j] = order[j], order[i]


def seeded(seed: int) -> NDArray[np.uint64]:
    """The state for a seed; it is never 0, where the generator would stay."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
