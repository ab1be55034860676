"""Refine: improve any partition, step by step, as long as the budget lasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.space import (
    ClusteringSpace,
    Run,
    renumber_classes,
    replace_unsound_proposal,
    split_equal_rows,
    start_worker,
    transfer_classes,
)
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError
from shoal.kernels.random import make_random_state
from shoal.kernels.refine import DISSOLVE, MOVE, REGROUP, RefineWorkspace, improve_partition, set_up
from shoal.kernels.rules import count_slots
from shoal.support.parameters import check_fields

_STARTS = {"mondrian": Mondrian, "hilbert": Hilbert}
_SLICE = 4096  # rows between two looks at the budget
_REACH = 6  # neighbours on either side that a row is offered to
_POOL = 3  # classes that are clustered anew together: more take longer and find hardly more
_LARGEST_POOL = 4096  # rows
_DISSOLVE = 4  # one sweep in so many tries to dissolve classes, which seldom pays
_PATIENCE = 4  # sweeps that save nothing before it stops


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
    with start_worker(on_progress) as run:
        partition.refine_classes(sweeps, seconds, run, on_progress)
    note = (
        f"refinement lowered the loss from {100 * before:.2f} to {100 * partition.loss:.2f} % "
        f"in {partition.swept} sweeps"
    )
    found = Proposal(table, partition.class_of(), nodes=partition.evaluations, notes=(*proposal.notes, note))
    return replace_unsound_proposal(problem, found)


class Partition:
    """Classes in the making."""

    def __init__(self, space: ClusteringSpace, class_of: NDArray[np.int32], seed: int) -> None:
        self.space = space
        self.evaluations = 0
        """How many times a class was measured with a row more, less or exchanged."""
        self.swept = 0
        self.spent = 0.0
        """Seconds of the budget that are used up."""
        self._random = np.random.default_rng(seed)
        used = int(class_of.max()) + 1
        # Splitting needs free classes: as many again, or as many as a few classes can fall into.
        fit = int(space.table.rows // max(space.rules.size, 1))
        classes = max(used, min(fit, max(2 * used, _LARGEST_POOL))) + 1
        self._boxes = space.make_boxes(classes, class_of)
        self._room = _make_workspace(space, used, classes, seed)
        self._scale = 1.0 / max(space.table.rows * space.whole, np.finfo(float).tiny)
        self._nanoseconds = space.step_nanoseconds
        self._sum = set_up(space.points, space.measure, space.rules, space.ident, self._boxes)

    @property
    def loss(self) -> float:
        """The mean width of a cell, from 0 to 1."""
        return self._sum * self._scale

    def class_of(self) -> NDArray[np.int32]:
        """Class of each row, numbered without gaps."""
        return renumber_classes(self._boxes.of)

    def refine_classes(self, sweeps: int, seconds: float, run: Run, on_progress: Progress = silent) -> None:
        """Improve the classes: so many sweeps more, as long as the budget of ``seconds`` in all lasts."""
        idle = 0
        end = self.swept + sweeps
        while self.swept < end and self.spent < seconds and idle < _PATIENCE:
            before = self._sum
            tried = [(REGROUP, 1), (DISSOLVE, 0)] if self.swept % _DISSOLVE == 0 else []
            for how, most in (*tried, (REGROUP, _POOL), (MOVE, _REACH)):
                self._improve_along_curve(how, most, seconds, run)
                share = max(self.spent / seconds, 1 - (end - self.swept) / sweeps)
                on_progress("refining", min(share, 1.0))
            self.swept += 1
            idle = idle + 1 if before - self._sum < 1e-12 * before or before <= 0 else 0

    def _improve_along_curve(self, how: int, most: int, seconds: float, run: Run) -> None:
        """Go along one curve, in slices."""
        space, n = self.space, self.space.ident.size
        order = space.sort_along_curve(self._random)
        rank = np.empty_like(order)
        rank[order] = np.arange(n)
        # The curve itself, in seconds: sorting the rows is part of the budget.
        self.spent += n * 500e-9
        arguments = (space.points, space.measure, space.rules, space.ident, self._boxes, order, rank)
        for first in range(0, n, _SLICE):
            if self.spent > seconds:
                break
            last = min(first + _SLICE, n)
            # What is left of the budget, in evaluations: the unit that the kernel counts.
            allowed = int(max(seconds - self.spent, 0.0) / (self._nanoseconds * 1e-9))
            saved, work = run(improve_partition, *arguments, first, last, how, most, allowed, self._room)
            self._sum -= saved
            self.evaluations += work
            self.spent += work * self._nanoseconds * 1e-9


def _make_workspace(space: ClusteringSpace, used: int, classes: int, seed: int) -> RefineWorkspace:
    free = np.zeros(classes + 1, np.int64)
    free[0] = classes - used
    free[1 : classes - used + 1] = np.arange(classes - 1, used - 1, -1)
    pool = min(space.ident.size, _LARGEST_POOL)
    return RefineWorkspace(
        seen=np.zeros(classes, np.int64),
        clock=np.zeros(1, np.int64),
        random=make_random_state(seed),
        histogram=np.zeros((1, count_slots(space.rules)), np.int64),
        free=free,
        pool=np.empty((3, pool), np.int64),
        ids=np.empty(classes, np.int64),
        bound=np.empty(pool),
    )
