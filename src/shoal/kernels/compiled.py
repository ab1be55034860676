"""The four ways in which a kernel is compiled, and where compiled ones come from.

A kernel that is called comes with the package, or is kept from an earlier time, or is compiled in a process
of its own and kept. Where nothing of that is possible, this process compiles it for itself.

numba takes as long to load as everything else together. It is loaded when the first kernel is called, and
commands that call none do without.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from io import BytesIO
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from shoal.kernels.options import ENTRY, INLINE, INNER, MAKER, compile_once_per_type
from shoal.kernels.signatures import list_signatures

if TYPE_CHECKING:
    from shoal.kernels.workshop import CompileProgress, CompilerPool, CompileTask

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: dict[str, Any] = {}
"""Every kernel that Python calls, by name."""


def entry_kernel(function: F) -> F:
    """Compile a kernel that Python calls: found ready or kept, and other threads run beside it."""
    kernel = _EntryKernel(function, ENTRY)
    KERNELS[kernel.kept.name] = kernel
    return cast("F", kernel)


def inner_kernel(function: F) -> F:
    """Compile what only kernels call: no way in from Python, which halves the time to compile it."""
    return cast("F", _InnerKernel(function, INNER))


def maker_kernel(function: F) -> F:
    """Compile what only kernels call, and what makes arrays for them."""
    return cast("F", _InnerKernel(function, MAKER))


def inline_kernel(function: F) -> F:
    """Compile what the innermost loops call, where a call would cost more than what it does."""
    return cast("F", _InnerKernel(function, INLINE))


class _InnerKernel:
    """A function that numba is given when a kernel that calls it is compiled; in Python it is as written."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of it; the function itself where compiling is switched off."""
        made = _load_numba().njit(**self._options)(self.py_func)
        if made is not self.py_func:
            compile_once_per_type(made)
        return made

    def __getattr__(self, name: str) -> Any:
        """Be to numba what it knows."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


class _EntryKernel(_InnerKernel):
    """A kernel."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        super().__init__(function, options)
        self.kept = _KernelCache(function)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of it, with our cache instead of its own."""
        made = super().dispatcher
        if made is not self.py_func:
            made._cache = self.kept
            # Before its first compilation numba looks through all installed packages for types that they
            # add. Kernels take arrays and numbers only.
            made._compilation_chain_init_hook = lambda: None
        return made


@cache
def _load_numba() -> Any:
    import numba  # noqa: PLC0415
    from numba.core import event  # noqa: PLC0415

    cast("Any", event.Listener).register(_Stopwatch)
    cast("Any", event.register)("numba:compile", _STOPWATCH)
    return numba


def as_written(kernel: F) -> F:
    """A kernel as a function of Python, for what is too little to load numba for."""
    return cast("F", cast("Any", kernel).py_func)


def as_int64(value: int) -> int:
    """An integer of fixed type: numba compiles a function anew for every plain one, once for these."""
    return cast("int", np.int64(value))


class _Stopwatch:
    """Adds up the time in which kernels are compiled; those that another one needs are part of it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.here = 0
        """How many functions this process compiled itself."""
        self._begun: list[float] = []

    def notify(self, event: Any) -> None:
        """Hear from numba that it begins or ends to compile a function."""
        if event.is_start:
            self.here += 1
            self._begun.append(perf_counter())
            return
        begun = self._begun.pop()
        if not self._begun:
            self.seconds += perf_counter() - begun

    @contextmanager
    def measure_wait(self) -> Iterator[None]:
        """While another process compiles."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - begun


_STOPWATCH = _Stopwatch()


class _ProcessKernels:
    """The workshop and the store of this process, made when they are first asked for."""

    def __init__(self) -> None:
        self.reset_state()

    def reset_state(self) -> None:
        """Forget everything, as a process that was forked must: the threads stayed behind."""
        self._workshop: CompilerPool | None = None
        self._hear: Callable[[CompileProgress], None] | None = None
        self.closed = False
        """Whether this process is the one that compiles."""
        self.found: Counter[str] = Counter()
        self.brought: dict[str, bytes] = {}
        """Kernels that another process sent, packed."""

    @property
    def compiler_pool(self) -> CompilerPool:
        if self._workshop is None:
            from shoal.kernels.store import Store  # noqa: PLC0415  they load numba
            from shoal.kernels.workshop import CompilerPool  # noqa: PLC0415

            self._workshop = CompilerPool(Store())
            self._workshop.on_change = self._hear
        return self._workshop

    @property
    def opened_pool(self) -> CompilerPool | None:
        """The workshop, if anybody has asked for it."""
        return self._workshop

    def set_listener(self, hear: Callable[[CompileProgress], None] | None) -> None:
        """Call a function, from any thread, whenever compiling goes on."""
        self._hear = hear
        if self._workshop is not None:
            self._workshop.on_change = hear

    def find_kernel(self, file: str) -> bytes | None:
        """A kernel that is there."""
        if file in self.brought:
            self.found["brought"] += 1
            return zlib.decompress(self.brought[file])
        if file in self.compiler_pool.held:
            return self.compiler_pool.held[file]
        found = self.compiler_pool.store.find_kernel(file)
        if found is None:
            return None
        self.found["ready" if found[1] else "kept"] += 1
        return found[0]


_SHOP = _ProcessKernels()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHOP.reset_state)


class _KernelCache:
    """What numba takes for its cache of a kernel."""

    cache_path = None

    def __init__(self, function: Any) -> None:
        # Kernels made by one function share their code; what they close over tells them apart.
        around = repr([cell.cell_contents for cell in function.__closure__ or ()])
        self._print = sha256(function.__code__.co_code + around.encode()).hexdigest()
        self._module = function.__module__
        place = f"{self._module.removeprefix('shoal.kernels.')}.{function.__name__}".replace(
            "<lambda>", "lambda"
        )
        self.name = place if function.__closure__ is None else f"{place}.{self._print[:8]}"

    def make_task(self, signature: Any) -> CompileTask:
        """What would have to be compiled for these types."""
        from shoal.kernels.store import ENDING  # noqa: PLC0415  they load numba
        from shoal.kernels.workshop import CompileTask  # noqa: PLC0415

        types = tuple(getattr(signature, "args", signature))
        digest = sha256(f"{self._print} {types!r}".encode()).hexdigest()
        return CompileTask(self._module, self.name, types, f"{self.name}.{digest[:16]}{ENDING}")

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Find the kernel, or have it compiled; None where numba itself must."""
        if _SHOP.closed:
            return None
        task = self.make_task(signature)
        for content in self._load_candidates(task):
            with suppress(Exception):  # whatever is wrong with it, it can be compiled again
                return _load_kernel(content, context)
        return None

    def _load_candidates(self, task: CompileTask) -> Iterator[bytes]:
        # A generator: nothing is compiled unless what was found cannot be used.
        found = _SHOP.find_kernel(task.file)
        if found is not None:
            yield found
        if not task.module.startswith("shoal."):
            return  # another process would not find it
        with _STOPWATCH.measure_wait():
            made = _SHOP.compiler_pool.submit_task(task, urgent=True).result()
        if made is not None:
            yield made

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep nothing: what this process compiles is for its own processor."""

    def enable(self) -> None:
        """Be what numba expects."""

    disable = flush = enable


def _load_kernel(content: bytes, context: Any) -> Any:
    """What numba takes for a function that it has compiled.

    What numba needs to compile is not loaded, as its own cache would by ``context.refresh()``: that takes
    half a second, most of it for scipy.
    """
    from numba.core.compiler import CompileResult  # noqa: PLC0415

    _name_memory_functions()
    return cast("Any", CompileResult)._rebuild(context, *_Unpickler(BytesIO(content)).load())


@cache
def _name_memory_functions() -> None:
    """Let compiled code find the functions of C by which numba counts references to arrays.

    numba itself would also compile those that it has as LLVM code; a kernel has its own copy of them.
    """
    from llvmlite import binding  # noqa: PLC0415
    from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]  # noqa: PLC0415

    for name, address in cast("Any", _nrt_python).c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Unpickler(pickle.Unpickler):
    """Reads a kernel, and does not import the files of numba that functions in it come from."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _build_environment if name == "_rebuild_env" else found


