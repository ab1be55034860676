"""Classes that a population does not fit as the goal demands are widened until it does.

A search counts the people who equal a row of a class. All of them fit it, but with them perhaps others who
fit other classes too. Here everybody is counted whom the cells of a class cover.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Problem
from shoal.codespace.recoding import ColumnCells, Proposal, Recoding
from shoal.privacy import Counts, DeltaPresence, PopulationFit, bound_presence, fitting_pairs
from shoal.table.formats import import_optional


def repair_population_fit(proposal: Proposal, problem: Problem) -> Proposal:
    """The proposal, with classes tightened where that is permitted and merged where that is needed."""
    if problem.population is None:
        return proposal
    found = _tighten_classes(proposal, problem)
    changed = False
    # Every round merges two classes at least, so that this ends with one class at the latest.
    while (recoding := Recoding.from_proposal(found, problem.domains)).size.size > 1:
        bad = _find_failing_classes(recoding, problem)
        if not bad.any():
            break
        found, changed = _merge_classes(found, recoding, bad, problem), True
    # The tight cells of one class may leave people out; the whole domain leaves out nobody.
    if recoding.size.size == 1 and _find_failing_classes(recoding, problem).any():
        found, changed = _suppress_everything(found, problem), True
    alternatives = tuple(repair_population_fit(other, problem) for other in proposal.alternatives)
    if not changed:
        return replace(found, alternatives=alternatives)
    # What the search proved is not true of merged classes: it is not repeated.
    note = "classes were merged until the population fits them as asked"
    return Proposal(found.table, found.class_of, found.cells, found.nodes, notes=(*proposal.notes, note))


def _tighten_classes(proposal: Proposal, problem: Problem) -> Proposal:
    """Leave people who are not in the table out of the cells of classes that do well without them.

    Only if nothing is asked but a number of people: then more than those who must be counted do no harm.
    """
    table, class_of = proposal.table, proposal.class_of
    extra = table.weight == 0
    if (
        not extra.any()
        or proposal.cells is not None
        or any(isinstance(model, DeltaPresence) for model in problem.models)
    ):
        return proposal
    # Try all classes without these people; only classes that fail then keep theirs.
    tight = replace(proposal, class_of=np.where(extra, -1, class_of).astype(np.int32))
    recoding = Recoding.from_proposal(tight, problem.domains)
    short = np.zeros(int(class_of.max()) + 1, np.bool_)
    # The recoding numbers classes anew: verdicts come back through the rows.
    short[class_of[~extra]] = _find_failing_classes(recoding, problem)[recoding.class_of[~extra]]
    return replace(proposal, class_of=np.where(extra & ~short[class_of], -1, class_of).astype(np.int32))


def _fit_population(
    recoding: Recoding, size: NDArray[np.integer], problem: Problem
) -> tuple[PopulationFit, NDArray[np.int64], NDArray[np.int64]]:
    """How the population fits, and the pairs of a class and a distinct person that this is made of."""
    assert problem.population is not None
    cell = np.stack([cells.of_class for cells in recoding.cells], axis=1)
    covers = [_find_covered_codes(cells) for cells in recoding.cells]
    pairs = fitting_pairs(cell, covers, problem.population.codes)
    shared = problem.person is not None
    return PopulationFit.from_pairs(size, *pairs, problem.population_rows, shared=shared), *pairs


def _count_members(recoding: Recoding, problem: Problem) -> Counts:
    """The classes as the goal counts them: by rows, or by people."""
    if problem.person is None:
        return Counts(recoding.size, {})
    return problem.count_people_of_release(recoding.class_of[recoding.table.of_row], recoding.size.size)


def _find_covered_codes(cells: ColumnCells) -> NDArray[np.bool_]:
    """Which codes each cell stands for."""
    code = np.arange(cells.domain.size)
    if cells.members is None:
        return (cells.lo[:, None] <= code) & (code <= cells.hi[:, None])
    covered = np.zeros((cells.count, code.size), np.bool_)
    covered[np.repeat(np.arange(cells.count), np.diff(cells.members[0])), cells.members[1]] = True
    return covered


def _find_failing_classes(recoding: Recoding, problem: Problem) -> NDArray[np.bool_]:
    """Which classes the population does not fit as asked."""
    counts = _count_members(recoding, problem)
    counts = replace(counts, fitting=_fit_population(recoding, counts.size, problem)[0])
    # Merged classes keep all other models, unless people have rows in both and so gain values.
    asked = [model for model in problem.models if problem.person is not None or hasattr(model, "population")]
    return np.asarray(np.logical_or.reduce([~model.holds(counts) for model in asked]))


def _merge_classes(
    proposal: Proposal, recoding: Recoding, bad: NDArray[np.bool_], problem: Problem
) -> Proposal:
    """Merge classes that share people of whom too many or too few are present; other bad ones in pairs."""
    sparse = import_optional("scipy.sparse", "shoal[scipy]")
    csgraph = import_optional("scipy.sparse.csgraph", "shoal[scipy]")

    assert problem.population is not None
    classes, size = bad.size, _count_members(recoding, problem).size
    _, class_of, person = _fit_population(recoding, size, problem)
    shared = _find_violating_people(size, class_of, person, problem)[person] & (
        np.bincount(person)[person] > 1
    )
    alone = np.flatnonzero(bad & (np.bincount(class_of[shared], minlength=classes) == 0))
    # A graph of classes and, after them, people: classes that share such a person are connected.
    one = np.concatenate([class_of[shared], alone])
    other = np.concatenate([classes + person[shared], np.where(alone + 1 < classes, alone + 1, alone - 1)])
    nodes = classes + problem.population.weight.size
    graph = sparse.coo_matrix((np.ones(one.size, np.bool_), (one, other)), shape=(nodes, nodes))
    component = csgraph.connected_components(graph, directed=False)[1][:classes]
    merged = np.unique(component, return_inverse=True)[1]
    kept = np.append(merged, -1)[recoding.class_of]
    return replace(proposal, class_of=kept.astype(np.int32), cells=None)


def _find_violating_people(
    size: NDArray[np.integer], class_of: NDArray[np.int64], person: NDArray[np.int64], problem: Problem
) -> NDArray[np.bool_]:
    """Of whom too many or too few are present."""
    shared = problem.person is not None
    least, most = bound_presence(size, class_of, person, problem.population_rows, shared=shared)
    bounds = [(model.low, model.high) for model in problem.models if isinstance(model, DeltaPresence)]
    wrong = [(least < low) | (most > high) for low, high in bounds]
    return np.asarray(np.logical_or.reduce([np.zeros(most.size, np.bool_), *wrong]))


def _suppress_everything(proposal: Proposal, problem: Problem) -> Proposal:
    """Everything suppressed: all people fit, and that this is enough was made sure of before."""
    lo = np.zeros((1, len(problem.domains)), np.int64)
    hi = np.array([[domain.size - 1 for domain in problem.domains]])
    class_of = np.where(proposal.class_of < 0, -1, 0).astype(np.int32)
    return replace(proposal, class_of=class_of, cells=(lo, hi))
