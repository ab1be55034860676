"""Auto: the default, which tries what the table's size and the budget allow and keeps what loses least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from shoal.algorithms.cells import divide_cells, is_for_cells, list_column_sets
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.portfolio import HURRY, choose_seconds, measure_loss, search_portfolio
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import check_budget
from shoal.codespace.loss import find_cell_costs
from shoal.codespace.recoding import Proposal
from shoal.support.parameters import check_fields

_SWEEP = 4e-6  # seconds that a sweep of refinement takes per row, about
_GREEDY = 1.6e-6  # and a greedy partition
_CELLS = 60.0  # seconds for goals about some of the columns
TINY = 14
"""Rows up to which the optimum is found, and proved, in next to no time."""


@dataclass(frozen=True, slots=True)
class Auto(Algorithm):
    """Chooses by the size of the table, the kinds of its columns and the time there is.

    A handful of rows is solved exactly. Where the budget allows several looks at every row, it makes classes
    by greedy cuts, by clustering, and along a Hilbert curve (with hierarchies or models of sensitive values:
    by peeling), refines each a little, and spends the rest of the budget on refining the best. Larger tables
    get one pass: along the curve, or by cuts. A goal with a population is met by cuts; for one about some of
    the columns cells are divided, too (up to 60 seconds). The report says what was tried, what each lost and
    why one was chosen.
    """

    seconds: float | None = None
    """The budget for the search, in seconds of an ordinary core. If not said, 0.24 up to 5,000 distinct rows,
    more beyond, and 5 for 18,600 to 100,000; at least 0.8 where columns have hierarchies. It is counted in
    steps, so that the result does not depend on the machine. One pass is made even if it takes longer."""
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
        if is_for_cells(problem):
            return _search_some_columns(problem, self.seconds, on_progress)
        return self._search_classes(problem, on_progress)

    def _search_classes(self, problem: Problem, on_progress: Progress) -> Proposal:
        """Search rows that are equal in all columns."""
        counted = problem.rows.count is not None  # by an engine for tables that leave time for one pass
        if not counted and problem.rows.rows <= TINY and _is_solvable(problem):
            return _solve_exactly(problem, on_progress)
        trees = any(domain.kind == "tree" for domain in problem.domains)
        rows = problem.table.weight.size
        seconds = choose_seconds(self.seconds, trees, rows)
        if counted or rows * _SWEEP > seconds:
            return _search_in_one_pass(problem, seconds, trees, on_progress)
        found = search_portfolio(problem, seconds, on_progress)
        if self.seconds is None and seconds > choose_seconds(None, trees, 0):
            found = replace(found, notes=(*found.notes, _describe_budget(seconds)))
        return found


def cut_in_one_pass(rows: int, seconds: float | None, trees: bool) -> Literal["nearest", "greedy"]:
    """The way to cut so many distinct rows, in a budget, if it is to be one pass."""
    return "nearest" if rows * _GREEDY > choose_seconds(seconds, trees, rows) else "greedy"


def _describe_budget(seconds: float) -> str:
    """That there was time, for whom it is too much or too little."""
    return (
        f"auto took {seconds:.2g} s of an ordinary core, counted in steps; in a hurry take --set "
        f"seconds={HURRY}, and for less loss more seconds"
    )


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


def _is_solvable(problem: Problem) -> bool:
    """Whether the exact search finds what has least of the loss, sets of categories included."""
    costs = find_cell_costs(problem.loss)
    return problem.person is None and costs is not None and not costs.spans_sets


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


def _search_some_columns(problem: Problem, seconds: float | None, on_progress: Progress) -> Proposal:
    """Cells that are divided column by column or, if these lose less, classes."""
    sets = list_column_sets(problem)
    assert sets is not None
    cells = divide_cells(problem, sets, seconds or _CELLS, on_progress)
    classes = Auto(seconds)._search_classes(problem, on_progress)
    lost = {"cells": measure_loss(problem, cells), "classes": measure_loss(problem, classes)}
    tried = ", ".join(f"{name} {loss:.4g}" for name, loss in lost.items())
    if lost["cells"] <= lost["classes"]:
        return _note_choice(cells, "cells", f"of the loss '{problem.loss}' there is {tried}")
    return _note_choice(classes, "classes", f"of the loss '{problem.loss}' there is {tried}")


def _note_choice(proposal: Proposal, name: str, why: str) -> Proposal:
    """The proposal, with a word on why it was chosen."""
    return replace(proposal, notes=(*proposal.notes, f"auto chose {name}: {why}"))
