"""Arithmetic that gives the same bits on every processor.

Sums, products, quotients and square roots are rounded alike everywhere, as IEEE 754 demands. Logarithms,
exponentials and powers are not, nor are products of matrices: numpy, the C library and BLAS pick another
program for another processor, and the last digits differ. Here they are made of the four operations alone, in
a fixed order. Results are within two units of the last digit. See docs/decisions/same-bytes.md.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, NDArray[Any])

# The logarithm of 2 in two parts. The first has 40 bits, so that its product with an exponent is exact.
LN2_HIGH, LN2_LOW = 0.6931471805592082, 7.371002565167799e-13
LN2 = 0.6931471805599453
ROOT_OF_HALF = 0.7071067811865476
_LOG_TERMS = tuple(2.0 / n for n in range(23, 1, -2))
_EXP_TERMS = tuple(
    1.0 / n for n in (6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2)
)
# Of Stirling's series, the last term first: Bernoulli numbers over 2n, and over 2n (2n - 1).
_DIGAMMA_TERMS = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_GAMMA_TERMS = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_LOG_OF_TWO_PI = 1.8378770664093453
_FAR = 10  # from here on the series are precise
_LARGEST = 800.0  # exponents beyond this overflow, or vanish


def log(x: Number) -> Number:
    """Natural logarithm; minus infinity for 0."""
    rest, exponent = _split_exponent(x)
    return cast("Number", _replace_ends(x, add_log_of_two(log_near_one(rest), exponent)))


def log2(x: Number) -> Number:
    """Logarithm to base 2, exact for powers of 2."""
    rest, exponent = _split_exponent(x)
    parts = log_near_one(rest)
    return cast("Number", _replace_ends(x, exponent + (parts[0] + parts[1]) / LN2))


def log1p(x: Number) -> Number:
    """Logarithm of 1 + x, for x above -1, precise where x is small."""
    # What rounding takes from 1 + x is given back as a first-order term.
    whole = 1.0 + x
    return log(whole) + (x - (whole - 1.0)) / whole


def log10(x: float) -> float:
    """Decimal logarithm of one number above 0, which may be an integer of any size."""
    return float(Decimal(x).log10())


def first_digit(x: float) -> int:
    """The power of ten of a number's first digit: 2 for 314, -2 for 0.0314."""
    return Decimal(x).adjusted()


def exp(x: Number) -> Number:
    """Exponential function."""
    # Beyond it ldexp gives 0 or infinity anyway, and exponents would overflow an int.
    bounded = np.clip(x, -_LARGEST, _LARGEST)
    exponent = np.rint(bounded / LN2)
    return cast(
        "Number", np.ldexp(1.0 + expm1_near_zero(_reduce_argument(bounded, exponent)), exponent.astype(int))
    )


def exp2(x: Number) -> Number:
    """2 to the power of x, exact for whole numbers."""
    bounded = np.clip(x, -2 * _LARGEST, 2 * _LARGEST)
    exponent = np.rint(bounded)
    return cast("Number", np.ldexp(1.0 + expm1_near_zero((bounded - exponent) * LN2), exponent.astype(int)))


def expm1(x: Number) -> Number:
    """Exponential function less 1, precise where x is small, for x up to 700."""
    # x = exponent * ln 2 + rest, with a rest small enough for the series.
    exponent = np.rint(x / LN2)
    scale = np.ldexp(1.0, exponent.astype(int))
    return cast("Number", scale * expm1_near_zero(_reduce_argument(x, exponent)) + (scale - 1.0))


def power(base: float, exponent: Number) -> Number:
    """A base above 0 to any power."""
    return exp(exponent * log(base))


def digamma(x: Number) -> Number:
    """Slope of the logarithm of the gamma function, above 0."""
    # Recurrence digamma(x) = digamma(x + 1) - 1 / x, up to where the series is precise.
    far, found = _shift_upwards(x)
    for step in range(_FAR):
        found = found - np.where(far > x + step, 1.0 / (x + step), 0.0)
    return cast("Number", found + log(far) - 0.5 / far - _sum_series(_DIGAMMA_TERMS, 1.0 / (far * far)))


def log_gamma(x: Number) -> Number:
    """Logarithm of the gamma function, above 0."""
    # Recurrence log gamma(x) = log gamma(x + 1) - log x; one logarithm of the product.
    far, product = _shift_upwards(x)
    product = product + 1.0
    for step in range(_FAR):
        product = product * np.where(far > x + step, x + step, 1.0)
    series = _sum_series(_GAMMA_TERMS, 1.0 / (far * far)) * far
    return cast("Number", (far - 0.5) * log(far) - far + _LOG_OF_TWO_PI / 2 + series - log(product))


def weighted_sum(values: NDArray[Any], weights: NDArray[Any]) -> Floats:
    """Sum of values times weights along the last axis."""
    return np.asarray(np.add.reduce(values * weights, axis=-1, dtype=np.float64))


# What kernels take over. They are told a number, or an array of them.


def log_near_one(f: Number) -> tuple[Number, Number]:
    """Logarithm of 1 + f, for f from -0.3 to 0.42, as f and what is to be added.

    With s = f / (2 + f) it is 2 artanh(s), a series in odd powers of s.
    """
    s = f / (2.0 + f)
    z = s * s
    series = z * 0.0
    for term in _LOG_TERMS:
        series = (series + term) * z
    half = 0.5 * f * f
    return f, s * (half + series) - half


def add_log_of_two(parts: tuple[Number, Number], exponent: Number) -> Number:
    """The logarithm of a number from that of its fraction and its exponent."""
    return exponent * LN2_HIGH + (parts[0] + (parts[1] + exponent * LN2_LOW))


def expm1_near_zero(r: Number) -> Number:
    """Exponential function less 1, for r from -0.35 to 0.35."""
    series = r * 0.0
    for term in _EXP_TERMS:
        series = (series + term) * r
    found: Number = r + series * r
    return found


def _split_exponent(x: Any) -> tuple[Any, Any]:
    """A number as (1 + f) times a power of 2, with f from -0.3 to 0.42."""
    fraction, exponent = np.frexp(np.where(_has_log(x), x, 1.0))
    # frexp gives 0.5 to 1; moved to 0.7 to 1.4, f lies around 0, where the series converges fast.
    low = fraction < ROOT_OF_HALF
    return np.where(low, 2.0 * fraction, fraction) - 1.0, exponent - low.astype(np.float64)


def _shift_upwards(x: Any) -> tuple[Any, Any]:
    """Numbers raised by whole steps to where Stirling's series are precise, and as many zeros."""
    steps = np.ceil(np.maximum(_FAR - x, 0.0))
    return x + steps, steps * 0.0


def _sum_series(terms: tuple[float, ...], z: Any) -> Any:
    """Terms times rising powers of z, from the first power on."""
    found = z * 0.0
    for term in terms:
        found = (found + term) * z
    return found


def _has_log(x: Any) -> Any:
    """Whether there is a logarithm that is a number."""
    return (np.asarray(x) > 0) & (np.asarray(x) < np.inf)


def _replace_ends(x: Any, found: Any) -> Any:
    """The logarithm that was found, and what stands for it where there is none."""
    x = np.asarray(x, np.float64)
    return np.where(_has_log(x), found, np.where(x == 0, -np.inf, np.where(x > 0, x, np.nan)))[()]


def _reduce_argument(x: Any, exponent: Any) -> Any:
    """What remains of x after so many logarithms of 2."""
    return (x - exponent * LN2_HIGH) - exponent * LN2_LOW
