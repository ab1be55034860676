"""The options of numba by which kernels are compiled."""

from __future__ import annotations

# Kernels touch no Python objects, so they need not hold the lock of the interpreter.
ENTRY = {"nogil": True}
# Wrappers are for calls from Python and C, and take about half of the time to compile.
MAKER = {**ENTRY, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Whoever calls it keeps the arrays alive: counting references to each of them, at every call, would take a
# quarter of the time. It may neither make an array nor return one.
INNER = {**MAKER, "_nrt": False}
INLINE = {**INNER, "forceinline": True}
