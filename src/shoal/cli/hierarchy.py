"""The commands for hierarchies: make, draw, check and convert them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as o
from shoal.cli.options import flag, option

if TYPE_CHECKING:
    from shoal.hierarchies import Hierarchy
    from shoal.hierarchies.checking import Checked
    from shoal.table import Table

_TREE, _WRITING, _TABLE = "The hierarchy", "The file", "The table"

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
        panel=_TABLE,
        metavar="NAME",
        help="The column it is for, where the name of the file does not say so.",
    ),
]
TableFile = Annotated[
    Path | None,
    option("--table", panel=_TABLE, metavar="FILE", help="A table with that column."),
]
Written = Annotated[
    Path | None,
    option(
        "--output",
        "-o",
        panel=_WRITING,
        metavar="FILE",
        help="Where to write it: .csv (ARX), .toml, .tree (outline) or .txt (domains).",
    ),
]
FormatOption = Annotated[
    str | None,
    option(
        "--format",
        panel=_WRITING,
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


def build(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="The table, in any format.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column to build a hierarchy for.")],
    method: Annotated[
        str,
        option(
            "--method",
            panel=_TREE,
            metavar="NAME",
            help="auto (by the column's type), intervals, quantiles, boundaries, mask, dates, order, "
            "frequency (rare values together) or learned (from a target or the other columns).",
        ),
    ] = "auto",
    set: Annotated[
        list[str] | None,
        option(
            "--set",
            panel=_TREE,
            metavar="P=V",
            help="A parameter of the method. intervals: widths=5,10,20 factor=2 start=0. quantiles: parts=8 "
            "factor=2. boundaries: boundaries=18,65 factor=2. mask: keep=3,1 side=right or left "
            "character=*. dates: spans=month,quarter,year (day, week, decade, weekday). order: sizes=2. "
            "frequency: below=0.01,0.05. learned: groups=8,4,2. Repeatable.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        option(
            "--target",
            panel=_TREE,
            metavar="COLUMN",
            help="What groups are learned from, instead of all other columns.",
        ),
    ] = None,
    type: o.Type = None,
    order: o.Order = None,
    output: Written = None,
    format: FormatOption = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    depth: Depth = None,
    limit: Limit = 12,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Build a hierarchy over the values of a column.

    [bold]shoal hierarchy build people.csv age --method intervals --set widths=5,10,20 -o age.csv[/bold]

    Without -o it is drawn, and nothing is written.
    """
    from shoal.building import grow, value_rows
    from shoal.cli import arguments as a
    from shoal.hierarchies import BUILDERS
    from shoal.parameters import describe, name_of
    from shoal.table import Column, read

    _check_drawn(depth, limit)
    _check_output(output, format, [input])
    parameters = dict(a.pairs("--set", set))
    table = read(input, a.reading_options(delimiter, encoding, no_header, na))
    _check_column(table, column)
    known = Column(
        column, a.types_of(table, None, type).get(column), a.orders_of(order).get(column), na=tuple(na or ())
    )
    built = grow(table, known, method, parameters, target)
    found = {
        "column": column,
        "method": name_of(BUILDERS, built.builder),
        "parameters": describe(built.builder),
        "left_out": list(built.left_out),
    }
    _save(built.hierarchy, output, column, format)
    _tell(built.hierarchy, found, value_rows(table, column), output, (depth, limit), as_json, quiet)


def show(
    source: Source,
    column: ColumnName = None,
    table: TableFile = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    depth: Depth = None,
    limit: Limit = 12,
    as_json: o.AsJson = False,
    debug: o.Debug = False,
) -> None:
    """Draw the tree, with the number of rows below each node if a table is given.

    [bold]shoal hierarchy show @countries --depth 2[/bold]
    """
    from shoal.building import value_rows
    from shoal.cli.arguments import reading_options
    from shoal.hierarchies import read_source, uncovered
    from shoal.table import read

    _check_drawn(depth, limit)
    tree = read_source(source, column)
    found: dict[str, Any] = {"source": source}
    rows = None
    if table is not None:
        opened = read(table, reading_options(delimiter, encoding, no_header, na))
        name = _column_of(opened, source, column)
        rows = value_rows(opened, name)
        found |= {"column": name, "uncovered": {value: rows[value] for value in uncovered(tree, rows)}}
    _tell(tree, found, rows, None, (depth, limit), as_json, False)


