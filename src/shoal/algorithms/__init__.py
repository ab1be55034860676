"""Algorithms: one file each, and the table `ALGORITHMS`."""

from __future__ import annotations

from typing import Any

from shoal.algorithms.auto import Auto
from shoal.algorithms.genetic import Genetic
from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.safepub import SafePubScheme
from shoal.algorithms.settling import settled

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Genetic",
    "MinGen",
    "Mondrian",
    "Problem",
    "Progress",
    "SafePubScheme",
    "settled",
    "silent",
]

ALGORITHMS: dict[str, type[Any]] = {
    "auto": Auto,
    "mondrian": Mondrian,
    "mingen": MinGen,
    "genetic": Genetic,
    "safepub": SafePubScheme,
}
