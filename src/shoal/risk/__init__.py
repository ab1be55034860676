"""See the risk: how re-identifiable a table is, by which columns, and what to do about it."""

from shoal.risk.analysis import Question, Risk, risk, risk_of
from shoal.risk.attackers import THRESHOLDS, Attacker
from shoal.risk.presets import Preset
from shoal.risk.roles import ProposedColumn
from shoal.risk.subsets import ColumnSet, ColumnSets, column_sets
from shoal.risk.suggestion import ProposedHierarchy, Suggestion, suggest, suggest_for
from shoal.risk.uniqueness import PopulationUniques, population_uniques

__all__ = [
    "THRESHOLDS",
    "Attacker",
    "ColumnSet",
    "ColumnSets",
    "PopulationUniques",
    "Preset",
    "ProposedColumn",
    "ProposedHierarchy",
    "Question",
    "Risk",
    "Suggestion",
    "column_sets",
    "population_uniques",
    "risk",
    "risk_of",
    "suggest",
    "suggest_for",
]
