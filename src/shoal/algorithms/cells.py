"""Cells: every column is divided by itself, as far as whoever knows some columns still finds enough rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.algorithms.refine import Refine, check_budget
from shoal.codespace.domain import Domain
from shoal.codespace.frequency import rank_rows
from shoal.codespace.loss import find_cell_costs
from shoal.codespace.recoding import Proposal
from shoal.kernels.cells import settle_division
from shoal.privacy.base import KnownColumns
from shoal.support.parameters import check_fields

_PASSES = 30  # in which rows that have to stay take others with them, at most
_ENOUGH = 0.003  # share of what the rows of a cell cost that they have to gain together
_STEP = 12e-9  # seconds that it takes to look at a row in a set of columns, about, in each pass
_ROUNDS = ((0.1, 0.9), (0.0, 1.0))  # least share of the rows in a part, and how much is done by then
_BRANCHES = 200  # children of a node that a cell is divided into at a time, the commonest
_ALONE = 3  # and that are tried one by one


@dataclass(frozen=True, slots=True)
class Cells(Algorithm):
    """Divides one cell of one column at a time, into narrower ones, as long as the goal allows it.

    For goals about some of the columns: `k` with columns, and `k-of-any`. At first every cell is everything.
    The cell that loses most is divided: rows that would have too few equal ones in some set of columns keep
    the wider cell, and take others with them until they are enough. So rows that are equal in some columns
    differ in others, and cells of a column may overlap. Other goals are kept by classes, see `Refine`.

    References
    ----------
    J. Xu et al., "Utility-based anonymization using local recoding", KDD 2006 (local recoding).
    """

    seconds: float = 60.0
    """The budget, in seconds of an ordinary core, counted in steps; it ends sooner where nothing is left to
    divide."""
    counts_people = True

    @property
    def divides_equal_rows(self) -> bool:
        """Yes: of equal rows some may have to keep a wider cell."""
        return True

    def __post_init__(self) -> None:
        check_fields(self)
        check_budget("cells", 0, self.seconds)

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Divide."""
        problem.refuse_negative_weights("cells")
        sets = list_column_sets(problem)
        if sets is not None and is_counted_by_rows(problem):
            return divide_cells(problem, sets, self.seconds, on_progress)
        # Classes that are equal in all columns are so in some.
        classes = Refine(seconds=self.seconds) if problem.population is None else Mondrian()
        found = classes.search(problem, on_progress)
        note = "the goal is about whole classes or about people: classes were made, by cuts, and no cells"
        return replace(found, notes=(*found.notes, note))


def is_for_cells(problem: Problem) -> bool:
    """Whether a goal is about some of the columns, and dividing cells keeps all of it."""
    some = any(model.is_about_some_columns for model in problem.models)
    fits = is_counted_by_rows(problem) and bool((problem.weights >= 0).all())
    return some and fits and list_column_sets(problem) is not None


def is_counted_by_rows(problem: Problem) -> bool:
    """Whether every row stands for itself: nobody has several, and nobody has counted them before."""
    return problem.person is None and problem.rows.count is None


def list_column_sets(problem: Problem) -> list[KnownColumns] | None:
    """All that a goal demands, if that is rows that are equal in some columns; None if it is more."""
    names = [domain.name for domain in problem.domains]
    found = [model.list_column_sets(names) for model in problem.models]
    return None if None in found else [each for sets in found for each in sets or ()]


def divide_cells(
    problem: Problem, sets: Sequence[KnownColumns], seconds: float, on_progress: Progress = silent
) -> Proposal:
    """Cells of all columns that were divided as far as the sets of columns and the budget allow."""
    state, budget = _DividedTable(problem, sets), _WorkLeft(seconds / _STEP)
    told = 0.0

    def tell_progress(doing: str, done: float) -> None:
        nonlocal told
        told = min(max(told, done), 1.0)  # every round begins anew
        on_progress(doing, told)

    for share, much in _ROUNDS:
        divide_in_turn(state, int(share * problem.rows.rows), much, budget, tell_progress)
    over = f"the budget of {seconds:g} seconds was used up before nothing was left to divide"
    return state.build_proposal(budget.tried, () if budget.left > 0 else (over,))


@dataclass(slots=True)
class _WorkLeft:
    """Looks at a row in a set of columns that are left, and how often a division was tried."""

    left: float
    tried: int = 0


