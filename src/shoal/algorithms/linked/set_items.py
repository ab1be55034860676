"""The items of columns of sets: an item is an event of its person, in code space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.base import Rows
from shoal.algorithms.linked.rare import find_rare_rows
from shoal.codespace.domain import Domain, expand_intervals

Levels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SetItems:
    """The items of all columns of sets, of every person; codes are numbered through, column after column."""

    domains: tuple[Domain, ...]
    """One per column of sets."""
    code: NDArray[np.int64]
    """[items] what each item is; nobody has one twice."""
    person: NDArray[np.int64]
    """[items] the row of each item; ascending. A row is a person, unless there are owners."""
    first: NDArray[np.int64]
    """[columns + 1] where the codes of each column begin, and the end."""
    nodes: NDArray[np.int64]
    """[levels, codes] the group of each code, by its first code; on the last level all of a column."""
    cost: NDArray[np.float64]
    """[codes] what an item costs that is left out: the weight of its column, shared by the items."""
    owner: NDArray[np.int64] | None = None
    """[rows] who is counted, where a person, or a group of people, has several rows."""

    @classmethod
    def from_columns(
        cls,
        domains: Sequence[Domain],
        codes: Sequence[NDArray[np.integer]],
        people: Sequence[Rows],
        weights: NDArray[np.float64],
        owner: NDArray[np.int64] | None = None,
    ) -> SetItems:
        """The items of columns, given by column the code and the row of each item."""
        sizes = np.array([domain.size for domain in domains], np.int64)
        first = np.concatenate(([0], np.cumsum(sizes)))
        cost = weights / np.maximum([each.size for each in codes], 1)
        levels = [list_levels(domain) for domain in domains]
        height = max(len(each) for each in levels)
        nodes = [
            np.concatenate([each, np.repeat(each[-1:], height - len(each), axis=0)]) + start
            for each, start in zip(levels, first[:-1], strict=True)
        ]
        code = np.concatenate(
            [each.astype(np.int64) + at for each, at in zip(codes, first[:-1], strict=True)]
        )
        person = np.concatenate(people)
        order = np.argsort(person, kind="stable")
        return cls(
            tuple(domains),
            code[order],
            person[order],
            first,
            np.concatenate(nodes, axis=1),
            np.repeat(cost, sizes),
            owner,
        )

    def rank_rows(self, rows: int) -> NDArray[np.int64]:
        """[rows] a number that follows from the items of each row, the same where these are."""
        rank = np.zeros(rows, np.int64)
        order = np.lexsort((self.code, self.person))
        person, code = self.person[order], self.code[order]
        nth = np.arange(person.size) - np.searchsorted(person, person)
        # By the first item, then by the second, and so on: as many steps as the largest set has items.
        for step in range(int(nth.max(initial=-1)) + 1):
            key = rank * (int(self.first[-1]) + 1)
            key[person[nth == step]] += code[nth == step] + 1
            rank = np.unique(key, return_inverse=True)[1].astype(np.int64)
        return rank

    def take_rows(self, order: NDArray[np.int64]) -> tuple[SetItems, NDArray[np.int64]]:
        """The same with rows in another order, and where each of these items is then."""
        person = np.argsort(order, kind="stable")[self.person]
        sequence = np.argsort(person, kind="stable")
        owner = None if self.owner is None else self.owner[order]
        items = replace(self, code=self.code[sequence], person=person[sequence], owner=owner)
        return items, np.argsort(sequence, kind="stable")

    def find_places(self, people: Rows) -> Rows:
        """The places of the items of some people, person after person."""
        start = np.searchsorted(self.person, people)
        return np.asarray(
            expand_intervals(start, np.searchsorted(self.person, people, side="right") - 1)[1], np.int64
        )

    def find_column(self, code: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which column each code is of."""
        return np.asarray(np.searchsorted(self.first, code, side="right") - 1, np.int64)

    def compute_widths(self, code: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
        """The width of the tightest cell around the codes of each group, for each of them.

        Codes ascend, each once, and so do the groups.
        """
        start = np.flatnonzero(np.diff(group, prepend=-1))
        low, high = code[start], code[np.append(start[1:], code.size) - 1]
        size = np.diff(np.append(start, code.size))
        width = np.zeros(start.size)
        column = self.find_column(low)
        for j, domain in enumerate(self.domains):
            here, begin = column == j, self.first[j]
            if domain.kind == "tree":
                ends = domain.snap(low[here] - begin, high[here] - begin)
                width[here] = domain.compute_widths(*ends)
            else:  # the set of the values that are there
                width[here] = (size[here] - 1) / max(domain.size - 1, 1)
        return np.repeat(width, size)


def list_levels(domain: Domain) -> NDArray[np.int64]:
    """[levels, codes] groups of the values of a column, by their first codes.

    Those of its hierarchy; without one, two neighbours, four, and so on, of which the commonest come first.
    """
    code = np.arange(domain.size)
    if domain.hierarchy is None:
        return np.stack([code >> level << level for level in range((domain.size - 1).bit_length() + 1)])
    height = domain.hierarchy.height
    return np.stack([domain.hierarchy.extent(np.full_like(code, at), code)[0] for at in range(height + 1)])


@dataclass(frozen=True, slots=True, eq=False)
class PartItems:
    """The items of the people of one static class, with their codes numbered without gaps."""

    items: SetItems
    rows: Rows
    """Which of the items."""
    person: NDArray[np.int64]
    code: NDArray[np.int64]
    """[rows] number of the code."""
    codes: NDArray[np.int64]
    """[numbers] the codes that occur, ascending."""
    nodes: NDArray[np.int64]
    """[levels, numbers] the group of each, numbered without gaps on each level."""
    width: NDArray[np.float64]
    """[levels, numbers] what of its column the group covers that has values here."""
    cost: NDArray[np.float64]
    """[numbers] what an item costs that is left out."""
    owner: NDArray[np.int64] | None
    """[persons] who is counted, where somebody has several rows."""

    @classmethod
    def from_rows(cls, items: SetItems, rows: Rows) -> PartItems:
        """The items at some places."""
        codes, code = np.unique(items.code[rows], return_inverse=True)
        # Groups ascend with their codes, so that a new one begins where the number changes.
        nodes = np.cumsum(np.diff(items.nodes[:, codes], axis=1, prepend=-1) != 0, axis=1) - 1
        width = np.stack([items.compute_widths(codes, level) for level in nodes])
        having, person = np.unique(items.person[rows], return_inverse=True)
        owner = None if items.owner is None else items.owner[having]
        return cls(items, rows, person, code, codes, nodes, width, items.cost[codes], owner)

    @property
    def levels(self) -> int:
        """Number of levels."""
        return len(self.nodes)

    def count_choices(self, knows: int) -> float:
        """About how many choices of up to so many items the people have."""
        size = np.bincount(self.person).astype(np.float64)
        found, choices = np.ones(size.size), 0.0
        for at in range(knows):
            found *= np.maximum(size - at, 0.0) / (at + 1)
            choices += float(found.sum())
        return choices

    def number_cells(self, level: Levels, gone: NDArray[np.bool_]) -> NDArray[np.int64]:
        """[rows] the cell of each item, given the level of each code; -1 for items that are left out."""
        at = np.arange(self.codes.size)
        group = np.unique(level * at.size + self.nodes[level, at], return_inverse=True)[1]
        return np.where(gone, -1, group[self.code])

    def find_rare(self, cell: NDArray[np.int64], knows: int, k: int) -> Rows | None:
        """Items in rare combinations, of which none would be left without them; None if there are none."""
        rare = find_rare_rows(self.person, cell, knows, k, 1, self.owner)
        if rare is None:
            return None
        # All items of a person in the same cell, for they are released as one.
        width = int(cell.max()) + 2
        key = self.person * width + cell + 1
        return np.flatnonzero(np.isin(key, key[rare.rows]) & (cell >= 0))

    def sum_loss(self, level: Levels, gone: NDArray[np.bool_]) -> float:
        """What items lose in cells of these levels, of which some are left out."""
        at = np.arange(self.codes.size)
        every = np.bincount(self.code, minlength=at.size)
        out = np.bincount(self.code[gone], minlength=at.size)
        lost = self.cost * (self.width[level, at] * (every - out) + out)
        return float(np.add.accumulate(lost)[-1])  # one after another, on every processor
