"""Auto: the default, which tries what the table's size and the budget allow and keeps what loses least."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.cluster import cluster_rows
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.peel import build_peel_proposal
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import Partition, check_budget
from shoal.algorithms.space import (
    ClusteringSpace,
    Run,
    replace_unsound_proposal,
    split_equal_rows,
    start_worker,
    transfer_classes,
)
from shoal.codespace.loss import LOSSES, find_cell_costs
from shoal.codespace.recoding import Proposal, Recoding
from shoal.kernels.cluster import cluster_cells
from shoal.kernels.compiled import prepare_kernels
from shoal.kernels.cut_workspace import GREEDY
from shoal.kernels.hilbert import cut_sequence, hilbert_keys
from shoal.kernels.partition import KERNELS
from shoal.kernels.peel import peel_classes
from shoal.kernels.refine import improve_partition, set_up
from shoal.support.parameters import check_fields

_SWEEP = 10e-6  # seconds that a sweep of refinement takes per row, about
_GREEDY = 4e-6  # and a greedy partition
_VECTOR = 2e-9  # and a level vector, most of which come when few rows are left
_TRIMMED = 20e-9  # or one by which few rows leave
_STARTS = 0.2  # share of the budget for finding where to start from
_TRIALS = 0.25  # and for finding out which start is best
TINY = 14
"""Rows up to which the optimum is found, and proved, in next to no time."""
_SWEEPS = 1 << 30


@dataclass(frozen=True, slots=True)
class Auto(Algorithm):
    """Chooses by the size of the table, the kinds of its columns and the time there is.

    A handful of rows is solved exactly. Where the budget allows several looks at every row, it makes classes
    by greedy cuts, by clustering, and along a Hilbert curve (with hierarchies or models of sensitive values:
    by peeling), refines each a little, and spends the rest of the budget on refining the best. Larger tables
    get one pass: along the curve, or by cuts. A goal with a population is met by cuts. The report says what
    was tried, what each lost and why one was chosen.
    """

    seconds: float | None = None
    """The budget for the search, in seconds of an ordinary core; 0.6 if not said, 2 where columns have
    hierarchies. It is counted in steps, so that the result does not depend on the machine. One pass is made
    even if it takes longer."""
    works_on_counted_rows = True
    counts_people = True
    links_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.seconds is not None:
            check_budget("auto", 0, self.seconds)

    @property
    def needs_all_rows(self) -> bool:
        """No: what is too large for several looks gets one pass, which can be a pass of cuts."""
        return False

    def choose_cut(self, count_rows: Callable[[], int], trees: bool) -> str:
        """The way to cut that it takes in memory for so many rows."""
        return cut_in_one_pass(count_rows(), self.seconds, trees)

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Search as the table allows, and say how."""
        if problem.population is not None:
            return _search_with_population(problem, on_progress)
        counted = problem.rows.count is not None  # by an engine for tables that leave time for one pass
        if not counted and problem.rows.rows <= TINY and _is_solvable(problem):
            return _solve_exactly(problem, on_progress)
        trees = any(domain.kind == "tree" for domain in problem.domains)
        seconds = _choose_seconds(self.seconds, trees)
        if counted or problem.table.weight.size * _SWEEP > seconds:
            return _search_in_one_pass(problem, seconds, trees, on_progress)
        space = ClusteringSpace.from_table(problem, split_equal_rows(problem, every=problem.has_value_limits))
        _prepare_kernels(space)
        with start_worker(on_progress) as run:
            starts = dict(_build_starts(problem, space, seconds, run, on_progress))
            return _refine_best_start(problem, space, seconds, starts, run, on_progress)


def _prepare_kernels(space: ClusteringSpace) -> None:
    """Have the kernels compiled that the search will call, several at once, if they are not there."""
    ruled = space.rules.limit.size > 0
    along: Any = peel_classes if space.measure.root.size > 0 or ruled else cut_sequence
    # The longest first, so that no process is left with it at the end.
    kernels = (improve_partition, KERNELS[GREEDY], along, cluster_cells, set_up, hilbert_keys)
    prepare_kernels(kernels, wide=space.table.codes.dtype == np.uint32, ruled=ruled)


def _choose_seconds(seconds: float | None, trees: bool) -> float:
    return seconds or (2.0 if trees else 0.6)


def cut_in_one_pass(rows: int, seconds: float | None, trees: bool) -> Literal["nearest", "greedy"]:
    """The way to cut so many distinct rows, in a budget, if it is to be one pass."""
    return "nearest" if rows * _GREEDY > _choose_seconds(seconds, trees) else "greedy"


def _search_in_one_pass(problem: Problem, seconds: float, trees: bool, on_progress: Progress) -> Proposal:
    """The pass that loses least for its time: a curve, or cuts where there are hierarchies."""
    rows = problem.table.weight.size
    chosen: Hilbert | Mondrian = Hilbert()
    name = "hilbert"
    rules = problem.build_rules(problem.table)
    if trees or rules.limit.size > 0:
        chosen = Mondrian(cut=cut_in_one_pass(rows, seconds, trees))
        name = f"mondrian(cut={chosen.cut})"
    why = f"{rows:,} distinct rows leave time for one pass in {seconds:g} seconds"
    proposal = chosen.search(problem, on_progress)
    return _note_choice(proposal, name, why)


