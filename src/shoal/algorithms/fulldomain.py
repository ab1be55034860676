"""Full-domain recoding: all values of a column go to one level, and groups that fail are suppressed.

What the searches over level vectors share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.groupings import Figures, Grouping, Groupings
from shoal.algorithms.levels import Ladder, by_column, inside
from shoal.algorithms.problem import Problem
from shoal.algorithms.scores import Score, score_of
from shoal.domain import Domain
from shoal.errors import GoalNotMet, RecipeError, unknown
from shoal.kernels.kinds import DISCLOSURE, LIKENESS, ORDERED, TRANSPORT
from shoal.kernels.rules import KIND
from shoal.loss import LOSSES
from shoal.privacy import Counts, DeltaPresence, Fitting, Model, Sensitive
from shoal.recoding import Proposal, Recoding

Ints = NDArray[np.int64]


def check_levels(levels: str | None, coding: str | None) -> None:
    """Refuse levels or coding that cannot be read."""
    by_column(coding, "coding", "age=20..70")
    for name, ends in by_column(levels, "levels", "age=1..3,sex=0").items():
        if not all(end.isdecimal() for end in ends if end):
            raise RecipeError(f"levels of '{name}' are whole numbers, not '{'..'.join(ends)}'")


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A level vector that has been looked at."""

    vector: Ints
    grouping: Grouping
    figures: Figures
    loss: float
    """What it loses; infinite if no rows are left, or more are suppressed than may be."""

    @property
    def permitted(self) -> bool:
        """Whether it may be released."""
        return self.loss < inf


class FullDomain:
    """A problem as one of levels: the ladders, their permitted parts, and the groups of any level vector."""

    def __init__(self, name: str, problem: Problem, levels: str | None, coding: str | None) -> None:
        if (problem.weights < 0).any():
            raise RecipeError(f"{name} takes weights from 0 up; mingen and genetic take any")
        self.problem = problem
        self.ladders = _ladders(problem, coding)
        self.low, self.high = _permitted(self.ladders, levels)
        self.table = problem.peopled
        self.groupings = Groupings(self.table, self.ladders, problem.rules(self.table), self.low)
        self.limit = int(problem.suppress * problem.rows.rows + 1e-9)
        self.score: Score = score_of(problem, self.ladders, self.groupings, self._measured)
        self._same = [ladder.lowest_alike() for ladder in self.ladders]
        self.lasting = all(model.lasting for model in problem.models)
        kinds = self.groupings.rules.test[:, KIND]
        self._compared = bool(np.isin(kinds, (TRANSPORT, ORDERED, LIKENESS, DISCLOSURE)).any())
        self._strict = self.limit == 0 and all(model.monotone for model in problem.models)

    def look(self, vector: Ints, best: float = inf) -> Node:
        """The groups of a level vector, those suppressed that fail, and what it loses.

        Classes are compared with the whole table first. Where rows are suppressed, the whole release is
        another table, with which a reader compares; classes that fail that comparison are suppressed too.
        Once it is no better than ``best``, it counts as not permitted.
        """
        grouping = self.groupings.at(vector, self.limit)
        figures, loss = self._figures(grouping)
        if loss < inf and self._release_differs(figures):
            figures, loss = self._settled(grouping, figures, loss, best if self.score.rising else inf)
        return Node(vector, grouping, figures, loss)

    def lowest_alike(self, vector: Ints, lowest: Ints) -> Ints:
        """The lowest vector, not below ``lowest``, that makes the same groups: some levels are the same."""
        same = zip(self._same, vector, strict=True)
        return np.maximum([levels[level] for levels, level in same], lowest)

    def hidden_below(self, node: Node) -> int:
        """At least so many rows are suppressed by every vector below this one, too."""
        figures = node.figures
        hidden = figures.suppressed if self.lasting else figures.small
        if self._strict:  # groups that hold make larger ones that hold: where one fails, some did fail below
            hidden = figures.suppressed
        return min(hidden, self.limit + 1)  # beyond the limit not every group has been judged

    def proposal(self, node: Node, **told: Any) -> Proposal:
        """What a level vector releases, of which the groups are the latest that were asked for."""
        grouping, levels = node.grouping, node.vector.tolist()
        class_of = np.where(grouping.holds, grouping.holds.cumsum() - 1, -1).astype(np.int32)
        codes = self.table.codes[grouping.row[grouping.holds]]
        ends = [ladder.ends(level) for ladder, level in zip(self.ladders, levels, strict=True)]
        lo = np.stack([each[0][codes[:, j]] for j, each in enumerate(ends)], axis=1)
        hi = np.stack([each[1][codes[:, j]] for j, each in enumerate(ends)], axis=1)
        pairs = list(zip(self.ladders, levels, strict=True))
        return Proposal(
            self.table,
            class_of[self._of_table(grouping)],
            (lo, hi),
            scheme=tuple(ladder.node[level] for ladder, level in pairs),
            levels=tuple((ladder.domain.name, level, ladder.top) for ladder, level in pairs),
            **told,
        )

    def refused(self) -> GoalNotMet:
        """That no permitted level vector reaches the goal."""
        rows = self.problem.rows.rows
        hidden = self.groupings.at(self.high).figures().suppressed
        return GoalNotMet(
            f"the goal cannot be met: no permitted levels suppress at most {self.limit} of {rows} rows and "
            f"leave some; the highest suppress {hidden}: allow higher levels or a larger --suppress, or ask "
            "for less"
        )

    def _of_table(self, grouping: Grouping) -> NDArray[np.int64]:
        """The group of every row of the table."""
        own = self.groupings.keys(self.table.codes[grouping.row], grouping.vector)
        order = np.argsort(own)
        return order[np.searchsorted(own[order], self.groupings.keys(self.table.codes, grouping.vector))]

    def _figures(self, grouping: Grouping) -> tuple[Figures, float]:
        figures = grouping.figures()
        permitted = figures.suppressed <= self.limit and figures.classes > 0
        return figures, self.score.value(grouping, figures) if permitted else inf

    def _release_differs(self, figures: Figures) -> bool:
        """Whether classes are compared with something else once they are released."""
        return self.problem.population is not None or (self._compared and figures.suppressed > 0)

    def _settled(
        self, grouping: Grouping, figures: Figures, loss: float, best: float
    ) -> tuple[Figures, float]:
        """Suppress classes that do not satisfy the models in what is released, until all do."""
        start, value, times = self.groupings.entries(grouping)
        group = np.repeat(np.arange(grouping.total.size), np.diff(start))
        while loss < best:
            kept = np.flatnonzero(grouping.holds)
            counts = self._counts(grouping, kept, group, value, times)
            good = np.logical_and.reduce([_suffices(model, counts) for model in self.problem.models])
            if good.all():
                return figures, loss
            grouping.holds[kept[~good]] = False
            figures, loss = self._figures(grouping)
        return figures, inf

    def _counts(
        self, grouping: Grouping, kept: Ints, group: Ints, value: NDArray[np.int32], times: Ints
    ) -> Counts:
        """The kept groups as the classes of a release."""
        place = np.full(grouping.total.size, -1)
        place[kept] = np.arange(kept.size)
        of, size = place[group], grouping.total[kept]
        columns = {}
        first = self.table.histograms.first
        for at, name in enumerate(self.problem.sensitive):
            own = (of >= 0) & (value >= first[at]) & (value < first[at + 1])
            # Values that are not released are unknown to a reader, and take no place in an order.
            present, number = np.unique(value[own] - first[at], return_inverse=True)
            scale = self.problem.whole.sensitive[name].scale
            if scale.levels is not None:
                scale = replace(scale, levels=scale.levels[:, present])
            columns[name] = Sensitive(of[own], number, times[own], scale)
        fitting = None
        if self.problem.population is not None:
            people = np.zeros(kept.size, np.int64)
            own = (of >= 0) & (value == first[-1] + 1)
            people[of[own]] = times[own]
            everybody = int(self.problem.people[0])
            fitting = replace(Fitting.apart(size, people, everybody), outside=everybody - int(people.sum()))
        return Counts(size, columns, fitting)

    def _measured(self, grouping: Grouping) -> float:
        """The loss of what a grouping releases, measured on the release."""
        node = Node(grouping.vector, grouping, grouping.figures(), inf)
        recoding = Recoding.of(self.proposal(node), self.problem.domains)
        value: float = LOSSES[self.problem.loss]().measure(recoding, self.problem.weights).value
        return value


