"""From rows of labels to a checked tree whose leaves stand in depth-first order.

A row is a value followed by its groups, from the narrowest to the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.table.hierarchies.labels import LabelTable

MAX_LEVELS = 100
ROOT = "*"

IntArray: TypeAlias = npt.NDArray[np.int32]
Names: TypeAlias = tuple[tuple[str, ...], ...]
Row: TypeAlias = Sequence[str]
Tree: TypeAlias = "Mapping[str, Tree] | Sequence[str | int]"


class ListingOrigin(NamedTuple):
    """Where rows come from: for messages the whole, and a name for the place of each row."""

    source: str
    place: Callable[[int], str]
    built_from_table: bool = False

    def raise_error(self, row: int, problem: str) -> NoReturn:
        """Raise an error that names the place of ``row``."""
        raise InputError(f"{self.source}, {self.place(row)}: {problem}")


class Listing(NamedTuple):
    """Rows as a file has them, not yet checked to be a tree."""

    rows: Sequence[Row]
    origin: ListingOrigin

    @classmethod
    def from_lines(cls, rows: Sequence[Row], source: str, lines: Sequence[int]) -> Listing:
        """Rows that stand on the given lines."""
        return cls(rows, ListingOrigin(source, lambda row: f"line {lines[row]}"))

    @classmethod
    def from_tree(cls, tree: Tree, root: str, source: str) -> Listing:
        """The rows of nested mappings."""
        rows = list(flatten_tree(tree, (root,), source))

        def describe_place(row: int) -> str:
            return f"under '{'/'.join(map(str, rows[row][-2:0:-1])) or root}'"

        return cls(rows, ListingOrigin(source, describe_place))


Listings: TypeAlias = Mapping[str | None, Callable[[], Listing]]
"""The trees of a file by column; where it holds one tree and names no column, under None."""


def assemble_hierarchy(rows: Sequence[Row], origin: ListingOrigin) -> tuple[IntArray, Names, bool]:
    """Check ``rows`` and give the nodes of each level, their names, and whether a table made them.

    As ``Hierarchy`` takes them.
    """
    check_size(rows, origin)
    factors = number_levels(rows)
    codes = np.stack([ids for ids, _ in factors])
    names = tuple(labels for _, labels in factors)
    # Labels first: the messages of the next checks quote them, and an empty one would say nothing.
    check_labels(codes, names, origin)
    first = find_distinct_leaves(codes, names, origin)
    # From here on each leaf is one column; rows that came again are gone.
    codes = codes[:, first]
    check_nesting(codes, names, origin, first)
    return *sort_depth_first(codes, names), origin.built_from_table


def flatten_tree(tree: Tree, above: tuple[str, ...], source: str) -> Iterator[tuple[str, ...]]:
    """The rows of ``tree``, which hangs under the labels ``above``, the nearest of them first."""
    if len(above) >= MAX_LEVELS:
        raise InputError(
            f"{source}: '{above[0]}' lies {len(above)} levels deep; at most {MAX_LEVELS} are allowed"
        )
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            # Nothing below a label makes it a value: so a value can stand beside groups.
            leaf = isinstance(below, Mapping | list | tuple) and not below
            yield from [(label, *above)] if leaf else flatten_tree(below, (label, *above), source)
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        yield from ((value_to_string(value, above, source), *above) for value in tree)
    else:
        raise InputError(f"{source}: found {tree!r} under '{above[0]}'; expected a list of values, or groups")


def value_to_string(value: object, above: tuple[str, ...], source: str) -> str:
    """The text of a value that is text or a whole number; others can be written in more than one way."""
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{source}: found {value!r} among the values of '{above[0]}'; write it in quotes")


def check_size(rows: Sequence[Row], origin: ListingOrigin) -> None:
    """Refuse no rows, a row without cells, and too many levels."""
    if len(rows) == 0:
        raise InputError(f"{origin.source}: there are no values")
    lengths = [rows.width] if isinstance(rows, LabelTable) else list(map(len, rows))
    if 0 in lengths:
        origin.raise_error(lengths.index(0), "the row is empty; give at least a value")
    if max(lengths) > MAX_LEVELS:
        origin.raise_error(
            lengths.index(max(lengths)), f"{max(lengths)} levels; at most {MAX_LEVELS} are allowed"
        )


def number_levels(rows: Sequence[Row]) -> list[tuple[IntArray, tuple[str, ...]]]:
    """Number the labels of each level by first appearance, the root's as the last level."""
    root = rows.find_root(ROOT) if isinstance(rows, LabelTable) else None
    if not isinstance(rows, LabelTable) or root is None:
        return [number_labels(column) for column in align_levels(rows)]
    top = (np.zeros(len(rows), np.int32), (root,))
    below = list(rows.number_labels())
    # Where all rows end in the root, that is a level already.
    return below if below[-1][1] == (root,) and rows.width > 1 else [*below, top]


def align_levels(rows: Sequence[Row]) -> list[Row]:
    """The labels of ``rows`` level by level, evened out so that the last level is one root."""
    ends = {row[-1] for row in rows if len(row) > 1}
    # One common last label is the root; several of them are groups below a new root.
    root = ends.pop() if len(ends) == 1 else ROOT
    # A row of one cell is a value right under the root: it keeps its only label.
    bodies = [row[:-1] if len(row) > 1 and row[-1] == root else row for row in rows]
    return [*zip(*stretch_short_rows(bodies), strict=True), [root] * len(rows)]


