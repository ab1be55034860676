import numba

from shoal.exact.budget import Budget
from shoal.kernels.compiled import seconds_compiling


def test_the_clock_of_a_search_stands_still_while_kernels_are_compiled():
    @numba.njit
    def inside(x):
        return x + 1

    @numba.njit
    def kernel(x):
        return inside(x) * 2

    budget, before = Budget(), seconds_compiling()
    assert kernel(3) == 8
    compiling = seconds_compiling() - before
    assert compiling > budget.spent >= 0
    assert kernel(4) == 10
    assert seconds_compiling() - before == compiling
