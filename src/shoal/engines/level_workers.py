"""What executors do with counted rows: batches of Arrow in, batches of Arrow out.

A counted row is a row of packed codes, the codes of its sensitive values and how many rows are equal to it.
In every partition they are in lexicographic order, so that rows which differ in sensitive values only, which
are one *weighted row*, follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.mondrian import partition_rows, root_box
from shoal.algorithms.sampled_cuts import choose_stride, cuts_of_sample
from shoal.codespace.frequency import CodedRows
from shoal.engines.packing import CodePacking
from shoal.kernels.axes import Axes
from shoal.kernels.collapse import first_seen
from shoal.kernels.compiled import KernelBundle
from shoal.kernels.cut_workspace import WeightedRows
from shoal.kernels.partition import KERNELS
from shoal.kernels.rules import Rules
from shoal.kernels.sampled_cuts import (
    CutTree,
    check_nodes,
    count_node_values,
    gather_parts,
    leaf_of,
)
from shoal.table.formats import import_optional

_CHUNK = 1 << 18  # rows that are looked at together
TUPLES, WEIGHT, VALUE = 0, 1, 2
"""What `LeafCounter` counts: weighted rows by partition, rows, and rows by sensitive value."""

Batches = Iterable[Any]


@dataclass(frozen=True, slots=True, eq=False)
class RowLayout:
    """How counted rows are laid out."""

    packing: CodePacking
    sensitive_sizes: tuple[int, ...]
    """Number of codes of each sensitive column."""
    kernels: KernelBundle | None = None
    """What executors would have to compile; it travels with every task."""

    @property
    def words(self) -> list[str]:
        """Names of the columns with packed codes."""
        return [f"k{i}" for i in range(self.packing.words)]

    @property
    def values(self) -> list[str]:
        """Names of the columns with codes of sensitive values."""
        return [f"s{i}" for i in range(len(self.sensitive_sizes))]

    @property
    def first_codes(self) -> list[int]:
        """Where the values of each sensitive column begin, if they are numbered through."""
        return [0, *accumulate(self.sensitive_sizes)]

    def unpack_codes(self, frame: pl.DataFrame) -> NDArray[np.unsignedinteger]:
        """The codes of rows, [rows, columns]."""
        # The type that the compiled kernels were sent for.
        kind = np.uint16 if max(self.packing.sizes) <= 1 << 16 else np.uint32
        columns = self.packing.unpack_codes([frame[name].to_numpy().astype(np.uint64) for name in self.words])
        return np.stack([column.astype(kind) for column in columns], axis=1)

    def unpack_rows(self, frame: pl.DataFrame) -> CodedRows:
        """Counted rows in code space."""
        codes = self.unpack_codes(frame)
        return CodedRows(
            tuple(np.ascontiguousarray(column) for column in codes.T),
            self.packing.sizes,
            tuple(frame[name].to_numpy().astype(np.uint32) for name in self.values),
            self.sensitive_sizes,
            frame["n"].to_numpy().astype(np.int64),
        )


def pack_kernels(layout: RowLayout, how: int) -> KernelBundle:
    """The kernels that executors call."""
    kernels = (KERNELS[how], leaf_of, gather_parts, count_node_values, check_nodes, first_seen)
    return KernelBundle(kernels, wide=max(layout.packing.sizes) > 1 << 16)


@dataclass(frozen=True, slots=True, eq=False)
class CutSettings:
    """What a search looks at besides the rows."""

    axes: Axes
    rules: Rules
    """Without the sensitive values of any rows."""
    how: int
    """The way to cut."""

    @classmethod
    def from_rules(cls, axes: Axes, rules: Rules, how: int) -> CutSettings:
        """Leave out the sensitive values of the rows that the rules were made with."""
        none = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(axes, with_values(rules, *none), how)


def with_values(
    rules: Rules, start: NDArray[np.int64], value: NDArray[np.int32], count: NDArray[np.int64]
) -> Rules:
    """The same rules, about other rows."""
    return rules._replace(entry=start, value=value, times=count)


def _merge_batches(batches: Batches) -> Iterator[pl.DataFrame]:
    """Batches put together, so that each is worth the effort."""
    waiting: list[pl.DataFrame] = []
    height = 0
    for batch in batches:
        frame: Any = pl.from_arrow(batch)
        waiting.append(frame)
        height += frame.height
        if height >= _CHUNK:
            yield pl.concat(waiting)
            waiting, height = [], 0
    if height:
        yield pl.concat(waiting)


def _to_batches(frame: pl.DataFrame) -> Iterator[Any]:
    """A frame as batches of Arrow."""
    yield from as_arrow(frame).to_batches(_CHUNK)


def as_arrow(frame: pl.DataFrame) -> Any:
    """A table of Arrow in which lists are as Spark takes them."""
    pyarrow = import_optional("pyarrow", "shoal[spark]")
    table = frame.to_arrow()
    large = pyarrow.types.is_large_list
    kinds = [
        (each.name, pyarrow.list_(each.type.value_type) if large(each.type) else each.type)
        for each in table.schema
    ]
    return table.cast(pyarrow.schema(kinds))


class NodeWalk:
    """Counted rows of a partition with the nodes of a tree that they are in."""

    def __init__(self, layout: RowLayout, cuts: CutTree) -> None:
        self.layout, self.cuts = layout, cuts
        self._last: pl.DataFrame | None = None

    def __call__(self, batches: Batches) -> Iterator[tuple[pl.DataFrame, NDArray[np.unsignedinteger]]]:
        """Yield rows with their ``node``, whether they are ``new`` weighted rows, and their codes."""
        for frame in _merge_batches(batches):
            codes = self.layout.unpack_codes(frame)
            yield (
                frame.with_columns(
                    node=pl.Series(leaf_of(codes, self.cuts)), new=pl.Series(self._find_new_rows(frame))
                ),
                codes,
            )

    def _find_new_rows(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Which rows are not equal to the one before in packed codes."""
        words = frame.select(self.layout.words)
        # A weighted row may go on over the border of two chunks.
        joint = words if self._last is None else pl.concat([self._last, words])
        differs = joint.select(pl.any_horizontal(pl.all() != pl.all().shift(1))).to_series()
        # Null is the first row of all, which is new.
        new = differs.fill_null(True).to_numpy()[joint.height - words.height :]
        self._last = words.tail(1)
        return np.asarray(new, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounter:
    """Counts, for the leaves of a tree from ``first`` on, what is said by `TUPLES`, `WEIGHT` and `VALUE`."""

    layout: RowLayout
    cuts: CutTree
    first: int
    schema = "node int, what int, value bigint, n bigint"

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Count one partition."""
        parts = [self._count_leaves(frame) for frame, _ in NodeWalk(self.layout, self.cuts)(batches)]
        if parts:
            key = ["node", "what", "value"]
            yield from _to_batches(pl.concat(parts).group_by(key).agg(pl.col("n").sum()))

    def _count_leaves(self, frame: pl.DataFrame) -> pl.DataFrame:
        # Earlier nodes were counted in earlier rounds.
        frame = frame.filter(pl.col("node") >= self.first)
        weighed = pl.col("n").sum()
        found = [
            frame.group_by("node", value=pl.col("part").cast(pl.Int64))
            .agg(pl.col("new").sum().cast(pl.Int64).alias("n"))
            .with_columns(what=pl.lit(TUPLES, pl.Int32)),
            frame.group_by("node")
            .agg(weighed)
            .with_columns(what=pl.lit(WEIGHT, pl.Int32), value=pl.lit(0, pl.Int64)),
        ]
        for name, first in zip(self.layout.values, self.layout.first_codes, strict=False):
            number = (pl.col(name).cast(pl.Int64) + first).alias("value")
            counted = frame.group_by("node", number).agg(weighed)
            found.append(counted.with_columns(what=pl.lit(VALUE, pl.Int32)))
        return pl.concat([each.select("node", "what", "value", "n") for each in found])


@dataclass(frozen=True, slots=True, eq=False)
class LeafSampler:
    """Every so-maniest weighted row of some leaves, in lexicographic order over all partitions."""

    layout: RowLayout
    cuts: CutTree
    before: Mapping[tuple[int, int], int]
    """By leaf and partition, how many weighted rows of the leaf lie in earlier partitions."""
    step: Mapping[int, int]
    """By leaf."""

    @property
    def schema(self) -> str:
        """Of what comes out."""
        return "node int, rank bigint, " + "".join(f"{w} bigint, " for w in self.layout.words) + "n bigint"

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Choose from one partition."""
        rank: dict[int, int] = {}
        for frame, _ in NodeWalk(self.layout, self.cuts)(batches):
            wanted = frame.filter(pl.col("node").is_in(list(self.step)))
            for (node,), rows in wanted.partition_by("node", as_dict=True, maintain_order=True).items():
                # Ranks run over all partitions, so that the sample does not depend on how rows lie.
                start = rank.setdefault(node, self.before[node, rows["part"][0]])
                ranked = rows.with_columns(rank=start - 1 + pl.col("new").cast(pl.Int64).cum_sum())
                rank[node] = int(ranked["rank"][-1]) + 1
                chosen = ranked.filter(pl.col("rank") % self.step[node] == 0)
                if chosen.height:
                    yield from _to_batches(chosen.select("node", "rank", *self.layout.words, "n"))


@dataclass(frozen=True, slots=True, eq=False)
class SampleCutter:
    """Cuts of a large node, found on its sample."""

    layout: RowLayout
    goal: CutSettings
    size: Mapping[int, int]
    """By node, the number of its weighted rows."""
    schema = "node int, at int, axis bigint, lo bigint, hi bigint, left bigint"

    def __call__(self, table: Any) -> Any:
        """Cut one node."""
        found: Any = pl.from_arrow(table)
        node = int(found["node"][0])
        # A weighted row whose sensitive values differ has come in pieces.
        frame = found.group_by("rank", *self.layout.words).agg(pl.col("n").sum())
        frame = frame.sort("rank", maintain_order=True)
        rows = WeightedRows(
            self.layout.unpack_codes(frame), frame["n"].to_numpy().astype(np.int64), np.arange(frame.height)
        )
        goal, halt = self.goal, np.zeros(1, np.bool_)
        cuts = cuts_of_sample(
            rows, self.size[node], root_box(goal.axes), goal.axes, goal.rules, goal.how, halt
        )
        number = pl.int_range(cuts.axis.size, dtype=pl.Int32, eager=True)
        columns = dict(zip(CutTree._fields, cuts, strict=True))
        out = pl.DataFrame(
            {"node": pl.repeat(node, cuts.axis.size, dtype=pl.Int32, eager=True), "at": number}
        )
        return out.with_columns(**{name: pl.Series(values) for name, values in columns.items()}).to_arrow()


@dataclass(frozen=True, slots=True, eq=False)
class MarginCounter:
    """What each axis tells of some leaves: at every code its weight, a box, and its sensitive values.

    A row is about a node, an axis and a code; ``value`` is -1, or the number of a sensitive value.
    """

    layout: RowLayout
    cuts: CutTree
    nodes: Sequence[int]

    @property
    def corners(self) -> list[str]:
        """Names of the columns with corners of boxes."""
        d = len(self.layout.packing.sizes)
        return [*(f"lo{j}" for j in range(d)), *(f"hi{j}" for j in range(d))]

    @property
    def schema(self) -> str:
        """Of what comes out."""
        corners = ", ".join(f"{name} int" for name in self.corners)
        return f"node int, axis int, code int, value int, n bigint, tuples bigint, {corners}"

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Count one partition."""
        parts: list[pl.DataFrame] = []
        for frame, codes in NodeWalk(self.layout, self.cuts)(batches):
            wanted = frame["node"].is_in(list(self.nodes))
            parts.append(self._count_codes(frame.filter(wanted), codes[wanted.to_numpy()]))
        if parts:
            key = ["node", "axis", "code", "value"]
            yield from _to_batches(
                pl.concat(parts).group_by(key).agg(pl.col("n", "tuples").sum(), *self._merge_boxes())
            )

    def _merge_boxes(self) -> list[pl.Expr]:
        return [pl.col(name).min() if name.startswith("lo") else pl.col(name).max() for name in self.corners]

    def _count_codes(self, frame: pl.DataFrame, codes: NDArray[np.unsignedinteger]) -> pl.DataFrame:
        d = codes.shape[1]
        by_code = [pl.Series(f"c{j}", codes[:, j].astype(np.int32)) for j in range(d)]
        frame = frame.with_columns(*by_code)
        low = [pl.col(f"c{j}").min().alias(f"lo{j}") for j in range(d)]
        high = [pl.col(f"c{j}").max().alias(f"hi{j}") for j in range(d)]
        number = [
            (pl.col(name).cast(pl.Int32) + first).alias("value")
            for name, first in zip(self.layout.values, self.layout.first_codes, strict=False)
        ]
        found = []
        for axis in range(d):
            for value in (pl.lit(-1, pl.Int32).alias("value"), *number):
                counted = frame.group_by("node", pl.col(f"c{axis}").alias("code"), value).agg(
                    pl.col("n").sum(), pl.col("new").sum().cast(pl.Int64).alias("tuples"), *low, *high
                )
                found.append(counted.with_columns(axis=pl.lit(axis, pl.Int32)))
        return pl.concat(
            [each.select("node", "axis", "code", "value", "n", "tuples", *self.corners) for each in found]
        )


def cell_columns(layout: RowLayout) -> list[str]:
    """Names of the columns with cells."""
    return [f"cell{j}" for j in range(len(layout.packing.sizes))]


def cell_schema(layout: RowLayout) -> str:
    """Of rows of packed codes with their cells."""
    words = [f"{name} bigint" for name in layout.words]
    return ", ".join([*words, *(f"{name} array<int>" for name in cell_columns(layout)), "n bigint"])


@dataclass(frozen=True, slots=True, eq=False)
class NodePartitioner:
    """Partitions the rows of a node down to its classes: weighted rows with the cells of their classes.

    A cell is the first and the last code in the class or, in a flat column, all codes in it.
    """

    layout: RowLayout
    goal: CutSettings
    flat: tuple[bool, ...]

    def __call__(self, table: Any) -> Any:
        """Finish one node."""
        frame: Any = pl.from_arrow(table)
        # Spark gives rows in any order; this sorts them, as the kernel would see them in memory.
        weighted = self.layout.unpack_rows(frame).collapse_rows()
        entries = weighted.histograms
        rules = with_values(self.goal.rules, entries.start, entries.value, entries.count)
        class_of, _ = partition_rows(self.goal.axes, rules, weighted, self.goal.how)
        codes = {
            name: pl.Series(name, weighted.codes[:, j].astype(np.int32))
            for j, name in enumerate(cell_columns(self.layout))
        }
        rows = pl.DataFrame({"class": class_of, **codes})
        cells = rows.group_by("class").agg(
            *(_make_cell(name, flat) for name, flat in zip(codes, self.flat, strict=True))
        )
        words = self.layout.packing.pack_codes(list(weighted.codes.T))
        out = pl.DataFrame(
            {
                **{name: word.astype(np.int64) for name, word in zip(self.layout.words, words, strict=True)},
                "class": class_of,
                "n": weighted.weight,
            }
        ).join(cells, on="class", how="left", maintain_order="left")
        return as_arrow(out.select(*self.layout.words, *codes, "n"))


def _make_cell(name: str, flat: bool) -> pl.Expr:
    if flat:
        return pl.col(name).unique().sort()
    return pl.concat_list(pl.col(name).min(), pl.col(name).max()).first().alias(name)


@dataclass(frozen=True, slots=True, eq=False)
class LeafFinder:
    """Counted rows with the leaf of a tree that they are in."""

    layout: RowLayout
    cuts: CutTree

    @property
    def schema(self) -> str:
        """Of what comes out."""
        words = "".join(f"{name} bigint, " for name in self.layout.words)
        values = "".join(f"{name} int, " for name in self.layout.values)
        return f"node int, {words}{values}n bigint"

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Find the leaves of one partition."""
        for frame, _ in NodeWalk(self.layout, self.cuts)(batches):
            yield from _to_batches(frame.select("node", *self.layout.words, *self.layout.values, "n"))


def compute_strides(size: Mapping[int, int]) -> dict[int, int]:
    """By node, which weighted rows are in its sample."""
    return {node: choose_stride(rows) for node, rows in size.items()}
