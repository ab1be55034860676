"""Recoding: what every row becomes, as intervals or sets of codes per class, and its rendering as text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Codes, Domain, expand_intervals
from shoal.codespace.frequency import FrequencyTable, rank_rows
from shoal.codespace.means import ClassCodes, write_means
from shoal.errors import InternalError
from shoal.kernels.collapse import collapse_keys, first_seen
from shoal.table import ColumnType, parse_values

Render = Literal["interval", "set", "label", "representative", "bounds", "code"]
Centre = Literal["mean", "median"]
_BOUND_TYPES: dict[type[pl.DataType], ColumnType] = {
    pl.Int64: "integer",
    pl.Float64: "float",
    pl.Date: "date",
}
"""What texts are read as that are released as low and high, by the type of these."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """What an algorithm proposes: a class for every weighted row, and cells for every class if it wants.

    Without cells, every class gets the tightest ones that are permitted. A class per row makes a proposal
    cell by cell.
    """

    table: FrequencyTable
    class_of: NDArray[np.int32]
    """[u] class of each row of ``table``; -1 suppresses it."""
    cells: tuple[NDArray[np.integer], NDArray[np.integer]] | None = None
    """``lo`` and ``hi``, [classes, d] each; -1 in a flat column stands for the set of the values present."""
    nodes: int | None = None
    """How many states the search looked at."""
    cuts: int | None = None
    """How often it cut off states unseen because none of them could be of use."""
    optimal: bool | None = None
    """Whether no permitted table has less loss; None where nothing is claimed."""
    lower_bound: float | None = None
    """No permitted table has less loss than this."""
    solutions: int | None = None
    """How many tables share the least loss."""
    search_space: float | None = None
    """How many tables there are to choose from; None where that is too large for a float."""
    search_space_log10: float | None = None
    notes: tuple[str, ...] = ()
    """What the user should know about the search."""
    tried: tuple[tuple[str, float], ...] = ()
    """Ways of searching or level vectors that were compared, and what each of them lost."""
    scheme: tuple[NDArray[np.integer], ...] | None = None
    """Per column [codes] the node that each value goes to, where all of a column go to one level."""
    levels: tuple[tuple[str, int, int], ...] = ()
    """Per column its name, the level that all values go to, and the last level there is."""
    states: tuple[tuple[str, int], ...] = ()
    """What became of the level vectors, and of how many."""
    centre: Centre | None = None
    """Whether each class is released as its means, or as its medians."""
    alternatives: tuple[Proposal, ...] = ()
    """Further tables with the same, least loss: as many as the search was asked to list."""
    history: tuple[tuple[float, float], ...] = ()
    """Best and mean loss after each generation of an evolution."""
    curve: tuple[tuple[float, float], ...] = ()
    """Seconds of the budget that were used up, and the mean width of a cell, after each sweep."""
    parts: NDArray[np.int32] | None = None
    """[u] the part of each row, of which classes are subdivisions, where some columns have one cell for a
    whole part."""
    shared: tuple[int, ...] = ()
    """These columns."""
    items: NDArray[np.int64] | None = None
    """[items] the cell of each item of the columns of sets, -1 if it is left out, where there are any."""
    tables: tuple[Proposal, ...] = ()
    """One for each table, where several are released together; the first is that of the people."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCells:
    """The different released values of one column."""

    domain: Domain
    of_class: NDArray[np.int32]
    """[classes] which cell each class has."""
    lo: Codes
    """[cells]"""
    hi: Codes
    """[cells]"""
    members: tuple[Codes, Codes] | None
    """The codes of each cell, laid end to end, with their starts in front, where a cell is a set."""

    @property
    def count(self) -> int:
        """Number of cells."""
        return self.lo.size

    def count_covered(self) -> NDArray[np.int64]:
        """How many values each cell stands for."""
        return np.asarray(
            self.hi - self.lo + 1 if self.members is None else np.diff(self.members[0]), np.int64
        )

    def sum_covered(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum of ``counts`` (one per code) over the values each cell stands for."""
        if self.members is not None:
            return np.add.reduceat(counts[self.members[1]], self.members[0][:-1])
        # An interval is one difference of running sums, however many codes it holds.
        total = np.concatenate(([0], np.cumsum(counts)))
        return total[self.hi + 1] - total[self.lo]

    def compute_widths(self) -> NDArray[np.float64]:
        """Normalised certainty penalty of each cell: 0 for one value, 1 for all."""
        if self.members is None:
            return self.domain.compute_widths(self.lo, self.hi)
        return (self.count_covered() - 1) / max(self.domain.size - 1, 1)

    def render_cells(self, by_ends: bool = False) -> pl.Series:
        """Each cell as it is written; ``by_ends`` writes tree nodes by their first and last leaf."""
        if self.members is not None:
            return self.domain.render_sets(*self.members)
        return self.domain.render_intervals(self.lo, self.hi, by_ends)

    def render_codes(self) -> pl.Series:
        """Each cell by the code numbers of its values: a number, a range of numbers, or a set of them."""
        size = self.domain.size
        code = pl.Series([str(number) for number in range(size)], dtype=pl.String)
        # As numbers of a line they are written like those: in ranges, and all of them as `*`.
        numbered = replace(
            self.domain,
            kind="flat" if self.members is not None else "ordered",
            labels=code,
            dash="-",
            bottom=None,
            top=None,
        )
        if self.members is not None:
            return numbered.render_sets(*self.members)
        return numbered.render_intervals(self.lo, self.hi, by_ends=True)

    def render_values(self, native: pl.DataType, render: Render = "label") -> pl.Series:
        """Each cell as it is released: as text, unless all are single values and ``native`` is a type."""
        if render == "code":
            return self.render_codes()
        if native != pl.String and (self.count_covered() == 1).all():
            return self.domain.values.gather(self.lo)
        return self.render_cells(by_ends=render == "interval")

    def render_bounds(self, dtype: pl.DataType) -> tuple[pl.Series, pl.Series]:
        """The least and the greatest value of each cell; null for the whole range and the missing value."""
        assert self.members is None
        values = self.domain.values
        if values.dtype != dtype:
            values = parse_values(self.domain.labels, _BOUND_TYPES[dtype.base_type()], self.domain.name)
        whole = (self.hi - self.lo == self.domain.size - 1) & (self.hi > self.lo)
        hidden = pl.Series(whole)
        low, high = (values.gather(np.asarray(end, np.int64)).cast(dtype) for end in (self.lo, self.hi))
        return low.set(hidden, None), high.set(hidden, None)


@dataclass(frozen=True, slots=True, eq=False)
class Recoding:
    """A proposal made concrete: the cells of every class."""

    table: FrequencyTable
    class_of: NDArray[np.int32]
    """[u] class of each weighted row, -1 where it is suppressed; classes with equal cells are one."""
    size: NDArray[np.int64]
    """[classes] number of original rows."""
    cells: tuple[ColumnCells, ...]
    """One per quasi-identifier."""
    centre: Centre | None = None
    """What each class is released as, where that is not its cells."""
    scheme: tuple[NDArray[np.integer], ...] | None = None
    """Per column [codes] the node that each value goes to, suppressed or not; see `Proposal`."""
    means: tuple[int, ...] = ()
    """Columns that are released as the means of classes, whatever the others are."""

    @property
    def suppressed_rows(self) -> int:
        """Number of original rows that are not released."""
        return int(self.table.rows - self.size.sum())

    @classmethod
    def from_proposal(cls, proposal: Proposal, domains: tuple[Domain, ...]) -> Recoding:
        """Give every class its cells, and make classes with equal cells one.

        Raises
        ------
        InternalError
            When the classes of the proposal are not numbered as they have to be, which is its algorithm's
            fault: without gaps, from 0, and -1 for what is suppressed.
        """
        table, class_of = proposal.table, proposal.class_of
        classes = _count_classes(class_of, table.codes.shape[0])
        columns = [
            _build_stated_cells(
                domain, table.codes[:, j], class_of, proposal.cells[0][:, j], proposal.cells[1][:, j]
            )
            if proposal.cells is not None
            else _build_shared_cells(domain, table.codes[:, j], class_of, proposal.parts)
            if proposal.parts is not None and j in proposal.shared
            else _build_tight_cells(domain, table.codes[:, j], class_of, classes)
            for j, domain in enumerate(domains)
        ]
        # A reader cannot tell classes with equal cells apart, so the verifier counts them as one.
        merged = rank_rows([cells.of_class for cells in columns], [cells.count for cells in columns])
        # The appended -1 is what index -1 finds: suppressed rows stay suppressed.
        class_of = np.append(merged, -1)[class_of].astype(np.int32)
        # Bin 0 collects the suppressed rows and is cut off.
        size = np.rint(np.bincount(class_of + 1, table.weight, int(merged.max(initial=-1)) + 2)).astype(
            np.int64
        )[1:]
        first = np.empty(size.size, np.int64)
        first[merged] = np.arange(merged.size)
        return cls(
            table,
            class_of,
            size,
            tuple(ColumnCells(c.domain, c.of_class[first], c.lo, c.hi, c.members) for c in columns),
            proposal.centre,
            proposal.scheme,
        )

    def released_rows(self) -> NDArray[np.int64] | None:
        """Positions of the rows that are released, or None if all are."""
        if self.suppressed_rows == 0:
            return None
        return np.flatnonzero(self.class_of[self.table.of_row] >= 0)

    def render_columns(
        self, native: tuple[pl.DataType, ...], render: Render = "label"
    ) -> dict[str, pl.Series]:
        """The released quasi-identifiers, row by row, one value or text per released row.

        Representatives come in the type that is asked for (``native``), and so does any other column that
        nothing happened to; all else is text. Which types are asked for follows from the recipe.
        """
        of_row = self.classes_of_released()
        return {name: values.gather(of_row) for name, values in self.render_classes(native, render).items()}

    def classes_of_released(self) -> NDArray[np.int32]:
        """The class of each released row."""
        of_row = self.class_of[self.table.of_row]
        return of_row if self.suppressed_rows == 0 else of_row[of_row >= 0]

    def render_classes(
        self, native: tuple[pl.DataType, ...], render: Render = "label"
    ) -> dict[str, pl.Series]:
        """The released quasi-identifiers, class by class."""
        released = {}
        for j, dtype in enumerate(native):
            shown = self.select_cells(j, render)
            means = self.write_means(j) if render != "code" else None
            released[shown.domain.name] = (
                shown.render_values(dtype, render).gather(shown.of_class)
                if means is None
                else means[0].cast(dtype)
            )
        return released

    def render_class_bounds(self, j: int, dtype: pl.DataType) -> tuple[pl.Series, pl.Series]:
        """The least and the greatest value of one column, class by class."""
        cells = self.cells[j]
        low, high = cells.render_bounds(dtype)
        return low.gather(cells.of_class), high.gather(cells.of_class)

    def write_means(self, j: int) -> tuple[pl.Series, NDArray[np.float64]] | None:
        """[classes] their means in one column as released, and where these lie; None if others are."""
        if self.centre != "mean" and j not in self.means:
            return None
        code, class_of = self._select_kept(j)
        weight = self.table.weight[self.class_of >= 0]
        codes = ClassCodes(code.astype(np.int64), class_of.astype(np.int64), weight, self.size)
        return write_means(self.cells[j].domain, codes)

    def select_cells(self, j: int, render: Render = "label") -> ColumnCells:
        """What the released values of one column stand for: its cells, the values present, or one value."""
        domain = self.cells[j].domain
        if render == "representative" or self.centre is not None or j in self.means:
            code = self.choose_representatives(j)
            if (means := self.write_means(j)) is not None:
                # The values nearest the means are not released: these codes go by the name of the means.
                domain = replace(domain, labels=domain.labels.clone().scatter(code, means[0].cast(pl.String)))
            return ColumnCells(domain, np.arange(code.size, dtype=np.int32), code, code, None)
        return (
            _build_set_cells(domain, *self._select_kept(j), self.size.size)
            if render == "set"
            else self.cells[j]
        )

    def _select_kept(self, j: int) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32]]:
        """Codes of one column and classes, of the weighted rows that are released."""
        kept = self.class_of >= 0
        return self.table.codes[kept, j], self.class_of[kept]

    def choose_representatives(self, j: int) -> NDArray[np.int64]:
        """One code per class to stand for it: of numbers the median or the value nearest the mean, else the
        commonest value.
        """
        code, class_of = self._select_kept(j)
        domain, weight = self.cells[j].domain, self.table.weight[self.class_of >= 0]
        if domain.has_ranges and self.centre != "mean":
            return _find_medians(code, class_of, weight, domain.size, self.size.size)
        place = domain.position[code]
        rows = pl.DataFrame({"class": class_of, "code": code, "weight": weight, "place": place})
        # Sums of whole numbers: here the order of polars' groups cannot matter.
        rows = rows.group_by("class", "code", "place", maintain_order=True).agg(pl.col("weight").sum())
        rows = rows.sort("class", "code", maintain_order=True)
        if domain.has_ranges:
            rows = rows.sort("class", _distance_from_mean(rows), "code", maintain_order=True)
        else:
            # The code decides between equally common values, so that the result is always the same.
            rows = rows.sort("class", -pl.col("weight"), "code", maintain_order=True)
        chosen = rows.unique("class", keep="first", maintain_order=True)
        return chosen["code"].to_numpy().astype(np.int64)


def _count_classes(class_of: NDArray[np.int32], rows: int) -> int:
    """How many classes a proposal has, which is numbered without gaps."""
    if class_of.shape != (rows,) or not np.issubdtype(class_of.dtype, np.integer):
        given = f"{class_of.size} of {class_of.dtype}"
        raise InternalError(f"an algorithm has to give {rows} rows one whole number each, and gave {given}")
    if (least := class_of.min(initial=0)) < -1:
        raise InternalError(f"an algorithm gave a row the class {least}: they count from 0, after -1")
    size = np.bincount(class_of + 1)
    if empty := np.flatnonzero(size[1:] == 0).tolist():
        raise InternalError(
            f"an algorithm has to number classes without gaps, and gave class {size.size - 2} to some rows, "
            f"but no row of class {empty[0]}"
        )
    return size.size - 1


def _find_medians(
    code: NDArray[np.unsignedinteger],
    class_of: NDArray[np.int32],
    weight: NDArray[np.int64],
    size: int,
    classes: int,
) -> NDArray[np.int64]:
    """[classes] the lower median: the first code at which half of the weight of a class is reached."""
    # Sorted pairs of class and code, as one number each.
    pair = class_of.astype(np.int64) * size + code
    if (weight == 1).all():
        pair.sort()
    else:
        order = np.argsort(pair, kind="stable")
        pair, weight = pair[order], weight[order]
    start = np.searchsorted(pair, np.arange(classes + 1) * size)
    reached = np.concatenate(([0], np.cumsum(weight)))
    half = reached[start[:-1]] + (np.diff(reached[start]) + 1) // 2
    at = np.searchsorted(reached[1:], half)
    # A class of people who are in no row weighs nothing: its first code stands for it.
    return np.asarray(pair[np.maximum(at, start[:-1])] % size, np.int64)


def _distance_from_mean(rows: pl.DataFrame) -> pl.Series:
    """How far each place is from the mean of its class; rounded, so that equally far is equal.

    Places are added up one after another: sums of groups in polars depend on the number of threads.
    """
    class_of, weight, place = (rows[name].to_numpy() for name in ("class", "weight", "place"))
    mean = np.bincount(class_of, weight * place) / np.bincount(class_of, weight)
    return pl.Series(np.abs(place - mean[class_of]).round(12))


def _build_stated_cells(
    domain: Domain, codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32], lo: Codes, hi: Codes
) -> ColumnCells:
    """Cells for intervals that the proposal states, some of which may be the values present."""
    # Only flat columns may hold -1, the mark for "the values present".
    if domain.kind != "flat" or (lo >= 0).all():
        return _build_interval_cells(domain, lo, hi)
    kept = np.flatnonzero((class_of >= 0) & (lo[class_of] < 0))
    whole = np.flatnonzero(lo >= 0)
    # Stated intervals become sets of codes, since sets and intervals cannot share a column.
    start, inside = expand_intervals(lo[whole], hi[whole])
    code = np.concatenate([codes[kept], inside.astype(codes.dtype)])
    of = np.concatenate([class_of[kept], np.repeat(whole, np.diff(start)).astype(np.int32)])
    return _build_set_cells(domain, code, of, lo.size)


def _build_interval_cells(domain: Domain, lo: Codes, hi: Codes) -> ColumnCells:
    """Cells for intervals that the proposal states."""
    lo, hi = domain.snap(np.asarray(lo, np.int64), np.asarray(hi, np.int64))
    # Two codes below the size fit one 64-bit key: lo * size + hi.
    size = np.uint64(domain.size)
    pairs, of_class = collapse_keys(lo.astype(np.uint64) * size + hi.astype(np.uint64))
    return ColumnCells(
        domain, of_class, (pairs // size).astype(np.int64), (pairs % size).astype(np.int64), None
    )


def _build_tight_cells(
    domain: Domain, codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32], classes: int
) -> ColumnCells:
    """The tightest cells around what each class has: the set of values present, or a permitted interval."""
    kept = class_of >= 0
    codes, class_of = (codes, class_of) if kept.all() else (codes[kept], class_of[kept])
    if domain.kind == "flat":
        return _build_set_cells(domain, codes, class_of, classes)
    lo, hi = np.full(classes, domain.size, np.int64), np.full(classes, -1, np.int64)
    # Unbuffered, because a class occurs many times among the indices.
    np.minimum.at(lo, class_of, codes.astype(np.int64))
    np.maximum.at(hi, class_of, codes.astype(np.int64))
    return _build_interval_cells(domain, lo, hi)


def _build_shared_cells(
    domain: Domain, codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32], parts: NDArray[np.int32]
) -> ColumnCells:
    """The tightest cells around what each part has, for all classes of the part."""
    # Parts without a released row have no cells, and so are not counted.
    kept = class_of >= 0
    part = np.unique(parts[kept], return_inverse=True)[1].astype(np.int32)
    cells = _build_tight_cells(domain, codes[kept], part, int(part.max()) + 1)
    of_class = np.empty(int(class_of.max()) + 1, np.int32)
    of_class[class_of[kept]] = cells.of_class[part]
    return ColumnCells(domain, of_class, cells.lo, cells.hi, cells.members)


def _build_set_cells(
    domain: Domain, codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32], classes: int
) -> ColumnCells:
    """One cell per different set of values present in a class."""
    # Sorted pairs of class and code: the codes of a class then stand side by side.
    pairs = np.sort(class_of.astype(np.int64) * domain.size + codes)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    start = np.searchsorted(pairs, np.arange(classes + 1) * domain.size)
    code = pairs % domain.size
    cell, example = _number_sets(start, code)
    first, last = start[example], start[example + 1] - 1
    # One class stands for all that have the same set.
    starts, at = expand_intervals(first, last)
    return ColumnCells(domain, cell, code[first], code[last], (starts, code[at]))


def _number_sets(start: Codes, code: Codes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the sets ``code[start[i]:start[i + 1]]``, equal ones alike; give for each number an example."""
    cell = np.empty(start.size - 1, np.int32)
    length = np.diff(start)
    # A second seed is needed only after a collision of 64-bit sums.
    for seed in count():
        # Equal sets have equal sums of random words; that unequal ones do not is made sure of below.
        word = np.random.default_rng(seed).integers(1 << 64, size=code.max(initial=0) + 1, dtype=np.uint64)
        sums = np.add.reduceat(word[code], start[:-1])
        example = np.empty(first_seen(sums, cell).size, np.int64)
        example[cell] = np.arange(cell.size)
        twin = np.arange(code.size) + np.repeat(start[example[cell]] - start[:-1], length)
        if (length[example[cell]] == length).all() and (code[twin] == code).all():
            break
    return cell, example
