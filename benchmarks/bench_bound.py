"""How little any release of Adult with these hierarchies can lose, k = 5 and 10: the bound of `--bound`."""

from __future__ import annotations

import sys

from measure import DATA, Figures, need
from shoal.algorithms import Problem
from shoal.algorithms.auto import Auto
from shoal.algorithms.bounds import find_lower_bound
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Recoding
from shoal.engines.memory import prepare_table
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import read_table

FOLDER = DATA / "adult"
SECONDS = 60.0  # --seconds N gives another budget


def main() -> None:
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else SECONDS
    for k in (5, 10):
        figures = Figures(f"Adult with the hierarchies of eight columns, k = {k}")
        problem = asked(k)
        nearest, auto = lost(problem, Mondrian(cut="nearest")), lost(problem, Auto())
        figures.add("nearest", 100 * nearest, "%")
        figures.add("auto", 100 * auto, "%")
        figures.add("auto, of nearest", 100 * auto / nearest, "%")
        bound = find_lower_bound(problem, seconds)
        assert bound is not None
        figures.add(f"no release loses less than, by {seconds:g} s", 100 * bound, "%", 100 * auto)
        figures.add("which is, of nearest", 100 * bound / nearest, "%")
        figures.close()


def asked(k: int) -> Problem:
    table = read_table(need(FOLDER / "adult_9col.csv"))
    quasi = tuple(name for name in table.names if name != "salary-class")
    trees = (str(FOLDER / "hierarchies"),)
    return prepare_table(
        Recipe(quasi, (KAnonymity(k),), plain=("salary-class",), hierarchies=trees), table
    ).problem


def lost(problem: Problem, algorithm: Mondrian | Auto) -> float:
    recoding = Recoding.from_proposal(algorithm.search(problem), problem.domains)
    return LOSSES["ncp"]().measure(recoding, problem.weights).value


if __name__ == "__main__":
    main()
