"""Auto: the default, which chooses an algorithm."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.encoding import CategoryOrder
from shoal.recoding import Proposal


@dataclass(frozen=True, slots=True)
class Auto:
    """Chooses an algorithm for the table: at present always greedy Mondrian, which loses least."""

    @property
    def category_order(self) -> CategoryOrder:
        """By frequency, which lowers the loss."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Search with the chosen algorithm, and say which it was."""
        proposal = Mondrian().search(problem, on_progress)
        return replace(proposal, notes=(*proposal.notes, "auto chose mondrian(mode=strict,cut=greedy)"))
