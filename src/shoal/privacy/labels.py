"""What released values stand for, told from their text alone.

The verifier asks this to find the people of a population who fit a class. It shares nothing with the code
that wrote the text; where a text can be read in two ways, it takes the one that stands for less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.table import Column, ColumnType, infer_type, ordered_values, parse_values, to_strings
from shoal.table.hierarchies import Hierarchy
from shoal.table.types import NUMBER

Mask = NDArray[np.bool_]

_ANY = "*"
_INTEGER = r"^\s*[+-]?[0-9]+\s*$"
# Two dots in a row are the dash of a range, never part of a date.
_DATE = r"^(?!.*\.\.)[0-9]+[-/.][0-9]+[-/.][0-9]+(?:[T ].*)?$"
_SIDE = re.compile(r"([<>]=?)(.+)$")
_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"{}]*))\s*(?:,|$)')


def build_cover_matrix(
    labels: pl.Series, values: pl.Series, column: Column, every_value_occurs: bool = True
) -> NDArray[np.bool_]:
    """Whether each released text stands for each value of the population.

    Parameters
    ----------
    labels : Series of text
        Different released values of a column; null and empty text stand for a missing value.
    values : Series
        Distinct values of the column in the population.
    column
        Its type or order, where these are known, and the hierarchy whose nodes were released.
    every_value_occurs : bool
        Whether a value that is released must be one of the population's.

    Returns
    -------
    bool[labels, values]

    Raises
    ------
    InputError
        When a text is neither a value, nor a range, a set or a node.
    """
    known = _PopulationValues.from_column(labels, values, column)
    masks = [known.missing if not label else known.read_label(label, every_value_occurs) for label in labels]
    return np.array(masks, np.bool_).reshape(len(labels), len(values))


@dataclass(frozen=True, slots=True, eq=False)
class _PopulationValues:
    """The values of a column in the population, to be found by what a release says of them."""

    name: str
    text: NDArray[np.str_]
    missing: Mask
    rank: NDArray[np.int64]
    """Place of each value among all; not for missing ones."""
    place: Mapping[str, int]
    """Ranks of texts that can stand at the end of a range."""
    tree: Hierarchy | None

    @classmethod
    def from_column(cls, labels: pl.Series, values: pl.Series, column: Column) -> _PopulationValues:
        text = to_strings(values)
        if column.hierarchy is not None:
            missing = (text == "").fill_null(True)
            rank: NDArray[np.int64] = np.zeros(len(text), np.int64)
            place: dict[str, int] = {}
        else:
            missing, rank, place = _rank_values(labels, values, text, column)
        known = text.fill_null("").to_numpy().astype(np.str_)
        return cls(column.name, known, missing.to_numpy(), rank, place, column.hierarchy)

    def read_label(self, label: str, every_value_occurs: bool) -> Mask:
        """Which values a text stands for: the first reading that makes sense, from the narrowest on."""
        # Narrow readings first: fewer people fit then, so that k-map never holds by a misreading.
        for reading in (
            self._match_value(label),
            self._match_node(label),
            self._match_side(label),
            self._match_range(label),
            self._match_set(label),
        ):
            if reading is not None:
                return reading
        if not every_value_occurs:
            return np.zeros(self.text.size, np.bool_)
        raise InputError(
            f"column '{self.name}': cannot tell which values of the population '{label}' stands for; it is "
            "no value there, no range, no set and no node of a hierarchy: give the hierarchy that it is from"
        )

    def _match_value(self, label: str) -> Mask | None:
        """A value; if it is a number or a date, it need not occur."""
        same = self._match_strings([label])
        return same if same.any() or label in self.place else None

    def _match_node(self, label: str) -> Mask | None:
        if label == _ANY or (self.tree is not None and label == self.tree.root):
            return np.ones(self.text.size, np.bool_)
        for level, names in enumerate(self.tree.names if self.tree is not None else ()):
            if label in names:
                assert self.tree is not None
                inside = np.flatnonzero(self.tree.nodes[level] == names.index(label))
                return self._match_strings([self.tree.leaves[leaf] for leaf in inside])
        return None

    def _match_side(self, label: str) -> Mask | None:
        """All values on one side of an edge, as ``>70`` or ``<=18``."""
        sign, edge = split_side(label)
        if not sign or edge not in self.place:
            return None
        sides = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}
        return np.asarray(sides[sign](self.rank, self.place[edge]) & ~self.missing)

    def _match_range(self, label: str) -> Mask | None:
        for first, last in split_range(label):
            # A range may be divided in several ways; the first with two known ends is it.
            if first in self.place and last in self.place:
                inside = (self.place[first] <= self.rank) & (self.rank <= self.place[last])
                return np.asarray(inside & ~self.missing)
            if self.tree is not None and first in self.tree.leaves and last in self.tree.leaves:
                leaves = self.tree.leaves
                return self._match_strings(list(leaves[leaves.index(first) : leaves.index(last) + 1]))
        return None

    def _match_set(self, label: str) -> Mask | None:
        """A set of values, of which some need not occur."""
        items = split_set(label)
        if items is None:
            return None
        sides = [each for each in map(self._match_side, items) if each is not None]
        found: Mask = np.logical_or.reduce([self._match_strings(items), *sides])
        # An empty item stands for a missing value.
        return found | self.missing if "" in items else found

    def _match_strings(self, texts: list[str]) -> Mask:
        # Compared by rank, so that 5 and 5.0 are one number.
        places = [self.place[text] for text in texts if text in self.place]
        same = np.isin(self.rank, places) if places else np.isin(self.text, texts)
        return np.asarray(same & ~self.missing)


def _rank_values(
    labels: pl.Series, values: pl.Series, text: pl.Series, column: Column
) -> tuple[pl.Series, NDArray[np.int64], dict[str, int]]:
    """Which values are missing, their ranks, and the ranks of what the released texts are made of.

    All are read together, for the values tell how a date such as 03/04/2020 is to be read.
    """
    found = infer_type(values.drop_nulls().unique(maintain_order=True))
    order = column.order or ordered_values(values)
    kind = column.type or ("ordered" if order else found.type)
    if kind in ("string", "boolean"):
        return (text == "").fill_null(True), np.zeros(len(text), np.int64), {}
    missing = text.is_in(["", *found.extra_na]).fill_null(True)
    parts = [part for part in dict.fromkeys(_split_labels(labels)) if _can_be_value(part, kind, order)]
    every = pl.concat([text.set(missing, None), pl.Series(parts, dtype=pl.String)])
    # A label may be a fraction although all values are whole.
    if kind == "integer" and not every.drop_nulls().str.contains(_INTEGER).all():
        kind = "float"
    # Ranks begin at 1, so 0 is free for what is missing.
    rank = (
        parse_values(every, kind, column.name, order).rank("dense").fill_null(0).to_numpy().astype(np.int64)
    )
    return missing, rank[: len(text)], dict(zip(parts, rank[len(text) :].tolist(), strict=True))


def _split_labels(labels: pl.Series) -> Iterator[str]:
    """What could be values in released texts: the whole, the ends of a range, the items of a set."""
    for label in filter(None, labels):
        yield label
        yield from (end for ends in split_range(label) for end in ends)
        items = split_set(label) or ()
        yield from filter(None, (*items, *(split_side(each)[1] for each in (label, *items))))


def _can_be_value(text: str, kind: ColumnType, order: Sequence[str] | None) -> bool:
    """Whether a text can be a value of a type."""
    if kind == "ordered" and order is not None:
        return text in order
    pattern = NUMBER if kind in ("integer", "float", "ordered") else _DATE
    return re.match(pattern, text.strip()) is not None


def split_side(label: str) -> tuple[str, str]:
    """The sign and the edge of a text such as ``>70``; both are empty if it is none."""
    found = _SIDE.match(label)
    return (found[1], found[2]) if found else ("", "")


def split_range(label: str) -> Iterator[tuple[str, str]]:
    """The ways to divide a range into its two ends; the dash is .. where a hyphen would be misread."""
    if label.startswith("[") and label.endswith("]"):
        # The dots first: a hyphen may also be a sign, or part of a date.
        for dash in ("..", "-"):
            for match in re.finditer(re.escape(dash), label):
                yield label[1 : match.start()], label[match.end() : -1]


def split_set(label: str) -> list[str] | None:
    """The values of a set ``{a, "b, c"}``; None if it is not one."""
    if not (label.startswith("{") and label.endswith("}")):
        return None
    inside = label[1:-1]
    items = [match for match in _ITEM.finditer(inside) if match[0]]
    if "".join(match[0] for match in items) != inside:
        return None
    return [match[2] if match[1] is None else match[1].replace('""', '"') for match in items]
