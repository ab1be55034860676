"""Estimators by name, for tables with text and missing values as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from shoal.errors import RecipeError, unknown
from shoal.learn.sklearn_io import read_data
from shoal.table import Table, to_strings

ESTIMATORS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "random-forest": (
        lambda seed: RandomForestClassifier(min_samples_leaf=3, random_state=seed),
        lambda seed: RandomForestRegressor(min_samples_leaf=3, random_state=seed),
    ),
    "gradient-boosting": (
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
    ),
    "linear": (
        lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        lambda seed: make_pipeline(StandardScaler(), Ridge()),
    ),
    "decision-tree": (
        lambda seed: DecisionTreeClassifier(random_state=seed),
        lambda seed: DecisionTreeRegressor(random_state=seed),
    ),
}
"""By name: one for classes and one for numbers, made from a seed."""


_FEW = 20  # a target with more distinct numbers than this is predicted as numbers, not as classes


def is_numeric(labels: NDArray[Any]) -> bool:
    """Whether labels are numbers rather than classes."""
    # Few distinct integers, such as 0 and 1, are labels of classes.
    return labels.dtype.kind in "fiu" and np.unique(labels).size > _FEW


def named_estimator(name: str, numeric: bool, seed: int) -> Any:
    """An estimator that takes any table: `NumericEncoder`, then the one of that name."""
    if name not in ESTIMATORS:
        raise RecipeError(unknown("estimator", name, ESTIMATORS))
    return make_pipeline(NumericEncoder(), ESTIMATORS[name][int(numeric)](seed))


class NumericEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A table as numbers: text by one column per value, missing numbers by the median.

    A missing text is a value of its own, and a value that was never seen is none of the known ones.
    """

    def fit(self, X: Any, y: ArrayLike | None = None) -> NumericEncoder:  # noqa: N803
        """Learn the values and medians of the columns."""
        table = read_data(self, X, reset=True)
        self.text_ = [name for name in table.names if not _is_number(table, name)]
        self.number_ = [name for name in table.names if _is_number(table, name)]
        self.median_ = {name: _compute_median(table, name) for name in self.number_}
        # Trained on a release, it meets raw values that the release may not contain.
        self.encoder_ = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        if self.text_:
            self.encoder_.fit(self._collect_strings(table))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The rows as numbers."""
        check_is_fitted(self, "encoder_")
        table = read_data(self, X, reset=False)
        parts = [
            _read_floats(table, name).fill_null(self.median_[name]).to_numpy()[:, None]
            for name in self.number_
        ]
        if self.text_:
            parts.append(self.encoder_.transform(self._collect_strings(table)))
        return np.hstack(parts)

    def _collect_strings(self, table: Table) -> NDArray[np.object_]:
        columns = [to_strings(table.column(name)).fill_null("").to_list() for name in self.text_]
        return np.array(columns, dtype=object).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _is_number(table: Table, name: str) -> bool:
    dtype = table.frame.schema[name]
    return dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean


def _read_floats(table: Table, name: str) -> pl.Series:
    """A column as floats; dates and times by their distance from the epoch."""
    series = table.column(name)
    return (series.cast(pl.Int64) if series.dtype.is_temporal() else series).cast(pl.Float64)


def _compute_median(table: Table, name: str) -> float:
    found = _read_floats(table, name).median()
    # A column without any number has no median; 0 says as little as any other constant.
    return float(found) if isinstance(found, float) else 0.0
