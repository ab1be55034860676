"""A fitted model that takes part in a search: asked and scored as an estimator of scikit-learn is."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from shoal.errors import InputError, RecipeError
from shoal.learn.blackbox import BlackBox, find_estimator_kind, name_failure
from shoal.learn.boosters import select_columns
from shoal.table.frames import convert_to_pandas


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """Any black box with the interface that scores of scikit-learn need; it is never trained."""

    def __init__(self, model: Any = None, classes: Any = None) -> None:
        self.model = model
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the order of the probabilities."""
        own = getattr(self.model, "classes_", None)
        return np.asarray(self.classes if own is None else own)

    def fit(self, X: Any, y: Any = None) -> FittedModel:  # noqa: N803
        """Leave the model as it is."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """One prediction for every row."""
        return BlackBox(self.model).predict(X)

    @available_if(lambda self: hasattr(BlackBox(self.model).model, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Probabilities, where the model has some."""
        return np.asarray(BlackBox(self.model).model.predict_proba(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> FittedModel:
        # A clone of scikit-learn would not be fitted.
        return type(self)(self.model, self.classes)


class FittedClassifier(ClassifierMixin, FittedModel):  # type: ignore[misc]
    """A model that predicts classes."""


class FittedRegressor(RegressorMixin, FittedModel):  # type: ignore[misc]
    """A model that predicts numbers."""


def wrap_fitted(
    model: Any, data: Any, labels: NDArray[Any]
) -> tuple[FittedModel, NDArray[Any], NDArray[Any]]:
    """A fitted model as an estimator, what it predicts for the rows, and the labels in the same type."""
    try:
        box = BlackBox(model)
    except RecipeError as error:
        raise RecipeError(str(error).replace("estimator must be", "fitted must be")) from error
    with name_failure("asking"):
        predicted = box.predict(data)
    if box.predicts_numbers(predicted):
        if labels.dtype.kind not in "fiub":
            raise InputError("the model predicts numbers, and the labels are others: give the right column")
        return FittedRegressor(model), predicted, labels
    if labels.dtype.kind == "b" and predicted.dtype.kind in "iu":
        labels = labels.astype(predicted.dtype)  # true is 1, whatever the model calls it
    if not np.isin(np.unique(predicted).astype(str), np.unique(labels).astype(str)).any():
        raise InputError(
            f"the model predicts {_quote_some(predicted)} and the labels are {_quote_some(labels)}: none of "
            "them agree. Give the labels as the model names them"
        )
    labels = _match_types(labels, predicted)
    return FittedClassifier(model, np.unique(labels)), predicted, labels


def _match_types(labels: NDArray[Any], predicted: NDArray[Any]) -> NDArray[Any]:
    """Labels as texts if the model predicts texts, and as numbers if it predicts numbers."""
    if predicted.dtype.kind == "U":
        return labels.astype(str)
    try:
        return labels if labels.dtype.kind in "fiub" else labels.astype(predicted.dtype)
    except ValueError:
        return labels  # a label that the model does not know, and that is always wrong


def _quote_some(values: NDArray[Any]) -> str:
    found = [f"'{value}'" for value in np.unique(values)]
    return ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")


class TableModel:
    """A model from a file that gets the rows of a table as it was trained: its columns, in its kind of data.

    That is a frame of pandas with the columns that the model names, or an array if it was trained on one.
    Without pandas it is a frame of polars.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        with name_failure("loading"):  # one that is not fitted
            self._estimator_type = find_estimator_kind(BlackBox(model).model)

    def predict(self, data: pl.DataFrame) -> NDArray[Any]:
        """One prediction for every row."""
        with name_failure("asking"):
            return BlackBox(self.model).predict(self._convert(data))

    @available_if(lambda self: hasattr(self.model, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, data: pl.DataFrame) -> NDArray[Any]:
        """Probabilities, where the model has some."""
        with name_failure("asking"):
            return np.asarray(self.model.predict_proba(self._convert(data)))

    @property
    def classes_(self) -> Any:
        """The classes of the model, where it names them."""
        return getattr(self.model, "classes_", None)

    def _convert(self, data: pl.DataFrame) -> Any:
        names = getattr(self.model, "feature_names_in_", None)
        count = getattr(self.model, "n_features_in_", None)
        if names is not None:
            data = data.select(select_columns(data.columns, list(names), "the model"))
        elif count is not None:
            if count != data.width:
                raise InputError(
                    f"the model takes {count} columns, and there are {data.width} besides the target: leave "
                    "the others out with --identifier"
                )
            return data.to_numpy()
        return convert_to_pandas(data)
