"""The table of settings: each field of a recipe, declared once with all that is said about it.

From an entry come the field of `shoal.Recipe`, its key in TOML, its option on the command line, its part of
the equivalent command and Python code, its documentation in `shoal.anonymize`, and its input in the studio.

Nothing slow is imported here, because ``shoal anonymize --help`` reads this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import cleandoc
from textwrap import fill, indent
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from shoal.recipes import names
from shoal.support.language import ENGLISH

if TYPE_CHECKING:
    from shoal.algorithms import Algorithm
    from shoal.codespace.encoding import CategoryOrder
    from shoal.codespace.recoding import Render
    from shoal.privacy import Model
    from shoal.table import ColumnType, ReadOptions
    from shoal.table.hierarchies import Hierarchy

T = TypeVar("T", bound=Callable[..., Any])

ROLES = ("quasi", "sensitive", "identifier", "plain")
Missing = Literal["category", "drop", "error"]
Engine = Literal["local", "spark"]
Others = Literal["keep", "drop"]
RowOrder = Literal["keep", "released"]
EDITION = 2
"""Of recipe files. Those of version 0.1 have none, and keep columns without a role."""
DRIVER_ROWS = 4_000_000
GROUPS = {
    "table": "Reading the table",
    "columns": "What the columns are",
    "goal": "The privacy goal",
    "search": "How to search",
    "release": "The release",
}
"""The sections of a recipe file, with the titles of their panels in the help of a command."""

# Annotations that begin so have values of several parts, for which an option needs a grammar of its own.
_COLLECTIONS = ("tuple[", "Mapping[")
_SCALARS: dict[str, type] = {"bool": bool, "int": int, "float": float}


class CommandOption(NamedTuple):
    """An option of the command line."""

    names: tuple[str, ...]
    metavar: str
    """What stands for its value in the help; empty for a flag."""
    help: str

    @property
    def parameter(self) -> str:
        """The name of the parameter by which a command takes it."""
        return self.names[0].strip("-").replace("-", "_")


class SettingInfo(NamedTuple):
    """What is said about a setting beside its name, type and default."""

    group: str = ""
    """Its section in a recipe file and its panel in the help; empty for what has a place of its own."""
    options: tuple[CommandOption, ...] = ()
    """Its options; none where the command line cannot say it."""
    doc: str = ""
    """What Python says about it; the help of its option where this is empty."""
    keys: tuple[str, ...] = ()
    """Its keys in TOML; its name where this is empty."""
    argument: bool = True
    """Whether `shoal.anonymize` takes it by its name; Python needs a recipe for it otherwise."""
    label: str = ""
    """What the studio's form calls it; empty where it is not in the form."""
    words: Mapping[str, str] = MappingProxyType({})
    """What the studio calls the values that it offers, if not by themselves."""