def divide_in_turn(
    state: _DividedTable, least: int, much: float, budget: _WorkLeft, on_progress: Progress = silent
) -> None:
    """Divide the cell that loses most, again and again, into parts of so many rows at ``least``.

    Small parts come late: each of them would have rows of its own in every set of columns, and keep others
    from being divided.
    """
    every = [(j, number) for j, column in enumerate(state.columns) for number in range(len(column.members))]
    # Of cells that lose the same the first column comes first, so that every run is alike.
    queue = [(-state.rank_cell(*cell), *cell, 0) for cell in every]
    heapify(queue)
    whole, begin = budget.left, state.share_done()
    while queue and budget.left > 0:
        rank, j, number, attempt = heappop(queue)
        parts = _propose_parts(state.columns[j].domain, state.get_codes(j, number), attempt)
        if parts is None or rank == 0:
            continue
        parts = _keep_small_parts(parts, least)
        budget.left -= state.rows_in(j, number) * (len(state.known[j][1]) + 1)
        budget.tried += 1
        made = state.divide_cell(j, number, parts) if parts.any() else None
        if made is None:
            heappush(queue, (rank, j, number, attempt + 1))
            continue
        for each in made:
            heappush(queue, (-state.rank_cell(j, each), j, each, 0))
        done = max((state.share_done() - begin) / (1 - begin), 1 - budget.left / whole)
        on_progress("dividing cells", much * done)


@dataclass(slots=True, eq=False)
class _CellsOfColumn:
    """The cells that a column has been divided into."""

    domain: Domain
    codes: NDArray[np.int64]
    step: bool
    """Whether every cell of several values costs the same."""
    weight: float
    members: list[NDArray[np.int64]] = field(default_factory=list)
    """The rows of each cell."""
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    """What a row of each cell loses."""

    def enclose_codes(self, codes: NDArray[np.int64]) -> tuple[int, int, float]:
        """The smallest permitted cell around codes, and what it costs."""
        lo, hi = self.domain.snap(codes.min(keepdims=True), codes.max(keepdims=True))
        width = float(self.domain.compute_widths(lo, hi)[0])
        return int(lo[0]), int(hi[0]), self.weight * (float(lo[0] < hi[0]) if self.step else width)

    def set_cell(self, number: int, rows: NDArray[np.int64]) -> None:
        """Give some rows a cell: one that there is, or the next."""
        if number == len(self.members):
            for values in (self.members, self.low, self.high, self.cost):
                values.append(None)  # type: ignore[arg-type]
        self.members[number] = rows
        self.low[number], self.high[number], self.cost[number] = self.enclose_codes(self.codes[rows])


class _DividedTable:
    """All columns, and the sets of them that somebody may know."""

    def __init__(self, problem: Problem, sets: Sequence[KnownColumns]) -> None:
        self._problem = problem
        costs = find_cell_costs(problem.loss)
        rows = np.arange(problem.rows.rows)
        self.columns = [
            _CellsOfColumn(domain, codes.astype(np.int64), costs is not None and costs.step, float(weight))
            for domain, codes, weight in zip(
                problem.domains, problem.rows.quasi, problem.weights, strict=True
            )
        ]
        for column in self.columns:
            column.set_cell(0, rows)
        self._cell = np.zeros((len(self.columns), rows.size), np.int32)
        self.known = [_list_known(problem, sets, j) for j in range(len(self.columns))]
        self._whole = sum(self.measure_cell(j, 0) for j in range(len(self.columns)))
        self._lost = self._whole

    def get_codes(self, j: int, number: int) -> NDArray[np.int64]:
        """The codes of the rows of a cell."""
        column = self.columns[j]
        return column.codes[column.members[number]]

    def rows_in(self, j: int, number: int) -> int:
        """How many rows have a cell."""
        return self.columns[j].members[number].size

    def measure_cell(self, j: int, number: int) -> float:
        """What all rows of a cell lose by it."""
        return self.rows_in(j, number) * self.columns[j].cost[number]

    def rank_cell(self, j: int, number: int) -> float:
        """How early a cell is divided: wide ones before those of many rows."""
        return self.measure_cell(j, number) * self.columns[j].cost[number]

    def share_done(self) -> float:
        """How much of what could be gained is gained."""
        return 1 - self._lost / self._whole if self._whole > 0 else 1.0

    def divide_cell(self, j: int, number: int, part: NDArray[np.int32]) -> list[int] | None:
        """Divide a cell into parts, as far as the goal allows; its new cells, None if nothing is gained."""
        column, (known, least) = self.columns[j], self.known[j]
        rows, cost = column.members[number], column.cost[number]
        codes = column.codes[rows]
        parts = int(part.max()) + 1
        gain = np.zeros(parts)
        for each in range(1, parts):
            gain[each] = cost - column.enclose_codes(codes[part == each])[2]
        enough = _ENOUGH * rows.size * cost
        if not settle_division(self._cell, rows, part, gain, known, least, enough, _PASSES):
            return None
        kept = [rows[part == each] for each in range(parts)]
        kept = [each for each in kept if each.size]
        after = sum(each.size * column.enclose_codes(column.codes[each])[2] for each in kept)
        if after >= rows.size * cost * (1 - 1e-12):
            return None
        self._lost += after - rows.size * cost
        numbers = [number, *range(len(column.members), len(column.members) + len(kept) - 1)]
        for at, each in zip(numbers, kept, strict=True):
            column.set_cell(at, each)
            self._cell[j, each] = at
        return numbers

    def build_proposal(self, tried: int, notes: tuple[str, ...]) -> Proposal:
        """Every row with its cells; rows that have all of them in common are a class."""
        class_of = rank_rows(list(self._cell), [len(column.members) for column in self.columns])
        example = np.empty(int(class_of.max()) + 1, np.int64)
        example[class_of] = np.arange(class_of.size)
        numbers = self._cell[:, example]
        lo = np.stack(
            [np.array(each.low)[at] for each, at in zip(self.columns, numbers, strict=True)], axis=1
        )
        hi = np.stack(
            [np.array(each.high)[at] for each, at in zip(self.columns, numbers, strict=True)], axis=1
        )
        table = self._problem.rows.one_by_one(in_order=True)
        return Proposal(table, class_of.astype(np.int32), (lo, hi), nodes=tried, notes=notes)