def check(
    source: Source,
    column: ColumnName = None,
    table: TableFile = None,
    fix: Annotated[
        bool, flag("--fix", _WRITING, "Write the hierarchy with all that put right, to the file of -o.")
    ] = False,
    output: Written = None,
    format: FormatOption = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Find all that is wrong with a hierarchy, and say what would put it right.

    [bold]shoal hierarchy check trees/job.csv --table people.csv --fix -o trees/job.csv[/bold]

    Looks for levels that are not nested, values listed twice, several roots and empty labels, and with a
    table for values that the hierarchy does not have. The exit code is 0 if nothing is wrong or a fixed one
    was written, 3 if something is.
    """
    from shoal.building import value_rows
    from shoal.cli.arguments import reading_options
    from shoal.errors import RecipeError
    from shoal.hierarchies.checking import check_hierarchy
    from shoal.hierarchies.sources import list_source
    from shoal.table import read

    if fix != (output is not None):
        raise RecipeError("--fix and -o FILE go together: -o says where the fixed hierarchy is written")
    _check_output(output, format, [table] if table is not None else [])
    listing = list_source(source, column)
    opened = None if table is None else read(table, reading_options(delimiter, encoding, no_header, na))
    name = column if opened is None else _column_of(opened, source, column)
    checked = check_hierarchy(listing, () if opened is None or name is None else value_rows(opened, name))
    _save(checked.fixed, output, name, format)
    _tell_checked(checked, source, output, as_json, quiet)
    raise typer.Exit(3 if checked.problems and not fix else 0)


def convert(
    source: Source,
    output: Annotated[
        Path,
        option(
            "--output",
            "-o",
            panel=_WRITING,
            metavar="FILE",
            help="Where to write it: .csv (ARX), .toml, .tree (outline) or .txt (domains).",
        ),
    ],
    column: ColumnName = None,
    format: FormatOption = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write a hierarchy in another format.

    [bold]shoal hierarchy convert trees/job.csv -o job.toml[/bold]
    """
    from shoal.hierarchies import is_ready, read_source

    _check_output(output, format, [])
    name = column or (None if is_ready(source) else Path(source).stem)
    _save(read_source(source, column), output, name, format)
    if not quiet:
        typer.echo(f"wrote {output}")


def list_ready(debug: o.Debug = False) -> None:
    """List the hierarchies that ship with Shoal.

    [bold]shoal anonymize people.csv -q country --hierarchies country=@countries -k 5[/bold]
    """
    from shoal.hierarchies import READY

    width = max(map(len, READY)) + 1
    for each in READY.values():
        typer.echo(f"{'@' + each.name:<{width}}  {each.description}")


def _check_drawn(depth: int | None, limit: int) -> None:
    from shoal.errors import RecipeError

    if depth is not None and depth < 1:
        raise RecipeError(f"--depth is how many levels are drawn: 1 or more, not {depth}")
    if limit < 1:
        raise RecipeError(f"--limit is how many children are drawn: 1 or more, not {limit}")


def _check_output(output: Path | None, format: str | None, inputs: list[Path]) -> None:
    """Refuse a file that could not be written before anything is read."""
    from shoal.errors import RecipeError
    from shoal.hierarchies.formats import writer
    from shoal.table import check_writable

    if output is None:
        if format is not None:
            raise RecipeError("--format is that of a file: say which, with -o FILE")
        return
    writer(output, format)
    check_writable(output, inputs)


def _save(hierarchy: Hierarchy, output: Path | None, column: str | None, format: str | None) -> None:
    from shoal.hierarchies import save_hierarchy

    if output is not None:
        save_hierarchy(hierarchy, output, column, format)


def _check_column(table: Table, column: str) -> None:
    from shoal.errors import RecipeError, unknown

    if column not in table.names:
        raise RecipeError(f"{table.origin}: {unknown('column', column, table.names)}")


def _column_of(table: Table, source: str, column: str | None) -> str:
    """The column that a hierarchy is for: as said, or after which its file is named."""
    from shoal.errors import RecipeError, quote

    if column is None and Path(source).stem not in table.names:
        raise RecipeError(f"which column is {source} for? Say --column, of {quote(table.names, 20)}")
    name = Path(source).stem if column is None else column
    _check_column(table, name)
    return name


def _tell(
    tree: Hierarchy,
    found: dict[str, Any],
    rows: dict[str, int] | None,
    output: Path | None,
    drawn: tuple[int | None, int],
    as_json: bool,
    quiet: bool,
) -> None:
    """Show a hierarchy and how it was found."""
    import json

    from shoal.cli.screen import console
    from shoal.errors import quote
    from shoal.report.trees import nodes, picture, size_line, summary

    if as_json:
        written = {"output": str(output) if output else None} if "method" in found else {}
        typer.echo(json.dumps({**found, **summary(tree), **written, "tree": nodes(tree, rows).to_dict()}))
        return
    if quiet:
        return
    screen = console()
    made = f"{found['column']}, by {found['method']}" if "method" in found else found["source"]
    screen.print(f"{made}: {size_line(tree)}", markup=False, soft_wrap=True)
    screen.print(picture(nodes(tree, rows), *drawn))
    for key, what in (("left_out", "left out as missing"), ("uncovered", "not in the hierarchy")):
        if found.get(key):
            screen.print(f"! {what}: {quote(found[key])}", markup=False)
    if "method" in found:
        where = f"written to {output}" if output else "not written; -o FILE would keep it"
        screen.print(where, markup=False, soft_wrap=True)


def _tell_checked(checked: Checked, source: str, output: Path | None, as_json: bool, quiet: bool) -> None:
    """Show what a check found."""
    import json
    from dataclasses import asdict

    from shoal.cli.screen import console
    from shoal.report.trees import show_problems, size_line, summary

    count, unused = len(checked.problems), checked.unused
    if as_json:
        problems = [asdict(problem) for problem in checked.problems]
        found = {"source": source, "problems": problems, "unused": unused, **summary(checked.fixed)}
        typer.echo(json.dumps({**found, "output": str(output) if output else None}))
        return
    if quiet:
        return
    screen = console()
    verdict = "nothing is wrong" if not count else f"{count:,} {'problem' if count == 1 else 'problems'}"
    screen.print(f"{source}: {verdict}; {size_line(checked.fixed)}", markup=False, soft_wrap=True)
    if count:
        screen.print()
        show_problems(screen, checked.problems)
    if unused:
        occur = "does" if unused == 1 else "do"
        screen.print(f"  {unused:,} of its values {occur} not occur in the column", style="dim")
    if output:
        screen.print(f"  the fixed hierarchy is written to {output}", markup=False, soft_wrap=True)
