"""What a level vector loses, and what can be said of that before its groups are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.lattice_groups import Grouping, GroupingCache, GroupingFigures
from shoal.algorithms.levels import Ladder
from shoal.algorithms.problem import Problem
from shoal.codespace.loss import LOSSES, CellLoss, ClassSize, Discernibility, Entropy
from shoal.codespace.recoding import ColumnCells
from shoal.kernels.lattice import measure_suppressed_entropy, sum_suppressed
from shoal.support.arithmetic import log2, weighted_sum

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Score(Protocol):
    """A loss over level vectors."""

    additive: bool
    """Whether a vector loses its bound and something for each suppressed row, more of it on lower levels."""

    upwards: bool
    """Whether bounds never fall from level to level."""
    rising: bool
    """Whether suppressing more never lowers it."""

    def bound_loss(self, vectors: Ints) -> Floats:
        """At least what each vector loses."""
        ...

    def bound_with_suppression(self, vectors: Ints, rows: Floats) -> Floats:
        """At least what each vector loses, if at least so many rows are suppressed."""
        ...

    def measure_loss(self, grouping: Grouping, figures: GroupingFigures) -> float:
        """What a vector loses whose groups are known."""
        ...

    def bound_above(self, figures: GroupingFigures) -> float:
        """At least what every vector above loses, too."""
        ...


def build_score(
    problem: Problem,
    ladders: Sequence[Ladder],
    groupings: GroupingCache,
    measured: Callable[[Grouping], float],
) -> Score:
    """The loss of a problem; ``measured`` measures losses that need all of the released table."""
    loss = LOSSES[problem.loss]()
    if isinstance(loss, CellLoss):
        return _CellScore(loss, problem, ladders, groupings)
    if isinstance(loss, Entropy):
        return _EntropyScore(problem, ladders, groupings)
    if isinstance(loss, ClassSize | Discernibility):
        return _SizeScore(problem, ladders, isinstance(loss, ClassSize), groupings.rules.size)
    return _MeasuredScore(measured)


class _LevelTable:
    """Numbers by column and level."""

    def __init__(self, by_level: Sequence[NDArray[Any]]) -> None:
        self.axes = np.arange(len(by_level))
        self.values = np.zeros((len(by_level), max(each.size for each in by_level)))
        for j, each in enumerate(by_level):
            self.values[j, : each.size] = each

    def __getitem__(self, vectors: Ints) -> Floats:
        """[..., d] what each column has on the level that the vectors say."""
        picked: Floats = self.values[self.axes, vectors]
        return picked


class _CellScore:
    """Losses made of what cells cost: known before suppression by the level alone, column by column.

    A row that is suppressed costs at least as much more as the costliest value of its column can still lose.
    """

    def __init__(
        self, loss: CellLoss, problem: Problem, ladders: Sequence[Ladder], groupings: GroupingCache
    ) -> None:
        self.loss, self.weights, self.rows = loss, problem.weights, groupings.table.rows
        self.groupings = groupings
        counts = [groupings.table.count_codes(j, ladder.domain.size) for j, ladder in enumerate(ladders)]
        whole = [loss.compute_suppressed_cost(ladder.domain) for ladder in ladders]
        costs = [
            _compute_cell_costs(loss, ladder, int((c > 0).sum()))
            for ladder, c in zip(ladders, counts, strict=True)
        ]
        self.lost = _LevelTable([weighted_sum(cost, c) for cost, c in zip(costs, counts, strict=True)])
        # A row is released at its cost or suppressed at `most`: the smaller of the two bounds both.
        self.least = _LevelTable(
            [
                weighted_sum(np.minimum(cost, most), c)
                for cost, c, most in zip(costs, counts, whole, strict=True)
            ]
        )
        # What suppressing a row adds at least: as much as for the costliest value that occurs.
        self.spare = _LevelTable(
            [
                np.maximum(most - cost[:, c > 0].max(axis=1), 0.0)
                for cost, c, most in zip(costs, counts, whole, strict=True)
            ]
        )
        # Laid out like the words of the nodes, so that one offset per column finds both.
        self.amount = np.concatenate([(most - cost).ravel() for cost, most in zip(costs, whole, strict=True)])
        self.upwards = all((np.diff(cost, axis=0) >= 0).all() for cost in costs)
        # A geometric mean over columns is no sum over rows, to which suppressed rows could be
        # added.
        self.additive = self.upwards and loss.additive
        self.rising = bool((self.amount >= 0).all())

    def bound_loss(self, vectors: Ints) -> Floats:
        return self._compute_total(self.least[vectors])

    def bound_with_suppression(self, vectors: Ints, rows: Floats) -> Floats:
        return self._compute_total(self.least[vectors] + rows[..., None] * self.spare[vectors])

    def measure_loss(self, grouping: Grouping, figures: GroupingFigures) -> float:
        sums = self.lost[grouping.vector]
        if figures.suppressed:
            start = self.groupings.find_level_starts(grouping.vector)
            g, codes = grouping, self.groupings.table.codes
            sums = sums + sum_suppressed(codes, g.row, g.total, g.holds, g.total.size, self.amount, start)
        return float(self._compute_total(sums))

    def bound_above(self, figures: GroupingFigures) -> float:
        return -np.inf

    def _compute_total(self, sums: Floats) -> Floats:
        return self.loss.compute_total(sums, self.weights, self.rows)


class _EntropyScore:
    """Non-uniform entropy: known before suppression by the level alone, column by column."""

    additive, upwards, rising = True, True, True

    def __init__(self, problem: Problem, ladders: Sequence[Ladder], groupings: GroupingCache) -> None:
        self.weights, self.groupings = problem.weights, groupings
        self.node = np.concatenate([ladder.node.ravel() for ladder in ladders])
        lost = []
        for j, ladder in enumerate(ladders):
            counts = groupings.table.count_codes(j, ladder.domain.size)
            there = counts[counts > 0]
            alone = weighted_sum(log2(there), there)
            # -log2(value / node), summed over the rows, is a sum of log2(node) less one of
            # log2(value).
            mass = [np.bincount(node, counts)[node] for node in ladder.node]
            lost.append(weighted_sum(log2(np.maximum(mass, 1)), counts) - alone)
        self.lost = _LevelTable(lost)

    def bound_loss(self, vectors: Ints) -> Floats:
        return weighted_sum(self.lost[vectors], self.weights)

    def bound_with_suppression(self, vectors: Ints, rows: Floats) -> Floats:
        return self.bound_loss(vectors)

    def measure_loss(self, grouping: Grouping, figures: GroupingFigures) -> float:
        bits = self.lost[grouping.vector]
        if figures.suppressed:
            start, nodes = self.groupings.find_level_starts(grouping.vector), int(self.node.max()) + 1
            g, codes = grouping, self.groupings.table.codes
            bits = bits + measure_suppressed_entropy(
                codes, g.row, g.total, g.holds, g.total.size, self.node, start, nodes
            )
        return float(weighted_sum(bits, self.weights))

    def bound_above(self, figures: GroupingFigures) -> float:
        return -np.inf


class _SizeScore:
    """Average class size and discernibility: known from the sizes of the groups.

    Groups become fewer and larger upwards, so that what they lose without suppression is a bound for all
    above; that there are no more groups than combinations of nodes is one before anything is known.
    """

    additive, upwards, rising = False, True, True

    def __init__(self, problem: Problem, ladders: Sequence[Ladder], mean: bool, size: int) -> None:
        self.mean, self.size, self.rows = mean, size, problem.rows.rows
        codes = [np.unique(column) for column in problem.table.codes.T]
        self.distinct = problem.table.weight.size
        self.nodes = _LevelTable(
            [
                np.array([np.unique(node[code]).size for node in ladder.node])
                for ladder, code in zip(ladders, codes, strict=True)
            ]
        )

    def bound_loss(self, vectors: Ints) -> Floats:
        # The squared sizes of so many groups add up to least if all groups are equally large.
        groups = np.minimum(self.nodes[vectors].prod(axis=-1), self.distinct)
        return np.asarray((self.rows if self.mean else float(self.rows) ** 2) / groups, np.float64)

    def bound_with_suppression(self, vectors: Ints, rows: Floats) -> Floats:
        released = self.rows - rows
        if self.mean:  # what is suppressed is one class more
            return np.asarray(self.rows / (released // self.size + 1))
        # A released row costs the least size of a class at least, a suppressed one all rows.
        return np.asarray(released * self.size + rows * self.rows)

    def measure_loss(self, grouping: Grouping, figures: GroupingFigures) -> float:
        if self.mean:
            return self.rows / max(figures.classes + (figures.suppressed > 0), 1)
        return figures.kept_squares + figures.suppressed * float(self.rows)

    def bound_above(self, figures: GroupingFigures) -> float:
        return self.rows / figures.most_classes if self.mean else figures.squares


class _MeasuredScore:
    """Any other loss, of which only is known that it is not below 0."""

    # A bound of 0 never falls, so `upwards` is true; suppression may lower the loss.
    additive, upwards, rising = False, True, False

    def __init__(self, measured: Callable[[Grouping], float]) -> None:
        self.measured = measured

    def bound_loss(self, vectors: Ints) -> Floats:
        return np.zeros(vectors.shape[:-1])

    def bound_with_suppression(self, vectors: Ints, rows: Floats) -> Floats:
        return self.bound_loss(vectors)

    def measure_loss(self, grouping: Grouping, figures: GroupingFigures) -> float:
        return self.measured(grouping)

    def bound_above(self, figures: GroupingFigures) -> float:
        return -np.inf


def _compute_cell_costs(loss: CellLoss, ladder: Ladder, distinct: int) -> Floats:
    """[levels, codes] what the cell of each code costs."""
    code = np.arange(ladder.domain.size, dtype=np.int32)
    cells = [
        ColumnCells(ladder.domain, code, *ladder.find_node_ends(level), None)
        for level in range(ladder.top_level + 1)
    ]
    return np.stack([loss.per_cell(each, distinct) for each in cells])
