"""Groups of rows: which others are cheapest beside each row."""

import numpy as np
import pytest

from shoal.kernels.groups import cheapest_partners


def plain(pair: np.ndarray, most: int) -> list[list[int]]:
    """By cost, then by position."""
    rows = range(len(pair))
    return [sorted((i for i in rows if i != row), key=lambda i: (pair[row, i], i))[:most] for row in rows]


@pytest.mark.parametrize("rows", [2, 3, 11, 60])
@pytest.mark.parametrize("costs", [1, 3, 1000])
def test_cheapest_first_and_of_ties_the_first_rows(rows, costs):
    pair = np.random.default_rng(rows + costs).integers(0, costs, (rows, rows)).astype(np.float32)
    assert cheapest_partners(pair, 10).tolist() == plain(pair, 10)


def test_a_row_alone_has_no_partners():
    assert cheapest_partners(np.zeros((1, 1), np.float32), 10).shape == (1, 0)
