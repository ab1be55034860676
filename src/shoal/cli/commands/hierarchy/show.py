"""``shoal hierarchy show``: draw a hierarchy."""

from __future__ import annotations

from typing import Any

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.commands import hierarchy as h
from shoal.codespace.building import count_value_rows
from shoal.table import read_table
from shoal.table.hierarchies import read_source, uncovered


def show(
    source: h.Source,
    column: h.ColumnName = None,
    table: h.TableFile = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    depth: h.Depth = None,
    limit: h.Limit = 12,
    as_json: o.AsJson = False,
    debug: o.Debug = False,
) -> None:
    """Draw the tree, with the number of rows below each node if a table is given.

    [bold]shoal hierarchy show @countries --depth 2[/bold]
    """
    h.check_drawing_limits(depth, limit)
    tree = read_source(source, column)
    found: dict[str, Any] = {"source": source}
    rows = None
    if table is not None:
        opened = read_table(table, a.reading_options(delimiter, encoding, no_header, na, sheet))
        name = h.find_column(opened, source, column)
        rows = count_value_rows(opened, name)
        found |= {"column": name, "uncovered": {value: rows[value] for value in uncovered(tree, rows)}}
    h.show_hierarchy(tree, found, rows, None, (depth, limit), as_json, False)
