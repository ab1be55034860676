"""Algorithms: one file each, and the table `ALGORITHMS`."""

from __future__ import annotations

from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.repair import repair_proposal
from shoal.support.extensions import ExtensionTable

__all__ = ["ALGORITHMS", "Algorithm", "Problem", "Progress", "repair_proposal", "silent"]

# The names by which recipes and the command line know the algorithms, and where each is defined: a run loads
# the one that it uses. Plugins add to them.
_BUILT_IN = {
    "auto": "shoal.algorithms.auto:Auto",
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
    "tree": "shoal.algorithms.tree:TreeGuided",
}
ALGORITHMS = ExtensionTable(
    "algorithm", "shoal.algorithms", Algorithm, ("category_order", "search"), _BUILT_IN
)
