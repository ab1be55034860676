"""The protocol that `shoal search --protocol minimize` is measured against, written from its description.

A fitted model and its test rows: a decision tree is grown on the labels, its leaves are the classes, and
leaves with too few sensitive values are deleted. What survives is divided by chance; on the first part the
data is minimised (Goldsteen et al., "Data minimization for GDPR compliance in machine learning models", AI
and Ethics, 2021), and the model is scored on the second. k and l are promised for the leaves and counted
nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

FITTED = 0.6  # of the surviving rows


@dataclass(frozen=True)
class Roles:
    """Which columns are which."""

    quasi: list[str]
    sensitive: str
    text: list[str]


def release_leaves(
    rows: pd.DataFrame, labels: np.ndarray, roles: Roles, pair: tuple[int, int], seed: int, whole: bool
) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows with the value of their leaf in every quasi-identifier, and which of them are kept."""
    k, least = pair
    seen = rows if whole else rows[roles.quasi]
    matrix = encode(seen, [name for name in roles.text if name in seen])
    tree = DecisionTreeClassifier(min_samples_leaf=k, random_state=seed).fit(matrix, labels)
    leaf = tree.apply(matrix)
    released, kept = rows.copy(), np.ones(len(rows), bool)
    for each in np.unique(leaf):
        inside = leaf == each
        for name in roles.quasi:
            released.loc[inside, name] = choose_value(rows.loc[inside, name], name in roles.text)
        kept[inside] = rows.loc[inside, roles.sensitive].nunique() >= least
    return released, kept


def divide(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows to minimise on, and those to score."""
    fitting, scored = np.split(np.random.default_rng(seed).permutation(rows), [round(FITTED * rows)])
    return fitting, scored


def encode(rows: pd.DataFrame, text: list[str]) -> np.ndarray:
    """Numbers as they are, and a column for each value of a text."""
    return pd.get_dummies(rows, columns=text).to_numpy(float)


def choose_value(values: pd.Series, is_text: bool) -> Any:
    """The commonest text, or the number that is there nearest to the median."""
    if is_text:
        return values.mode().iloc[0]
    return values.iloc[int(np.argmin((values - values.median()).abs()))]


class TreeMinimizer:
    """Cells of a tree that predicts the predictions, merged upwards while they agree well enough."""

    def __init__(self, model: Any, target: float, roles: Roles, seed: int) -> None:
        self.model, self.target, self.roles, self.seed = model, target, roles, seed

    def fit(self, rows: pd.DataFrame) -> TreeMinimizer:
        order = np.random.default_rng(self.seed).permutation(len(rows))
        train, test = (rows.iloc[part] for part in np.split(order, [round(FITTED * len(rows))]))
        self.columns = [name for name in rows.columns if name != self.roles.sensitive]
        self.like = pd.get_dummies(rows[self.columns], columns=self._text()).columns
        predicted = self.model.predict(train)
        self.tree = DecisionTreeClassifier(random_state=self.seed).fit(self._encode(train), predicted)
        self.parent = self._find_parents()
        self.touched, self.height = list(self.columns), 0
        self._choose_cells(train)
        if self._agree(test) >= self.target:
            while self.height < self.tree.get_depth():
                self.height += 1
                self._choose_cells(train)
                if self._agree(test) < self.target:
                    self.height -= 1
                    self._choose_cells(train)
                    break
        while self._agree(test) < self.target and self.touched:
            tried = {name: self._agree(test, without=name) for name in self.touched}
            self.touched.remove(max(tried, key=lambda name: tried[name]))
        return self

    def transform(self, rows: pd.DataFrame, without: str | None = None) -> pd.DataFrame:
        shown, cells = rows.copy(), self._find_cells(rows)
        for name in self.touched:
            if name != without:
                values = self.values[name].reindex(cells)
                kept = rows[name].to_numpy()
                shown[name] = np.where(values.isna(), kept, values.to_numpy())
                shown[name] = shown[name].astype(rows[name].dtype)
        return shown

    def _agree(self, rows: pd.DataFrame, without: str | None = None) -> float:
        return float(np.mean(self.model.predict(self.transform(rows, without)) == self.model.predict(rows)))

    def _choose_cells(self, rows: pd.DataFrame) -> None:
        groups = rows[self.columns].groupby(self._find_cells(rows))
        self.values = {
            name: groups[name].agg(lambda values, name=name: choose_value(values, name in self.roles.text))
            for name in self.columns
        }

    def _find_cells(self, rows: pd.DataFrame) -> np.ndarray:
        cells = self.tree.apply(self._encode(rows))
        for _ in range(self.height):
            cells = self.parent[cells]
        return cells

    def _find_parents(self) -> np.ndarray:
        inner = self.tree.tree_
        parent = np.zeros(inner.node_count, int)
        for children in (inner.children_left, inner.children_right):
            has = children >= 0
            parent[children[has]] = np.flatnonzero(has)
        return parent

    def _encode(self, rows: pd.DataFrame) -> np.ndarray:
        shown = pd.get_dummies(rows[self.columns], columns=self._text())
        return shown.reindex(columns=self.like, fill_value=0).to_numpy(float)

    def _text(self) -> list[str]:
        return [name for name in self.roles.text if name in self.columns]
