"""The curve visits every point of the grid once, by steps of one."""

import numpy as np
import pytest

from shoal.kernels.hilbert import hilbert_keys


@pytest.mark.parametrize(("axes", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (5, 2)])
def test_neighbours_on_the_curve_are_neighbours_on_the_grid(axes, bits):
    grid = np.stack(np.meshgrid(*[np.arange(1 << bits)] * axes), axis=-1).reshape(-1, axes).astype(np.uint32)
    keys = hilbert_keys(grid, bits)
    assert sorted(keys.tolist()) == list(range(grid.shape[0]))
    steps = np.abs(np.diff(grid[np.argsort(keys)].astype(np.int64), axis=0)).sum(axis=1)
    assert set(steps.tolist()) == {1}


def test_as_many_bits_as_a_key_holds():
    grid = np.array([[0] * 63, [1] * 63, [0] * 62 + [1]], np.uint32)
    assert len(set(hilbert_keys(grid, 1).tolist())) == 3
