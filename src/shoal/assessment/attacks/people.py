"""Attack people who have several rows: somebody knows some rows of a person, and looks for that person.

Nothing is assumed about success: it is measured, in the same way for people of the original and for people
of the control group. The attacker *links* when only one answer is left:

- In a release that says which rows are of one person, one of its people is left who has a row for each of
  the rows that are known, whose cells cover them.
- In any other release no more rows are left than are known of the person, so that all of them must be theirs.

The link *succeeds* if all that the attacker did not know fits as well: every linked row covers a row of the
person and has its values in the columns that are released as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.assessment.attacks.attack_data import (
    Ints,
    KnownColumn,
    Mask,
    add_inferred_type,
    read_quasi_identifier,
)
from shoal.assessment.attacks.descriptions import to_comparable_strings
from shoal.assessment.attacks.outcome import Outcome
from shoal.errors import InputError, unknown
from shoal.privacy.known_rows import (
    MOST_KNOWN,
    PersonalRows,
    divide_by_weight,
    find_matching_people,
    format_known,
    list_ranges,
)
from shoal.privacy.people import number_people
from shoal.privacy.scale import fold_spelling
from shoal.support.rates import Rate
from shoal.table import Column, Table, to_strings
from shoal.verification.verifier import row_classes

UNCOVERED = -2  # instead of a fit; -1 stands for no row at all
_MOST_PAIRS = 1 << 22  # of a row of a person and a class that are looked at together


@dataclass(frozen=True, slots=True)
class KnownRowsAttack:
    """What somebody achieves who knows so many rows of a person."""

    known: int
    rate: Rate
    """Of the people of the original."""
    control: Rate | None
    """Of people who are not in the release; None without a control group."""
    linked: int
    """How many people of the original were linked, rightly or not."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        control = None if self.control is None else self.control.to_dict()
        return {"known": self.known, "rate": self.rate.to_dict(), "control": control, "linked": self.linked}


def describe_known_rows_attack(found: KnownRowsAttack) -> Outcome:
    """An attack by known rows as an outcome among others."""
    rows = "a row" if found.known == 1 else f"{found.known} rows"
    about = (
        f"knows {rows} of a person, drawn at random, and links the only answer that is left, which is right "
        "if all else fits as well"
    )
    wrong = found.linked - found.rate.successes
    notes = (f"{wrong:,} of {found.rate.attacks:,} people were linked wrongly",) if wrong else ()
    return Outcome(f"{format_known(found.known)} known", about, found.rate, found.control, None, None, notes)


@dataclass(frozen=True, slots=True, eq=False)
class TargetPeople:
    """People who are attacked, with all their rows, in the order in which these become known."""

    person: Ints
    """[rows] which of the people each row is of, ascending."""
    rows: Ints
    """[rows] where each stands in the table."""
    count: int

    @classmethod
    def draw(cls, whose: Ints, attacks: int, rng: np.random.Generator) -> TargetPeople:
        """Draw people, and the order of the rows of each."""
        people = int(whose.max(initial=-1)) + 1
        drawn = rng.choice(people, min(attacks, people), replace=False)
        place = np.full(people, -1)
        place[drawn] = np.arange(drawn.size)
        rows = np.flatnonzero(place[whose] >= 0)
        order = np.lexsort((rng.random(rows.size), place[whose[rows]]))
        rows = rows[order]
        return cls(place[whose[rows]], rows, drawn.size)

    def select_known(self, number: Ints, most: int) -> Ints:
        """[people, most] the numbers of the rows that are known first; -1 beyond the rows of a person."""
        known = np.full((self.count, most), -1, np.int64)
        place = np.arange(self.person.size) - np.searchsorted(self.person, self.person)
        kept = place < most
        known[self.person[kept], place[kept]] = number[kept]
        return known


