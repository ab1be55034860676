"""The tables of the comparison, written out plainly, so that every program reads the same rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import polars as pl

DATA = Path(__file__).parents[3] / "shared" / "data"
NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
"""Numbers as every program reads them: no leading zeros, which postcodes have."""


@dataclass(frozen=True)
class Table:
    """A table that the programs release."""

    name: str
    title: str
    source: str
    """A file below the folder of the reference tables, the file of a reader, or ``hospital``."""
    quasi: tuple[str, ...]
    trees: str = ""
    """A folder of hierarchies, or a file of domains; columns without one are numbers or flat categories."""
    target: str = ""
    """What an estimator predicts, for programs that are guided by one."""
    ks: tuple[int, ...] = (50, 10, 5)
    """The largest first: what takes too long at 50 is not tried at 5."""
    rows: int = 0
    """How many rows of the sample; 0 for a file."""


@dataclass(frozen=True)
class Task:
    """A table as the programs get it: ``table.csv`` with the quasi-identifiers alone, complete rows."""

    folder: Path
    name: str
    rows: int
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Of every column ``tree``, ``number`` or ``category``."""
    has_target: bool = False

    @property
    def csv(self) -> Path:
        return self.folder / "table.csv"

    @property
    def trees(self) -> Path:
        return self.folder / "trees"

    def has(self, kind: str) -> bool:
        return kind in self.kinds.values()

    def has_other_than(self, kind: str) -> bool:
        return any(own != kind for own in self.kinds.values())

    def list_columns(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]


ADULT_COLUMNS = "age,work_class,education_num,marital_status,occupation,race,sex,native_country"
TREE_COLUMNS = "sex,age,race,marital-status,education,native-country,workclass,occupation,salary-class"
PEOPLE = ("age", "sex", "postcode", "education", "occupation", "marital_status")
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
LARGE = (30_000_000,)


def list_tables(large: bool = False) -> list[Table]:
    """All tables; with ``large`` also those that take long to make."""
    adult, census = "adult/adult_9col.csv", "microaggregation/census.csv"
    return [
        Table(
            "small", "MG-GA's table of four people", "small/test.csv", SMALL, "small/domains.txt", "", (2,)
        ),
        Table("adult", "Adult, eight columns", "adult/adult.csv", _split(ADULT_COLUMNS), target="class"),
        Table("informs", "INFORMS", "informs/informs.csv", _split(INFORMS), target="poverty"),
        Table("census", "Census", census, _split(CENSUS), ks=(10, 5, 3)),
        Table("tarragona", "Tarragona", "microaggregation/tarragona.csv", _split(TARRAGONA), ks=(10, 5, 3)),
        Table("adult-trees", "Adult, nine hierarchies", adult, _split(TREE_COLUMNS), "adult/hierarchies"),
        Table("cup", "CUP, eight hierarchies", "cup/cup.csv", _split(CUP), "cup/hierarchies", ks=(10, 5)),
        Table(
            "creditcard",
            "creditcard, nine hierarchies",
            "creditcard/creditcard.csv",
            _split(CREDITCARD),
            "creditcard/hierarchies",
            ks=(10, 5),
        ),
        *(_hospital(rows, trees) for rows in (*SIZES, *(LARGE if large else ())) for trees in (False, True)),
    ]


SMALL = ("Name", "Age", "Sex", "Education", "Job")
INFORMS = "DOBMM,DOBYY,RACEX,EDUCYEAR,income"
CENSUS = "AFNLWGT,AGI,EMCONTRB,FEDTAX,PTOTVAL,STATETAX,TAXINC,POTHVAL,INTVAL,PEARNVAL,FICA,WSALVAL,ERNVAL"
TARRAGONA = (
    "FIXED.ASSETS,CURRENT.ASSETS,TREASURY,UNCOMMITTED.FUNDS,PAID.UP.CAPITAL,SHORT.TERM.DEBT,SALES,"
    "LABOR.COSTS,DEPRECIATION,OPERATING.PROFIT,FINANCIAL.OUTCOME,GROSS.PROFIT,NET.PROFIT"
)
CUP = "ZIP,AGE,GENDER,INCOME,STATE,RAMNTALL,NGIFTALL,MINRAMNT"
CREDITCARD = "LIMIT_BAL,SEX,EDUCATION,MARRIAGE,AGE,PAY_0,PAY_2,BILL_AMT1,PAY_AMT1"


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split(","))


def _hospital(rows: int, trees: bool) -> Table:
    title = f"hospital sample, {rows:,} rows{', hierarchies' if trees else ''}"
    name = f"hospital-{rows}{'-trees' if trees else ''}"
    return Table(name, title, "hospital", PEOPLE, "hospital" if trees else "", ks=(5,), rows=rows)


