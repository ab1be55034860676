"""Random numbers for kernels: the state is an argument, so that a seed gives the same run everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import inner_kernel

_TWO_53 = 1.0 / 9007199254740992.0  # 2^-53: a double has 53 bits


@inner_kernel
def draw_uniform(state: NDArray[np.uint64]) -> float:
    """A number from 0 up to 1 (Marsaglia's xorshift, scrambled by a product)."""
    x = state[0]
    # xorshift64*: shifts and factor by S. Vigna, ACM TOMS 42(4), 2016.
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    # The upper 53 bits: the lowest ones are less random.
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) * _TWO_53


@inner_kernel
def draw_below(state: NDArray[np.uint64], number: int) -> int:
    """A whole number from 0 up to ``number``."""
    return int(draw_uniform(state) * number)


@inner_kernel
def shuffle_order(state: NDArray[np.uint64], order: NDArray[np.int64], size: int) -> None:
    """Shuffle ``order[:size]``."""
    # Fisher and Yates: every order is equally likely.
    for i in range(size - 1, 0, -1):
        j = draw_below(state, i + 1)
        order[i], order[j] = order[j], order[i]


def make_random_state(seed: int) -> NDArray[np.uint64]:
    """The state for a seed; it is never 0, where the generator would stay."""
    return make_random_states(seed, 1)[0]


def make_random_states(seed: int, number: int) -> list[NDArray[np.uint64]]:
    """Several states for a seed; the first one is the same however many there are."""
    found = np.random.SeedSequence(seed).generate_state(number, np.uint64) | np.uint64(1)
    return [found[i : i + 1].copy() for i in range(number)]
