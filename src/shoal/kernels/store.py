"""Where compiled kernels are kept: in the package, as wheels bring them, and in a folder of the user.

A kernel is one file, named by what it was made from: written beside its name and then renamed, so that it is
there whole or not at all, and with its own checksum, so that a damaged one is as good as none. Kernels of
other versions of Shoal, Python or numba, and for other processors, lie in other folders.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import uuid4

import llvmlite
import numba
from numba.core import config as _config

from shoal import __version__

try:
    import fcntl
except ImportError:  # elsewhere each process compiles for itself, and the last one's file stays
    fcntl = None  # type: ignore[assignment]

_CONFIG = cast("Any", _config)  # its settings are made when it is imported

READY = Path(__file__).parent / "ready"
"""Kernels that came with the package."""
ENDING = ".kernel"
_MARK = b"shoal kernel 1\n"
_SUM = 32  # bytes of a checksum
_BUILDS = 12  # folders of other versions that are left when a new one comes
_PAUSE = 0.05  # seconds between two looks at what another process compiles

# All kernels are compiled for a processor that every other one of its kind can stand in for. So those that
# are shipped, kept and compiled here are the same machine code. It is hardly slower, see
# docs/decisions/kernels.md.
BASELINE = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}

# What a kernel calls may lie in another file, so a change of any of them is a change of all.
# These files have no part in what a kernel becomes.
_NONE = {"__init__.py", "compiled.py", "every.py", "signatures.py", "store.py", "workshop.py"}
_FILES = [
    *(path for path in sorted(Path(__file__).parent.glob("*.py")) if path.name not in _NONE),
    Path(__file__).parents[1] / "support" / "arithmetic.py",
]
_STAMP = sha256(b"".join(path.read_bytes() for path in _FILES)).hexdigest()


def choose_target_settings() -> dict[str, str]:
    """Settings of numba by which kernels are compiled: for the baseline, unless somebody names another."""
    if _CONFIG.CPU_NAME is not None:
        features = {} if _CONFIG.CPU_FEATURES is None else {"NUMBA_CPU_FEATURES": _CONFIG.CPU_FEATURES}
        return {"NUMBA_CPU_NAME": _CONFIG.CPU_NAME, **features}
    return BASELINE


def make_build_name() -> str:
    """The name of what kernels depend on besides themselves: versions, processor, settings, all sources."""
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    settings = (_CONFIG.OPT, _CONFIG.BOUNDSCHECK, _CONFIG.DEBUGINFO_DEFAULT, _CONFIG.LOOP_VECTORIZE)
    more = (_CONFIG.SLP_VECTORIZE, _CONFIG.ENABLE_AVX)
    parts = (_STAMP, numba.__version__, llvmlite.__version__, sys.platform, platform.machine())
    text = repr(
        (
            __version__,
            python,
            *parts,
            sorted(choose_target_settings().items()),
            *map(str, settings),
            *map(str, more),
        )
    )
    return f"{__version__}-{python}-{sha256(text.encode()).hexdigest()[:12]}"


def cache_folder() -> Path:
    """The folder of this user: ``SHOAL_CACHE``, or where caches are kept on this system."""
    if named := os.environ.get("SHOAL_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "shoal" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "shoal"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


def kernel_folders() -> list[Path]:
    """Where the user's kernels are, the best place first: where homes are read-only, others must do."""
    places = []
    with suppress(RuntimeError):  # there is no home
        places.append(cache_folder())
    if hasattr(os, "geteuid"):
        places.append(Path(tempfile.gettempdir()) / f"shoal-{os.geteuid()}")
    return [place / "kernels" for place in places]