def prepare(table: Table, folder: Path) -> Task | str:
    """Write the table for the programs, unless it is there already; or say why it cannot be had."""
    said = folder / "task.json"
    if said.exists():
        stored = json.loads(said.read_text("utf-8"))
        return Task(**{**stored, "folder": folder})
    source = _find_source(table, folder)
    if isinstance(source, str):
        return source
    rows = _scan_complete_rows(source, table)
    if isinstance(rows, str):
        return rows
    (folder / "trees").mkdir(parents=True, exist_ok=True)
    trees = _write_trees(table, folder / "trees")
    rows.select(table.quasi).sink_csv(folder / "table.csv")
    if table.target:
        rows.select(table.target).sink_csv(folder / "target.csv")
    numbers = pl.col(table.quasi).str.contains(NUMBER).all()
    found = (
        rows.select(pl.len().alias("rows, counted"), numbers).collect(engine="streaming").row(0, named=True)
    )
    plain = {name: "number" if found[name] else "category" for name in table.quasi}
    kinds = {name: "tree" if name in trees else kind for name, kind in plain.items()}
    task = Task(folder, table.name, found["rows, counted"], kinds, bool(table.target))
    said.write_text(json.dumps({**asdict(task), "folder": ""}), "utf-8")
    return task


def _find_source(table: Table, folder: Path) -> Path | str:
    if table.source == "hospital":
        from shoal.table.samples import write_hierarchies, write_sample

        folder.mkdir(parents=True, exist_ok=True)
        # Every third row lacks a cell somewhere.
        write_sample("hospital", str(folder / "sample.parquet"), rows=table.rows * 8 // 5)
        write_hierarchies("hospital", str(folder / "hierarchies"))
        return folder / "sample.parquet"
    source = DATA / table.source
    return source if source.exists() else f"the table {table.source} is not beside the checkout"


def _scan_complete_rows(source: Path, table: Table) -> pl.LazyFrame | str:
    """The rows in which no cell of the named columns is empty or has a question mark, as strings.

    Or what is wrong with the names.
    """
    names = list(dict.fromkeys((*table.quasi, *([table.target] if table.target else []))))
    if source.suffix == ".parquet":
        rows = pl.scan_parquet(source)
    else:
        with source.open(encoding="utf-8") as file:
            head = file.readline()
        rows = pl.scan_csv(source, separator=max(",;\t|", key=head.count), infer_schema=False)
    there = rows.collect_schema().names()
    if absent := [name for name in names if name not in there]:
        return f"{source.name} has no column '{absent[0]}'; it has {', '.join(there)}"
    if table.source == "hospital" and not table.trees:
        # Some programs take postcodes for numbers, and cannot be told otherwise: here all do.
        rows = rows.with_columns(pl.col("postcode").str.strip_chars_start("0"))
    rows = rows.select(pl.col(names).cast(pl.String).str.strip_chars()).drop_nulls()
    rows = rows.filter(~pl.any_horizontal((pl.all() == "") | pl.all().str.contains("?", literal=True)))
    return rows.head(table.rows) if table.rows else rows


def _write_trees(table: Table, folder: Path) -> set[str]:
    """Copies of the hierarchies, a row per value, which begins with it and ends in ``*``; their columns."""
    if not table.trees:
        return set()
    given = folder.parent / "hierarchies" if table.trees == "hospital" else DATA / table.trees
    rows = _read_domains(given) if given.is_file() else _read_folder(given, table.quasi)
    for name, lines in rows.items():
        text = "".join(";".join(line) + "\n" for line in lines)
        (folder / f"{name}.csv").write_text(text, "utf-8")
    return set(rows)


def _read_folder(folder: Path, names: Sequence[str]) -> dict[str, list[list[str]]]:
    files = {name: folder / f"{name}.csv" for name in names}
    found = {}
    for name, file in files.items():
        if file.exists():
            lines = [line.split(";") for line in file.read_text("utf-8").splitlines() if line]
            # A hierarchy whose values have no common root gets one, as all programs need.
            rooted = len({line[-1] for line in lines}) == 1
            found[name] = lines if rooted else [[*line, "*"] for line in lines]
    return found


def _read_domains(file: Path) -> dict[str, list[list[str]]]:
    """Lines such as ``Job/Blue Collar: Mechanic, Electrician``, of one level each."""
    found: dict[str, list[list[str]]] = {}
    for line in file.read_text("utf-8").splitlines():
        path, _, values = line.partition(":")
        if values:
            column, *groups = path.strip().split("/")
            leaves = re.split(r"\s*,\s*", values.strip())
            found.setdefault(column, []).extend([leaf, *reversed(groups), "*"] for leaf in leaves)
    return found
