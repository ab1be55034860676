"""Drawing by tickets."""

import numpy as np

from shoal.table.samples.urn import TICKETS, Urn


def test_each_group_has_its_own_shares() -> None:
    urn = Urn.from_weights(np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 0.0]]))
    counts = [np.bincount(part, minlength=3).tolist() for part in np.split(urn.tickets, 2)]
    assert counts == [[TICKETS // 4, TICKETS // 4, TICKETS // 2], [0, TICKETS, 0]]


def test_weights_that_do_not_divide_evenly_still_fill_the_urn() -> None:
    counts = np.bincount(Urn.from_weights(np.array([1.0, 1.0, 1.0])).tickets)
    assert counts.sum() == TICKETS
    assert counts.max() - counts.min() <= 1


def test_leading_axes_number_the_groups() -> None:
    weights = np.eye(4).reshape(2, 2, 4)
    drawn = Urn.from_weights(weights).draw_categories(np.random.default_rng(0), np.array([3, 0, 2, 1]))
    assert drawn.tolist() == [3, 0, 2, 1]


def test_draws_follow_the_weights() -> None:
    urn = Urn.from_weights(np.array([0.1, 0.6, 0.3]))
    drawn = urn.draw_categories(np.random.default_rng(1), np.zeros(100_000, dtype=np.int64))
    np.testing.assert_allclose(np.bincount(drawn) / 100_000, [0.1, 0.6, 0.3], atol=0.005)
