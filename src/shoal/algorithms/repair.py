"""What is done to a proposal after the search, where the search did not know all of the goal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.population_repair import repair_population_fit
from shoal.algorithms.problem import Problem
from shoal.codespace.recoding import Proposal, Recoding


def repair_proposal(proposal: Proposal, problem: Problem) -> Proposal:
    """The proposal, with classes merged where a model demands it that no search could look at."""
    return repair_population_fit(merge_failing_classes(proposal, problem), problem)


def merge_failing_classes(proposal: Proposal, problem: Problem) -> Proposal:
    """Merge classes that do not satisfy a model of which the search knew only a part.

    The models count, not their rules: so any condition on classes can be a goal, if at the price of some
    detail. Where a single class is left that does not satisfy them either, the verifier says how close it is.
    """
    if all(model.known_to_search for model in problem.models):
        return proposal
    alternatives = tuple(merge_failing_classes(other, problem) for other in proposal.alternatives)
    recoding = Recoding.from_proposal(proposal, problem.domains)
    failing = _find_failing_classes(recoding, problem)
    if not failing.any():
        return replace(proposal, alternatives=alternatives)
    found = proposal
    # Every round merges two classes at least, so that this ends with one class at the latest.
    while failing.any() and failing.size > 1:
        merged = _pair_neighbours(_order_classes(recoding), failing)
        class_of = np.append(merged, -1)[recoding.class_of].astype(np.int32)
        found = replace(found, class_of=class_of, cells=None)
        recoding = Recoding.from_proposal(found, problem.domains)
        failing = _find_failing_classes(recoding, problem)
    # What the search proved, and the levels that it chose, are not true of merged classes.
    note = "classes were merged until they satisfy the models that the search does not know"
    return Proposal(
        found.table,
        found.class_of,
        nodes=proposal.nodes,
        centre=proposal.centre,
        notes=(*proposal.notes, note),
    )


def _find_failing_classes(recoding: Recoding, problem: Problem) -> NDArray[np.bool_]:
    """Which classes, as a reader sees them, do not satisfy every model."""
    class_of = recoding.class_of[recoding.table.of_row]
    kept = np.flatnonzero(class_of >= 0)
    return ~problem.find_sufficient_groups(class_of[kept], kept, recoding.size.size)


def _order_classes(recoding: Recoding) -> NDArray[np.intp]:
    """The classes in an order in which neighbours have similar cells."""
    begins = [cells.lo[cells.of_class] for cells in recoding.cells]
    # The column that tells most classes apart decides last, so that the coarse ones keep together.
    begins.sort(key=lambda begin: -np.unique(begin).size)
    return np.lexsort(begins)


def _pair_neighbours(order: NDArray[np.intp], failing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """New numbers of the classes: each that fails goes together with the next one in the order.

    In pairs, not in runs: a few classes that fail side by side need not all become one.
    """
    number = np.empty(order.size, np.int64)
    at, count = 0, 0
    while at < order.size:
        # The last class has no next one; it joins the one before.
        if at + 1 == order.size and failing[order[at]] and count:
            number[order[at]] = count - 1
            break
        pair = order[at : at + 2] if failing[order[at]] else order[at : at + 1]
        number[pair] = count
        at, count = at + pair.size, count + 1
    return number
