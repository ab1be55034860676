"""A bound with every release: no release of this table that keeps the goal can lose less.

It counts what every release has in common. Rows with equal cells are at least as many as the goal asks for, a
cell covers the value of its row, and a row that is suppressed loses everything. So a bound holds for every
algorithm, with or without suppression. Models of sensitive values only rule releases out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.cell_bounds import find_bound_by_cells, is_for_cell_prices
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.algorithms.space import ClusteringSpace, Worker, start_worker
from shoal.codespace.loss import find_cell_costs
from shoal.codespace.recoding import Proposal
from shoal.kernels.axes import TREE as TREE_ROW
from shoal.kernels.prices import LINE, SET, TREE, PricedAxes, RowTree, raise_prices

_LEAF = 24  # rows of a group that is not divided further
_STEP = 5e-9  # seconds that a row takes to be compared, about, per column
_BITS = 63  # values of a set beyond so many share a bit: that never raises the bound
_ROWS = 1 << 17  # more rows would take longer than anybody waits
_ROUNDING = 1e-9
_NO_BOUND = (
    "no bound is known here: there is one for the losses ncp and span-ncp, for goals that ask for 2 rows or "
    "more, where rows are in memory and become classes of equal cells"
)
_FIRST = 0.05  # of the whole: as far as it looks first
_NODES = (1, 40)  # boxes looked at for a row: at first, and when there is time
_SHARES = (0.3, 0.3, 0.5, 1.0)  # of what is possible, by which prices rise in each round
_REACH = 1.6  # times the mean price: rows farther away are not looked at


def find_lower_bound(problem: Problem, seconds: float, on_progress: Progress = silent) -> float | None:
    """What every release loses at least; None where nothing is known about the loss or the rows.

    Parameters
    ----------
    seconds : float
        The budget, in seconds of an ordinary core: more time gives a higher bound. It is counted in steps.
    """
    size = count_least_rows(problem)
    if size < 2 or not is_bounded(problem):
        return None
    if is_for_cell_prices(problem, seconds):
        return find_bound_by_cells(problem, size, seconds, on_progress)
    prices = _Prices(problem, size, seconds)
    with start_worker(on_progress) as run:
        prices.find_floors(run, on_progress)
        prices.raise_all(run, on_progress)
    return prices.loss


def add_bound(
    proposal: Proposal, problem: Problem, seconds: float, on_progress: Progress = silent
) -> Proposal:
    """The proposal with a bound, or with a word on why there is none."""
    # What is released cell by cell, or as means, need not be in a class of equal cells that cover its values.
    fits = proposal.cells is None or len(proposal.cells[0]) < len(proposal.class_of)
    found = find_lower_bound(problem, seconds, on_progress) if fits and proposal.centre is None else None
    if found is None:
        return replace(proposal, notes=(*proposal.notes, _NO_BOUND))
    best = max(found, proposal.lower_bound or 0.0)
    note = f"no release that keeps the goal loses less than {100 * best:.2f} %, whatever finds it"
    return replace(proposal, lower_bound=best, notes=(*proposal.notes, note))


def is_bounded(problem: Problem) -> bool:
    """Whether the loss is the mean width of cells, and rows are few enough and known one by one."""
    costs = find_cell_costs(problem.loss)
    weights = problem.weights
    return (
        costs is not None
        and costs.mean
        and not costs.step
        and problem.rows.count is None
        and problem.rows.rows <= _ROWS
        and bool((weights >= 0).all() and weights.any())
    )


def count_least_rows(problem: Problem) -> int:
    """How many rows a class has at least: of so many people, too, nobody has less than one."""
    # A goal about some columns needs no rows that are equal in all of them.
    models = [model for model in problem.models if not model.is_about_some_columns]
    sizes = [model.least_size() for model in models]
    people = [model.least_people() for model in models] if problem.person is not None else []
    return max([1, *sizes, *people])


class _Prices:
    """What every row is worth."""

    def __init__(self, problem: Problem, size: int, seconds: float) -> None:
        table = problem.rows.one_by_one(in_order=False)
        space = ClusteringSpace.from_table(problem, problem.table)
        self.axes, self.codes = _build_axes(problem, space, table.codes)
        self.size = size
        self.whole = space.whole
        self.tree = _build_row_tree(self.axes, self.codes)
        _, inverse, times = np.unique(self.codes, axis=0, return_inverse=True, return_counts=True)
        # A class of equal rows loses nothing, so neither do these.
        self.open = times[inverse.ravel()] < size
        self.floor = np.zeros(len(self.codes))
        self.price = np.zeros(len(self.codes))
        self.left = int(seconds / (_STEP * len(problem.domains)))
        self.reach = _FIRST * self.whole

    @property
    def loss(self) -> float:
        """What all releases lose at least, from 0 to 1; a little less, for rounding."""
        # A suppressed row loses everything, whatever the others do.
        price = np.minimum(np.maximum(self.price, self.floor), self.whole)
        mean = price.sum() / (len(self.codes) * self.whole)
        return max(float(mean) * (1 - _ROUNDING) - _ROUNDING, 0.0)

    def find_floors(self, run: Worker, on_progress: Progress) -> None:
        """Find what every class with a row loses at least: first roughly for all rows, then precisely.

        Rows that are far from all others are looked at again, farther around.
        """
        rows, begin = self.open.copy(), self.left
        for nodes in _NODES:
            reach = self.reach
            while rows.any() and reach < 2 * self.whole and self.left > 0:
                self._work(run, rows, nodes, reach, 0.0)
                on_progress("bounding the loss", 0.5 * (1 - self.left / begin))
                rows &= self.floor >= reach * (1 - _ROUNDING)
                reach *= 2
            # As far as most rows can be worth: from here on nobody looks farther.
            rows = self.open.copy()
        self.price[:] = self.floor

    def raise_all(self, run: Worker, on_progress: Progress) -> None:
        """Raise prices beyond that, where classes that a row needs lose more than their rows are worth."""
        priced = self.floor[self.floor > 0]
        # Rows farther than this are not looked at, and so no price is raised above it.
        reach = min(_REACH * float(priced.mean()), self.whole) if priced.size else 0.0
        for done, share in enumerate(_SHARES, 1):
            if self.left > 0 and reach > 0:
                self._work(run, self.open, _NODES[-1], reach, share)
            on_progress("bounding the loss", 0.5 + 0.5 * done / len(_SHARES))

    def _work(self, run: Worker, rows: NDArray[np.bool_], nodes: int, reach: float, share: float) -> None:
        """Go through all rows once, as far as the budget lasts."""
        self.left -= run(
            raise_prices,
            self.axes,
            self.codes,
            self.tree,
            0,
            len(self.codes),
            self.size,
            reach,
            share,
            nodes,
            self.left,
            rows,
            self.floor,
            self.price,
        )


def _build_axes(
    problem: Problem, space: ClusteringSpace, coded: NDArray[np.unsignedinteger]
) -> tuple[PricedAxes, NDArray[np.int64]]:
    """The axes for the kernel, and every row's codes on them."""
    axes, weights = problem.build_axes(), problem.weights
    costs_of = find_cell_costs(problem.loss)
    as_sets = costs_of is not None and not costs_of.spans_sets
    kind, start, size, whole, codes = [], [], [], [], []
    places, nodes, costs = [np.empty(0)], [np.empty(0, np.int64)], [np.empty(0)]
    for j, domain in enumerate(problem.domains):
        code = coded[:, j].astype(np.int64)
        size.append(domain.size)
        if domain.kind == "tree":
            first, end = axes.shape[TREE_ROW, j : j + 2]
            kind.append(TREE)
            start.append(sum(map(len, nodes)))
            whole.append(0.0)
            nodes.append(axes.node[first:end].astype(np.int64))
            costs.append(axes.node_width[first:end] * weights[j])
        elif domain.kind == "flat" and as_sets:  # however many values: what they span would be too much
            kind.append(SET)
            start.append(0)
            whole.append(weights[j] / max(domain.size - 1, 1))
            code = np.left_shift(np.int64(1), code % _BITS)
        else:
            order = np.argsort(space.places[j], kind="stable")
            rank = np.empty_like(order)
            rank[order] = np.arange(order.size)
            kind.append(LINE)
            start.append(sum(map(len, places)))
            whole.append(weights[j])
            places.append(space.places[j][order])
            code = rank[code]
        codes.append(code)
    found = PricedAxes(
        np.array(kind, np.int64),
        np.array(start, np.int64),
        np.array(size, np.int64),
        np.array(whole),
        np.concatenate(places),
        np.concatenate(nodes),
        np.concatenate(costs),
    )
    return found, np.ascontiguousarray(np.stack(codes, axis=1))


