"""What a search says while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done, a text that may be a `Stage`, and how much of it is (0 to 1)."""


def silent(doing: str, done: float) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """How a search stands; what it does not know is None."""

    best: float | None = None
    """The least loss so far."""
    mean: float | None = None
    """The mean loss of a population."""
    bound: float | None = None
    """No permitted table has less loss than this."""
    generation: int | None = None
    states: int | None = None
    """How many states were looked at."""
    rate: float | None = None
    """How many of them per second."""

    @property
    def gap(self) -> float | None:
        """How far the best may be above the least, as a share of the best."""
        return None if self.best is None or self.bound is None else measure_gap(self.best, self.bound)


def measure_gap(best: float, bound: float) -> float:
    """How far the best may be above the least, as a share of the best; of the bound where the best is 0."""
    # Rounding can put the bound above the best; losses are of any scale, that of the weights.
    return 0.0 if best <= bound else (best - bound) / abs(best or bound)


class Stage(str):
    """What is being done, with figures; code that needs no figures can use it as a plain string."""

    figures: SearchFigures

    def __new__(cls, doing: str, figures: SearchFigures) -> Stage:
        """Attach figures to a text."""
        stage = super().__new__(cls, doing)
        stage.figures = figures
        return stage
