"""Cells of several columns at once: the leaves of a tree that imitates a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shoal.codespace.encoding import EncodedColumn
from shoal.learn.sklearn_io import convert_to_floats
from shoal.support.arithmetic import weighted_sum
from shoal.table import Table, to_strings

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Ask: TypeAlias = Callable[[dict[str, pl.Series], Ints], NDArray[Any]]
"""What a model predicts for some of the rows, by number, with columns replaced."""

_LEAVES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # numbers of boxes that are tried
_MOST_ROWS = 20_000  # rows that place the cuts
_ENDS = (("above", "above"), ("up_to", "up to"))
_SMALLEST = 200  # a box has at least one of so many rows


@dataclass(frozen=True, slots=True, eq=False)
class BoxedColumn:
    """One column, with its values in the order in which they are cut."""

    column: EncodedColumn
    rank: Ints
    """[codes] the place of each value in that order."""
    common: int
    """The commonest code: the best guess for a value that was never seen."""

    @classmethod
    def from_column(cls, column: EncodedColumn, guide: NDArray[Any]) -> BoxedColumn:
        """Numbers and ordered values keep their order; others are ordered by what is predicted for them."""
        codes, size = column.codes.astype(np.int64), column.domain.size
        rows = np.bincount(codes, minlength=size)
        rank = np.arange(size)
        if not column.domain.has_ranges:
            mean = np.bincount(codes, guide, size) / np.maximum(rows, 1)
            rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        return cls(column, rank, int(rows.argmax()))

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.domain.name

    def locate_values(self, series: pl.Series) -> Ints:
        """[rows] the places of any values, also of such as were never seen."""
        domain = self.column.domain
        if domain.kind == "number":
            first = int(domain.missing is not None)
            known = convert_to_floats(domain.values.slice(first), self.column)
            place = convert_to_floats(series, self.column)
            # A number between two that were seen belongs to the greater one, as with ranges of one column.
            code = np.minimum(np.searchsorted(known, place, side="left"), known.size - 1) + first
            absent = self.common if domain.missing is None else domain.missing
            return np.asarray(self.rank[np.where(np.isnan(place), absent, code)])
        labels = domain.labels.to_list()
        texts = [label for label in labels if label is not None]
        codes = pl.Series([code for code, label in enumerate(labels) if label is not None], dtype=pl.Int64)
        found = to_strings(series).replace_strict(texts, codes, default=self.common, return_dtype=pl.Int64)
        absent = labels.index(None) if None in labels else self.common
        return np.asarray(self.rank[found.set(series.is_null(), absent).to_numpy()])

    def measure_widths(self, low: Ints, high: Ints) -> Floats:
        """Share of the column's detail that is lost between two places, as with cells of one column."""
        domain, last = self.column.domain, self.column.domain.size - 1
        whole = (low == 0) & (high == last)
        if not domain.has_ranges:
            return np.where(whole, 1.0, (high - low) / max(last, 1))
        end = np.maximum(domain.position, 0.0)
        begin = np.where(low > 0, end[np.maximum(low - 1, 0)], 0.0)
        return np.where(whole, 1.0, end[high] - begin)

    def describe_part(self, low: int, high: int) -> dict[str, Any]:
        """A part of the column in plain values; empty if it is the whole column."""
        domain, last = self.column.domain, self.column.domain.size - 1
        if low == 0 and high == last:
            return {}
        of_rank = np.argsort(self.rank, kind="stable")
        if domain.kind != "number":
            return {"among": [domain.labels[int(code)] for code in of_rank[low : high + 1]]}
        part: dict[str, Any] = {}
        # In front of the numbers lies the missing value, which no number is above.
        first = int(domain.missing is not None)
        if low > first:
            part["above"] = domain.values[low - 1]
        if high < last and high >= first:
            part["up_to"] = domain.values[high]
        if first:
            part["missing"] = low == 0
            part["numbers"] = high >= first
        return part


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Boxes that every row is in exactly one of, and the values that stand for each."""

    columns: list[BoxedColumn]
    low: Ints
    """[boxes, columns] the first place inside."""
    high: Ints
    """[boxes, columns] the last place inside."""
    standing: Ints
    """[boxes, columns] the codes that stand for the box."""
    losses: list[float]
    """[columns] detail lost, of the rows that placed the boxes."""

    def find_boxes(self, places: Ints) -> Ints:
        """[rows] the box of each row, by the places of its values."""
        found = np.zeros(len(places), np.int64)
        for box in range(len(self.low)):
            found[((places >= self.low[box]) & (places <= self.high[box])).all(axis=1)] = box
        return found

    def replace_columns(self, whole: Table) -> dict[str, pl.Series]:
        """The columns once what stands for its box has taken the place of each value."""
        places = np.column_stack([each.locate_values(whole.column(each.name)) for each in self.columns])
        box = self.find_boxes(places)
        return {
            each.name: each.column.domain.values.gather(self.standing[box, j])
            for j, each in enumerate(self.columns)
        }

    def to_list(self) -> list[dict[str, Any]]:
        """As plain values: the conditions of each box, and what stands for it."""
        return [
            {
                "where": {
                    each.name: part
                    for j, each in enumerate(self.columns)
                    if (part := each.describe_part(int(self.low[box, j]), int(self.high[box, j])))
                },
                "values": {
                    each.name: each.column.domain.values[int(self.standing[box, j])]
                    for j, each in enumerate(self.columns)
                },
            }
            for box in range(len(self.low))
        ]

    def list_lines(self) -> list[str]:
        """One line for each box."""
        return [
            " and ".join(_say_part(name, part) for name, part in box["where"].items()) or "any row"
            for box in self.to_list()
        ]


def grow_boxes(
    columns: Sequence[EncodedColumn], guide: NDArray[Any], before: NDArray[Any], numeric: bool, ask: Ask
) -> list[Boxes]:
    """Fewer and more boxes, from one to many, whose cuts follow what a model predicts."""
    boxed = [BoxedColumn.from_column(column, guide) for column in columns]
    codes = np.column_stack([column.codes.astype(np.int64) for column in columns])
    places = np.column_stack([each.rank[codes[:, j]] for j, each in enumerate(boxed)])
    rows, last = slice(0, _MOST_ROWS), np.array([column.domain.size - 1 for column in columns])
    target = _number_classes(before) if not numeric else before.astype(np.float64)
    found: list[Boxes] = []
    for leaves in _LEAVES:
        low, high = _cut_boxes(places[rows], last, target[rows], numeric, leaves)
        if found and len(low) == len(found[-1].low):
            break  # there is nothing left to cut
        empty = Boxes(boxed, low, high, np.zeros_like(low), [])
        box_of = empty.find_boxes(places)
        standing = _choose_standing(empty, codes, places, box_of, before, numeric, ask)
        many = np.bincount(box_of, minlength=len(low))
        losses = [
            float(weighted_sum(each.measure_widths(low[:, j], high[:, j]), many) / many.sum())
            for j, each in enumerate(boxed)
        ]
        found.append(Boxes(boxed, low, high, standing, losses))
    return found


def _number_classes(before: NDArray[Any]) -> Ints:
    """Classes by number, of each output."""
    outputs = before.reshape(len(before), -1).T
    return np.column_stack([np.unique(each, return_inverse=True)[1] for each in outputs]).astype(np.int64)


def _cut_boxes(
    places: Ints, last: Ints, target: NDArray[Any], numeric: bool, leaves: int
) -> tuple[Ints, Ints]:
    """[boxes, columns] the first and the last place inside of each leaf of a tree."""
    first = np.zeros_like(last)
    if leaves == 1:
        return first[None], last[None]
    tree = (DecisionTreeRegressor if numeric else DecisionTreeClassifier)(
        max_leaf_nodes=leaves, min_samples_leaf=max(1, len(places) // _SMALLEST), random_state=0
    )
    inner = tree.fit(places.astype(np.float64), target).tree_
    made, waiting = [], [(0, first, last)]
    while waiting:
        node, low, high = waiting.pop()
        j = inner.feature[node]
        if j < 0:  # a leaf
            made.append((low, high))
            continue
        below, above = high.copy(), low.copy()
        below[j] = int(np.floor(inner.threshold[node]))
        above[j] = below[j] + 1
        waiting += [(inner.children_right[node], above, high), (inner.children_left[node], low, below)]
    return np.array([low for low, _ in made]), np.array([high for _, high in made])


def _choose_standing(
    boxes: Boxes,
    codes: Ints,
    places: Ints,
    box_of: Ints,
    before: NDArray[Any],
    numeric: bool,
    ask: Ask,
) -> Ints:
    """[boxes, columns] medians and commonest values; or a row's, if the model says something else of them."""
    chosen = np.zeros_like(boxes.low)
    wanted, nearest = [], np.zeros(len(boxes.low), np.int64)
    for box in range(len(boxes.low)):
        rows = np.flatnonzero(box_of == box)
        chosen[box] = [_choose_middle(each.column, codes[rows, j]) for j, each in enumerate(boxes.columns)]
        wanted.append(_find_typical(before[rows], numeric))
        middle = np.array([each.rank[chosen[box, j]] for j, each in enumerate(boxes.columns)])
        apart = (np.abs(places[rows] - middle) / np.maximum(places.max(axis=0), 1)).sum(axis=1)
        nearest[box] = rows[np.lexsort((apart, _miss(before[rows], wanted[-1], numeric)))[0]]
    columns = {
        each.name: each.column.domain.values.gather(chosen[:, j]) for j, each in enumerate(boxes.columns)
    }
    said = ask(columns, nearest)
    for box, row in enumerate(nearest):
        one = slice(box, box + 1)
        if _miss(said[one], wanted[box], numeric)[0] > _miss(before[row : row + 1], wanted[box], numeric)[0]:
            chosen[box] = codes[row]
    return chosen


