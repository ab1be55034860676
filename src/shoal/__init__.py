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

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal import errors as errors
    from shoal import learn as learn
    from shoal import spark as spark
    from shoal.algorithms import Auto as Auto
    from shoal.algorithms import Cluster as Cluster
    from shoal.algorithms import Datafly as Datafly
    from shoal.algorithms import Genetic as Genetic
    from shoal.algorithms import Hilbert as Hilbert
    from shoal.algorithms import Lattice as Lattice
    from shoal.algorithms import Microaggregate as Microaggregate
    from shoal.algorithms import MinGen as MinGen
    from shoal.algorithms import Mondrian as Mondrian
    from shoal.algorithms import Peel as Peel
    from shoal.algorithms import Refine as Refine
    from shoal.algorithms import SafePubScheme as SafePubScheme
    from shoal.algorithms import Samarati as Samarati
    from shoal.algorithms import TreeGuided as TreeGuided
    from shoal.api import anonymize as anonymize
    from shoal.api import measure as measure
    from shoal.api import run as run
    from shoal.api import verify as verify
    from shoal.attack import Attacks as Attacks
    from shoal.attack import attack as attack
    from shoal.building import build_hierarchy as build_hierarchy
    from shoal.compare import Comparison as Comparison
    from shoal.compare import compare as compare
    from shoal.hierarchies import Hierarchy as Hierarchy
    from shoal.privacy import AlphaK as AlphaK
    from shoal.privacy import AverageRisk as AverageRisk
    from shoal.privacy import BasicBeta as BasicBeta
    from shoal.privacy import DeltaDisclosure as DeltaDisclosure
    from shoal.privacy import DeltaPresence as DeltaPresence
    from shoal.privacy import DistinctL as DistinctL
    from shoal.privacy import EnhancedBeta as EnhancedBeta
    from shoal.privacy import EntropyL as EntropyL
    from shoal.privacy import KAnonymity as KAnonymity
    from shoal.privacy import KMap as KMap
    from shoal.privacy import MaxRisk as MaxRisk
    from shoal.privacy import Measures as Measures
    from shoal.privacy import PSensitive as PSensitive
    from shoal.privacy import RecursiveCL as RecursiveCL
    from shoal.privacy import SafePub as SafePub
    from shoal.privacy import TCloseness as TCloseness
    from shoal.privacy import Uniqueness as Uniqueness
    from shoal.recipe import Recipe as Recipe
    from shoal.report import Report as Report
    from shoal.risk import Risk as Risk
    from shoal.risk import Suggestion as Suggestion
    from shoal.risk import risk as risk
    from shoal.risk import suggest as suggest
    from shoal.run import Release as Release
    from shoal.samples import sample as sample
    from shoal.saved import SavedRecoding as SavedRecoding
    from shoal.verify import Verification as Verification

# Public names and the rooms they live in, loaded when first used: `shoal --help` needs none of them.
_ROOMS = {
    "anonymize": "api",
    "verify": "api",
    "measure": "api",
    "attack": "attack",
    "Attacks": "attack",
    "run": "api",
    "Release": "run",
    "Recipe": "recipe",
    "Report": "report",
    "Verification": "verify",
    "Hierarchy": "hierarchies",
    "build_hierarchy": "building",
    "sample": "samples",
    "SavedRecoding": "saved",
    "compare": "compare",
    "Comparison": "compare",
    "risk": "risk",
    "Risk": "risk",
    "suggest": "risk",
    "Suggestion": "risk",
    "KAnonymity": "privacy",
    "AlphaK": "privacy",
    "DistinctL": "privacy",
    "Auto": "algorithms",
    "Cluster": "algorithms",
    "Hilbert": "algorithms",
    "Datafly": "algorithms",
    "Lattice": "algorithms",
    "Samarati": "algorithms",
    "Microaggregate": "algorithms",
    "EntropyL": "privacy",
    "RecursiveCL": "privacy",
    "TCloseness": "privacy",
    "BasicBeta": "privacy",
    "EnhancedBeta": "privacy",
    "DeltaDisclosure": "privacy",
    "PSensitive": "privacy",
    "KMap": "privacy",
    "DeltaPresence": "privacy",
    "MaxRisk": "privacy",
    "AverageRisk": "privacy",
    "Uniqueness": "privacy",
    "SafePub": "privacy",
    "Measures": "privacy",
    "Mondrian": "algorithms",
    "Peel": "algorithms",
    "Refine": "algorithms",
    "MinGen": "algorithms",
    "Genetic": "algorithms",
    "SafePubScheme": "algorithms",
    "TreeGuided": "algorithms",
}

__all__ = ["__version__", "errors", "learn", "spark", *_ROOMS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in ("errors", "learn", "spark"):
        return import_module(f"shoal.{name}")
    if name not in _ROOMS:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    globals()[name] = getattr(import_module(f"shoal.{_ROOMS[name]}"), name)
    return globals()[name]


class _Face(ModuleType):
    """Keeps functions such as `risk` in front of the rooms of that name, once these are imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _ROOMS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __dir__() -> list[str]:
    return sorted(__all__)
