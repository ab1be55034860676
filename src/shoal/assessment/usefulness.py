"""What an analyst asks of a run: do counts, pairs of columns and quantiles still tell the same?

The process of a run writes, beside the release, which codes each released cell stands for. A cell of several
values counts in equal parts for each of them, as a reader of the release would have to assume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.codespace.encoding import encode_column
from shoal.codespace.loss import LOSSES
from shoal.engines.release import Release
from shoal.errors import RecipeError
from shoal.support.language import translate as _
from shoal.table import Column
from shoal.table.frames import use_safe_name

CODES = "explored-codes.npz"
MISSING, OTHERS = "missing", "other values"
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_MOST_GROUPS = 8
_MOST_VALUES = 1000  # of a column that is released as it is: what has more is a number or names rows

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]


class ValueGroups(NamedTuple):
    """The values of a column in a few groups."""

    of_code: Ints
    """The group of each code."""
    labels: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class AnalysedColumn:
    """One column, before and after."""

    name: str
    labels: Sequence[str]
    """Of each code."""
    number: Floats | None
    """The number of each code, where they are numbers; not a number for a missing one."""
    ordered: bool
    before: Ints
    """The code of each row that took part."""
    released: Ints
    """The code of each released row, before it was made coarser."""
    cell_of: Ints | None
    """The cell of each class; None where the column is released as it was."""
    start: Ints
    code: Ints
    """The codes of each cell, laid end to end, and where each cell begins, with the end behind."""

    def share_by_cell(self, wanted: Floats) -> Floats:
        """[cells, ...] the mean of ``wanted`` ([codes, ...]) over the codes of each cell."""
        total = np.add.reduceat(wanted[self.code], self.start[:-1], axis=0)
        many = np.diff(self.start).reshape(-1, *[1] * (total.ndim - 1))
        return np.asarray(total / many, np.float64)


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What a question about the table gives, before and after."""

    before: float
    after: float
    """As a reader of the release would expect."""
    least: float | None = None
    """What the release proves, and what it leaves possible; None where it says nothing about that."""
    most: float | None = None

    @property
    def error(self) -> float | None:
        """How far the answer is off, as a share of the true one; None where that is 0."""
        return None if self.before == 0 else abs(self.after - self.before) / abs(self.before)


