"""Auto: the default, which tries what the table's size and the budget allow and keeps what loses least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.cluster import clustered
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.peel import peeled
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.refine import Partition, check_budget
from shoal.algorithms.space import Run, Space, carried, pieces, sound, worker
from shoal.encoding import CategoryOrder
from shoal.loss import LOSSES
from shoal.parameters import check
from shoal.recoding import Proposal, Recoding

_SWEEP = 10e-6  # seconds that a sweep of refinement takes per row, about
_GREEDY = 4e-6  # and a greedy partition
_VECTOR = 2e-9  # and a level vector, most of which come when few rows are left
_TRIMMED = 20e-9  # or one by which few rows leave
_STARTS = 0.2  # share of the budget for finding where to start from
_TRIALS = 0.25  # and for finding out which start is best
_TINY = 14  # rows up to which the optimum is found, and proved, in next to no time
_EXACT = ("ncp", "certainty", "distortion")
_WIDTHS = ("ncp", "span-ncp")  # losses that the refinement itself minimises
_SWEEPS = 1 << 30


@dataclass(frozen=True, slots=True)
class Auto:
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

    def __post_init__(self) -> None:
        check(self)
        if self.seconds is not None:
            check_budget("auto", 0, self.seconds)

    @property
    def category_order(self) -> CategoryOrder:
        """By frequency, which lowers the loss."""
        return "frequency"

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Search as the table allows, and say how."""
        if problem.population is not None:
            return _among_people(problem, on_progress)
        counted = problem.rows.count is not None  # by an engine for tables that leave time for one pass
        if not counted and problem.rows.rows <= _TINY and problem.loss in _EXACT:
            return _proved(problem, on_progress)
        trees = any(domain.kind == "tree" for domain in problem.domains)
        seconds = _budget(self.seconds, trees)
        if counted or problem.table.weight.size * _SWEEP > seconds:
            return _one_pass(problem, seconds, trees, on_progress)
        space = Space.of(problem, pieces(problem, every=problem.trims))
        with worker(on_progress) as run:
            starts = dict(_starts(problem, space, seconds, run, on_progress))
            return _best(problem, space, seconds, starts, run, on_progress)


def _budget(seconds: float | None, trees: bool) -> float:
    return seconds or (2.0 if trees else 0.6)


def cut_in_one_pass(rows: int, seconds: float | None, trees: bool) -> Literal["nearest", "greedy"]:
    """The way to cut so many distinct rows, in a budget, if it is to be one pass."""
    return "nearest" if rows * _GREEDY > _budget(seconds, trees) else "greedy"


def _one_pass(problem: Problem, seconds: float, trees: bool, on_progress: Progress) -> Proposal:
    """The pass that loses least for its time: a curve, or cuts where there are hierarchies."""
    rows = problem.table.weight.size
    chosen: Hilbert | Mondrian = Hilbert()
    name = "hilbert"
    rules = problem.rules(problem.table)
    if trees or rules.limit.size > 0:
        chosen = Mondrian(cut=cut_in_one_pass(rows, seconds, trees))
        name = f"mondrian(cut={chosen.cut})"
    why = f"{rows:,} distinct rows leave time for one pass in {seconds:g} seconds"
    proposal = chosen.search(problem, on_progress)
    return _chosen(proposal, name, why)