def _choose_middle(column: EncodedColumn, codes: Ints) -> int:
    """The median of ordered values, the commonest of others; a number where one is there."""
    domain = column.domain
    if not domain.has_ranges:
        return int(np.bincount(codes).argmax())
    known = codes[codes != domain.missing] if domain.missing is not None else codes
    ordered = np.sort(known if known.size else codes)
    return int(ordered[(ordered.size - 1) // 2])


def _find_typical(before: NDArray[Any], numeric: bool) -> NDArray[Any]:
    """The mean prediction, or the commonest one."""
    if numeric:
        return np.asarray(before.astype(np.float64).mean(axis=0))
    values, count = np.unique(before, axis=0, return_counts=True)
    return np.asarray(values[count.argmax()])


def _miss(said: NDArray[Any], wanted: NDArray[Any], numeric: bool) -> Floats:
    """[rows] how far predictions are from one that is wanted."""
    said = said.reshape(len(said), -1)
    if numeric:
        return np.asarray(np.abs(said.astype(np.float64) - wanted).sum(axis=1))
    return np.asarray((said != wanted).any(axis=1), np.float64)


def _say_part(name: str, part: dict[str, Any]) -> str:
    if "among" in part:
        return f"{name} is " + " or ".join("(missing)" if each is None else each for each in part["among"])
    if not part.get("numbers", True):
        return f"{name} is missing"
    words = " and ".join(f"{word} {part[key]}" for key, word in _ENDS if key in part) or "is known"
    return f"{name} {words}" + (" or missing" if part.get("missing") else "")
