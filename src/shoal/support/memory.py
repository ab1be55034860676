"""The memory of this process: how much it has, and how to give back what it does not use."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path


def measure_resident_memory() -> int | None:
    """Bytes of memory that this process has, or None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):  # only Linux tells so
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def return_free_memory() -> None:
    """Give memory that was freed back to the system, as far as allocators do so when asked."""
    gc.collect()
    # It has an allocator of its own, if it was loaded at all.
    if (pyarrow := sys.modules.get("pyarrow")) is not None:
        pyarrow.default_memory_pool().release_unused()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):  # only the C library of GNU has it
        return
