"""Losses by how far released numbers are from the original ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.codespace.domain import Domain
from shoal.codespace.loss.base import Floats, Loss, Measured, label_columns, weighted_mean
from shoal.codespace.recoding import Recoding
from shoal.support.arithmetic import weighted_sum
from shoal.table import infer_type, parse_values


@dataclass(frozen=True, slots=True)
class SquaredError(Loss):
    """The share of the variance that is lost, SSE/SST, from 0 to about 1.

    Each row's number is compared with the one that stands for its class: what `microaggregate` releases, and
    the median where classes are released as ranges or nodes of a hierarchy. The column's mean stands for
    suppressed rows, and for classes whose cell is suppressed. Columns that are not numbers, dates or ordered
    lose 0 and count with weight 0.

    References
    ----------
    J. Domingo-Ferrer, J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14(1), 2002.
    """

    def measure(self, recoding: Recoding, weights: Floats) -> Measured:
        """Squared error over the total sum of squares, column by column."""
        places = [find_places(cells.domain) for cells in recoding.cells]
        columns = [
            0.0 if place is None else _compute_lost_share(recoding, j, place)
            for j, place in enumerate(places)
        ]
        counted = np.where([place is not None for place in places], weights, 0.0)
        return Measured(float(weighted_mean(np.array(columns), counted)), label_columns(recoding, columns))

    def list_uncounted(self, domains: Sequence[Domain]) -> list[str]:
        """Columns that are not numbers, dates or ordered."""
        return [domain.name for domain in domains if find_places(domain) is None]


def find_places(domain: Domain) -> Floats | None:
    """[codes] where each value lies on a line, also if numbers have a hierarchy; None where it has no place.

    A missing value lies before all others, as far as the greatest lies behind the least.
    """
    if domain.hierarchy is None:
        return domain.axis
    inferred = infer_type(domain.labels.drop_nulls())
    if inferred.type in ("string", "boolean"):
        return None
    # Markers such as "?" among numbers are leaves, too: they lie where a missing value does.
    labels = domain.labels.replace(list(inferred.extra_na), [None] * len(inferred.extra_na))
    there = labels.is_not_null().to_numpy()
    parsed = parse_values(labels.drop_nulls(), inferred.type, domain.name)
    numbers = parsed.to_physical().cast(pl.Float64).to_numpy()
    found = np.full(domain.size, -1.0)
    found[there] = (numbers - numbers.min()) / (float(np.ptp(numbers)) or 1.0)
    return found


def _compute_lost_share(recoding: Recoding, j: int, position: Floats) -> float:
    table, class_of = recoding.table, recoding.class_of
    place, weight = position[table.codes[:, j]], table.weight.astype(np.float64)
    mean = float(weighted_sum(place, weight)) / max(float(weight.sum()), 1.0)
    total = float(weighted_sum((place - mean) ** 2, weight))
    # The appended mean gives -1 something to point at, even if there is no class.
    released = np.append(_find_centres(recoding, j, position, mean), mean)[class_of]
    # A column of one value has no variance to lose.
    return float(weighted_sum((place - released) ** 2, weight)) / total if total > 0 else 0.0


def _find_centres(recoding: Recoding, j: int, position: Floats, mean: float) -> Floats:
    """[classes] the number that stands for each class."""
    cells = recoding.cells[j]
    if not recoding.size.size:
        return np.empty(0)
    if (means := recoding.write_means(j)) is not None:
        return means[1]
    if recoding.centre is not None:
        return position[recoding.choose_representatives(j)]
    # Who reads "*" knows no more than the mean of the column, even if the class has a median of its own.
    hidden = (cells.hi - cells.lo == cells.domain.size - 1) & (cells.hi > cells.lo)
    return np.where(hidden[cells.of_class], mean, _find_medians(recoding, j, position))


def _find_medians(recoding: Recoding, j: int, position: Floats) -> Floats:
    """[classes] the lower median of the places of their rows."""
    kept = np.flatnonzero(recoding.class_of >= 0)
    place, class_of = position[recoding.table.codes[kept, j]], recoding.class_of[kept]
    order = np.lexsort((place, class_of))
    weight = np.cumsum(recoding.table.weight[kept][order])
    ends = np.searchsorted(class_of[order], np.arange(recoding.size.size), "right")
    before = np.append(0, weight[ends - 1])
    # The first row at which half of the weight of the class is reached, in whole numbers.
    half = before[:-1] + (before[1:] - before[:-1] + 1) // 2
    return np.asarray(place[order][np.searchsorted(weight, half)], np.float64)
