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

from shoal.algorithms.lattice_groups import Grouping, GroupingCache, GroupingFigures
from shoal.algorithms.levels import Ladder, find_coded_range, parse_column_ranges
from shoal.algorithms.problem import Problem
from shoal.algorithms.scores import Score, build_score
from shoal.codespace.domain import Domain
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.errors import GoalNotMet, RecipeError, unknown
from shoal.kernels.kinds import DISCLOSURE, LIKENESS, ORDERED, TRANSPORT
from shoal.kernels.rules import KIND
from shoal.privacy import Counts, DeltaPresence, Model, PopulationFit, SensitiveCounts

Ints = NDArray[np.int64]


def check_levels(levels: str | None, coding: str | None, seconds: float | None) -> None:
    """Refuse levels or coding that cannot be read, and a limit of no time."""
    if seconds is not None and not seconds > 0:
        raise RecipeError(f"seconds must be above 0, not {seconds}; leave it out for no limit")
    parse_column_ranges(coding, "coding", "age=20..70")
    for name, ends in parse_column_ranges(levels, "levels", "age=1..3,sex=0").items():
        if not all(end.isdecimal() for end in ends if end):
            raise RecipeError(f"levels of '{name}' are whole numbers, not '{'..'.join(ends)}'")


@dataclass(frozen=True, slots=True, eq=False)
class LatticeNode:
    """A level vector that has been looked at."""

    vector: Ints
    grouping: Grouping
    figures: GroupingFigures
    loss: float
    """What it loses; infinite if no rows are left, or more are suppressed than may be."""

    @property
    def is_permitted(self) -> bool:
        """Whether it may be released."""
        return self.loss < inf


