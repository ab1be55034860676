"""A hierarchy while it is made: looked at, regrouped by hand, checked against its column.

Nothing here draws; `shoal.studio.hierarchies` does. A tree is looked at node by node, so that one with a
million leaves costs no more than what is open of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, quote
from shoal.hierarchies import Hierarchy, uncovered
from shoal.hierarchies.assembly import Listing, assemble
from shoal.hierarchies.checking import Problem, check_hierarchy
from shoal.report.words import counted

MOST_EDITED = 5000
"""Values of a tree that can be regrouped by hand; nobody has the patience for more."""
AT_ONCE = 100
"""Children of a node that are shown before somebody asks for more."""
_SAMPLES = 6
_FIRST = 16  # lines that are shown at first

Path: TypeAlias = tuple[str, ...]
"""The labels from below the root down to a node."""
Branch: TypeAlias = "dict[str, Branch]"
"""Labels with what is below them; nothing below a value."""


class Key(NamedTuple):
    """A node: its level, and its number there."""

    level: int
    node: int


class View:
    """A hierarchy as it is shown: a label that is repeated over levels once, with the rows below it."""

    def __init__(self, tree: Hierarchy, rows: NDArray[np.int64]) -> None:
        self.tree = tree
        self._so_far: NDArray[np.int64] = np.concatenate(([0], np.cumsum(rows)))

    @property
    def root(self) -> Key:
        """The node above all."""
        return Key(self.tree.height, 0)

    def name(self, key: Key) -> str:
        """Its label."""
        return self.tree.names[key.level][key.node]

    def extent(self, key: Key) -> tuple[int, int]:
        """Its first leaf, and the one after its last."""
        ids = self.tree.nodes[key.level]
        node = np.int32(key.node)  # of the type of the ids, or all of these were converted first
        return int(np.searchsorted(ids, node)), int(np.searchsorted(ids, node, "right"))

    def rows(self, key: Key) -> int:
        """Rows that have one of its values."""
        first, end = self.extent(key)
        return int(self._so_far[end] - self._so_far[first])

    def count(self, key: Key) -> int:
        """How many nodes are below it."""
        return len(self._below(key))

    def children(self, key: Key, most: int | None = None) -> list[Key]:
        """The nodes below it, or the first of them."""
        return [self._lowest(Key(key.level - 1, node)) for node in self._below(key)[:most]]

    def _below(self, key: Key) -> range:
        if key.level == 0:
            return range(0)
        first, end = self.extent(key)
        ids = self.tree.nodes[key.level - 1]
        return range(int(ids[first]), int(ids[end - 1]) + 1)

    def _lowest(self, key: Key) -> Key:
        """The same label at the lowest level where it stands for the same values."""
        first, end = self.extent(key)
        while key.level:
            below = self.tree.nodes[key.level - 1]
            under = Key(key.level - 1, int(below[first]))
            if below[first] != below[end - 1] or self.name(under) != self.name(key):
                break
            key = under
        return key

    def path(self, key: Key) -> Path:
        """The labels from below the root down to it."""
        first, _ = self.extent(key)
        levels = range(self.tree.height - 1, key.level - 1, -1)
        found = [self._lowest(Key(level, int(self.tree.nodes[level][first]))) for level in levels]
        return tuple(self.name(each) for each in dict.fromkeys(found))

    def groups(self) -> Iterator[Path]:
        """Every node that has others below it, but for the root."""
        waiting = [self.root]
        while waiting:
            for child in self.children(waiting.pop()):
                if child.level:
                    yield self.path(child)
                    waiting.append(child)

    def branches(self, key: Key | None = None) -> Branch:
        """All below a node, to be regrouped."""
        return {self.name(c): self.branches(c) for c in self.children(self.root if key is None else key)}

    def first_open(self, lines: int = _FIRST) -> set[Path]:
        """What is open at first: as many levels as there is room for."""
        found: set[Path] = {()}
        waiting = [self.root]
        lines -= self.count(self.root)
        while waiting and lines > 0:
            for child in self.children(waiting.pop(0), AT_ONCE):
                if child.level and (lines := lines - self.count(child)) >= 0:
                    found.add(self.path(child))
                    waiting.append(child)
        return found

    def visible(self, open_: set[Path], more: Mapping[Path, int], chosen: set[Path]) -> list[dict[str, Any]]:
        """The lines that are shown, from the root on: nodes whose parents are all open."""
        return list(self._lines(self.root, (), open_, more, chosen))

    def _lines(
        self, key: Key, path: Path, open_: set[Path], more: Mapping[Path, int], chosen: set[Path]
    ) -> Iterator[dict[str, Any]]:
        first, end = self.extent(key)
        is_open = path in open_
        yield {
            "path": list(path),
            "name": self.name(key),
            "depth": len(path),
            "rows": self.rows(key),
            "values": end - first,
            "open": is_open if key.level else None,
            "chosen": path in chosen,
        }
        if not is_open:
            return
        most = more.get(path, AT_ONCE)
        for child in self.children(key, most):
            yield from self._lines(child, (*path, self.name(child)), open_, more, chosen)
        if (rest := self.count(key) - most) > 0:
            yield {"path": list(path), "depth": len(path) + 1, "more": rest}


# Regrouping: each gives a new tree.


def moved(tree: Branch, chosen: Sequence[Path], into: Path) -> Branch:
    """The tree with some nodes in another group; groups that are left empty go."""
    made = _copy(tree)
    for path in _outermost(chosen):
        if into[: len(path)] == path:
            raise InputError(f"'{path[-1]}' cannot be put into itself")
        if path[:-1] == into:
            continue
        _put(_at(made, into), path[-1], _at(made, path[:-1]).pop(path[-1]))
        made = _without_empty(made, path[:-1], into)
    return made


def grouped(tree: Branch, chosen: Sequence[Path], name: str, into: Path = ()) -> Branch:
    """The tree with a new group for some nodes."""
    name = name.strip()
    if not name:
        raise InputError("a group needs a name")
    if not chosen:
        raise InputError(f"choose what '{name}' should hold first")
    made = _copy(tree)
    _put(_at(made, into), name, {"\0": {}})  # so that it is a group from the beginning
    made = moved(made, chosen, (*into, name))
    del _at(made, (*into, name))["\0"]
    return made


def renamed(tree: Branch, path: Path, name: str) -> Branch:
    """The tree with a group that is called otherwise; values keep their names."""
    name = name.strip()
    if not name:
        raise InputError("a group needs a name")
    above = _at(tree, path[:-1])
    if not above[path[-1]]:
        raise InputError(f"'{path[-1]}' is a value of the table and keeps its name")
    if name != path[-1] and name in above:
        raise InputError(f"there is '{name}' here already")
    made = _copy(tree)
    parent = _at(made, path[:-1])
    items = [(name if label == path[-1] else label, below) for label, below in parent.items()]
    parent.clear()
    parent.update(items)
    return made


def dissolved(tree: Branch, path: Path) -> Branch:
    """The tree without a group: what it held goes one group up."""
    inside = _at(tree, path)
    if not inside:
        raise InputError(f"'{path[-1]}' is a value, not a group")
    if path[-1] in inside:
        raise InputError(f"'{path[-1]}' holds a node of its own name: rename it first")
    return moved(tree, [(*path, label) for label in inside], path[:-1])


def _copy(tree: Branch) -> Branch:
    return {label: _copy(below) for label, below in tree.items()}


def _at(tree: Branch, path: Path) -> Branch:
    for label in path:
        tree = tree[label]
    return tree


def _put(group: Branch, label: str, below: Branch) -> None:
    if label in group:
        raise InputError(f"there is '{label}' in this group already")
    group[label] = below


def _outermost(chosen: Iterable[Path]) -> list[Path]:
    """Without what comes along with a group above it."""
    paths = set(chosen)
    return sorted(p for p in paths if not any(p[:n] in paths for n in range(1, len(p))))


def _without_empty(tree: Branch, path: Path, kept: Path) -> Branch:
    """Remove groups from a path upwards while nothing is in them; but not that which is being filled."""
    while path and not _at(tree, path) and path != kept[: len(path)]:
        del _at(tree, path[:-1])[path[-1]]
        path = path[:-1]
    return tree


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What a look at a tree and its column finds; of large ones it takes a while."""

    tree: Hierarchy
    view: View
    uncovered: tuple[str, ...]
    """Values of the column that the tree does not have."""
    unused: int
    """How many values of the tree the column does not have."""
    samples: tuple[tuple[str, ...], ...]
    """What some values become, level by level: the commonest, and some from all over the tree."""

    @classmethod
    def at(cls, tree: Hierarchy, counts: Mapping[str, int]) -> Look:
        """Look at a tree, given how many rows have each value."""
        rows = np.fromiter((counts.get(leaf, 0) for leaf in tree.leaves), np.int64, len(tree.leaves))
        present = np.flatnonzero(rows) if rows.any() else np.arange(rows.size)
        spread = present[np.linspace(0, present.size - 1, _SAMPLES).astype(int)]
        shown = np.sort(list(dict.fromkeys([int(rows.argmax()), *spread.tolist()]))[:_SAMPLES])
        levels = [
            [names[i] for i in ids[shown].tolist()] for names, ids in zip(tree.names, tree.nodes, strict=True)
        ]
        return cls(
            tree,
            View(tree, rows),
            tuple(uncovered(tree, filter(str.strip, counts))),
            int((rows == 0).sum()),
            tuple(zip(*levels, strict=True)),
        )


