"""The three ways in which a kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_njit = cast("Any", numba.njit)  # its type does not know all of its own options
_INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: F) -> F:
    """Compile a kernel that Python calls: cached on disk, and other threads run beside it."""
    return cast("F", _njit(cache=True, nogil=True)(function))


def inner(function: F) -> F:
    """Compile what only kernels call: no way in from Python, which halves the time to compile it."""
    return cast("F", _njit(**_INNER)(function))


def inline(function: F) -> F:
    """Compile what the innermost loops call, where a call would cost more than what it does."""
    return cast("F", _njit(forceinline=True, **_INNER)(function))


def typed(value: int) -> int:
    """An integer of fixed type: numba compiles a function anew for every plain one, once for these."""
    return cast("int", np.int64(value))


def is_compiled(kernel: Callable[..., Any]) -> bool:
    """Whether a kernel is ready, compiled or loaded from disk; else its first call takes some seconds."""
    return bool(getattr(kernel, "signatures", True))
