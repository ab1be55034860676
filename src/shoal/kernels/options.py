"""The options of numba by which kernels are compiled."""

from __future__ import annotations

# Kernels touch no Python objects, so they need not hold the lock of the interpreter.
ENTRY = {"nogil": True}
# Wrappers are for calls from Python and C, and take about half of the time to compile.
INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
INLINE = {**INNER, "forceinline": True}