@dataclass(eq=False)
class Draft:
    """The hierarchy of a column while it is made."""

    column: str
    counts: Mapping[str, int]
    """How many rows have each value."""
    tree: Hierarchy | None = None
    problems: tuple[Problem, ...] = ()
    """What is wrong with what was read."""
    fixed: Hierarchy | None = None
    """The same put right."""
    empty: list[str] = field(default_factory=list)
    """Names of groups that hold nothing yet."""
    open: set[Path] = field(default_factory=lambda: {()})
    more: dict[Path, int] = field(default_factory=dict)
    chosen: set[Path] = field(default_factory=set)
    """Nodes that are marked, to be put somewhere."""
    _look: Look | None = field(default=None, repr=False)

    def take(self, tree: Hierarchy | None, look: Look | None = None) -> None:
        """Begin with another tree, and the look at it where somebody has looked already."""
        self.tree, self.problems, self.fixed, self._look = tree, (), None, look
        self.empty, self.chosen, self.more = [], set(), {}
        self.open = {()} if tree is None else self.view().first_open()

    def read(self, listing: Listing) -> None:
        """Begin with the rows of a file; what is wrong with them can be put right by `fix`."""
        checked = check_hierarchy(listing, self.counts)
        if all(problem.kind in ("uncovered", "several roots") for problem in checked.problems):
            self.take(Hierarchy(*assemble(*listing)))
        else:
            self.take(None)
        self.problems, self.fixed = checked.problems, checked.fixed

    def fix(self) -> None:
        """Take what was read with all put right."""
        self.take(self.fixed)

    def ungrouped(self) -> None:
        """Begin with the bare values."""
        self.take(Hierarchy.from_tree({value: [] for value in self.counts if value.strip()}))

    def view(self) -> View:
        """The tree as it is shown."""
        return self.look().view

    def look(self) -> Look:
        """What a look at the tree finds."""
        assert self.tree is not None
        if self._look is None or self._look.tree is not self.tree:
            self._look = Look.at(self.tree, self.counts)
        return self._look

    @property
    def editable(self) -> bool:
        """Whether it can be regrouped by hand."""
        return self.tree is not None and len(self.tree.leaves) <= MOST_EDITED

    def move(self, chosen: Sequence[Path], into: Path) -> None:
        """Put nodes into a group."""
        self._edit(moved(self.view().branches(), chosen, into), {into})

    def group(self, chosen: Sequence[Path], name: str) -> None:
        """Make a group of nodes, beside the first of them; an empty one if there are none."""
        if not chosen and name.strip() and name.strip() not in self.empty:
            self.empty.append(name.strip())
            return
        tree = self.view().branches()
        into = _common([path[:-1] for path in chosen])
        self._edit(grouped(tree, chosen, name, into), {into, (*into, name.strip())})
        self.empty = [each for each in self.empty if each != name.strip()]

    def rename(self, path: Path, name: str) -> None:
        """Call a group otherwise."""
        self._edit(renamed(self.view().branches(), path, name), set())

    def dissolve(self, path: Path) -> None:
        """Take a group apart."""
        self._edit(dissolved(self.view().branches(), path), set())

    def _edit(self, tree: Branch, opened: set[Path]) -> None:
        assert self.tree is not None
        self.tree = Hierarchy.from_tree(tree, self.tree.root)
        self.open |= opened
        self.chosen = set()

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the tree that are shown, with the groups that hold nothing yet."""
        root, *rest = self.view().visible(self.open, self.more, self.chosen)
        new = [
            {"path": [name], "name": name, "depth": 1, "rows": 0, "values": 0, "open": None, "empty": True}
            for name in self.empty
        ]
        return [root, *new, *rest]

    def warning(self) -> str:
        """What is missing in the tree, in a sentence; empty if nothing is."""
        missing = () if self.tree is None else self.look().uncovered
        if not missing or self.tree is None:
            return ""
        rows = sum(self.counts[value] for value in missing)
        return (
            f"{counted(len(missing), 'value', 'values')} of the column, in {counted(rows, 'row', 'rows')}, "
            f"not in the hierarchy: {quote(missing)}. Such a value can only stay as it is or become "
            f"'{self.tree.root}'."
        )


def _common(paths: Sequence[Path]) -> Path:
    """The longest beginning that paths share."""
    first, last = min(paths), max(paths)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
