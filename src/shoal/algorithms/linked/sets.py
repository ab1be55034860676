"""Columns of sets: static classes of people, and cells of their items in each class.

Small classes leave the static columns detailed, and large ones the items: how many people a class has is what
loses least on a sample, static columns and items together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.auto import TINY, Auto
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.linked.base import Rows, number_classes, set_budget
from shoal.algorithms.linked.goal import SetProblem
from shoal.algorithms.linked.item_levels import choose_cells
from shoal.algorithms.linked.set_items import PartItems
from shoal.algorithms.linked.single_rows import choose_sample, list_parts
from shoal.algorithms.linked.whole_sets import Permits, choose_shared_cells
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Progress, silent
from shoal.codespace.recoding import Proposal
from shoal.privacy import KAnonymity

_FACTORS = (1, 5, 20, 80, 320)  # static classes of so many times k people are tried first
_SAMPLE = 1_200  # people on whom a size is tried
_CAREFUL = 3  # sizes that are tried as they will be done; with their neighbours at most twice as many
_SECONDS = 0.24  # for static classes, where no budget is said
_TRIAL = 0.2  # share of the budget for static classes that are tried
_CHOICES = 3e7  # combinations that are counted at most; where there are more, whole sets are shared


def search_sets(algorithm: Algorithm, problem: SetProblem, on_progress: Progress = silent) -> Proposal:
    """Propose static classes and cells of items, so that what an attacker may know leads to k people."""
    if problem.items.owner is None:  # rows are released in their order, which so can tell nothing more
        return _search_classes(algorithm, problem, on_progress)
    order = problem.sort_rows()
    ordered, place = problem.take_rows(order)
    found = _search_classes(algorithm, ordered, on_progress)
    assert found.items is not None
    table = replace(found.table, of_row=found.table.of_row[np.argsort(order, kind="stable")])
    return replace(found, table=table, items=found.items[place])


def _search_classes(algorithm: Algorithm, problem: SetProblem, on_progress: Progress) -> Proposal:
    """The same, with ties in the order of the rows."""
    tried = _try_sizes(algorithm, problem, on_progress)
    size = min(tried, key=lambda each: (tried[each], each))
    proposal = _find_static_classes(set_budget(algorithm, _SECONDS, 1.0), problem, size)
    part_of = number_classes(problem.static, proposal)[0]
    cell, used, done = np.full(problem.items.code.size, -1, np.int64), 0, 0
    for rows in list_parts(part_of):
        places, found = _choose_item_cells(problem, rows, improve=True)[:2]
        cell[places] = np.where(found >= 0, found + used, -1)
        used += int(found.max(initial=-1)) + 1
        done += rows.size
        on_progress("dividing items", done / part_of.size)
    named = ", ".join(f"{each} people {100 * lost:.2f}" for each, lost in sorted(tried.items()))
    note = f"static classes were tried on a sample: of {named} % lost; taken: {size} people"
    notes = (*proposal.notes, note) if len(tried) > 1 else proposal.notes
    # What the algorithm claims of the static columns alone says nothing of the whole.
    return Proposal(
        proposal.table, proposal.class_of, proposal.cells, notes=notes, centre=proposal.centre, items=cell
    )


def _try_sizes(algorithm: Algorithm, problem: SetProblem, on_progress: Progress) -> dict[int, float]:
    """What static classes of several sizes lose on a sample."""
    k, people = problem.k, problem.count_owners(np.arange(problem.static.rows.rows))
    sizes = [k * factor for factor in _FACTORS if k * factor < people or factor == 1]
    if not problem.has_static or people <= k:
        return {k: 0.0}
    quick = {}
    for at, size in enumerate(dict.fromkeys([*sizes, people])):
        quick[size] = _try_size(Mondrian(), problem, size, improve=False)
        on_progress("trying static classes", 0.5 * (at + 1) / len(sizes))
    # Mondrian is quick, and with hierarchies far from what is reached in the end: of the sizes that are best
    # by it, and then of half and twice the best, all is tried as it will be done.
    careful = set_budget(algorithm, _SECONDS, _TRIAL)
    tried: dict[int, float] = {}
    waiting = sorted(quick, key=lambda each: (quick[each], each))[:_CAREFUL]
    while waiting:
        tried |= {size: _try_size(careful, problem, size, improve=True) for size in waiting}
        best = min(tried, key=lambda each: (tried[each], each))
        near = (best // 2, best * 2) if len(tried) < 2 * _CAREFUL else ()
        waiting = [size for size in near if k <= size <= people and size not in tried]
        on_progress("trying static classes", 0.5 + 0.5 * min(len(tried) / (2 * _CAREFUL), 1.0))
    return tried


def _try_size(algorithm: Algorithm, problem: SetProblem, size: int, improve: bool) -> float:
    """What static classes of a size lose: in static columns and, by some of the classes, in items."""
    part_of, lost = number_classes(problem.static, _find_static_classes(algorithm, problem, size))
    static = float(np.abs(problem.static.weights).sum())
    chosen = choose_sample(list(list_parts(part_of)), _SAMPLE)
    spent = there = 0.0
    for rows in chosen:
        places, _, cost = _choose_item_cells(problem, rows, improve)
        spent += cost
        there += float(problem.items.cost[problem.items.code[places]].cumsum()[-1:].sum())
    items = (problem.weight - static) * spent / max(there, np.finfo(float).tiny)
    return (static * lost + items) / max(problem.weight, np.finfo(float).tiny)


def _find_static_classes(algorithm: Algorithm, problem: SetProblem, size: int) -> Proposal:
    """Classes of at least ``size`` people by the static columns, which meet the goal by themselves."""
    # An exact search of a few rows takes long, and what it proves is not of use here.
    if isinstance(algorithm, Auto) and problem.static.rows.rows <= TINY:
        algorithm = Cluster(cell=0)
    models = (KAnonymity(max(size, 2)), *problem.static.models)
    return algorithm.search(replace(problem.static, models=models, suppress=0.0))


def _choose_item_cells(
    problem: SetProblem, people: Rows, improve: bool
) -> tuple[Rows, NDArray[np.int64], float]:
    """The items of the people of a static class, the cell of each, and what this costs."""
    places = problem.items.find_places(people)
    if places.size == 0:
        return places, np.empty(0, np.int64), 0.0
    part = PartItems.from_rows(problem.items, places)
    found = []
    if problem.knows is not None and part.count_choices(problem.knows) <= _CHOICES:
        found.append(choose_cells(part, problem.knows, problem.k, improve))
    # Who knows one item only is never better off with whole sets.
    if not found or (improve and problem.knows != 1):
        found.append(choose_shared_cells(part, people.size, _build_check(problem, places, people)))
    cell, lost = min(found, key=lambda each: each[1])
    return places, cell, lost


def _build_check(problem: SetProblem, places: Rows, people: Rows) -> Permits:
    """Which people of a static class may be a class of their own; people without items come last."""
    static = problem.static
    having = np.unique(problem.items.person[places])
    row = np.concatenate([having, np.setdiff1d(people, having)])
    if not static.sensitive:
        return lambda chosen: problem.count_owners(row[chosen]) >= problem.k

    def is_permitted(chosen: Rows) -> bool:
        one = np.zeros(chosen.size, np.int64)
        return bool(static.find_sufficient_groups(one, row[chosen], 1).all())

    return is_permitted
