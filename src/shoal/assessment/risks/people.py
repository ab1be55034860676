"""How dangerous a table is for people who have several rows in it: by what is known of them.

What is counted is defined in `shoal.privacy.known_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.groups import GroupRisk, measure_group_risk, number_groups
from shoal.privacy.known_rows import SMALL, KnownRows, PersonalRows, measure_known_rows
from shoal.privacy.people import number_units
from shoal.support.rates import CONFIDENCE
from shoal.table import Table
from shoal.verification.verifier import row_classes

Ints = NDArray[np.int64]
_EDGES = (1, 2, 3, 4, 5, 10, 20, 50, 100)  # numbers of rows from which on people are told apart


@dataclass(frozen=True, slots=True)
class KnownOtherwise:
    """How many people are found by something that is no row of theirs."""

    about: str
    """What is known."""
    unique: float
    """Share of people whom nobody else equals in it."""
    below: float
    """Share of people whom fewer than k people equal, themselves among these."""


@dataclass(frozen=True, slots=True)
class PeopleWithRows:
    """People who have about the same number of rows."""

    fewest: int
    most: int
    people: int
    by_one: float
    """Mean share of their rows that nobody else has."""
    by_all: float
    """Share of them who are unique by all of their rows."""


@dataclass(frozen=True, slots=True)
class PeopleRisk:
    """How many people can be found by what is known of them."""

    people: int
    rows: int
    k: int
    """Groups of fewer people are counted."""
    seed: int
    """By which people were drawn where not all could be looked at."""
    static: tuple[str, ...]
    """Quasi-identifiers that are the same in all rows of every person."""
    curve: tuple[KnownRows, ...]
    """What one, two and more known rows tell, and then all."""
    otherwise: tuple[KnownOtherwise, ...]
    """What the static columns tell, and the number of rows."""
    by_rows: tuple[PeopleWithRows, ...]
    group: GroupRisk | None = None
    """What a known row of one member of a group tells about the others, where groups are named."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "people": self.people,
            "rows": self.rows,
            "k": self.k,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "static": list(self.static),
            "known_rows": [each.to_dict() for each in self.curve],
            "known_otherwise": [asdict(each) for each in self.otherwise],
            "by_number_of_rows": [asdict(each) for each in self.by_rows],
            **({} if self.group is None else {"group": self.group.to_dict()}),
        }


def measure_people_risk(
    table: Table,
    quasi: Sequence[str],
    person: Ints,
    k: int = SMALL,
    seed: int = 0,
    group: str | None = None,
) -> PeopleRisk:
    """Count what can be known of people, given the person of each row; ``group`` is a column."""
    who, kind = np.unique(person, return_inverse=True)[1].astype(np.int64), row_classes(table, quasi)
    rows = PersonalRows.from_rows(kind, who)
    static = find_static_columns(table, quasi, who)
    return PeopleRisk(
        rows.people,
        table.rows,
        k,
        seed,
        static,
        measure_known_rows(rows, k, seed),
        tuple(_list_known_otherwise(table, static, who, rows, k)),
        tuple(_list_by_number_of_rows(rows)),
        None if group is None else measure_group_risk(kind, who, number_groups(who, table.column(group))[0]),
    )


def find_static_columns(table: Table, names: Sequence[str], who: Ints) -> tuple[str, ...]:
    """The columns that are the same in all rows of every person."""
    people = np.unique(who).size
    return tuple(
        name for name in names if np.unique(number_units(who, row_classes(table, [name]))).size == people
    )


def _list_known_otherwise(
    table: Table, static: Sequence[str], who: Ints, rows: PersonalRows, k: int
) -> list[KnownOtherwise]:
    """What somebody finds who knows no row: the static columns, the number of rows, or both."""
    found = []
    of_person = np.zeros(rows.people, np.int64)
    if static:
        # The same in all rows of a person, so that any of them says it.
        of_person[who] = row_classes(table, static)
        found.append(_count_groups("static columns", of_person, k))
    # Where everybody has one row, their number tells nothing.
    if rows.rows.max(initial=0) > 1:
        found.append(_count_groups("number of rows", rows.rows, k))
        if static:
            both = number_units(of_person, rows.rows)
            found.append(_count_groups("both of these", both, k))
    return found


def _count_groups(about: str, group: Ints, k: int) -> KnownOtherwise:
    size = np.bincount(group)[group]
    return KnownOtherwise(about, float((size == 1).mean()), float((size < k).mean()))


def _list_by_number_of_rows(rows: PersonalRows) -> list[PeopleWithRows]:
    """The people with one row, with two, and so on; those with many rows in ranges."""
    own = rows.rows
    alone = np.bincount(rows.person, rows.count * (rows.holders[rows.kind] == 1), rows.people) / own
    same = rows.count_with_same_rows() == 1
    part = np.searchsorted(_EDGES, own, "right")
    return [
        PeopleWithRows(
            int(own[there].min()),
            int(own[there].max()),
            int(there.sum()),
            float(alone[there].mean()),
            float(same[there].mean()),
        )
        for there in (part == each for each in np.unique(part).tolist())
    ]