class FullDomain:
    """A problem as one of levels: the ladders, their permitted parts, and the groups of any level vector."""

    def __init__(self, name: str, problem: Problem, levels: str | None, coding: str | None) -> None:
        problem.refuse_negative_weights(name)
        self.problem = problem
        self.ladders = _build_ladders(problem, coding)
        self.low, self.high = _read_permitted_levels(self.ladders, levels)
        self.table = problem.table_with_population
        self.groupings = GroupingCache(self.table, self.ladders, problem.build_rules(self.table), self.low)
        # The 1e-9 is for products such as 0.29 * 100, which floats put just below 29.
        self.limit = int(problem.suppress * problem.rows.rows + 1e-9)
        self.score: Score = build_score(problem, self.ladders, self.groupings, self._measure_release)
        self._same = [ladder.lowest_alike() for ladder in self.ladders]
        self.lasting = problem.is_lasting
        kinds = self.groupings.rules.test[:, KIND]
        self._compared = bool(np.isin(kinds, (TRANSPORT, ORDERED, LIKENESS, DISCLOSURE)).any())
        # One group that fails then rules out all lower vectors, even if the models are not lasting.
        self._strict = self.limit == 0 and problem.is_monotone

    def evaluate_vector(self, vector: Ints, best: float = inf) -> LatticeNode:
        """The groups of a level vector, those suppressed that fail, and what it loses.

        Classes are compared with the whole table first. Where rows are suppressed, the whole release is
        another table, with which a reader compares; classes that fail that comparison are suppressed too.
        Once it is no better than ``best``, it counts as not permitted.
        """
        grouping = self.groupings.group_rows(vector, self.limit)
        figures, loss = self._compute_figures(grouping)
        if loss < inf and self._release_differs(figures):
            # Stopping at the best so far is safe only if suppressing more never lowers the loss.
            figures, loss = self._suppress_failing_classes(
                grouping, figures, loss, best if self.score.rising else inf
            )
        return LatticeNode(vector, grouping, figures, loss)

    def lowest_alike(self, vector: Ints, lowest: Ints) -> Ints:
        """The lowest vector, not below ``lowest``, that makes the same groups: some levels are the same."""
        same = zip(self._same, vector, strict=True)
        return np.maximum([levels[level] for levels, level in same], lowest)

    def hidden_below(self, node: LatticeNode) -> int:
        """At least so many rows are suppressed by every vector below this one, too."""
        figures = node.figures
        hidden = figures.suppressed if self.lasting else figures.small
        if self._strict:  # groups that hold make larger ones that hold: where one fails, some did fail below
            hidden = figures.suppressed
        return min(hidden, self.limit + 1)  # beyond the limit not every group has been judged

    def build_proposal(self, node: LatticeNode, **told: Any) -> Proposal:
        """What a level vector releases, of which the groups are the latest that were asked for."""
        grouping, levels = node.grouping, node.vector.tolist()
        class_of = np.where(grouping.holds, grouping.holds.cumsum() - 1, -1).astype(np.int32)
        codes = self.table.codes[grouping.row[grouping.holds]]
        ends = [ladder.find_node_ends(level) for ladder, level in zip(self.ladders, levels, strict=True)]
        lo = np.stack([each[0][codes[:, j]] for j, each in enumerate(ends)], axis=1)
        hi = np.stack([each[1][codes[:, j]] for j, each in enumerate(ends)], axis=1)
        pairs = list(zip(self.ladders, levels, strict=True))
        return Proposal(
            self.table,
            class_of[self._match_table_rows(grouping)],
            (lo, hi),
            # The cells do not say what suppressed rows went to, and the entropy loss needs it.
            scheme=tuple(ladder.node[level] for ladder, level in pairs),
            levels=tuple((ladder.domain.name, level, ladder.top_level) for ladder, level in pairs),
            **told,
        )

    def make_unreachable_error(self) -> GoalNotMet:
        """That no permitted level vector reaches the goal."""
        rows = self.problem.rows.rows
        hidden = self.groupings.group_rows(self.high).compute_figures().suppressed
        return GoalNotMet(
            f"the goal cannot be met: no permitted levels suppress at most {self.limit} of {rows} rows and "
            f"leave some; the highest suppress {hidden}: allow higher levels or a larger --suppress, or ask "
            "for less"
        )

    def make_timeout_error(self, seconds: float | None) -> GoalNotMet:
        """That the time was over before any permitted level vector was found."""
        return GoalNotMet(
            f"the goal was not met: no permitted levels that reach it were found in {seconds:g} seconds, and "
            "the highest do not: give more time with --set seconds=, or take another algorithm"
        )

    def _match_table_rows(self, grouping: Grouping) -> NDArray[np.int64]:
        """The group of every row of the table."""
        # `grouping.group` is about groups of the source: rows of the table find theirs by key.
        own = self.groupings.compute_keys(self.table.codes[grouping.row], grouping.vector)
        order = np.argsort(own, kind="stable")
        return order[
            np.searchsorted(own[order], self.groupings.compute_keys(self.table.codes, grouping.vector))
        ]

    def _compute_figures(self, grouping: Grouping) -> tuple[GroupingFigures, float]:
        figures = grouping.compute_figures()
        permitted = figures.suppressed <= self.limit and figures.classes > 0
        return figures, self.score.measure_loss(grouping, figures) if permitted else inf

    def _release_differs(self, figures: GroupingFigures) -> bool:
        """Whether classes are compared with something else once they are released."""
        return self.problem.population is not None or (self._compared and figures.suppressed > 0)

    def _suppress_failing_classes(
        self, grouping: Grouping, figures: GroupingFigures, loss: float, best: float
    ) -> tuple[GroupingFigures, float]:
        """Suppress classes that do not satisfy the models in what is released, until all do."""
        start, value, times = self.groupings.collect_entries(grouping)
        group = np.repeat(np.arange(grouping.total.size), np.diff(start))
        # Each suppressed class changes the release with which the others are compared.
        while loss < best:
            kept = np.flatnonzero(grouping.holds)
            counts = self._count_kept_groups(grouping, kept, group, value, times)
            good = np.logical_and.reduce(
                [_find_sufficient_classes(model, counts) for model in self.problem.models]
            )
            if good.all():
                return figures, loss
            grouping.holds[kept[~good]] = False
            figures, loss = self._compute_figures(grouping)
        return figures, inf

    def _count_kept_groups(
        self, grouping: Grouping, kept: Ints, group: Ints, value: NDArray[np.int32], times: Ints
    ) -> Counts:
        """The kept groups as the classes of a release."""
        place = np.full(grouping.total.size, -1)
        place[kept] = np.arange(kept.size)
        if self.problem.person is not None:
            class_of = place[self._match_table_rows(grouping)]
            found = self.problem.count_people_of_release(class_of[self.table.of_row], kept.size)
            return replace(found, fitting=self._fit_people(class_of, found.size))
        of, size = place[group], grouping.total[kept]
        columns = {}
        first = self.table.histograms.first
        for at, name in enumerate(self.problem.sensitive):
            own = (of >= 0) & (value >= first[at]) & (value < first[at + 1])
            # Values that are not released are unknown to a reader, and take no place in an order.
            present, number = np.unique(value[own] - first[at], return_inverse=True)
            scale = self.problem.table_counts.sensitive[name].scale
            if scale.levels is not None:
                scale = replace(scale, levels=scale.levels[:, present])
            columns[name] = SensitiveCounts(of[own], number, times[own], scale)
        fitting = None
        if self.problem.population is not None:
            people = np.zeros(kept.size, np.int64)
            # The rules put two values after the sensitive ones: rows, then people.
            own = (of >= 0) & (value == first[-1] + 1)
            people[of[own]] = times[own]
            everybody = int(self.problem.population_size[0])
            fitting = replace(
                PopulationFit.from_disjoint_classes(size, people, everybody),
                outside=everybody - int(people.sum()),
            )
        return Counts(size, columns, fitting)

    def _fit_people(self, class_of: Ints, size: NDArray[np.integer]) -> PopulationFit | None:
        """How people of a population fit classes of ``size`` people, given the class of each row, or -1."""
        if self.problem.population is None:
            return None
        rows, match = self.problem.population_rows, self.problem.match_population(self.table.codes)
        here, left = ((match >= 0) & there for there in (class_of >= 0, class_of < 0))
        people = rows.count_people(class_of[here], match[here], size.size)
        outside = rows.count_people(np.zeros(np.count_nonzero(left), np.int64), match[left], 1)
        return replace(
            PopulationFit.from_disjoint_classes(size, people, rows.people), outside=int(outside[0])
        )

    def _measure_release(self, grouping: Grouping) -> float:
        """The loss of what a grouping releases, measured on the release."""
        node = LatticeNode(grouping.vector, grouping, grouping.compute_figures(), inf)
        recoding = Recoding.from_proposal(self.build_proposal(node), self.problem.domains)
        value: float = LOSSES[self.problem.loss]().measure(recoding, self.problem.weights).value
        return value


