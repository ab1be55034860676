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
from shoal.encoding import CategoryOrder
from shoal.frequency import CodedRows, FrequencyTable
from shoal.kernels.axes import LEVELS, START, TREE, Axes
from shoal.kernels.rules import Rules, assemble
from shoal.privacy import Counts, Model, Scale, Sensitive
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

    @cached_property
    def table(self) -> FrequencyTable:
        """The collapsed rows."""
        return self.rows.collapsed()

    @cached_property
    def whole(self) -> Counts:
        """All rows as one class."""
        columns = zip(self.sensitive, self.rows.sensitive, strict=True)
        return Counts(
            np.array([self.rows.rows]),
            {name: Sensitive.of_whole(codes, self.scales.get(name)) for name, codes in columns},
        )

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
        for name, values in zip(self.sensitive, self.rows.sensitive, strict=True):
            whole = self.whole.sensitive[name]
            found = Sensitive.of_rows(group, values[row].astype(np.int64), whole.scale)
            columns[name] = replace(found, reference=whole.whole())
        counts = Counts(np.bincount(group, minlength=groups), columns)
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
        """The privacy goal for the kernels."""
        rules = [rule for model in self.models if (rule := model.rule(self.whole)) is not None]
        size = max([1, *(model.least_size() for model in self.models)])
        histograms = table.histograms
        ends = pairwise(histograms.first)
        columns = dict(zip(self.sensitive, ends, strict=True))
        return assemble(size, rules, columns, (histograms.start, histograms.value, histograms.count))


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
