"""SafePub: a sample, generalised by a scheme that was fixed beforehand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.frequency import rank_rows
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError, quote, unknown
from shoal.privacy import Model, SafePub, sampling_rate
from shoal.support.parameters import check_fields

random_bytes = os.urandom
"""Where chance comes from. Nothing of it is kept."""


@dataclass(frozen=True, slots=True)
class SafePubScheme(Algorithm):
    """Draws a random sample, generalises it by stated levels, and drops the classes that are too small.

    For the model `safepub` and nothing else. The levels must not depend on the table: those who
    choose them may know the hierarchies and the purpose of the release, but not the rows. Every run
    draws another sample, by chance that the operating system gives and nobody knows.

    References
    ----------
    R. Bild, K. A. Kuhn, F. Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees", PoPETs 2018(1).
    """

    levels: str = ""
    """For every quasi-identifier the level of its hierarchy that is released, as ``age=2,sex=0``; 0 leaves
    values as they are, and is the only one without a hierarchy."""
    seed: int | None = None
    """For tests: draws a sample that everybody can draw again. Such a run is not private, says so, and is
    never written to a file."""

    def __post_init__(self) -> None:
        check_fields(self)
        self.by_column()
        if self.seed is not None and self.seed < 0:
            raise RecipeError(f"seed must be 0 or more, not {self.seed}")

    def by_column(self) -> dict[str, int]:
        """The level of each column."""
        levels: dict[str, int] = {}
        for part in filter(None, map(str.strip, self.levels.split(","))):
            name, equals, level = part.rpartition("=")
            if not equals or not level.strip().isdecimal():
                raise RecipeError(f"cannot read '{part}' in levels: write column=level, as in age=2,sex=0")
            levels[name.strip()] = int(level)
        return levels

    def check_levels(self, heights: Mapping[str, int]) -> dict[str, int]:
        """The level of each quasi-identifier, given the height of its hierarchy, 0 where there is none."""
        levels = self.by_column()
        if strange := [name for name in levels if name not in heights]:
            raise RecipeError(unknown("quasi-identifier in levels", strange[0], heights))
        if absent := [name for name in heights if name not in levels]:
            raise RecipeError(
                f"levels says nothing of {quote(absent)}: state the level of every quasi-identifier, as in "
                "levels=age=2,sex=0; they cannot be chosen here, where the table could be looked at"
            )
        for name, height in heights.items():
            if levels[name] > height:
                has = f"a hierarchy of levels 0 to {height}" if height else "no hierarchy, so only level 0"
                raise RecipeError(f"levels asks for level {levels[name]} of '{name}', which has {has}")
        return levels

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Draw rows and drop small classes; the rows are given as what they are released as."""
        rate, k = find_sampling_parameters(problem.models)
        drawn = self._draw_rows(problem.rows.rows, rate)
        # The order of the paper: draw first, then drop classes by the number of their drawn rows.
        number = rank_rows(problem.rows.quasi, problem.rows.sizes)
        large = np.bincount(number[drawn], minlength=int(number.max(initial=-1)) + 1) >= k
        place = np.where(large, np.cumsum(large) - 1, -1)
        class_of = np.where(drawn, place[number], -1).astype(np.int32)
        return Proposal(problem.rows.one_by_one(in_order=True), class_of)

    def _draw_rows(self, rows: int, rate: float) -> NDArray[np.bool_]:
        """Which rows are drawn, each by itself."""
        # A sample of a fixed size would make the rows depend on each other, which the proof
        # excludes.
        if self.seed is not None:
            return np.random.default_rng(self.seed).random(rows) < rate
        # Rounded down, if at all: a row is never drawn more often than the rate says.
        return np.frombuffer(random_bytes(8 * rows), np.uint64) < np.uint64(int(rate * (1 << 64)))


def find_sampling_parameters(models: tuple[Model, ...]) -> tuple[float, int]:
    """With which probability a row is drawn, and how many rows a class must have."""
    goals = [model for model in models if isinstance(model, SafePub)]
    if len(goals) != 1:
        raise RecipeError(f"the algorithm safepub takes one model safepub; the goal has {len(goals)}")
    return sampling_rate(goals[0].epsilon), max(model.least_size() for model in models)
