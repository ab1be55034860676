"""Models that are asked and never trained: what they predict for rows, whatever they are."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from shoal.errors import InputError, RecipeError, ShoalError
from shoal.learn.boosters import adapt_booster
from shoal.learn.onnx_models import adapt_onnx


class EstimatorError(InputError):
    """An estimator or a score raised an error."""


@contextmanager
def name_failure(doing: str) -> Iterator[None]:
    """Make an error of an estimator or a score one of Shoal's."""
    try:
        yield
    except (RecipeError, EstimatorError):
        raise
    except Exception as error:
        text = str(error).strip().split("\n")[0]
        told = text if isinstance(error, ShoalError) else f"{type(error).__name__}: {text}"
        raise EstimatorError(f"{doing} the estimator failed: {told}") from error


@dataclass(frozen=True, slots=True, eq=False)
class BlackBox:
    """A fitted estimator, an object with `predict` or `predict_proba`, or a function of rows.

    Boosters of XGBoost and LightGBM, and models of ONNX, are asked in their own ways.
    """

    model: Any

    def __post_init__(self) -> None:
        # Frozen for everybody else: what is asked is known from here on.
        object.__setattr__(self, "model", adapt_onnx(adapt_booster(self.model)))
        known = any(hasattr(self.model, name) for name in ("predict", "predict_proba"))
        if isinstance(self.model, type) or not (known or callable(self.model)):
            raise RecipeError(
                "estimator must be a fitted estimator, something with a method predict or predict_proba, or "
                f"a function of rows, not {_name_of(self.model)}"
            )
        # Anything else has no convention that says whether it is fitted.
        if isinstance(self.model, BaseEstimator):
            check_is_fitted(self.model)

    def predict(self, data: Any, several: bool = False) -> NDArray[Any]:
        """One prediction for every row; with ``several``, of each output if there are more."""
        if hasattr(self.model, "predict"):
            found = self.model.predict(data)
        elif hasattr(self.model, "predict_proba"):
            found = self.name_likeliest(self.model.predict_proba(data))
        else:
            found = self.model(data)
        return _check_predictions(np.asarray(found), _num_samples(data), several)

    def predict_probabilities(self, data: Any) -> NDArray[np.float64] | None:
        """[rows, classes] probabilities; None where the model has none, or none of this form."""
        if not hasattr(self.model, "predict_proba"):
            return None
        given = self.model.predict_proba(data)
        # One array for each of several outputs, which need not have equally many classes.
        found = np.empty(0) if isinstance(given, list) else np.asarray(given)
        return found.astype(np.float64) if found.ndim == 2 else None

    def name_likeliest(self, probabilities: Any) -> NDArray[Any]:
        """The likeliest class of every row; its number where the model does not name its classes."""
        found = np.asarray(probabilities)
        if found.ndim != 2:
            raise InputError("predict_proba must give one row of probabilities for each row of the data")
        at = found.argmax(axis=1)
        classes = getattr(self.model, "classes_", None)
        return np.asarray(at if classes is None else _make_comparable(np.asarray(classes))[at])

    def predicts_numbers(self, predicted: NDArray[Any]) -> bool:
        """Whether predictions are numbers rather than classes: by the kind of model, else floats are."""
        kind = find_estimator_kind(self.model)
        if kind in ("classifier", "regressor"):
            return kind == "regressor"
        return predicted.dtype.kind == "f" and not hasattr(self.model, "predict_proba")


class KeepsFittedModel(BaseEstimator):  # type: ignore[misc]
    """An estimator whose clones keep the fitted model that they were given."""

    kept_model: ClassVar[str] = "estimator"
    """The parameter that has it."""

    def __sklearn_clone__(self) -> Any:
        # scikit-learn would clone the model too, and a clone is not fitted.
        bare = copy.copy(self)
        setattr(bare, self.kept_model, None)
        made = BaseEstimator.__sklearn_clone__(bare)
        setattr(made, self.kept_model, getattr(self, self.kept_model))
        return made


def find_estimator_kind(model: Any) -> str | None:
    """What a model says that it is: ``"classifier"``, ``"regressor"``, another kind or nothing."""
    if hasattr(model, "__sklearn_tags__") and not isinstance(model, type):
        kind = get_tags(model).estimator_type
    else:
        kind = getattr(model, "_estimator_type", None)
    return kind if kind is None else str(kind)


def _name_of(model: Any) -> str:
    return f"the class {model.__name__}" if isinstance(model, type) else f"{model!r:.60}"


def _check_predictions(found: NDArray[Any], rows: int, several: bool) -> NDArray[Any]:
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if several and found.ndim == 2 and found.shape[0] == rows and found.shape[1]:
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise InputError("the estimator predicts values that are missing or infinite")
        return _make_comparable(found)
    if found.ndim == 2 and found.shape[0] == rows:
        raise InputError(
            f"the estimator predicts {found.shape[1]} values for each row: one is needed. Give a function "
            "that returns one of them"
        )
    if found.shape != (rows,):
        raise InputError(f"the estimator predicts {found.size} values for {rows} rows: one each is needed")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise InputError("the estimator predicts values that are missing or infinite")
    return _make_comparable(found)


def _make_comparable(found: NDArray[Any]) -> NDArray[Any]:
    # Objects may have no order, and here only equality counts.
    return found.astype(str) if found.dtype == object else found
