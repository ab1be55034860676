"""What a linked release, or one with sets, has to protect from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from shoal.algorithms.linked.set_items import SetItems
    from shoal.algorithms.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class LinkedGoal:
    """What an attacker may know of a person, beside all static columns."""

    knows: int | None
    """Of how many rows; None for all of them."""
    static: tuple[int, ...]
    """The quasi-identifiers that are the same in all rows of every person, by their places."""
    order: NDArray[np.int64] | None = None
    """[rows] the place of each row in the order in which rows of people are compared, where one is named."""


@dataclass(frozen=True, slots=True, eq=False)
class SetProblem:
    """People with static columns and sets, and what an attacker may know."""

    static: Problem
    """The static columns, a row a person, and the goal."""
    items: SetItems
    knows: int | None
    """How many items of a person an attacker may know; None for the whole sets."""
    weight: float
    """What all columns weigh together, those of sets with them."""
    has_static: bool
    """Whether anybody knows static columns; without them all people are one class."""

    @property
    def k(self) -> int:
        """How many people have to look alike."""
        return max(model.least_size() for model in self.static.models)
