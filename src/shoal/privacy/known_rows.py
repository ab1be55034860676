"""What somebody finds who knows some rows of a person, where the rows of a person can be brought together.

This is the one definition, beside that of a count of people. Rows whose quasi-identifiers are equal are of
one *kind*. Whoever knows m rows of a person, or all where there are fewer, finds the people who have at least
as many rows of each of their kinds. A person is *unique* by these rows if nobody else is found, and *below k*
if fewer than k people are, the person among them.

References
----------
Y.-A. de Montjoye, C. A. Hidalgo, M. Verleysen, V. D. Blondel, "Unique in the crowd: the privacy bounds of
human mobility", Scientific Reports 3, 2013: people drawn at random, and rows of each drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RecipeError
from shoal.support.rates import Estimate, Rate

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SMALL = 5  # groups of fewer people are counted where nothing else is asked for
MOST_KNOWN = 5  # rows that somebody may know; beyond, all rows are the next question
SAMPLED = 2000  # people who are looked at where not all can be
_MOST_PAIRS = 1 << 24  # pairs of kinds of one person that are counted one by one
_PART = 1 << 20  # of them at a time
_FIRST = 64  # people who are looked at before it is asked whether enough have been found


@dataclass(frozen=True, slots=True, eq=False)
class PersonalRows:
    """How many rows of each kind each person has; people and kinds are numbered from 0 without gaps."""

    person: Ints
    """[entries] by person, then by kind; a person has one entry for each kind."""
    kind: Ints
    count: Ints
    """How many rows of that kind the person has."""
    start: Ints
    """[people + 1] where the entries of each person begin."""
    holders: Ints
    """[kinds] how many people have a row of it."""

    @classmethod
    def from_rows(cls, kind: NDArray[np.integer], person: NDArray[np.integer]) -> PersonalRows:
        """Count the rows of each person, given the kind and the person of each row."""
        who = np.unique(person, return_inverse=True)[1].astype(np.int64)
        what = np.unique(kind, return_inverse=True)[1].astype(np.int64)
        kinds = int(what.max(initial=-1)) + 1
        entry, count = np.unique(who * kinds + what, return_counts=True)
        owner, of_kind = np.divmod(entry, max(kinds, 1))
        people = int(who.max(initial=-1)) + 1
        start = np.searchsorted(owner, np.arange(people + 1))
        return cls(owner, of_kind, count.astype(np.int64), start, np.bincount(of_kind, minlength=kinds))

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.start.size - 1

    @property
    def rows(self) -> Ints:
        """[people] how many rows each has."""
        return _sum_by(self.person, self.count, self.people).astype(np.int64)

    def count_with_same_rows(self) -> Ints:
        """[people] how many people have the same rows, each kind as often: whoever knows all finds them."""
        number = self.number_by_rows()
        return np.asarray(np.bincount(number)[number], np.int64)

    def number_by_rows(self) -> Ints:
        """[people] a number that those share who have the same rows, each kind as often."""
        item = _number_pairs(self.kind, self.count)
        length, whose = np.diff(self.start), self.person
        # Two neighbours of a person become one item until everybody has one: few rounds, however many rows.
        while length.max(initial=0) > 1:
            place = np.arange(item.size) - np.repeat(np.cumsum(length) - length, length)
            first = np.flatnonzero(place % 2 == 0)
            paired = place[first] + 1 < length[whose[first]]
            second = np.where(paired, item[np.minimum(first + 1, item.size - 1)] + 1, 0)
            item, whose, length = _number_pairs(item[first], second), whose[first], (length + 1) // 2
        return item


@dataclass(frozen=True, slots=True)
class KnownRows:
    """How many people are found by so many known rows."""

    known: int | None
    """How many rows are known of a person, all where there are fewer; None for all rows of everybody."""
    unique: Estimate
    """Share of people whom nobody else equals in rows of theirs that were drawn at random."""
    below: Estimate
    """Share of people whom fewer than k people equal in them, themselves among these."""
    ever_unique: float | None
    """Share of people of whom some choice of so many rows is nobody else's; None where not counted."""
    ever_below: float | None
    """Share of people of whom some choice of so many rows is that of fewer than k people."""
    looked_at: int
    """People who were looked at."""
    is_exact: bool
    """Whether all people were, with all their choices of rows."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "known": "all" if self.known is None else self.known,
            "unique": self.unique.to_dict(),
            "below": self.below.to_dict(),
            "ever_unique": self.ever_unique,
            "ever_below": self.ever_below,
            "people": self.looked_at,
            "exact": self.is_exact,
        }


def format_known(known: int | None) -> str:
    """How many rows are known, in words."""
    return "all rows" if known is None else "1 row" if known == 1 else f"{known} rows"


def check_small(k: int) -> int:
    """Refuse a size of groups that no group could be below."""
    if k < 2:
        raise RecipeError(f"groups are below k people, and k is at least 2, not {k}")
    return k


def measure_known_rows(rows: PersonalRows, k: int = SMALL, seed: int = 0) -> tuple[KnownRows, ...]:
    """The curve: what one, two and more known rows tell, and then all.

    One row and all rows are counted, in time that grows with the rows. Two rows are counted by pairs as long
    as there are not too many. Otherwise, and for more rows, a sample of people is drawn by ``seed``.
    """
    most = min(int(rows.rows.max(initial=0)), MOST_KNOWN)
    found = [_sum_up(1, *_weigh_single_rows(rows, k))] if most else []
    if most > 1 and _count_pairs(rows) <= _MOST_PAIRS:
        found.append(_sum_up(2, *_weigh_pairs(rows, k)))
    drawn = draw_known_rows(rows, most, np.random.default_rng(seed)) if most > len(found) else None
    for known in range(len(found) + 1, most + 1):
        assert drawn is not None
        fits, _ = find_matching_people(rows, drawn[:, :known], k)
        found.append(_estimate(known, fits, k))
    if most > 1:
        same = rows.count_with_same_rows()
        alone, few = (same == 1).astype(np.float64), (same < k).astype(np.float64)
        found.append(_sum_up(None, alone, few))
    return tuple(found)


def _sum_up(known: int | None, alone: Floats, few: Floats) -> KnownRows:
    """What was counted for everybody: the share of each person's choices that one, or few people have."""
    unique, below = float(alone.mean()), float(few.mean())
    return KnownRows(
        known,
        Estimate(unique, unique, unique),
        Estimate(below, below, below),
        float((alone > 0).mean()),
        float((few > 0).mean()),
        alone.size,
        True,
    )