class Store:
    """The kernels of one build."""

    def __init__(self) -> None:
        self.build = make_build_name()
        self._ready = READY / self.build
        self._own = [place / self.build for place in kernel_folders()]

    @property
    def folder(self) -> Path | None:
        """Where kernels are kept, if they can be."""
        return self._own[0] if self._own else None

    def find_kernel(self, name: str) -> tuple[bytes, bool] | None:
        """A kernel, and whether it came with the package; None if there is none, or none that is whole."""
        found = _read_content(self._ready / name)
        if found is not None:
            return found, True
        for place in self._own:
            found = _read_content(place / name) if _is_trusted(place) else None
            if found is not None:
                return found, False
        return None

    def has_kernel(self, name: str) -> bool:
        """Whether there is such a file, for a plan."""
        return any((place / name).exists() for place in (self._ready, *self._own))

    def is_in_place(self, name: str) -> bool:
        """Whether a kernel is where it should be: in the package, or in the first of the user's folders."""
        return any((place / name).exists() for place in (self._ready, *self._own[:1]))

    def keep_kernel(self, name: str, content: bytes) -> bool:
        """Write a kernel where it is possible; False on full disks and in read-only folders."""
        return any(_write_kernel(place, name, content) for place in self._own)

    @contextmanager
    def lock_kernel(self, name: str) -> Iterator[None]:
        """Wait until no other process makes this kernel, so that of many one compiles and all others wait."""
        handle = next(
            (opened for place in self._own if (opened := _open_lock(place, name)) is not None), None
        )
        if handle is None:
            yield
            return
        try:
            _wait_for_lock(handle)
            yield
        finally:
            os.close(handle)


def _write_kernel(place: Path, name: str, content: bytes) -> bool:
    beside = place / f".{name}.{uuid4().hex[:8]}.tmp"
    try:
        _make_folder(place)
        if not _is_trusted(place):
            return False
        beside.write_bytes(_MARK + sha256(content).digest() + content)
        beside.replace(place / name)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        return False
    return True


def _make_folder(place: Path) -> None:
    """Make a folder for a build that only this user can write to, and remove those built longest ago.

    With every change of a kernel in a checkout there is one more.
    """
    if place.is_dir():
        return
    place.mkdir(0o700, parents=True, exist_ok=True)
    others = [path for path in place.parent.iterdir() if path.is_dir() and path != place]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in others[_BUILDS:]:
        shutil.rmtree(old, ignore_errors=True)


def _open_lock(place: Path, name: str) -> int | None:
    if fcntl is None:
        return None
    try:
        _make_folder(place)
        return os.open(place / f".{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None


def _wait_for_lock(handle: int) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return


def _read_content(path: Path) -> bytes | None:
    """What a file holds, if it is whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = len(_MARK) + _SUM
    content = data[head:]
    whole = data[:head] == _MARK + sha256(content).digest()
    return content if whole else None


def _is_trusted(place: Path) -> bool:
    """Whether nobody but this user, and root, can write here: kernels are programs, and will be run."""
    try:
        about = place.lstat()
    except OSError:
        return False
    if sys.platform == "win32":
        return True
    own = about.st_uid in (0, os.geteuid())
    return own and stat.S_ISDIR(about.st_mode) and not about.st_mode & stat.S_IWOTH


class Build(NamedTuple):
    """The kernels of one version in a folder of the user."""

    folder: Path
    kernels: int
    bytes: int


def list_builds() -> list[Build]:
    """What the user's folders hold."""
    folders = [path for place in kernel_folders() if place.is_dir() for path in sorted(place.iterdir())]
    return [_measure_build(folder) for folder in folders if folder.is_dir()]


def ready_kernels() -> Build:
    """What came with the package and fits."""
    return _measure_build(READY / make_build_name())


def _measure_build(folder: Path) -> Build:
    files = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    kernels = sum(path.name.endswith(ENDING) for path in files)
    return Build(folder, kernels, sum(path.stat().st_size for path in files))


def remove_kernels() -> None:
    """Remove all kernels from the user's folders."""
    for place in kernel_folders():
        if place.exists():
            shutil.rmtree(place)