class Usefulness:
    """Questions to the table and to its release."""

    def __init__(self, columns: Mapping[str, AnalysedColumn], class_of: Ints) -> None:
        self.columns, self.class_of = dict(columns), class_of

    @classmethod
    def from_folder(cls, folder: Path) -> Usefulness:
        """Read what `write_codes` wrote."""
        return _read_codes(folder)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.class_of.max(initial=-1)) + 1

    def group_values(self, name: str, most: int = _MOST_GROUPS) -> ValueGroups:
        """A column in a few groups: ranges of equal width, or the commonest values and all others."""
        column = self.columns[name]
        size = len(column.labels)
        if size <= most:
            return ValueGroups(np.arange(size), list(column.labels))
        if column.number is not None:
            return _group_numbers(column.number, most - 1)
        count = np.bincount(column.before, minlength=size)
        if column.ordered:
            # Neighbours stay together, with about as many rows in each group.
            upto = np.cumsum(count) - count / 2
            raw = np.minimum((upto / max(count.sum(), 1) * most).astype(np.int64), most - 1)
            of_code = np.unique(raw, return_inverse=True)[1]
            ends = [np.flatnonzero(of_code == each)[[0, -1]] for each in range(int(of_code.max()) + 1)]
            names = [
                column.labels[a]
                if a == b
                else _("{labels} to {labels2}", labels=column.labels[a], labels2=column.labels[b])
                for a, b in ends
            ]
            return ValueGroups(of_code, names)
        common = np.argsort(-count, kind="stable")[: most - 1]
        of_code = np.full(size, common.size)
        of_code[common] = np.arange(common.size)
        return ValueGroups(of_code, [*(column.labels[code] for code in common), OTHERS])

    def cross_columns(self, first: str, second: str) -> tuple[ValueGroups, ValueGroups, Floats, Floats]:
        """The groups of two columns, and the share of the rows in each pair of them, before and after."""
        one, two = (self.group_values(name) for name in (first, second))
        a, b = self.columns[first], self.columns[second]
        shape = len(one.labels), len(two.labels)
        before = np.zeros(shape)
        np.add.at(before, (one.of_code[a.before], two.of_code[b.before]), 1.0)
        after = self._cross_released(a, one, b, two)
        return one, two, before / max(before.sum(), 1), after / max(after.sum(), 1)

    def _cross_released(
        self, a: AnalysedColumn, one: ValueGroups, b: AnalysedColumn, two: ValueGroups
    ) -> Floats:
        if a.cell_of is None and b.cell_of is None:
            found = np.zeros((len(one.labels), len(two.labels)))
            np.add.at(found, (one.of_code[a.released], two.of_code[b.released]), 1.0)
            return found
        if a.cell_of is None:
            return self._cross_released(b, two, a, one).T
        shares = a.share_by_cell(np.eye(len(one.labels))[one.of_code])[a.cell_of]
        if b.cell_of is None:  # rows of a class, by what the other column has in them
            rows = np.zeros((self.classes, len(two.labels)))
            np.add.at(rows, (self.class_of, two.of_code[b.released]), 1.0)
            return np.asarray(shares.T @ rows)
        others = b.share_by_cell(np.eye(len(two.labels))[two.of_code])[b.cell_of]
        size = np.bincount(self.class_of, minlength=self.classes)
        return np.asarray(shares.T @ (others * size[:, None]))

    def list_associations(self, names: Sequence[str]) -> list[tuple[str, str, float, float]]:
        """How strongly each two columns go together, before and after: Cramér's V of their groups."""
        found = []
        for at, first in enumerate(names):
            for second in names[at + 1 :]:
                *_, before, after = self.cross_columns(first, second)
                found.append((first, second, measure_association(before), measure_association(after)))
        return found

    def compute_quantiles(self, name: str) -> list[tuple[float, float, float]]:
        """Shares of the rows, and the numbers below which they lie, before and after."""
        column = self.columns[name]
        if column.number is None:
            raise RecipeError(f"'{name}' has no numbers, and so no quantiles")
        was = np.bincount(column.before, minlength=len(column.labels)).astype(np.float64)
        now = self._count_codes(column)
        return [
            (share, _find_quantile(column.number, was, share), _find_quantile(column.number, now, share))
            for share in QUANTILES
        ]

    def _count_codes(self, column: AnalysedColumn) -> Floats:
        """Released rows per code, each counted in equal parts for all codes of its cell."""
        size = len(column.labels)
        if column.cell_of is None:
            return np.bincount(column.released, minlength=size).astype(np.float64)
        many = np.diff(column.start)
        rows = np.bincount(column.cell_of[self.class_of], minlength=many.size) / many
        return np.bincount(column.code, np.repeat(rows, many), size).astype(np.float64)

    def count_rows(self, conditions: Mapping[str, NDArray[np.bool_]]) -> QueryAnswer:
        """Rows that meet all conditions; each says which codes of a column are meant."""
        before, after, least, most = 1.0, 1.0, 1.0, 1.0
        for name, wanted in conditions.items():
            column = self.columns[name]
            before = before * wanted[column.before].astype(np.float64)  # type: ignore[assignment]
            share = self._share_of_rows(column, wanted)
            after = after * share  # type: ignore[assignment]
            least = least * (share >= 1)  # type: ignore[assignment]
            most = most * (share > 0)  # type: ignore[assignment]
        return QueryAnswer(*(float(np.sum(each)) for each in (before, after, least, most)))

    def _share_of_rows(self, column: AnalysedColumn, wanted: NDArray[np.bool_]) -> Floats:
        """For each released row, how much of its cell is meant."""
        if column.cell_of is None:
            return wanted[column.released].astype(np.float64)
        # Counted in whole numbers: a share of all must be 1, whatever rounding does.
        met = np.add.reduceat(wanted[column.code].astype(np.int64), column.start[:-1])
        share = met / np.diff(column.start)
        return np.asarray(share[column.cell_of[self.class_of]], np.float64)

    def group_rows(self, name: str, of: str | None = None) -> list[tuple[str, QueryAnswer]]:
        """Rows per group of a column, or with ``of`` the mean of another one in each group."""
        groups, column = self.group_values(name), self.columns[name]
        found = []
        for at, label in enumerate(groups.labels):
            wanted = groups.of_code == at
            if of is None:
                found.append((label, self.count_rows({name: wanted})))
                continue
            found.append((label, self._compare_means(column, wanted, self.columns[of])))
        return found

    def _compare_means(
        self, column: AnalysedColumn, wanted: NDArray[np.bool_], of: AnalysedColumn
    ) -> QueryAnswer:
        if of.number is None:
            raise RecipeError(f"'{of.name}' has no numbers, and so no mean")
        was, now = wanted[column.before].astype(np.float64), self._share_of_rows(column, wanted)
        real = np.where(np.isnan(of.number), 0.0, of.number)
        there = (~np.isnan(of.number)).astype(np.float64)
        if of.cell_of is None:
            values, known = real[of.released], there[of.released]
        else:
            cell = of.cell_of[self.class_of]
            values, known = of.share_by_cell(real)[cell], of.share_by_cell(there)[cell]
        return QueryAnswer(
            _divide((was * real[of.before]).sum(), (was * there[of.before]).sum()),
            _divide((now * values).sum(), (now * known).sum()),
        )

    def read_condition(self, name: str, text: str) -> NDArray[np.bool_]:
        """The codes that a text means: ``30-40`` or ``>= 30`` of numbers, else values divided by commas."""
        column = self.columns[name]
        if column.number is not None and (ends := _read_range(text)) is not None:
            return (column.number >= ends[0]) & (column.number <= ends[1])
        wanted = {each.strip() for each in text.split(",") if each.strip()}
        known = np.array([label in wanted for label in column.labels])
        if not wanted or not known.any():
            some = ", ".join(list(column.labels)[:5])
            raise RecipeError(f"'{name}' has no value '{text}'; it has {some}, ...")
        return known


