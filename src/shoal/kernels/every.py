"""All kernels that there are, to have them before anybody calls one."""

from __future__ import annotations

import importlib
import pkgutil
from typing import NamedTuple

import shoal.kernels
from shoal.kernels.compiled import KERNELS, get_compiler_pool, list_tasks


class CompileSummary(NamedTuple):
    """What came of compiling everything."""

    compiled: int
    there: int
    failed: list[str]
    """What went wrong."""
    homeless: int
    """Kernels that could not be kept where they should be."""


def load_all() -> None:
    """Import every file that has kernels."""
    for module in pkgutil.iter_modules(shoal.kernels.__path__):
        importlib.import_module(f"shoal.kernels.{module.name}")


def compile_all() -> CompileSummary:
    """Compile all kernels that are not there, for every way in which they can be called."""
    load_all()
    shop, every = get_compiler_pool(), list_tasks(KERNELS.values())
    before = shop.compiled
    lacking = [task for task in every if not shop.store.is_in_place(task.file)]
    # The list orders all of them before the first is waited for, so they compile side by side.
    for task, future in [(task, shop.submit_task(task)) for task in lacking]:
        content = future.result()
        if content is not None and not shop.store.is_in_place(task.file):
            shop.store.keep_kernel(
                task.file, content
            )  # it was in a folder that had to do instead of the first one
    homeless = sum(not shop.store.is_in_place(task.file) for task in lacking)
    made = shop.compiled - before
    return CompileSummary(made, len(every) - made, list(shop.troubles), homeless)
