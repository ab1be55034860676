"""Attackers, on classes small enough to count by hand."""

from math import log

import numpy as np
import pytest
from scipy.special import gammaln

from shoal.assessment.risks.attackers import (
    Attacker,
    check_thresholds,
    estimate_journalist_risk,
    measure_journalist_risk,
    measure_prosecutor_risk,
)
from shoal.errors import RecipeError
from shoal.privacy.expected_share import compute_expected_share

SIZE = np.array([2, 1, 3])


def test_a_prosecutor_guesses_among_the_rows_of_a_class():
    found = Attacker.from_class_risks(measure_prosecutor_risk(SIZE), SIZE, (0.33, 0.5))
    assert (found.maximum, found.average) == (1.0, 0.5)  # three classes, six rows
    # A third is above 0.33, but a half is not above 0.5.
    assert found.above == ((0.33, 1.0), (0.5, 1 / 6))


def test_a_journalist_guesses_among_the_people_who_fit():
    found = Attacker.from_class_risks(measure_journalist_risk(SIZE, np.array([4, 2, 3])), SIZE, (0.3,))
    assert found.maximum == 1 / 2
    assert found.average == pytest.approx((2 / 4 + 1 / 2 + 3 / 3) / 6)
    assert found.above == ((0.3, 4 / 6),)


def test_whoever_is_in_the_table_is_one_of_the_population():
    assert measure_journalist_risk(np.array([3, 1]), np.array([1, 0])).tolist() == [1 / 3, 1.0]


@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 80])
def test_the_expected_risk_where_only_the_fraction_is_known(size, alpha, share):
    # Summed up over the negative binomial distribution of those who are not in the table.
    others = np.arange(8000)
    chance = gammaln(size - alpha + others) - gammaln(size - alpha) - gammaln(others + 1)
    chance = np.exp(chance + (size - alpha) * log(share) + others * log(1 - share))
    assert chance.sum() == pytest.approx(1)
    direct = (chance / (size + others)).sum()
    assert compute_expected_share(np.array([size]), alpha, share)[0] == pytest.approx(direct, rel=1e-9)


def test_the_expected_risk_in_closed_form_and_at_the_ends():
    assert compute_expected_share(np.array([1]), 0.0, 0.5)[0] == pytest.approx(log(2))
    assert compute_expected_share(np.array([2]), 0.0, 0.5)[0] == pytest.approx(1 - log(2))
    rare = compute_expected_share(np.array([1, 10, 1000, 100_000]), 0.0, 1e-4)
    assert (np.diff(rare) < 0).all()
    assert rare[-1] == pytest.approx(1e-9, rel=1e-4)  # large classes hardly vary


def test_all_that_is_known_may_be_the_fraction():
    sizes = np.array([3, 1, 1, 1, 1, 2, 1, 6])
    found = estimate_journalist_risk(sizes, 0.2)
    assert (found < measure_prosecutor_risk(sizes)).all()
    assert found[1] == found[2] > found[5] > found[0] > found[7]
    assert estimate_journalist_risk(sizes, 1.0).tolist() == measure_prosecutor_risk(sizes).tolist()
    # Where all rows are unique, everybody may be.
    assert estimate_journalist_risk(np.ones(5, np.int64), 0.2).tolist() == [1.0] * 5


def test_thresholds_are_probabilities_in_order():
    assert check_thresholds([0.5, 0.1, 0.5]) == (0.1, 0.5)
    with pytest.raises(RecipeError, match=r"from 0 to below 1, not 1\.5"):
        check_thresholds([0.1, 1.5])
