"""SafePub: the accounting against direct sums."""

from fractions import Fraction
from math import comb, exp, floor

import numpy as np
import pytest

import shoal
from shoal.privacy import Counts
from shoal.privacy.safepub import delta_for, least_k, sampling_rate, tail_probabilities


def gamma(epsilon):
    """As in the theorem, with the largest sampling rate."""
    beta = 1 - exp(-epsilon)
    return (exp(epsilon) - 1 + beta) / exp(epsilon)


def tail(epsilon, n):
    """The sum over j > gamma n of f(j; n, beta), term by term in exact fractions."""
    beta = Fraction(1 - exp(-epsilon))
    first = floor(gamma(epsilon) * n) + 1
    return float(sum(comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(first, n + 1)))


def direct_delta(epsilon, k, last):
    """The largest tail from ceil(k/gamma - 1) on."""
    first = -floor(-(k / gamma(epsilon) - 1))
    return max(tail(epsilon, n) for n in range(first, last))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
def test_tails_are_sums_of_binomial_probabilities(epsilon):
    trials = np.array([1, 2, 3, 7, 20, 50, 101])
    assert tail_probabilities(epsilon, trials) == pytest.approx(
        [tail(epsilon, int(n)) for n in trials], rel=1e-9
    )


def test_the_tail_by_hand():
    # epsilon = log 2: beta = 1/2, gamma = 1 - 1/4 = 3/4. Of 4 rows more than 3 are drawn with probability
    # 1/16; 3/4 of 4 is a whole number, which rounding could make less, and then 5/16 is what is safe to say.
    assert sampling_rate(np.log(2)) == pytest.approx(0.5)
    assert gamma(np.log(2)) == pytest.approx(0.75)
    assert tail_probabilities(float(np.log(2)), np.array([3]))[0] == pytest.approx(1 / 8)
    assert tail_probabilities(float(np.log(2)), np.array([4]))[0] in (
        pytest.approx(1 / 16),
        pytest.approx(5 / 16),
    )


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-3), (1.0, 1e-2), (0.5, 1e-3), (2.0, 1e-2), (0.7, 0.3), (1.3, 0.9)]
)
def test_k_is_the_least_that_does(epsilon, delta):
    k = least_k(epsilon, delta)
    last = floor(k / gamma(epsilon)) + 60
    assert direct_delta(epsilon, k, last) <= delta
    assert k == 1 or direct_delta(epsilon, k - 1, last) > delta
    assert delta_for(epsilon, k) == pytest.approx(direct_delta(epsilon, k, last), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1.0, 3.0, 8.0])
def test_accounting_at_the_ends_of_what_is_accepted(epsilon):
    assert 0 < sampling_rate(epsilon) < 1
    ks = [least_k(epsilon, delta) for delta in (0.5, 1e-3, 1e-6, 1e-12)]
    assert ks == sorted(ks)
    for k, delta in zip(ks, (0.5, 1e-3, 1e-6, 1e-12), strict=True):
        assert delta_for(epsilon, k) <= delta


def test_nothing_is_too_small_where_there_is_nothing():
    goal = shoal.SafePub(1.0, 0.001)
    nothing = Counts(np.empty(0, np.int64), {})
    assert goal.holds(nothing).all()
    assert goal.achieved(nothing) == {"k": 0, "delta": 0.0}