def measure_association(shares: Floats) -> float:
    """Cramér's V: 0 if two columns tell nothing of each other, 1 if one tells the other."""
    shares = shares[shares.sum(axis=1) > 0][:, shares.sum(axis=0) > 0]
    least = min(shares.shape) - 1
    if least < 1:
        return 0.0
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(np.sqrt(((shares - expected) ** 2 / expected).sum() / least))


def _group_numbers(number: Floats, most: int) -> ValueGroups:
    real = ~np.isnan(number)
    low, high = float(number[real].min()), float(number[real].max())
    width = (high - low) / most or 1.0
    place = np.minimum(((np.where(real, number, low) - low) / width).astype(np.int64), most - 1)
    labels = [
        _("{low:.4g} to {low2:.4g}", low=low + at * width, low2=low + (at + 1) * width) for at in range(most)
    ]
    if not real.all():
        place[~real] = most
        labels.append(MISSING)
    return ValueGroups(place, labels)


def _find_quantile(number: Floats, rows: Floats, share: float) -> float:
    real = np.flatnonzero(~np.isnan(number))
    order = real[np.argsort(number[real], kind="stable")]
    below = np.cumsum(rows[order])
    if not below.size or below[-1] <= 0:
        return float("nan")
    # The small term: sums of parts may fall just below a whole number.
    at = np.searchsorted(below, share * below[-1] - 1e-9)
    return float(number[order[min(int(at), order.size - 1)]])


