"""Hierarchies on a terminal, and as nested mappings for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from shoal.report.terminal_parts import indent_block, plain_table
from shoal.table.hierarchies import Hierarchy
from shoal.table.hierarchies.checking import HierarchyProblem

_MOST_PROBLEMS = 40


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a tree as it is shown, a repeated label once."""

    name: str
    leaves: int
    rows: int | None
    """How many rows of a table lie below it, where there is a table."""
    children: tuple[TreeNode, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The node and all below it, for JSON."""
        rows = {} if self.rows is None else {"rows": self.rows}
        below = {"children": [child.to_dict() for child in self.children]} if self.children else {}
        return {"name": self.name, **rows, **below}


def build_nodes(hierarchy: Hierarchy, rows: Mapping[str, int] | None = None) -> TreeNode:
    """The root with all below it, given how many rows hold each value."""
    return _build_node(hierarchy.root, hierarchy.to_tree(), rows)


def _build_node(name: str, below: Any, rows: Mapping[str, int] | None) -> TreeNode:
    if not below:
        return TreeNode(name, 1, None if rows is None else rows.get(name, 0))
    # Leaves may stand in a list, without anything below them; other levels are mappings.
    branches = below.items() if isinstance(below, Mapping) else [(leaf, ()) for leaf in below]
    children = tuple(_build_node(label, branch, rows) for label, branch in branches)
    total = None if rows is None else sum(child.rows or 0 for child in children)
    return TreeNode(name, sum(child.leaves for child in children), total, children)


def draw_tree(root: TreeNode, depth: int | None = None, limit: int = 12) -> Tree:
    """The tree as it is drawn: so many levels, so many children of each node, and none without rows."""
    tree = Tree(_format_label(root), guide_style="dim")
    _draw_children(tree, root, depth, limit)
    return tree


def _draw_children(tree: Tree, node: TreeNode, depth: int | None, limit: int) -> None:
    if depth == 0:
        return
    # None is not 0: without a table no child is left out.
    shown = [child for child in node.children if child.rows != 0][:limit]
    for child in shown:
        _draw_children(
            tree.add(_format_label(child, depth == 1)), child, None if depth is None else depth - 1, limit
        )
    if rest := len(node.children) - len(shown):
        # What is left of the rows belongs to the children that are not drawn.
        rows = (node.rows or 0) - sum(child.rows or 0 for child in shown)
        tree.add(Text(f"and {rest:,} more{f', {rows:,}' if rows else ''}", "dim"))


def _format_label(node: TreeNode, closed: bool = False) -> Text:
    inside = f"  {node.leaves:,} values" if closed and node.children else ""
    rows = "" if node.rows is None else f"  {node.rows:,}"
    return Text.assemble(node.name, (rows, "cyan"), (inside, "dim"))


def summarize_hierarchy(hierarchy: Hierarchy) -> dict[str, Any]:
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


def show_problems(console: Console, problems: Sequence[HierarchyProblem]) -> None:
    """Print what is wrong with a hierarchy, and what would put it right."""
    table = plain_table("problem", "", "fix")
    for problem in problems[:_MOST_PROBLEMS]:
        table.add_row(Text(problem.kind, "yellow"), Text(problem.message), Text(problem.fix, "green"))
    console.print(indent_block(table))
    if len(problems) > _MOST_PROBLEMS:
        console.print(Text(f"  and {len(problems) - _MOST_PROBLEMS:,} more; --json lists all", "dim"))
