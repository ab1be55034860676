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
from shoal.hierarchies import Hierarchy
from shoal.table import Column, ColumnType, as_text, infer_type, ordered_values, parse
from shoal.table.types import NUMBER

Mask = NDArray[np.bool_]

_ANY = "*"
_INTEGER = r"^\s*[+-]?[0-9]+\s*$"
_DATE = r"^(?!.*\.\.)[0-9]+[-/.][0-9]+[-/.][0-9]+(?:[T ].*)?$"
_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"{}]*))\s*(?:,|$)')


def covers(
    labels: pl.Series, values: pl.Series, column: Column, every_value_occurs: bool = True
) -> NDArray[np.bool_]:
    """Whether each released text stands for each value of the population.

    Parameters
    ----------
    labels : Series of text
        Different released values of a column; null and empty text stand for a missing value.
    values : Series
        Different values of the column in the population.
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
    known = _Values.of(labels, values, column)
    masks = [known.missing if not label else known.read(label, every_value_occurs) for label in labels]
    return np.array(masks, np.bool_).reshape(len(labels), len(values))


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
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
    def of(cls, labels: pl.Series, values: pl.Series, column: Column) -> _Values:
        text = as_text(values)
        if column.hierarchy is not None:
            missing = (text == "").fill_null(True)
            rank: NDArray[np.int64] = np.zeros(len(text), np.int64)
            place: dict[str, int] = {}
        else:
            missing, rank, place = _line(labels, values, text, column)
        known = text.fill_null("").to_numpy().astype(np.str_)
        return cls(column.name, known, missing.to_numpy(), rank, place, column.hierarchy)

    def read(self, label: str, every_value_occurs: bool) -> Mask:
        """Which values a text stands for: the first reading that makes sense, from the narrowest on."""
        for reading in (self._value(label), self._node(label), self._range(label), self._set(label)):
            if reading is not None:
                return reading
        if not every_value_occurs:
            return np.zeros(self.text.size, np.bool_)
        raise InputError(
            f"column '{self.name}': cannot tell which values of the population '{label}' stands for; it is "
            "no value there, no range, no set and no node of a hierarchy: give the hierarchy that it is from"
        )

    def _value(self, label: str) -> Mask | None:
        """A value; if it is a number or a date, it need not occur."""
        same = self._among([label])
        return same if same.any() or label in self.place else None

    def _node(self, label: str) -> Mask | None:
        if label == _ANY or (self.tree is not None and label == self.tree.root):
            return np.ones(self.text.size, np.bool_)
        for level, names in enumerate(self.tree.names if self.tree is not None else ()):
            if label in names:
                assert self.tree is not None
                inside = np.flatnonzero(self.tree.nodes[level] == names.index(label))
                return self._among([self.tree.leaves[leaf] for leaf in inside])
        return None

    def _range(self, label: str) -> Mask | None:
        for first, last in ends(label):
            if first in self.place and last in self.place:
                inside = (self.place[first] <= self.rank) & (self.rank <= self.place[last])
                return np.asarray(inside & ~self.missing)
            if self.tree is not None and first in self.tree.leaves and last in self.tree.leaves:
                leaves = self.tree.leaves
                return self._among(list(leaves[leaves.index(first) : leaves.index(last) + 1]))
        return None

    def _set(self, label: str) -> Mask | None:
        """A set of values, of which some need not occur."""
        items = _items(label)
        if items is None:
            return None
        return self._among(items) | self.missing if "" in items else self._among(items)

    def _among(self, texts: list[str]) -> Mask:
        places = [self.place[text] for text in texts if text in self.place]
        same = np.isin(self.rank, places) if places else np.isin(self.text, texts)
        return np.asarray(same & ~self.missing)


def _line(
    labels: pl.Series, values: pl.Series, text: pl.Series, column: Column
) -> tuple[pl.Series, NDArray[np.int64], dict[str, int]]:
    """Which values are missing, their ranks, and the ranks of what the released texts are made of.

    All are read together, for the values tell how a date such as 03/04/2020 is to be read.
    """
    found = infer_type(values.drop_nulls().unique())
    order = column.order or ordered_values(values)
    kind = column.type or ("ordered" if order else found.type)
    if kind in ("string", "boolean"):
        return (text == "").fill_null(True), np.zeros(len(text), np.int64), {}
    missing = text.is_in(["", *found.extra_na]).fill_null(True)
    parts = [part for part in dict.fromkeys(_parts(labels)) if _fits(part, kind, order)]
    every = pl.concat([text.set(missing, None), pl.Series(parts, dtype=pl.String)])
    if kind == "integer" and not every.drop_nulls().str.contains(_INTEGER).all():
        kind = "float"
    rank = parse(every, kind, column.name, order).rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return missing, rank[: len(text)], dict(zip(parts, rank[len(text) :].tolist(), strict=True))


def _parts(labels: pl.Series) -> Iterator[str]:
    """What could be values in released texts: the whole, the ends of a range, the items of a set."""
    for label in filter(None, labels):
        yield label
        yield from (end for ends in ends(label) for end in ends)
        yield from filter(None, _items(label) or ())


def _fits(text: str, kind: ColumnType, order: Sequence[str] | None) -> bool:
    """Whether a text can be a value of a type."""
    if kind == "ordered" and order is not None:
        return text in order
    pattern = NUMBER if kind in ("integer", "float", "ordered") else _DATE
    return re.match(pattern, text.strip()) is not None


def ends(label: str) -> Iterator[tuple[str, str]]:
    """The ways to divide a range into its two ends; the dash is .. where a hyphen would be misread."""
    if label.startswith("[") and label.endswith("]"):
        for dash in ("..", "-"):
            for match in re.finditer(re.escape(dash), label):
                yield label[1 : match.start()], label[match.end() : -1]


def _items(label: str) -> list[str] | None:
    """The values of a set ``{a, "b, c"}``; None if it is not one."""
    if not (label.startswith("{") and label.endswith("}")):
        return None
    inside = label[1:-1]
    items = [match for match in _ITEM.finditer(inside) if match[0]]
    if "".join(match[0] for match in items) != inside:
        return None
    return [match[2] if match[1] is None else match[1].replace('""', '"') for match in items]
