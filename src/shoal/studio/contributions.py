"""What each column adds to the risk: how many people are singled out with it, and how many without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.encoding import build_dictionary
from shoal.codespace.frequency import rank_rows
from shoal.table import Table

Ranks = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ColumnContribution:
    """The share of the people whom the recognisable columns single out, with a column and without it."""

    without: float
    together: float

    @property
    def added(self) -> float:
        """What the column adds."""
        return self.together - self.without


def measure_contributions(
    table: Table, quasi: Sequence[str], others: Sequence[str], person: NDArray[np.int64] | None = None
) -> Mapping[str, ColumnContribution]:
    """What each recognisable column adds to the rest of them, and each other one to all of them.

    Where ``person`` says whose row each is, somebody is singled out by a class that nobody else is in.
    """
    if not quasi:
        return {}
    # Numbers of the classes by the columns up to each, and from each on: a class by all but one
    # column is then a pair of two numbers, however many columns there are.
    before = _join_ranks([np.zeros(table.rows, np.int32), *(_number_values(table, name) for name in quasi)])
    after = _join_ranks([before[0], *(_number_values(table, name) for name in reversed(quasi))])[::-1]
    every = before[-1]
    together = _measure_uniqueness(every, person)
    found = {}
    for at, name in enumerate(quasi):
        rest = _pair_ranks(before[at], after[at + 1])
        found[name] = ColumnContribution(_measure_uniqueness(rest, person), together)
    for name in others:
        more = _pair_ranks(every, _number_values(table, name))
        found[name] = ColumnContribution(together, _measure_uniqueness(more, person))
    return found


def _number_values(table: Table, name: str) -> Ranks:
    """The number of the value of each row; a missing one is a value, too."""
    return build_dictionary(table.column(name))[1].astype(np.int32)


def _join_ranks(columns: Sequence[Ranks]) -> list[Ranks]:
    """The numbers of the classes by the first column, by the first two, and so on."""
    found = [columns[0]]
    for column in columns[1:]:
        found.append(_pair_ranks(found[-1], column))
    return found


def _pair_ranks(one: Ranks, two: Ranks) -> Ranks:
    return rank_rows([one, two], [int(each.max(initial=0)) + 1 for each in (one, two)])


def _measure_uniqueness(rank: Ranks, person: NDArray[np.int64] | None) -> float:
    """The share of the people whose class has nobody else; in several classes somebody counts in each."""
    if person is None:
        members = np.bincount(rank)
    else:
        pairs = np.unique(rank.astype(np.int64) * (int(person.max(initial=0)) + 1) + person)
        members = np.bincount(pairs // (int(person.max(initial=0)) + 1))
    return float((members == 1).sum() / max(members.sum(), 1))
