"""Shoal: the anonymizer for tables.

It hides every record of a table in a shoal of look-alikes, and proves it.

>>> import polars as pl, shoal
>>> people = pl.DataFrame({"age": [21, 22, 35, 38], "illness": ["x", "y", "x", "z"]})
>>> release = shoal.anonymize(people, quasi=["age"], sensitive=["illness"], k=2)
>>> release.frame["age"].to_list()
['[21-22]', '[21-22]', '[35-38]', '[35-38]']
>>> release.report.smallest_class
2
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shoal.support.frame_accessors import add_accessors

__version__ = "0.2.0"

# Public names by the module that defines them. Each is loaded when first used: `shoal --help` needs none.
_DEFINED_IN = {
    "algorithms.auto": "Auto",
    "algorithms.cells": "Cells",
    "algorithms.cluster": "Cluster",
    "algorithms.datafly": "Datafly",
    "algorithms.genetic": "Genetic",
    "algorithms.hilbert": "Hilbert",
    "algorithms.lattice": "Lattice",
    "algorithms.microaggregate": "Microaggregate",
    "algorithms.mingen": "MinGen",
    "algorithms.mondrian": "Mondrian",
    "algorithms.peel": "Peel",
    "algorithms.refine": "Refine",
    "algorithms.safepub": "SafePubScheme",
    "algorithms.samarati": "Samarati",
    "algorithms.suppress": "Suppress",
    "algorithms.tree": "TreeGuided",
    "assessment.attacks": "Attacks attack",
    "assessment.comparisons": "Comparison compare",
    "assessment.risks": "Risk Suggestion risk suggest",
    "codespace.building": "build_hierarchy",
    "table.hierarchies": "Hierarchy",
    "engines.api": "anonymize measure run verify",
    "engines.expansion": "expand",
    "engines.release": "Release",
    "privacy": (
        "AlphaK AverageRisk BasicBeta DeltaDisclosure DeltaPresence DistinctL EnhancedBeta EntropyL "
        "KAnonymity KMap KMapEstimate KMapWeights KOfAny MaxRisk Measures PSensitive "
        "PopulationUniqueness Profitability RecursiveCL SafePub TCloseness Uniqueness"
    ),
    "recipes.recipe": "Recipe",
    "recipes.roles": "Identifier Person Plain Quasi Sensitive",
    "recipes.saved_recoding": "SavedRecoding",
    "report": "Report",
    "report.dossier": "Dossier",
    "table.samples": "sample",
    "verification.verifier": "Verification",
}
_MODULES = {name: module for module, names in _DEFINED_IN.items() for name in names.split()}

__all__ = ["__version__", "errors", "learn", "spark", "studio", "teach", *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in ("errors", "learn", "spark", "studio", "teach"):
        return import_module(f"shoal.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    globals()[name] = getattr(import_module(f"shoal.{_MODULES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)


add_accessors()
