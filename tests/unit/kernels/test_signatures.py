"""What kernels are called with can be read off them."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.kernels import every
from shoal.kernels.compiled import KERNELS
from shoal.kernels.signatures import Cube, Matrix, ReadOnly, list_signatures


class Pair(NamedTuple):
    codes: Matrix[np.unsignedinteger]
    weight: NDArray[np.int64]


def plain(a: int, b: float, c: bool, d: tuple[int, int], e: Cube[np.int32]) -> None: ...


def varied(pair: Pair, rules: Pair | None) -> None: ...


def test_annotations_say_what_numba_finds():
    (found,) = list_signatures(plain)
    values = (1, 1.0, True, (1, 2), np.zeros((1, 1, 1), np.int32))
    assert found == tuple(map(numba.typeof, values))


def test_codes_are_narrow_or_wide_and_rules_there_or_not():
    def typed(dtype):
        return numba.typeof(Pair(np.zeros((1, 1), dtype), np.zeros(1, np.int64)))

    narrow, wide, none = typed(np.uint16), typed(np.uint32), numba.typeof(None)
    assert set(list_signatures(varied)) == {(narrow, none), (narrow, narrow), (wide, none), (wide, wide)}
    assert list(list_signatures(varied, wide=True, ruled=False)) == [(wide, none)]


def test_what_belongs_to_others_is_read_only():
    def reads(text: ReadOnly[np.uint8]) -> None: ...

    (found,) = list_signatures(reads)
    assert found == (numba.typeof(np.frombuffer(b"a", np.uint8)),)


@pytest.fixture(scope="module")
def all_kernels():
    every.load_all()
    return {name: kernel for name, kernel in KERNELS.items() if kernel.__module__.startswith("shoal.")}


def test_every_kernel_says_what_it_takes(all_kernels):
    assert len(all_kernels) > 40
    for name, kernel in all_kernels.items():
        assert 1 <= len(set(list_signatures(kernel))) <= 4, name
