"""The three ways in which a kernel is compiled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.event import Event, Listener, register

F = TypeVar("F", bound=Callable[..., Any])

_njit = cast("Any", numba.njit)  # its type does not know all of its own options
_INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


# The cache of a kernel looks only at its own file, but what it calls lies in others: a rule that has changed
# would not be noticed. So every kernel is stamped with all of them.
_FILES = sorted(Path(__file__).parent.glob("*.py"))
_STAMP = sha256(b"".join(path.read_bytes() for path in _FILES)).hexdigest()


def entry(function: F) -> F:
    """Compile a kernel that Python calls: cached on disk, and other threads run beside it."""
    try:
        kernel = _njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder for a cache: what is compiled lasts as long as the process
        return cast("F", _njit(nogil=True)(function))
    if kernel is not function:  # as it is where compiling is switched off
        kernel._cache._cache_file._source_stamp = _STAMP
        kernel._cache.save_overload = _if_possible(kernel._cache.save_overload)
        kernel._cache.load_overload = _if_possible(kernel._cache.load_overload)
    return cast("F", kernel)


def _if_possible(step: Callable[..., Any]) -> Callable[..., Any]:
    """A full disk or a damaged cache costs the time to compile, and nothing else."""

    def tried(*arguments: Any) -> Any:
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            return step(*arguments)
        return None

    return tried


def inner(function: F) -> F:
    """Compile what only kernels call: no way in from Python, which halves the time to compile it."""
    return cast("F", _njit(**_INNER)(function))


def inline(function: F) -> F:
    """Compile what the innermost loops call, where a call would cost more than what it does."""
    return cast("F", _njit(forceinline=True, **_INNER)(function))


def typed(value: int) -> int:
    """An integer of fixed type: numba compiles a function anew for every plain one, once for these."""
    return cast("int", np.int64(value))


class _Stopwatch(Listener):
    """Adds up the time in which kernels are compiled; those that another one needs are part of it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun: list[float] = []

    def on_start(self, event: Event) -> None:
        self._begun.append(perf_counter())

    def on_end(self, event: Event) -> None:
        begun = self._begun.pop()
        if not self._begun:
            self.seconds += perf_counter() - begun


_STOPWATCH = _Stopwatch()
cast("Any", register)("numba:compile", _STOPWATCH)  # it has no types


def seconds_compiling() -> float:
    """How long this process has been compiling kernels, which happens once on a machine."""
    return _STOPWATCH.seconds


def working_time() -> float:
    """A clock that stands still while kernels are compiled: the first run on a machine is like any other."""
    return perf_counter() - seconds_compiling()


def is_compiled(kernel: Callable[..., Any]) -> bool:
    """Whether a kernel is ready, compiled or loaded from disk; else its first call takes some seconds."""
    return bool(getattr(kernel, "signatures", True))
