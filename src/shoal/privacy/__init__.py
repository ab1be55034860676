"""Privacy models: one file per family, and the table `MODELS`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import RecipeError, unknown
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.base import Achieved, Model
from shoal.privacy.beta_likeness import BasicBeta, EnhancedBeta
from shoal.privacy.counts import Counts, SensitiveCounts, ValueScale
from shoal.privacy.delta_disclosure import DeltaDisclosure
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.distinct_l import DistinctL, PSensitive
from shoal.privacy.entropy_l import EntropyL
from shoal.privacy.fitting import PopulationFit, bound_presence, fitting_pairs
from shoal.privacy.groups import GROUPS, GroupAnonymity
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.k_map import KMap
from shoal.privacy.k_map_estimate import KMapEstimate
from shoal.privacy.k_map_weights import KMapWeights
from shoal.privacy.k_of_any import KOfAny
from shoal.privacy.measures import ColumnMeasures, Measures, measure_classes
from shoal.privacy.population import (
    Population,
    align_population,
    move_population,
    population_of,
    read_population,
)
from shoal.privacy.population_uniqueness import PopulationUniqueness
from shoal.privacy.profitability import Profitability
from shoal.privacy.recursive_cl import RecursiveCL
from shoal.privacy.risk import AverageRisk, MaxRisk, Uniqueness
from shoal.privacy.safepub import SafePub, sampling_rate
from shoal.privacy.scale import fold_text, number_distinct_values
from shoal.privacy.t_closeness import TCloseness
from shoal.support.extensions import ExtensionTable
from shoal.support.language import format_number
from shoal.support.language import translate as _
from shoal.support.parameters import (
    build_entry,
    call_text,
    describe_parameters,
    name_of,
    parse_call,
)

__all__ = [
    "MODELS",
    "Achieved",
    "AlphaK",
    "AverageRisk",
    "BasicBeta",
    "ColumnMeasures",
    "Counts",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctL",
    "EnhancedBeta",
    "EntropyL",
    "KAnonymity",
    "KMap",
    "KMapEstimate",
    "KMapWeights",
    "KOfAny",
    "MaxRisk",
    "Measures",
    "Model",
    "PSensitive",
    "Population",
    "PopulationFit",
    "PopulationUniqueness",
    "Profitability",
    "RecursiveCL",
    "SafePub",
    "SensitiveCounts",
    "TCloseness",
    "Uniqueness",
    "ValueScale",
    "achieved_text",
    "align_population",
    "bound_presence",
    "fitting_pairs",
    "fold_text",
    "for_columns",
    "measure_classes",
    "model_parameters",
    "model_text",
    "move_population",
    "number_distinct_values",
    "parse_model",
    "population_of",
    "read_models",
    "read_population",
    "sampling_rate",
]

# The names by which recipes and the command line know the models; plugins add to them.
_BUILT_IN = {
    "k": KAnonymity,
    "k-of-any": KOfAny,
    "alpha-k": AlphaK,
    "distinct-l": DistinctL,
    "entropy-l": EntropyL,
    "recursive-cl": RecursiveCL,
    "t": TCloseness,
    "basic-beta": BasicBeta,
    "enhanced-beta": EnhancedBeta,
    "delta-disclosure": DeltaDisclosure,
    "p-sensitive": PSensitive,
    "k-map": KMap,
    "k-map-estimate": KMapEstimate,
    "k-map-weights": KMapWeights,
    "delta-presence": DeltaPresence,
    "max-risk": MaxRisk,
    "average-risk": AverageRisk,
    "uniqueness": Uniqueness,
    "population-uniqueness": PopulationUniqueness,
    "profitability": Profitability,
    "safepub": SafePub,
}
MODELS = ExtensionTable("privacy model", "shoal.models", Model, ("holds", "achieved"), _BUILT_IN)


def parse_model(text: str) -> Model:
    """Read a model from ``name(parameter=value, ...)``."""
    name, parameters = parse_call(text)
    model: Model = build_entry("privacy model", MODELS, name, parameters)
    return model


def read_models(given: Any) -> tuple[Model, ...]:
    """The models of a goal, each given as one or as text."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise RecipeError(f"models is a list of models or of texts such as 'k(k=5)', not {given!r}")
    return tuple(_read_model(each) for each in given)


def _read_model(given: Any) -> Model:
    if isinstance(given, str):
        return parse_model(given)
    if isinstance(given, type) or Model not in type(given).__mro__:
        raise RecipeError(f"a model is one such as KAnonymity(5), or a text such as 'k(k=5)', not {given!r}")
    model_name(given)  # for its error: a class without a name could not be written into a recipe
    model: Model = given
    return model


def model_text(model: Model) -> str:
    """Write a model as `parse_model` reads it."""
    return call_text(model_name(model), model)


def model_name(model: Model) -> str:
    """What a model is called; that about groups is no entry of the table."""
    return GROUPS if isinstance(model, GroupAnonymity) else name_of(MODELS, model)


def find_model_kind(name: str) -> type[Model]:
    """The model that is called so."""
    return GroupAnonymity if name == GROUPS else MODELS[name]


def model_parameters(model: Model) -> dict[str, Any]:
    """The parameters of a model, in plain values."""
    plain = (bool, int, float, str)
    return {
        name: value if isinstance(value, plain) else str(value)
        for name, value in describe_parameters(model).items()
    }


def achieved_text(achieved: Achieved) -> str:
    """What a table reaches, for people."""
    if isinstance(achieved, dict):
        return ", ".join(f"{name} = {format_number(value, '.6g')}" for name, value in achieved.items())
    return _("no value") if achieved == float("inf") else format_number(achieved, ".6g")


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
    # A goal that was named twice, or for all columns and one, is checked once.
    return tuple(dict.fromkeys(concrete))