def _build_row_tree(axes: PricedAxes, codes: NDArray[np.int64]) -> RowTree:
    """Divide the rows in two, and each part again, along the axis where they are farthest apart."""
    order = np.arange(len(codes))
    start: list[int] = []
    stop: list[int] = []
    skip: list[int] = []
    bound: list[NDArray[np.int64]] = []
    waiting = [(0, len(codes), -1)]
    while waiting:
        first, last, parent = waiting.pop()
        if parent >= 0:  # both parts are done when what waits behind them is
            skip[parent] = len(start)
            continue
        rows = codes[order[first:last]]
        box = _enclose(axes, rows)
        here = len(start)
        start.append(first)
        stop.append(last)
        skip.append(here + 1)
        bound.append(box)
        axis = _choose_axis(axes, rows) if last - first > _LEAF else -1
        if axis < 0:
            continue
        low = rows[:, axis] <= np.sort(rows[:, axis])[(last - first - 1) // 2]
        if low.all():
            low = rows[:, axis] < rows[:, axis].max()
        part = order[first:last]
        order[first:last] = np.concatenate((part[low], part[~low]))
        middle = first + int(low.sum())
        waiting += [(first, last, here), (middle, last, -1), (first, middle, -1)]
    return RowTree(
        order,
        np.array(start, np.int64),
        np.array(stop, np.int64),
        np.array(skip, np.int64),
        np.stack(bound),
    )


def _enclose(axes: PricedAxes, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The box around rows."""
    values = np.bitwise_or.reduce(rows, axis=0)
    return np.stack((np.where(axes.kind == SET, values, rows.min(axis=0)), rows.max(axis=0)))


def _choose_axis(axes: PricedAxes, rows: NDArray[np.int64]) -> int:
    """The axis on which two rows cost most on average; -1 if all rows are equal."""
    best, axis = 0.0, -1
    for j, kind in enumerate(axes.kind.tolist()):
        column = np.sort(rows[:, j])
        if column[0] == column[-1]:
            continue
        quarter = column[len(column) // 4], column[-1 - len(column) // 4]
        cost = 1e-9
        if kind == LINE:
            place = axes.place[axes.start[j] :]
            cost += float(place[quarter[1]] - place[quarter[0]]) + 0.1 * float(
                place[column[-1]] - place[column[0]]
            )
        else:
            # Pairs of different values, as far as the middle half tells.
            cost += float(axes.whole[j]) if kind == SET else 0.5
            cost *= 1.0 if quarter[0] != quarter[1] else 0.1
        if cost > best:
            best, axis = cost, j
    return axis
