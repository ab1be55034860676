"""What is wrong with a hierarchy, all of it at once, and the hierarchy with that put right."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple, TypeAlias

from shoal.errors import quote
from shoal.hierarchies.assembly import ROOT, Listing, Row, check_size, levelled
from shoal.hierarchies.hierarchy import Hierarchy, uncovered

Kind: TypeAlias = Literal["several roots", "empty label", "duplicate", "not nested", "uncovered"]

_NEAR = 0.85
"""How alike two spellings of one value are at least, from 0 to 1."""
_MOST_PAIRS = 200_000
"""Of values and leaves, so that looking for similar ones does not take long."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and what would put it right."""

    kind: Kind
    message: str
    fix: str


class Checked(NamedTuple):
    """What a check found, and the hierarchy with every fix done."""

    problems: tuple[Problem, ...]
    fixed: Hierarchy
    unused: int
    """Leaves that the column does not have; they do no harm."""


def check_hierarchy(listing: Listing, values: Iterable[str] = ()) -> Checked:
    """Find all that is wrong with a hierarchy as a file lists it.

    Parameters
    ----------
    listing : Listing
        The rows of the file.
    values : iterable of str
        The values of a column that the hierarchy should have.
    """
    rows, origin = listing
    check_size(rows, origin)
    problems = list(_roots(rows))
    table = _Table([list(row) for row in zip(*levelled(rows), strict=True)], origin.place)
    problems += [*table.fill_empty(), *table.drop_repeated(), *table.nest()]
    tree = Hierarchy.from_rows(table.rows, origin.source)
    # What is blank can be no leaf, and counts as missing where it matters.
    present = [value for value in dict.fromkeys(values) if value.strip()]
    further, tree = _cover(tree, present)
    unused = len(set(tree.leaves).difference(present)) if present else 0
    return Checked((*problems, *further), tree, unused)


def _roots(rows: Sequence[Row]) -> Iterator[Problem]:
    """Rows that have groups but do not end in one label."""
    ends = list(dict.fromkeys(row[-1] for row in rows if len(row) > 1))
    if len(ends) > 1:
        yield Problem(
            "several roots",
            f"there are {len(ends)} roots: {quote(ends)}",
            f"put a root '{ROOT}' above them",
        )


class _Table:
    """Rows of equal length while they are put right."""

    def __init__(self, rows: list[list[str]], place: Callable[[int], str]) -> None:
        self.rows = rows
        self._places = [place(row) for row in range(len(rows))]

    def fill_empty(self) -> Iterator[Problem]:
        """Repeat the label below an empty one; a row without a value goes."""
        for row, place in zip(self.rows, self._places, strict=True):
            for level in range(1, len(row)):
                if row[0].strip() and not row[level].strip():
                    row[level] = row[level - 1]
                    yield Problem(
                        "empty label",
                        f"{place}: '{row[0]}' has an empty label at level {level}",
                        f"repeat '{row[level]}' from the level below",
                    )
            if not row[0].strip():
                yield Problem("empty label", f"{place}: the value is empty", "leave the row out")
        self._keep([bool(row[0].strip()) for row in self.rows])

    def drop_repeated(self) -> Iterator[Problem]:
        """Keep the first row of each value."""
        first: dict[str, int] = {}
        for at, row in enumerate(self.rows):
            earlier = first.setdefault(row[0], at)
            if earlier != at:
                same = row == self.rows[earlier]
                with_what = "the same groups" if same else f"other groups: {_path(row)}"
                yield Problem(
                    "duplicate",
                    f"{self._places[at]}: '{row[0]}' stands there again, with {with_what}",
                    f"keep that of {self._places[earlier]}{'' if same else f': {_path(self.rows[earlier])}'}",
                )
        kept = set(first.values())
        self._keep([at in kept for at in range(len(self.rows))])

    def nest(self) -> Iterator[Problem]:
        """Divide each label that has several parents; that with most leaves keeps the name."""
        # From the top, so that what is divided above divides what lies below it.
        for level in range(len(self.rows[0]) - 2, 0, -1) if self.rows else ():
            parents = self._parents(level)
            taken = set(parents)
            for label, above in parents.items():
                for parent, _ in above.most_common()[1:]:
                    name = _free(f"{label} ({parent})", taken)
                    self._rename(level, label, parent, name)
                    yield Problem(
                        "not nested",
                        f"'{label}' (level {level}) is in {quote(above)}",
                        f"call it '{name}' where it is in '{parent}'",
                    )

    def _parents(self, level: int) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            found.setdefault(row[level], Counter())[row[level + 1]] += 1
        return found

    def _rename(self, level: int, label: str, parent: str, name: str) -> None:
        for row in self.rows:
            if (row[level], row[level + 1]) == (label, parent):
                row[level] = name

    def _keep(self, which: Sequence[bool]) -> None:
        self.rows = [row for row, kept in zip(self.rows, which, strict=True) if kept]
        self._places = [place for place, kept in zip(self._places, which, strict=True) if kept]


