"""SafePub: a sample, generalised by a scheme that was fixed beforehand, or drawn for a part of epsilon."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.levels import parse_column_ranges
from shoal.algorithms.private_levels import (
    Below,
    ExpectedRows,
    LevelledColumn,
    draw_index,
    score_schemes,
)
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

    For the model `safepub` and nothing else. The levels that are stated must not depend on the table: those
    who choose them may know the hierarchies and the purpose of the release, but not the rows. If the model
    has a part of epsilon for a search, levels are drawn by the exponential mechanism, from all combinations
    or from ranges that are stated; better ones are exponentially more likely. Every run draws another sample,
    by chance that the operating system gives and nobody knows.

    References
    ----------
    R. Bild, K. A. Kuhn, F. Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees", PoPETs 2018(1). F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS
    2007.
    """

    levels: str = ""
    """For every quasi-identifier the level of its hierarchy that is released, as ``age=2,sex=0``; 0 leaves
    values as they are, and is the only one without a hierarchy. With a private search the levels that may be
    drawn, as ``age=1..3``; all where nothing is stated."""
    seed: int | None = None
    """For tests: draws a sample that everybody can draw again. Such a run is not private, says so, and is
    never written to a file."""

    def __post_init__(self) -> None:
        check_fields(self)
        self.by_column()
        if self.seed is not None and self.seed < 0:
            raise RecipeError(f"seed must be 0 or more, not {self.seed}")

    def by_column(self) -> dict[str, tuple[int | None, int | None]]:
        """The lowest and the highest level of each column that is named; None for an open end."""
        example, found = "age=2,sex=0", parse_column_ranges(self.levels, "levels", "age=2,sex=0")
        for name, ends in found.items():
            if not all(end.isdecimal() or not end for end in ends):
                stated = "..".join(dict.fromkeys(ends))
                raise RecipeError(
                    f"cannot read '{name}={stated}' in levels: write column=level, as in {example}"
                )
        return {name: (_read_end(first), _read_end(last)) for name, (first, last) in found.items()}

    def check_levels(self, heights: Mapping[str, int], searched: bool) -> dict[str, range]:
        """The levels of each quasi-identifier, given the height of its hierarchy, 0 where there is none.

        Where no search is paid for, each has one.
        """
        stated = self.by_column()
        if strange := [name for name in stated if name not in heights]:
            raise RecipeError(unknown("quasi-identifier in levels", strange[0], heights))
        if not searched:
            _check_stated_levels(stated, heights)
        found = {}
        for name, height in heights.items():
            first, last = stated.get(name, (None, None))
            low, high = first or 0, height if last is None else last
            if not low <= high <= height:
                asked = f"{low}..{high}" if low != high else str(low)
                has = f"a hierarchy of levels 0 to {height}" if height else "no hierarchy, so only level 0"
                raise RecipeError(f"levels asks for level {asked} of '{name}', which has {has}")
            found[name] = low, high
        if searched and all(first == last for first, last in found.values()):
            raise RecipeError(
                "safepub has a part of epsilon for a search, but there is one level of each column: leave "
                "out search, or state ranges, as in levels=age=1..3"
            )
        return {name: range(first, last + 1) for name, (first, last) in found.items()}

    def draw_levels(self, columns: Sequence[LevelledColumn], models: tuple[Model, ...]) -> tuple[int, ...]:
        """Levels of the columns, drawn privately: the part of the model that is for a search is spent."""
        rate, k = find_sampling_parameters(models)
        expected = ExpectedRows.from_parameters(rate, k)
        schemes, scores = score_schemes(columns, expected)
        part = Fraction(_find_goal(models).search)
        return schemes[draw_index(scores, part, expected.sensitivity, self._build_source())]

    def _build_source(self) -> Below:
        """Where the search draws whole numbers; apart from the sample, as the proof of the sum demands."""
        # A stated seed draws other numbers here than for the sample.
        chance = None if self.seed is None else np.random.default_rng([self.seed, 1])

        def below(end: int) -> int:
            size = ((end - 1).bit_length() + 7) // 8
            while True:
                drawn = random_bytes(size) if chance is None else chance.bytes(size)
                # As many bits as needed, and again if that is too large: all numbers are equally likely.
                number = int.from_bytes(drawn, "little") & ((1 << (end - 1).bit_length()) - 1)
                if number < end:
                    return number

        return below

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


def _read_end(text: str) -> int | None:
    return int(text) if text else None


def _check_stated_levels(
    levels: Mapping[str, tuple[int | None, int | None]], heights: Mapping[str, int]
) -> None:
    """Refuse to choose levels for which nothing was paid."""
    search = "or let them be drawn for a part of epsilon, as in safepub(epsilon=1,delta=0.00001,search=0.1)"
    if absent := [name for name in heights if name not in levels]:
        raise RecipeError(
            f"levels says nothing of {quote(absent)}: state the level of every quasi-identifier, as in "
            f"levels=age=2,sex=0; they cannot be chosen here, where the table could be looked at; {search}"
        )
    if several := [name for name, (first, last) in levels.items() if first is None or first != last]:
        raise RecipeError(f"levels states several for {quote(several)}: state one of each column, {search}")


def find_sampling_parameters(models: tuple[Model, ...]) -> tuple[float, int]:
    """With which probability a row is drawn, and how many rows a class must have."""
    goal = _find_goal(models)
    return sampling_rate(goal.sampling_epsilon), max(model.least_size() for model in models)


def pays_for_search(models: tuple[Model, ...]) -> bool:
    """Whether a part of epsilon is for a search for levels."""
    return _find_goal(models).search > 0


def _find_goal(models: tuple[Model, ...]) -> SafePub:
    goals = [model for model in models if isinstance(model, SafePub)]
    if len(goals) != 1:
        raise RecipeError(f"the algorithm safepub takes one model safepub; the goal has {len(goals)}")
    return goals[0]
