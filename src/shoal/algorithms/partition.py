"""Classes in the making, which are improved step by step: many regions of them at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.problem import Progress, silent
from shoal.algorithms.space import ClusteringSpace, Worker, renumber_classes
from shoal.kernels.anneal import Region, anneal_classes, note_near_rows
from shoal.kernels.random import make_random_states
from shoal.kernels.refine import DISSOLVE, MOVE, REGROUP, RefineWorkspace, improve_partition, set_up
from shoal.kernels.rules import count_slots
from shoal.support.progress import SearchFigures, Stage

_REGION = 8192  # rows that one thread works on, at least: at borders a row has few neighbours
_REGIONS = 16
_REACH = 6  # neighbours on either side that a row is offered to
_POOL = 3  # classes that are clustered anew together: more take longer and find hardly more
_LARGEST_POOL = 4096  # rows
_DISSOLVE = 4  # one sweep in so many tries to dissolve classes, which seldom pays
_PATIENCE = 4  # sweeps that save nothing before it stops
_NEAR = 32  # rows near to each that annealing knows
_CURVES, _LOOK = 12, 24  # it finds them among so many neighbours on either side, along so many curves
_MOST, _MORE = 3, 8  # a class takes rows in up to so many times its least weight, and some more
_SLOW_STEP = 200.0  # nanoseconds that a step of annealing takes at least: it looks here and there
_CURVE = 200e-9  # seconds that a row takes to be sorted along a curve


class Annealing(NamedTuple):
    """How it is annealed."""

    hot: float
    """The first temperature, in units of what a class costs on average."""
    cooling: float
    """What the temperature is multiplied by after every round."""
    rounds: int


class Partition:
    """Classes in the making."""

    def __init__(self, space: ClusteringSpace, class_of: NDArray[np.int32], seed: int) -> None:
        self.space = space
        self.evaluations = 0
        """How many times a class was measured with a row more, less or exchanged."""
        self.swept = 0
        self.spent = 0.0
        """Seconds of the budget that are used up."""
        self.is_told = True
        """Whether its loss is one that means something to a user, and is told sweep by sweep."""
        self._random = np.random.default_rng(seed)
        self._near: NDArray[np.int32] | None = None
        self._best: tuple[float, NDArray[np.int64]] | None = None
        classes = _count_places(space, class_of)
        self._boxes = space.make_boxes(classes, class_of)
        regions = _count_regions(space.ident.size)
        self._rooms = _make_workspaces(space, regions, classes, seed)
        self._scale = 1.0 / max(space.table.rows * space.whole, np.finfo(float).tiny)
        self._nanoseconds = space.step_nanoseconds
        self._sum = self._measure_all()
        self.curve = [(self.spent, self.loss)]
        """What was lost when so many seconds of the budget were used up, sweep after sweep."""

    def _measure_all(self) -> float:
        """Link the rows to the classes that they are said to be in; what all of them lose."""
        space = self.space
        return float(set_up(space.points, space.measure, space.rules, space.ident, self._boxes))

    @property
    def loss(self) -> float:
        """The mean width of a cell, from 0 to 1."""
        return self._sum * self._scale

    @property
    def _least_loss(self) -> float:
        """The loss of the best classes so far."""
        return self.loss if self._best is None else min(self.loss, self._best[0] * self._scale)

    def class_of(self) -> NDArray[np.int32]:
        """Class of each row, numbered without gaps."""
        return renumber_classes(self._boxes.of)

    def refine_classes(
        self, sweeps: int, seconds: float, run: Worker, on_progress: Progress = silent
    ) -> None:
        """Improve the classes: so many sweeps more, as long as the budget of ``seconds`` in all lasts."""
        idle = 0
        end = self.swept + sweeps
        while self.swept < end and self.spent < seconds and idle < _PATIENCE:
            before = self._sum
            tried = [(REGROUP, 1), (DISSOLVE, 0)] if self.swept % _DISSOLVE == 0 else []
            for how, most in (*tried, (REGROUP, _POOL), (MOVE, _REACH)):
                self._improve_along_curve(how, most, seconds, run)
                share = max(self.spent / seconds, 1 - (end - self.swept) / sweeps)
                self._tell("refining", share, on_progress)
            self.swept += 1
            if self._best is not None:
                self._note_best()
            if self.is_told:
                self.curve.append(
                    (self.spent, self.loss if self._best is None else self._best[0] * self._scale)
                )
            idle = idle + 1 if before - self._sum < 1e-12 * before or before <= 0 else 0

    def anneal_classes(
        self, steps: Annealing, seconds: float, run: Worker, on_progress: Progress = silent
    ) -> None:
        """Spend the budget of ``seconds`` in all on changes that raise the loss at times.

        The classes may end up worse; see `return_to_best`.
        """
        self._note_best()
        if self._near is None:
            self._near = self._find_near_rows(run)
        begun, classes = self.spent, int(np.count_nonzero(self._boxes.head >= 0))
        temperature = steps.hot * self._sum / max(classes, 1)
        for done in range(steps.rounds):
            if self.spent >= seconds:
                break
            end = self.spent + (seconds - self.spent) / (steps.rounds - done)
            self._anneal_once(self._near, temperature, end, run)
            temperature *= steps.cooling
            self._note_best()
            if self.is_told:
                self.curve.append((self.spent, self._least_loss))
            self._tell("annealing", (self.spent - begun) / (seconds - begun), on_progress)

    def return_to_best(self) -> None:
        """Take the best classes that there were before, among or after changes that raised the loss."""
        if self._best is not None and self._best[0] < self._sum:
            self._boxes.of[:] = self._best[1]
            self._sum = self._measure_all()
            if self.is_told:
                self.curve.append((self.spent, self.loss))

    def _note_best(self) -> None:
        """Remember the classes if they are the best so far."""
        if self._best is None or self._sum < self._best[0]:
            self._best = self._sum, self._boxes.of.copy()

    def _tell(self, doing: str, share: float, on_progress: Progress) -> None:
        """Tell how it stands."""
        figures = SearchFigures(best=self._least_loss)
        on_progress(Stage(doing, figures) if self.is_told else doing, min(share, 1.0))

    def _anneal_once(self, near: NDArray[np.int32], temperature: float, end: float, run: Worker) -> None:
        """At one temperature, in regions by another curve than before."""
        slower = max(_SLOW_STEP / self._nanoseconds, 1.0)
        parts, _ = self._divide_rows(end, slower)
        edge = np.zeros(self.space.ident.size, np.bool_)
        place = np.full(self._boxes.head.size, -1, np.int64)
        for number, part in enumerate(parts):
            place[self._boxes.of[part.rows]] = number
            place[part.room.free[1 : part.room.free[0] + 1]] = number
        most = _MOST * max(self.space.rules.size, 1) + _MORE
        asked = [
            (Region(part.rows, near, place, number, edge, most), temperature, part.allowed, part.room)
            for number, part in enumerate(parts)
        ]
        self._work_in_regions(run, anneal_classes, asked, slower)

    def _find_near_rows(self, run: Worker) -> NDArray[np.int32]:
        """The rows nearest to each, as far as neighbours along several curves tell."""
        space = self.space
        rows = space.ident.size
        near = np.full((rows, min(_NEAR, rows)), -1, np.int32)
        apart = np.full(near.shape, np.inf, np.float32)
        ends = np.linspace(0, rows, len(self._rooms) + 1).astype(np.int64).tolist()
        for _ in range(_CURVES):
            order = space.sort_along_curve(self._random)
            slices = [(*pair, _LOOK) for pair in pairwise(ends)]
            run.all(
                note_near_rows,
                [(space.points, space.measure, order, *each, near, apart) for each in slices],
            )
            self.spent += rows * (_CURVE + 2 * _LOOK * self._nanoseconds * 1e-9)
        return near

    def _improve_along_curve(self, how: int, most: int, seconds: float, run: Worker) -> None:
        """Go along one curve."""
        parts, rank = self._divide_rows(seconds)
        if self.spent > seconds:
            return
        asked = [(part.rows, rank, 0, part.rows.size, how, most, part.allowed, part.room) for part in parts]
        self._work_in_regions(run, improve_partition, asked)

    def _work_in_regions(
        self, run: Worker, kernel: Callable[..., Any], asked: list[tuple[Any, ...]], slower: float = 1.0
    ) -> None:
        """Run a kernel in every region, and note what was saved and the work that it took.

        A unit of that takes ``slower`` times as long as elsewhere.
        """
        space = self.space
        shared = space.points, space.measure, space.rules, space.ident, self._boxes
        # Sums of floats: in the order of the regions, whichever ends first.
        for saved, work in run.all(kernel, [(*shared, *each) for each in asked]):
            self._sum -= saved
            self.evaluations += work
            self.spent += work * slower * self._nanoseconds * 1e-9

    def _divide_rows(self, seconds: float, slower: float = 1.0) -> tuple[list[_Part], NDArray[np.int64]]:
        """Divide the rows among the threads by place: classes stay whole, and no two threads share one.

        It depends on the table and never on how many threads there are.

        Returns
        -------
        the parts, and where each row stands in its part
        """
        order = self.space.sort_along_curve(self._random)
        # The curve itself: sorting the rows is part of the budget.
        self.spent += order.size * _CURVE
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        regions, boxes = len(self._rooms), self._boxes
        region = _locate_classes(boxes.of, place * regions // order.size, boxes.head.size, regions)
        # Rows without a class belong to no region.
        here = np.where(boxes.of[order] >= 0, region[boxes.of[order]], -1)
        left = max(seconds - self.spent, 0.0) / (slower * self._nanoseconds * 1e-9)
        free = np.flatnonzero(boxes.head < 0)[::-1]
        clock = max(int(room.clock[0]) for room in self._rooms)
        parts = []
        for number, room in enumerate(self._rooms):
            rows = order[here == number]
            place[rows] = np.arange(rows.size)
            mine = free[number::regions]
            room.free[0], room.free[1 : mine.size + 1] = mine.size, mine
            room.clock[0] = clock
            parts.append(_Part(rows, int(left * (rows.size / order.size)), room))
        return [part for part in parts if part.rows.size > 0], place


class _Part(NamedTuple):
    """What one thread works on."""

    rows: NDArray[np.int64]
    """Along a curve."""
    allowed: int
    """What is left of the budget, in evaluations: the unit that kernels count."""
    room: RefineWorkspace


def _count_regions(rows: int) -> int:
    """How many regions there are: a power of two, so that two, four or eight threads have equal shares."""
    return min(1 << max(int(rows // _REGION).bit_length() - 1, 0), _REGIONS)


def _locate_classes(
    class_of: NDArray[np.int64], region_of: NDArray[np.int64], classes: int, regions: int
) -> NDArray[np.int64]:
    """The region of each class: where most of its rows are, since the others get neighbours far away."""
    inside = class_of >= 0
    pair = class_of[inside] * regions + region_of[inside]
    rows = np.bincount(pair, minlength=classes * regions).reshape(classes, regions)
    return np.asarray(rows.argmax(axis=1), np.int64)


def _count_places(space: ClusteringSpace, class_of: NDArray[np.int32]) -> int:
    """Number of classes to have memory for: splitting needs free ones, as many again."""
    used = int(class_of.max()) + 1
    fit = int(space.table.rows // max(space.rules.size, 1))
    return max(used, min(fit, max(2 * used, _LARGEST_POOL))) + 1


def _make_workspaces(space: ClusteringSpace, regions: int, classes: int, seed: int) -> list[RefineWorkspace]:
    """Memory for every region; when a class was seen is noted in one place, since no class is in two."""
    seen = np.zeros(classes, np.int64)
    pool = min(space.ident.size, _LARGEST_POOL)
    return [
        RefineWorkspace(
            seen=seen,
            clock=np.zeros(1, np.int64),
            random=random,
            histogram=np.zeros((1, count_slots(space.rules)), np.int64),
            free=np.zeros(classes + 1, np.int64),
            pool=np.empty((3, pool), np.int64),
            ids=np.zeros(classes, np.int64),
            bound=np.empty(pool),
        )
        for random in make_random_states(seed, regions)
    ]
