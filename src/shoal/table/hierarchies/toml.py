"""Hierarchies in TOML: a table per column, groups as tables, the innermost as arrays of values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from shoal.errors import InputError
from shoal.table.hierarchies.assembly import ROOT, Listing, Listings, Tree, assemble_hierarchy
from shoal.table.hierarchies.hierarchy import Hierarchy
from shoal.table.hierarchies.text import read_text

FROM_TABLE = "built_from_table"
_SAID: dict[str, type] = {"root": str, FROM_TABLE: bool}
"""What a table may say of the tree beside its groups."""


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
    if not isinstance(table, Mapping):
        return Listing.from_tree(table, ROOT, source)
    # Groups have tables or arrays, so that a text or a truth value is never one of them.
    said: dict[str, Any] = {key: each for key, each in table.items() if isinstance(each, _SAID.get(key, ()))}
    groups = {key: branch for key, branch in table.items() if key not in said}
    listing = Listing.from_tree(groups, said.get("root", ROOT), source)
    return listing._replace(origin=listing.origin._replace(built_from_table=said.get(FROM_TABLE, False)))


def from_toml(table: Tree, source: str = "hierarchy") -> Hierarchy:
    """Read the TOML table of one column.

    A key with a table is a group of groups, one with an array a group of values, one with an empty array a
    value itself; ``root``, with a string, names the root, and ``built_from_table = true`` says that a table
    made the tree. An array instead of the table is a list of values.
    """
    return Hierarchy(*assemble_hierarchy(*list_table(table, source)))


def render_toml(column: str, hierarchy: Hierarchy) -> str:
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
    if hierarchy.built_from_table:
        if FROM_TABLE in hierarchy.names[-2]:
            raise InputError(f"TOML cannot hold a group '{FROM_TABLE}' in a tree of that kind: rename it")
        table[FROM_TABLE] = True
    for leaf, *groups in hierarchy.to_rows():
        # A value without groups is a key of its own with an empty array.
        *outer, inner = groups[-2::-1] or [leaf]
        branch = table
        for group in outer:
            branch = branch.setdefault(group, {})
        branch.setdefault(inner, []).extend([leaf] if groups[:-1] else [])
    return table
