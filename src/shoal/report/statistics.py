"""Statistics for the page, from the frequency table, the cells and the released values.

Whatever the number of rows, what comes out of here is a few dozen numbers per picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.encoding import build_dictionary
from shoal.codespace.frequency import rank_rows
from shoal.codespace.recoding import ColumnCells, Recoding
from shoal.privacy import Counts, TCloseness
from shoal.privacy.known_rows import KnownRows, PersonalRows, measure_known_rows
from shoal.privacy.people import count_people
from shoal.recipes.recipe import Recipe
from shoal.recipes.schema import choose_cell_types, find_released_quasi
from shoal.support.language import format_number, mark
from shoal.support.language import translate as _
from shoal.table import Column, Table, infer_type, parse_values, read_released, to_strings
from shoal.table.frames import use_safe_name
from shoal.verification.linked import LinkedRows, count_linked_people
from shoal.verification.verifier import count_classes, row_classes

Floats = NDArray[np.float64]

_MOST_BARS, _MOST_NAMES = 24, 14  # standing bars, and lying ones
_MOST_VALUES = 8  # of a sensitive column that get a colour of their own
_BINS = 20  # of the distances of classes
_SHOWN_CLASSES, _ROWS_EACH = 3, 4  # few enough that an excerpt stays an example
MISSING, OTHERS = mark("missing"), mark("other values")


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a page is drawn from; nothing is counted before it is asked for."""

    recipe: Recipe
    table: Table
    """What was anonymized."""
    recoding: Recoding
    frame: Any
    """What was released."""
    columns: Mapping[str, Column]
    """What is known of the quasi-identifiers and the sensitive columns."""
    rows: NDArray[np.int64] | None
    """Positions of the rows that took part, or None if all did."""
    released_only: bool = False
    """Whether ``table`` is the release too, because nothing else may be told (safepub)."""
    person: NDArray[np.int64] | None = None
    """The person of each released row, where people are counted."""
    person_before: NDArray[np.int64] | None = None
    """The person of each row that took part, where people are counted."""

    @cached_property
    def released_table(self) -> Table:
        """The release as an outsider reads it."""
        # Read from the released frame, not taken from the recoding: the page shows what an outsider
        # sees, so a mistake in rendering would show here too.
        return self.table if self.released_only else read_released(self.frame, self.recipe.reading)

    @property
    def released_quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers by the names that they have in the release."""
        return find_released_quasi(self.recipe, self.released_table.names)

    @cached_property
    def counts(self) -> Counts:
        """Its classes, by the verifier's count."""
        recipe = self.recipe
        return count_classes(
            self.released_table, self.released_quasi, recipe.sensitive, self.columns, person=self.person
        )

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """The class of each released row, by the same count."""
        return row_classes(self.released_table, self.released_quasi)

    def _number_rows_before(self) -> NDArray[np.int32]:
        """For each distinct row of the search, a number that equal ones share."""
        table = self.recoding.table
        codes = [table.codes[:, j] for j in range(table.codes.shape[1])]
        # Some algorithms work on a table in which equal rows stand alone.
        return rank_rows(codes, [cells.domain.size for cells in self.recoding.cells])

    @cached_property
    def sizes_before(self) -> ClassSizes:
        """How many rows, or people, were alike before."""
        table, alike = self.recoding.table, self._number_rows_before()
        if self.person_before is not None and self.recipe.pseudonym:
            linked = LinkedRows(self.person_before, self.recipe.known_rows)
            rows = np.unique(alike[table.of_row], return_inverse=True)[1].astype(np.int64)
            return ClassSizes.from_sizes(count_linked_people(rows, linked).size)
        if self.person_before is not None:
            return ClassSizes.from_sizes(count_people(alike[table.of_row], self.person_before))
        sizes = np.rint(np.bincount(alike, table.weight)).astype(np.int64)
        return ClassSizes.from_sizes(sizes[sizes > 0])

    @cached_property
    def known_rows(self) -> KnownRowsCurve | None:
        """What known rows of a person told before, and tell now; None where nobody has several."""
        if self.person_before is None or self.person is None:
            return None
        kind = self._number_rows_before()[self.recoding.table.of_row]
        before = PersonalRows.from_rows(kind, self.person_before)
        after = PersonalRows.from_rows(self.class_of, self.person)
        linked = self.recipe.person in self.released_table.names
        seed = self.recipe.seed
        return KnownRowsCurve(
            measure_known_rows(before, seed=seed), measure_known_rows(after, seed=seed), linked
        )

    @cached_property
    def sizes_after(self) -> ClassSizes:
        """How many are alike now."""
        if self.person is not None and self.recipe.pseudonym:
            linked = LinkedRows(self.person, self.recipe.known_rows)
            return ClassSizes.from_sizes(count_linked_people(self.class_of, linked).size)
        return ClassSizes.from_sizes(self.counts.size)

    def list_released_cells(self) -> list[ColumnCells]:
        """What the released values of each quasi-identifier stand for."""
        return [self.recoding.select_cells(j, self.recipe.render) for j in range(len(self.recoding.cells))]


