"""The space that clustering, refinement and space-filling curves measure in, and partitions in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.problem import Problem, Progress, silent
from shoal.domain import Domain
from shoal.errors import RecipeError
from shoal.frequency import FrequencyTable
from shoal.kernels.axes import TREE
from shoal.kernels.classes import Boxes, Measure, Points
from shoal.kernels.compiled import is_compiled
from shoal.kernels.hilbert import hilbert_keys
from shoal.kernels.rules import Rules
from shoal.recoding import Proposal, Recoding

Run: TypeAlias = Callable[..., Any]
"""Calls a kernel, with what ends it early as its last argument."""

_WORD = 64
_LARGEST_SET = 1024  # flat columns with more values are measured by what they span: their bits would not fit
_LARGEST_TALLY = 1 << 25
_KEY_BITS = 63
_MANY = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Weighted rows, what width costs, and the privacy goal, for the kernels."""

    table: FrequencyTable
    points: Points
    measure: Measure
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
    def of(cls, problem: Problem, table: FrequencyTable) -> Space:
        """Measure ``table`` by what the problem minimises."""
        weights, domains, codes = problem.weights, problem.domains, table.codes
        if (weights < 0).any():
            raise RecipeError("weights are from 0 up here; mingen and genetic take any")
        # Sets of categories cost what they hold, unless the loss asked for counts what they span.
        largest = 0 if problem.loss == "span-ncp" else _LARGEST_SET
        sets = [j for j, domain in enumerate(domains) if domain.kind == "flat" and domain.size <= largest]
        trees = [j for j, domain in enumerate(domains) if domain.kind == "tree"]
        lines = [j for j in range(len(domains)) if j not in sets and j not in trees]
        places = tuple(_spaced(domain) * weight for domain, weight in zip(domains, weights, strict=True))
        points = Points(
            _gathered(codes, lines, places, np.float64),
            np.ascontiguousarray(codes[:, trees], np.int32),
            _bits(codes, [(j, domains[j].size) for j in sets]),
            table.weight,
        )
        measure = _measure(problem, weights, lines, trees, sets)
        ident, whole = np.arange(table.weight.size), float(weights.sum())
        return cls(table, points, measure, problem.rules(table), ident, places, whole, tuple(sets))

    @property
    def nanoseconds(self) -> float:
        """How long an ordinary core takes to measure a class with a row more: the unit of budgets."""
        measure = self.measure
        flat, trees = int(measure.whole.size + measure.unit.size), int(measure.root.shape[1])
        return 25.0 + 11.0 * flat + 26.0 * trees + min(self.rules.values, 64) / 2

    def boxes(self, classes: int, class_of: NDArray[np.integer] | None = None) -> Boxes:
        """Room for ``classes`` classes."""
        n = self.ident.size
        return Boxes(
            np.zeros((classes, 4, self.points.place.shape[1])),
            np.zeros((classes, 4, self.points.leaf.shape[1]), np.int32),
            np.zeros((classes, 2, self.points.bits.shape[1]), np.uint64),
            np.zeros(classes, np.int64),
            np.zeros(classes),
            np.full(classes, -1, np.int64),
            np.full((2, n), -1, np.int64),
            np.full(n, -1, np.int64) if class_of is None else class_of.astype(np.int64),
            np.zeros(
                (classes if classes * self.rules.values <= _LARGEST_TALLY else 0, self.rules.values), np.int32
            ),
        )

    def order(self, random: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Rows along a Hilbert curve: neighbours are alike. With ``random`` one of very many such curves."""
        return np.argsort(hilbert_keys(*self._cells(random)), kind="stable")

    def _cells(self, random: np.random.Generator | None) -> tuple[NDArray[np.uint32], int]:
        """Coordinates for the curve, and their bits; only as many axes as fit a key, the widest first."""
        spread = np.array([np.ptp(place) for place in self.places])
        axes = np.argsort(-spread, kind="stable")[:_KEY_BITS]
        axes = np.sort(axes) if random is None else random.permutation(axes)
        bits = int(np.clip(_KEY_BITS // axes.size, 1, 7))
        widest = float(spread.max())
        steps = ((1 << bits) - 1) / widest if widest > 0 else 0.0
        cells = {}
        for j in axes.tolist():
            place = self.places[j] - self.places[j].min()
            if random is not None:  # another origin and direction move the places where the curve jumps
                place = random.permutation(place) if j in self.sets else place
                place = spread[j] - place if random.random() < 0.5 else place
                place = (place + random.random() * spread.max()) / 2
            cells[j] = (place * steps).astype(np.uint32)
        return _gathered(self.table.codes, axes.tolist(), cells, np.uint32), bits


def _gathered(
    codes: NDArray[np.unsignedinteger], axes: Sequence[int], values: Any, dtype: type[np.generic]
) -> NDArray[Any]:
    """Per row, what ``values`` of each axis says of its code."""
    columns = np.empty((codes.shape[0], len(axes)), dtype)
    for at, j in enumerate(axes):
        columns[:, at] = values[j][codes[:, j]]
    return columns


def pieces(problem: Problem, every: bool = False) -> FrequencyTable:
    """The rows, of which so many equal ones stand alone that they can help out in other classes.

    With ``every`` all of them do, if there are not too many. In a very large table equal rows stay together:
    there are always others to help out. So do rows that were counted before: nobody could tell them apart.
    """
    table = problem.table
    if problem.rows.count is not None or table.weight.size > _MANY or table.rows > 8 * _MANY:
        return table
    alone = table.rows if every and table.rows <= _MANY // 2 else 2 * problem.rules(table).size
    return problem.rows.divided(alone)


def carried(proposal: Proposal, table: FrequencyTable) -> NDArray[np.int32]:
    """The classes of a proposal for the rows of a table that divides its rows further.

    People of a population who equal no row of the table are left out.
    """
    class_of = np.empty(table.weight.size, np.int32)
    class_of[table.of_row] = proposal.class_of[proposal.table.of_row]
    return numbered(class_of)


def numbered(class_of: NDArray[np.integer]) -> NDArray[np.int32]:
    """The same classes, numbered from 0 without gaps; rows without one stay so (-1)."""
    number = np.unique(class_of, return_inverse=True)[1]
    return np.asarray(number - int((class_of < 0).any()), np.int32)


def sound(problem: Problem, proposal: Proposal) -> Proposal:
    """The proposal, unless classes that are released alike, which are one class to a reader, break a model.

    Only a model that is not monotone can be broken so. Greedy cuts then stand in, whose classes all differ.
    """
    if all(model.monotone for model in problem.models):
        return proposal
    recoding = Recoding.of(proposal, problem.domains)
    class_of = recoding.class_of[recoding.table.of_row]
    kept = np.flatnonzero(class_of >= 0)
    if problem.suffices(class_of[kept], kept, recoding.size.size).all():
        return proposal
    note = "classes that are released alike would together break a model, so greedy cuts were taken instead"
    return replace(Mondrian().search(problem), notes=(*proposal.notes, note))


@contextmanager
def worker(on_progress: Progress = silent) -> Iterator[Run]:
    """Run kernels beside the main thread, so that an interrupt is answered at once."""
    halt = np.zeros(1, np.bool_)
    pool = ThreadPoolExecutor(1)

    def run(kernel: Callable[..., Any], *arguments: Any) -> Any:
        begun = pool.submit(kernel, *arguments, halt)
        while not wait([begun], timeout=1.0).done:
            if not is_compiled(kernel):
                on_progress("compiling kernels, once on this machine", 0.0)
        return begun.result()

    try:
        yield run
    finally:
        # Nobody waits for the thread: it sees this, unless it is still compiling.
        halt[0] = True
        pool.shutdown(wait=False, cancel_futures=True)


def _spaced(domain: Domain) -> NDArray[np.float64]:
    """Place of every code on an axis of length 1; between leaves of a tree lies what pooling them costs."""
    if domain.hierarchy is None or domain.size == 1:
        return domain.position
    code = np.arange(domain.size - 1)
    place = np.concatenate(([0.0], np.cumsum(domain.width(*domain.snap(code, code + 1)))))
    return place / max(float(place[-1]), np.finfo(float).tiny)


def _bits(codes: NDArray[np.unsignedinteger], sets: list[tuple[int, int]]) -> NDArray[np.uint64]:
    """One bit per set and row: the value that the row has."""
    words = [-(-size // _WORD) for _, size in sets]
    bits = np.zeros((codes.shape[0], sum(words)), np.uint64)
    rows = np.arange(codes.shape[0])
    for (j, _), first in zip(sets, np.cumsum([0, *words]), strict=False):
        code = codes[:, j].astype(np.int64)
        bits[rows, first + code // _WORD] = np.uint64(1) << (code % _WORD).astype(np.uint64)
    return bits


def _measure(
    problem: Problem, weights: NDArray[np.float64], lines: list[int], trees: list[int], sets: list[int]
) -> Measure:
    axes = problem.axes()
    sizes = np.array([domain.size for domain in problem.domains])
    first, end = axes.shape[TREE, :-1], axes.shape[TREE, 1:]
    unit = weights / np.maximum(sizes - 1, 1)
    words = -(-sizes[sets] // _WORD)
    return Measure(
        weights[lines],
        np.stack([first[trees], sizes[trees]]),
        axes.node,
        axes.node_width * np.repeat(weights, end - first),
        np.repeat(unit[sets], words),
        float(unit[sets].sum()),
    )
