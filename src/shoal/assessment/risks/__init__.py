"""See the risk: how re-identifiable a table is, by which columns, and what to do about it."""

from shoal.assessment.risks.analysis import Risk, RiskQuestion, analyze_risk, risk
from shoal.assessment.risks.attackers import THRESHOLDS, Attacker
from shoal.assessment.risks.presets import Preset
from shoal.assessment.risks.roles import ProposedColumn
from shoal.assessment.risks.subsets import ColumnSet, ColumnSets, measure_column_sets
from shoal.assessment.risks.suggestion import (
    ProposedHierarchy,
    Suggestion,
    suggest,
    suggest_for_table,
)
from shoal.privacy.population_uniques import PopulationUniques, estimate_population_uniques

__all__ = [
    "THRESHOLDS",
    "Attacker",
    "ColumnSet",
    "ColumnSets",
    "PopulationUniques",
    "Preset",
    "ProposedColumn",
    "ProposedHierarchy",
    "Risk",
    "RiskQuestion",
    "Suggestion",
    "analyze_risk",
    "estimate_population_uniques",
    "measure_column_sets",
    "risk",
    "suggest",
    "suggest_for_table",
]
