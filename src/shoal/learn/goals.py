"""The privacy goal of an estimator."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.engines.api import build_goal
from shoal.errors import RecipeError
from shoal.privacy import Model


def learning_goal(k: int | None, l: int | None, models: Sequence[Model | str] = ()) -> tuple[Model, ...]:  # noqa: E741
    """The goal of k, l and further models; l above k is refused, since k rows do not have l values."""
    if k is not None and l is not None and l > k:
        raise RecipeError(f"l = {l} is above k = {k}: a class of {k} rows has at most {k} values; raise k")
    return build_goal(k, l, models)
