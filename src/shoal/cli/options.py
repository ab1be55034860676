"""The options of the commands, in the panels of the help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ROLES, GOAL, SEARCH, RELEASE, READING, SHOWN = (
    "What the columns are",
    "The privacy goal",
    "How to search",
    "The release",
    "Reading the table",
    "What is shown",
)


def option(*names: str, panel: str, help: str, metavar: str) -> Any:
    """An option in one of the panels of the help; a flag has no metavar."""
    return typer.Option(*names, rich_help_panel=panel, help=help, metavar=metavar)


def flag(name: str, panel: str, help: str) -> Any:
    """An option without a value."""
    return option(name, panel=panel, help=help, metavar="")


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
    list[str] | None,
    option("--plain", panel=ROLES, metavar="X", help="Columns kept as they are, as are all without a role."),
]
Roles = Annotated[
    str | None,
    option(
        "--roles",
        panel=ROLES,
        metavar="q,s,i,x",
        help="Roles by position instead: q quasi, s sensitive, i ignored (plain), x identifier; q where not "
        "said.",
    ),
]
Types = Annotated[
    str | None,
    option(
        "--types",
        panel=ROLES,
        metavar="s,i,f",
        help="Types by position: s string, i integer, f float, d date, o ordered, b boolean; inferred where "
        "not said.",
    ),
]
Type = Annotated[
    list[str] | None,
    option("--type", panel=ROLES, metavar="age=int", help="The type of one column. Repeatable."),
]
Order = Annotated[
    list[str] | None,
    option(
        "--order",
        panel=ROLES,
        metavar="C=S,M,L",
        help="The values of an ordered column, from first to last. Repeatable.",
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    option(
        "--hierarchies",
        "--domains",
        panel=ROLES,
        metavar="PATH",
        help="Trees over the values: a folder of COLUMN.csv (value;level 1;level 2;...), one such file as "
        "COLUMN=PATH, a ready-made one as COLUMN=@countries, a domains text file, or TOML. Repeatable.",
    ),
]
K = Annotated[
    int | None,
    option("--k", "-k", panel=GOAL, metavar="N", help="At least this many rows in every class."),
]
L = Annotated[
    int | None,
    option(
        "--l",
        "-l",
        panel=GOAL,
        metavar="N",
        help="At least this many different values of each sensitive column in every class.",
    ),
]
Ks = Annotated[
    str,
    option(
        "--k",
        "-k",
        panel=GOAL,
        metavar="5..50",
        help="Values of k: 5,10,20 or 5..50 (10 of them, spread, where there are more).",
    ),
]
Ls = Annotated[
    str | None,
    option(
        "--l", "-l", panel=GOAL, metavar="2..5", help="Values of l, likewise; those up to k, and 1 for none."
    ),
]
T = Annotated[
    float | None,
    option(
        "--t",
        "-t",
        panel=GOAL,
        metavar="X",
        help="The sensitive values of every class no farther than this, 0 to 1, from those of the whole.",
    ),
]
Models = Annotated[
    list[str] | None,
    option(
        "--model",
        "-m",
        panel=GOAL,
        metavar="M(P=V)",
        help="Any privacy model, as t(t=0.2,column=S): k, distinct-l, entropy-l, recursive-cl, alpha-k, t, "
        "basic-beta, enhanced-beta, delta-disclosure, p-sensitive, max-risk, average-risk, uniqueness, k-map "
        "and delta-presence (with population=FILE), safepub. Repeatable; all hold together.",
    ),
]
Suppress = Annotated[
    float,
    option(
        "--suppress", panel=GOAL, metavar="SHARE", help="The largest share of rows that may be suppressed."
    ),
]
AlgorithmName = Annotated[
    str,
    option(
        "--algorithm",
        "-a",
        panel=SEARCH,
        metavar="NAME",
        help="auto (the best of several in half a second), mondrian, hilbert, cluster, refine, peel (for "
        "hierarchies), lattice (the best levels of hierarchies), datafly, samarati, tree (for learning), "
        "microaggregate (numbers stay numbers), mingen (exact, small tables), genetic or safepub (for that "
        "model).",
    ),
]
Parameters = Annotated[
    list[str] | None,
    option(
        "--set",
        panel=SEARCH,
        metavar="P=V",
        help="A parameter of the algorithm. auto: seconds=0.6. mondrian: mode=strict or relaxed, cut=greedy, "
        "nearest or classic. refine: start=mondrian or hilbert, sweeps=4, seconds=60. cluster: cell=1600, "
        "sweeps=16, seconds=60. peel: vectors=20000, sweeps=4, seconds=60. lattice: levels=age=1..3,sex=0, "
        "coding=age=20..70, seconds=60, others=5; datafly and samarati: levels, coding. microaggregate: "
        "centre=mean or median, cell=20000. mingen: semantics=classes or matching, seconds=60, iterations=, "
        "limit=100, sets=no, force=no. genetic: population=100, generations=1000, mutation_rate=10, "
        "patience=50, semantics=, seconds=. tree: target=COLUMN, grow=quasi or all, failing=merge or delete, "
        "split=yes, gain=16. safepub: levels=age=2,sex=0. Repeatable.",
    ),
]
LossName = Annotated[
    str,
    option(
        "--loss",
        panel=SEARCH,
        metavar="NAME",
        help="What is minimised and reported: ncp, span-ncp, certainty, distortion, generalised, precision, "
        "height, discernibility, class-size, entropy or squared-error.",
    ),
]
Weights = Annotated[
    str | None,
    option(
        "--weights",
        panel=SEARCH,
        metavar="1,1,20",
        help="How much each quasi-identifier matters, in order; 1 where not said.",
    ),
]
Weight = Annotated[
    list[str] | None,
    option("--weight", panel=SEARCH, metavar="job=20", help="The same for one column. Repeatable."),
]
CategoryOrderName = Annotated[
    str | None,
    option(
        "--category-order",
        panel=SEARCH,
        metavar="HOW",
        help="Flat categories by frequency or appearance; the algorithm's own way where not said.",
    ),
]
Jobs = Annotated[int, option("--jobs", panel=SEARCH, metavar="N", help="Tried at once; -1 for one per core.")]
Seed = Annotated[int, option("--seed", panel=SEARCH, metavar="N", help="For algorithms that draw at random.")]
Threads = Annotated[
    int,
    option(
        "--threads", panel=SEARCH, metavar="N", help="0 for one per core; the release is the same for any."
    ),
]
Memory = Annotated[
    str | None,
    option(
        "--memory",
        panel=SEARCH,
        metavar="2GB",
        help="For Parquet or CSV larger than memory: leave the rows on disk, and get along with about this "
        "much. Takes auto, hilbert, lattice, mondrian or peel, and an --output.",
    ),
]
EngineName = Annotated[
    str,
    option(
        "--engine",
        panel=SEARCH,
        metavar="NAME",
        help="local (this machine: in memory, or with the rows on disk if they would not fit), or spark "
        "(Parquet or CSV in, a folder of Parquet files out).",
    ),
]
Master = Annotated[
    str | None,
    option(
        "--master",
        panel=SEARCH,
        metavar="URL",
        help="With --engine spark: the cluster, as spark://host:7077; this machine's cores where not said.",
    ),
]
DriverRows = Annotated[
    int,
    option(
        "--driver-rows",
        panel=SEARCH,
        metavar="N",
        help="With --engine spark: the most different rows that the driver searches; more are shared out.",
    ),
]
Output = Annotated[
    Path | None,
    option(
        "--output",
        "-o",
        panel=RELEASE,
        metavar="FILE",
        help="Where to write it; the suffix names the format, as .csv, .parquet, .jsonl, .xlsx or .csv.gz. "
        "Nothing is written without it.",
    ),
]
RenderName = Annotated[
    str,
    option(
        "--render",
        panel=RELEASE,
        metavar="HOW",
        help="Released values as label (a tree node by its name, else the range or set), interval (the "
        "range), set (the values present), or representative (one for all).",
    ),
]
OutDelimiter = Annotated[
    str | None,
    option(
        "--out-delimiter", panel=RELEASE, metavar="CHAR", help="What separates cells; else as in the input."
    ),
]
SafeCsv = Annotated[
    bool,
    flag("--safe-csv", RELEASE, "Put an apostrophe before cells that a spreadsheet would run as a formula."),
]
RecipeOut = Annotated[
    Path | None,
    option(
        "--recipe-out",
        panel=RELEASE,
        metavar="FILE",
        help="Write all settings to a TOML file, for 'shoal run'.",
    ),
]
RecodingOut = Annotated[
    Path | None,
    option(
        "--recoding-out",
        panel=RELEASE,
        metavar="FILE",
        help="Write the classes to a file, for 'shoal apply' to put later rows into them.",
    ),
]
Delimiter = Annotated[
    str | None,
    option("--delimiter", panel=READING, metavar="CHAR", help="What separates cells; detected."),
]
Encoding = Annotated[
    str | None,
    option("--encoding", panel=READING, metavar="NAME", help="Of the text, as utf-8 or latin-1; detected."),
]
NoHeader = Annotated[
    bool, flag("--no-header", READING, "The first line is a row, too; columns are column_1, column_2, ...")
]
Na = Annotated[
    list[str] | None,
    option("--na", panel=READING, metavar="'?'", help="A cell that stands for a missing value. Repeatable."),
]
MissingName = Annotated[
    str,
    option(
        "--missing",
        panel=READING,
        metavar="HOW",
        help="A missing value is category (a value of its own), drop (a reason to drop the row) or error.",
    ),
]
ReportPage = Annotated[
    Path | None,
    option(
        "--report",
        panel=SHOWN,
        metavar="F.html",
        help="Write the report as a page that needs no network: what was promised, found and lost, in words "
        "and pictures, with all that an auditor needs.",
    ),
]
WithExcerpt = Annotated[
    bool, flag("--excerpt", SHOWN, "Show a few rows of the original in that page, without identifiers.")
]
AsJson = Annotated[bool, flag("--json", SHOWN, "Print one JSON object instead of the report.")]
Quiet = Annotated[bool, flag("--quiet", SHOWN, "Print nothing but errors.")]
Debug = Annotated[bool, flag("--debug", SHOWN, "Show where an error came from, for a bug report.")]
NoBrowser = Annotated[
    bool, flag("--no-browser", "The page", "Only print the address, and leave it to you to open it.")
]
