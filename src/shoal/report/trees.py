"""Hierarchies on a terminal, and as nested mappings for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from shoal.hierarchies import Hierarchy
from shoal.hierarchies.checking import Problem
from shoal.report.pieces import indented, plain_table

_MOST_PROBLEMS = 40


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree as it is shown, a repeated label once."""

    name: str
    leaves: int
    rows: int | None
    """How many rows of a table lie below it, where there is a table."""
    children: tuple[Node, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The node and all below it, for JSON."""
        rows = {} if self.rows is None else {"rows": self.rows}
        below = {"children": [child.to_dict() for child in self.children]} if self.children else {}
        return {"name": self.name, **rows, **below}


def nodes(hierarchy: Hierarchy, rows: Mapping[str, int] | None = None) -> Node:
    """The root with all below it, given how many rows hold each value."""
    return _node(hierarchy.root, hierarchy.to_tree(), rows)


def _node(name: str, below: Any, rows: Mapping[str, int] | None) -> Node:
    if not below:
        return Node(name, 1, None if rows is None else rows.get(name, 0))
    branches = below.items() if isinstance(below, Mapping) else [(leaf, ()) for leaf in below]
    children = tuple(_node(label, branch, rows) for label, branch in branches)
    total = None if rows is None else sum(child.rows or 0 for child in children)
    return Node(name, sum(child.leaves for child in children), total, children)


def picture(root: Node, depth: int | None = None, limit: int = 12) -> Tree:
    """The tree as it is drawn: so many levels, so many children of each node, and none without rows."""
    tree = Tree(_label(root), guide_style="dim")
    _draw(tree, root, depth, limit)
    return tree


def _draw(tree: Tree, node: Node, depth: int | None, limit: int) -> None:
    if depth == 0:
        return
    shown = [child for child in node.children if child.rows != 0][:limit]
    for child in shown:
        _draw(tree.add(_label(child, depth == 1)), child, None if depth is None else depth - 1, limit)
    if rest := len(node.children) - len(shown):
        rows = (node.rows or 0) - sum(child.rows or 0 for child in shown)
        tree.add(Text(f"and {rest:,} more{f', {rows:,}' if rows else ''}", "dim"))


def _label(node: Node, closed: bool = False) -> Text:
    inside = f"  {node.leaves:,} values" if closed and node.children else ""
    rows = "" if node.rows is None else f"  {node.rows:,}"
    return Text.assemble(node.name, (rows, "cyan"), (inside, "dim"))


def summary(hierarchy: Hierarchy) -> dict[str, Any]:
    """The size of a hierarchy, for JSON."""
    levels = [len(names) for names in hierarchy.names]
    return {
        "leaves": len(hierarchy.leaves),
        "height": hierarchy.height,
        "root": hierarchy.root,
        "levels": levels,
    }


def size_line(hierarchy: Hierarchy) -> str:
    """The size of a hierarchy, in words."""
    levels = ", ".join(f"{len(names):,}" for names in hierarchy.names)
    return f"{len(hierarchy.leaves):,} values, height {hierarchy.height} (nodes on each level: {levels})"


def show_problems(console: Console, problems: Sequence[Problem]) -> None:
    """Print what is wrong with a hierarchy, and what would put it right."""
    table = plain_table("problem", "", "fix")
    for problem in problems[:_MOST_PROBLEMS]:
        table.add_row(Text(problem.kind, "yellow"), Text(problem.message), Text(problem.fix, "green"))
    console.print(indented(table))
    if len(problems) > _MOST_PROBLEMS:
        console.print(Text(f"  and {len(problems) - _MOST_PROBLEMS:,} more; --json lists all", "dim"))
