"""``shoal hierarchy build``: a hierarchy over the values of a column."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.commands import hierarchy as h
from shoal.cli.options import option
from shoal.codespace.building import build_from_table, count_value_rows
from shoal.support.parameters import describe_parameters, name_of
from shoal.table import Column, read_table
from shoal.table.hierarchies import BUILDERS


def build(
    input: o.TableFile,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column to build a hierarchy for.")],
    method: Annotated[
        str,
        option(
            "--method",
            panel=h.TREE,
            metavar="NAME",
            help="auto (by the column's type), intervals, quantiles, boundaries, mask, dates, order, "
            "frequency (rare values together) or learned (from a target or the other columns).",
        ),
    ] = "auto",
    set: Annotated[
        list[str] | None,
        option(
            "--set",
            panel=h.TREE,
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
            panel=h.TREE,
            metavar="COLUMN",
            help="What groups are learned from, instead of all other columns.",
        ),
    ] = None,
    type: o.Type = None,
    order: o.Order = None,
    output: h.Written = None,
    format: h.FormatOption = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    depth: h.Depth = None,
    limit: h.Limit = 12,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Build a hierarchy over the values of a column.

    [bold]shoal hierarchy build people.csv age --method intervals --set widths=5,10,20 -o age.csv[/bold]

    Without -o it is drawn, and nothing is written.
    """
    h.check_drawing_limits(depth, limit)
    h.check_output(output, format, [input])
    parameters = dict(a.parse_pairs("--set", set))
    table = read_table(input, a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal))
    h.check_column(table, column)
    known = Column(
        column, a.types_of(table, None, type).get(column), a.orders_of(order).get(column), na=tuple(na or ())
    )
    built = build_from_table(table, known, method, parameters, target)
    found = {
        "column": column,
        "method": name_of(BUILDERS, built.builder),
        "parameters": describe_parameters(built.builder),
        "left_out": list(built.left_out),
    }
    h.write_output(built.hierarchy, output, column, format)
    h.show_hierarchy(
        built.hierarchy, found, count_value_rows(table, column), output, (depth, limit), as_json, quiet
    )
