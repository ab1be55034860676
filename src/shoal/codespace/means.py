"""Means of classes as values of their column: numbers that nobody need have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"


@dataclass(frozen=True, slots=True, eq=False)
class ClassCodes:
    """The codes that the rows of each class have in one column."""

    code: Ints
    class_of: Ints
    weight: Ints
    size: Ints
    """[classes] number of rows."""

    def find_ends(self, codes: int) -> tuple[Ints, Ints]:
        """[classes] the least and the greatest code."""
        low, high = np.full(self.size.size, codes), np.full(self.size.size, -1)
        np.minimum.at(low, self.class_of, self.code)
        np.maximum.at(high, self.class_of, self.code)
        return low, high

    def compute_means(self, number: Floats, low: Ints) -> Floats:
        """[classes] the mean of what ``number`` says of the codes."""
        # From the least one on: numbers of one size differ in few digits, and a class of one has its own.
        share = self.weight / self.size[self.class_of]
        beyond = share * (number[self.code] - number[low][self.class_of])
        return np.asarray(number[low] + np.bincount(self.class_of, beyond), np.float64)


def write_means(domain: Domain, classes: ClassCodes) -> tuple[pl.Series, Floats] | None:
    """[classes] their means as values of the column, and where these lie on its axis, from 0 to 1.

    A float is written as it is, anything else rounded to what the column can hold: a whole number, a day, or
    as many decimals as its texts have. None where the column has no values between its own: if it is ordered
    by rank, or its texts are written in a way that is not understood.
    """
    if domain.place is None or domain.is_coded or domain.missing is not None or domain.size < 2:
        return None
    if domain.place.dtype.is_float():
        return _write_floats(domain, domain.place.to_numpy(), classes)
    if domain.place.dtype.is_integer() or domain.place.dtype in (pl.Date, pl.Datetime):
        return _write_whole_steps(domain, domain.place, classes)
    return None


def _write_floats(domain: Domain, known: Floats, classes: ClassCodes) -> tuple[pl.Series, Floats] | None:
    low, high = classes.find_ends(domain.size)
    # Halves: the difference of two vast numbers need not be finite.
    half = classes.compute_means(known / 2, low)
    numbers = np.clip(2 * half, known[low], known[high])
    if domain.values.dtype == pl.String:
        if not domain.labels.str.contains(_DECIMAL).all():
            return None
        decimals = domain.labels.str.extract(r"\.([0-9]+)$").str.len_chars().fill_null(0).to_numpy().max()
        texts = pl.Series([f"{number:.{int(decimals)}f}" for number in numbers.tolist()], dtype=pl.String)
        # A class of one value keeps the text that it has.
        written = pl.select(
            pl.when(pl.Series(low == high)).then(domain.labels.gather(low)).otherwise(texts)
        ).to_series()
        numbers = texts.cast(pl.Float64).to_numpy()
    else:
        written = pl.Series(numbers, dtype=pl.Float64).cast(domain.values.dtype)
    return written, (numbers / 2 - known[0] / 2) / (known[-1] / 2 - known[0] / 2)


def _write_whole_steps(
    domain: Domain, place: pl.Series, classes: ClassCodes
) -> tuple[pl.Series, Floats] | None:
    """Whole numbers, days or moments: so many steps after the first one."""
    is_text = domain.values.dtype == pl.String
    if is_text and place.dtype.is_integer() and not domain.labels.str.contains(_WHOLE).all():
        return None
    # Dates are written in many ways; this is one of them, or the column keeps to its own values.
    if is_text and place.dtype.is_temporal() and not (place.cast(pl.String) == domain.labels).all():
        return None
    low, high = classes.find_ends(domain.size)
    # Python's integers: the ends of a column may differ by more than 64 bits hold.
    known = place.to_physical().to_list()
    first, span = known[0], float(known[-1] - known[0])
    steps = np.rint(classes.compute_means(domain.position * span, low))
    whole = [
        min(max(first + int(step), known[a]), known[b])
        for step, a, b in zip(steps.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    written = pl.Series(whole, dtype=place.to_physical().dtype).cast(place.dtype)
    found = np.array([number - first for number in whole], np.float64) / span
    return written.cast(pl.String if is_text else domain.values.dtype), found