def check_people_apart(original: Table, control: Table | None, name: str) -> None:
    """Refuse tables without the column, and a control group that shares people with the original."""
    for table in (original, *(() if control is None else (control,))):
        if name not in table.names:
            raise InputError(f"{table.origin}: {unknown('column', name, table.names)}")
    if control is None:
        return
    own, others = (
        fold_spelling(to_strings(table.column(name))).drop_nulls() for table in (original, control)
    )
    shared = others.filter((others != "") & others.is_in(own.implode())).unique(maintain_order=True)
    if len(shared):
        raise InputError(
            f"{control.origin}: {len(shared):,} values of '{name}' are in the original as well, but nobody "
            "of a control group is in the release: leave these people out, or give them other values"
        )


def attack_people(
    tables: tuple[Table, Table, Table | None],
    quasi: Sequence[str],
    columns: Mapping[str, Column],
    person: str,
    attacks: int,
    rng: np.random.Generator,
) -> tuple[tuple[KnownRowsAttack, ...], tuple[KnownRowsAttack, ...]]:
    """Attack the release of ``tables`` by known rows, and before that the original in place of the release.

    The tables are the release, the original and the control group. The same people are attacked both times.
    """
    release, original, control = tables
    groups = [
        (table, TargetPeople.draw(number_people(table.column(person))[0], attacks, rng))
        for table in (original, control)
        if table is not None
    ]
    before, after = (
        attack_by_known_rows(each, groups, quasi, columns, person) for each in (original, release)
    )
    return before, after