class DeclaredSetting(NamedTuple):
    """One entry of the table."""

    name: str
    annotation: str
    default: Any
    info: SettingInfo

    @property
    def is_plain(self) -> bool:
        """Whether one option says it, by one word or, as a flag that is off by default, by being there."""
        return len(self.info.options) == 1 and not self.annotation.startswith(_COLLECTIONS)

    @property
    def value_type(self) -> type:
        """What the word of its option is converted to; a name that is checked later is a text."""
        return _SCALARS.get(self.annotation.removesuffix(" | None"), str)

    @property
    def option(self) -> CommandOption:
        """The option of a plain setting."""
        return self.info.options[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys in a section of TOML."""
        return self.info.keys or (self.name,)

    @property
    def doc(self) -> str:
        """Its documentation in Python."""
        return self.info.doc or self.option.help


def option(*names: str, metavar: str = "", help: str) -> CommandOption:
    """An option by its names, the long one first; a flag has no metavar."""
    return CommandOption(names, metavar, help)


def setting(group: str, *options: CommandOption, **more: Any) -> dict[str, SettingInfo]:
    """The metadata of a field: its group, its options and what else `SettingInfo` takes."""
    return {"setting": SettingInfo(group, options, **more)}


def _make_algorithm() -> Algorithm:
    from shoal.algorithms.auto import Auto  # noqa: PLC0415  slow to load

    return Auto()


def _make_reading() -> ReadOptions:
    from shoal.table import ReadOptions  # noqa: PLC0415  slow to load

    return ReadOptions()


# Only the recipe that is made of it is ever built, so it has no methods of its own.
@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False, match_args=False)
class RecipeSettings:
    """The settings of a recipe, in the order of its positional arguments.

    Groups in the order of `GROUPS`, and in each group this order, make the layout of recipe files and help.
    """

    quasi: tuple[str, ...] = field(
        metadata=setting(
            "columns",
            option(
                "--quasi",
                "-q",
                metavar="A,B",
                help="Columns someone could recognise a person by; line:2 for a file that has their numbers, "
                "from 0, in its second line.",
            ),
            doc="Columns that someone could recognise a person by.",
        ),
    )
    models: tuple[Model, ...] = field(
        metadata=setting(
            "goal",
            option("--k", "-k", metavar="N", help="At least this many rows in every class."),
            option(
                "--l",
                "-l",
                metavar="N",
                help="At least this many distinct values of each sensitive column in every class.",
            ),
            option(
                "--t",
                "-t",
                metavar="X",
                help="The sensitive values of every class no farther than this, 0 to 1, from those of the "
                "whole.",
            ),
            option(
                "--model",
                "-m",
                metavar="M(P=V)",
                help=f"Any privacy model, as t(t=0.2,column=S): {names.MODELS}. Repeatable; all hold "
                "together.",
            ),
            doc="The privacy goal; all of them must hold.",
        ),
    )
    sensitive: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "columns",
            option("--sensitive", "-s", metavar="S", help="Columns nobody should learn about a person."),
            doc="Columns that nobody should learn about a person.",
        ),
    )
    identifier: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "columns",
            option("--identifier", metavar="ID", help="Columns that name a person; left out of the release."),
            doc="Columns left out of the release.",
        ),
    )
    plain: tuple[str, ...] = field(
        default=(),
        metadata=setting("columns", option("--plain", metavar="X", help="Columns kept as they are.")),
    )
    others: Others | None = field(
        default=None,
        metadata=setting(
            "columns",
            option(
                "--others",
                metavar="keep|drop",
                help="What happens to columns without a role; an error if not said.",
            ),
            doc="What happens to columns without a role: they are kept or dropped; an error where None.",
            # In the studio every column of the table that is open has a role.
            label="Columns that only a later table has",
            words={"": "are an error", "drop": "are left out", "keep": "are kept as they are"},
        ),
    )
    input: str | None = field(
        default=None,
        metadata=setting("table", argument=False, doc="The table; a run may be given another."),
    )
    output: str | None = field(
        default=None,
        metadata=setting(
            "release",
            option(
                "--output",
                "-o",
                metavar="FILE",
                help="Where to write it; the suffix names the format, as .csv, .parquet, .jsonl, .xlsx or "
                ".csv.gz; - is standard output. Nothing is written without it.",
            ),
            option(
                "--out-format",
                metavar="NAME",
                help="With -o -: csv, tsv, jsonl, parquet or arrow; the format of the input if not said.",
            ),
            doc="Where to write the release as well.",
        ),
    )
    reading: ReadOptions = field(
        default_factory=_make_reading,
        metadata=setting(
            "table",
            option("--delimiter", metavar="CHAR", help="What separates cells; detected."),
            option("--encoding", metavar="NAME", help="Of the text, as utf-8 or latin-1; detected."),
            option("--no-header", help="The first line is a row, too; columns are column_1, column_2, ..."),
            option("--na", metavar="'?'", help="A cell that stands for a missing value. Repeatable."),
            option("--sheet", metavar="NAME", help="Of a workbook; the first if not said."),
            option(
                "--decimal",
                metavar="CHAR",
                help="What stands before decimals in delimited text: a point, or a comma as in 1.234,50.",
            ),
            option(
                "--query",
                metavar="SQL",
                help="What is read of a database, as 'select * from visits where year = 2026'.",
            ),
            doc="How the table is read.",
            keys=("delimiter_in", "encoding", "header", "na", "quasi_line", "sheet", "decimal", "query"),
            argument=False,
        ),
    )
    missing: Missing = field(
        default="category",
        metadata=setting(
            "table",
            option(
                "--missing",
                metavar="HOW",
                help="A missing value is category (a value of its own), drop (a reason to drop the row) or "
                "error.",
            ),
            doc="What a missing value is: a value of its own, a reason to drop the row, or an error.",
            label="A missing value is",
        ),
    )
    types: Mapping[str, ColumnType] = field(
        default_factory=dict,
        metadata=setting(
            "columns",
            option(
                "--types",
                metavar="s,i,f",
                help="Types by position: s string, i integer, f float, d date, o ordered, b boolean; "
                "inferred where not said.",
            ),
            option("--type", metavar="age=int", help="The type of one column. Repeatable."),
            doc="Types of columns that should not be inferred.",
        ),
    )
    orders: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=setting(
            "columns",
            option(
                "--order",
                metavar="C=S,M,L",
                help="The values of an ordered column, from first to last. Repeatable.",
            ),
            doc="Values of ordered columns in their order.",
        ),
    )
    hierarchies: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "columns",
            option(
                "--hierarchies",
                "--domains",
                metavar="PATH",
                help="Trees over the values: a folder of COLUMN.csv (value;level 1;level 2;...), one such "
                "file as COLUMN=PATH, a ready-made one as COLUMN=@countries, a domains text file, or TOML. "
                "Repeatable.",
            ),
            doc="Files and folders with hierarchies, and ready-made ones as ``column=@name``.",
        ),
    )
    trees: Mapping[str, Hierarchy] = field(
        default_factory=dict, metadata=setting("", argument=False, doc="Hierarchies given as values.")
    )
    algorithm: Algorithm = field(
        default_factory=_make_algorithm,
        metadata=setting(
            "search",
            option(
                "--algorithm",
                "-a",
                metavar="NAME",
                help=f"{names.ALGORITHMS}.",
            ),
            option(
                "--set",
                metavar="P=V",
                help=f"A parameter of the algorithm. {names.PARAMETERS} Or a column of sets with what "
                "separates its items, as diagnoses='|'. Repeatable.",
            ),
            doc="The search, with its parameters.",
            keys=("algorithm", "parameters"),
        ),
    )
    loss: str = field(
        default="ncp",
        metadata=setting(
            "search",
            option(
                "--loss",
                metavar="NAME",
                help=f"What is minimised and reported: {names.LOSSES}.",
            ),
            doc="What is minimised and reported.",
            label="Loss that is kept small",
        ),
    )
    weights: Mapping[str, float] = field(
        default_factory=dict,
        metadata=setting(
            "search",
            option(
                "--weights",
                metavar="1,1,20",
                help="How much each quasi-identifier matters, in order; 1 where not said.",
            ),
            option("--weight", metavar="job=20", help="The same for one column. Repeatable."),
            doc="How much each quasi-identifier matters; 1 where it is not named.",
        ),
    )
    category_order: CategoryOrder | None = field(
        default=None,
        metadata=setting(
            "search",
            option(
                "--category-order",
                metavar="HOW",
                help="Flat categories by frequency or appearance; the algorithm's own way where not said.",
            ),
            doc="The order of flat categories; what the algorithm is made for where None.",
            argument=False,
        ),
    )
    suppress: float = field(
        default=0.0,
        metadata=setting(
            "goal",
            option("--suppress", metavar="SHARE", help="The largest share of rows that may be suppressed."),
        ),
    )
    render: Render = field(
        default="label",
        metadata=setting(
            "release",
            option(
                "--render",
                metavar="HOW",
                help="Released values as label (a tree node by its name, else the range or set), interval "
                "(the range), set (the values present), representative (one for all, in the column's type), "
                "bounds (numbers and dates as two columns, C_low and C_high, in the column's type), or code "
                "(ranges of neutral numbers instead of values).",
            ),
            label="Released values are written as",
        ),
    )
    delimiter: str | None = field(
        default=None,
        metadata=setting(
            "release",
            option("--out-delimiter", metavar="CHAR", help="What separates cells; else as in the input."),
            doc="Delimiter of the release; the input's where None.",
            argument=False,
        ),
    )
    safe_csv: bool = field(
        default=False,
        metadata=setting(
            "release",
            option(
                "--safe-csv",
                help="Put an apostrophe before cells that a spreadsheet would run as a formula.",
            ),
            argument=False,
            label="Neutralise cells that a spreadsheet would run",
        ),
    )
    row_order: RowOrder = field(
        default="keep",
        metadata=setting(
            "release",
            option(
                "--row-order",
                metavar="keep|released",
                help="Whether rows keep their order or are sorted by what is released.",
            ),
            label="Released rows",
            words={"keep": "stay in their order", "released": "are sorted by what they show"},
        ),
    )
    keep_index: bool = field(
        default=False,
        # A file has no index, so that there is no option for it.
        metadata=setting("release", doc="Whether the index of a pandas frame is the index of the release."),
    )
    keep_metadata: bool = field(
        default=False,
        metadata=setting(
            "release",
            option("--keep-metadata", help="Keep the metadata of a Parquet file; left out otherwise."),
            doc="Whether attributes of a frame and metadata of a schema or a file go along with the release.",
        ),
    )
    fold: tuple[str, ...] | None = field(
        default=None,
        metadata=setting(
            "goal",
            option(
                "--fold",
                metavar="S",
                help="Sensitive columns in which spellings of one value (case, blanks, markers of a missing "
                "value) count as one; all of them if not said, 'none' for none.",
            ),
            doc="Sensitive columns in which spellings of one value count as one value; all of them where "
            "None. What is released never changes.",
        ),
    )
    strict: bool = field(
        default=False,
        metadata=setting(
            "goal",
            option("--strict", help="Release nothing while a finding of high severity is not accepted."),
            doc="Whether findings of high severity that nobody accepted keep a release from being made.",
        ),
    )
    accept: Mapping[str, str] = field(
        default_factory=dict,
        metadata=setting(
            "goal",
            option(
                "--accept",
                metavar="ID=REASON",
                help="Accept a finding, with the reason that the report will show. Repeatable.",
            ),
            doc="Findings that somebody accepted, by their id, with the reason.",
        ),
    )
    language: str = field(
        default=ENGLISH,
        metadata=setting(
            "release",
            option("--language", metavar="CODE", help="The language of the report: en or de."),
            doc="The language of the report, ``en`` or ``de``. What programs read is always in English.",
        ),
    )
    seed: int = field(
        default=0,
        metadata=setting(
            "search",
            option("--seed", metavar="N", help="For algorithms that draw at random."),
            label="Seed",
        ),
    )
    threads: int = field(
        default=0,
        metadata=setting(
            "search",
            option("--threads", metavar="N", help="0 for one per core; the release is the same for any."),
            doc="Number of threads, 0 for one per core; the result does not depend on it.",
        ),
    )
    memory: str | None = field(
        default=None,
        metadata=setting(
            "search",
            option(
                "--memory",
                metavar="2GB",
                help="For Parquet or CSV larger than memory: leave the rows on disk, and get along with "
                "about this much. Takes auto, hilbert, lattice, mondrian or peel, and an --output.",
            ),
            doc="For a file larger than memory: about how much there is, as ``2GB``. The rows then stay on "
            "disk, and the release is written to ``output``; its frame is a lazy one.",
        ),
    )
    engine: Engine = field(
        default="local",
        metadata=setting(
            "search",
            option(
                "--engine",
                metavar="NAME",
                help="local (this machine: in memory, or with the rows on disk if they would not fit), or "
                "spark (Parquet or CSV in, a folder of Parquet files out).",
            ),
            doc="Whether a file is anonymized by this machine or by a Spark cluster; a Spark frame always is "
            "by its own. See `shoal.spark.anonymize`.",
        ),
    )
    master: str | None = field(
        default=None,
        metadata=setting(
            "search",
            option(
                "--master",
                metavar="URL",
                help="With --engine spark: the cluster, as spark://host:7077; this machine's cores where not "
                "said.",
            ),
            doc="With Spark: the cluster, as ``spark://host:7077``; this machine's cores where None.",
        ),
    )
    driver_rows: int = field(
        default=DRIVER_ROWS,
        metadata=setting(
            "search",
            option(
                "--driver-rows",
                metavar="N",
                help="With --engine spark: the most distinct rows that the driver searches; more are shared "
                "out.",
            ),
            doc="With Spark: the most distinct rows that the driver, or one executor, searches at once.",
        ),
    )
    edition: int = field(
        default=EDITION,
        metadata=setting("", argument=False, doc="Which edition of recipe files it was read from."),
    )
    # Last, so that positions stay what they were.
    person: str | None = field(
        default=None,
        metadata=setting(
            "columns",
            option(
                "--person",
                metavar="ID",
                help="The column that says whose row it is, where people have several: people are counted "
                "then, not rows. It is left out, and rows are sorted by what is released.",
            ),
            doc="The column that says whose row it is, where people have several rows. All models then count "
            "people. It is left out of the release, whose rows are sorted by what is released.",
        ),
    )
    pseudonym: bool = field(
        default=False,
        metadata=setting(
            "release",
            option(
                "--pseudonym",
                help="Keep the column of --person as a pseudonym made with a secret key, so that the rows of "
                "a person stay together.",
            ),
            doc="Whether the column ``person`` is kept, as a pseudonym made with a secret key, so that the "
            "rows of a person stay together. The key comes from ``key_file``, or from the environment "
            "variable SHOAL_KEY.",
            label="Keep the rows of a person together, under a pseudonym",
        ),
    )
    keyed: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "release",
            option(
                "--keyed",
                metavar="COLUMN",
                help="Keep an identifier that is different in every row, as a pseudonym made with a secret "
                "key. Repeatable.",
            ),
            doc="Identifiers that are kept, as pseudonyms made with a secret key; they may not bring rows "
            "together that are apart otherwise. The key is that of ``pseudonym``.",
        ),
    )
    weight_column: str | None = field(
        default=None,
        metadata=setting(
            "search",
            option(
                "--weight-column",
                metavar="COLUMN",
                help="Survey weights: report the loss, too, as if every row were there as often as its "
                "weight says. The search does not look at them.",
            ),
            doc="A column of survey weights: the report then also has the loss as if every row were there as "
            "often as its weight says. The search does not look at them; the model ``k-map-weights`` does.",
            label="Survey weights by which the loss is reported",
        ),
    )
    key_file: str | None = field(
        default=None,
        metadata=setting(
            "release",
            option(
                "--key-file",
                metavar="FILE",
                help="The secret key of --pseudonym and --keyed; made if it does not exist. Else it is taken "
                "from SHOAL_KEY.",
            ),
            doc="The file with the secret key of pseudonyms, which is made if it does not exist; the "
            "environment variable SHOAL_KEY has the key where None.",
        ),
    )
    knows: str = field(
        default="1",
        metadata=setting(
            "goal",
            option(
                "--knows",
                metavar="N|all",
                help="With --pseudonym: how many rows of a person an attacker may know, 1, 2, ... or all. "
                "With sets: how many items.",
            ),
            doc="How many rows of a person an attacker may know: 1, 2, ... or ``all``. More than 1 only with "
            "``pseudonym``; or with ``sets``, where it is the number of items of a person.",
            label="Rows of a person that somebody may know",
            words={"1": "one row", "2": "any two rows", "3": "any three rows", "all": "all rows"},
        ),
    )
    align: str | None = field(
        default=None,
        metadata=setting(
            "search",
            option(
                "--align",
                metavar="COLUMN",
                help="With --pseudonym: compare the rows of people in the order of this column, as a date.",
            ),
            doc="With ``pseudonym``: the column, such as a date, in whose order the rows of people are "
            "compared with each other. It need not be released.",
        ),
    )
    relative: str | None = field(
        default=None,
        metadata=setting(
            "columns",
            option(
                "--relative",
                metavar="COLUMN",
                help="A column of dates, or numbers, that becomes the days since the first row of the same "
                "person.",
            ),
            doc="A column of dates that becomes the number of days since the first row of the same person; "
            "numbers become differences.",
            label="Days instead of dates",
        ),
    )
    group: str | None = field(
        default=None,
        metadata=setting(
            "columns",
            option(
                "--group",
                metavar="ID",
                help="Beside --person: the column that says which household, or other group, the person is "
                "in. A class has at least as many groups as people are asked for. It is left out.",
            ),
            doc="Beside ``person``: the column that says which household, or other group, the person is in. "
            "Every class then has people of at least as many groups as the goal asks for people. It is left "
            "out of the release.",
            label="Household, or other group, that a person is in",
        ),
    )
    all_solutions: bool = field(
        default=False,
        metadata=setting(
            "release",
            option(
                "--all-solutions",
                help="With mingen: show, write and list in JSON every table of least loss; further ones are "
                "written beside the output, as release-2.csv.",
            ),
            doc="Whether every table of least loss is listed and, where there is an output, written: further "
            "ones beside it, as ``release-2.csv``. Only an exact search has them.",
        ),
    )
    events: Mapping[str, str] = field(
        default_factory=dict,
        # A section of its own for each table.
        metadata=setting(
            "table",
            option(
                "--events",
                metavar="FILE",
                help="A further table with the column of --person, which may have many rows of a person; "
                "its columns are FILE.COLUMN, without the suffix, or NAME.COLUMN with NAME=FILE. The output "
                "is a folder with a file for each table. Repeatable.",
            ),
            doc="Event tables, beside the table of people: further tables with the column ``person``, which "
            "may have many rows of a person. Paths, or a mapping from names to paths or frames. Their "
            "columns are named ``table.column``. The output is then a folder with one file for each table.",
        ),
    )
    bound: str | None = field(
        default=None,
        metadata=setting(
            "search",
            option(
                "--bound",
                metavar="seconds=S",
                help="Prove how little any release can lose, for so many seconds of an ordinary core; more "
                "seconds prove more.",
            ),
            doc="How long to look for a bound, as ``seconds=60``: what every release loses that keeps the "
            "goal. The report then says how far the release can be from the best one.",
        ),
    )
    sets: Mapping[str, str] = field(
        default_factory=dict,
        # Its option is --set, by which parameters of the algorithm are said, too.
        metadata=setting(
            "",
            doc="Columns of sets, such as ``E11|I10|N18``, with what separates the items. Somebody may know "
            "up to ``knows`` items of a person. They have no other role.",
        ),
    )
    mean: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "release",
            option(
                "--mean",
                metavar="COLUMN",
                help="Release a column of numbers or dates as the mean of each class, in its own type, "
                "beside columns that are generalised. Repeatable.",
            ),
            doc="Columns of numbers or dates that are released as the mean of each class, in their own type, "
            "beside columns that are generalised.",
        ),
    )
    top: Mapping[str, str] = field(
        default_factory=dict,
        metadata=setting(
            "columns",
            option(
                "--top",
                metavar="C=V|N%",
                help="Top coding: numbers or dates above a value, as age=70, are all one and written >70; "
                "income=5% looks for the value that no more than 5 % of the rows exceed. Repeatable.",
            ),
            doc="Top coding: by column the value above which all are one, written ``>70``; or, as ``5%``, "
            "the largest share of the rows above it.",
        ),
    )
    bottom: Mapping[str, str] = field(
        default_factory=dict,
        metadata=setting(
            "columns",
            option(
                "--bottom",
                metavar="C=V|N%",
                help="Bottom coding: the same for those below a value, written <18. Repeatable.",
            ),
            doc="Bottom coding: by column the value below which all are one, written ``<18``; or, as ``5%``, "
            "the largest share of the rows below it.",
        ),
    )


def list_settings(group: str | None = None) -> Iterator[DeclaredSetting]:
    """The entries of the table, or of one group, in their order."""
    for each in fields(RecipeSettings):
        info: SettingInfo = each.metadata["setting"]
        if group in (None, info.group):
            yield DeclaredSetting(each.name, str(each.type), _make_default(each), info)


def list_plain_settings() -> Iterator[DeclaredSetting]:
    """The entries that one option says by one word, or by being there."""
    return (each for each in list_settings() if each.is_plain)


def list_form_settings() -> Iterator[DeclaredSetting]:
    """The entries that the studio's form has."""
    return (each for each in list_settings() if each.info.label)


def find_option(name: str) -> tuple[str, CommandOption]:
    """An option by its long name, with the group of its setting."""
    return next(
        (s.info.group, each) for s in list_settings() for each in s.info.options if name in each.names
    )


def _make_default(each: Field[Any]) -> Any:
    """The default of a field; None of one that is required, or whose default is slow to load."""
    if each.default is not MISSING:
        return each.default
    return {} if each.default_factory is dict else None


def document_settings(function: T) -> T:
    """Put the settings that a function takes into its docstring, in place of the line ``{settings}``.

    Those that the docstring has already, in words of their own, are left out.
    """
    # With `python -OO` there is no docstring; newer versions of Python have removed its indentation.
    doc, hints = cleandoc(function.__doc__ or ""), get_type_hints(function)
    told = [
        f"{each.name} : {_describe_type(hints[each.name])}\n{indent(fill(each.doc, 100), '    ')}"
        for each in list_settings()
        if each.name in hints and not re.search(rf"^[\w, ]*\b{each.name}\b[\w, ]* :", doc, re.MULTILINE)
    ]
    function.__doc__ = doc.replace("{settings}", "\n".join(told))
    return function


def _describe_type(hint: Any) -> str:
    """A type in the words of numpydoc."""
    if get_origin(hint) is Literal:
        return _join_words([f'"{each}"' for each in get_args(hint)])
    if get_origin(hint) in (Union, UnionType):
        kinds = [_describe_type(each) for each in get_args(hint) if each is not NoneType]
        return _join_words(kinds) + (", optional" if NoneType in get_args(hint) else "")
    # Without the module that a type comes from, which says nothing to a reader.
    return hint.__name__ if isinstance(hint, type) else re.sub(r"[\w.]+\.", "", str(hint))


def _join_words(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
