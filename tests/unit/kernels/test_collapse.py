import numpy as np
import pytest

from shoal.kernels.collapse import collapse_keys


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([], id="none"),
        pytest.param([7], id="one"),
        pytest.param([7] * 50, id="all equal"),
        pytest.param([0, 2**64 - 1, 2**63, 1, 0], id="the whole range"),
        pytest.param(np.arange(5000)[::-1], id="more than the first table holds"),
        # Multiples of 2^54 land on few slots of a table that looks at the top bits only.
        pytest.param(np.arange(900, dtype=np.uint64) << np.uint64(54), id="keys that collide"),
        pytest.param(np.random.default_rng(0).integers(0, 700, 20_000), id="many of each"),
    ],
)
def test_keys_are_numbered_in_ascending_order(keys):
    keys = np.array(keys, np.uint64)
    distinct, place = collapse_keys(keys)
    expected, inverse = np.unique(keys, return_inverse=True)
    assert np.array_equal(distinct, expected)
    assert np.array_equal(place, inverse)
    assert (distinct.dtype, place.dtype) == (np.uint64, np.int32)
