"""SafePub: a sample, generalised by a scheme that was fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Problem, Progress, silent
from shoal.domain import Domain
from shoal.encoding import CategoryOrder
from shoal.errors import GoalNotMet, RecipeError, quote, unknown
from shoal.frequency import ranks
from shoal.parameters import check
from shoal.privacy import SafePub, sampling_rate
from shoal.recoding import Proposal


@dataclass(frozen=True, slots=True)
class SafePubScheme:
    """Draws a random sample, generalises it by stated levels, and drops the classes that are too small.

    For the model `safepub` and nothing else. The levels must not depend on the table: whoever chooses them
    may know the hierarchies and what the release is for, but not the rows.

    References
    ----------
    R. Bild, K. A. Kuhn, F. Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees", PoPETs 2018(1).
    """

    levels: str = ""
    """For every quasi-identifier the level of its hierarchy that is released, as ``age=2,sex=0``; 0 leaves
    values as they are, and is the only one without a hierarchy."""

    def __post_init__(self) -> None:
        check(self)
        self.by_column()

    @property
    def category_order(self) -> CategoryOrder:
        """Of no importance here."""
        return "frequency"

    def by_column(self) -> dict[str, int]:
        """The level of each column."""
        levels: dict[str, int] = {}
        for part in filter(None, map(str.strip, self.levels.split(","))):
            name, equals, level = part.rpartition("=")
            if not equals or not level.strip().isdecimal():
                raise RecipeError(f"cannot read '{part}' in levels: write column=level, as in age=2,sex=0")
            levels[name.strip()] = int(level)
        return levels

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Draw, generalise, drop."""
        goals = [model for model in problem.models if isinstance(model, SafePub)]
        if len(goals) != 1:
            raise RecipeError(f"the algorithm safepub takes one model safepub; the goal has {len(goals)}")
        rate = sampling_rate(goals[0].epsilon)
        k = max(model.least_size() for model in problem.models)
        lo, hi = self._cells(problem)
        drawn = np.random.default_rng(problem.seed).random(problem.rows.rows) < rate
        number = ranks(list(lo.T), problem.rows.sizes)  # on one level a node is told by its first leaf
        size = np.bincount(number[drawn], minlength=int(number.max()) + 1)
        if not (size >= k).any():
            raise GoalNotMet(
                f"the goal cannot be met: safepub drops classes of fewer than {k} rows, and of the "
                f"{int(drawn.sum())} rows drawn the largest class has {int(size.max())}; take higher levels, "
                "a larger epsilon or a larger delta"
            )
        place = np.where(size >= k, np.cumsum(size >= k) - 1, -1)
        class_of = np.where(drawn, place[number], -1).astype(np.int32)
        some = np.empty(int(class_of.max()) + 1, np.int64)
        some[class_of[class_of >= 0]] = np.flatnonzero(class_of >= 0)
        dropped = int(drawn.sum() - (class_of >= 0).sum())
        note = (
            f"{int(drawn.sum())} rows were drawn, at a rate of {rate:.4g}; {dropped} of them stood in "
            f"classes of fewer than {k} and were dropped"
        )
        return Proposal(problem.rows.one_by_one(in_order=True), class_of, (lo[some], hi[some]), notes=(note,))

    def _cells(self, problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ends of the cell of every row and column."""
        levels = self.by_column()
        names = [domain.name for domain in problem.domains]
        if strange := [name for name in levels if name not in names]:
            raise RecipeError(unknown("quasi-identifier in levels", strange[0], names))
        if absent := [name for name in names if name not in levels]:
            raise RecipeError(
                f"levels says nothing of {quote(absent)}: state the level of every quasi-identifier, as in "
                "levels=age=2,sex=0; they cannot be chosen here, where the table could be looked at"
            )
        pairs = zip(problem.domains, problem.rows.quasi, strict=True)
        ends = [_nodes(domain, codes.astype(np.int64), levels[domain.name]) for domain, codes in pairs]
        return np.stack([lo for lo, _ in ends], axis=1), np.stack([hi for _, hi in ends], axis=1)


def _nodes(
    domain: Domain, codes: NDArray[np.int64], level: int
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Ends of the nodes at a level above codes."""
    height = 0 if domain.hierarchy is None else domain.hierarchy.height
    if level > height:
        has = f"a hierarchy of levels 0 to {height}" if height else "no hierarchy, so only level 0"
        raise RecipeError(f"levels asks for level {level} of '{domain.name}', which has {has}")
    return (codes, codes) if domain.hierarchy is None else domain.hierarchy.extent(level, codes)
