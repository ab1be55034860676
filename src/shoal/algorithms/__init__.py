"""Algorithms: one file each, and the table `ALGORITHMS`."""

from __future__ import annotations

from typing import Any

from shoal.algorithms.auto import Auto
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.datafly import Datafly
from shoal.algorithms.genetic import Genetic
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.lattice import Lattice
from shoal.algorithms.microaggregate import Microaggregate
from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.peel import Peel
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import Refine
from shoal.algorithms.safepub import SafePubScheme
from shoal.algorithms.samarati import Samarati
from shoal.algorithms.settling import settled
from shoal.algorithms.tree import TreeGuided

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Auto",
    "Cluster",
    "Datafly",
    "Genetic",
    "Hilbert",
    "Lattice",
    "Microaggregate",
    "MinGen",
    "Mondrian",
    "Peel",
    "Problem",
    "Progress",
    "Refine",
    "SafePubScheme",
    "Samarati",
    "TreeGuided",
    "settled",
    "silent",
]

ALGORITHMS: dict[str, type[Any]] = {
    "auto": Auto,
    "cluster": Cluster,
    "hilbert": Hilbert,
    "microaggregate": Microaggregate,
    "mondrian": Mondrian,
    "peel": Peel,
    "lattice": Lattice,
    "datafly": Datafly,
    "samarati": Samarati,
    "refine": Refine,
    "mingen": MinGen,
    "genetic": Genetic,
    "safepub": SafePubScheme,
    "tree": TreeGuided,
}
