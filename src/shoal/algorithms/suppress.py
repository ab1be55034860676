"""Suppress: single cells are left out, as few as possible, and all others stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.auto import Auto
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import check_budget
from shoal.codespace.domain import ANY, Domain
from shoal.codespace.recoding import Proposal, Recoding
from shoal.support.parameters import check_fields
from shoal.table.hierarchies import Hierarchy

_BOUNDED = 6_000  # rows up to which every one is compared with every other
_PAIRS = 1 << 22  # of them that are compared at a time
_CELL_COUNTS = ("ncp", "span-ncp")  # losses by which a left out cell costs the weight of its column


@dataclass(frozen=True, slots=True)
class Suppress(Algorithm):
    """Leaves out single cells, as few as possible by the weights of the columns, and changes nothing else.

    Every column has two levels only, its values and `*`. With these `auto` searches for classes that keep all
    models; for goals about some of the columns, for cells. A table of up to 14 rows is solved exactly. For up
    to 6,000 rows there is a bound, by what tells each row from the k - 1 rows that are most like it.

    References
    ----------
    A. Meyerson, R. Williams, "On the complexity of optimal k-anonymity", PODS 2004.
    """

    seconds: float | None = None
    """The budget, as that of `auto`: 2 seconds of an ordinary core if not said."""
    counts_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.seconds is not None:
            check_budget("suppress", 0, self.seconds)

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Search with two levels per column."""
        problem.refuse_negative_weights("suppress")
        stars = replace(problem, domains=tuple(build_star(domain) for domain in problem.domains))
        found = Auto(self.seconds).search(stars, on_progress)
        proposal = _write_cells(found, stars.domains)
        if problem.loss not in _CELL_COUNTS:
            # What was proved is about two levels, and another loss may count these otherwise.
            return replace(proposal, optimal=None, lower_bound=None)
        if proposal.optimal:
            note = "the optimum is among the releases that leave out cells and change no other"
            return replace(proposal, notes=(*proposal.notes, note))
        return replace(proposal, lower_bound=bound_left_out_cells(problem))


def build_star(domain: Domain) -> Domain:
    """The domain with two levels: all values, and whatever stands for all of them."""
    size = domain.size
    codes = np.arange(size, dtype=np.int32)
    tree = Hierarchy(np.stack([codes, np.zeros_like(codes)]), (tuple(map(str, codes)), (ANY,)))
    place = codes / max(size - 1, 1)
    # The numbers of the values stand for them: the values may be anything, also missing.
    labels = pl.Series(tree.leaves, dtype=pl.String)
    return Domain(domain.name, "tree", labels, labels, place, None, tree, tree.sibling_counts())


def bound_left_out_cells(problem: Problem) -> float | None:
    """What every release loses at least that leaves out cells; None where it would take too long.

    In a class of k rows each has lost all columns in which it differs from any other. These cost no less than
    those in which it differs from the last of the k - 1 rows that are most like it.
    """
    least = max(model.least_size() for model in problem.models)
    some = any(model.is_about_some_columns for model in problem.models)
    if some or problem.person is not None or problem.rows.count is not None or problem.rows.rows > _BOUNDED:
        return None
    codes = np.stack([column.astype(np.int64) for column in problem.rows.quasi], axis=1)
    weights = problem.weights / max(float(problem.weights.sum()), np.finfo(float).tiny)
    step = max(1, _PAIRS // len(codes))
    lost = [
        np.partition(_measure_differences(codes[at : at + step], codes, weights), least - 1, axis=1)[
            :, least - 1
        ]
        for at in range(0, len(codes), step)
    ]
    # Rounded down: sums of floats must not make a bound of what is none.
    return max(0.0, float(np.concatenate(lost).mean()) - 1e-9)


def _measure_differences(
    some: NDArray[np.int64], every: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[some, every] the weights of the columns in which two rows differ."""
    found = np.zeros((len(some), len(every)))
    for j, weight in enumerate(weights):
        found += weight * (some[:, j, None] != every[None, :, j])
    return found


def _write_cells(found: Proposal, stars: tuple[Domain, ...]) -> Proposal:
    """The proposal with its cells as intervals of codes, for the domains that the columns have."""
    recoding = Recoding.from_proposal(found, stars)
    lo = np.stack([cells.lo[cells.of_class] for cells in recoding.cells], axis=1)
    hi = np.stack([cells.hi[cells.of_class] for cells in recoding.cells], axis=1)
    return replace(found, table=recoding.table, class_of=recoding.class_of, cells=(lo, hi))
