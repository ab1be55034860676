"""Does a model still hold: trained on the release, what does it predict of people as they were?

The same kind of model is trained twice, on the table and on its release, and both predict the same rows that
neither has seen, as they were in the table. A released cell is, to the model, what a reader of the release
would expect: the mean of a range, and for a category equal parts of each value that it may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.assessment.usefulness import AnalysedColumn, Usefulness
from shoal.errors import RecipeError
from shoal.table.formats import import_optional

ModelKind = Literal["boosting", "linear"]
MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
_HELD_OUT = 0.3
_MOST_ROWS = 20_000  # that a model is trained on, drawn at random: answers come within seconds
_MOST_CATEGORIES = 12  # commoner values of a category have a feature each, all others one together
_LEAST_ROWS = 20

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """How well a column is predicted from the others, by rows that no model has seen."""

    target: str
    measure: Literal["accuracy", "r2"]
    """The share of right answers for categories, the share of the variance that is explained for numbers."""
    before: float
    """Of the model that was trained on the table."""
    after: float
    """Of the one that was trained on the release."""
    guess: float
    """Of who always says the commonest value, or the mean."""
    rows: int
    """That were predicted."""

    @property
    def kept(self) -> float | None:
        """How much of what the model knows beyond a guess is left; None where it knows nothing."""
        gained = self.before - self.guess
        return (self.after - self.guess) / gained if gained > 0 else None


def check_model(found: Usefulness, target: str, kind: ModelKind = "boosting", seed: int = 0) -> ModelAnswer:
    """Train a model of a column on the table and on the release, and let both predict the same rows."""
    if len(found.columns) < 2:
        raise RecipeError("there is no other column to predict anything from")
    column = found.columns[target]
    trained, tested = _divide_rows(found, target, seed)
    names = [name for name in found.columns if name != target]
    unseen = np.hstack([_encode_values(found, name, found.columns[name].released[tested]) for name in names])
    seen = np.hstack([_encode_values(found, name, found.columns[name].released[trained]) for name in names])
    released = np.hstack([_encode_cells(found, name, trained) for name in names])
    right = _read_target(found, column)
    answers = right[column.released[tested]]
    scores = [
        _score(_train(kind, column, features, labels, seed).predict(unseen), answers, column)
        for features, labels in (
            (seen, right[column.released[trained]]),
            (released, _read_released_target(column, right, found.class_of, trained)),
        )
    ]
    guess = _guess(right[column.released[trained]], column)
    measure: Literal["accuracy", "r2"] = "accuracy" if column.number is None else "r2"
    baseline = _score(np.full(answers.size, guess), answers, column)
    return ModelAnswer(target, measure, scores[0], scores[1], baseline, answers.size)


def _divide_rows(found: Usefulness, target: str, seed: int) -> tuple[Ints, Ints]:
    """Released rows to train on and to predict; those whose target is missing are left out."""
    column = found.columns[target]
    rows = np.arange(column.released.size)
    if column.number is not None:
        rows = rows[~np.isnan(column.number[column.released])]
    if rows.size < _LEAST_ROWS or np.unique(column.released[rows]).size < 2:
        raise RecipeError(f"'{target}' has too few rows, or one value only, so that nothing can be learned")
    rows = np.random.default_rng(seed).permutation(rows)[:_MOST_ROWS]
    at = int(rows.size * (1 - _HELD_OUT))
    return np.sort(rows[:at]), np.sort(rows[at:])


def _encode_values(found: Usefulness, name: str, codes: Ints) -> Floats:
    """Features of values as they were: the number, or which of the commoner categories it is."""
    return _list_features(found, name)[codes]


def _encode_cells(found: Usefulness, name: str, rows: Ints) -> Floats:
    """Features of released cells."""
    column, features = found.columns[name], _list_features(found, name)
    if column.cell_of is None:
        return features[column.released[rows]]
    return column.share_by_cell(features)[column.cell_of[found.class_of[rows]]]


def _list_features(found: Usefulness, name: str) -> Floats:
    """[codes, features] of a column."""
    column = found.columns[name]
    if column.number is not None:
        there = ~np.isnan(column.number)
        middle = float(np.median(column.number[there])) if there.any() else 0.0
        return np.column_stack([np.where(there, column.number, middle), ~there]).astype(np.float64)
    groups = found.group_values(name, _MOST_CATEGORIES)
    return np.eye(len(groups.labels))[groups.of_code]


def _read_target(found: Usefulness, column: AnalysedColumn) -> Any:
    """[codes] what is predicted: the number, or the group of a category."""
    return column.number if column.number is not None else found.group_values(column.name).of_code


def _read_released_target(column: AnalysedColumn, right: Any, class_of: Ints, rows: Ints) -> Any:
    """What a reader of the release takes the target for: the mean of a cell, or the likeliest group."""
    if column.cell_of is None:
        return right[column.released[rows]]
    cells = column.cell_of[class_of[rows]]
    if column.number is not None:
        there = (~np.isnan(column.number)).astype(np.float64)
        total = column.share_by_cell(np.where(there > 0, column.number, 0.0))
        known = column.share_by_cell(there)
        mean = float(np.nanmean(column.number))
        return np.divide(total, known, out=np.full_like(total, mean), where=known > 0)[cells]
    return column.share_by_cell(np.eye(int(right.max()) + 1)[right]).argmax(axis=1)[cells]


def _train(kind: ModelKind, column: AnalysedColumn, features: Floats, labels: Any, seed: int) -> Any:
    """A model that was fitted to the rows; one that always says the same where there is but one answer."""
    import_optional("sklearn", "'shoal[learn]'")
    from sklearn import dummy, ensemble, linear_model, pipeline, preprocessing  # noqa: PLC0415  slow to load

    numbers = column.number is not None
    if np.unique(labels).size < 2:
        chosen: Any = dummy.DummyRegressor() if numbers else dummy.DummyClassifier()
    elif kind == "boosting":
        model = ensemble.HistGradientBoostingRegressor if numbers else ensemble.HistGradientBoostingClassifier
        chosen = model(max_iter=60, random_state=seed)
    else:
        linear = linear_model.Ridge() if numbers else linear_model.LogisticRegression(max_iter=500)
        chosen = pipeline.make_pipeline(preprocessing.StandardScaler(), linear)
    return chosen.fit(features, labels)


def _guess(labels: Any, column: AnalysedColumn) -> float:
    return float(labels.mean()) if column.number is not None else float(np.bincount(labels).argmax())


def _score(predicted: Any, right: Any, column: AnalysedColumn) -> float:
    if column.number is None:
        return float((predicted == right).mean())
    spread = float(((right - right.mean()) ** 2).sum())
    return 1 - float(((right - predicted) ** 2).sum()) / spread if spread else 0.0
