"""Refine: improve any partition, step by step, as long as the budget lasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.partition import Partition
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.space import (
    ClusteringSpace,
    replace_unsound_proposal,
    split_equal_rows,
    start_worker,
    transfer_classes,
)
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError
from shoal.support.parameters import check_fields

_STARTS = {"mondrian": Mondrian, "hilbert": Hilbert}


@dataclass(frozen=True, slots=True)
class Refine(Algorithm):
    """Improves the classes of another algorithm: move, swap, dissolve, split and regroup.

    A row moves to a class nearby or changes places with one of its rows; a class is dissolved into its
    neighbours; a few neighbouring classes are clustered anew. Only what lowers the loss is kept, and the
    privacy models hold at every step. What is near is told by a different Hilbert curve in every sweep.

    References
    ----------
    J.-L. Lin, T.-H. Wen, J.-C. Hsieh, P.-C. Chang, "Density-based microaggregation for statistical disclosure
    control", Expert Systems with Applications 37(4), 2010 (moves and dissolving).
    P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
    CP 1998 (large neighbourhoods: take a few classes apart and build them anew).
    """

    start: Literal["mondrian", "hilbert"] = "mondrian"
    """The algorithm whose classes are improved."""
    sweeps: int = 4
    """How often all rows are looked at, at most."""
    seconds: float = 60.0
    """The budget, in seconds of an ordinary core. It is counted in steps, so that the result does not depend
    on the machine."""
    counts_people = True
    links_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_budget("refine", self.sweeps, self.seconds)

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Search with the algorithm named by ``start``, then refine."""
        proposal = _STARTS[self.start]().search(problem, on_progress)
        return refine_proposal(problem, proposal, self.sweeps, self.seconds, on_progress)


def check_budget(name: str, sweeps: int, seconds: float) -> None:
    """Refuse a budget that is none."""
    if sweeps < 0:
        raise RecipeError(f"sweeps of algorithm {name} must be 0 or more, not {sweeps}")
    if not seconds > 0:
        raise RecipeError(f"seconds of algorithm {name} must be more than 0, not {seconds}")


def refine_proposal(
    problem: Problem, proposal: Proposal, sweeps: int, seconds: float, on_progress: Progress = silent
) -> Proposal:
    """Improve a proposal of classes; its cells, if it states any, are given up for the tightest ones.

    Equal rows may end in different classes, unless there are very many of them.
    """
    collapsed = proposal.table is problem.table or proposal.table is problem.table_with_population
    table = split_equal_rows(problem) if collapsed else proposal.table
    partition = Partition(
        ClusteringSpace.from_table(problem, table), transfer_classes(proposal, table), problem.seed
    )
    before = partition.loss
    with start_worker(on_progress, problem.threads) as run:
        partition.refine_classes(sweeps, seconds, run, on_progress)
    note = (
        f"refinement lowered the loss from {100 * before:.2f} to {100 * partition.loss:.2f} % "
        f"in {partition.swept} sweeps"
    )
    found = Proposal(
        table,
        partition.class_of(),
        nodes=partition.evaluations,
        notes=(*proposal.notes, note),
        curve=tuple(partition.curve),
    )
    return replace_unsound_proposal(problem, found)
