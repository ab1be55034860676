"""What a linked release has to protect from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class LinkedGoal:
    """What an attacker may know of a person, beside all static columns."""

    knows: int | None
    """Of how many rows; None for all of them."""
    static: tuple[int, ...]
    """The quasi-identifiers that are the same in all rows of every person, by their places."""
    order: NDArray[np.int64] | None = None
    """[rows] the place of each row in the order in which rows of people are compared, where one is named."""
