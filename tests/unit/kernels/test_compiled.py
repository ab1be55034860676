import os
import subprocess
import sys

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


def test_a_kernel_is_compiled_anew_when_any_kernel_has_changed(tmp_path):
    """What a kernel calls may lie in another file, which numba's own cache does not look at."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from shoal.kernels import compiled\n"
        "compiled._STAMP = sys.argv[1]\n"
        "kernel = compiled.entry(lambda x: x + 1)\n"
        "kernel(1)\n"
        "print(sum(kernel.stats.cache_hits.values()))\n"
    )

    def hits(stamp):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, str(script), stamp]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert [hits(stamp) for stamp in ("old", "old", "new", "new")] == [0, 1, 0, 1]
