"""Lattice: of all level vectors the one of least loss, with a proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappush, heapreplace
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.datafly import climb_levels
from shoal.algorithms.exact.budget import Budget
from shoal.algorithms.fulldomain import FullDomain, check_levels
from shoal.algorithms.problem import Algorithm, Problem, Progress, silent
from shoal.codespace.recoding import Proposal
from shoal.errors import RecipeError
from shoal.kernels.lattice import find_path_up, raise_bounds
from shoal.support.arithmetic import log10
from shoal.support.parameters import check_fields
from shoal.support.progress import SearchFigures

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST = 1 << 22  # level vectors up to which something is kept in mind of each
_CHUNK = 1 << 10  # vectors that are looked through at once


@dataclass(frozen=True, slots=True)
class Lattice(Algorithm):
    """Full-domain generalisation: all values of a column go to one level, and the levels lose the least.

    A level vector says how far up its hierarchy each column goes; rows in groups that then do not satisfy the
    models are suppressed, as far as that is permitted. All vectors are considered, but most need not be
    looked at: what fails does on lower levels too, and what must lose more than the best so far is of no use.
    A number or date without a hierarchy is divided into 32, 8 and 2 equal parts; a flat category is kept or
    given up.

    References
    ----------
    F. Kohlmayer, F. Prasser, C. Eckert, A. Kemper, K. A. Kuhn, "Flash: efficient, stable and optimal
    k-anonymity", PASSAT 2012.
    K. El Emam et al., "A globally optimal k-anonymity method for the de-identification of health data", JAMIA
    16(5), 2009.
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Incognito: efficient full-domain k-anonymity", SIGMOD 2005.
    """

    levels: str | None = None
    """Levels that a column may go to, as ``age=1..3,sex=0``; either end may be left out."""
    coding: str | None = None
    """Numbers, dates or ordered values outside of which all are one group, as ``age=20..70`` or ``age=..70``:
    bottom and top coding, for columns without a hierarchy."""
    seconds: float | None = 60.0
    """Time after which it ends with the best so far and what is proved of it; none for no limit."""
    others: int = 5
    """How many runners-up are told."""
    works_on_counted_rows = True
    counts_people = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_levels(self.levels, self.coding, self.seconds)
        if self.others < 0:
            raise RecipeError(f"others must be 0 or more, not {self.others}")

    def search(self, problem: Problem, on_progress: Progress = silent) -> Proposal:
        """Find the best level vector."""
        space = FullDomain("lattice", problem, self.levels, self.coding)
        budget = Budget(self.seconds, on_progress=on_progress)
        search = _LatticeSearch(space, budget, self.others)
        search.search_vectors()
        return search.build_proposal()


class _LatticeSearch:
    """What is known of the level vectors of a lattice: numbered in lexicographic order."""

    def __init__(self, space: FullDomain, budget: Budget, others: int) -> None:
        self.space, self.budget, self.others = space, budget, others
        self.low, high = _choose_window(space, budget)
        self.shape = high - self.low + 1
        self.whole = prod((space.high - space.low + 1).tolist())
        self.size = int(prod(self.shape.tolist()))
        # What one level of each column adds to a vector's number; the last column counts fastest.
        self.step = np.append(np.cumprod(self.shape[:0:-1])[::-1], 1)
        chunks = self._split_chunks(np.arange(self.size))
        self.floor = np.concatenate([space.score.bound_loss(self._decode_vectors(chunk)) for chunk in chunks])
        """At least so much is lost."""
        self.hidden = np.zeros(self.size)
        """At least so many rows are suppressed."""
        self.extra = np.zeros(self.size if space.score.additive and space.lasting else 0)
        """At least so much more is lost, where that can be added."""
        self.seen = np.zeros(self.size, np.bool_)
        self.best = np.inf
        self.winner: int | None = None
        self.found: list[tuple[float, int]] = []
        """The best vectors, the worst of them first, as losses with the opposite sign."""
        self.permitted = 0

    def search_vectors(self) -> None:
        """Look at vectors until no other can be better, or the time is over."""
        self._evaluate_vector(self.size - 1)  # so that there is something to release
        if not self.space.lasting and self.space.limit > 0:  # else ways up do better
            self._descend_greedily()
        # Lowest floor first: once a floor reaches the best loss, no later vector can be better.
        order = np.argsort(self.floor, kind="stable")
        first = self.floor[order[::_CHUNK]]  # floors rise while the search goes on, but the order stays
        for number, chunk in enumerate(self._split_chunks(order)):
            if first[number] >= self.best or self.budget.is_over:
                break
            for at in filter(self._is_open, chunk[self._find_open_vectors(chunk)].tolist()):
                if self.budget.is_over:
                    break
                self._resolve_vector(at)
                known = SearchFigures(None if self.winner is None else self.best, bound=float(first[number]))
                self.budget.report_progress("searching the lattice", known, number / first.size)

    def _split_chunks(self, numbers: Ints) -> Iterator[Ints]:
        return (numbers[at : at + _CHUNK] for at in range(0, numbers.size, _CHUNK))

    def _decode_vectors(self, numbers: Ints | int) -> Ints:
        vectors: Ints = np.asarray(numbers)[..., None] // self.step % self.shape + self.low
        return vectors

    def _bound_losses(self, numbers: Ints) -> Floats:
        """At least what vectors lose."""
        floor: Floats = self.floor[numbers]
        if self.extra.size:
            return np.add(floor, self.extra[numbers])
        return np.maximum(
            floor,
            self.space.score.bound_with_suppression(self._decode_vectors(numbers), self.hidden[numbers]),
        )

    def _find_open_vectors(self, numbers: Ints) -> NDArray[np.bool_]:
        """Which vectors could still be the best."""
        could = ~self.seen[numbers] & (self.hidden[numbers] <= self.space.limit)
        could[could] = self._bound_losses(numbers[could]) < self.best
        return could

    def _is_open(self, at: int) -> bool:
        """The same of one vector: of most the answer needs no arithmetic."""
        if self.seen[at] or self.hidden[at] > self.space.limit or self.floor[at] >= self.best:
            return False
        return not self.hidden[at] or bool(self._bound_losses(np.array([at]))[0] < self.best)

    def _resolve_vector(self, at: int) -> None:
        """Look at vectors on a way up from an open one, until it is known or ruled out.

        By halves, for where on the way too many rows begin to be suppressed: what is there rules out most.
        """
        way = find_path_up(self.floor, self.shape, at)
        first, last = 0, way.size
        while first < last:
            middle = (first + last) // 2
            each = way[middle]
            if not self.seen[each] and self.hidden[each] <= self.space.limit:
                self._evaluate_vector(each)
            # What fails here fails on all of the way below: only the upper half is left.
            if self.hidden[each] > self.space.limit:
                first = middle + 1
            elif self._is_open(at):
                last = middle
            else:
                break

    def _descend_greedily(self) -> None:
        """Go down from the top, always to the best of the vectors right below, as long as it gets better."""
        best = inf
        while self.winner is not None and self.best < best and not self.budget.is_over:
            best = self.best
            lower = self.winner - self.step[self._decode_vectors(self.winner) > self.low]
            for each in lower[self._find_open_vectors(lower)].tolist():
                self._evaluate_vector(each)

    def _evaluate_vector(self, at: int) -> None:
        vector = self._decode_vectors(at)
        node = self.space.evaluate_vector(vector, self.best)
        self.budget.count_states()
        self.seen[at] = True
        place = vector - self.low
        # Suppressed rows carry over to lower vectors, and a loss by larger groups to higher ones.
        if (hidden := self.space.hidden_below(node)) > self.hidden[at]:
            raise_bounds(self.hidden, self.shape, place, float(hidden), False)
        if (above := self.space.score.bound_above(node.figures)) > self.floor[at]:
            raise_bounds(self.floor, self.shape, place, above, True)
        if node.is_permitted:
            self.permitted += 1
            self._rank_vector(at, node.loss)
            # Lower vectors suppress these rows too, and each costs as much there or more.
            if self.extra.size and (extra := node.loss - self.floor[at]) > self.extra[at]:
                raise_bounds(self.extra, self.shape, place, extra, False)

    def _rank_vector(self, at: int, loss: float) -> None:
        """Remember a vector if it is among the best, as the lowest that makes the same groups."""
        lowest = self.space.lowest_alike(self._decode_vectors(at), self.low)
        at = int(((lowest - self.low) * self.step).sum())
        if any(at == -other for _, other in self.found):
            return
        if loss < self.best:
            self.best, self.winner = loss, at
        if len(self.found) <= self.others:
            # The heap's first is the worst: the greatest loss, and of ties the highest number.
            heappush(self.found, (-loss, -at))
        elif loss < -self.found[0][0]:
            heapreplace(self.found, (-loss, -at))

    def build_proposal(self) -> Proposal:
        """The best vector, and how the others stand."""
        if self.winner is None:
            raise self.space.make_unreachable_error()
        left = np.concatenate(
            [chunk[self._find_open_vectors(chunk)] for chunk in self._split_chunks(np.arange(self.size))]
        )
        bound = min(
            [self.best, *(float(self._bound_losses(chunk).min()) for chunk in self._split_chunks(left))]
        )
        windowed = self.size < self.whole
        if windowed:  # what was not considered loses at least as much as the lowest levels
            lowest = float(self.space.score.bound_loss(self.space.low)) if self.space.score.upwards else 0.0
            bound = min(bound, lowest)
        return self.space.build_proposal(
            self.space.evaluate_vector(self._decode_vectors(self.winner)),
            nodes=self.budget.nodes,
            cuts=self.size - self.budget.nodes - left.size,
            optimal=bool(left.size == 0 and (not windowed or bound >= self.best)),
            lower_bound=bound,
            search_space=float(self.whole),
            search_space_log10=log10(self.whole),
            tried=self._list_runners_up(),
            states=self._list_states(left.size),
            notes=self._build_notes(windowed),
        )

    def _list_states(self, left: int) -> tuple[tuple[str, int], ...]:
        failing = int(np.count_nonzero(~self.seen & (self.hidden > self.space.limit)))
        looked = self.budget.nodes
        return (
            ("looked at, permitted", self.permitted),
            ("looked at, refused", looked - self.permitted),
            ("ruled out by the models", failing),
            ("ruled out by the loss", self.size - looked - failing - left),
            ("left open", left),
            ("not considered", self.whole - self.size),
        )

    def _list_runners_up(self) -> tuple[tuple[str, float], ...]:
        """The best vectors, the best of them first."""
        ranked = sorted((-loss, -at) for loss, at in self.found)
        return tuple((",".join(map(str, self._decode_vectors(at))), loss) for loss, at in ranked)

    def _build_notes(self, windowed: bool) -> tuple[str, ...]:
        notes = []
        if windowed:
            notes.append(
                f"of {self.whole:.3g} level vectors the {self.size:,} around those of datafly were considered"
            )
        if not all(model.by_class for model in self.space.problem.models):
            notes.append("a bound on the whole table is kept by asking enough of every class")
        return tuple(notes)


def _choose_window(space: FullDomain, budget: Budget) -> tuple[Ints, Ints]:
    """The lowest and highest levels to consider: all, or those around the levels that datafly finds."""
    low, high = space.low, space.high
    if prod((high - low + 1).tolist()) <= _MOST:
        return low, high
    # A budget of its own: what datafly looks at must not count among this search's states.
    centre = climb_levels(space, Budget(budget.seconds)).vector
    # One level at a time to every side, so that no column uses up the window.
    first, last = centre.copy(), centre.copy()
    growing = True
    while growing:
        growing = False
        for j in range(low.size):
            for ends, step, stop in ((first, -1, low), (last, 1, high)):
                size = prod((last - first + 1).tolist())
                if (
                    ends[j] != stop[j]
                    and size // (last[j] - first[j] + 1) * (last[j] - first[j] + 2) <= _MOST
                ):
                    ends[j] += step
                    growing = True
    return first, last
