"""What an algorithm is given, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.domain import Domain
from shoal.encoding import CategoryOrder
from shoal.frequency import CodedRows, FrequencyTable
from shoal.kernels.axes import LEVELS, START, TREE, Axes
from shoal.kernels.rules import DISTINCT, Rules
from shoal.privacy import DistinctL, KAnonymity, Model
from shoal.recoding import Proposal

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done and how much of it is (0 to 1)."""


def silent(doing: str, done: float) -> None:
    """Report progress to nobody."""


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

    @cached_property
    def table(self) -> FrequencyTable:
        """The collapsed rows."""
        return self.rows.collapsed()

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
        size = max([1, *(model.k for model in self.models if isinstance(model, KAnonymity))])
        tests = [model for model in self.models if isinstance(model, DistinctL)]
        histograms = table.histograms
        test = np.zeros((len(tests), 3), np.int64)
        for r, model in enumerate(tests):
            column = self.sensitive.index(str(model.column))
            test[r] = DISTINCT, histograms.first[column], histograms.first[column + 1]
        limit = np.array([float(model.l) for model in tests])
        values = histograms.first[-1] if tests else 0
        return Rules(size, test, limit, values, histograms.start, histograms.value, histograms.count)


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
