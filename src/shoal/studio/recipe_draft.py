"""A hierarchy while it is made: looked at, regrouped by hand, checked against its column.

Nothing here draws; `shoal.studio.hierarchies` does. A tree is looked at node by node, so that one with a
million leaves costs no more than what is open of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, quote
from shoal.support.language import translate as _
from shoal.support.language import translate_count
from shoal.table.hierarchies import Hierarchy, uncovered
from shoal.table.hierarchies.assembly import Listing, assemble_hierarchy
from shoal.table.hierarchies.checking import HierarchyProblem, check_hierarchy

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


class NodeKey(NamedTuple):
    """A node: its level, and its number there."""

    level: int
    node: int


class TreeView:
    """A hierarchy as it is shown: a label that is repeated over levels once, with the rows below it."""

    def __init__(self, tree: Hierarchy, rows: NDArray[np.int64]) -> None:
        self.tree = tree
        # Prefix sums: the leaves of a node are contiguous, so its rows are one subtraction.
        self._so_far: NDArray[np.int64] = np.concatenate(([0], np.cumsum(rows)))

    @property
    def root(self) -> NodeKey:
        """The node above all."""
        return NodeKey(self.tree.height, 0)

    def get_label(self, key: NodeKey) -> str:
        """Its label."""
        return self.tree.names[key.level][key.node]

    def find_leaf_range(self, key: NodeKey) -> tuple[int, int]:
        """Its first leaf, and the one after its last."""
        # Ids ascend along the leaves, so bisection finds the leaves of a node.
        ids = self.tree.nodes[key.level]
        node = np.int32(key.node)  # of the type of the ids, or all of these were converted first
        return int(np.searchsorted(ids, node)), int(np.searchsorted(ids, node, "right"))

    def count_rows(self, key: NodeKey) -> int:
        """Rows that have one of its values."""
        first, end = self.find_leaf_range(key)
        return int(self._so_far[end] - self._so_far[first])

    def count_children(self, key: NodeKey) -> int:
        """How many nodes are below it."""
        return len(self._find_child_ids(key))

    def list_children(self, key: NodeKey, most: int | None = None) -> list[NodeKey]:
        """The nodes below it, or the first of them."""
        return [
            self._find_lowest_level(NodeKey(key.level - 1, node)) for node in self._find_child_ids(key)[:most]
        ]

    def _find_child_ids(self, key: NodeKey) -> range:
        if key.level == 0:
            return range(0)
        first, end = self.find_leaf_range(key)
        # Children have consecutive ids, from that of the first leaf to that of the last.
        ids = self.tree.nodes[key.level - 1]
        return range(int(ids[first]), int(ids[end - 1]) + 1)

    def _find_lowest_level(self, key: NodeKey) -> NodeKey:
        """The same label at the lowest level where it stands for the same values."""
        first, end = self.find_leaf_range(key)
        # All leaves are equally deep, so a short branch repeats its label on several levels.
        while key.level:
            below = self.tree.nodes[key.level - 1]
            under = NodeKey(key.level - 1, int(below[first]))
            if below[first] != below[end - 1] or self.get_label(under) != self.get_label(key):
                break
            key = under
        return key

    def build_path(self, key: NodeKey) -> Path:
        """The labels from below the root down to it."""
        first, _ = self.find_leaf_range(key)
        levels = range(self.tree.height - 1, key.level - 1, -1)
        found = [
            self._find_lowest_level(NodeKey(level, int(self.tree.nodes[level][first]))) for level in levels
        ]
        return tuple(self.get_label(each) for each in dict.fromkeys(found))

    def list_groups(self) -> Iterator[Path]:
        """Every node that has others below it, but for the root."""
        waiting = [self.root]
        while waiting:
            for child in self.list_children(waiting.pop()):
                if child.level:
                    yield self.build_path(child)
                    waiting.append(child)

    def build_branches(self, key: NodeKey | None = None) -> Branch:
        """All below a node, to be regrouped."""
        return {
            self.get_label(c): self.build_branches(c)
            for c in self.list_children(self.root if key is None else key)
        }

    def choose_first_open(self, lines: int = _FIRST) -> set[Path]:
        """The nodes that are open at first: as many levels as fit into so many lines."""
        found: set[Path] = {()}
        waiting = [self.root]
        lines -= self.count_children(self.root)
        # Breadth first: groups near the root open before the groups below them.
        while waiting and lines > 0:
            for child in self.list_children(waiting.pop(0), AT_ONCE):
                if child.level and (lines := lines - self.count_children(child)) >= 0:
                    found.add(self.build_path(child))
                    waiting.append(child)
        return found

    def list_visible_lines(
        self, open_: set[Path], more: Mapping[Path, int], chosen: set[Path]
    ) -> list[dict[str, Any]]:
        """The lines that are shown, from the root on: nodes whose parents are all open."""
        return list(self._walk_visible_lines(self.root, (), open_, more, chosen))

    def _walk_visible_lines(
        self, key: NodeKey, path: Path, open_: set[Path], more: Mapping[Path, int], chosen: set[Path]
    ) -> Iterator[dict[str, Any]]:
        first, end = self.find_leaf_range(key)
        is_open = path in open_
        yield {
            "path": list(path),
            "name": self.get_label(key),
            "depth": len(path),
            "rows": self.count_rows(key),
            "values": end - first,
            "open": is_open if key.level else None,
            "chosen": path in chosen,
        }
        if not is_open:
            return
        most = more.get(path, AT_ONCE)
        for child in self.list_children(key, most):
            yield from self._walk_visible_lines(child, (*path, self.get_label(child)), open_, more, chosen)
        if (rest := self.count_children(key) - most) > 0:
            yield {"path": list(path), "depth": len(path) + 1, "more": rest}


# Regrouping: each gives a new tree.


def move_branches(tree: Branch, chosen: Sequence[Path], into: Path) -> Branch:
    """The tree with some nodes in another group; groups that are left empty go."""
    made = _copy_branch(tree)
    # A marked node inside a marked group moves with that group and stays in it.
    for path in _keep_outermost(chosen):
        if into[: len(path)] == path:
            raise InputError(f"'{path[-1]}' cannot be put into itself")
        if path[:-1] == into:
            continue
        _insert_branch(_find_branch(made, into), path[-1], _find_branch(made, path[:-1]).pop(path[-1]))
        made = _remove_empty_groups(made, path[:-1], into)
    return made


def group_branches(tree: Branch, chosen: Sequence[Path], name: str, into: Path = ()) -> Branch:
    """The tree with a new group for some nodes."""
    name = name.strip()
    if not name:
        raise InputError("a group needs a name")
    if not chosen:
        raise InputError(f"choose what '{name}' should hold first")
    made = _copy_branch(tree)
    _insert_branch(_find_branch(made, into), name, {"\0": {}})  # so that it is a group from the beginning
    made = move_branches(made, chosen, (*into, name))
    del _find_branch(made, (*into, name))["\0"]
    return made


def rename_branch(tree: Branch, path: Path, name: str) -> Branch:
    """The tree with a group that is called otherwise; values keep their names."""
    name = name.strip()
    if not name:
        raise InputError("a group needs a name")
    above = _find_branch(tree, path[:-1])
    if not above[path[-1]]:
        raise InputError(f"'{path[-1]}' is a value of the table and keeps its name")
    if name != path[-1] and name in above:
        raise InputError(f"there is '{name}' here already")
    made = _copy_branch(tree)
    parent = _find_branch(made, path[:-1])
    # Refilled in order, so that the group keeps its position among its neighbours.
    items = [(name if label == path[-1] else label, below) for label, below in parent.items()]
    parent.clear()
    parent.update(items)
    return made


def dissolve_branch(tree: Branch, path: Path) -> Branch:
    """The tree without a group: what it held goes one group up."""
    inside = _find_branch(tree, path)
    if not inside:
        raise InputError(f"'{path[-1]}' is a value, not a group")
    if path[-1] in inside:
        raise InputError(f"'{path[-1]}' holds a node of its own name: rename it first")
    return move_branches(tree, [(*path, label) for label in inside], path[:-1])


def _copy_branch(tree: Branch) -> Branch:
    return {label: _copy_branch(below) for label, below in tree.items()}


def _find_branch(tree: Branch, path: Path) -> Branch:
    for label in path:
        tree = tree[label]
    return tree


def _insert_branch(group: Branch, label: str, below: Branch) -> None:
    if label in group:
        raise InputError(f"there is '{label}' in this group already")
    group[label] = below


def _keep_outermost(chosen: Iterable[Path]) -> list[Path]:
    """Without what comes along with a group above it."""
    paths = set(chosen)
    return sorted(p for p in paths if not any(p[:n] in paths for n in range(1, len(p))))


def _remove_empty_groups(tree: Branch, path: Path, kept: Path) -> Branch:
    """Remove groups from a path upwards while nothing is in them; but not that which is being filled."""
    while path and not _find_branch(tree, path) and path != kept[: len(path)]:
        del _find_branch(tree, path[:-1])[path[-1]]
        path = path[:-1]
    return tree


@dataclass(frozen=True, slots=True, eq=False)
class TreeSummary:
    """What a look at a tree and its column finds; of large ones it takes a while."""

    tree: Hierarchy
    view: TreeView
    uncovered: tuple[str, ...]
    """Values of the column that the tree does not have."""
    unused: int
    """How many values of the tree the column does not have."""
    samples: tuple[tuple[str, ...], ...]
    """What some values become, level by level: the commonest, and some from all over the tree."""

    @classmethod
    def from_counts(cls, tree: Hierarchy, counts: Mapping[str, int]) -> TreeSummary:
        """Look at a tree, given how many rows have each value."""
        rows = np.fromiter((counts.get(leaf, 0) for leaf in tree.leaves), np.int64, len(tree.leaves))
        # Samples are values that the column has; if it has none of them, any leaves will do.
        present = np.flatnonzero(rows) if rows.any() else np.arange(rows.size)
        spread = present[np.linspace(0, present.size - 1, _SAMPLES).astype(int)]
        # The commonest value comes first here, so that the cut never removes it.
        shown = np.sort(list(dict.fromkeys([int(rows.argmax()), *spread.tolist()]))[:_SAMPLES])
        levels = [
            [names[i] for i in ids[shown].tolist()] for names, ids in zip(tree.names, tree.nodes, strict=True)
        ]
        return cls(
            tree,
            TreeView(tree, rows),
            tuple(uncovered(tree, filter(str.strip, counts))),  # blanks count as missing
            int((rows == 0).sum()),
            tuple(zip(*levels, strict=True)),
        )


@dataclass(eq=False)
class HierarchyDraft:
    """The hierarchy of a column while it is made."""

    column: str
    counts: Mapping[str, int]
    """How many rows have each value."""
    tree: Hierarchy | None = None
    problems: tuple[HierarchyProblem, ...] = ()
    """What is wrong with what was read."""
    fixed: Hierarchy | None = None
    """The same put right."""
    empty: list[str] = field(default_factory=list)
    """Names of groups that hold nothing yet."""
    open: set[Path] = field(default_factory=lambda: {()})
    more: dict[Path, int] = field(default_factory=dict)
    chosen: set[Path] = field(default_factory=set)
    """Nodes that are marked, to be put somewhere."""
    _look: TreeSummary | None = field(default=None, repr=False)

    def replace_tree(self, tree: Hierarchy | None, look: TreeSummary | None = None) -> None:
        """Begin with another tree, and the look at it where somebody has looked already."""
        self.tree, self.problems, self.fixed, self._look = tree, (), None, look
        self.empty, self.chosen, self.more = [], set(), {}
        self.open = {()} if tree is None else self.get_view().choose_first_open()

    def read_listing(self, listing: Listing) -> None:
        """Begin with the rows of a file; what is wrong with them can be put right by `apply_fixes`."""
        checked = check_hierarchy(listing, self.counts)
        # These two still leave a valid tree: `assemble` adds a root, and values that the tree
        # lacks stay out of it. Any other problem needs the fix first.
        if all(problem.kind in ("uncovered", "several roots") for problem in checked.problems):
            self.replace_tree(Hierarchy(*assemble_hierarchy(*listing)))
        else:
            self.replace_tree(None)
        self.problems, self.fixed = checked.problems, checked.fixed

    def apply_fixes(self) -> None:
        """Take what was read with all put right; values of the column are among it that were missing."""
        self.replace_tree(None if self.fixed is None else replace(self.fixed, built_from_table=True))

    def start_ungrouped(self) -> None:
        """Begin with the bare values."""
        values = Hierarchy.from_tree({value: [] for value in self.counts if value.strip()})
        # Marked as built from the table: differentially private releases refuse such a tree.
        self.replace_tree(replace(values, built_from_table=True))

    def get_view(self) -> TreeView:
        """The tree as it is shown."""
        return self.get_summary().view

    def get_summary(self) -> TreeSummary:
        """What a look at the tree finds."""
        assert self.tree is not None
        # Compared by identity: an edit replaces the tree and never changes it in place.
        if self._look is None or self._look.tree is not self.tree:
            self._look = TreeSummary.from_counts(self.tree, self.counts)
        return self._look

    @property
    def is_editable(self) -> bool:
        """Whether it can be regrouped by hand."""
        return self.tree is not None and len(self.tree.leaves) <= MOST_EDITED

    def move_nodes(self, chosen: Sequence[Path], into: Path) -> None:
        """Put nodes into a group."""
        self._apply_edit(move_branches(self.get_view().build_branches(), chosen, into), {into})

    def group_nodes(self, chosen: Sequence[Path], name: str) -> None:
        """Make a group of nodes, beside the first of them; an empty one if there are none."""
        if not chosen and name.strip() and name.strip() not in self.empty:
            self.empty.append(name.strip())
            return
        tree = self.get_view().build_branches()
        into = _find_common_prefix([path[:-1] for path in chosen])
        self._apply_edit(group_branches(tree, chosen, name, into), {into, (*into, name.strip())})
        self.empty = [each for each in self.empty if each != name.strip()]

    def rename_group(self, path: Path, name: str) -> None:
        """Call a group otherwise."""
        self._apply_edit(rename_branch(self.get_view().build_branches(), path, name), set())

    def dissolve_group(self, path: Path) -> None:
        """Take a group apart."""
        self._apply_edit(dissolve_branch(self.get_view().build_branches(), path), set())

    def _apply_edit(self, tree: Branch, opened: set[Path]) -> None:
        assert self.tree is not None
        made = Hierarchy.from_tree(tree, self.tree.root)
        self.tree = replace(made, built_from_table=self.tree.built_from_table)
        self.open |= opened
        self.chosen = set()  # the paths of the marked nodes may be gone

    def list_lines(self) -> list[dict[str, Any]]:
        """The lines of the tree that are shown, with the groups that hold nothing yet."""
        root, *rest = self.get_view().list_visible_lines(self.open, self.more, self.chosen)
        # A hierarchy cannot hold a group without values, so these are only lines of the page.
        new = [
            {"path": [name], "name": name, "depth": 1, "rows": 0, "values": 0, "open": None, "empty": True}
            for name in self.empty
        ]
        return [root, *new, *rest]

    def describe_uncovered(self) -> str:
        """What is missing in the tree, in a sentence; empty if nothing is."""
        missing = () if self.tree is None else self.get_summary().uncovered
        if not missing or self.tree is None:
            return ""
        rows = sum(self.counts[value] for value in missing)
        return _(
            "{count} of the column, in {rows}, not in the hierarchy: {missing}. Such a value can "
            "only stay as it is or become '{root}'.",
            count=translate_count("{number:,} value", "{number:,} values", len(missing)),
            rows=translate_count("{number:,} row", "{number:,} rows", rows),
            missing=quote(missing),
            root=self.tree.root,
        )


def _find_common_prefix(paths: Sequence[Path]) -> Path:
    """The longest beginning that paths share."""
    # In sorted order all other paths lie between these two, so they share what these two share.
    first, last = min(paths), max(paths)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
