"""Algorithms: one file each, and the table `ALGORITHMS`."""

from __future__ import annotations

from typing import Any

from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.repair import repair_proposal
from shoal.errors import RecipeError
from shoal.support.extensions import ExtensionTable
from shoal.support.parameters import build_entry, parse_call

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Problem",
    "Progress",
    "read_algorithm",
    "repair_proposal",
    "silent",
]

# The names by which recipes and the command line know the algorithms, and where each is defined: a run loads
# the one that it uses. Plugins add to them.
_BUILT_IN = {
    "auto": "shoal.algorithms.auto:Auto",
    "cells": "shoal.algorithms.cells:Cells",
    "cluster": "shoal.algorithms.cluster:Cluster",
    "hilbert": "shoal.algorithms.hilbert:Hilbert",
    "microaggregate": "shoal.algorithms.microaggregate:Microaggregate",
    "mondrian": "shoal.algorithms.mondrian:Mondrian",
    "peel": "shoal.algorithms.peel:Peel",
    "lattice": "shoal.algorithms.lattice:Lattice",
    "datafly": "shoal.algorithms.datafly:Datafly",
    "samarati": "shoal.algorithms.samarati:Samarati",
    "refine": "shoal.algorithms.refine:Refine",
    "mingen": "shoal.algorithms.mingen:MinGen",
    "genetic": "shoal.algorithms.genetic:Genetic",
    "safepub": "shoal.algorithms.safepub:SafePubScheme",
    "suppress": "shoal.algorithms.suppress:Suppress",
    "tree": "shoal.algorithms.tree:TreeGuided",
}
ALGORITHMS = ExtensionTable(
    "algorithm", "shoal.algorithms", Algorithm, ("category_order", "search"), _BUILT_IN
)


def read_algorithm(given: Any) -> Algorithm:
    """An algorithm, given as one or as text such as ``mondrian(cut=nearest)``."""
    if isinstance(given, str):
        found: Algorithm = build_entry("algorithm", ALGORITHMS, *parse_call(given))
        return found
    if isinstance(given, Algorithm):
        return given
    if isinstance(given, type) and issubclass(given, Algorithm):
        raise RecipeError(f"the algorithm is a class: write {given.__name__}(), with its parameters if any")
    raise RecipeError(f"the algorithm is a name such as 'mondrian', or an algorithm, not {given!r}")