@dataclass(frozen=True, slots=True)
class KnownRowsCurve:
    """What known rows of a person tell, before and after."""

    before: tuple[KnownRows, ...]
    after: tuple[KnownRows, ...]
    linked: bool
    """Whether the release says which rows are of one person."""

    def list_lines(self) -> Iterator[KnownRowsLine]:
        """A line for each number of known rows."""
        ends = {each.known: each for each in self.after}
        for was in self.before:
            if self.linked:
                now = ends.get(was.known, self.after[-1])
                after = now.unique.value, now.below.value
            else:
                after = self._find_unlinked(was.known)
            yield KnownRowsLine(was, *after)

    def _find_unlinked(self, known: int | None) -> tuple[float, float]:
        """Where rows cannot be brought together, each known row is looked for by itself.

        So somebody is found whose rows are found one by one: at most those of whom any row is.
        """
        one = self.after[0]
        assert one.ever_unique is not None and one.ever_below is not None
        return (one.unique.value, one.below.value) if known == 1 else (one.ever_unique, one.ever_below)


@dataclass(frozen=True, slots=True)
class KnownRowsLine:
    """What so many known rows told before, and the shares of people whom they tell now."""

    before: KnownRows
    unique: float
    below: float


@dataclass(frozen=True, slots=True, eq=False)
class ClassSizes:
    """How many classes there are of each size."""

    size: NDArray[np.int64]
    """Distinct sizes, ascending."""
    classes: NDArray[np.int64]

    @classmethod
    def from_sizes(cls, sizes: NDArray[np.integer]) -> ClassSizes:
        """Count classes of the given sizes."""
        return cls(*np.unique(sizes, return_counts=True))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int((self.size * self.classes).sum())

    def compute_share_below(self, size: float) -> float:
        """Share of the rows in classes of fewer than ``size`` rows."""
        small = self.size < size
        # max: a private sample may be empty.
        return float((self.size[small] * self.classes[small]).sum()) / max(self.rows, 1)

    def compute_risk(self) -> ProsecutorRisk:
        """What somebody who knows that a person is in the table can achieve."""
        if not self.rows:
            return ProsecutorRisk(0.0, 0.0, 0.0, 0.0, 0.0)
        # Each of the s rows of a class has the risk 1/s, so every class adds 1 to the sum.
        average = float(self.classes.sum() / self.rows)
        # Sizes ascend: the first one is that of the smallest class.
        return ProsecutorRisk(
            1 / int(self.size[0]),
            average,
            self.compute_share_below(2),
            self.compute_share_below(5),
            self.compute_share_below(20),
        )

    def compute_curve(self, most: int = 200) -> list[tuple[float, float]]:
        """Points (size, share of the rows in classes up to that size), thinned out where there are many."""
        share = np.cumsum(self.size * self.classes) / max(self.rows, 1)
        at = np.unique(np.linspace(0, self.size.size - 1, min(most, self.size.size)).astype(int))
        points = [(float(self.size[i]), float(share[i])) for i in at]
        # The curve starts at the left end of its axis, where no class is smaller than one row.
        return [(1.0, 0.0), *points]

    def bin_rows(self) -> tuple[list[str], list[float]]:
        """Names of ranges of sizes, and their shares of the rows."""
        edges = self._choose_edges()
        rows = np.histogram(self.size, edges, weights=self.size * self.classes)[0]
        names = [
            format_number(low, ",") if high - low == 1 else _("{low:,} to {high:,}", low=low, high=high - 1)
            for low, high in pairwise(edges)
        ]
        return names, (rows / max(self.rows, 1)).tolist()

    def _choose_edges(self) -> list[int]:
        low, high = int(self.size[0]), int(self.size[-1]) + 1
        if high - low <= _MOST_BARS:
            return list(range(low, high + 1))
        # Sizes reach from k to millions, so ranges grow by a factor. Rounding makes some of the
        # first edges equal; unique drops those.
        edges = np.unique(np.rint(np.geomspace(low, high, _MOST_BARS + 1)).astype(int))
        return [int(edge) for edge in edges]


