"""What a table reaches under every model at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isinf
from typing import Any

from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.beta_likeness import BasicBeta, EnhancedBeta
from shoal.privacy.counts import Counts
from shoal.privacy.delta_disclosure import DeltaDisclosure
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.distinct_l import DistinctL
from shoal.privacy.entropy_l import EntropyL
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.k_map import KMap
from shoal.privacy.population import Population
from shoal.privacy.recursive_cl import RecursiveCL
from shoal.privacy.risk import AverageRisk, MaxRisk, Uniqueness
from shoal.privacy.t_closeness import TCloseness

MOST = 10
"""Recursive diversity is measured up to this l."""

_ANY = Population("any")  # the figures are those of the population that was counted already


@dataclass(frozen=True, slots=True)
class ColumnMeasures:
    """What a table reaches under the models about one sensitive column."""

    values: int
    """How many distinct ones there are in the table; a missing value is one."""
    alpha: float
    """Largest share of a value in a class."""
    distinct_l: int
    """Also the p of p-sensitivity."""
    entropy_l: float
    recursive_c: Mapping[int, float]
    """For every l that all classes have values for, up to 10: the c that must be exceeded."""
    t_equal: float
    t_ordered: float | None
    """None where the values have no order."""
    t_hierarchical: float | None
    """None where the column has no hierarchy."""
    basic_beta: float
    enhanced_beta: float
    """Infinite where no beta would do."""
    delta_disclosure: float
    """To be exceeded; infinite where a class lacks a value."""
    delta_disclosure_lenient: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What a table reaches under every model: the strictest parameter that holds."""

    rows: int
    classes: int
    k: int
    max_risk: float
    average_risk: float
    """Without rows of which every quasi-identifier is suppressed; and so is the next."""
    uniqueness: float
    sensitive: Mapping[str, ColumnMeasures]
    k_map: int | None = None
    """None where no population is known."""
    presence: Mapping[str, float] | None = None
    """The low and high of delta-presence; None where no population is known."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON, which has no infinity: null stands for it."""
        return _to_plain(asdict(self))  # type: ignore[no-any-return]


def measure_classes(counts: Counts) -> Measures:
    """What classes reach under every model."""
    # The parameters of these models have no influence on what they measure.
    return Measures(
        rows=counts.rows,
        classes=counts.classes,
        k=KAnonymity(2).achieved(counts),
        max_risk=MaxRisk(0.5).achieved(counts),
        average_risk=AverageRisk(0.5).achieved(counts),
        uniqueness=Uniqueness(0.5).achieved(counts),
        sensitive={name: _measure_column(counts, name) for name in counts.sensitive},
        k_map=None if counts.fitting is None else KMap(2, _ANY).achieved(counts),
        presence=None if counts.fitting is None else DeltaPresence(0, 1, _ANY).achieved(counts),
    )


def _measure_column(counts: Counts, name: str) -> ColumnMeasures:
    """Parameters that the measure does not depend on are any that are valid."""
    values = counts.sensitive_column(name)
    distinct = DistinctL(2, name).achieved(counts)
    # Beyond the least number of values some class has no tail, and no c exists.
    diversities = range(2, min(distinct, MOST) + 1)
    return ColumnMeasures(
        values=int((values.count_in_table() > 0).sum()),
        alpha=AlphaK(0.5, 1, name).achieved(counts)["alpha"],
        distinct_l=distinct,
        entropy_l=EntropyL(2, name).achieved(counts),
        recursive_c={at: RecursiveCL(1, at, name).achieved(counts) for at in diversities},
        t_equal=TCloseness(1, "equal", name).achieved(counts),
        t_ordered=TCloseness(1, "ordered", name).achieved(counts) if values.scale.ordered else None,
        t_hierarchical=None
        if values.scale.levels is None
        else TCloseness(1, "hierarchical", name).achieved(counts),
        basic_beta=BasicBeta(1, name).achieved(counts),
        enhanced_beta=EnhancedBeta(1, name).achieved(counts),
        delta_disclosure=DeltaDisclosure(1, "strict", name).achieved(counts),
        delta_disclosure_lenient=DeltaDisclosure(1, "lenient", name).achieved(counts),
    )


def _to_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_plain(each) for key, each in value.items()}
    return None if isinstance(value, float) and isinf(value) else value