def _build_starts(
    problem: Problem, space: ClusteringSpace, seconds: float, run: Run, on_progress: Progress
) -> Iterator[tuple[str, NDArray[np.int32]]]:
    """Classes to start from, by the name of how they were made."""
    greedy = transfer_classes(Mondrian().search(problem, on_progress), space.table)
    yield "mondrian", greedy
    # Along a tree's leaves a curve jumps more than it stays, and it knows nothing of sensitive values.
    if space.measure.root.size > 0 or space.rules.limit.size > 0:
        each = _TRIMMED if problem.has_value_limits else _VECTOR
        vectors = int(2 * _STARTS * seconds / (space.table.weight.size * each))
        yield "peel", transfer_classes(build_peel_proposal(problem, max(vectors, 1), run), space.table)
    else:
        yield "hilbert", transfer_classes(Hilbert().search(problem, on_progress), space.table)
    rows, size = space.ident.size, max(space.rules.size, 1)
    cell = int(_STARTS * seconds * 2 * size / (rows * space.step_nanoseconds * 1e-9))
    if cell >= 4 * size and len(problem.domains) > space.measure.root.shape[1]:
        cell = 0 if cell >= rows else cell
        yield f"cluster(cell={cell})", cluster_rows(space, greedy, cell, problem.threads, on_progress)


def _refine_best_start(
    problem: Problem,
    space: ClusteringSpace,
    seconds: float,
    starts: dict[str, NDArray[np.int32]],
    run: Run,
    on_progress: Progress,
) -> Proposal:
    """Refine every start a little, then the best of them as long as the budget lasts."""
    made = {name: Partition(space, start, problem.seed) for name, start in starts.items()}
    tried = tuple((name, partition.loss) for name, partition in made.items())
    for done, partition in enumerate(made.values(), 1):
        partition.refine_classes(1, _TRIALS * seconds / len(made), run)
        on_progress("comparing", done / len(made))
    best = min(made, key=lambda name: made[name].loss)
    chosen = made[best]
    trial = chosen.loss
    # The budget is one for all: what the losing starts used is gone.
    others = sum(partition.spent for name, partition in made.items() if name != best)
    chosen.refine_classes(_SWEEPS, (1 - _STARTS) * seconds - others, run, on_progress)
    on_progress("refining", 1.0)
    lost = ", ".join(f"{name} {100 * loss:.2f}" for name, loss in tried)
    notes = (
        f"auto tried {lost} % lost",
        f"auto chose {best}, which lost least after a first sweep of refinement ({100 * trial:.2f} %), "
        f"and refined it to {100 * chosen.loss:.2f} % in {chosen.swept} sweeps",
    )
    nodes = sum(partition.evaluations for partition in made.values())
    refined = Proposal(space.table, chosen.class_of(), nodes=nodes, notes=notes, tried=tried)
    if not _is_refined(problem.loss):
        refined = _keep_least_loss(problem, refined, starts)
    return replace_unsound_proposal(problem, refined)


def _is_solvable(problem: Problem) -> bool:
    """Whether the exact search finds what has least of the loss, sets of categories included."""
    costs = find_cell_costs(problem.loss)
    return problem.person is None and costs is not None and not costs.spans_sets


def _is_refined(loss: str) -> bool:
    """Whether it is what the refinement minimises: the mean width of the cells."""
    costs = find_cell_costs(loss)
    return costs is not None and costs.mean and not costs.step


def _solve_exactly(problem: Problem, on_progress: Progress) -> Proposal:
    """The optimum."""
    proposal = MinGen(sets=True, limit=1, seconds=None).search(problem, on_progress)
    why = f"{problem.rows.rows} rows are few enough to find the table of least loss"
    return _note_choice(proposal, "mingen(sets=true)", why)


def _search_with_population(problem: Problem, on_progress: Progress) -> Proposal:
    """Classes by cuts, which alone count people of a population who equal no row of the table."""
    proposal = Mondrian().search(problem, on_progress)
    why = "its cuts count the people who equal no row of the table, too"
    return _note_choice(proposal, "mondrian", why)


def _note_choice(proposal: Proposal, name: str, why: str) -> Proposal:
    """The proposal, with a word on why it was chosen."""
    return replace(proposal, notes=(*proposal.notes, f"auto chose {name}: {why}"))


def _keep_least_loss(problem: Problem, refined: Proposal, starts: dict[str, NDArray[np.int32]]) -> Proposal:
    """What has the least of the loss that was asked for, where that is not what the refinement minimises."""
    plain = {name: replace(refined, class_of=start) for name, start in starts.items()}
    lost = {name: _measure_loss(problem, proposal) for name, proposal in plain.items()}
    least = min(lost, key=lambda name: lost[name])
    if _measure_loss(problem, refined) <= lost[least]:
        return refined
    why = f"{least} as it was has less of the loss '{problem.loss}': {lost[least]:g}"
    return replace(plain[least], notes=(*refined.notes, why))


def _measure_loss(problem: Problem, proposal: Proposal) -> float:
    """The loss that was asked for."""
    recoding = Recoding.from_proposal(proposal, problem.domains)
    measured: float = LOSSES[problem.loss]().measure(recoding, problem.weights).value
    return measured
