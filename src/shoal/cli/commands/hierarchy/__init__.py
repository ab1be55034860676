"""The commands for hierarchies, and what they share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console
from shoal.errors import RecipeError, quote, unknown
from shoal.report.trees import build_nodes, draw_tree, size_line, summarize_hierarchy
from shoal.support.filenames import match_files
from shoal.table import Table, check_writable
from shoal.table.hierarchies import Hierarchy, save_hierarchy
from shoal.table.hierarchies.formats import choose_writer

TREE, WRITING, TABLE = "The hierarchy", "The file", "The table"

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A file (CSV in the ARX layout or anjana's, TOML, .tree outline, domains text) or a ready-made "
        "one, as @countries.",
    ),
]
ColumnName = Annotated[
    str | None,
    option(
        "--column",
        panel=TABLE,
        metavar="NAME",
        help="The column it is for, where the name of the file does not say so.",
    ),
]
TableFile = Annotated[
    Path | None,
    option("--table", panel=TABLE, metavar="FILE", help="A table with that column."),
]
Written = Annotated[
    Path | None,
    option(
        "--output",
        "-o",
        panel=WRITING,
        metavar="FILE",
        help="Where to write it: .csv (ARX), .toml, .tree (outline) or .txt (domains).",
    ),
]
FormatOption = Annotated[
    str | None,
    option(
        "--format",
        panel=WRITING,
        metavar="NAME",
        help="Another format than the suffix says: arx, anjana, domains, toml or outline.",
    ),
]
Depth = Annotated[
    int | None, option("--depth", panel=o.SHOWN, metavar="N", help="Draw so many levels; all of them else.")
]
Limit = Annotated[
    int, option("--limit", panel=o.SHOWN, metavar="N", help="Draw at most so many children of each node.")
]


def check_drawing_limits(depth: int | None, limit: int) -> None:
    """Refuse to draw nothing."""
    if depth is not None and depth < 1:
        raise RecipeError(f"--depth is how many levels are drawn: 1 or more, not {depth}")
    if limit < 1:
        raise RecipeError(f"--limit is how many children are drawn: 1 or more, not {limit}")


def check_output(output: Path | None, format: str | None, inputs: list[Path]) -> None:
    """Refuse a file that could not be written before anything is read."""
    if output is None:
        if format is not None:
            raise RecipeError("--format is that of a file: say which, with -o FILE")
        return
    choose_writer(output, format)
    check_writable(output, inputs)


def write_output(hierarchy: Hierarchy, output: Path | None, column: str | None, format: str | None) -> None:
    """Write a hierarchy if a file is named."""
    if output is not None:
        save_hierarchy(hierarchy, output, column, format)


def check_column(table: Table, column: str) -> None:
    """Refuse a column that a table does not have."""
    if column not in table.names:
        raise RecipeError(f"{table.origin}: {unknown('column', column, table.names)}")


def find_column(table: Table, source: str, column: str | None) -> str:
    """The column that a hierarchy is for: as said, or after which its file is named."""
    name = next(iter(match_files({Path(source).stem}, table.names)), None) if column is None else column
    if name is None:
        raise RecipeError(f"which column is {source} for? Say --column, of {quote(table.names, 20)}")
    check_column(table, name)
    return name


def show_hierarchy(
    tree: Hierarchy,
    found: dict[str, Any],
    rows: dict[str, int] | None,
    output: Path | None,
    drawn: tuple[int | None, int],
    as_json: bool,
    quiet: bool,
) -> None:
    """Show a hierarchy and how it was found."""
    if as_json:
        # Only a hierarchy that was built can be written; one that is shown came from a file.
        written = {"output": str(output) if output else None} if "method" in found else {}
        typer.echo(
            json.dumps(
                {**found, **summarize_hierarchy(tree), **written, "tree": build_nodes(tree, rows).to_dict()}
            )
        )
        return
    if quiet:
        return
    screen = make_console()
    made = f"{found['column']}, by {found['method']}" if "method" in found else found["source"]
    screen.print(f"{made}: {size_line(tree)}", markup=False, soft_wrap=True)
    screen.print(draw_tree(build_nodes(tree, rows), *drawn))
    for key, what in (("left_out", "left out as missing"), ("uncovered", "not in the hierarchy")):
        if found.get(key):
            screen.print(f"! {what}: {quote(found[key])}", markup=False)
    if "method" in found:
        where = f"written to {output}" if output else "not written; -o FILE would keep it"
        screen.print(where, markup=False, soft_wrap=True)