def stretch_short_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Stretch shorter rows: each label is repeated upwards until the level where its parent begins.

    A group begins one level above the highest of what it holds, in whatever row that is. So a repeated label
    always means the same leaves, and levels stay nested.
    """
    width = max(map(len, rows))
    if min(map(len, rows)) == width:
        return rows
    tails = [tuple(row[1:]) for row in rows]
    # Groups are known by their path to the root, since labels may repeat in other branches.
    # The empty path is the root itself, above the longest row.
    begins: dict[tuple[str, ...], int] = {(): width}
    for tail in set(tails):
        for skipped in range(len(tail)):
            group = tail[skipped:]
            # Values are level 0, hence one more than the labels that were skipped.
            begins[group] = max(begins.get(group, 0), skipped + 1)
    stretched = {tail: stretch_labels(tail, begins) for tail in begins}
    return [[row[0]] * begins[tail] + stretched[tail] for row, tail in zip(rows, tails, strict=True)]


def stretch_labels(tail: tuple[str, ...], begins: Mapping[tuple[str, ...], int]) -> list[str]:
    """Repeat each label of ``tail`` on the levels from its own beginning to its parent's."""
    return [
        label
        for skipped, label in enumerate(tail)
        for _ in range(begins[tail[skipped:]], begins[tail[skipped + 1 :]])
    ]


def number_labels(column: Row) -> tuple[IntArray, tuple[str, ...]]:
    """Number the labels of ``column`` by first appearance."""
    labels = tuple(dict.fromkeys(column))
    ids = {label: number for number, label in enumerate(labels)}
    return np.fromiter(map(ids.__getitem__, column), np.int32, len(column)), labels


def find_first_rows(ids: IntArray) -> npt.NDArray[np.intp]:
    """The first row of each id."""
    return np.unique(ids, return_index=True)[1]


def check_labels(codes: IntArray, names: Names, origin: ListingOrigin) -> None:
    """Refuse labels that are empty or no text."""
    for level, labels in enumerate(names):
        for label in labels:
            if not isinstance(label, str) or not label.strip():
                row = int(np.argmax(codes[level] == labels.index(label)))
                what = "an empty label" if isinstance(label, str) else f"{label!r}, which is no text,"
                origin.raise_error(row, f"{what} at level {level}{' (the value)' if level == 0 else ''}")


def find_distinct_leaves(codes: IntArray, names: Names, origin: ListingOrigin) -> npt.NDArray[np.intp]:
    """The first row of each value; a value that comes again must come with the same groups."""
    first = find_first_rows(codes[0])
    # For each row the first row with the same value.
    earlier = first[codes[0]]
    differs = codes != codes[:, earlier]
    if differs.any():
        row = int(np.argmax(differs.any(axis=0)))
        level = int(np.argmax(differs[:, row]))
        here, there = (names[level][codes[level, at]] for at in (row, earlier[row]))
        value = names[0][codes[0, row]]
        before = origin.place(int(earlier[row]))
        origin.raise_error(
            row,
            f"the value '{value}' is in '{here}' (level {level}) here, but in '{there}' before ({before})",
        )
    return first


def check_nesting(codes: IntArray, names: Names, origin: ListingOrigin, rows: npt.NDArray[np.intp]) -> None:
    """Refuse a label that has two parents; column i of ``codes`` was row ``rows[i]``."""
    for level in range(1, len(codes) - 1):
        # Level 0 is left out: a value with two parents was refused before. To compare with the
        # first leaf of a node is enough, because all leaves of a node must have one parent.
        earlier = find_first_rows(codes[level])[codes[level]]
        differs = codes[level + 1] != codes[level + 1, earlier]
        if differs.any():
            leaf = int(np.argmax(differs))
            here, there = (names[level + 1][codes[level + 1, at]] for at in (leaf, earlier[leaf]))
            before = origin.place(int(rows[earlier[leaf]]))
            origin.raise_error(
                int(rows[leaf]),
                f"the levels are not nested: '{names[level][codes[level, leaf]]}' (level {level}) "
                f"is in '{here}' (level {level + 1}) here, but in '{there}' before ({before})",
            )


def sort_depth_first(codes: IntArray, names: Names) -> tuple[IntArray, Names]:
    """Sort the leaves, the columns of ``codes``, so that each node is a run, and number nodes in that order.

    Siblings keep the order in which they are met, or ascend where all leaves are numbers.
    """
    rank = rank_leaves([names[0][code] for code in codes[0]])
    # lexsort takes its last key first: from the root down, nodes by their smallest leaf.
    order = np.lexsort([find_smallest_ranks(rank, ids) for ids in codes])
    met = codes[:, order]
    starts = np.ones(met.shape, dtype=bool)
    # A node begins where its id differs from that of the leaf before.
    starts[:, 1:] = met[:, 1:] != met[:, :-1]
    nodes = np.cumsum(starts, axis=1, dtype=np.int32) - 1
    renamed = (
        tuple(labels[code] for code in ids[start])
        for labels, ids, start in zip(names, met, starts, strict=True)
    )
    return nodes, tuple(renamed)


def rank_leaves(leaves: Sequence[str]) -> npt.NDArray[np.intp]:
    """The place of each leaf among all: by number if all are finite numbers, else as they come."""
    places = np.arange(len(leaves))
    try:
        numbers = np.fromiter(map(float, leaves), np.float64, len(leaves))
    except ValueError:
        return places
    # 'nan' and 'inf' are words in some columns, and 'nan' has no place among numbers.
    if not np.isfinite(numbers).all():
        return places
    rank = np.empty_like(places)
    rank[np.argsort(numbers, kind="stable")] = places
    return rank


def find_smallest_ranks(rank: npt.NDArray[np.intp], ids: IntArray) -> npt.NDArray[np.intp]:
    """For each leaf the smallest rank in its node."""
    least = np.full(int(ids.max()) + 1, len(rank))
    np.minimum.at(least, ids, rank)
    return least[ids]