def _build_environment(module: str, constants: list[Any], name: str) -> Any:
    """What compiled code would look names of Python up in; kernels, which know no objects, never do."""
    from numba.core.environment import Environment  # noqa: PLC0415

    made = cast("Any", Environment)({})
    made.consts[:] = constants
    made.env_name = name
    return made


def compile_here() -> None:
    """Compile every kernel in this process, as the one must that others ask for kernels."""
    _SHOP.closed = True


def prepare_kernels(
    kernels: Iterable[Callable[..., Any]], wide: bool | None = None, ruled: bool | None = None
) -> None:
    """Begin to compile kernels that will be called soon, if they are not there; several at once.

    The parameters choose among `signatures`.
    """
    for task in list_missing_tasks(kernels, wide, ruled):
        _SHOP.compiler_pool.submit_task(task)


def list_missing_tasks(
    kernels: Iterable[Callable[..., Any]], wide: bool | None = None, ruled: bool | None = None
) -> list[CompileTask]:
    """What would have to be compiled for kernels, or for some of their signatures, to be there."""
    there, store = _SHOP.brought, _SHOP.compiler_pool.store
    every = list_tasks(kernels, wide, ruled)
    return [task for task in every if task.file not in there and not store.has_kernel(task.file)]


def list_tasks(
    kernels: Iterable[Any], wide: bool | None = None, ruled: bool | None = None
) -> list[CompileTask]:
    """Every way in which kernels can be compiled, or some of them."""
    compiled = [kernel for kernel in kernels if kernel.dispatcher is not kernel.py_func]
    return [
        kernel.kept.make_task(each) for kernel in compiled for each in list_signatures(kernel, wide, ruled)
    ]