def _cover(tree: Hierarchy, values: Sequence[str]) -> tuple[list[Problem], Hierarchy]:
    """Find a place for values that are no leaves: beside another spelling, in a group, or under the root."""
    strange = uncovered(tree, values)
    if not strange:
        return [], tree
    rows = {row[0]: row for row in tree.to_rows()}
    # Of groups of one name the lowest counts, so that the value does not meet another on its way up.
    groups = {row[level]: row[level:] for level in range(tree.height - 1, 0, -1) for row in rows.values()}
    nearest = _Spellings(tree.leaves, len(strange) * len(rows) <= _MOST_PAIRS)
    used, problems, instead = set(values), [], dict[str, str]()
    for value in strange:
        leaf = nearest.of(value)
        if value in groups:
            above = groups[value]
            rows[value] = (*[value] * (tree.height + 1 - len(above)), *above)
            fix = "put it into the group of that name"
        elif leaf is None:
            rows[value] = (value, tree.root)
            fix = f"put it directly under the root '{tree.root}'"
        elif leaf in used:
            rows[value] = (value, *rows[leaf][1:])
            fix = f"put it beside '{leaf}', in {_path(rows[leaf])}"
        else:
            used.add(leaf)
            instead[leaf] = value
            fix = f"write it instead of '{leaf}', in {_path(rows[leaf])}"
        problems.append(Problem("uncovered", f"the column has '{value}'", fix))
    listed = [(instead.get(row[0], row[0]), *row[1:]) for row in rows.values()]
    return problems, Hierarchy.from_rows(listed)


class _Spellings:
    """The leaves of a hierarchy, found by other spellings."""

    def __init__(self, leaves: Sequence[str], similar: bool) -> None:
        self._leaves = {_plain(leaf): leaf for leaf in reversed(leaves)}
        self._similar = similar

    def of(self, value: str) -> str | None:
        """The leaf that ``value`` is another spelling of."""
        plain = _plain(value)
        if not plain or plain in self._leaves:
            return self._leaves.get(plain)
        # Numbers that look alike are different numbers.
        if not self._similar or any(character.isdigit() for character in plain):
            return None
        near = get_close_matches(plain, self._leaves, n=1, cutoff=_NEAR) or self._longer(plain)
        return self._leaves[near[0]] if near else None

    def _longer(self, plain: str) -> list[str]:
        """The one leaf that begins so, if it is the only one."""
        found = [leaf for leaf in self._leaves if leaf.startswith(plain)] if len(plain) > 3 else []
        return found if len(found) == 1 else []


def _plain(text: str) -> str:
    """Text without what spellings differ in: case, accents, spaces and signs."""
    bare = unicodedata.normalize("NFKD", text.casefold())
    return re.sub(r"[\W_]|\b(?:and|the)\b", "", "".join(c for c in bare if not unicodedata.combining(c)))


def _path(row: Sequence[str]) -> str:
    return f"'{'/'.join(dict.fromkeys(reversed(row[1:-1]))) or row[-1]}'"


def _free(name: str, taken: set[str]) -> str:
    """A name that no other label of the level has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name
