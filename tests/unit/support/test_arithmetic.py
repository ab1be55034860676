"""Logarithms and the like: right to the last digits, and made of the four operations alone."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, isnan, nan

import numba
import numpy as np
import pytest
from scipy import special

from shoal.kernels import logarithms
from shoal.kernels.compiled import entry_kernel
from shoal.support import arithmetic

RANDOM = np.random.default_rng(1)
ABOVE_ZERO = np.concatenate(
    [RANDOM.random(400) * 3, 10 ** RANDOM.uniform(-300, 300, 200), 1 + RANDOM.normal(0, 1e-4, 200)]
)
SMALL = np.concatenate([RANDOM.random(300), 10 ** RANDOM.uniform(-20, 0, 200), -RANDOM.random(200) * 0.9])
POWERS = np.concatenate([RANDOM.uniform(-700, 700, 300), RANDOM.normal(0, 1, 300)])
TWO = Decimal(2)


@pytest.mark.parametrize(
    ("function", "exact", "numbers"),
    [
        (arithmetic.log, Decimal.ln, ABOVE_ZERO),
        (arithmetic.log2, lambda x: x.ln() / TWO.ln(), ABOVE_ZERO),
        (arithmetic.log1p, lambda x: (1 + x).ln(), SMALL),
        (arithmetic.exp, Decimal.exp, POWERS),
        (arithmetic.exp2, lambda x: (x * TWO.ln()).exp(), POWERS),
        (arithmetic.expm1, lambda x: x.exp() - 1, np.concatenate([SMALL, POWERS])),
    ],
    ids=["log", "log2", "log1p", "exp", "exp2", "expm1"],
)
def test_within_two_units_of_the_last_digit(function, exact, numbers):
    with localcontext() as context:
        context.prec = 50
        for number, found in zip(numbers.tolist(), function(numbers).tolist(), strict=True):
            true = exact(Decimal(number))
            unit = Decimal(float(np.spacing(abs(float(true)))))
            assert abs(Decimal(found) - true) <= 2 * unit, number


def test_exact_where_the_result_is_a_number():
    whole = np.arange(-1000, 1000)
    assert (arithmetic.log2(np.ldexp(1.0, whole)) == whole).all()
    assert (arithmetic.exp2(whole.astype(float)) == np.ldexp(1.0, whole)).all()
    assert arithmetic.log(1) == arithmetic.log1p(0.0) == arithmetic.expm1(0.0) == 0
    assert arithmetic.exp(0.0) == 1


def test_logarithms_of_what_has_none():
    assert arithmetic.log(np.array([0.0, inf])).tolist() == [-inf, inf]
    assert isnan(arithmetic.log(-1.0))
    assert isnan(arithmetic.log2(nan))
    assert arithmetic.exp(-800.0) == 0


def test_decimal_logarithms_of_any_integer():
    assert [arithmetic.log10(10**n) for n in (0, 3, 22, 400)] == [0, 3, 22, 400]
    assert arithmetic.log10(2) == 0.3010299956639812


def test_the_place_of_the_first_digit():
    numbers = (314, 0.0314, 999.9999999999999, 1000.0, 1e-300)
    assert [arithmetic.first_digit(x) for x in numbers] == [2, -2, 2, 3, -300]


def test_the_gamma_function():
    numbers = np.concatenate([np.geomspace(1e-9, 1e12, 500), np.linspace(0.5, 30, 500)])
    assert arithmetic.log_gamma(numbers) == pytest.approx(special.gammaln(numbers), rel=1e-13, abs=1e-13)
    assert arithmetic.digamma(numbers) == pytest.approx(special.digamma(numbers), rel=1e-13, abs=1e-13)


def test_weighted_sums_go_along_the_last_axis():
    values = np.arange(6.0).reshape(2, 3)
    assert arithmetic.weighted_sum(values, np.array([1.0, 10.0, 100.0])).tolist() == [210, 543]


@entry_kernel
def in_a_kernel(numbers, logarithm, binary, exponential):
    for i in range(numbers.size):
        logarithm[i] = logarithms.log(numbers[i])
        binary[i] = logarithms.log2(numbers[i])
        exponential[i] = logarithms.exp(logarithm[i])


def test_kernels_find_the_same_bits():
    found = np.empty((3, ABOVE_ZERO.size))
    in_a_kernel(ABOVE_ZERO, *found)
    assert (found[0] == arithmetic.log(ABOVE_ZERO)).all()
    assert (found[1] == arithmetic.log2(ABOVE_ZERO)).all()
    assert (found[2] == arithmetic.exp(found[0])).all()


def test_compiled_code_rounds_products_before_it_adds_them():
    """A processor that can multiply and add in one step would round once, and differ from one that cannot."""

    @numba.njit
    def sums(a, b, c):
        found = np.empty_like(a)
        for i in range(a.size):
            found[i] = a[i] * b[i] + c[i]
        return found

    a, b, c = RANDOM.random((3, 1000))
    c = -c * a * b
    twice = [float(Fraction(float(x * y)) + Fraction(z)) for x, y, z in zip(a, b, c.tolist(), strict=True)]
    once = [
        float(Fraction(x) * Fraction(y) + Fraction(z))
        for x, y, z in zip(*map(np.ndarray.tolist, (a, b, c)), strict=True)
    ]
    assert sums(a, b, c).tolist() == twice != once