def get_compiler_pool() -> CompilerPool:
    """Where kernels are compiled for this process."""
    return _SHOP.compiler_pool


def get_compile_progress() -> CompileProgress | None:
    """How far compiling is; None while nothing is compiled."""
    return None if _SHOP.opened_pool is None else _SHOP.opened_pool.get_progress()


def watch_compiling(hear: Callable[[CompileProgress], None] | None) -> None:
    """Call a function, from any thread, whenever compiling goes on."""
    _SHOP.set_listener(hear)


def could_not_keep() -> bool:
    """Whether kernels were compiled for which there is no place."""
    return _SHOP.opened_pool is not None and bool(_SHOP.opened_pool.held)


def count_kernel_origins() -> dict[str, int]:
    """Where the kernels of this process came from.

    ``ready``: with the package; ``kept``: from an earlier time; ``brought``: from another process;
    ``compiled``: made for this one; ``here``: functions that this process had to compile itself.
    """
    shop = _SHOP.compiler_pool
    kept = _SHOP.found["kept"] + shop.awaited
    found = {"ready": _SHOP.found["ready"], "kept": kept, "brought": _SHOP.found["brought"]}
    return {**found, "compiled": shop.compiled, "here": _STOPWATCH.here}


class KernelBundle:
    """Kernels that travel: where it is unpickled, they need not be compiled.

    Only a process with the same versions on the same kind of machine can use them; others pass them by.
    """

    def __init__(self, kernels: Iterable[Callable[..., Any]], wide: bool | None = None) -> None:
        wanted = list(kernels)
        prepare_kernels(wanted, wide)
        self._build = get_compiler_pool().store.build
        self._files = {task.file: _compress_kernel(task) for task in list_tasks(wanted, wide)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Machine code of another build may not run here; it is left alone.
        if self._build == get_compiler_pool().store.build:
            _SHOP.brought.update({file: content for file, content in self._files.items() if content})


def _compress_kernel(task: CompileTask) -> bytes:
    """A kernel, small; nothing where it cannot be had."""
    found = _SHOP.find_kernel(task.file) or get_compiler_pool().submit_task(task, urgent=True).result()
    return b"" if found is None else zlib.compress(found)


def seconds_compiling() -> float:
    """How long this process has been compiling kernels or waiting for them, once for a version."""
    return _STOPWATCH.seconds


def working_time() -> float:
    """A clock that stands still while kernels are compiled: the first run on a machine is like any other."""
    return perf_counter() - seconds_compiling()
