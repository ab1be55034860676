"""Which sets of columns single people out: distinction, separation and single rows by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.encoding import build_dictionary
from shoal.codespace.frequency import rank_rows
from shoal.errors import RecipeError
from shoal.kernels.compiled import as_int64
from shoal.kernels.subsets import tell_apart
from shoal.support.progress import Progress, silent
from shoal.table import Table

LARGEST = 4
"""Sets of up to this many columns are looked at where nothing else is said."""
TELLING = 0.8
"""A set that leaves this share of the rows single needs no further column to be dangerous."""
_WORK = 2_000_000_000  # rows times sets that are looked at before sets are sampled
_FEWEST, _MOST = 200, 10_000  # sets, whatever the rows
_NARROW = 24  # with more columns hardly any rows are alike
_SHOWN = 10  # sets of a size that are kept


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """How some columns together tell the rows of a table apart.

    References
    ----------
    R. Motwani, Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", VLDB workshop on
    Secure Data Management 2007.
    """

    columns: tuple[str, ...]
    rows: int
    classes: int
    """Distinct combinations of values."""
    unique_rows: int
    """Rows whose combination no other row has."""
    equal_pairs: int
    """Pairs of rows that it does not tell apart."""

    @property
    def distinction(self) -> float:
        """Distinct combinations over rows."""
        return self.classes / self.rows

    @property
    def separation(self) -> float:
        """Share of all pairs of rows that it tells apart."""
        return 1 - self.equal_pairs / max(self.rows * (self.rows - 1) // 2, 1)

    @property
    def uniqueness(self) -> float:
        """Share of rows that it singles out."""
        return self.unique_rows / self.rows

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "columns": list(self.columns),
            "distinction": self.distinction,
            "separation": self.separation,
            "uniqueness": self.uniqueness,
            "unique_rows": self.unique_rows,
        }


@dataclass(frozen=True, slots=True)
class SetsOfSize:
    """What the sets of one size do."""

    size: int
    possible: int
    """How many there are."""
    seen: int
    """How many were looked at, or contain a smaller one that singles out enough."""
    sampled: bool
    """Whether those are a random sample."""
    telling: int
    """How many of those looked at single out enough of the rows."""
    worst: tuple[ColumnSet, ...]
    """Those that single out most; sets that contain a dangerous smaller one are not listed again."""


@dataclass(frozen=True, slots=True)
class ColumnSets:
    """Columns and sets of columns, by how they tell rows apart."""

    columns: tuple[ColumnSet, ...]
    """Each column alone, in the order of the table."""
    sizes: tuple[SetsOfSize, ...]
    """From two columns on."""
    telling: tuple[ColumnSet, ...]
    """The smallest sets that single out enough of the rows: without any one column they would not."""
    limit: float
    """What is enough: a share of the rows."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "columns": [each.to_dict() for each in self.columns],
            "sizes": [
                {name: getattr(each, name) for name in ("size", "possible", "seen", "sampled", "telling")}
                | {"worst": [one.to_dict() for one in each.worst]}
                for each in self.sizes
            ],
            "telling": [each.to_dict() for each in self.telling],
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """The distinct rows of some columns in codes, the columns with most distinct values first."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: NDArray[np.uint32]
    """[columns, distinct rows]"""
    weight: NDArray[np.int64]

    @classmethod
    def from_table(cls, table: Table, names: Sequence[str]) -> CodedColumns:
        """Columns of a table; a missing value is a value."""
        found = {name: build_dictionary(table.column(name)) for name in names}
        # A missing value is a code of its own.
        sizes = {name: len(values) + missing for name, (values, _, missing) in found.items()}
        # The walk drops columns from the front: without those of many values most rows collapse.
        order = sorted(names, key=lambda name: -sizes[name])
        every = cls(
            tuple(order),
            tuple(sizes[name] for name in order),
            np.stack([found[name][1] for name in order]),
            np.ones(table.rows, np.int64),
        )
        return every.collapse_rows()

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.weight.sum())

    def drop_first_columns(self, first: int) -> CodedColumns:
        """The columns from one on, equal rows collapsed where there can be many of them."""
        rest = CodedColumns(self.names[first:], self.sizes[first:], self.codes[first:], self.weight)
        return rest.collapse_rows() if len(rest.names) <= _NARROW else rest

    def collapse_rows(self) -> CodedColumns:
        """The same with every distinct row once."""
        rank = rank_rows(list(self.codes), self.sizes)
        some = np.empty(int(rank.max(initial=-1)) + 1, np.int64)
        # Any of the equal rows stands for all.
        some[rank] = np.arange(rank.size)
        # Sums of floats, but of whole numbers: exact up to 2^53.
        weight = np.rint(np.bincount(rank, self.weight)).astype(np.int64)
        return CodedColumns(self.names, self.sizes, np.ascontiguousarray(self.codes[:, some]), weight)

    def measure_sets(self, sets: NDArray[np.int16], limit: int) -> NDArray[np.int64]:
        """Classes, single rows and equal pairs of sets that are in lexicographic order."""
        found = np.zeros((len(sets), 3), np.int64)
        tell_apart(self.codes, self.weight, as_int64(max(self.sizes)), sets, as_int64(limit), found)
        return found


def measure_column_sets(
    table: Table,
    names: Sequence[str],
    *,
    largest: int | None = None,
    limit: float = TELLING,
    seed: int = 0,
    on_progress: Progress = silent,
) -> ColumnSets:
    """Look at every column and at sets of up to ``largest`` columns.

    Sets that contain one which singles out the share ``limit`` of the rows are passed over where the walk
    meets that one first: they single out at least as much. Where there are too many sets of a size, a random
    sample of them is looked at.
    """
    if not 0 < limit <= 1:
        raise RecipeError(f"limit is a share of the rows, above 0 and up to 1, not {limit:g}")
    if largest is not None and largest < 1:
        raise RecipeError(f"largest is a number of columns, at least 1, not {largest}")
    coded = CodedColumns.from_table(table, names)
    biggest = min(LARGEST if largest is None else largest, len(names))
    chosen, sampled = _choose_sets(len(names), biggest, coded.weight.size, seed)
    found = _walk_sets(coded, chosen, ceil_share(limit, table.rows), on_progress)
    place = {name: at for at, name in enumerate(names)}
    every = [
        ColumnSet(tuple(sorted(columns, key=place.__getitem__)), table.rows, *figures)
        for columns, figures in found
    ]
    alone = sorted((each for each in every if len(each.columns) == 1), key=lambda e: place[e.columns[0]])
    telling = _keep_smallest_sets([each for each in every if each.uniqueness >= limit])
    sizes = [
        _summarize_size(
            size, len(names), sum(len(one) == size for one in chosen), size in sampled, every, limit
        )
        for size in range(2, biggest + 1)
    ]
    return ColumnSets(tuple(alone), tuple(sizes), telling, limit)


def measure_added_columns(table: Table, base: Sequence[str], others: Sequence[str]) -> dict[str, ColumnSet]:
    """What becomes of a set of columns when one more is known; under the empty name the set as it is."""
    coded = CodedColumns.from_table(table, [*base, *others])
    at = {name: number for number, name in enumerate(coded.names)}
    known = [at[name] for name in base]
    rows = [[*known, -1], *([*known, at[name]] for name in others)]
    # More than all rows is out of reach, so that no set is passed over.
    figures = coded.measure_sets(np.array(rows, np.int16), table.rows + 1)
    return {
        name: ColumnSet((*base, *([name] if name else [])), table.rows, *map(int, figure))
        for name, figure in zip(["", *others], figures, strict=True)
    }


def ceil_share(share: float, rows: int) -> int:
    """The least number of rows that is at least a share of all."""
    # 0.07 * 100 is 7.000000000000001, and must not become 8.
    return int(np.ceil(share * rows - 1e-9))


def _choose_sets(columns: int, largest: int, rows: int, seed: int) -> tuple[list[tuple[int, ...]], set[int]]:
    """The sets to look at in lexicographic order, and the sizes of which they are a sample."""
    budget = min(max(_WORK // max(rows, 1), _FEWEST), _MOST)
    chosen: list[tuple[int, ...]] = [(at,) for at in range(columns)]
    sampled: set[int] = set()
    rng = np.random.default_rng(seed)
    for size in range(2, largest + 1):
        left = max(budget - len(chosen), _FEWEST)
        if comb(columns, size) <= left:
            chosen += combinations(range(columns), size)
            continue
        sampled.add(size)
        # What is left is shared by the sizes to come. A set, as columns may be drawn twice.
        drawn = {
            tuple(sorted(rng.choice(columns, size, replace=False).tolist()))
            for _ in range(max(left // (largest - size + 1), _FEWEST // 2))
        }
        chosen += sorted(drawn)
    return sorted(chosen), sampled


def _walk_sets(
    coded: CodedColumns, chosen: list[tuple[int, ...]], limit: int, on_progress: Progress
) -> Iterator[tuple[tuple[str, ...], tuple[int, int, int]]]:
    """The figures of sets, one first column after the other: the columns before it can be forgotten.

    So what is left of the table gets smaller and smaller.
    """
    done, rest, gone = 0, coded, 0
    for first in range(len(coded.names)):
        sets = [each for each in chosen if each[0] == first]
        rest, gone = (rest if first == gone else rest.drop_first_columns(first - gone)), first
        # -1 ends a set that is shorter than the longest.
        padded = np.full((len(sets), max(map(len, sets))), -1, np.int16)
        for number, each in enumerate(sets):
            padded[number, : len(each)] = np.array(each) - first
        for each, figure in zip(sets, rest.measure_sets(padded, limit).tolist(), strict=True):
            # The kernel leaves -1 for sets that it passed over.
            if figure[0] >= 0:
                yield tuple(coded.names[at] for at in each), tuple(figure)
        done += len(sets)
        on_progress("sets of columns", done / len(chosen))


def _summarize_size(
    size: int, columns: int, seen: int, sampled: bool, every: Sequence[ColumnSet], limit: float
) -> SetsOfSize:
    here = [each for each in every if len(each.columns) == size]
    # A set that was passed over contains a telling one, and so tells at least as much.
    telling = seen - len(here) + sum(each.uniqueness >= limit for each in here)
    dangerous = [set(each.columns) for each in every if len(each.columns) < size and each.uniqueness >= limit]
    fresh = [each for each in here if not any(known <= set(each.columns) for known in dangerous)]
    worst = sorted(fresh, key=lambda each: (-each.unique_rows, each.equal_pairs, each.columns))[:_SHOWN]
    return SetsOfSize(size, comb(columns, size), seen, sampled, telling, tuple(worst))


def _keep_smallest_sets(sets: Sequence[ColumnSet]) -> tuple[ColumnSet, ...]:
    """Sets that contain no other one, the smallest first."""
    kept: list[ColumnSet] = []
    # By size: what a set could contain has been looked at before it.
    for each in sorted(sets, key=lambda each: (len(each.columns), -each.unique_rows, each.columns)):
        if not any(set(other.columns) < set(each.columns) for other in kept):
            kept.append(each)
    return tuple(kept)
