"""Whom a released row could be: both meanings of k-anonymity, as their definitions say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from shoal.teach.tables import Person, Row, write_labels

Meaning: TypeAlias = Literal["matching", "classes"]


def covers(row: Row, person: Person) -> bool:
    """Whether a released row could be a person: each cell could stand for the person's value."""
    return all(value in cell.values for cell, value in zip(row, person, strict=False))


def find_matches(row: Row, people: Sequence[Person]) -> tuple[int, ...]:
    """The people that a released row covers."""
    return tuple(j for j, person in enumerate(people) if covers(row, person))


def list_assignments(
    matches: Sequence[Sequence[int]], taken: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Every answer to "who is who": each row gets a person that it covers, and nobody gets two rows."""
    if len(taken) == len(matches):
        yield taken
        return
    for person in matches[len(taken)]:
        if person not in taken:
            yield from list_assignments(matches, (*taken, person))


def score_by_assignments(matches: Sequence[Sequence[int]]) -> list[int]:
    """Per row, how many people it is in some answer. There are up to n! answers."""
    found: list[set[int]] = [set() for _ in matches]
    for answer in list_assignments(matches):
        for row, person in enumerate(answer):
            found[row].add(person)
    return [len(people) for people in found]


def find_reach(matches: Sequence[Sequence[int]]) -> list[set[int]]:
    """Per row, where its arcs lead to, directly or by other rows (S. Warshall, 1962)."""
    reach = [set(people) for people in matches]
    for via, further in enumerate(reach):
        for known in reach:
            if via in known:
                known.update(further)
    return reach


def score_by_components(matches: Sequence[Sequence[int]]) -> list[int]:
    """The same scores without listing answers.

    Every row covers the person that it was made from, so one answer is known. All others move people in
    cycles. An arc from row to person is therefore in some answer exactly if the person's row leads back.
    """
    reach = find_reach(matches)
    return [sum(row in reach[person] for person in people) for row, people in enumerate(matches)]


def score_by_classes(rows: Sequence[Row]) -> list[int]:
    """Per row, how many rows are written like it."""
    written = write_labels(rows)
    return [written.count(row) for row in written]
