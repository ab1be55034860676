"""The options of the commands, in the panels of the help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from shoal.cli.standard import from_standard_input
from shoal.recipes.settings import GROUPS, CommandOption, DeclaredSetting, find_option, list_settings

ROLES, GOAL, SEARCH, RELEASE, READING = (
    GROUPS[name] for name in ("columns", "goal", "search", "release", "table")
)
SHOWN = "What is shown"
F = TypeVar("F", bound=Callable[..., Any])


def option(*names: str, panel: str, help: str, metavar: str, **more: Any) -> Any:
    """An option in one of the panels of the help; a flag has no metavar."""
    return typer.Option(*names, rich_help_panel=panel, help=help, metavar=metavar, **more)


def setting_option(name: str) -> Any:
    """The option of that name in the table of settings."""
    return _make_option(*find_option(name))


def _make_option(group: str, said: CommandOption) -> Any:
    return option(*said.names, panel=GROUPS[group], help=said.help, metavar=said.metavar)


def add_settings(command: F) -> F:
    """Let a command with ``**settings`` take every plain setting of the table.

    Each stands behind the option that is before it in the table, so that the help has the table's order.
    """
    signature = inspect.signature(command, eval_str=True)
    given = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    for group in GROUPS:
        place = 0
        for each in list_settings(group):
            if each.is_plain:
                given.insert(place, _make_parameter(each))
            names = [said.parameter for said in each.info.options]
            place = max((i + 1 for i, other in enumerate(given) if other.name in names), default=place)
    # typer reads the signature, and calls the command by the names in it.
    command.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
    return command


def _make_parameter(each: DeclaredSetting) -> inspect.Parameter:
    """The parameter by which a command takes a plain setting."""
    kind = each.value_type if each.default is not None else each.value_type | None
    return inspect.Parameter(
        each.option.parameter,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=each.default,
        annotation=Annotated[kind, _make_option(each.info.group, each.option)],
    )


def flag(name: str, panel: str, help: str) -> Any:
    """An option without a value."""
    return option(name, panel=panel, help=help, metavar="")


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        callback=from_standard_input,
        help="The table: CSV and its relatives, Parquet, Arrow, JSON lines or Excel; - is standard input.",
    ),
]
ReleaseFile = Annotated[
    Path,
    typer.Argument(
        metavar="RELEASE",
        callback=from_standard_input,
        help="A released table, in any format; - is standard input.",
    ),
]

# Options of settings, by the types in which commands take them. What they say stands in the table.
Quasi = Annotated[list[str] | None, setting_option("--quasi")]
Sensitive = Annotated[list[str] | None, setting_option("--sensitive")]
Identifier = Annotated[list[str] | None, setting_option("--identifier")]
Person = Annotated[str | None, setting_option("--person")]
Knows = Annotated[str | None, setting_option("--knows")]
Group = Annotated[str | None, setting_option("--group")]
Plain = Annotated[list[str] | None, setting_option("--plain")]
Events = Annotated[list[str] | None, setting_option("--events")]
Fold = Annotated[list[str] | None, setting_option("--fold")]
Strict = Annotated[bool, setting_option("--strict")]
Accept = Annotated[list[str] | None, setting_option("--accept")]
Types = Annotated[str | None, setting_option("--types")]
Type = Annotated[list[str] | None, setting_option("--type")]
Order = Annotated[list[str] | None, setting_option("--order")]
Hierarchies = Annotated[list[str] | None, setting_option("--hierarchies")]
K = Annotated[int | None, setting_option("--k")]
L = Annotated[int | None, setting_option("--l")]
T = Annotated[float | None, setting_option("--t")]
Models = Annotated[list[str] | None, setting_option("--model")]
Suppress = Annotated[float, setting_option("--suppress")]
AlgorithmName = Annotated[str, setting_option("--algorithm")]
Parameters = Annotated[list[str] | None, setting_option("--set")]
LossName = Annotated[str, setting_option("--loss")]
Weights = Annotated[str | None, setting_option("--weights")]
Weight = Annotated[list[str] | None, setting_option("--weight")]
Top = Annotated[list[str] | None, setting_option("--top")]
Bottom = Annotated[list[str] | None, setting_option("--bottom")]
Mean = Annotated[list[str] | None, setting_option("--mean")]
Keyed = Annotated[list[str] | None, setting_option("--keyed")]
Seed = Annotated[int, setting_option("--seed")]
Master = Annotated[str | None, setting_option("--master")]
Output = Annotated[Path | None, setting_option("--output")]
OutFormat = Annotated[str | None, setting_option("--out-format")]
Delimiter = Annotated[str | None, setting_option("--delimiter")]
Encoding = Annotated[str | None, setting_option("--encoding")]
NoHeader = Annotated[bool, setting_option("--no-header")]
Na = Annotated[list[str] | None, setting_option("--na")]
Sheet = Annotated[str | None, setting_option("--sheet")]
DecimalSign = Annotated[str, setting_option("--decimal")]
Query = Annotated[str | None, setting_option("--query")]
MissingName = Annotated[str, setting_option("--missing")]

# Options that are no settings of a recipe, or other words for one.
AnotherRowOrder = Annotated[
    str | None,
    option(
        "--row-order",
        panel=RELEASE,
        metavar="keep|released",
        help="Whether rows keep their order or are sorted by what is released; the recipe's if not said.",
    ),
]
Sets = Annotated[
    list[str] | None,
    option(
        "--set",
        panel=ROLES,
        metavar="S='|'",
        help="A column of sets, with what separates its items; --knows says how many of a person's items "
        "somebody may know. Repeatable.",
    ),
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
EveryK = Annotated[
    str,
    option(
        "--k",
        "-k",
        panel=GOAL,
        metavar="5..50",
        help="Values of k: 5,10,20, or 5..50 for each of them, or 5..50:8 for eight, spread.",
    ),
]
Jobs = Annotated[int, option("--jobs", panel=SEARCH, metavar="N", help="Tried at once; -1 for one per core.")]
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
Lenient = Annotated[
    bool,
    flag("--lenient", ROLES, "Lists by position (--roles, --types, --weights) may be longer than the table."),
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
