"""What a decision tree sees of columns in code space: numbers that it can cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.encoding import EncodedColumn
from shoal.support.arithmetic import weighted_sum

Floats = NDArray[np.float64]

_FEW = 20  # a column with more distinct numbers than this is predicted as numbers, not as classes
_CLASSES = 5  # categories are ordered by the shares of so many classes, the commonest


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What a decision tree predicts, row by row."""

    value: NDArray[np.int64] | Floats
    """Codes of classes, or numbers; [rows, m] of several."""
    classes: int
    """How many classes there are; 0 for numbers."""

    @classmethod
    def from_column(cls, column: EncodedColumn) -> Target:
        """A column as a target: classes, unless it has many distinct numbers."""
        domain = column.domain
        if domain.kind == "number" and domain.size > _FEW:
            return cls(np.maximum(domain.position[column.codes], 0.0), 0)
        return cls(column.codes.astype(np.int64), domain.size)

    def measure_impurity(self) -> float:
        """What a tree that has made no cut has still to explain, per row."""
        if not self.classes:
            return float(np.var(self.value, axis=0).mean())
        share = np.bincount(self.value.astype(np.int64)) / self.value.size
        return float(1 - weighted_sum(share, share))

    def to_numbers(self) -> Floats:
        """[rows, m] the numbers by which categories are compared."""
        if not self.classes:
            return np.asarray(self.value, np.float64).reshape(len(self.value), -1)
        common = np.argsort(-np.bincount(self.value.astype(np.int64)), kind="stable")[:_CLASSES]
        # The shares of two classes say the same.
        common = common[:1] if self.classes <= 2 else common
        return np.asarray(self.value[:, None] == common, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Columns as features: lines by their codes, categories by the mean target of their rows.

    The best division of categories in two is, for two classes or numbers, one between neighbours in that
    order (Breiman et al., "Classification and regression trees", 1984). A hierarchy is seen level by level.
    """

    tables: tuple[Floats | None, ...]
    """Of each column [codes, m]; None for a line."""
    unseen: tuple[Floats | None, ...]
    """[m] what a value without a code looks like; None for a line."""

    @classmethod
    def from_columns(
        cls, domains: Sequence[Domain], codes: Sequence[NDArray[np.unsignedinteger]], target: Target
    ) -> Features:
        """Features that suit a target, from the codes of all rows."""
        shown = target.to_numbers()
        tables = tuple(
            None if domain.has_ranges else _compute_target_means(domain, code.astype(np.int64), shown)
            for domain, code in zip(domains, codes, strict=True)
        )
        mean = shown.mean(axis=0)
        # Nothing is known of such a value: on every level it looks like the average row.
        unseen = tuple(None if t is None else np.tile(mean, t.shape[1] // mean.size) for t in tables)
        return cls(tables, unseen)

    def build_matrix(self, codes: Sequence[NDArray[np.number]]) -> NDArray[np.float32]:
        """[rows, features]; codes on a line may lie between two, and a category without a code is -1."""
        parts = []
        for code, table, unseen in zip(codes, self.tables, self.unseen, strict=True):
            if table is None or unseen is None:
                parts.append(np.asarray(code, np.float32)[:, None])
            else:
                parts.append(np.vstack([table, unseen])[np.asarray(code, np.int64)].astype(np.float32))
        return np.hstack(parts)


def _compute_target_means(domain: Domain, code: NDArray[np.int64], shown: Floats) -> Floats:
    """[codes, m] mean target of the rows with each value, or in each node of every level above it."""
    # Without the root, which is the same for all values.
    levels = np.arange(domain.size)[None] if domain.hierarchy is None else domain.hierarchy.nodes[:-1]
    parts = []
    for node in levels:
        of_row = node[code]
        rows = np.bincount(of_row, minlength=int(node.max()) + 1)
        for number in shown.T:
            total = np.bincount(of_row, number, rows.size)
            mean = np.where(rows > 0, total / np.maximum(rows, 1), number.mean())
            parts.append(mean[node])
    return np.stack(parts, axis=1)
