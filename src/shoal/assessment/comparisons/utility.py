"""What a release is still good for, and what it tells of sensitive values: measures for comparing releases.

A reader who wants to calculate with a released cell takes each value that it stands for to be equally likely,
and the mean where a mean was released. Suppressed rows could be anything. What that reader gets is compared
with the table.

References
----------
M.-J. Woo, J. P. Reiter, A. Oganian, A. F. Karr, "Global measures of data utility for microdata masked for
disclosure limitation", Journal of Privacy and Confidentiality 1(1), 2009: propensity scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from shoal.codespace.loss import LOSSES
from shoal.codespace.loss.variance import find_places
from shoal.codespace.recoding import ColumnCells, Recoding
from shoal.support.arithmetic import exp, weighted_sum

Floats = NDArray[np.float64]

_MOST_BINS = 12  # of a column in a table of two columns, the one for all other values included
_STEPS = 30  # of Newton's method, which needs fewer than ten
_NEAR = 1e-10
_RIDGE = 1e-6  # of the weight: scores stay finite where a column tells original and release apart


@dataclass(frozen=True, slots=True)
class UtilityMeasures:
    """What is lost by a release, in several respects; None where there is nothing to measure."""

    kl_divergence: float
    """Bits per row that are lost to somebody who reads classes; see the loss of that name."""
    ambiguity: float
    """How many combinations of values a row could be, on average."""
    propensity: float
    """Mean squared propensity score (pMSE): how well rows of the table and of the release are told apart by
    means, squares and shares of their columns, from 0 to 1/4."""
    correlation: float | None
    """By how much the correlations between columns with an order change, on average over pairs of them."""
    contingency: float | None
    """Which share of the rows is in another cell of the table of two columns, on average over pairs of
    columns, sensitive ones included."""
    disclosure: float | None
    """Share of the rows whose sensitive value is the commonest of their class: whoever guesses it is right so
    often. Of several sensitive columns, the greatest."""

    def to_dict(self) -> dict[str, float | None]:
        """As plain values."""
        return asdict(self)


def measure_utility(recoding: Recoding) -> UtilityMeasures:
    """Measure a release by its recoding."""
    columns = [_QuasiColumn.from_recoding(recoding, j) for j in range(len(recoding.cells))]
    sensitive = list(_count_sensitive_values(recoding))
    equal = np.ones(len(columns))
    return UtilityMeasures(
        LOSSES["kl-divergence"]().measure(recoding, equal).value,
        LOSSES["ambiguity"]().measure(recoding, equal).value,
        _measure_propensity(recoding, columns),
        _compare_correlations(recoding, columns),
        _compare_tables(recoding, columns, sensitive),
        max((_find_guessed_share(recoding, values) for values in sensitive), default=None),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _QuasiColumn:
    """A quasi-identifier as a reader counts with it; suppressed rows are a last class."""

    code: NDArray[np.integer]
    """[u] of each weighted row."""
    bin_of: NDArray[np.int64]
    """[codes]"""
    shares: Floats
    """[classes + 1, bins] how likely a row of the class is in each bin."""
    place: Floats | None
    """[codes] where the values lie, if they have an order."""
    means: Floats | None
    """[classes + 1] mean place of a row."""
    squares: Floats | None
    """[classes + 1] mean of the square of the place."""

    @classmethod
    def from_recoding(cls, recoding: Recoding, j: int) -> _QuasiColumn:
        table, cells = recoding.table, recoding.select_cells(j)
        counts = table.count_codes(j, cells.domain.size)
        place = find_places(recoding.cells[j].domain)
        bin_of = _choose_bins(counts, place is not None)
        bins = int(bin_of.max()) + 1
        inside = [np.asarray(bin_of == each, np.int64) for each in range(bins)]
        shares = np.stack([_spread(cells, each) for each in inside], axis=1)
        if place is None:
            return cls(table.codes[:, j], bin_of, shares, None, None, None)
        means, squares = _spread(cells, place), _spread(cells, place * place)
        if (written := recoding.write_means(j)) is not None:
            means[:-1], squares[:-1] = written[1], written[1] ** 2
        return cls(table.codes[:, j], bin_of, shares, place, means, squares)


def _spread(cells: ColumnCells, values: NDArray[np.integer] | Floats) -> Floats:
    """[classes + 1] mean of ``values`` (one per code) over what each class stands for; last, over all."""
    if cells.members is None:
        # A range that holds one value has it exactly; running sums of floats would not.
        total = np.concatenate(([0.0], np.cumsum(values)))
        sums = np.where(cells.lo == cells.hi, values[cells.lo], total[cells.hi + 1] - total[cells.lo])
    else:
        sums = np.add.reduceat(values[cells.members[1]], cells.members[0][:-1])
    found = np.asarray(sums / cells.count_covered(), np.float64)[cells.of_class]
    return np.append(found, float(np.add.reduce(values)) / cells.domain.size)


def _choose_bins(counts: NDArray[np.int64], ordered: bool) -> NDArray[np.int64]:
    """[codes] the bin of each value: its own, a part of about equally many rows, or that of rare values."""
    if counts.size <= _MOST_BINS:
        return np.arange(counts.size)
    if ordered:
        before = np.cumsum(counts) - counts
        bins = before * _MOST_BINS // max(int(counts.sum()), 1)
        return np.unique(np.minimum(bins, _MOST_BINS - 1), return_inverse=True)[1].astype(np.int64)
    common = np.argsort(-counts, kind="stable")[: _MOST_BINS - 1]
    found = np.full(counts.size, _MOST_BINS - 1)
    found[common] = np.arange(common.size)
    return found


def _count_sensitive_values(recoding: Recoding) -> Iterator[Floats]:
    """For each sensitive column, [u, values] how many rows of each weighted row have each value."""
    histograms = recoding.table.histograms
    row = np.repeat(np.arange(recoding.table.weight.size), np.diff(histograms.start))
    for first, last in zip(histograms.first, histograms.first[1:], strict=False):
        own = (histograms.value >= first) & (histograms.value < last)
        value = histograms.value[own] - first
        bin_of = _choose_bins(np.bincount(value, histograms.count[own], last - first).astype(np.int64), False)
        found = np.zeros((recoding.table.weight.size, int(bin_of.max()) + 1))
        np.add.at(found, (row[own], bin_of[value]), histograms.count[own])
        yield found


def _list_classes(recoding: Recoding) -> tuple[NDArray[np.int64], Floats]:
    """[u] the class of each weighted row, suppressed rows in a last one, and [classes + 1] its rows."""
    last = recoding.size.size
    class_of = np.where(recoding.class_of < 0, last, recoding.class_of).astype(np.int64)
    return class_of, np.append(recoding.size, recoding.suppressed_rows).astype(np.float64)


def _find_guessed_share(recoding: Recoding, values: Floats) -> float:
    kept = recoding.class_of >= 0
    counts = np.zeros((recoding.size.size, values.shape[1]))
    np.add.at(counts, recoding.class_of[kept], values[kept])
    return float(counts.max(axis=1, initial=0.0).sum()) / max(int(recoding.size.sum()), 1)


def _compare_correlations(recoding: Recoding, columns: Sequence[_QuasiColumn]) -> float | None:
    weight, rows = recoding.table.weight.astype(np.float64), _list_classes(recoding)[1]
    found = []
    for one, other in combinations([each for each in columns if each.place is not None], 2):
        assert one.place is not None and other.place is not None
        assert one.means is not None and other.means is not None
        assert one.squares is not None and other.squares is not None
        x, y = one.place[one.code], other.place[other.code]
        before = _correlate(x, y, x * x, y * y, weight)
        found.append(abs(before - _correlate(one.means, other.means, one.squares, other.squares, rows)))
    return sum(found) / len(found) if found else None


def _correlate(x: Floats, y: Floats, x_squared: Floats, y_squared: Floats, weight: Floats) -> float:
    """The correlation, from mean values and mean squares; 0 where a column does not vary."""
    total = float(weight.sum())
    mean_x, mean_y = (float(weighted_sum(each, weight)) / total for each in (x, y))
    shared = float(weighted_sum((x - mean_x) * (y - mean_y), weight)) / total
    spreads = [
        float(weighted_sum(squared - 2 * mean * each + mean * mean, weight)) / total
        for each, squared, mean in ((x, x_squared, mean_x), (y, y_squared, mean_y))
    ]
    product = spreads[0] * spreads[1]
    return shared / sqrt(product) if product > 1e-24 else 0.0


def _compare_tables(
    recoding: Recoding, columns: Sequence[_QuasiColumn], sensitive: Sequence[Floats]
) -> float | None:
    weight, (class_of, rows) = recoding.table.weight, _list_classes(recoding)
    total = float(rows.sum())
    moved = []
    for one, other in combinations(columns, 2):
        bins = one.shares.shape[1], other.shares.shape[1]
        pair = one.bin_of[one.code] * bins[1] + other.bin_of[other.code]
        before = np.bincount(pair, weight, bins[0] * bins[1]).reshape(bins)
        # In a class the reader knows nothing of how columns go together.
        after = np.stack([weighted_sum(other.shares.T, rows * share) for share in one.shares.T])
        moved.append(float(np.abs(before - after).sum()) / 2 / total)
    for values in sensitive:
        within = np.zeros((rows.size, values.shape[1]))
        np.add.at(within, class_of, values)
        for one in columns:
            known = np.zeros((one.shares.shape[1], values.shape[1]))
            np.add.at(known, one.bin_of[one.code], values)
            told = np.stack([weighted_sum(within.T, share) for share in one.shares.T])
            moved.append(float(np.abs(known - told).sum()) / 2 / total)
    return sum(moved) / len(moved) if moved else None


def _measure_propensity(recoding: Recoding, columns: Sequence[_QuasiColumn]) -> float:
    """Mean squared distance of the fitted chance of being released from 1/2, the chance that all have."""
    rows = _list_classes(recoding)[1]
    weight = np.append(recoding.table.weight.astype(np.float64), rows)
    features = [np.ones(weight.size)]
    for column in columns:
        if column.place is not None and column.means is not None and column.squares is not None:
            before = column.place[column.code]
            features += [np.append(before, column.means), np.append(before * before, column.squares)]
        else:
            own = column.bin_of[column.code]
            features += [
                np.append(np.asarray(own == at, np.float64), column.shares[:, at])
                for at in range(1, column.shares.shape[1])
            ]
    told = np.array([_scale(each, weight) for each in features])
    released = np.append(np.zeros(recoding.table.weight.size), np.ones(rows.size))
    chance = _fit_chances(told, released, weight)
    return round(float(weighted_sum((chance - 0.5) ** 2, weight) / weight.sum()), 9)


def _scale(feature: Floats, weight: Floats) -> Floats:
    """A feature with mean 0 and spread 1; what does not vary stays as it is."""
    mean = weighted_sum(feature, weight) / weight.sum()
    spread = sqrt(weighted_sum((feature - mean) ** 2, weight) / weight.sum())
    return np.asarray((feature - mean) / spread if spread > 1e-9 else np.ones_like(feature), np.float64)


def _fit_chances(told: Floats, released: Floats, weight: Floats) -> Floats:
    """Logistic regression by Newton's method."""
    found: Floats = np.zeros(told.shape[0])
    ridge = _RIDGE * float(weight.sum())
    chance: Floats = np.full(released.size, 0.5)
    for _ in range(_STEPS):
        slope = weighted_sum(told, weight * (released - chance)) - ridge * found
        bend = weight * chance * (1 - chance)
        curve = np.stack([weighted_sum(told * feature, bend) for feature in told])
        step = np.linalg.solve(curve + ridge * np.eye(found.size), slope)
        found = found + step
        chance = 1 / (1 + exp(-np.clip(weighted_sum(told.T, found), -30.0, 30.0)))
        if np.abs(step).max() < _NEAR:
            break
    return chance