def _list_known(
    problem: Problem, sets: Sequence[KnownColumns], j: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What somebody may know beside a column: the other columns of each set that it is in, and its k."""
    place = {domain.name: at for at, domain in enumerate(problem.domains)}
    name = problem.domains[j].name
    needed: dict[tuple[int, ...], int] = {}
    for names, k in sets:
        if name in names:
            others = tuple(sorted(place[each] for each in set(names) if each != name))
            needed[others] = max(k, needed.get(others, 1))
    width = max((len(others) for others in needed), default=0)
    known = np.full((len(needed), width), -1, np.int64)
    order = sorted(needed)
    for at, others in enumerate(order):
        known[at, : len(others)] = others
    return known, np.array([needed[others] for others in order], np.int64)


def _keep_small_parts(part: NDArray[np.int32], least: int) -> NDArray[np.int32]:
    """Let the rows of parts that are too small keep their cell."""
    size = np.bincount(part)
    number = np.zeros(size.size, np.int32)
    large = np.flatnonzero(size[1:] >= max(least, 1)) + 1
    number[large] = np.arange(1, large.size + 1)
    return number[part]


def _propose_parts(domain: Domain, codes: NDArray[np.int64], attempt: int) -> NDArray[np.int32] | None:
    """A way of dividing the values of a cell, one for each attempt; None if there is no other.

    The part of each row, where 0 are rows that keep the cell.
    """
    ways = _divide_node(domain, codes) if domain.hierarchy is not None else _divide_line(domain, codes)
    found = next((parts for at, parts in enumerate(ways) if at == attempt), None)
    return None if found is None else found.astype(np.int32)


def _divide_node(domain: Domain, codes: NDArray[np.int64]) -> Iterator[NDArray[np.integer]]:
    """Into the children of the lowest node above all; then each of the commonest children for itself."""
    assert domain.hierarchy is not None
    lo, hi = codes.min(), codes.max()
    if lo == hi:
        return
    level = int(domain.hierarchy.level_of(lo, hi)) - 1
    _, child, rows = np.unique(domain.hierarchy.nodes[level][codes], return_inverse=True, return_counts=True)
    common = np.argsort(-rows, kind="stable")[:_BRANCHES]
    part = np.zeros(rows.size, np.int64)
    part[common] = np.arange(1, common.size + 1)
    yield part[child]
    for each in common[:_ALONE]:
        yield (child == each).astype(np.int64)


def _divide_line(domain: Domain, codes: NDArray[np.int64]) -> Iterator[NDArray[np.integer]]:
    """At the cut that gains most, in the middle of the rows; then the commonest value, and one side alone."""
    value, at, rows = np.unique(codes, return_inverse=True, return_counts=True)
    if value.size == 1:
        return
    before, place = np.cumsum(rows)[:-1], domain.position[value]
    lost = before * (place[:-1] - place[0]) + (codes.size - before) * (place[-1] - place[1:])
    cuts = dict.fromkeys((int(np.argmin(lost)), int(np.argmin(np.abs(2 * before - codes.size)))))
    for cut in cuts:
        yield 1 + (at > cut)
    yield (at == np.argmax(rows)).astype(np.int64)
    for cut in cuts:
        yield (at <= cut).astype(np.int64)
        yield (at > cut).astype(np.int64)
