"""A portfolio: several algorithms, each refined a little, the best refined further; small tables evolve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.cluster import cluster_rows
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.exact.options import TableSpace, find_scale
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.partition import Annealing, Partition
from shoal.algorithms.peel import build_peel_proposal
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.small_tables import (
    build_cheapest_proposal,
    divide_near_classes,
    evolve_in_rounds,
)
from shoal.algorithms.space import (
    ClusteringSpace,
    Worker,
    replace_unsound_proposal,
    split_equal_rows,
    start_worker,
    transfer_classes,
)
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.loss import LOSSES, CellLoss, find_cell_costs
from shoal.codespace.recoding import Proposal, Recoding
from shoal.kernels.anneal import anneal_classes, note_near_rows
from shoal.kernels.cluster import cluster_cells
from shoal.kernels.compiled import prepare_kernels
from shoal.kernels.cut_workspace import GREEDY
from shoal.kernels.groups import cheapest_partners, pair_costs
from shoal.kernels.hilbert import cut_sequence, hilbert_keys
from shoal.kernels.local_search import make_children
from shoal.kernels.neighbourhoods import divide_neighbourhoods
from shoal.kernels.partition import KERNELS
from shoal.kernels.peel import peel_classes
from shoal.kernels.refine import improve_partition, set_up

LEAST_SECONDS = 0.24
"""The default budget for a small table."""
HURRY = 0.6
"""A budget that is enough for any other table in a hurry."""
_WITH_TREES = 0.8  # the default budget for a small table with hierarchies
_MOST_SECONDS = 5.0  # by default: two cores of 2025 take 2 to 3 s
_SMALL_ROWS, _PER_ROW = 5_000, 350e-6  # where the default begins to rise, and by how much for every row
_LARGEST = 100_000  # rows
_VECTOR = 0.8e-9  # seconds that a level vector takes per row, about: most come when few rows are left
_TRIMMED = 8e-9  # or one by which few rows leave
_LONG = 25_000  # measured rows per row from which on annealing from a high temperature pays
_DESCENT, _POLISH = 0.08, 0.15  # then shares of the budget before and after it
_ANNEALING = Annealing(hot=0.04, cooling=0.97, rounds=100)  # ends at 0.002
_SHAKEN = 2_000  # measured rows per row for each time that descent has stalled
_SHAKE = Annealing(hot=0.012, cooling=0.9, rounds=12)
_STARTS = 0.2  # share of the budget for finding where to start from
_TRIALS = 0.25  # and for finding out which start is best
_SWEEPS = 1 << 30
_SMALL = 400  # rows up to which classes evolve: then that finds more than refining does
_PLENTY = 100  # rows beyond which evolution needs more steps than the budget has, up to twice as many
_VISIT = 0.3e-6  # seconds that local search takes for a row, about, times the size of classes
_LOOK = 6e-9  # seconds that it takes to look at a row of a group, about
_LAST = 0.5  # share of the budget for dividing neighbourhoods at the end


def choose_seconds(seconds: float | None, trees: bool, rows: int) -> float:
    """The budget, in seconds of an ordinary core: what was asked for, or the default for so many rows."""
    least = _WITH_TREES if trees else LEAST_SECONDS
    more = LEAST_SECONDS + _PER_ROW * (rows - _SMALL_ROWS)
    # What is too large for several looks at every row gets one pass, and needs no more time than it takes.
    return seconds or (least if rows > _LARGEST else max(least, min(more, _MOST_SECONDS)))


def search_portfolio(
    problem: Problem, seconds: float, on_progress: Progress = silent, budget: Budget | None = None
) -> Proposal:
    """The best classes of several algorithms, refined; ``budget`` counts the tables that are bred."""
    # Algorithms compare differences with constants, which must not depend on the scale of the weights.
    problem = replace(problem, weights=problem.weights / find_scale(problem.weights))
    space = ClusteringSpace.from_table(problem, split_equal_rows(problem, every=problem.has_value_limits))
    is_small = problem.rows.rows <= _SMALL and is_evolvable(problem)
    _prepare_kernels(space, is_small, _is_patient(problem, seconds))
    with start_worker(on_progress, problem.threads) as run:
        starts = dict(_build_starts(problem, space, seconds, run, on_progress))
        refined, made = _refine_best_start(problem, space, seconds, starts, run, on_progress)
    if is_small:
        refined = _evolve_best(problem, refined, made, seconds, budget or Budget(on_progress=on_progress))
    if not _is_refined(problem.loss):
        refined = _keep_least_loss(problem, refined, space.table, starts)
    return replace_unsound_proposal(problem, refined)


def is_for_portfolio(problem: Problem) -> bool:
    """Whether the algorithms take the weights: none below 0, and some above."""
    return bool((problem.weights >= 0).all() and problem.weights.any())


def is_evolvable(problem: Problem) -> bool:
    """Whether evolution minimises the loss and keeps the goal: it counts rows, not people."""
    return problem.person is None and problem.rows.count is None and find_cell_costs(problem.loss) is not None


def _evolve_best(
    problem: Problem, refined: Proposal, made: list[NDArray[np.int32]], seconds: float, budget: Budget
) -> Proposal:
    """What evolves from the refined classes, if it loses less than they do."""
    # By the weighted rows, so that what evolves does not depend on the order of the input.
    order = np.argsort(refined.table.of_row, kind="stable")
    ordered = replace(problem, rows=problem.rows.take_rows(order))
    table = ordered.rows.one_by_one(in_order=True)
    space = TableSpace.from_codes(problem.domains, table.codes, problem.loss, problem.weights, sets=True)
    starts = np.stack([classes[refined.table.of_row[order]] for classes in made]).astype(np.int64)
    budget.scale = space.scale
    size = max(ordered.build_rules(table).size, 2)
    more = min(max(space.rows / _PLENTY, 1.0), 2.0)
    class_of, _ = evolve_in_rounds(ordered, space, starts, int(more * seconds / (_VISIT * size)), budget)
    if not budget.is_over:
        class_of = divide_near_classes(ordered, space, class_of, int(_LAST * seconds / _LOOK))
    place = np.empty(order.size, np.int32)
    place[order] = table.of_row
    bred = build_cheapest_proposal(replace(table, of_row=place), space, class_of)
    before, after = measure_loss(problem, refined), measure_loss(problem, bred)
    if after >= before:
        return refined
    note = f"evolution lowered it by {100 * (1 - after / before):.2g} % more"
    nodes = (refined.nodes or 0) + budget.nodes
    return replace(bred, nodes=nodes, notes=(*refined.notes, note), tried=refined.tried, curve=refined.curve)


def _prepare_kernels(space: ClusteringSpace, is_small: bool, is_patient: bool) -> None:
    """Have the kernels compiled that the search will call, several at once, if they are not there."""
    ruled = space.rules.limit.size > 0
    along: Any = peel_classes if space.measure.root.size > 0 or ruled else cut_sequence
    # The longest first, so that no process is left with it at the end.
    kernels = [improve_partition, KERNELS[GREEDY], along, cluster_cells, set_up, hilbert_keys]
    if is_small:
        kernels = [make_children, divide_neighbourhoods, *kernels, pair_costs, cheapest_partners]
    if is_patient:
        kernels += [anneal_classes, note_near_rows]
    prepare_kernels(kernels, wide=space.table.codes.dtype == np.uint32, ruled=ruled)


def _build_starts(
    problem: Problem, space: ClusteringSpace, seconds: float, run: Worker, on_progress: Progress
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
    run: Worker,
    on_progress: Progress,
) -> tuple[Proposal, list[NDArray[np.int32]]]:
    """Refine every start a little, then the best of them as long as the budget lasts; and all of them."""
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
    chosen = _follow_loss(problem, space, chosen)
    end = (1 - _STARTS) * seconds - others
    if _is_patient(problem, seconds):
        _improve_patiently(chosen, end, space.ident.size * space.step_nanoseconds * 1e-9, run, on_progress)
    else:
        chosen.refine_classes(_SWEEPS, end, run, on_progress)
    on_progress("refining", 1.0)
    reached = chosen.loss
    if not chosen.is_told:
        reached = Partition(space, chosen.class_of(), problem.seed).loss
        chosen.curve.append((chosen.spent, reached))
    lost = ", ".join(f"{name} {100 * loss:.2f}" for name, loss in tried)
    notes = (
        f"auto tried {lost} % lost",
        f"auto chose {best}, which lost least after a first sweep of refinement ({100 * trial:.2f} %), "
        f"and refined it to {100 * reached:.2f} % in {chosen.swept} sweeps",
    )
    made[best] = chosen
    nodes = sum(partition.evaluations for partition in made.values())
    refined = Proposal(
        space.table,
        chosen.class_of(),
        nodes=nodes,
        notes=notes,
        tried=tried,
        curve=_add_time(chosen.curve, others),
    )
    return refined, [partition.class_of() for partition in made.values()]


def _is_patient(problem: Problem, seconds: float) -> bool:
    """Whether it goes on when descent stalls: not by default, and small tables evolve instead."""
    return seconds > _MOST_SECONDS and problem.rows.rows > _SMALL


def _improve_patiently(
    partition: Partition, end: float, look: float, run: Worker, on_progress: Progress
) -> None:
    """Refine, and where nothing helps any more, make the classes a little worse and refine again.

    Parameters
    ----------
    end : float
        The budget, in seconds.
    look : float
        Seconds that it takes to measure every row once.
    """
    left = end - partition.spent
    if left >= _LONG * look:
        partition.refine_classes(_SWEEPS, partition.spent + _DESCENT * left, run, on_progress)
        partition.anneal_classes(_ANNEALING, end - _POLISH * left, run, on_progress)
    partition.refine_classes(_SWEEPS, end, run, on_progress)
    while partition.loss > 0 and partition.spent < end:
        shaken = min(partition.spent + _SHAKEN * look, end - _POLISH * (end - partition.spent))
        partition.anneal_classes(_SHAKE, shaken, run, on_progress)
        partition.refine_classes(_SWEEPS, end, run, on_progress)
    partition.return_to_best()


def _add_time(curve: list[tuple[float, float]], spent: float) -> tuple[tuple[float, float], ...]:
    """The curve of the best start, with what the others had used up when the last refinement began."""
    # The start itself and its first sweep come before; all else comes after all trials.
    return tuple((at + spent if i > 1 else at, loss) for i, (at, loss) in enumerate(curve))


def _follow_loss(problem: Problem, space: ClusteringSpace, partition: Partition) -> Partition:
    """The partition, to be refined by what its columns add to the loss, where the loss is no mean of them.

    Slopes are those at the classes that are there: where the loss bends downwards, as a geometric mean does,
    what is saved by them is saved by the loss, and more.
    """
    loss = LOSSES[problem.loss]()
    if not isinstance(loss, CellLoss) or loss.additive:
        return partition
    recoding = Recoding.from_proposal(Proposal(space.table, partition.class_of()), problem.domains)
    columns = loss.measure(recoding, problem.weights).columns
    if columns is None:
        return partition
    weights = problem.weights * loss.compute_slopes(np.array(list(columns.values())))
    weighted = replace(problem, weights=weights / find_scale(weights))
    followed = Partition(
        ClusteringSpace.from_table(weighted, space.table), partition.class_of(), problem.seed
    )
    followed.swept, followed.spent = partition.swept, partition.spent
    followed.evaluations, followed.curve, followed.is_told = partition.evaluations, partition.curve, False
    return followed


def _is_refined(loss: str) -> bool:
    """Whether it is what the refinement minimises: the mean width of the cells."""
    costs = find_cell_costs(loss)
    return costs is not None and costs.mean and not costs.step


def _keep_least_loss(
    problem: Problem, refined: Proposal, table: FrequencyTable, starts: dict[str, NDArray[np.int32]]
) -> Proposal:
    """What has the least of the loss that was asked for, where that is not what the refinement minimises."""
    plain = {
        name: replace(refined, table=table, cells=None, class_of=start) for name, start in starts.items()
    }
    lost = {name: measure_loss(problem, proposal) for name, proposal in plain.items()}
    least = min(lost, key=lambda name: lost[name])
    if measure_loss(problem, refined) <= lost[least]:
        return refined
    why = f"{least} as it was has less of the loss '{problem.loss}': {lost[least]:g}"
    return replace(plain[least], notes=(*refined.notes, why))


def measure_loss(problem: Problem, proposal: Proposal) -> float:
    """The loss that was asked for."""
    recoding = Recoding.from_proposal(proposal, problem.domains)
    measured: float = LOSSES[problem.loss]().measure(recoding, problem.weights).value
    return measured
