"""What an algorithm is given, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.domain import Domain
from shoal.encoding import CategoryOrder, Encoded
from shoal.frequency import CodedRows, FrequencyTable, Histograms, ranks
from shoal.kernels.axes import LEVELS, START, TREE, Axes
from shoal.kernels.kinds import POPULATION
from shoal.kernels.rules import Rules, assemble, usual
from shoal.privacy import Counts, Fitting, Model, Scale, Sensitive
from shoal.privacy.counts import sums
from shoal.progress import Progress, silent
from shoal.recoding import Proposal

__all__ = ["Algorithm", "Problem", "Progress", "silent"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table in code space, the privacy goal and what is minimised."""

    domains: tuple[Domain, ...]
    rows: CodedRows
    sensitive: tuple[str, ...]
    """Names of the sensitive columns of ``rows``."""
    models: tuple[Model, ...]
    loss: str
    """Name of the loss that is minimised."""
    weights: NDArray[np.float64]
    """How much each quasi-identifier matters."""
    suppress: float = 0.0
    """Largest share of rows that may be suppressed."""
    seed: int = 0
    threads: int = field(default=1)
    """How many threads to use; the result does not depend on it."""
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """How the values of sensitive columns lie to each other, where that is known."""
    beside: Mapping[str, Encoded] = field(default_factory=dict)
    """Columns other than quasi-identifiers that the algorithm asked to see."""
    population: FrequencyTable | None = None
    """The people that some models compare with, in the same code space."""

    @cached_property
    def table(self) -> FrequencyTable:
        """The collapsed rows."""
        return self.rows.collapsed()

    @cached_property
    def peopled(self) -> FrequencyTable:
        """The collapsed rows and, with weight 0, the people who equal none of them.

        A search that keeps these in its classes, and so in their cells, need not overlook anybody.
        """
        table, people = self.table, self.population
        if people is None:
            return table
        key = self._keys(table.codes)
        own, others = key[: table.weight.size], key[table.weight.size :]
        extra = np.flatnonzero(~np.isin(others, own))
        order = np.argsort(np.concatenate([own, others[extra]]))
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        codes = np.concatenate([table.codes, people.codes[extra].astype(table.codes.dtype)])
        weight = np.concatenate([table.weight, np.zeros(extra.size, np.int64)])
        entries = np.concatenate([np.diff(table.histograms.start), np.zeros(extra.size, np.int64)])
        start = np.concatenate(([0], np.cumsum(entries[order])))
        histograms = replace(table.histograms, start=start)
        return FrequencyTable(codes[order], weight[order], place[table.of_row], histograms)

    @cached_property
    def whole(self) -> Counts:
        """All rows as one class."""
        columns = zip(self.sensitive, self.rows.sensitive, strict=True)
        return Counts(
            np.array([self.rows.rows]),
            {
                name: Sensitive.of_whole(codes, self.scales.get(name), self.rows.count)
                for name, codes in columns
            },
            self._fitting(np.array([self.rows.rows]), self.people),
        )

    @cached_property
    def trims(self) -> bool:
        """Whether a class can have too many rows of one sensitive value, so that these are told apart."""
        return bool(usual(self.rules(self.table)).any())

    @property
    def people(self) -> NDArray[np.int64]:
        """The number of people in the population, as that of one class."""
        return np.array([0 if self.population is None else int(self.population.weight.sum())])

    def _fitting(self, size: NDArray[np.integer], people: NDArray[np.int64]) -> Fitting | None:
        return None if self.population is None else Fitting.apart(size, people)

    def suffices(
        self, group: NDArray[np.integer], row: NDArray[np.integer], groups: int
    ) -> NDArray[np.bool_]:
        """Which groups of rows satisfy every model as classes, whatever the other classes are.

        Parameters
        ----------
        group, row : int[members]
            Each group with each of its rows; a row may be in any number of groups.
        groups : int
            Number of groups.
        """
        columns = {}
        times = None if self.rows.count is None else self.rows.count[row]
        for name, values in zip(self.sensitive, self.rows.sensitive, strict=True):
            whole = self.whole.sensitive[name]
            found = Sensitive.of_rows(group, values[row].astype(np.int64), whole.scale, times)
            columns[name] = replace(found, reference=whole.whole())
        size = np.bincount(group, minlength=groups) if times is None else sums(group, times, groups)
        counts = Counts(size, columns, self._fitting(size, self._equals(group, row, size)))
        return np.asarray(np.logical_and.reduce([model.suffices(counts) for model in self.models]))

    def axes(self) -> Axes:
        """The quasi-identifiers for the kernels."""
        shape = np.zeros((3, len(self.domains) + 1), np.int64)
        position, node, node_width = [np.empty(0)], [np.empty(0, np.int32)], [np.empty(0)]
        for j, domain in enumerate(self.domains):
            shape[START, j + 1] = shape[START, j] + domain.size
            shape[TREE, j + 1] = shape[TREE, j]
            position.append(domain.position)
            if domain.hierarchy is not None:
                nodes = domain.hierarchy.nodes
                shape[LEVELS, j] = nodes.shape[0]
                shape[TREE, j + 1] += nodes.size
                node.append(nodes.ravel())
                node_width.append(_node_widths(domain))
        return Axes(
            self.weights, shape, np.concatenate(position), np.concatenate(node), np.concatenate(node_width)
        )

    def rules(self, table: FrequencyTable) -> Rules:
        """The privacy goal for the kernels, about all rows or, in ``table``, some of them."""
        rules = [rule for model in self.models if (rule := model.rule(self.whole)) is not None]
        size = max([1, *(model.least_size() for model in self.models)])
        histograms = table.histograms
        columns = dict(zip(self.sensitive, pairwise(histograms.first), strict=True))
        if self.population is not None:
            end = histograms.first[-1]
            columns[POPULATION] = (end, end + 2)
            histograms = _with_values(histograms, (table.weight, self._equal(table.codes)))
        entries = (histograms.start, histograms.value, histograms.count)
        # Some rows, too, are compared with the whole table.
        every = self.table.histograms
        whole = np.rint(
            np.bincount(every.value, every.count, max([0, *(last for _, last in columns.values())]))
        ).astype(np.int64)
        return assemble(size, rules, columns, entries)._replace(whole=whole, rows=self.rows.rows)

    def _keys(self, codes: NDArray[np.integer]) -> NDArray[np.int32]:
        """Numbers of rows of codes, and then of the people: equal ones are equal, and in their order."""
        assert self.population is not None
        both = zip(codes.T, self.population.codes.T, strict=True)
        return ranks([np.concatenate(columns) for columns in both], self.rows.sizes)

    def _equal(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many people equal each row of codes; of rows that are equal, each gets its part of them.

        A class's cells cover its rows, and so at least these people fit it.
        """
        assert self.population is not None
        key = self._keys(codes)
        own, others = key[: len(codes)], key[len(codes) :]
        people = np.rint(np.bincount(others, self.population.weight, key.max() + 1)).astype(np.int64)[own]
        alike = np.bincount(own)[own]
        order = np.argsort(own, kind="stable")
        turn = np.empty(own.size, np.int64)
        turn[order] = np.arange(own.size) - np.searchsorted(own[order], own[order])
        return people // alike + (turn < people % alike)

    def _equals(
        self, group: NDArray[np.integer], row: NDArray[np.integer], size: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How many people equal some row of each group; all, if it has all rows: it can be suppressed."""
        if self.population is None:
            return np.empty(0, np.int64)
        table = self.table
        pair = np.unique(group.astype(np.int64) * table.weight.size + table.of_row[row])
        equal = self._equal(table.codes)[pair % table.weight.size]
        people = np.bincount(pair // table.weight.size, equal, size.size)
        return np.rint(np.where(size == self.rows.rows, self.people, people)).astype(np.int64)


def _with_values(histograms: Histograms, counts: tuple[NDArray[np.int64], ...]) -> Histograms:
    """Histograms with further values, of which every weighted row has the given numbers."""
    rows, more = histograms.start.size - 1, len(counts)
    before = histograms.start[1:] + more * np.arange(rows)  # where the new entries of each row go
    value = np.empty(histograms.value.size + more * rows, np.int32)
    count = np.empty(value.size, np.int64)
    old = np.ones(value.size, np.bool_)
    for at, numbers in enumerate(counts):
        old[before + at] = False
        value[before + at], count[before + at] = histograms.first[-1] + at, numbers
    value[old], count[old] = histograms.value, histograms.count
    first = (*histograms.first, histograms.first[-1] + more)
    return Histograms(first, histograms.start + more * np.arange(rows + 1), value, count)


def _node_widths(domain: Domain) -> NDArray[np.float64]:
    """Width of the node above each leaf, level by level."""
    assert domain.hierarchy is not None
    leaf = np.arange(domain.size)
    extents = [
        domain.hierarchy.extent(np.full(domain.size, level), leaf)
        for level in range(domain.hierarchy.height + 1)
    ]
    return np.concatenate([domain.width(lo, hi) for lo, hi in extents])


class Algorithm(Protocol):
    """A frozen dataclass whose fields are its parameters."""

    @property
    def category_order(self) -> CategoryOrder:
        """The order of flat categories that it is made for."""
        ...

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Propose classes; the recoding, the loss and the verdict are not its business."""
        ...