def _divide(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _read_range(text: str) -> tuple[float, float] | None:
    """The ends that ``30-40``, ``>= 30``, ``<= 40`` or ``30`` means."""
    text = text.strip().replace(" ", "")
    try:
        for sign, side in ((">=", 0), ("<=", 1)):
            if text.startswith(sign):
                end = float(text[2:])
                return (end, float("inf")) if side == 0 else (float("-inf"), end)
        low, dash, high = text[:1], "", ""
        head, dash, tail = text[1:].partition("-")
        low, high = text[:1] + head, tail
        return (float(low), float(high)) if dash else (float(text), float(text))
    except ValueError:
        return None


# What the process of a run writes.


def measure_every_loss(release: Release) -> list[tuple[str, float]]:
    """The release by each built-in loss, all columns alike."""
    assert release.recoding is not None
    ones = np.ones(len(release.recipe.quasi))
    found = []
    for name in LOSSES.built_in:
        try:
            found.append((name, float(LOSSES[name]().measure(release.recoding, ones).value)))
        except RecipeError:  # some are for columns with hierarchies only
            continue
    return found


def write_codes(release: Release, folder: Path) -> None:
    """Write which codes each released cell stands for, unless nobody is to know."""
    evidence = release.report.evidence
    assert evidence is not None
    if evidence.released_only:
        return
    recoding = evidence.recoding
    of_row = recoding.class_of[recoding.table.of_row]
    kept = np.flatnonzero(of_row >= 0)
    arrays: dict[str, Any] = {"class": of_row[kept].astype(np.uint32)}
    names = []
    for j, cells in enumerate(recoding.cells):
        names.append(cells.domain.name)
        own = recoding.table.codes[:, j][recoding.table.of_row]
        start, code = cells.members or _list_interval_codes(cells.lo, cells.hi)
        arrays |= _name_arrays(j, cells.domain, own, own[kept])
        arrays |= {f"cell {j}": cells.of_class, f"start {j}": start, f"code {j}": code}
    for name in (*release.recipe.sensitive, *release.recipe.plain):
        # As the search saw them: without rows that were dropped before.
        series = use_safe_name(evidence.table.column(name))
        series = series if evidence.rows is None else series.gather(evidence.rows)
        if series.n_unique() > _MOST_VALUES and not series.dtype.is_numeric():
            continue
        encoded = encode_column(series, Column(name, na=evidence.table.na))
        own = encoded.codes
        arrays |= _name_arrays(len(names), encoded.domain, own, own[kept])
        names.append(name)
    arrays["names"] = np.array(names, dtype=np.str_)
    with (folder / CODES).open("wb") as stream:
        np.savez(stream, **arrays)


def _name_arrays(at: int, domain: Domain, before: Ints, released: Ints) -> dict[str, Any]:
    found = {
        f"labels {at}": np.array(domain.labels.fill_null(MISSING).to_list(), dtype=np.str_),
        f"ordered {at}": np.array(domain.has_ranges),
        f"before {at}": before,
        f"released {at}": released,
    }
    # A file may hold numbers as text; dates and what is coded as >90 stay what they are.
    number = domain.labels.cast(pl.Float64, strict=False)
    if domain.kind == "number" and number.null_count() == domain.labels.null_count():
        found[f"number {at}"] = number.fill_null(float("nan")).to_numpy()
    return found


def _list_interval_codes(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The codes of intervals, laid end to end, and where each begins."""
    many = (hi.astype(np.int64) - lo.astype(np.int64)) + 1
    start = np.concatenate(([0], np.cumsum(many)))
    code = np.arange(start[-1]) - np.repeat(start[:-1] - lo.astype(np.int64), many)
    return start, code


# Few are kept, since each is as long as the table; no two runs share a folder.
@lru_cache(maxsize=2)
def _read_codes(folder: Path) -> Usefulness:
    with np.load(folder / CODES) as stored:
        found = dict(stored)
    empty, columns = np.zeros(0, np.int64), {}
    for at, name in enumerate(found["names"].tolist()):
        columns[name] = AnalysedColumn(
            name,
            found[f"labels {at}"].tolist(),
            found.get(f"number {at}"),
            bool(found[f"ordered {at}"]),
            found[f"before {at}"],
            found[f"released {at}"],
            found.get(f"cell {at}"),
            found.get(f"start {at}", empty),
            found.get(f"code {at}", empty),
        )
    return Usefulness(columns, found["class"].astype(np.int64))
