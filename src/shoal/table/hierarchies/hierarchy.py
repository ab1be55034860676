"""Hierarchy: a tree over the values of one column, as integer arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, quote, unknown
from shoal.table.hierarchies.assembly import (
    MAX_LEVELS,
    ROOT,
    IntArray,
    Listing,
    Names,
    Row,
    Tree,
    assemble_hierarchy,
    sort_depth_first,
)

NewValues: TypeAlias = Literal["error", "top"]
"""What is done with a value that a hierarchy does not have when it is applied to new data."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy:
    """A tree over the text values of one column, all leaves at the same depth.

    The leaves stand in depth-first order, so every node is one contiguous interval of leaves, and a leaf's
    position can serve as its code. Equal if nodes and names are.

    Parameters
    ----------
    nodes : array of int32, levels x leaves
        The node above each leaf at each level; level 0 holds the values, the last level one root. On each
        level ids count up from 0. The array is copied and cannot be written to.
    names : tuple of tuples of str
        ``names[level][node]``; no two nodes of a level share a name.
    built_from_table : bool
        Whether its values or groups were taken from a table, so that they tell something of it. Releases
        that promise differential privacy do not take such a tree.

    Examples
    --------
    >>> jobs = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk"]})
    >>> jobs
    Hierarchy(3 leaves, height 2, root '*')
    >>> jobs.names[1]
    ('manual', 'office')
    >>> int(jobs.level_of(0, 1)), int(jobs.level_of(0, 2))
    (1, 2)
    """

    nodes: IntArray
    names: Names
    built_from_table: bool = False
    _low: IntArray = field(init=False)
    _high: IntArray = field(init=False)

    def __post_init__(self) -> None:
        nodes = np.array(self.nodes, dtype=np.int32)
        if rule := find_broken_rule(nodes, self.names):
            raise InputError(f"not a hierarchy: in one, {rule}")
        object.__setattr__(self, "names", tuple(map(tuple, self.names)))
        # Read-only: a hierarchy is shared by columns and threads, and hashed by its bytes.
        for name, array in (
            ("nodes", nodes),
            ("_low", find_first_leaves(nodes)),
            ("_high", find_last_leaves(nodes)),
        ):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_rows(
        cls, rows: Sequence[Row], source: str = "hierarchy", lines: Sequence[int] | None = None
    ) -> Hierarchy:
        """Read rows of the ARX layout: a value, then its groups from the narrowest to the root.

        Parameters
        ----------
        rows : sequence of sequences of str
            In shorter rows labels are repeated upwards; where the rows do not all end in one label, a root
            ``*`` is added. A row that comes again is ignored.
        source : str
            What error messages call the whole.
        lines : sequence of int, optional
            The line of each row in the source; counted from 1 if absent.
        """
        numbers = range(1, len(rows) + 1) if lines is None else lines
        return cls(*assemble_hierarchy(*Listing.from_lines(rows, source, numbers)))

    @classmethod
    def from_tree(cls, tree: Tree, root: str = ROOT, source: str = "hierarchy") -> Hierarchy:
        """Read nested mappings from group to subgroups, the innermost from group to a list of values.

        A label with nothing below it, as in ``{"office": ["clerk"], "none": []}``, is a value itself. Where
        depths differ, labels are repeated upwards to the level below their parent. Values may be
        whole numbers.
        """
        return cls(*assemble_hierarchy(*Listing.from_tree(tree, root, source)))

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, in the order of their codes."""
        return self.names[0]

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.names) - 1

    @property
    def root(self) -> str:
        """The name of the node that covers every value."""
        return self.names[-1][0]

    def to_rows(self) -> list[tuple[str, ...]]:
        """Rows for ``from_rows``: each value with its groups, in the order of the leaves."""
        return list(zip(*self._list_labels(), strict=True))

    def to_tree(self) -> dict[str, Tree]:
        """A tree for ``from_tree``, without the repeated labels that it would put back by itself."""
        tree = self._build_subtree(self.height, 0, self._find_copies())
        return tree if isinstance(tree, dict) else {leaf: [] for leaf in tree}

    def with_values(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy with further leaves directly under the root, for values that it does not cover.

        Such a value may only stay as it is or become the root: on the levels between it is a node of its own.
        Values that are leaves already are passed over.
        """
        extra = uncovered_in_order(self, values)
        if not extra:
            return self
        # On the levels between, a new value is a node under its own name, which must be free.
        for level, names in enumerate(self.names[1:-1], start=1):
            if clash := set(names).intersection(extra):
                raise InputError(
                    f"the hierarchy does not list {quote(sorted(clash))} among its values, but has a group "
                    f"of that name at level {level}: list the value, or rename the group"
                )
        # New ids follow the old ones; the root keeps its only id, 0.
        added = [len(names) + np.arange(len(extra), dtype=np.int32) for names in self.names[:-1]]
        codes = np.hstack([self.nodes, np.stack([*added, np.zeros(len(extra), np.int32)])])
        widened = [(*labels, *extra) for labels in self.names[:-1]]
        # The values come from a table, so that the tree now tells something of it.
        return Hierarchy(*sort_depth_first(codes, (*widened, self.names[-1])), built_from_table=True)

    def labels(self, values: Sequence[str], level: int, new: NewValues = "error") -> list[str]:
        """What ``values`` become at ``level``, also where some are new to the hierarchy.

        Parameters
        ----------
        values : sequence of str
            Text as the table has it, each value once or as often as you like.
        level : int
            From 0, the value itself, to ``height``, the root.
        new : {"error", "top"}
            Whether a value that is no leaf is refused, or becomes the root whatever the level.
        """
        if not 0 <= level <= self.height:
            raise InputError(f"there is no level {level}: the levels are 0 to {self.height}")
        if new not in get_args(NewValues):
            raise InputError(unknown("policy for new values", str(new), get_args(NewValues)))
        strange = uncovered(self, values)
        if strange and new == "error":
            raise InputError(
                f"the hierarchy does not have {quote(strange)}: add them, or let them become the root"
            )
        at = dict(zip(self.leaves, self._list_labels()[level].tolist(), strict=True))
        return [at.get(value, self.root) for value in values]

    def level_of(self, lo: npt.ArrayLike, hi: npt.ArrayLike) -> IntArray:
        """The smallest level with one node above both leaves: the level of their lowest common ancestor."""
        low, high = np.asarray(lo), np.asarray(hi)
        level = np.zeros(np.broadcast(low, high).shape, dtype=np.int32)
        # Levels are nested: two leaves differ below their common ancestor and nowhere above it.
        for ids in self.nodes[:-1]:
            level += ids[low] != ids[high]
        return level

    def extent(self, level: npt.ArrayLike, leaf: npt.ArrayLike) -> tuple[IntArray, IntArray]:
        """The first and the last leaf of the node at ``level`` above ``leaf``."""
        where = np.asarray(level), np.asarray(leaf)
        return np.asarray(self._low[where]), np.asarray(self._high[where])

    def sibling_counts(self) -> IntArray:
        """How many children the parent of each node has, the node included; 1 for the root.

        Same shape as ``nodes``. A label repeated over several levels is one node, whose parent is above the
        last of them.
        """
        counts = np.ones_like(self.nodes)
        copies = self._find_copies()
        # From the root down, because a copy has the count of the node that it repeats.
        for level in range(self.height - 1, -1, -1):
            ids = self.nodes[level]
            children = ids[self._high[level + 1]] - ids[self._low[level + 1]] + 1
            counts[level] = np.where(copies[level + 1], counts[level + 1], children)
        return counts

    def _list_labels(self) -> list[npt.NDArray[np.object_]]:
        """Per level, the name of the node above each leaf."""
        pairs = zip(self.names, self.nodes, strict=True)
        return [np.array(names, dtype=object)[ids] for names, ids in pairs]

    def _find_copies(self) -> npt.NDArray[np.bool_]:
        """Where the node is the one below over again: the same leaves and the same name."""
        labels = np.stack(self._list_labels())
        copies = np.zeros(self.nodes.shape, dtype=bool)
        copies[1:] = (self._low[1:] == self._low[:-1]) & (self._high[1:] == self._high[:-1])
        copies[1:] &= labels[1:] == labels[:-1]
        return copies

    def _build_subtree(
        self, level: int, leaf: int, copies: npt.NDArray[np.bool_]
    ) -> dict[str, Tree] | list[str]:
        """What hangs under the node at ``level`` above ``leaf``."""
        run = slice(self._low[level, leaf], self._high[level, leaf] + 1)
        if level == 1:
            return list(self.leaves[run])
        starts = np.unique(self._low[level - 1, run])
        # If every child is a copy, the copies are all that tells how many levels there are.
        keep = bool(copies[level - 1, starts].all())
        tree: dict[str, Tree] = {}
        for start in starts:
            # Below the copies, which follow each other, stands the node itself.
            own = level - 1 if keep else int(np.flatnonzero(~copies[:level, start])[-1])
            name = self.names[own][self.nodes[own, start]]
            tree[name] = self._build_subtree(own, start, copies) if own else []
        return tree

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.nodes, other.nodes)

    def __hash__(self) -> int:
        return hash((self.names, self.nodes.tobytes()))

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.leaves)} leaves, height {self.height}, root '{self.root}')"