def _starts(
    problem: Problem, space: Space, seconds: float, run: Run, on_progress: Progress
) -> Iterator[tuple[str, NDArray[np.int32]]]:
    """Classes to start from, by the name of how they were made."""
    greedy = carried(Mondrian().search(problem, on_progress), space.table)
    yield "mondrian", greedy
    # Along a tree's leaves a curve jumps more than it stays, and it knows nothing of sensitive values.
    if space.measure.root.size > 0 or space.rules.limit.size > 0:
        each = _TRIMMED if problem.trims else _VECTOR
        vectors = int(2 * _STARTS * seconds / (space.table.weight.size * each))
        yield "peel", carried(peeled(problem, max(vectors, 1), run), space.table)
    else:
        yield "hilbert", carried(Hilbert().search(problem, on_progress), space.table)
    rows, size = space.ident.size, max(space.rules.size, 1)
    cell = int(_STARTS * seconds * 2 * size / (rows * space.nanoseconds * 1e-9))
    if cell >= 4 * size and len(problem.domains) > space.measure.root.shape[1]:
        cell = 0 if cell >= rows else cell
        yield f"cluster(cell={cell})", clustered(space, greedy, cell, problem.threads, on_progress)


def _best(
    problem: Problem,
    space: Space,
    seconds: float,
    starts: dict[str, NDArray[np.int32]],
    run: Run,
    on_progress: Progress,
) -> Proposal:
    """Refine every start a little, then the best of them as long as the budget lasts."""
    made = {name: Partition(space, start, problem.seed) for name, start in starts.items()}
    tried = tuple((name, partition.loss) for name, partition in made.items())
    for done, partition in enumerate(made.values(), 1):
        partition.refine(1, _TRIALS * seconds / len(made), run)
        on_progress("comparing", done / len(made))
    best = min(made, key=lambda name: made[name].loss)
    chosen = made[best]
    trial = chosen.loss
    others = sum(partition.spent for name, partition in made.items() if name != best)
    chosen.refine(_SWEEPS, (1 - _STARTS) * seconds - others, run, on_progress)
    on_progress("refining", 1.0)
    lost = ", ".join(f"{name} {100 * loss:.2f}" for name, loss in tried)
    notes = (
        f"auto tried {lost} % lost",
        f"auto chose {best}, which lost least after a first sweep of refinement ({100 * trial:.2f} %), "
        f"and refined it to {100 * chosen.loss:.2f} % in {chosen.swept} sweeps",
    )
    nodes = sum(partition.evaluations for partition in made.values())
    refined = Proposal(space.table, chosen.class_of(), nodes=nodes, notes=notes, tried=tried)
    if problem.loss not in _WIDTHS:
        refined = _least(problem, refined, starts)
    return sound(problem, refined)


def _proved(problem: Problem, on_progress: Progress) -> Proposal:
    """The optimum."""
    proposal = MinGen(sets=True, limit=1, seconds=None).search(problem, on_progress)
    why = f"{problem.rows.rows} rows are few enough to find the table of least loss"
    return _chosen(proposal, "mingen(sets=true)", why)


def _among_people(problem: Problem, on_progress: Progress) -> Proposal:
    """Classes by cuts, which alone count people of a population who equal no row of the table."""
    proposal = Mondrian().search(problem, on_progress)
    why = "its cuts count the people who equal no row of the table, too"
    return _chosen(proposal, "mondrian", why)


def _chosen(proposal: Proposal, name: str, why: str) -> Proposal:
    """The proposal, with a word on why it was chosen."""
    return replace(proposal, notes=(*proposal.notes, f"auto chose {name}: {why}"))


def _least(problem: Problem, refined: Proposal, starts: dict[str, NDArray[np.int32]]) -> Proposal:
    """What has the least of the loss that was asked for, where that is not what the refinement minimises."""
    plain = {name: replace(refined, class_of=start) for name, start in starts.items()}
    lost = {name: _loss(problem, proposal) for name, proposal in plain.items()}
    least = min(lost, key=lambda name: lost[name])
    if _loss(problem, refined) <= lost[least]:
        return refined
    why = f"{least} as it was has less of the loss '{problem.loss}': {lost[least]:g}"
    return replace(plain[least], notes=(*refined.notes, why))


def _loss(problem: Problem, proposal: Proposal) -> float:
    """The loss that was asked for."""
    recoding = Recoding.of(proposal, problem.domains)
    measured: float = LOSSES[problem.loss]().measure(recoding, problem.weights).value
    return measured