@dataclass(frozen=True, slots=True)
class ProsecutorRisk:
    """The prosecutor's risk: somebody knows that a person is in the table, and guesses within the class."""

    highest: float
    average: float
    unique: float
    """Share of rows that stand alone."""
    below_5: float
    """Share of rows in classes of fewer than 5, a risk above 20 %."""
    below_20: float
    """Share of rows in classes of fewer than 20, a risk above 5 %."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """How a quasi-identifier is distributed before, and as a reader of the release would estimate it."""

    name: str
    kind: str
    """``line`` if its values have an order, ``bars`` if not."""
    labels: tuple[str, ...]
    before: Floats | None
    """Shares of the rows that took part; 0 where so few rows have it that they could be found by it. None
    where only the release may be told of."""
    after: Floats
    """Shares of the released rows; each row counts in equal parts for all values of its cell."""


def estimate_distributions(evidence: Evidence, names: Sequence[str]) -> Iterator[Distribution]:
    """The distributions of some quasi-identifiers."""
    size, table = evidence.recoding.size, evidence.recoding.table
    # A value of fewer rows than the smallest class would stand out more than any row does.
    least = int(evidence.sizes_after.size[0]) if evidence.sizes_after.rows else 0
    for j, cells in enumerate(evidence.list_released_cells()):
        if cells.domain.name in names:
            domain = cells.domain
            after = distribute_rows_evenly(cells, size)
            group, labels = _group_codes(cells, table.count_codes(j, domain.size), after, least)
            count = np.bincount(group, table.count_codes(j, domain.size), len(labels))
            # Checked after grouping: a range or a node may still hold too few rows.
            shown = np.where(count >= least, count, 0.0) / max(table.rows, 1)
            before = None if evidence.released_only else shown
            share = np.bincount(group, after, len(labels)) / max(int(size.sum()), 1)
            yield Distribution(
                domain.name, "line" if domain.has_ranges else "bars", tuple(labels), before, share
            )


def distribute_rows_evenly(cells: ColumnCells, size: NDArray[np.int64]) -> Floats:
    """Rows per code if each row counts in equal parts for all values that its cell stands for."""
    rows: Floats = np.bincount(cells.of_class, size, cells.count) / cells.count_covered()
    if cells.members is not None:
        start, code = cells.members
        return np.bincount(code, np.repeat(rows, np.diff(start)), cells.domain.size).astype(np.float64)
    # Intervals may overlap, so what begins and what ends at each code is added up first: one pass
    # over the codes, however long the intervals are.
    change = np.bincount(cells.lo, rows, cells.domain.size + 1)
    change -= np.bincount(cells.hi + 1, rows, cells.domain.size + 1)
    # Rounding can leave a little below 0 where the sum should be 0.
    return np.maximum(np.cumsum(change, dtype=np.float64)[:-1], 0.0)


def _group_codes(
    cells: ColumnCells, before: NDArray[np.int64], after: Floats, least: int
) -> tuple[NDArray[np.int64], list[str]]:
    """For every code the bar that it belongs to, and the names of the bars."""
    domain = cells.domain
    texts = domain.labels.fill_null(_(MISSING))
    is_named = _find_named_codes(cells)
    if domain.hierarchy is not None:
        return _group_by_nodes(domain, is_named)
    if domain.has_ranges:
        return _group_by_intervals(domain, after, is_named, texts)
    # A bar of its own only for a value that a released cell names: suppressed and rare values go to
    # the rest.
    common = is_named & (before >= least)
    chosen = np.flatnonzero(common)
    # One fewer than the most, since the rest needs a bar too.
    chosen = chosen[np.argsort(-before[chosen], kind="stable")][: _MOST_NAMES - 1]
    group = np.full(domain.size, chosen.size)
    group[chosen] = np.arange(chosen.size)
    rest = domain.size - chosen.size
    return group, [
        *texts.gather(chosen),
        *([_("{others} ({rest:,})", others=_(OTHERS), rest=rest)] if rest else []),
    ]


def _find_named_codes(cells: ColumnCells) -> NDArray[np.bool_]:
    """Which codes are written in a released cell: as a member of a set, or as an end of a range.

    A cell that stands for all values names none of them.
    """
    size = cells.domain.size
    partial = np.flatnonzero((cells.count_covered() < size) | (size == 1))
    is_named = np.zeros(size, bool)
    if cells.members is not None:
        start, code = cells.members
        is_in_partial = np.zeros(cells.count, bool)
        is_in_partial[partial] = True
        is_named[code[np.repeat(is_in_partial, np.diff(start))]] = True
    elif cells.domain.has_ranges:
        is_named[cells.lo[partial]] = is_named[cells.hi[partial]] = True
    else:
        alone = partial[cells.lo[partial] == cells.hi[partial]]
        is_named[cells.lo[alone]] = True
    return is_named


def _group_by_nodes(domain: Domain, is_named: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[str]]:
    """The lowest level of a tree that has few enough nodes.

    Names above the leaves are those of the tree; leaves are values of the table, which have to be released.
    """
    assert domain.hierarchy is not None
    names, nodes = domain.hierarchy.names, domain.hierarchy.nodes
    lowest = 0 if is_named.all() else 1
    # The top level has one node, so there is always an answer.
    few = (i for i, each in enumerate(names) if i >= lowest and len(each) <= _MOST_NAMES)
    level = next(few, len(names) - 1)
    return nodes[level].astype(np.int64), [name or _(MISSING) for name in names[level]]


def _group_by_intervals(
    domain: Domain, after: Floats, is_named: NDArray[np.bool_], texts: pl.Series
) -> tuple[NDArray[np.int64], list[str]]:
    """Values of a line in a few ranges of equal width, from the first value that is released to the last.

    So the ends of the scale tell nothing that the release does not, and a bar has a name only where a
    released cell names one of its values. A missing value is a bar of its own.
    """
    real = np.arange(domain.size) != (-1 if domain.missing is None else domain.missing)
    # The missing value has a code but no place on the line.
    seen = np.flatnonzero((after > 0) & real)
    low, high = (int(seen[0]), int(seen[-1])) if seen.size else (0, domain.size - 1)
    inside = np.arange(domain.size)
    if high - low < _MOST_BARS:
        group = np.clip(inside, low, high) - low
        labels = [texts[code] if is_named[code] else "" for code in range(low, high + 1)]
    else:
        place = domain.position
        # The smallest bound only avoids 0 / 0; then all values share the first range.
        share = (place - place[low]) / max(place[high] - place[low], 1e-300)
        group = np.clip((share * _MOST_BARS).astype(np.int64), 0, _MOST_BARS - 1)
        kept = np.flatnonzero(real & is_named & (inside >= low) & (inside <= high))
        first = np.full(_MOST_BARS, -1)
        # Assigned from the last to the first, so that the smallest named value of a range names it.
        first[group[kept[::-1]]] = kept[::-1]
        labels = [texts[int(code)] if code >= 0 else "" for code in first]
    if domain.missing is not None:
        group[domain.missing] = len(labels)
        labels.append(_(MISSING))
    return group, labels


# Hierarchy levels.


@dataclass(frozen=True, slots=True)
class GeneralizationLevels:
    """How far one quasi-identifier was generalised."""

    name: str
    levels: tuple[str, ...]
    """From the values as they were to what stands for all of them."""
    shares: tuple[float, ...]
    """Of the released rows."""
    typical: float
    """How many values a cell stands for, in the median over released rows."""
    tree: bool
    """Whether the levels are those of a hierarchy."""


def measure_levels(evidence: Evidence, names: Sequence[str]) -> Iterator[GeneralizationLevels]:
    """How far some quasi-identifiers were generalised."""
    size = evidence.recoding.size
    for cells in evidence.list_released_cells():
        if cells.domain.name in names:
            at, texts = _find_levels(cells)
            rows = np.bincount(at[cells.of_class], size, len(texts)) / max(int(size.sum()), 1)
            tree = cells.domain.hierarchy is not None and cells.members is None
            yield GeneralizationLevels(
                cells.domain.name, texts, tuple(rows.tolist()), _compute_median_cover(cells, size), tree
            )


def _find_levels(cells: ColumnCells) -> tuple[NDArray[np.integer], tuple[str, ...]]:
    tree = cells.domain.hierarchy
    if tree is not None and cells.members is None:
        # A tree releases nodes, and each has a level. Sets of values (render=set) have none, so
        # they are treated like columns without a tree.
        return tree.level_of(cells.lo, cells.hi), (
            _("as it was"),
            *(_("level {level}", level=level) for level in range(1, tree.height)),
            _("anything"),
        )
    covered = cells.count_covered()
    everything = covered == cells.domain.size
    # 0 for one value, 1 between, 2 for all.
    return np.where(covered == 1, 0, 1 + everything), (_("as it was"), _("generalised"), _("anything"))


def _compute_median_cover(cells: ColumnCells, size: NDArray[np.int64]) -> float:
    covered = cells.count_covered()[cells.of_class]
    order = np.argsort(covered, kind="stable")
    # Weighted by rows: a class of a thousand rows counts a thousand times.
    half = np.searchsorted(np.cumsum(size[order]), size.sum() / 2)
    return float(covered[order][min(half, order.size - 1)]) if order.size else 0.0


# Sensitive values.


@dataclass(frozen=True, slots=True, eq=False)
class Closeness:
    """How the sensitive values of classes differ from those of the whole release."""

    name: str
    values: tuple[str, ...]
    """Values, or ranges of them, that get a colour each; the last may stand for all others."""
    lines: tuple[tuple[str, int, float, Floats], ...]
    """What a line is about, its rows, its distance from the whole, and its shares of the values."""
    bins: Floats
    """Edges of ranges of distances."""
    rows: Floats
    """Share of the rows in classes that far from the whole."""
    distance: str
    """Which distance: equal, ordered or hierarchical."""
    asked: float | None
    """The t that was asked for."""


def measure_closeness(evidence: Evidence, name: str) -> Closeness:
    """Compare the classes with the whole in one sensitive column."""
    counts, model = evidence.counts, _distance_model(evidence, name)
    far = model.distances(counts)
    group, values = _assign_colours(evidence, name)
    chosen = _choose_quartile_classes(far, counts.size)
    table = _compute_value_shares(evidence.class_of, group, counts.classes, len(values), list(chosen))
    whole = np.bincount(group, minlength=len(values)) / max(group.size, 1)
    lines = [(_("the whole release"), int(group.size), 0.0, whole)]
    for (at, text), shares in zip(chosen.items(), table, strict=True):
        lines.append((text, int(counts.size[at]), float(far[at]), shares))
    # A model without a column holds for every sensitive one.
    asked = [m.t for m in evidence.recipe.models if isinstance(m, TCloseness) and m.column in (None, name)]
    # The scale always reaches the t that was asked for, so that the distance to it can be seen.
    edges = np.linspace(0, max(float(far.max(initial=0.0)), *asked, 1e-9), _BINS + 1)
    rows = np.histogram(far, edges, weights=counts.size)[0] / max(counts.rows, 1)
    return Closeness(name, values, tuple(lines), edges, rows, model.distance, min(asked) if asked else None)


_NAMES = (
    mark("nearest class"),
    mark("first quartile"),
    mark("median"),
    mark("third quartile"),
    mark("farthest class"),
)


def _distance_model(evidence: Evidence, name: str) -> TCloseness:
    """The distance that was asked for, or else the one that the kind of values suggests."""
    for model in evidence.recipe.models:
        if isinstance(model, TCloseness) and model.column in (None, name):
            return TCloseness(model.t, model.distance, name)
    ordered = evidence.counts.sensitive[name].scale.ordered
    return TCloseness(1.0, "ordered" if ordered else "equal", name)


def _choose_quartile_classes(far: Floats, size: NDArray[np.integer]) -> dict[int, str]:
    """The classes at the quartiles of the distance, each row counting once; fewer where there are fewer."""
    order = np.argsort(far, kind="stable")
    so_far = np.cumsum(size[order])
    at = np.searchsorted(so_far, np.array([0, 0.25, 0.5, 0.75, 1]) * so_far[-1])
    chosen = [int(order[min(i, order.size - 1)]) for i in at]
    # One class may be several quartiles at once. Reversed, so that the first of its names wins; of
    # several classes the farthest keeps its own name.
    named = dict(zip(reversed(chosen), map(_, reversed(_NAMES)), strict=True))
    return {each: named[each] for each in chosen} | ({chosen[-1]: _(_NAMES[-1])} if len(named) > 1 else {})


def _compute_value_shares(
    class_of: NDArray[np.int64], group: NDArray[np.int64], classes: int, values: int, chosen: Sequence[int]
) -> list[Floats]:
    place = np.full(classes, -1)
    place[chosen] = np.arange(len(chosen))
    kept = place[class_of] >= 0
    # One number per class and value, so that a single bincount fills the whole table.
    key = place[class_of[kept]] * values + group[kept]
    table = np.bincount(key, minlength=len(chosen) * values).reshape(len(chosen), values)
    return [row / max(row.sum(), 1) for row in table]


def _assign_colours(evidence: Evidence, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """For every released row the colour of its sensitive value, and what the colours stand for."""
    distinct, number, missing = build_dictionary(evidence.released_table.column(name))
    # The missing value has the last number, after all distinct ones.
    count = np.bincount(number, minlength=len(distinct) + missing)
    order = evidence.columns[name].order if name in evidence.columns else None
    kind = infer_type(distinct).type
    # Few numbers are shown one by one, and an order that was stated counts as names.
    if len(distinct) > _MOST_VALUES and not order and kind in ("integer", "float"):
        at, names = _group_by_fifths(
            parse_values(distinct, kind, name, None), count[: len(distinct)], to_strings(distinct)
        )
    else:
        at, names = _group_by_frequency(count[: len(distinct)], to_strings(distinct), missing)
    if missing:
        at, names = np.append(at, len(names)), [*names, _(MISSING)]
    return at[number], tuple(names)


def _group_by_frequency(
    count: NDArray[np.int64], texts: pl.Series, missing: bool
) -> tuple[NDArray[np.int64], list[str]]:
    # Equally common values by name: the order of rows must not change a page.
    order = np.lexsort((texts.rank("ordinal").to_numpy(), -count)) if len(texts) else np.empty(0, np.int64)
    most = _MOST_VALUES - missing
    own = order if order.size <= most else order[: most - 1]
    at = np.full(count.size, own.size)
    at[own] = np.arange(own.size)
    rest = count.size - own.size
    return at, [
        *texts.gather(own),
        *([_("{others} ({rest:,})", others=_(OTHERS), rest=rest)] if rest else []),
    ]


def _group_by_fifths(values: pl.Series, count: NDArray[np.int64], texts: pl.Series) -> tuple[Any, list[str]]:
    """Numbers in five ranges that hold about as many rows each."""
    order = np.argsort(values.rank("dense").to_numpy(), kind="stable")
    # By the middle of its rows each value falls into one fifth, so equal values never lie in two. A
    # fifth may stay empty beside a very common value; unique then closes the gap.
    middle = np.cumsum(count[order]) - count[order] / 2
    part = np.empty(order.size, np.int64)
    part[order] = np.unique((middle / count.sum() * 5).astype(np.int64), return_inverse=True)[1]
    names = []
    for i in range(int(part.max()) + 1):
        own = order[part[order] == i]
        names.append(_("{texts} to {texts2}", texts=texts[int(own[0])], texts2=texts[int(own[-1])]))
    return part, names


# Excerpts.


@dataclass(frozen=True, slots=True)
class ShownClass:
    """A class of an excerpt."""

    size: int
    released: tuple[str, ...]
    """Its quasi-identifiers, as they are released."""
    rows: tuple[tuple[str, ...], ...]
    """Some of its rows: their quasi-identifiers as they were, and their sensitive values."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A few classes of the release."""

    names: tuple[str, ...]
    classes: tuple[ShownClass, ...]


