"""Boosters of XGBoost and LightGBM as they are saved: what they compute, as predictions and probabilities."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from shoal.errors import InputError
from shoal.learn.sklearn_io import has_names
from shoal.support.arithmetic import exp
from shoal.table import read_table
from shoal.table.formats import import_optional

Floats = NDArray[np.float64]


def adapt_booster(model: Any) -> Any:
    """A booster as something with `predict`; anything else as it is."""
    kind = (type(model).__module__.partition(".")[0], type(model).__name__)
    known = {("xgboost", "Booster"): XGBoostModel, ("lightgbm", "Booster"): LightGBMModel}
    return known[kind](model) if kind in known else model


def build_matrix(data: Any, names: Sequence[str] | None, what: str) -> NDArray[Any]:
    """Rows as a matrix; of a frame the columns that a model names, in its order."""
    if not has_names(data):
        return np.asarray(data)
    frame = read_table(data, with_index=False).frame
    chosen = frame.columns if names is None else select_columns(frame.columns, names, what)
    columns = [frame.get_column(name) for name in chosen]
    if text := [each.name for each in columns if not (each.dtype.is_numeric() or each.dtype == pl.Boolean)]:
        raise InputError(
            f"{what} takes numbers, and column '{text[0]}' has others: give a function that turns rows into "
            "numbers first"
        )
    return np.stack([each.cast(pl.Float64).fill_null(float("nan")).to_numpy() for each in columns], axis=1)


def select_columns(there: Sequence[str], wanted: Sequence[str], what: str) -> list[str]:
    """The columns that a model wants, by their names as they are or as LightGBM writes them."""
    known = {re.sub(r"\s", "_", name): name for name in there} | {name: name for name in there}
    if missing := [name for name in wanted if name not in known]:
        raise InputError(f"{what} was trained on a column '{missing[0]}', which the rows do not have")
    return [known[name] for name in wanted]


class BoosterModel(ABC):
    """A booster with the methods of an estimator; classes are numbers from 0, as in training."""

    what: ClassVar[str]

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        self.objective = self._read_objective()
        classifies = self.objective.startswith(("binary", "multi"))
        self._estimator_type = "classifier" if classifies else "regressor"

    def predict(self, data: Any) -> NDArray[Any]:
        """Classes, or numbers."""
        found = self._compute(data)
        if self._estimator_type == "regressor":
            return found
        return np.asarray(self._make_probabilities(found).argmax(axis=1))

    @available_if(lambda self: self._estimator_type == "classifier")  # type: ignore[untyped-decorator]
    def predict_proba(self, data: Any) -> Floats:
        """[rows, classes]; certain ones where the booster says classes only."""
        return self._make_probabilities(self._compute(data))

    @property
    def names(self) -> list[str] | None:
        """The columns it was trained on, where it knows them."""
        found = self._read_names()
        # Both make up names for the columns of an array.
        made_up = found and all(re.fullmatch(r"f\d+|Column_\d+", name) for name in found)
        return None if not found or made_up else found

    @abstractmethod
    def _read_objective(self) -> str: ...

    @abstractmethod
    def _read_names(self) -> list[str] | None: ...

    @abstractmethod
    def _compute(self, data: Any) -> NDArray[Any]:
        """What the booster gives for rows."""

    def _build_matrix(self, data: Any, width: int) -> NDArray[Any]:
        matrix = build_matrix(data, self.names, self.what)
        if matrix.shape[1] != width:
            raise InputError(f"{self.what} takes {width} columns, and the rows have {matrix.shape[1]}")
        return matrix

    def _make_probabilities(self, found: NDArray[Any]) -> Floats:
        if found.ndim == 2:
            return found.astype(np.float64)
        if self.objective.startswith("multi"):  # numbers of classes
            return np.asarray(found[:, None] == np.arange(int(found.max(initial=0)) + 1), np.float64)
        # A margin is positive where the probability is above a half.
        is_margin = self.objective == "binary:logitraw"
        found = found.astype(np.float64)
        one = 1 / (1 + exp(-found)) if is_margin else found
        return np.stack([1 - one, one], axis=1)


class XGBoostModel(BoosterModel):
    """A booster of XGBoost."""

    what = "the booster of XGBoost"

    def _read_objective(self) -> str:
        return str(json.loads(self.booster.save_config())["learner"]["objective"]["name"])

    def _read_names(self) -> list[str] | None:
        found: list[str] | None = self.booster.feature_names
        return found

    def _compute(self, data: Any) -> NDArray[Any]:
        xgboost = import_optional("xgboost", "xgboost")
        matrix = self._build_matrix(data, self.booster.num_features())
        names = self.booster.feature_names
        return np.asarray(self.booster.predict(xgboost.DMatrix(matrix, feature_names=names)))


class LightGBMModel(BoosterModel):
    """A booster of LightGBM."""

    what = "the booster of LightGBM"

    def _read_objective(self) -> str:
        said = re.search(r"^objective=(\S+)", self.booster.model_to_string(num_iteration=1), re.MULTILINE)
        return said[1] if said else str(self.booster.params.get("objective", ""))

    def _read_names(self) -> list[str] | None:
        return list(self.booster.feature_name())

    def _compute(self, data: Any) -> NDArray[Any]:
        return np.asarray(self.booster.predict(self._build_matrix(data, self.booster.num_feature())))
