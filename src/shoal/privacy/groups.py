"""Groups of people, such as households: a class must have people of several of them.

A group counts once in a class, however many of its people have rows there, as a person does: what is counted
are different owners of rows, and the owner is the group. Somebody who is in several groups brings them
together, so that all of them are one: the fewer groups, the more careful. So everybody is in one group, and a
class of k groups has k people at least.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.kernels.kinds import GROUP, PEOPLE, Rule
from shoal.privacy.base import Model
from shoal.privacy.counts import Counts
from shoal.privacy.people import count_people, number_people, number_units
from shoal.support.parameters import check_fields

Ints = NDArray[np.int64]

GROUPS = "groups"
"""What the model is called in verdicts. It is no entry of the table of models: it follows from a setting."""


@dataclass(frozen=True, slots=True)
class GroupAnonymity(Model):
    """Every class has people of at least k different groups, such as households.

    Protects from learning about a household whose members are the only ones of their class. Does not protect
    from what groups have in common.
    """

    k: int
    """Least number of groups in a class."""

    lasting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.k < 2:
            raise RecipeError(
                "groups are counted up to the number of people that the goal asks for, and it asks for none: "
                "ask for k as well, for example k = 5"
            )

    @classmethod
    def from_goal(cls, models: Iterable[Model]) -> GroupAnonymity:
        """As many groups as the goal asks for people."""
        return cls(max(model.least_people() for model in models))

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class has at least k groups."""
        return np.asarray(_get_groups(counts) >= self.k)

    def achieved(self, counts: Counts) -> int:
        """Groups in the class that has the fewest."""
        return int(_get_groups(counts).min(initial=0 if not counts.classes else np.iinfo(np.int64).max))

    def least_size(self) -> int:
        """A row of each group."""
        return self.k

    def rule(self, whole: Counts) -> Rule:
        """As many different groups among the rows."""
        return Rule(PEOPLE, GROUP, self.k)

    def within_reach(self, whole: Counts) -> str | None:
        """A table with fewer than k groups has no class of k."""
        there = int(_get_groups(whole).sum())
        if there >= self.k:
            return None
        advice = f"; ask for k of {there} or less" if there > 1 else ""
        groups = "one group" if there == 1 else f"{there:,} groups"
        return f"k = {self.k}, but the table has people of {groups}{advice}"


def _get_groups(counts: Counts) -> NDArray[np.integer]:
    assert counts.groups is not None
    return counts.groups


def number_groups(person: NDArray[np.integer], column: pl.Series) -> tuple[Ints, int]:
    """The number of the group of each row's person; and how many people are in several of those named.

    People without a group, like those whose rows name none, are a group of their own.
    """
    # A missing group is nobody else's, as a missing id is: it joins nobody but the rows of its person.
    named, missing = number_people(column)
    who = np.unique(person, return_inverse=True)[1].astype(np.int64)
    joined = _join_connected(who, named)
    known = named < int(named.max(initial=-1)) + 1 - missing
    pairs = np.unique(number_units(who, named)[known], return_index=True)[1]
    several = int(np.count_nonzero(np.bincount(who[known][pairs]) > 1))
    return np.unique(joined[who], return_inverse=True)[1].astype(np.int64), several


def _join_connected(one: Ints, other: Ints) -> Ints:
    """For each number of ``one``, a number that those share which are connected by pairs with ``other``."""
    first = int(one.max(initial=-1)) + 1
    low, high = one, other + first
    root = np.arange(first + int(other.max(initial=-1)) + 1)
    while (root[low] != root[high]).any():
        ends = np.minimum(root[low], root[high]), np.maximum(root[low], root[high])
        np.minimum.at(root, ends[1], ends[0])
        # Every number points at its root again before the next round joins roots.
        while (root != root[root]).any():
            root = root[root]
    return np.asarray(root[:first], np.int64)


@dataclass(frozen=True, slots=True)
class GroupRisk:
    """What knowing a row of one member of a group tells about the others."""

    groups: int
    people: int
    """People who have others of their group in the table."""
    certain: float
    """Mean share of their rows that only people of their group have: whoever knows such a row has found the
    group, and with it the others."""
    guess: float
    """Mean chance to guess the group among those of whom somebody has an equal row."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def measure_group_risk(kind: NDArray[np.integer], person: NDArray[np.integer], group: Ints) -> GroupRisk:
    """Count what a known row tells of a group, given the kind, the person and the group of each row."""
    who = np.unique(person, return_inverse=True)[1].astype(np.int64)
    members = count_people(group, who)
    theirs = np.flatnonzero(members[group] > 1)
    own = np.bincount(who[theirs], minlength=int(who.max(initial=-1)) + 1)
    people = int(np.count_nonzero(own))
    if not people:
        return GroupRisk(members.size, 0, 0.0, 0.0)
    there = count_people(kind, group)[kind[theirs]]
    # A person counts once, however many rows: each row has its part of that.
    weight = 1 / own[who[theirs]]
    return GroupRisk(
        members.size,
        people,
        float(weight[there == 1].sum() / people),
        float((weight / there).sum() / people),
    )