def _estimate(known: int, fits: Ints, k: int) -> KnownRows:
    """What a sample says, with Wilson's interval over people: of each, one choice of rows was drawn."""
    alone, few = (Rate(int((fits < size).sum()), fits.size).estimate() for size in (2, k))
    return KnownRows(known, alone, few, None, None, fits.size, False)


def _weigh_single_rows(rows: PersonalRows, k: int) -> tuple[Floats, Floats]:
    """[people] the share of a person's rows that nobody else has, and that fewer than k people have."""
    held = rows.holders[rows.kind]
    alone, few = (_sum_by(rows.person, rows.count * (held < size), rows.people) for size in (2, k))
    return alone / rows.rows, few / rows.rows


def _count_pairs(rows: PersonalRows) -> int:
    """How many pairs of kinds have to be counted: a kind that one person has makes every pair unique."""
    shared = _sum_by(rows.person, rows.holders[rows.kind] > 1, rows.people)
    return int((shared * (shared - 1)).sum()) // 2


def _weigh_pairs(rows: PersonalRows, k: int) -> tuple[Floats, Floats]:
    """[people] the share of the pairs of a person's rows that nobody else has, and that few have."""
    own, many = rows.rows, rows.people
    pairs = own * (own - 1) // 2
    shared = rows.holders[rows.kind] > 1
    rest = _sum_by(rows.person, rows.count * shared, many).astype(np.int64)
    # Pairs with a row that nobody else has are nobody else's, without counting them.
    told = (pairs - rest * (rest - 1) // 2).astype(np.float64)
    alone, few = told, told.copy()
    for person, weight, people in _list_counted_pairs(rows, np.flatnonzero(shared)):
        alone += _sum_by(person, weight * (people < 2), many)
        few += _sum_by(person, weight * (people < k), many)
    single_alone, single_few = _weigh_single_rows(rows, k)
    # Of whoever has one row, that is all there is to know.
    some = np.maximum(pairs, 1)
    return np.where(pairs > 0, alone / some, single_alone), np.where(pairs > 0, few / some, single_few)


def _list_counted_pairs(rows: PersonalRows, shared: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Of pairs of kinds: the person, how many pairs of rows these are, and how many people have one."""
    person, kind, count = rows.person[shared], rows.kind[shared], rows.count[shared]
    twice = count > 1  # two rows of one kind
    equal = np.bincount(kind[twice], minlength=rows.holders.size)[kind[twice]]
    yield person[twice], count[twice] * (count[twice] - 1) // 2, equal
    later = np.searchsorted(person, person, "right") - np.arange(person.size) - 1
    # By the first kind of the pair: all people who have a pair are then in one part.
    order = np.argsort(kind, kind="stable")
    for part in _divide_by_kind(kind[order], later[order]):
        at = order[part]
        first = np.repeat(at, later[at])
        second = first + 1 + np.arange(first.size) - np.repeat(np.cumsum(later[at]) - later[at], later[at])
        key = kind[first] * rows.holders.size + kind[second]
        _, number, people = np.unique(key, return_inverse=True, return_counts=True)
        yield person[first], count[first] * count[second], people[number]


def _divide_by_kind(kind: Ints, weight: Ints) -> Iterator[slice]:
    """Divide entries sorted by kind into parts of about equal weight, so that no kind is divided."""
    if not kind.size:
        return
    part = np.cumsum(weight) // _PART
    ends = np.flatnonzero(np.diff(kind)) + 1
    # A part ends where a kind does, and the next one begins a new amount.
    cut = ends[np.flatnonzero(np.diff(part[ends - 1], prepend=0) > 0)]
    bounds = [0, *cut.tolist(), kind.size]
    yield from (slice(a, b) for a, b in pairwise(bounds) if a < b)


def draw_known_rows(rows: PersonalRows, most: int, rng: np.random.Generator, sample: int = SAMPLED) -> Ints:
    """[people, most] the kinds of rows that are known of some people drawn at random; -1 beyond their rows.

    Whoever knows three rows of a person also knows the two before, so that a curve of them cannot fall.
    """
    drawn = rng.choice(rows.people, min(sample, rows.people), replace=False)
    width = np.diff(rows.start)[drawn]
    entry = list_ranges(rows.start[drawn], width)
    target = np.repeat(np.repeat(np.arange(drawn.size), width), rows.count[entry])
    kind = np.repeat(rows.kind[entry], rows.count[entry])
    order = np.lexsort((rng.random(kind.size), target))
    target, kind = target[order], kind[order]
    place = np.arange(kind.size) - np.searchsorted(target, target)
    known = np.full((drawn.size, most), -1, np.int64)
    kept = place < most
    known[target[kept], place[kept]] = kind[kept]
    return known


def find_matching_people(rows: PersonalRows, known: Ints, enough: int) -> tuple[Ints, Ints]:
    """How many people have all the rows that are known of each target, and one of them; -1 for nobody.

    Of a target at least one row is known, each by its kind, with -1 beyond; counting stops at ``enough``.
    """
    needed = (known[:, :, None] == known[:, None, :]).sum(axis=2)
    held = np.where(known >= 0, rows.holders[known], np.iinfo(np.int64).max)
    # Only who has the rarest of the rows can have all of them.
    rarest = np.take_along_axis(known, held.argmin(axis=1)[:, None], axis=1)[:, 0]
    by_kind = np.argsort(rows.kind, kind="stable")
    first = np.cumsum(rows.holders) - rows.holders
    key = rows.person * rows.holders.size + rows.kind
    found, example = np.zeros(len(known), np.int64), np.full(len(known), -1)
    done, width = 0, _FIRST
    open_ = np.arange(len(known))
    while open_.size:
        left = np.minimum(rows.holders[rarest[open_]] - done, width)
        for part in divide_by_weight(left, _PART):
            at, size = open_[part], left[part]
            person = rows.person[by_kind[list_ranges(first[rarest[at]] + done, size)]]
            target = np.repeat(at, size)
            fits = _have_rows(rows, key, person, known[target], needed[target])
            found += np.bincount(target[fits], minlength=found.size)
            example[target[fits]] = person[fits]
        done, width = done + width, 4 * width
        open_ = open_[(found[open_] < enough) & (rows.holders[rarest[open_]] > done)]
    return np.minimum(found, enough), example


def _have_rows(rows: PersonalRows, key: Ints, person: Ints, known: Ints, needed: Ints) -> Mask:
    """Whether each person has the rows that are known, each kind as often as needed; ``key`` is sorted."""
    left = np.arange(person.size)
    for j in range(known.shape[1]):
        wanted = person[left] * rows.holders.size + known[left, j]
        at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
        has = ((key[at] == wanted) & (rows.count[at] >= needed[left, j])) | (known[left, j] < 0)
        # Most people lack one of the first rows, and are not looked for again.
        left = left[has]
    fits = np.zeros(person.size, np.bool_)
    fits[left] = True
    return fits


def divide_by_weight(weight: Ints, most: int) -> Iterator[slice]:
    """Neighbours in parts of about ``most`` weight."""
    bounds = np.flatnonzero(np.diff(np.cumsum(weight) // most, prepend=0) > 0)
    edges = [0, *(bounds + 1).tolist(), weight.size]
    yield from (slice(a, b) for a, b in pairwise(edges) if a < b)


def list_ranges(start: Ints, size: Ints) -> Ints:
    """The numbers from each start on, as many as its size, one range after another."""
    return np.asarray(
        np.arange(int(size.sum())) + np.repeat(start - (np.cumsum(size) - size), size), np.int64
    )


def _number_pairs(one: Ints, other: Ints) -> Ints:
    """Number the different pairs."""
    key = one * (int(other.max(initial=0)) + 1) + other
    return np.asarray(np.unique(key, return_inverse=True)[1], np.int64)


def _sum_by(place: Ints, weight: NDArray[np.generic], size: int) -> Floats:
    """Sums of whole numbers by place, which a float holds exactly."""
    return np.asarray(np.bincount(place, weight.astype(np.float64), size), np.float64)