def attack_by_known_rows(
    release: Table,
    groups: Sequence[tuple[Table, TargetPeople]],
    quasi: Sequence[str],
    columns: Mapping[str, Column],
    person: str,
) -> tuple[KnownRowsAttack, ...]:
    """Attack people of the original, and of a control group where there is one, by 1, 2, ... known rows."""
    matched = MatchedTargets.from_tables(release, groups, quasi, columns, person)
    most = max(int(np.bincount(targets.person).max(initial=0)) for _, targets in groups)
    found = []
    for known in range(1, min(most, MOST_KNOWN) + 1):
        outcomes = [matched.link(i, known) for i in range(len(groups))]
        rates = [Rate(int(right.sum()), right.size) for _, right in outcomes]
        found.append(
            KnownRowsAttack(known, rates[0], rates[1] if len(rates) > 1 else None, int(outcomes[0][0].sum()))
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class MatchedTargets:
    """Which released rows cover the rows of the people who are attacked.

    Rows that the same classes cover are of one *fit*, numbered from 0; `UNCOVERED` where no class does.
    """

    targets: tuple[TargetPeople, ...]
    fit: tuple[Ints, ...]
    """By group: [rows] the fit of each row."""
    pairs: tuple[Ints, Ints]
    """All pairs of a fit and a class that covers it, by fit."""
    class_of: Ints
    """[released rows]"""
    extra: tuple[Ints, ...]
    """Of released rows, and then by group: a number for the values of all columns released as they were."""
    whose: Ints | None
    """[released rows] their person, if the release tells it."""

    @classmethod
    def from_tables(
        cls,
        release: Table,
        groups: Sequence[tuple[Table, TargetPeople]],
        quasi: Sequence[str],
        columns: Mapping[str, Column],
        person: str,
    ) -> MatchedTargets:
        """Compare all rows of the people with all classes of the release."""
        class_of = row_classes(release, quasi)
        example = np.empty(int(class_of.max(initial=-1)) + 1, np.int64)
        example[class_of] = np.arange(class_of.size)
        drawn = [Table(table.frame[targets.rows], table.origin, table.na) for table, targets in groups]
        original = groups[0][0]
        known, cells, values = [], [], []
        for name in quasi:
            column = add_inferred_type(columns.get(name, Column(name)), original)
            each, cell, value = read_quasi_identifier(
                release.column(name).gather(example), original, drawn, column
            )
            known.append(each)
            cells.append(cell)
            values.append(np.concatenate(value))
        row, cover = find_covering_classes(known, np.stack(cells, axis=1), np.stack(values, axis=1))
        fit, pairs = _number_fits(row, cover, values[0].size)
        bounds = np.cumsum([0, *(targets.rows.size for _, targets in groups)]).tolist()
        unchanged = find_unchanged_columns(release, original, drawn, {*quasi, person})
        whose = number_people(release.column(person))[0] if person in release.names else None
        return cls(
            tuple(targets for _, targets in groups),
            tuple(fit[a:b] for a, b in pairwise(bounds)),
            pairs,
            class_of,
            tuple(number_values([release, *drawn], unchanged)),
            whose,
        )

    def link(self, group: int, known: int) -> tuple[Mask, Mask]:
        """[people] who is linked by so many known rows, and who of them rightly."""
        targets = self.targets[group]
        rows = targets.select_known(self.fit[group], known)
        told = self.whose
        owner, row = self._link_to_rows(rows) if told is None else self._link_to_person(rows, told)
        linked = np.zeros(targets.count, np.bool_)
        linked[owner] = True
        right = linked.copy()
        right[owner[~self._fit_everything(group, owner, row)]] = False
        return linked, right

    def _link_to_rows(self, known: Ints) -> tuple[Ints, Ints]:
        """Pairs of a target and a released row that must be theirs: as many are left as are known."""
        size = np.bincount(self.class_of)
        fit, cover = self.pairs
        if not fit.size:  # nothing covers anybody
            return fit, cover
        left = np.bincount(fit, size[cover]).astype(np.int64)
        times = (known[:, :, None] == known[:, None, :]).sum(axis=2)
        sure = (known >= 0) & (left[known] <= times)
        target = np.flatnonzero(sure.any(axis=1))
        chosen = known[target, sure[target].argmax(axis=1)]
        # From the fit to its classes, and from these to their rows.
        classes = np.searchsorted(fit, chosen, "right") - np.searchsorted(fit, chosen)
        cell = cover[list_ranges(np.searchsorted(fit, chosen), classes)]
        target = np.repeat(target, classes)
        by_class = np.argsort(self.class_of, kind="stable")
        row = by_class[list_ranges((np.cumsum(size) - size)[cell], size[cell])]
        return np.repeat(target, size[cell]), row

    def _link_to_person(self, known: Ints, whose: Ints) -> tuple[Ints, Ints]:
        """Pairs of a target and a released row of the only person who has a row for each that is known."""
        possible = np.flatnonzero(~(known == UNCOVERED).any(axis=1))
        people, found = find_matching_people(self._count_fits(whose), known[possible], 2)
        target, person = possible[people == 1], found[people == 1]
        by_person, rows = np.argsort(whose, kind="stable"), np.bincount(whose)
        row = by_person[list_ranges((np.cumsum(rows) - rows)[person], rows[person])]
        return np.repeat(target, rows[person]), row

    def _count_fits(self, whose: Ints) -> PersonalRows:
        """How many rows of each fit each person of the release has."""
        released = PersonalRows.from_rows(self.class_of, whose)
        by_class = np.argsort(released.kind, kind="stable")
        fit, cover = self.pairs
        many = released.holders[cover]
        entry = by_class[list_ranges((np.cumsum(released.holders) - released.holders)[cover], many)]
        fits = int(fit.max(initial=-1)) + 1
        key, number = np.unique(released.person[entry] * fits + np.repeat(fit, many), return_inverse=True)
        count = np.bincount(number, released.count[entry]).astype(np.int64)
        person, kind = np.divmod(key, max(fits, 1))
        start = np.searchsorted(person, np.arange(released.people + 1))
        return PersonalRows(person, kind, count, start, np.bincount(kind, minlength=fits))

    def _fit_everything(self, group: int, owner: Ints, row: Ints) -> Mask:
        """Whether each linked row covers a row of its owner and has the values of one that it covers."""
        targets, fit = self.targets[group], self.fit[group]
        own = np.flatnonzero(np.isin(targets.person, owner) & (fit >= 0))
        first, many = (np.searchsorted(self.pairs[0], fit[own], side) for side in ("left", "right"))
        many = many - first
        cover = self.pairs[1][list_ranges(first, many)]
        person, extra = (np.repeat(each[own], many) for each in (targets.person, self.extra[group + 1]))
        mine = self._build_key(person, cover, extra)
        return np.isin(self._build_key(owner, self.class_of[row], self.extra[0][row]), mine)

    def _build_key(self, owner: Ints, cover: Ints, extra: Ints) -> Ints:
        classes = int(self.class_of.max(initial=0)) + 1
        values = max(int(each.max(initial=0)) for each in self.extra) + 1
        return np.asarray((owner * classes + cover) * values + extra, np.int64)


def find_covering_classes(known: Sequence[KnownColumn], cell: Ints, value: Ints) -> tuple[Ints, Ints]:
    """All pairs of a row and a class whose cells all cover its values; ``cell`` and ``value`` are by column.

    Of each row only the classes are looked at that cover it in the column in which fewest do.
    """
    classes, places = [], []
    for j, each in enumerate(known):
        many = np.bincount(cell[:, j], minlength=len(each.labels))
        classes.append(np.asarray(many @ each.stands, np.int64))
        places.append((np.argsort(cell[:, j], kind="stable"), np.cumsum(many) - many, many))
    fewest = np.stack([classes[j][value[:, j]] for j in range(len(known))], axis=1)
    best = fewest.argmin(axis=1)
    found: list[tuple[Ints, Ints]] = []
    for j, each in enumerate(known):
        mine = np.flatnonzero(best == j)
        for part in divide_by_weight(fewest[mine, j] + len(each.labels), _MOST_PAIRS):
            # Labels that stand for the value of each row, and then the classes that have them.
            at, label = np.nonzero(each.stands.T[value[mine[part], j]])
            order, first, many = places[j]
            cover = order[list_ranges(first[label], many[label])]
            row = np.repeat(mine[part][at], many[label])
            fits = np.ones(row.size, np.bool_)
            for i, other in enumerate(known):
                if i != j:
                    fits &= other.stands[cell[cover, i], value[row, i]]
            found.append((row[fits], cover[fits]))
    none = np.zeros(0, np.int64)
    rows, covers = (np.concatenate([none, *(each[i] for each in found)]) for i in range(2))
    return rows, covers


def _number_fits(row: Ints, cover: Ints, rows: int) -> tuple[Ints, tuple[Ints, Ints]]:
    """The fit of each row, and all pairs of a fit and a class, by fit."""
    entries = PersonalRows.from_rows(cover, row)
    covered, classes = np.unique(row), np.unique(cover)
    number = entries.number_by_rows()
    fit = np.full(rows, UNCOVERED)
    fit[covered] = number
    # Rows of one fit have the same classes, so that those of the first one are enough.
    first = np.unique(number, return_index=True)[1]
    of_fit = np.full(covered.size, -1)
    of_fit[first] = number[first]
    kept = np.flatnonzero(of_fit[entries.person] >= 0)
    kept = kept[np.argsort(of_fit[entries.person[kept]], kind="stable")]
    return fit, (of_fit[entries.person[kept]], classes[entries.kind[kept]])


def find_unchanged_columns(
    release: Table, original: Table, drawn: Sequence[Table], others: set[str]
) -> list[str]:
    """Columns that all tables have, and of which the release has nothing but values of the original."""
    found = []
    for name in release.names:
        if name in others or any(name not in table.names for table in (original, *drawn)):
            continue
        cells, values = to_comparable_strings(release.column(name), original.column(name))
        if cells.drop_nulls().is_in(values.drop_nulls().implode()).all():
            found.append(name)
    return found


def number_values(tables: Sequence[Table], names: Sequence[str]) -> list[Ints]:
    """By table: for each row a number for its values in some columns; equal rows have equal numbers."""
    rows = [table.rows for table in tables]
    number = np.zeros(sum(rows), np.int64)
    for name in names:
        # The release first: values are compared as strings that are equal where the values are.
        texts = [to_comparable_strings(tables[0].column(name), table.column(name)) for table in tables]
        both = pl.concat([text[min(i, 1)] for i, text in enumerate(texts)]).fill_null("")
        value = both.rank("dense").to_numpy().astype(np.int64)
        number = np.unique(number * (int(value.max(initial=0)) + 1) + value, return_inverse=True)[1]
    return [number[a:b].astype(np.int64) for a, b in pairwise(np.cumsum([0, *rows]).tolist())]
