"""Dominance and bounds: decide row by row, and among the useful ways to write a row only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import NamedTuple

from shoal.teach.tables import CellOption, TeachingTable, sum_losses
from shoal.teach.textbook.anonymity import find_matches, score_by_components


class RowOption(NamedTuple):
    """One way to write a whole row."""

    cells: tuple[CellOption, ...]
    people: frozenset[int]
    """Whom it covers: all that matters for matching."""
    loss: int

    def beats(self, other: RowOption) -> bool:
        """Whether it covers all that the other one covers, for no more loss."""
        return self.people >= other.people and self.loss <= other.loss


def list_row_options(table: TeachingTable, row: int) -> list[RowOption]:
    """Every way to write a row: all combinations of the options of its cells."""
    return [
        RowOption(cells, frozenset(find_matches(cells, table.people)), sum_losses(cells))
        for cells in product(*table.options[row])
    ]


def sift_options(
    options: Sequence[RowOption], k: int
) -> Iterator[tuple[RowOption, RowOption | None, list[RowOption]]]:
    """One option after the other: itself, the kept one that beats it, and what is kept then."""
    kept: list[RowOption] = []
    for option in options:
        better = next((other for other in kept if other.beats(option)), None)
        if better is None and len(option.people) >= k:
            kept = [*(other for other in kept if not option.beats(other)), option]
        yield option, better, kept


def keep_useful(options: Sequence[RowOption], k: int) -> list[RowOption]:
    """The options that no other one beats, the cheapest first."""
    *_, (_, _, kept) = sift_options(options, k)
    return sorted(kept, key=lambda option: option.loss)


@dataclass(slots=True)
class RowBranching:
    """One useful option for one row after the other; the best table so far bounds the search."""

    table: TeachingTable
    k: int
    tell: Callable[..., None]
    """Is told every step: its kind, the search, the rows so far, and what they lose at least."""
    useful: list[list[RowOption]] = field(default_factory=list)
    best: float = inf
    chosen: tuple[RowOption, ...] = ()
    count: dict[str, int] = field(default_factory=lambda: {"visited": 0, "cut_by_bound": 0, "cut_by_k": 0})

    def __post_init__(self) -> None:
        rows = range(len(self.table.people))
        self.useful = [keep_useful(list_row_options(self.table, row), self.k) for row in rows]

    def choose_rows(self, chosen: tuple[RowOption, ...] = (), loss: int = 0) -> None:
        """Try the options of the next row, the cheapest first."""
        if len(chosen) == len(self.useful):
            self.best, self.chosen = loss, chosen
            self.tell("best", self, chosen, loss)
            return
        rest = sum(options[0].loss for options in self.useful[len(chosen) + 1 :])
        for option in self.useful[len(chosen)]:
            now, bound = (*chosen, option), loss + option.loss + rest
            if bound >= self.best:
                self.count["cut_by_bound"] += 1
                self.tell("cut by score", self, now, bound)
                break  # the other options lose more
            self.count["visited"] += 1
            self.tell("change", self, now, bound)
            if self.can_succeed(now):
                self.choose_rows(now, loss + option.loss)
            else:
                self.count["cut_by_k"] += 1
                self.tell("cut by k", self, now, bound)

    def can_succeed(self, chosen: Sequence[RowOption]) -> bool:
        """Whether the table is safe if every row that is left covers everybody: more coverage never hurts."""
        everybody = tuple(range(len(self.useful)))
        left = [everybody] * (len(self.useful) - len(chosen))
        return min(score_by_components([*(tuple(option.people) for option in chosen), *left])) >= self.k
