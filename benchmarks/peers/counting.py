"""What a released file has lost, and how safe it is: counted from its cells alone.

This is the judge of the comparison. It imports nothing of Shoal, and knows of a program only how it writes a
range, a set or a label. Every distinct cell is read once, so that ten million rows are no more work than one.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

STAR = "*"
FIGURE = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
Cell = tuple[float, float] | frozenset[str]
"""What a released cell says: a range of numbers, or the values it may be."""


@dataclass(frozen=True)
class Notation:
    """How a program writes a cell that stands for several values."""

    between: tuple[str, ...] = ("-",)
    """Between the ends of a range, one of these."""
    among: str = ","
    """Between the members of a set."""
    values: bool = False
    """Cells are single values that stand for all values of their class: its rows are compared instead."""
    in_order: bool = True
    """Row i of the release is row i of the table, should none be left out."""


@dataclass(frozen=True)
class Count:
    """The figures of a released file."""

    rows: int
    released: int
    """Rows that are in the file and not wholly suppressed."""
    ncp: float
    generalised: float | None
    """Where every column has a hierarchy."""
    squared_error: float | None
    """Of numbers, in their own order: what stays unexplained of the variance of all columns, 0 to 1."""
    smallest: int
    """Rows of the smallest class that is not wholly suppressed."""
    classes: int
    untrue: int | None
    """Cells that do not cover the value of their row; None where rows have another order."""


class Column:
    """The values of a column, and how much of them a released cell covers."""

    def __init__(self, name: str, kind: str, given: pl.Series, trees: Path) -> None:
        self.name, self.kind = name, kind
        self.leaves: dict[str, frozenset[str]] = {}
        self.low = self.high = 0.0
        if kind == "number":
            numbers = given.cast(pl.Float64)
            self.low, self.high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
        elif kind == "tree":
            self.leaves = read_leaves(trees / f"{name}.csv")
        else:
            self.values = frozenset(given.unique().to_list())
        self.size = len(self.leaves[STAR]) if kind == "tree" else 0
        self.size = len(self.values) if kind == "category" else self.size

    def read(self, text: str, notation: Notation) -> Cell:
        """What a cell covers.

        Raises
        ------
        ValueError
            If the cell says nothing that stands in the table or its hierarchies.
        """
        if self.kind == "number":
            return (self.low, self.high) if text == STAR else _read_range(text, notation)
        if self.kind == "tree":
            return self._read_labels(text, notation)
        return self.values if text == STAR else self._read_set(text, notation)

    def _read_labels(self, text: str, notation: Notation) -> frozenset[str]:
        if text in self.leaves:
            return self.leaves[text]
        members = _split(text, notation)
        if not all(member in self.leaves for member in members):
            raise ValueError(f"{self.name}: '{text}' is no label of its hierarchy")
        return frozenset().union(*(self.leaves[member] for member in members))

    def _read_set(self, text: str, notation: Notation) -> frozenset[str]:
        members = frozenset((text,)) if text in self.values else frozenset(_split(text, notation))
        if not members <= self.values:
            raise ValueError(f"{self.name}: '{text}' is no set of its values")
        return members

    def measure(self, cell: Cell) -> float:
        """The share that is lost: 0 for one value, 1 for all of them."""
        if isinstance(cell, tuple):
            return (cell[1] - cell[0]) / (self.high - self.low) if self.high > self.low else 0.0
        return (len(cell) - 1) / (self.size - 1) if self.size > 1 else 0.0

    def covers(self, cell: Cell, value: str) -> bool:
        return cell[0] <= float(value) <= cell[1] if isinstance(cell, tuple) else value in cell


def read_leaves(file: Path) -> dict[str, frozenset[str]]:
    """The leaves under every label of a hierarchy, of all places where the label stands."""
    under: dict[str, set[str]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines, delimiter=";"):
            for label in row:
                under.setdefault(label, set()).add(row[0])
    every = {row for leaves in under.values() for row in leaves}
    return {label: frozenset(leaves) for label, leaves in under.items()} | {STAR: frozenset(every)}


def _read_range(text: str, notation: Notation) -> tuple[float, float]:
    bare = text.strip("[](){} ")
    if re.fullmatch(FIGURE, bare):
        return float(bare), float(bare)
    either = "|".join(map(re.escape, notation.between))
    ends = re.fullmatch(f"({FIGURE})\\s*(?:{either})\\s*({FIGURE})", bare)
    if ends is None:
        members = [float(member) for member in _split(text, notation)]
        return min(members), max(members)
    return float(ends[1]), float(ends[2])


def _split(text: str, notation: Notation) -> list[str]:
    return [member.strip() for member in text.strip("{}").split(notation.among)]


def count(table: Path, release: Path, kinds: Mapping[str, str], trees: Path, notation: Notation) -> Count:
    """Count a release of a table; ``kinds`` are its columns.

    Raises
    ------
    ValueError
        If the release has other columns, more rows, or a cell that cannot be read.
    """
    given, released = _scan(table), _scan(release)
    rows, written = _count_rows(given), _count_rows(released)
    if set(released.collect_schema().names()) != set(kinds) or written > rows:
        raise ValueError(f"{written} rows of {release.name} are no release of {rows} rows of {list(kinds)}")
    columns = [Column(name, kind, _take(given, name), trees) for name, kind in kinds.items()]
    stars = _count_rows(released.filter(pl.all_horizontal(pl.all() == STAR)))
    sizes = _count_classes(released)
    if notation.values:
        shares = _measure_classes(given.collect(), released.collect(), columns)
    else:
        shares = [_measure_cells(_take(released, column.name), column, notation) for column in columns]
    lost = [(share * written + rows - written) / rows for share in shares]
    ordered = notation.in_order and written == rows
    return Count(
        rows,
        written - stars,
        math.fsum(lost) / len(lost),
        _generalise(lost, columns) if set(kinds.values()) == {"tree"} else None,
        _measure_error(given, released, notation) if ordered and set(kinds.values()) == {"number"} else None,
        min(sizes, default=0),
        len(sizes),
        _count_untrue(given, released, columns, notation) if ordered and not notation.values else None,
    )


def _scan(file: Path) -> pl.LazyFrame:
    """The cells of a file as they are written; of ten million rows one column is held at a time."""
    return pl.scan_csv(file, infer_schema=False).select(pl.all().fill_null("").str.strip_chars())


def _take(rows: pl.LazyFrame, name: str) -> pl.Series:
    return rows.select(name).collect()[name]


def _count_rows(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def _count_classes(released: pl.LazyFrame) -> list[int]:
    """Rows of every class of equal rows, but the one that is wholly suppressed."""
    apart = released.filter(~pl.all_horizontal(pl.all() == STAR))
    return (
        apart.group_by(pl.all()).len("rows, counted").collect(engine="streaming")["rows, counted"].to_list()
    )


def _measure_cells(released: pl.Series, column: Column, notation: Notation) -> float:
    """The mean share that the cells of a column lose."""
    texts, times = _tally(released)
    lost = (column.measure(column.read(text, notation)) for text in texts)
    return _mean(lost, times)


def _tally(cells: pl.Series) -> tuple[list[str], list[int]]:
    counted = cells.alias("cell").value_counts(name="times")
    return counted["cell"].to_list(), counted["times"].to_list()


def _mean(values: Iterable[float], times: list[int]) -> float:
    return math.fsum(value * n for value, n in zip(values, times, strict=True)) / max(sum(times), 1)


def _measure_classes(given: pl.DataFrame, released: pl.DataFrame, columns: list[Column]) -> list[float]:
    """The mean shares of the columns that the true values of a class span, over rows."""
    names = [column.name for column in columns]
    classes = released.select(pl.struct(names).rank("dense").alias("class"))["class"]
    return [_measure_class(classes, given[column.name], column) for column in columns]


def _measure_class(classes: pl.Series, given: pl.Series, column: Column) -> float:
    value = given.cast(pl.Float64) if column.kind == "number" else given
    if column.kind == "number":
        width, whole = pl.col("value").max() - pl.col("value").min(), column.high - column.low
    else:
        width, whole = (pl.col("value").n_unique() - 1).cast(pl.Float64), float(column.size - 1)
    together = pl.DataFrame({"class": classes, "value": value})
    spans = together.group_by("class").agg(width.alias("width"), pl.len().alias("rows"))
    return float((spans["width"] * spans["rows"]).sum()) / max(whole, 1e-300) / max(given.len(), 1)


def _generalise(lost: list[float], columns: list[Column]) -> float:
    """The geometric mean over columns of one plus their loss, less one."""
    # Of D leaves a share s loses (s - 1/D) / (1 - 1/D), which is what the penalty is: covered - 1 of D - 1.
    return math.expm1(math.fsum(math.log1p(loss) for loss in lost) / len(columns))


def _measure_error(given: pl.LazyFrame, released: pl.LazyFrame, notation: Notation) -> float:
    """Squared distance to the middle of what is released, over that to the mean, for all columns."""
    shares = []
    for name in given.collect_schema().names():
        true, cells = _take(given, name).cast(pl.Float64), _take(released, name)
        texts = cells.unique()
        whole = (float(true.min()), float(true.max()))  # type: ignore[arg-type]
        read = [whole if text == STAR else _read_range(text, notation) for text in texts]
        middle = {text: (low + high) / 2 for text, (low, high) in zip(texts, read, strict=True)}
        known = cells.replace_strict(middle, return_dtype=pl.Float64)
        total = float(((true - true.mean()) ** 2).sum())
        shares.append(float(((true - known) ** 2).sum()) / total if total > 0 else 0.0)
    return math.fsum(shares) / len(shares)


def _count_untrue(
    given: pl.LazyFrame, released: pl.LazyFrame, columns: list[Column], notation: Notation
) -> int:
    """Cells that do not cover the true value."""
    wrong = 0
    for column in columns:
        pairs = pl.DataFrame({"true": _take(given, column.name), "cell": _take(released, column.name)})
        for true, cell, times in pairs.group_by("true", "cell").len().iter_rows():
            wrong += 0 if column.covers(column.read(cell, notation), true) else times
    return wrong
