"""Other processors, as far as this one can stand in for them: environments for a process.

- numpy picks a program by the vector instructions that it finds; it can be told not to find some.
- So does the C library of Linux for logarithms and the like, and OpenBLAS for products of matrices.
- Kernels are compiled for any processor of a kind, or, here, for a certain one; either is kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from llvmlite.binding import get_host_cpu_name
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

WIDEST = ("512", "V4", "SVE")
"""Parts of the names of numpy's features for the widest vectors there are."""
GLIBC = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-FMA,-FMA4"
HASWELL = "+sse4.2,+popcnt,+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe"


@dataclass(frozen=True, slots=True)
class Variant:
    """A process on another processor."""

    name: str
    threads: int
    settings: dict[str, str]

    def environment(self) -> dict[str, str]:
        """The variables of its environment."""
        number = str(self.threads)
        pools = ("OPENBLAS", "OMP", "MKL", "NUMBA")
        threads = {f"{pool}_NUM_THREADS": number for pool in pools} | {"POLARS_MAX_THREADS": number}
        return {**os.environ, **threads, **self.settings}


def dispatched() -> list[str]:
    """The features that numpy looks for when it starts, and finds here; it does not need any of them."""
    return [name for name in __cpu_dispatch__ if has(name)]


def has(feature: str) -> bool:
    """Whether this processor has a feature, by the name that numpy has for it."""
    return bool(__cpu_features__.get(feature))


def plain() -> Variant:
    """The least processor that the packages are built for, with one thread."""
    settings = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched()),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "GLIBC_TUNABLES": GLIBC,
        "PYTHONHASHSEED": "1",
    }
    blas = {"OPENBLAS_CORETYPE": "Nehalem"} if has("SSE42") else {}
    return Variant("plain", 1, settings | blas)


def narrow() -> Variant:
    """This processor without its widest vectors, with kernels for itself and more threads than cores."""
    widest = [name for name in dispatched() if any(part in name for part in WIDEST)]
    settings = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(widest),
        "NUMBA_CPU_NAME": get_host_cpu_name(),
        "PYTHONHASHSEED": "2",
    }
    blas = {"OPENBLAS_CORETYPE": "Haswell"} if has("AVX2") and has("FMA3") else {}
    return Variant("narrow", 5, settings | blas)


def compiled_for_haswell() -> Variant:
    """The same with kernels for a processor of 2013, which multiplies and adds in one step."""
    kernels = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": HASWELL}
    return Variant("haswell", 2, narrow().settings | kernels)


def variants() -> list[Variant]:
    """All that this machine can stand in for."""
    return [plain(), narrow(), *([compiled_for_haswell()] if has("AVX2") and has("FMA3") else [])]
