"""The space that clustering, refinement and space-filling curves measure in, and partitions in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.codespace.domain import Domain
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.loss import find_cell_costs
from shoal.codespace.recoding import Proposal, Recoding
from shoal.kernels.axes import TREE
from shoal.kernels.classes import ClassBoxes, Points, WidthCosts
from shoal.kernels.compiled import get_compile_progress
from shoal.kernels.hilbert import hilbert_keys
from shoal.kernels.rules import Rules

_WORD = 64
_LARGEST_SET = 1024  # flat columns with more values are measured by what they span: their bits would not fit
_LARGEST_TALLY = 1 << 25  # counters of sensitive values in all boxes; more are counted each time
_KEY_BITS = 63  # bits of a Hilbert key, all axes together
_MANY = 1 << 19  # distinct rows up to which equal rows are split; 8 times as many rows in all


@dataclass(frozen=True, slots=True, eq=False)
class ClusteringSpace:
    """Weighted rows, what width costs, and the privacy goal, for the kernels."""

    table: FrequencyTable
    points: Points
    measure: WidthCosts
    rules: Rules
    ident: NDArray[np.int64]
    """[n] the row of ``table`` that each point is, which is what the rules know it by."""
    places: tuple[NDArray[np.float64], ...]
    """Per axis, the place of each code, from 0 to the axis's weight; missing values may lie below."""
    whole: float
    """Cost of a row that is released as anything."""
    sets: tuple[int, ...]
    """Axes of which any set of values may be released, so that the order of their codes means nothing."""

    @classmethod
    def from_table(cls, problem: Problem, table: FrequencyTable) -> ClusteringSpace:
        """Measure ``table`` by what the problem minimises."""
        weights, domains, codes = problem.weights, problem.domains, table.codes
        problem.refuse_negative_weights("this algorithm")
        # Sets of categories cost what they hold, unless the loss asked for counts what they span.
        costs = find_cell_costs(problem.loss)
        largest = 0 if costs is not None and costs.spans_sets else _LARGEST_SET
        sets = [j for j, domain in enumerate(domains) if domain.kind == "flat" and domain.size <= largest]
        trees = [j for j, domain in enumerate(domains) if domain.kind == "tree"]
        lines = [j for j in range(len(domains)) if j not in sets and j not in trees]
        places = tuple(_place_codes(domain) * weight for domain, weight in zip(domains, weights, strict=True))
        points = Points(
            _gather_columns(codes, lines, places, np.float64),
            np.ascontiguousarray(codes[:, trees], np.int32),
            _encode_sets(codes, [(j, domains[j].size) for j in sets]),
            table.weight,
        )
        measure = _build_measure(problem, weights, lines, trees, sets)
        ident, whole = np.arange(table.weight.size), float(weights.sum())
        return cls(table, points, measure, problem.build_rules(table), ident, places, whole, tuple(sets))

    @property
    def step_nanoseconds(self) -> float:
        """How long an ordinary core takes to measure a class with a row more: the unit of budgets."""
        measure = self.measure
        flat, trees = int(measure.whole.size + measure.unit.size), int(measure.root.shape[1])
        # Constants, not a clock: a budget is a number of steps, the same on every machine.
        return 10.0 + 4.4 * flat + 10.4 * trees + min(self.rules.values, 64) / 5

    def make_boxes(self, classes: int, class_of: NDArray[np.integer] | None = None) -> ClassBoxes:
        """Empty boxes for ``classes`` classes."""
        n = self.ident.size
        return ClassBoxes(
            np.zeros((classes, 4, self.points.place.shape[1])),
            np.zeros((classes, 4, self.points.leaf.shape[1]), np.int32),
            np.zeros((classes, 2, self.points.bits.shape[1]), np.uint64),
            np.zeros(classes, np.int64),
            np.zeros(classes),
            np.full(classes, -1, np.int64),
            np.full((2, n), -1, np.int64),
            np.full(n, -1, np.int64) if class_of is None else class_of.astype(np.int64),
            np.zeros((classes if self._keeps_tallies(classes) else 0, self.rules.values), np.int32),
        )

    def _keeps_tallies(self, classes: int) -> bool:
        """Whether every class has counters of its own: not of people, who do not add up."""
        return self.rules.units == 0 and classes * self.rules.values <= _LARGEST_TALLY

    def sort_along_curve(self, random: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Rows along a Hilbert curve: neighbours are alike. With ``random`` one of very many such curves."""
        return np.argsort(hilbert_keys(*self._compute_coordinates(random)), kind="stable")

    def _compute_coordinates(self, random: np.random.Generator | None) -> tuple[NDArray[np.uint32], int]:
        """Coordinates for the curve, and their bits; only as many axes as fit a key, the widest first."""
        spread = np.array([np.ptp(place) for place in self.places])
        # Every axis needs one bit at least, so that no more axes than bits fit a key.
        axes = np.argsort(-spread, kind="stable")[:_KEY_BITS]
        axes = np.sort(axes) if random is None else random.permutation(axes)
        bits = int(np.clip(_KEY_BITS // axes.size, 1, 7))
        widest = float(spread.max())
        # One scale for all axes: a narrow one adds little to the loss, and gets few steps.
        steps = ((1 << bits) - 1) / widest if widest > 0 else 0.0
        cells = {}
        for j in axes.tolist():
            place = self.places[j] - self.places[j].min()
            if random is not None:  # another origin and direction move the places where the curve jumps
                place = random.permutation(place) if j in self.sets else place
                place = spread[j] - place if random.random() < 0.5 else place
                # Half the sum: neither part is longer than the widest axis of the grid.
                place = (place + random.random() * spread.max()) / 2
            cells[j] = (place * steps).astype(np.uint32)
        return _gather_columns(self.table.codes, axes.tolist(), cells, np.uint32), bits


def _gather_columns(
    codes: NDArray[np.unsignedinteger], axes: Sequence[int], values: Any, dtype: type[np.generic]
) -> NDArray[Any]:
    """Per row, what ``values`` of each axis says of its code."""
    columns = np.empty((codes.shape[0], len(axes)), dtype)
    for at, j in enumerate(axes):
        columns[:, at] = values[j][codes[:, j]]
    return columns


def split_equal_rows(problem: Problem, every: bool = False) -> FrequencyTable:
    """The rows, of which so many equal ones stand alone that they can help out in other classes.

    With ``every`` all of them do, if there are not too many. In a very large table equal rows stay together:
    there are always others to help out. So do rows that were counted before: nobody could tell them apart.
    """
    table = problem.table
    if problem.rows.count is not None or table.weight.size > _MANY or table.rows > 8 * _MANY:
        return table
    alone = table.rows if every and table.rows <= _MANY // 2 else 2 * problem.build_rules(table).size
    return problem.rows.divide_rows(alone, problem.person)


def transfer_classes(proposal: Proposal, table: FrequencyTable) -> NDArray[np.int32]:
    """The classes of a proposal for the rows of a table that divides its rows further.

    People of a population who equal no row of the table are left out.
    """
    class_of = np.empty(table.weight.size, np.int32)
    # The two tables have only the original rows in common.
    class_of[table.of_row] = proposal.class_of[proposal.table.of_row]
    return renumber_classes(class_of)


def renumber_classes(class_of: NDArray[np.integer]) -> NDArray[np.int32]:
    """The same classes, numbered from 0 without gaps; rows without one stay so (-1)."""
    number = np.unique(class_of, return_inverse=True)[1]
    # Where -1 occurs, it took the number 0.
    return np.asarray(number - int((class_of < 0).any()), np.int32)


def replace_unsound_proposal(problem: Problem, proposal: Proposal) -> Proposal:
    """The proposal, unless classes that are released alike, which are one class to a reader, break a model.

    Only a model that is not monotone can be broken so. Greedy cuts then stand in, whose classes all differ.
    """
    if problem.is_monotone:
        return proposal
    recoding = Recoding.from_proposal(proposal, problem.domains)
    # The recoding has already made classes with equal cells one, as a reader does.
    class_of = recoding.class_of[recoding.table.of_row]
    kept = np.flatnonzero(class_of >= 0)
    if problem.find_sufficient_groups(class_of[kept], kept, recoding.size.size).all():
        return proposal
    note = "classes that are released alike would together break a model, so greedy cuts were taken instead"
    return replace(Mondrian().search(problem), notes=(*proposal.notes, note))


class Worker:
    """Calls kernels, with what ends them early as their last argument."""

    def __init__(self, pool: ThreadPoolExecutor, halt: NDArray[np.bool_], on_progress: Progress) -> None:
        self._pool = pool
        self._halt = halt
        self._on_progress = on_progress

    def __call__(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Run one kernel."""
        return self.all(kernel, [arguments])[0]

    def all(self, kernel: Callable[..., Any], each: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Run a kernel with each of these arguments, several at once; what it returned, in their order."""
        begun = [self._pool.submit(kernel, *arguments, self._halt) for arguments in each]
        while wait(begun, timeout=1.0).not_done:
            if (standing := get_compile_progress()) is not None:
                self._on_progress(str(standing), standing.share)
        return [one.result() for one in begun]


@contextmanager
def start_worker(on_progress: Progress = silent, threads: int = 1) -> Iterator[Worker]:
    """Run kernels beside the main thread, so that an interrupt is answered at once."""
    halt = np.zeros(1, np.bool_)
    pool = ThreadPoolExecutor(max(threads, 1))
    try:
        yield Worker(pool, halt, on_progress)
    finally:
        # Nobody waits for the threads: they see this, unless they are still compiling.
        halt[0] = True
        pool.shutdown(wait=False, cancel_futures=True)


def _place_codes(domain: Domain) -> NDArray[np.float64]:
    """Place of every code on an axis of length 1; between leaves of a tree lies what pooling them costs."""
    if domain.hierarchy is None or domain.size == 1:
        return domain.position
    code = np.arange(domain.size - 1)
    # A gap is the width of the smallest node above both leaves: short in a subtree.
    place = np.concatenate(([0.0], np.cumsum(domain.compute_widths(*domain.snap(code, code + 1)))))
    return place / max(float(place[-1]), np.finfo(float).tiny)


def _encode_sets(codes: NDArray[np.unsignedinteger], sets: list[tuple[int, int]]) -> NDArray[np.uint64]:
    """One bit per set and row: the value that the row has."""
    words = [-(-size // _WORD) for _, size in sets]
    bits = np.zeros((codes.shape[0], sum(words)), np.uint64)
    rows = np.arange(codes.shape[0])
    for (j, _), first in zip(sets, np.cumsum([0, *words]), strict=False):
        code = codes[:, j].astype(np.int64)
        bits[rows, first + code // _WORD] = np.uint64(1) << (code % _WORD).astype(np.uint64)
    return bits


def _build_measure(
    problem: Problem, weights: NDArray[np.float64], lines: list[int], trees: list[int], sets: list[int]
) -> WidthCosts:
    axes = problem.build_axes()
    sizes = np.array([domain.size for domain in problem.domains])
    first, end = axes.shape[TREE, :-1], axes.shape[TREE, 1:]
    # NCP of a set is (values - 1) / (size - 1), so that each further value costs the same.
    unit = weights / np.maximum(sizes - 1, 1)
    words = -(-sizes[sets] // _WORD)
    return WidthCosts(
        weights[lines],
        np.stack([first[trees], sizes[trees]]),
        axes.node,
        axes.node_width * np.repeat(weights, end - first),
        np.repeat(unit[sets], words),
        float(unit[sets].sum()),
    )
