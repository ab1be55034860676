"""What a level vector loses, and what can be said of that before its groups are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.groupings import Figures, Grouping, Groupings
from shoal.algorithms.levels import Ladder
from shoal.algorithms.problem import Problem
from shoal.kernels.lattice import spared, surprise
from shoal.loss import LOSSES, ClassSize, Discernibility, Entropy, Generalised, OfCells
from shoal.recoding import Cells

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

    def bound(self, vectors: Ints) -> Floats:
        """At least what each vector loses."""
        ...

    def suppressing(self, vectors: Ints, rows: Floats) -> Floats:
        """At least what each vector loses, if at least so many rows are suppressed."""
        ...

    def value(self, grouping: Grouping, figures: Figures) -> float:
        """What a vector loses whose groups are known."""
        ...

    def above(self, figures: Figures) -> float:
        """At least what every vector above loses, too."""
        ...


def score_of(
    problem: Problem,
    ladders: Sequence[Ladder],
    groupings: Groupings,
    measured: Callable[[Grouping], float],
) -> Score:
    """The loss of a problem; ``measured`` measures losses that need all of the released table."""
    loss = LOSSES[problem.loss]()
    if isinstance(loss, OfCells):
        return _ByCells(loss, problem, ladders, groupings)
    if isinstance(loss, Entropy):
        return _ByEntropy(problem, ladders, groupings)
    if isinstance(loss, ClassSize | Discernibility):
        return _BySize(problem, ladders, isinstance(loss, ClassSize), groupings.rules.size)
    return _ByMeasure(measured)


class _Levels:
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


class _ByCells:
    """Losses made of what cells cost: known before suppression by the level alone, column by column.

    A row that is suppressed costs at least as much more as the costliest value of its column can still lose.
    """

    def __init__(
        self, loss: OfCells, problem: Problem, ladders: Sequence[Ladder], groupings: Groupings
    ) -> None:
        self.loss, self.weights, self.rows = loss, problem.weights, groupings.table.rows
        self.groupings = groupings
        counts = [groupings.table.values(j, ladder.domain.size) for j, ladder in enumerate(ladders)]
        whole = [loss.whole(ladder.domain) for ladder in ladders]
        costs = [_costs(loss, ladder, int((c > 0).sum())) for ladder, c in zip(ladders, counts, strict=True)]
        self.lost = _Levels([cost @ c for cost, c in zip(costs, counts, strict=True)])
        self.least = _Levels(
            [np.minimum(cost, most) @ c for cost, c, most in zip(costs, counts, whole, strict=True)]
        )
        self.spare = _Levels(
            [
                np.maximum(most - cost[:, c > 0].max(axis=1), 0.0)
                for cost, c, most in zip(costs, counts, whole, strict=True)
            ]
        )
        self.amount = np.concatenate([(most - cost).ravel() for cost, most in zip(costs, whole, strict=True)])
        self.upwards = all((np.diff(cost, axis=0) >= 0).all() for cost in costs)
        self.additive = self.upwards and not isinstance(loss, Generalised)
        self.rising = bool((self.amount >= 0).all())

    def bound(self, vectors: Ints) -> Floats:
        return self._total(self.least[vectors])

    def suppressing(self, vectors: Ints, rows: Floats) -> Floats:
        return self._total(self.least[vectors] + rows[..., None] * self.spare[vectors])

    def value(self, grouping: Grouping, figures: Figures) -> float:
        sums = self.lost[grouping.vector]
        if figures.suppressed:
            start = self.groupings.starts(grouping.vector)
            g, codes = grouping, self.groupings.table.codes
            sums = sums + spared(codes, g.row, g.total, g.holds, g.total.size, self.amount, start)
        return float(self._total(sums))

    def above(self, figures: Figures) -> float:
        return -np.inf

    def _total(self, sums: Floats) -> Floats:
        return self.loss.total(sums, self.weights, self.rows)


class _ByEntropy:
    """Non-uniform entropy: known before suppression by the level alone, column by column."""

    additive, upwards, rising = True, True, True

    def __init__(self, problem: Problem, ladders: Sequence[Ladder], groupings: Groupings) -> None:
        self.weights, self.groupings = problem.weights, groupings
        self.node = np.concatenate([ladder.node.ravel() for ladder in ladders])
        lost = []
        for j, ladder in enumerate(ladders):
            counts = groupings.table.values(j, ladder.domain.size)
            alone = counts[counts > 0] @ np.log2(counts[counts > 0])
            mass = [np.bincount(node, counts)[node] for node in ladder.node]
            lost.append(np.log2(np.maximum(mass, 1)) @ counts - alone)
        self.lost = _Levels(lost)

    def bound(self, vectors: Ints) -> Floats:
        return np.asarray(self.lost[vectors] @ self.weights, np.float64)

    def suppressing(self, vectors: Ints, rows: Floats) -> Floats:
        return self.bound(vectors)

    def value(self, grouping: Grouping, figures: Figures) -> float:
        bits = self.lost[grouping.vector]
        if figures.suppressed:
            start, nodes = self.groupings.starts(grouping.vector), int(self.node.max()) + 1
            g, codes = grouping, self.groupings.table.codes
            bits = bits + surprise(codes, g.row, g.total, g.holds, g.total.size, self.node, start, nodes)
        return float(bits @ self.weights)

    def above(self, figures: Figures) -> float:
        return -np.inf


class _BySize:
    """Average class size and discernibility: known from the sizes of the groups.

    Groups become fewer and larger upwards, so that what they lose without suppression is a bound for all
    above; that there are no more groups than combinations of nodes is one before anything is known.
    """

    additive, upwards, rising = False, True, True

    def __init__(self, problem: Problem, ladders: Sequence[Ladder], mean: bool, size: int) -> None:
        self.mean, self.size, self.rows = mean, size, problem.rows.rows
        codes = [np.unique(column) for column in problem.table.codes.T]
        self.distinct = problem.table.weight.size
        self.nodes = _Levels(
            [
                np.array([np.unique(node[code]).size for node in ladder.node])
                for ladder, code in zip(ladders, codes, strict=True)
            ]
        )

    def bound(self, vectors: Ints) -> Floats:
        groups = np.minimum(self.nodes[vectors].prod(axis=-1), self.distinct)
        return np.asarray((self.rows if self.mean else float(self.rows) ** 2) / groups, np.float64)

    def suppressing(self, vectors: Ints, rows: Floats) -> Floats:
        released = self.rows - rows
        if self.mean:  # what is suppressed is one class more
            return np.asarray(self.rows / (released // self.size + 1))
        return np.asarray(released * self.size + rows * self.rows)

    def value(self, grouping: Grouping, figures: Figures) -> float:
        if self.mean:
            return self.rows / max(figures.classes + (figures.suppressed > 0), 1)
        return figures.kept_squares + figures.suppressed * float(self.rows)

    def above(self, figures: Figures) -> float:
        return self.rows / figures.most_classes if self.mean else figures.squares


class _ByMeasure:
    """Any other loss, of which only is known that it is not below 0."""

    additive, upwards, rising = False, True, False

    def __init__(self, measured: Callable[[Grouping], float]) -> None:
        self.measured = measured

    def bound(self, vectors: Ints) -> Floats:
        return np.zeros(vectors.shape[:-1])

    def suppressing(self, vectors: Ints, rows: Floats) -> Floats:
        return self.bound(vectors)

    def value(self, grouping: Grouping, figures: Figures) -> float:
        return self.measured(grouping)

    def above(self, figures: Figures) -> float:
        return -np.inf


def _costs(loss: OfCells, ladder: Ladder, distinct: int) -> Floats:
    """[levels, codes] what the cell of each code costs."""
    code = np.arange(ladder.domain.size, dtype=np.int32)
    cells = [Cells(ladder.domain, code, *ladder.ends(level), None) for level in range(ladder.top + 1)]
    return np.stack([loss.per_cell(each, distinct) for each in cells])
