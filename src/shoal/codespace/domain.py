"""Code space: the values of one column as integers, and which generalisations of them are permitted.

Every permitted generalisation is one contiguous interval of codes. Numbers and dates ascend, ordered
categories stand in their stated order, the leaves of a hierarchy in depth-first order, and flat categories
in an order computed from the data. Suppression is the whole interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.hierarchies import Hierarchy

Kind: TypeAlias = Literal["number", "ordered", "flat", "tree"]
Codes: TypeAlias = NDArray[np.integer]
Floats: TypeAlias = NDArray[np.float64]

ANY = "*"
"""How suppression is written."""

_VAST = np.finfo(np.float64).max / 2  # differences of greater numbers need not be finite


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The code space of one column.

    Build one with `from_numbers`, `from_ordered_categories`, `from_flat_categories` or `from_hierarchy`.
    """

    name: str
    kind: Kind
    labels: pl.Series
    """Text of every code; null for the missing value."""
    values: pl.Series
    """Value of every code as the input has it, to give an unchanged column back in its own type."""
    position: Floats
    """Place of every code on an axis of length 1; a missing value beside numbers lies at -1."""
    missing: int | None = None
    """Code of the missing value, if the column has one."""
    hierarchy: Hierarchy | None = None
    siblings: NDArray[np.int32] | None = None
    """[levels, size] of each node above a leaf: how many children its parent has in the tree as given."""
    dash: str = ".."
    """Between the ends of a range: ``[20-35]``, but ``[-5..3]`` where a hyphen would be misread."""
    place: pl.Series | None = None
    """The numbers, dates or times of all codes, of which a float may not hold every digit; else None."""
    bottom: str | None = None
    """The first value stands for all below this edge, where there is one."""
    top: str | None = None
    """The last value stands for all above this edge, where there is one."""

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.labels)

    @property
    def has_ranges(self) -> bool:
        """Whether a range of this column is written by its two ends."""
        return self.kind in ("number", "ordered")

    @property
    def is_coded(self) -> bool:
        """Whether an end stands for all values beyond an edge."""
        return self.bottom is not None or self.top is not None

    @classmethod
    def from_numbers(
        cls, name: str, values: pl.Series, labels: pl.Series, place: pl.Series, missing: bool
    ) -> Domain:
        """A domain of ascending numbers, dates or times; all series start with null if ``missing``."""
        hyphen = place.dtype.is_numeric() and not labels.str.contains("-", literal=True).any()
        code = 0 if missing else None
        return cls(
            name,
            "number",
            labels,
            values,
            _scale_places(_to_floats(place), missing),
            code,
            dash="-" if hyphen else "..",
            place=place,
        )

    @classmethod
    def from_ordered_categories(
        cls, name: str, values: pl.Series, labels: pl.Series, missing: bool
    ) -> Domain:
        """A domain of categories in a stated order; both series start with null if ``missing``."""
        # The missing value has no place among ordered categories: it goes in front of them.
        place = np.arange(len(labels) - missing, dtype=np.float64)
        return cls(name, "ordered", labels, values, _scale_places(place, missing), 0 if missing else None)

    @classmethod
    def from_flat_categories(
        cls, name: str, values: pl.Series, labels: pl.Series, missing: int | None
    ) -> Domain:
        """A domain of categories of which any set may be released."""
        place = np.arange(len(labels), dtype=np.float64)
        return cls(name, "flat", labels, values, _scale_places(place, False), missing)

    @classmethod
    def from_hierarchy(
        cls,
        name: str,
        hierarchy: Hierarchy,
        values: pl.Series,
        texts: list[str],
        extra: list[str],
        missing: bool,
    ) -> Domain:
        """A domain of leaves, of which ``values`` (written as ``texts``) occur.

        The ``extra`` values, which the hierarchy does not have, and the missing value hang under its root.
        """
        whole = hierarchy.with_values([*extra, *([""] if missing else [])])
        labels = pl.Series(whole.leaves, dtype=pl.String)
        code = whole.leaves.index("") if missing else None
        # The empty name stood for null so far; a release writes null itself.
        if missing:
            labels = labels.replace("", None)
        place = np.arange(len(labels), dtype=np.float64)
        # Values added under the root are no siblings of the given ones: they count 1.
        siblings = np.ones(whole.nodes.shape, np.int32)
        at = {leaf: i for i, leaf in enumerate(whole.leaves)}
        siblings[:, [at[leaf] for leaf in hierarchy.leaves]] = hierarchy.sibling_counts()
        occurring = {text: i for i, text in enumerate(texts)}
        given = values.gather(pl.Series([occurring.get(leaf) for leaf in whole.leaves], dtype=pl.UInt32))
        return cls(name, "tree", labels, given, _scale_places(place, False), code, whole, siblings)

    def add_unused_code(self) -> Domain:
        """The domain of a column of one value with a second code, which no row has.

        Without one, leaving the only value and suppressing it would be the same interval of codes.
        """
        end = self.position[-1:] + 1.0
        return replace(
            self,
            kind="flat" if self.kind == "tree" else self.kind,
            labels=pl.concat([self.labels, self.labels]),
            values=pl.concat([self.values, self.values]),
            position=np.concatenate([self.position, end]),
            hierarchy=None,
            siblings=None,
            place=None,
        )

    def name_ends(self, bottom: str | None, top: str | None) -> Domain:
        """The domain with a first value that stands for all below an edge, and a last one for all above.

        What is released of them is text: the values that they stand for are gone.
        """
        labels = self.labels.clone()
        if bottom is not None:
            labels[int(self.missing is not None)] = f"<{bottom}"
        if top is not None:
            labels[-1] = f">{top}"
        return replace(self, labels=labels, values=labels, bottom=bottom, top=top)

    @property
    def axis(self) -> Floats | None:
        """[codes] where each value lies, from 0 to 1, if values have an order; None otherwise."""
        return self.position if self.has_ranges else None

    def snap(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """The smallest permitted intervals around the ranges ``lo..hi``."""
        if self.hierarchy is not None:
            return self.hierarchy.extent(self.hierarchy.level_of(lo, hi), lo)
        if self.has_ranges and self.missing is not None:
            if self.bottom is not None and self.top is not None:
                # From below one edge to above the other is no range: it is everything.
                lo = np.where((lo == self.missing + 1) & (hi == self.size - 1) & (lo < hi), self.missing, lo)
            # No range holds both numbers and the missing value, other than the one that holds everything.
            return lo, np.where((lo == self.missing) & (hi != self.missing), self.size - 1, hi)
        return lo, hi

    def compute_widths(self, lo: Codes, hi: Codes) -> Floats:
        """Share of the axis that permitted intervals cover: 0 for a single value, 1 for everything."""
        if self.kind == "tree":
            # A tree has no distances: a node costs by how many leaves it covers.
            return np.asarray(hi - lo, np.float64) / max(self.size - 1, 1)
        # The missing value lies at -1, so an interval with it would be wider than the axis.
        return np.minimum(1.0, self.position[hi] - self.position[lo])

    def render_intervals(self, lo: Codes, hi: Codes, by_ends: bool = False) -> pl.Series:
        """Permitted intervals as they are written in a release; null for the missing value alone.

        Tree nodes are written by their names, or ``by_ends``, as ranges are.
        """
        single = self.labels.gather(np.asarray(lo, np.int64))
        if self.hierarchy is not None and not by_ends:
            several = self._node_names(lo, hi)
        elif self.kind != "flat":
            several = self._render_ranges(lo, hi)
        else:
            several = self.render_sets(*expand_intervals(lo, hi))
        # A column of one value is written as that value, and not as "*".
        everything = pl.Series((hi - lo == self.size - 1) & (hi > lo))
        alone = pl.Series(lo == hi)
        chosen = pl.select(
            pl.when(alone)
            .then(single)
            .when(everything & pl.lit(self.kind != "tree" or by_ends))
            .then(pl.lit(ANY))
            .otherwise(several)
        )
        return chosen.to_series()

    def render_sets(self, start: Codes, codes: Codes, joiner: str = ", ") -> pl.Series:
        """Sets of values, written ``{a, b}``; set ``i`` holds ``codes[start[i]:start[i + 1]]``.

        One value is written as itself, all values as ``*``. Values that would be misread are quoted.
        """
        label = self.labels.fill_null("")
        # What could be taken for a part of the notation, or for nothing.
        unclear = label.str.contains(rf'[{joiner[0]}{{}}"]|^\s|\s$') | (label == "")
        quoted = pl.select(
            pl.when(unclear).then('"' + label.str.replace_all('"', '""') + '"').otherwise(label)
        ).to_series()
        count = np.diff(start)
        cells = pl.DataFrame(
            {"cell": np.repeat(np.arange(count.size), count), "text": quoted.gather(codes.astype(np.int64))}
        )
        joined = cells.group_by("cell", maintain_order=True).agg(pl.col("text").str.join(joiner))["text"]
        first = self.labels.gather(codes[start[:-1]].astype(np.int64))
        one, every = pl.Series(count == 1), pl.Series((count == self.size) & (count > 1))
        chosen = pl.when(one).then(first).when(every).then(pl.lit(ANY)).otherwise("{" + joined + "}")
        return pl.select(chosen).to_series()

    def _node_names(self, lo: Codes, hi: Codes) -> pl.Series:
        assert self.hierarchy is not None
        level = self.hierarchy.level_of(lo, hi)
        names = np.empty(len(level), object)
        for height, of_level in enumerate(self.hierarchy.names):
            here = level == height
            names[here] = np.asarray(of_level, object)[self.hierarchy.nodes[height, lo[here]]]
        return pl.Series(names.tolist(), dtype=pl.String)

    def _render_ranges(self, lo: Codes, hi: Codes) -> pl.Series:
        first, last = (self.labels.gather(np.asarray(end, np.int64)) for end in (lo, hi))
        ranges = "[" + first + self.dash + last + "]"
        if self.bottom is not None:
            ranges = ranges.zip_with(pl.Series(lo != int(self.missing is not None)), "<=" + last)
        if self.top is not None:
            ranges = ranges.zip_with(pl.Series(hi != self.size - 1), ">=" + first)
        return ranges


def _to_floats(place: pl.Series) -> Floats:
    """Ascending numbers, dates or times as floats, of which the differences matter."""
    place = place.drop_nulls()
    if place.dtype.is_float():
        number = place.to_numpy()
        # Half of every number: the scale does not matter, an infinite difference would.
        return number / 2 if np.abs(number).max(initial=0.0) > _VAST else number
    # Large integers differ in digits that a float does not hold: only their differences go into one.
    whole = place.cast(pl.Int64 if place.dtype.is_temporal() else pl.Int128).cast(pl.Int128)
    return (whole - whole.head(1)).cast(pl.Float64).to_numpy()


def _scale_places(place: Floats, missing: bool) -> Floats:
    """Places scaled to 0..1, with the missing value in front at -1."""
    # Places ascend, so the ends are the extremes.
    span = place[-1] - place[0] if place.size else 0.0
    scaled = (place - place[0]) / span if span > 0 else np.zeros(place.size)
    return np.concatenate(([-1.0], scaled)) if missing else scaled


def expand_intervals(lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
    """Where each interval starts when all are laid end to end, and the codes laid so."""
    count = np.asarray(hi - lo + 1, np.int64)
    start = np.concatenate(([0], np.cumsum(count)))
    return start, np.arange(start[-1]) - np.repeat(start[:-1] - lo, count)
