"""What a linked release, of one table or several, or one with sets, has to protect from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from shoal.algorithms.linked.set_items import SetItems
    from shoal.algorithms.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class LinkedTables:
    """Rows of several tables in one problem: first that of the people, a row each, then their events.

    A row has codes of its own table's columns; those of other tables are 0 and mean nothing. Columns weigh
    in each row what makes every column count alike over the rows of its table.
    """

    table_of: NDArray[np.int64]
    """[rows] the table of each row, in ascending order; 0 is that of the people."""
    columns: tuple[tuple[int, ...], ...]
    """By table, its quasi-identifiers; those of the people are the static columns."""
    problems: tuple[Problem, ...]
    """Each table by itself, with its sensitive columns and the person of each of its rows."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """[tables] the first row of each."""
        return np.searchsorted(self.table_of, np.arange(len(self.columns)))

    def divide_order(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """By table, the order of its own rows, of an order of all rows in which tables stay apart."""
        starts = self.starts
        parts = np.split(order, starts[1:])
        return [part - start for part, start in zip(parts, starts, strict=True)]

    def take_rows(self, order: NDArray[np.int64]) -> LinkedTables:
        """The same with the rows of each table in another order."""
        problems = tuple(
            replace(
                each, rows=each.rows.take_rows(own), person=None if each.person is None else each.person[own]
            )
            for each, own in zip(self.problems, self.divide_order(order), strict=True)
        )
        return replace(self, problems=problems)


@dataclass(frozen=True, slots=True, eq=False)
class LinkedGoal:
    """What an attacker may know of a person, beside all static columns."""

    knows: int | None
    """Of how many rows; None for all of them."""
    static: tuple[int, ...]
    """The quasi-identifiers that are the same in all rows of every person, by their places."""
    order: NDArray[np.int64] | None = None
    """[rows] the place of each row in the order in which rows of people are compared, where one is named."""
    tables: LinkedTables | None = None
    """Which rows are of which table, where there are several."""

    def take_rows(self, order: NDArray[np.int64]) -> LinkedGoal:
        """The same with rows in another order."""
        aligned = None if self.order is None else self.order[order]
        return replace(
            self, order=aligned, tables=None if self.tables is None else self.tables.take_rows(order)
        )

    def divide_rows(
        self, rows: NDArray[np.int64], columns: int
    ) -> Iterator[tuple[NDArray[np.int64], list[int]]]:
        """The places in ``rows`` of the rows of each table, with the columns that vary within it.

        Rows of different tables are never alike. Those of people have static columns only.
        """
        if self.tables is None:
            yield np.arange(rows.size), [j for j in range(columns) if j not in self.static]
            return
        table_of = self.tables.table_of[rows]
        for table in np.unique(table_of).tolist():
            yield np.flatnonzero(table_of == table), [] if table == 0 else list(self.tables.columns[table])

    def select_events(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some rows that an attacker may know: all but the rows of the table of people."""
        return rows if self.tables is None else rows[self.tables.table_of[rows] > 0]


@dataclass(frozen=True, slots=True, eq=False)
class SetProblem:
    """People with static columns and sets, and what an attacker may know: a row, and items of it."""

    static: Problem
    """The static columns and the goal; a row is a person, unless the items have owners."""
    items: SetItems
    knows: int | None
    """How many items of a person an attacker may know; None for the whole sets."""
    weight: float
    """What all columns weigh together, those of sets with them."""
    has_static: bool
    """Whether anybody knows static columns; without them all people are one class."""

    @property
    def k(self) -> int:
        """How many people have to look alike."""
        return max(model.least_size() for model in self.static.models)

    def sort_rows(self) -> NDArray[np.int64]:
        """All rows in an order that follows from what they contain, so that ties do not tell another one."""
        static, items = self.static.rows, self.items
        own = [static.sensitive, static.quasi, () if items.owner is None else (items.owner,)]
        keys = [key for part in own for key in reversed(part)]
        return np.lexsort((items.rank_rows(static.rows), *keys))

    def take_rows(self, order: NDArray[np.int64]) -> tuple[SetProblem, NDArray[np.int64]]:
        """The same with rows in another order, and where each of the items is then."""
        static = self.static
        person, group = (None if each is None else each[order] for each in (static.person, static.group))
        ordered = replace(static, rows=static.rows.take_rows(order), person=person, group=group)
        items, place = self.items.take_rows(order)
        return replace(self, static=ordered, items=items), place

    def count_owners(self, rows: NDArray[np.int64]) -> int:
        """How many people some rows are of; or groups of people, where these are counted."""
        return rows.size if self.items.owner is None else np.unique(self.items.owner[rows]).size
