"""The search for a linked release, by what an attacker may know."""

from __future__ import annotations

from shoal.algorithms.linked.combinations import search_combinations
from shoal.algorithms.linked.goal import LinkedGoal
from shoal.algorithms.linked.histories import search_histories
from shoal.algorithms.linked.single_rows import search_single_rows
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.recoding import Proposal


def search_linked(
    algorithm: Algorithm, problem: Problem, goal: LinkedGoal, on_progress: Progress = silent
) -> Proposal:
    """Propose classes of rows such that an attacker who knows some rows of a person finds k people."""
    if goal.knows is None:
        return search_histories(algorithm, problem, goal, on_progress)
    if goal.knows == 1:
        return search_single_rows(algorithm, problem, goal, on_progress)
    return search_combinations(algorithm, problem, goal, on_progress)