def uncovered(hierarchy: Hierarchy, values: Iterable[str]) -> list[str]:
    """The distinct ``values`` that are no leaf of ``hierarchy``, sorted."""
    return sorted(uncovered_in_order(hierarchy, values))


def uncovered_in_order(hierarchy: Hierarchy, values: Iterable[str]) -> list[str]:
    """The distinct ``values`` that are no leaf, in the order given."""
    known = set(hierarchy.leaves)
    return [value for value in dict.fromkeys(values) if value not in known]


def find_broken_rule(nodes: IntArray, names: Names) -> str:
    """The rule that ``nodes`` and ``names`` break; empty if there is none."""
    if nodes.ndim != 2 or not 2 <= len(nodes) <= MAX_LEVELS or nodes.shape[1] == 0:
        return f"nodes are levels x leaves, with 2 to {MAX_LEVELS} levels and at least one leaf"
    # 1 where a node begins. Where a level begins a node, the level below must begin one, too.
    steps = np.diff(nodes, axis=1)
    rules = {
        "ids count up from 0 along each level": not nodes[:, 0].any() and np.isin(steps, (0, 1)).all(),
        "each leaf is a node of its own at level 0": steps[0].all(),
        "the last level is one root": not steps[-1].any(),
        "each node lies in one node of the next level": (steps[1:] <= steps[:-1]).all(),
        "each node has a name": [len(level) for level in names] == (nodes[:, -1] + 1).tolist(),
        "names differ within a level": all(len(set(level)) == len(level) for level in names),
    }
    return next((rule for rule, holds in rules.items() if not holds), "")


def find_first_leaves(nodes: IntArray) -> IntArray:
    """The first leaf of the node above each leaf, per level."""
    starts = np.zeros_like(nodes)
    # A node begins where the id changes; the running maximum repeats that place along it.
    starts[:, 1:] = np.where(np.diff(nodes, axis=1), np.arange(1, nodes.shape[1]), 0)
    return np.maximum.accumulate(starts, axis=1)


def find_last_leaves(nodes: IntArray) -> IntArray:
    """The last leaf of the node above each leaf, per level."""
    last = nodes.shape[1] - 1
    # Read backwards, the last leaf of a node is its first.
    return np.ascontiguousarray(last - find_first_leaves(nodes[:, ::-1])[:, ::-1])
