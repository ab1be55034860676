"""Logarithms and exponentials for kernels, bit for bit those of `shoal.support.arithmetic`."""

from __future__ import annotations

import math

from shoal.kernels.compiled import inline_kernel, inner_kernel
from shoal.support import arithmetic
from shoal.support.arithmetic import LN2, LN2_HIGH, LN2_LOW, ROOT_OF_HALF

# One source for models and kernels, so that both round alike on the border of a rule.
_log_near_one = inline_kernel(arithmetic.log_near_one)
_add_log_of_two = inline_kernel(arithmetic.add_log_of_two)
_expm1_near_zero = inline_kernel(arithmetic.expm1_near_zero)


@inner_kernel
def log(x: float) -> float:
    """Natural logarithm of a number above 0."""
    fraction, exponent = _split_exponent(x)
    return _add_log_of_two(_log_near_one(fraction), float(exponent))


@inner_kernel
def log2(x: float) -> float:
    """Logarithm to base 2 of a number above 0."""
    fraction, exponent = _split_exponent(x)
    parts = _log_near_one(fraction)
    return float(exponent) + (parts[0] + parts[1]) / LN2


@inner_kernel
def exp(x: float) -> float:
    """Exponential function, from -700 to 700."""
    exponent = round(x / LN2)
    # ln 2 in two parts: the first product is exact, and so the rest loses no digits.
    rest = (x - exponent * LN2_HIGH) - exponent * LN2_LOW
    return math.ldexp(1.0 + _expm1_near_zero(rest), exponent)


@inner_kernel
def _split_exponent(x: float) -> tuple[float, int]:
    # The fraction is brought between the roots of 1/2 and 2, where the series is short.
    fraction, exponent = math.frexp(x)
    if fraction < ROOT_OF_HALF:
        return 2.0 * fraction - 1.0, exponent - 1
    return fraction - 1.0, exponent
