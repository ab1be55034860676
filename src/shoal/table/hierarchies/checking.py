"""All problems of a hierarchy at once, and the hierarchy with these problems fixed."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple, TypeAlias

from shoal.errors import quote
from shoal.table.hierarchies.assembly import ROOT, Listing, Row, align_levels, check_size
from shoal.table.hierarchies.hierarchy import Hierarchy, uncovered

Kind: TypeAlias = Literal["several roots", "empty label", "duplicate", "not nested", "uncovered"]

_NEAR = 0.85
"""How alike two spellings of one value are at least, from 0 to 1."""
_MOST_PAIRS = 200_000
"""Of values and leaves, so that looking for similar ones does not take long."""


@dataclass(frozen=True, slots=True)
class HierarchyProblem:
    """One thing that is wrong, and what would fix it."""

    kind: Kind
    message: str
    fix: str


class HierarchyCheck(NamedTuple):
    """What a check found, and the hierarchy with every fix done."""

    problems: tuple[HierarchyProblem, ...]
    fixed: Hierarchy
    unused: int
    """Leaves that the column does not have; they do no harm."""


def check_hierarchy(listing: Listing, values: Iterable[str] = ()) -> HierarchyCheck:
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
    problems = list(_find_several_roots(rows))
    table = _HierarchyRepair([list(row) for row in zip(*align_levels(rows), strict=True)], origin.place)
    # In this order: rows are compared once their labels are filled, and parents counted once
    # every value has one row.
    problems += [*table.fill_empty(), *table.drop_repeated(), *table.divide_unnested()]
    tree = Hierarchy.from_rows(table.rows, origin.source)
    # A blank value can be no leaf, and counts as missing in a table.
    present = [value for value in dict.fromkeys(values) if value.strip()]
    further, tree = _cover_values(tree, present)
    unused = len(set(tree.leaves).difference(present)) if present else 0
    return HierarchyCheck((*problems, *further), tree, unused)


def _find_several_roots(rows: Sequence[Row]) -> Iterator[HierarchyProblem]:
    """Rows that have groups but do not end in one label."""
    ends = list(dict.fromkeys(row[-1] for row in rows if len(row) > 1))
    if len(ends) > 1:
        yield HierarchyProblem(
            "several roots",
            f"there are {len(ends)} roots: {quote(ends)}",
            f"put a root '{ROOT}' above them",
        )


class _HierarchyRepair:
    """Rows of equal length while they are repaired."""

    def __init__(self, rows: list[list[str]], place: Callable[[int], str]) -> None:
        self.rows = rows
        self._places = [place(row) for row in range(len(rows))]

    def fill_empty(self) -> Iterator[HierarchyProblem]:
        """Repeat the label below an empty one; a row without a value goes."""
        for row, place in zip(self.rows, self._places, strict=True):
            # From the bottom up, so that several empty labels in a row are all filled.
            for level in range(1, len(row)):
                if row[0].strip() and not row[level].strip():
                    row[level] = row[level - 1]
                    yield HierarchyProblem(
                        "empty label",
                        f"{place}: '{row[0]}' has an empty label at level {level}",
                        f"repeat '{row[level]}' from the level below",
                    )
            if not row[0].strip():
                yield HierarchyProblem("empty label", f"{place}: the value is empty", "leave the row out")
        self._keep_rows([bool(row[0].strip()) for row in self.rows])

    def drop_repeated(self) -> Iterator[HierarchyProblem]:
        """Keep the first row of each value."""
        first: dict[str, int] = {}
        for at, row in enumerate(self.rows):
            earlier = first.setdefault(row[0], at)
            if earlier != at:
                same = row == self.rows[earlier]
                with_what = "the same groups" if same else f"other groups: {_format_path(row)}"
                yield HierarchyProblem(
                    "duplicate",
                    f"{self._places[at]}: '{row[0]}' stands there again, with {with_what}",
                    "keep that of "
                    f"{self._places[earlier]}{'' if same else f': {_format_path(self.rows[earlier])}'}",
                )
        kept = set(first.values())
        self._keep_rows([at in kept for at in range(len(self.rows))])

    def divide_unnested(self) -> Iterator[HierarchyProblem]:
        """Divide each label that has several parents; that with most leaves keeps the name."""
        # From the top, so that what is divided above divides what lies below it.
        for level in range(len(self.rows[0]) - 2, 0, -1) if self.rows else ():
            parents = self._count_parents(level)
            taken = set(parents)
            for label, above in parents.items():
                for parent, _ in above.most_common()[1:]:
                    name = _find_free_name(f"{label} ({parent})", taken)
                    self._rename_label(level, label, parent, name)
                    yield HierarchyProblem(
                        "not nested",
                        f"'{label}' (level {level}) is in {quote(above)}",
                        f"call it '{name}' where it is in '{parent}'",
                    )

    def _count_parents(self, level: int) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            found.setdefault(row[level], Counter())[row[level + 1]] += 1
        return found

    def _rename_label(self, level: int, label: str, parent: str, name: str) -> None:
        for row in self.rows:
            if (row[level], row[level + 1]) == (label, parent):
                row[level] = name

    def _keep_rows(self, which: Sequence[bool]) -> None:
        self.rows = [row for row, kept in zip(self.rows, which, strict=True) if kept]
        self._places = [place for place, kept in zip(self._places, which, strict=True) if kept]


def _cover_values(tree: Hierarchy, values: Sequence[str]) -> tuple[list[HierarchyProblem], Hierarchy]:
    """Find a place for values that are no leaves: beside another spelling, in a group, or under the root."""
    strange = uncovered(tree, values)
    if not strange:
        return [], tree
    rows = {row[0]: row for row in tree.to_rows()}
    # Of groups of one name the lowest counts, so that the value does not meet another on its way up.
    groups = {row[level]: row[level:] for level in range(tree.height - 1, 0, -1) for row in rows.values()}
    nearest = _LeafSpellings(tree.leaves, len(strange) * len(rows) <= _MOST_PAIRS)
    used, problems, instead = set(values), [], dict[str, str]()
    for value in strange:
        leaf = nearest.find_leaf(value)
        if value in groups:
            above = groups[value]
            rows[value] = (*[value] * (tree.height + 1 - len(above)), *above)
            fix = "put it into the group of that name"
        elif leaf is None:
            rows[value] = (value, tree.root)
            fix = f"put it directly under the root '{tree.root}'"
        # The column has both spellings: the value is a leaf of its own beside the other.
        elif leaf in used:
            rows[value] = (value, *rows[leaf][1:])
            fix = f"put it beside '{leaf}', in {_format_path(rows[leaf])}"
        else:
            # Only the tree has the other spelling; a second value like it goes beside this one.
            used.add(leaf)
            instead[leaf] = value
            fix = f"write it instead of '{leaf}', in {_format_path(rows[leaf])}"
        problems.append(HierarchyProblem("uncovered", f"the column has '{value}'", fix))
    listed = [(instead.get(row[0], row[0]), *row[1:]) for row in rows.values()]
    return problems, Hierarchy.from_rows(listed)


class _LeafSpellings:
    """The leaves of a hierarchy, found by other spellings."""

    def __init__(self, leaves: Sequence[str], similar: bool) -> None:
        # Reversed, so that of leaves which look the same the first one is found.
        self._leaves = {_simplify_string(leaf): leaf for leaf in reversed(leaves)}
        self._similar = similar

    def find_leaf(self, value: str) -> str | None:
        """The leaf that ``value`` is another spelling of."""
        plain = _simplify_string(value)
        if not plain or plain in self._leaves:
            return self._leaves.get(plain)
        # Numbers that look alike are different numbers.
        if not self._similar or any(character.isdigit() for character in plain):
            return None
        near = get_close_matches(plain, self._leaves, n=1, cutoff=_NEAR) or self._find_longer_leaf(plain)
        return self._leaves[near[0]] if near else None

    def _find_longer_leaf(self, plain: str) -> list[str]:
        """The one leaf that begins so, if it is the only one."""
        # Three letters begin too many words.
        found = [leaf for leaf in self._leaves if leaf.startswith(plain)] if len(plain) > 3 else []
        return found if len(found) == 1 else []


def _simplify_string(text: str) -> str:
    """Text without what spellings differ in: case, accents, spaces and signs."""
    bare = unicodedata.normalize("NFKD", text.casefold())
    return re.sub(r"[\W_]|\b(?:and|the)\b", "", "".join(c for c in bare if not unicodedata.combining(c)))


def _format_path(row: Sequence[str]) -> str:
    return f"'{'/'.join(dict.fromkeys(reversed(row[1:-1]))) or row[-1]}'"


def _find_free_name(name: str, taken: set[str]) -> str:
    """A name that no other label of the level has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name
