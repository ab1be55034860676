"""Classes that a population does not fit as the goal demands are widened until it does.

A search counts the people who equal a row of a class. All of them fit it, but with them perhaps others who
fit other classes too. Here everybody is counted whom the cells of a class cover.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Problem
from shoal.frequency import FrequencyTable
from shoal.privacy import Counts, DeltaPresence, Fitting, fitting_pairs, presence
from shoal.recoding import Cells, Proposal, Recoding


def settled(proposal: Proposal, problem: Problem) -> Proposal:
    """The proposal, with classes tightened where that is permitted and merged where that is needed."""
    if problem.population is None:
        return proposal
    found = _tightened(proposal, problem)
    changed = False
    while (recoding := Recoding.of(found, problem.domains)).size.size > 1:
        bad = _bad(recoding, problem)
        if not bad.any():
            break
        found, changed = _merged(found, recoding, bad, problem), True
    if recoding.size.size == 1 and _bad(recoding, problem).any():
        found, changed = _one_class(found, problem), True
    alternatives = tuple(settled(other, problem) for other in proposal.alternatives)
    if not changed:
        return replace(found, alternatives=alternatives)
    note = "classes were merged until the population fits them as asked"
    return Proposal(found.table, found.class_of, found.cells, found.nodes, notes=(*proposal.notes, note))


def _tightened(proposal: Proposal, problem: Problem) -> Proposal:
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
    tight = replace(proposal, class_of=np.where(extra, -1, class_of).astype(np.int32))
    recoding = Recoding.of(tight, problem.domains)
    short = np.zeros(int(class_of.max()) + 1, np.bool_)
    short[class_of[~extra]] = _bad(recoding, problem)[recoding.class_of[~extra]]
    return replace(proposal, class_of=np.where(extra & ~short[class_of], -1, class_of).astype(np.int32))


def _fitting(
    recoding: Recoding, people: FrequencyTable
) -> tuple[Fitting, NDArray[np.int64], NDArray[np.int64]]:
    """How the population fits, and the pairs of a class and a distinct person that this is made of."""
    cell = np.stack([cells.of_class for cells in recoding.cells], axis=1)
    pairs = fitting_pairs(cell, [_covers(cells) for cells in recoding.cells], people.codes)
    return Fitting.of(recoding.size, *pairs, people.weight), *pairs


def _covers(cells: Cells) -> NDArray[np.bool_]:
    """Which codes each cell stands for."""
    code = np.arange(cells.domain.size)
    if cells.members is None:
        return (cells.lo[:, None] <= code) & (code <= cells.hi[:, None])
    covered = np.zeros((cells.count, code.size), np.bool_)
    covered[np.repeat(np.arange(cells.count), np.diff(cells.members[0])), cells.members[1]] = True
    return covered


def _bad(recoding: Recoding, problem: Problem) -> NDArray[np.bool_]:
    """Which classes the population does not fit as asked."""
    assert problem.population is not None
    counts = Counts(recoding.size, {}, _fitting(recoding, problem.population)[0])
    asked = [model for model in problem.models if hasattr(model, "population")]
    return np.asarray(np.logical_or.reduce([~model.holds(counts) for model in asked]))


def _merged(proposal: Proposal, recoding: Recoding, bad: NDArray[np.bool_], problem: Problem) -> Proposal:
    """Merge classes that share people of whom too many or too few are present; other bad ones in pairs."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    assert problem.population is not None
    classes, people = bad.size, problem.population
    _, class_of, person = _fitting(recoding, people)
    shared = _wrong(recoding, class_of, person, problem)[person] & (np.bincount(person)[person] > 1)
    alone = np.flatnonzero(bad & (np.bincount(class_of[shared], minlength=classes) == 0))
    one = np.concatenate([class_of[shared], alone])
    other = np.concatenate([classes + person[shared], np.where(alone + 1 < classes, alone + 1, alone - 1)])
    size = classes + people.weight.size
    graph = coo_matrix((np.ones(one.size, np.bool_), (one, other)), shape=(size, size))
    component = connected_components(graph, directed=False)[1][:classes]
    merged = np.unique(component, return_inverse=True)[1]
    kept = np.append(merged, -1)[recoding.class_of]
    return replace(proposal, class_of=kept.astype(np.int32), cells=None)


def _wrong(
    recoding: Recoding, class_of: NDArray[np.int64], person: NDArray[np.int64], problem: Problem
) -> NDArray[np.bool_]:
    """Of whom too many or too few are present."""
    assert problem.population is not None
    least, most = presence(recoding.size, class_of, person, problem.population.weight)
    bounds = [(model.low, model.high) for model in problem.models if isinstance(model, DeltaPresence)]
    wrong = [(least < low) | (most > high) for low, high in bounds]
    return np.asarray(np.logical_or.reduce([np.zeros(most.size, np.bool_), *wrong]))


def _one_class(proposal: Proposal, problem: Problem) -> Proposal:
    """Everything suppressed: all people fit, and that this is enough was made sure of before."""
    lo = np.zeros((1, len(problem.domains)), np.int64)
    hi = np.array([[domain.size - 1 for domain in problem.domains]])
    class_of = np.where(proposal.class_of < 0, -1, 0).astype(np.int32)
    return replace(proposal, class_of=class_of, cells=(lo, hi))
