"""Exact costs: whole numbers of one small unit that all cells of a table share.

A loss is a sum of fractions, so no comparison of two tables needs a tolerance. Whole numbers can be of any
size, and weights of any scale: kernels get them as *limbs*, the digits of a number to the base 2^48.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.codespace.domain import Domain
from shoal.kernels.groups import LIMB_BITS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SIMPLE = 1_000_000  # denominators up to which a float is read as the fraction that it rounds
_ROUNDING = 1e-15
_MASK = (1 << LIMB_BITS) - 1
_FITS = 1 << 61  # whole numbers of which sums and differences still fit 64 bits


def read_decimal(number: float) -> Fraction:
    """The decimal number that a float stands for: of 15 digits, which are what it holds for certain."""
    return Fraction(f"{number:.15g}")


def read_fraction(number: float) -> Fraction:
    """The fraction that a float is the rounded value of, if there is a simple one; else its decimal."""
    simple = Fraction(number).limit_denominator(_SIMPLE)
    return (
        simple if abs(float(simple) - number) <= _ROUNDING * max(abs(number), 1.0) else read_decimal(number)
    )


def list_places(domain: Domain) -> NDArray[Any]:
    """[codes] where each code lies on its axis, as whole numbers; a missing value lies one axis below 0."""
    start = int(domain.missing is not None)
    if domain.place is None:
        whole = list(range(domain.size - start))
    else:
        exact = [_read_exactly(value) for value in _list_numbers(domain.place)]
        scale = lcm(*(value.denominator for value in exact))
        whole = [int((value - exact[0]) * scale) for value in exact]
    step = gcd(*whole) or 1
    whole = [place // step for place in whole]
    span = max(whole[-1] if whole else 0, 1)
    return to_array([*([-span] * start), *whole])


def _list_numbers(place: pl.Series) -> list[object]:
    place = place.drop_nulls()
    return (place.to_physical() if place.dtype.is_temporal() else place).to_list()


def _read_exactly(value: object) -> Fraction:
    return read_decimal(value) if isinstance(value, float) else Fraction(str(value))


def to_array(whole: Sequence[int]) -> NDArray[Any]:
    """Whole numbers as an array: of 64 bits where they fit, else of Python's own."""
    large = any(abs(number) >= _FITS for number in whole)
    return np.array(whole, object if large else np.int64)


def find_common_unit(fractions: Sequence[Fraction]) -> tuple[tuple[int, ...], Fraction]:
    """The largest unit of which all fractions are multiples, and these multiples."""
    scale = lcm(*(each.denominator for each in fractions))
    whole = [int(each * scale) for each in fractions]
    shared = gcd(*whole) or 1
    return tuple(number // shared for number in whole), Fraction(shared, scale)


def count_limbs(largest: int) -> int:
    """How many limbs hold every number that is not larger, and its negative."""
    return -(-(largest.bit_length() + 2) // LIMB_BITS)


def split_limbs(whole: Sequence[int], limbs: int) -> Ints:
    """[n, limbs] whole numbers as limbs, the highest first; only the highest is signed."""
    parts = [[number >> (LIMB_BITS * i) for number in whole] for i in range(limbs - 1, -1, -1)]
    lower = [[part & _MASK for part in each] for each in parts[1:]]
    return np.array([parts[0], *lower], np.int64).reshape(limbs, len(whole)).T.copy()


def join_limbs(limbs: Ints) -> list[int]:
    """Whole numbers of their limbs."""
    columns = limbs.T.tolist()
    whole: list[int] = columns[0]
    for column in columns[1:]:
        whole = [(high << LIMB_BITS) + low for high, low in zip(whole, column, strict=True)]
    return whole


def carry_limbs(limbs: Ints) -> Ints:
    """The same numbers, with all limbs but the highest below the base again."""
    result = limbs.copy()
    for i in range(result.shape[1] - 1, 0, -1):
        result[:, i - 1] += result[:, i] >> LIMB_BITS
        result[:, i] &= _MASK
    return result


def rank_limbs(limbs: Ints) -> Ints:
    """The rank of each number among the different ones, from 0."""
    order = sort_limbs(limbs)
    rank = np.zeros(len(limbs), np.int64)
    if len(limbs):
        fresh = (limbs[order[1:]] != limbs[order[:-1]]).any(axis=1)
        rank[order] = np.concatenate(([0], np.cumsum(fresh)))
    return rank


def sort_limbs(limbs: Ints) -> NDArray[np.intp]:
    """The order of rising numbers; equal ones stay in order."""
    return np.lexsort(limbs.T[::-1])
