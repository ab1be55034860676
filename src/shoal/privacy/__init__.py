"""Privacy models: one file each, and the table `MODELS`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import RecipeError, unknown
from shoal.parameters import build, call_text, describe, name_of, parse_call
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts, Sensitive
from shoal.privacy.distinct_l import DistinctL
from shoal.privacy.k_anonymity import KAnonymity

__all__ = [
    "MODELS",
    "Counts",
    "DistinctL",
    "KAnonymity",
    "Model",
    "Sensitive",
    "asked",
    "for_columns",
    "model_text",
    "parse_model",
]

MODELS: dict[str, type[Any]] = {
    "k": KAnonymity,
    "distinct-l": DistinctL,
}


def parse_model(text: str) -> Model:
    """Read a model from ``name(parameter=value, ...)``."""
    name, parameters = parse_call(text)
    model: Model = build("privacy model", MODELS, name, parameters)
    return model


def model_text(model: Model) -> str:
    """Write a model as `parse_model` reads it."""
    return call_text(name_of(MODELS, model), model)


def asked(model: Model) -> dict[str, Any]:
    """The parameters of a model."""
    return describe(model)


def for_columns(models: Iterable[Model], sensitive: Sequence[str]) -> tuple[Model, ...]:
    """Give every model about sensitive values its column: one copy per column where it names none."""
    concrete: list[Model] = []
    for model in models:
        if not model.sensitive:
            concrete.append(model)
            continue
        column: str | None = model.column  # type: ignore[attr-defined]
        if not sensitive:
            raise RecipeError(f"{model_text(model)} needs a sensitive column: name one with --sensitive")
        if column is not None and column not in sensitive:
            raise RecipeError(unknown("sensitive column", column, sensitive))
        columns = sensitive if column is None else [column]
        concrete += [replace(model, column=name) for name in columns]  # type: ignore[type-var]
    return tuple(dict.fromkeys(concrete))
