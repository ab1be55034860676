"""The options that commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

ROLES, READING, GOAL, SEARCH, RELEASE, OUTPUT = (
    "What the columns are",
    "Reading the table",
    "The privacy goal",
    "How to search",
    "The release",
    "What is shown",
)


def option(*names: str, panel: str, help: str, metavar: str | None = None) -> Any:
    """An option in one of the panels of the help."""
    return typer.Option(*names, rich_help_panel=panel, help=help, metavar=metavar)


Quasi = Annotated[
    list[str] | None,
    option("--quasi", "-q", panel=ROLES, metavar="A,B", help="Columns someone could recognise a person by."),
]
Sensitive = Annotated[
    list[str] | None,
    option("--sensitive", "-s", panel=ROLES, metavar="S", help="Columns nobody should learn about a person."),
]
Identifier = Annotated[
    list[str] | None,
    option(
        "--identifier", panel=ROLES, metavar="ID", help="Columns that name a person; left out of the release."
    ),
]
Plain = Annotated[
    list[str] | None, option("--plain", panel=ROLES, metavar="X", help="Columns kept as they are.")
]
Roles = Annotated[
    str | None,
    option(
        "--roles",
        panel=ROLES,
        metavar="q,q,s,i,x",
        help="Roles by position: q quasi, s sensitive, i ignored (plain), x identifier; the rest are q.",
    ),
]
Types = Annotated[
    str | None,
    option(
        "--types",
        panel=ROLES,
        metavar="s,i,f,d,o",
        help="Types by position: string, integer, float, date, ordered, b for true/false; else inferred.",
    ),
]
Type = Annotated[
    list[str] | None, option("--type", panel=ROLES, metavar="age=int", help="The type of one column.")
]
Order = Annotated[
    list[str] | None,
    option("--order", panel=ROLES, metavar="size=S,M,L", help="The values of an ordered column, in order."),
]
Hierarchies = Annotated[
    list[str] | None,
    option(
        "--hierarchies",
        "--domains",
        panel=ROLES,
        metavar="PATH",
        help="A folder of COLUMN.csv, one file as COLUMN=PATH, a domains text file, or TOML. Repeatable.",
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter", panel=READING, metavar="CHAR", help="What separates cells; detected where not said."
    ),
]
Encoding = Annotated[
    str | None, option("--encoding", panel=READING, help="Of the text; detected where not said.")
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", rich_help_panel=READING, help="The first line is a row, too.")
]
Na = Annotated[
    list[str] | None,
    option("--na", panel=READING, metavar="'?'", help="A cell that stands for a missing value. Repeatable."),
]
Missing = Annotated[
    str,
    option(
        "--missing",
        panel=READING,
        metavar="category|drop|error",
        help="A missing value is a value of its own, a reason to drop the row, or an error.",
    ),
]
K = Annotated[int | None, option("-k", "--k", panel=GOAL, help="At least this many rows in every class.")]
L = Annotated[
    int | None, option("-l", "--l", panel=GOAL, help="At least this many sensitive values in every class.")
]
Models = Annotated[
    list[str] | None,
    option(
        "--model",
        "-m",
        panel=GOAL,
        metavar="NAME(P=V,...)",
        help="Any model, as k(k=5) or distinct-l(l=3,column=S).",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object instead.")
]
Quiet = Annotated[bool, typer.Option("--quiet", rich_help_panel=OUTPUT, help="No progress, no report.")]
Debug = Annotated[
    bool,
    typer.Option("--debug", rich_help_panel=OUTPUT, help="Show where an error came from, for a bug report."),
]
