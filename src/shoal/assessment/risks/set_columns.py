"""Columns of sets, found by their cells: several values in one, such as ``E11|I10|N18``."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from shoal.table import to_strings
from shoal.table.sets import split_sets

SEPARATORS = ("|", ";", ",", "/", "+", "&")
"""What separates items as a rule, the clearest first."""
_LOOKED_AT = 2000  # distinct cells
_FEWEST = 8  # distinct cells, to tell anything
_SEVERAL = 0.2  # share of the cells that have several items
_LONGEST = 30  # mean length of an item: longer ones are sentences
_REPEATED = 2.0  # how often an item occurs, on the mean: those of names and addresses rarely do
_MOVING = 0.5  # share of the items that are at several places of their cells: parts of a date never are
_DOUBLE = 0.05  # share of the cells that have an item twice


class SetColumn(NamedTuple):
    """What makes a column look like one of sets."""

    separator: str
    items: int
    """Distinct ones, in the cells that were looked at."""
    several: float
    """Share of the distinct cells that have several items."""

    @property
    def reason(self) -> str:
        """In words, for the person who decides."""
        return (
            f"{self.several:.0%} of its distinct cells have several of {self.items:,} items, with "
            f"'{self.separator}' between them"
        )


def find_set_column(distinct: pl.Series) -> SetColumn | None:
    """What makes a column look like one of sets, by its distinct values; None if it does not."""
    cells = to_strings(distinct.head(_LOOKED_AT))
    if distinct.dtype != pl.String or cells.len() < _FEWEST:
        return None
    return next(filter(None, (_judge_separator(cells, each) for each in SEPARATORS)), None)


def _judge_separator(cells: pl.Series, separator: str) -> SetColumn | None:
    """Whether cells are sets if they are divided by this."""
    if cells.str.contains(separator, literal=True).mean() < _SEVERAL:  # type: ignore[operator]
        return None
    items, row = split_sets(cells, separator)
    parts = pl.DataFrame({"item": items, "row": row})
    parts = parts.with_columns(place=pl.int_range(pl.len()).over("row"), size=pl.len().over("row"))
    sizes = parts.group_by("row", maintain_order=True).len()["len"]
    several = float((sizes > 1).sum()) / cells.len()
    found = SetColumn(separator, items.n_unique(), several)
    # Cells of always as many parts are dates, names or addresses.
    if several < _SEVERAL or sizes.n_unique() < 2 or _is_number(items, sizes, separator):
        return None
    repeated = items.len() / found.items >= _REPEATED
    short = float(items.str.len_chars().mean() or 0) <= _LONGEST  # type: ignore[arg-type]
    return found if repeated and short and _moves(parts) and not _has_doubles(cells, separator) else None


def _moves(parts: pl.DataFrame) -> bool:
    """Whether most items that cells share with others are at several places of them."""
    several = parts.filter(pl.col("size") > 1)
    places = several.group_by("item", maintain_order=True).agg(pl.len(), pl.col("place").n_unique())
    shared = places.filter(pl.col("len") > 1)
    return shared.height > 0 and float((shared["place"] > 1).mean()) >= _MOVING  # type: ignore[arg-type]


def _has_doubles(cells: pl.Series, separator: str) -> bool:
    """Whether many cells have an item twice, as sets never and texts often do."""
    lists = cells.str.split(separator).list.eval(pl.element().str.strip_chars())
    return float((lists.list.n_unique() < lists.list.len()).mean()) > _DOUBLE  # type: ignore[arg-type]


def _is_number(items: pl.Series, sizes: pl.Series, separator: str) -> bool:
    """Whether cells are numbers with a comma: 3,5 or 1,234,567."""
    if separator != "," or not items.str.contains(r"^[+-]?\d+$").all():
        return False
    return int(sizes.max()) < 3 or bool((items.str.len_chars() <= 3).all())  # type: ignore[arg-type]
