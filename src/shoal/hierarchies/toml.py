"""Hierarchies in TOML: a table per column, groups as tables, the innermost as arrays of values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from shoal.errors import InputError
from shoal.hierarchies.assembly import ROOT, Listing, Listings, Tree, assemble
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.text import read_text


def list_toml(path: Path) -> Listings:
    """The rows of every column that the file has a table or an array for, read when they are asked for."""
    try:
        tables = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"'{path}' is not valid TOML: {error}") from None
    return {
        column: partial(list_table, table, f"'{path}', column '{column}'") for column, table in tables.items()
    }


def list_table(table: Tree, source: str) -> Listing:
    """The rows of the TOML table of one column."""
    root = table.get("root") if isinstance(table, Mapping) else None
    if isinstance(table, Mapping) and isinstance(root, str):
        return Listing.of_tree({key: branch for key, branch in table.items() if key != "root"}, root, source)
    return Listing.of_tree(table, ROOT, source)


def from_toml(table: Tree, source: str = "hierarchy") -> Hierarchy:
    """Read the TOML table of one column.

    A key with a table is a group of groups, one with an array a group of values, one with an empty array a
    value itself; ``root``, with a string, names the root. An array instead of the table is a list of values.
    """
    return Hierarchy(*assemble(*list_table(table, source)))


def toml_text(column: str, hierarchy: Hierarchy) -> str:
    """The table of one column as TOML."""
    return tomli_w.dumps({column: to_toml(hierarchy)})


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