def _find_sufficient_classes(model: Model, counts: Counts) -> NDArray[np.bool_]:
    """A class may depend on the others only where these are known: by the people who fit them."""
    return model.holds(counts) if isinstance(model, DeltaPresence) else model.suffices(counts)


def _build_ladders(problem: Problem, coding: str | None) -> tuple[Ladder, ...]:
    asked = _parse_known_columns(coding, "coding", "age=20..70", problem.domains)
    return tuple(
        Ladder.from_domain(
            domain, find_coded_range(domain, *asked[domain.name]) if domain.name in asked else None
        )
        for domain in problem.domains
    )


def _read_permitted_levels(ladders: tuple[Ladder, ...], levels: str | None) -> tuple[Ints, Ints]:
    """The lowest and the highest level of each column."""
    asked = _parse_known_columns(levels, "levels", "age=1..3,sex=0", [ladder.domain for ladder in ladders])
    low, high = np.zeros(len(ladders), np.int64), np.array([ladder.top_level for ladder in ladders])
    for j, ladder in enumerate(ladders):
        first, last = asked.get(ladder.domain.name, ("", ""))
        low[j], high[j] = int(first or 0), int(last or ladder.top_level)
        if not low[j] <= high[j] <= ladder.top_level:
            raise RecipeError(
                f"levels of '{ladder.domain.name}' go from 0 to {ladder.top_level}, not {first}..{last}"
            )
    return low, high


def _parse_known_columns(
    text: str | None, what: str, example: str, domains: Sequence[Domain]
) -> dict[str, tuple[str, str]]:
    """What is asked of columns that there are."""
    asked, names = parse_column_ranges(text, what, example), [domain.name for domain in domains]
    if strange := [name for name in asked if name not in names]:
        raise RecipeError(unknown(f"quasi-identifier in {what}", strange[0], names))
    return asked