def _suffices(model: Model, counts: Counts) -> NDArray[np.bool_]:
    """A class may depend on the others only where these are known: by the people who fit them."""
    return model.holds(counts) if isinstance(model, DeltaPresence) else model.suffices(counts)


def _ladders(problem: Problem, coding: str | None) -> tuple[Ladder, ...]:
    asked = _asked(coding, "coding", "age=20..70", problem.domains)
    return tuple(
        Ladder.of(domain, inside(domain, *asked[domain.name]) if domain.name in asked else None)
        for domain in problem.domains
    )


def _permitted(ladders: tuple[Ladder, ...], levels: str | None) -> tuple[Ints, Ints]:
    """The lowest and the highest level of each column."""
    asked = _asked(levels, "levels", "age=1..3,sex=0", [ladder.domain for ladder in ladders])
    low, high = np.zeros(len(ladders), np.int64), np.array([ladder.top for ladder in ladders])
    for j, ladder in enumerate(ladders):
        first, last = asked.get(ladder.domain.name, ("", ""))
        low[j], high[j] = int(first or 0), int(last or ladder.top)
        if not low[j] <= high[j] <= ladder.top:
            raise RecipeError(
                f"levels of '{ladder.domain.name}' go from 0 to {ladder.top}, not {first}..{last}"
            )
    return low, high


def _asked(
    text: str | None, what: str, example: str, domains: Sequence[Domain]
) -> dict[str, tuple[str, str]]:
    """What is asked of columns that there are."""
    asked, names = by_column(text, what, example), [domain.name for domain in domains]
    if strange := [name for name in asked if name not in names]:
        raise RecipeError(unknown(f"quasi-identifier in {what}", strange[0], names))
    return asked
