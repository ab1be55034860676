"""Rates against figures from the literature and against the formulas, written out."""

from math import sqrt

import pytest

from shoal.assessment.attacks import Estimate, Rate

Z = 1.959963984540054


@pytest.mark.parametrize(
    ("successes", "attacks", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (81, 263, 0.2553, 0.3662), (1000, 1000, 0.9962, 1.0)],
)
def test_wilson(successes, attacks, low, high):
    """The third is the example of Newcombe, Statistics in Medicine 17, 1998."""
    found = Rate(successes, attacks).estimate()
    assert (found.value, found.low, found.high) == (
        pytest.approx(successes / attacks),
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )


def test_beyond_a_control_group():
    rate, control, z = Rate(60, 100), Rate(20, 100), Z * Z
    r, c = (60 + z / 2) / (100 + z), (20 + z / 2) / (100 + z)
    error_r = Z / (100 + z) * sqrt(60 * 40 / 100 + z / 4)
    error_c = Z / (100 + z) * sqrt(20 * 80 / 100 + z / 4)
    risk = (r - c) / (1 - c)
    error = sqrt((error_r / (1 - c)) ** 2 + (error_c * (r - 1) / (1 - c) ** 2) ** 2)
    found = rate.estimate_excess_risk(control)
    assert found.value == pytest.approx(risk)
    assert (found.low, found.high) == (pytest.approx(risk - error), pytest.approx(risk + error))


def test_as_good_on_others_is_no_risk():
    assert Rate(30, 100).estimate_excess_risk(Rate(30, 100)).value == pytest.approx(0.0, abs=1e-12)
    worse = Rate(10, 100).estimate_excess_risk(Rate(60, 100))
    assert (worse.value, worse.low, worse.high) == (0.0, 0.0, 0.0)
    assert Rate(100, 100).estimate_advantage(Rate(98, 100)).value < 0.05


def test_a_share_stays_one():
    assert Estimate.from_error(0.99, 0.2) == Estimate(0.99, pytest.approx(0.79), 1.0)
    assert Rate(0, 0).share == 0.0
    assert 0.0 <= Rate(0, 0).estimate().low <= Rate(0, 0).estimate().high <= 1.0