def build_excerpt(evidence: Evidence) -> Excerpt:
    """Some rows of some classes, quasi-identifiers and sensitive columns only: never an identifier."""
    recoding, recipe = evidence.recoding, evidence.recipe
    # From the recipe's seed: the same recipe shows the same classes.
    rng = np.random.default_rng(recipe.seed)
    chosen = rng.choice(recoding.size.size, min(_SHOWN_CLASSES, recoding.size.size), replace=False)
    frame, names = evidence.table.frame, (*recipe.quasi, *recipe.sensitive)
    native = choose_cell_types(recipe, (frame.schema[name] for name in recipe.quasi))
    values = recoding.render_classes(native, recipe.render)
    of_row = recoding.class_of[recoding.table.of_row]
    classes = []
    for at in sorted(chosen.tolist()):
        rows = np.flatnonzero(of_row == at)[:_ROWS_EACH]
        # Rows of the recoding are numbered without those that were dropped for a missing value.
        rows = rows if evidence.rows is None else evidence.rows[rows]
        # With safepub the table is the release itself, so any row of the class shows its values.
        cells = (frame, rows[:1]) if evidence.released_only else (pl.DataFrame(values), np.array([at]))
        (released,) = _format_rows(cells[0], recipe.quasi, cells[1])
        classes.append(ShownClass(int(recoding.size[at]), released, tuple(_format_rows(frame, names, rows))))
    return Excerpt(names, tuple(classes))


def _format_rows(frame: pl.DataFrame, names: Sequence[str], rows: NDArray[np.int64]) -> list[tuple[str, ...]]:
    columns = [to_strings(use_safe_name(frame[name]).gather(rows)).fill_null("").to_list() for name in names]
    return list(zip(*columns, strict=True))
