"""Hierarchies in TOML: a table per column, groups as tables, the innermost as arrays of values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.hierarchies.assembly import ROOT, Tree
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.text import known_columns, read_text


def read_toml(path: Path, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the hierarchies of those ``columns`` that the file has a table or an array for."""
    try:
        tables = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"'{path}' is not valid TOML: {error}") from None
    found = known_columns(tables, columns, path)
    return {column: from_toml(tables[column], f"'{path}', column '{column}'") for column in found}


def from_toml(table: Tree, source: str = "hierarchy") -> Hierarchy:
    """Read the TOML table of one column.

    A key with a table is a group of groups, one with an array a group of values, one with an empty array a
    value itself; ``root``, with a string, names the root. An array instead of the table is a list of values.
    """
    root = table.get("root") if isinstance(table, Mapping) else None
    if isinstance(table, Mapping) and isinstance(root, str):
        below = {key: branch for key, branch in table.items() if key != "root"}
        return Hierarchy.from_tree(below, root, source)
    return Hierarchy.from_tree(table, source=source)


def to_toml(hierarchy: Hierarchy) -> dict[str, Any]:
    """The table from which ``from_toml`` makes an equal hierarchy, also after it was written to a file.

    Every level is spelt out: where tables and arrays are mixed, TOML cannot keep their order.
    """
    table: dict[str, Any] = {} if hierarchy.root == ROOT else {"root": hierarchy.root}
    if table and "root" in hierarchy.names[-2]:
        raise InputError(
            f"TOML cannot hold a group 'root' under a root named '{hierarchy.root}': rename the group"
        )
    for leaf, *groups in hierarchy.to_rows():
        *outer, inner = groups[-2::-1] or [leaf]
        branch = table
        for group in outer:
            branch = branch.setdefault(group, {})
        branch.setdefault(inner, []).extend([leaf] if groups[:-1] else [])
    return table
