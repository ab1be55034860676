"""Kernels are found ready or kept, or compiled once; whatever goes wrong costs time and nothing else."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest
from tests.cases import thin_out

from shoal.algorithms.exact.budget import Budget
from shoal.kernels import compiled, lattice
from shoal.kernels.compiled import seconds_compiling
from shoal.kernels.store import ENDING

# Calls one small kernel, and tells where it came from. The first argument stands for the source of kernels.
SCRIPT = """
import json, os, sys, tempfile
import numpy as np
from shoal.kernels import store
store._STAMP = sys.argv[1]
tempfile.tempdir = os.environ["SPARE"]
READY
from shoal.kernels.compiled import count_kernel_origins
from shoal.kernels.lattice import find_smallest_below
found = find_smallest_below(np.ones((3, 2), np.int64), np.array([9, 3, 1]), 3, np.ones(2, np.int64))
print(json.dumps({**count_kernel_origins(), "found": int(found)}))
"""


class Place:
    """A folder for kernels, and processes that use it."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.spare = folder / "cache", folder / "spare"

    def start(self, stamp: str = "old", ready: str = "") -> subprocess.Popen[str]:
        settings = {"SHOAL_CACHE": str(self.cache), "SPARE": str(self.spare)}
        line = [sys.executable, "-c", SCRIPT.replace("READY", ready), stamp]
        return subprocess.Popen(line, env=os.environ | settings, stdout=subprocess.PIPE, text=True)

    def call(self, stamp: str = "old", ready: str = "") -> str:
        """Where the kernel came from in a new process."""
        return origin(self.start(stamp, ready))

    def files(self) -> list[Path]:
        return [path for path in self.cache.rglob("*") if path.is_file() and not path.name.endswith(".lock")]


def origin(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    counts = json.loads(said)
    assert counts.pop("found") == 2
    (one,) = (name for name, number in counts.items() if number)
    return one


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def own(monkeypatch, tmp_path):
    """An empty cache for this process, and no folder instead of it."""
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    return tmp_path / "cache"


def test_the_clock_of_a_search_stands_still_while_kernels_are_compiled():
    @compiled.inner_kernel
    def inside(x):
        return x + 1

    @compiled.entry_kernel
    def kernel(x):
        return inside(x) * 2

    budget, before = Budget(), seconds_compiling()
    assert kernel(3) == 8
    compiling = seconds_compiling() - before
    assert compiling > budget.seconds_spent >= 0
    assert kernel(4) == 10
    assert seconds_compiling() - before == compiling


def test_what_is_called_with_plain_numbers_is_compiled_once():
    @compiled.inner_kernel
    def double(number: int) -> int:
        return 2 * number

    @compiled.inner_kernel
    def add_up(number: int) -> int:
        return double(0) + double(1) + double(number)

    add_up.dispatcher.compile((numba.int64,))
    assert list(double.dispatcher.overloads) == [(numba.int64,)]


@pytest.mark.exhaustive
def test_a_kernel_is_compiled_anew_when_any_kernel_has_changed_and_versions_lie_side_by_side(place):
    """What a kernel calls may lie in another file."""
    stamps = ("old", "old", "new", "new", "old")
    assert [place.call(stamp) for stamp in stamps] == ["compiled", "kept", "compiled", "kept", "kept"]
    assert len(place.files()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", thin_out([lambda data: data[:-9], lambda data: data[:-9] + bytes(9), lambda _: b""], 3)
)
def test_a_damaged_file_is_as_good_as_none(place, damage):
    assert place.call() == "compiled"
    (file,) = place.files()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert [place.call(), place.call()] == ["compiled", "kept"]
    assert len(file.read_bytes()) == len(whole)


@pytest.mark.exhaustive
def test_thirty_processes_at_once_compile_a_kernel_once(place):
    running = [place.start() for _ in range(30)]
    found = [origin(process) for process in running]
    assert found.count("compiled") == 1
    assert found.count("kept") == 29
    assert len(place.files()) == 1


@pytest.mark.exhaustive
def test_where_nothing_can_be_kept_every_process_compiles_for_itself(place):
    for folder in (place.cache, place.spare):
        folder.write_text("a file where a folder should be")
    assert [place.call(), place.call()] == ["compiled", "compiled"]


@pytest.mark.exhaustive
def test_where_the_cache_takes_nothing_the_folder_for_temporary_files_does(place):
    place.cache.write_text("a file where a folder should be")
    place.spare.mkdir()
    assert [place.call(), place.call()] == ["compiled", "kept"]


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
def test_a_folder_that_others_can_write_to_is_not_used(place):
    """A kernel is a program: who can put one there could do everything that the user can."""
    place.spare.write_text("a file where a folder should be")
    assert place.call() == "compiled"
    (file,) = place.files()
    file.parent.chmod(0o777)
    assert place.call() == "compiled"


@pytest.mark.slow
def test_kernels_in_the_package_come_first(place, tmp_path):
    assert place.call() == "compiled"
    (file,) = place.files()
    ready = tmp_path / "ready" / file.parent.name
    ready.mkdir(parents=True)
    file.rename(ready / file.name)
    from_package = f"from pathlib import Path; store.READY = Path({str(tmp_path / 'ready')!r})"
    assert place.call(ready=from_package) == "ready"
    (ready / file.name).write_bytes(b"damaged")
    assert place.call(ready=from_package) == "compiled"


@pytest.mark.exhaustive
def test_without_a_process_to_compile_in_it_is_compiled_here_and_not_kept(place):
    nobody = "sys.executable = 'there is no such program'"
    assert [place.call(ready=nobody), place.call(ready=nobody)] == ["here", "here"]
    assert place.files() == []


@pytest.mark.exhaustive
def test_kernels_travel(place, tmp_path):
    luggage = tmp_path / "luggage"
    pack = f"""
import pickle
from shoal.kernels.compiled import KernelBundle
from shoal.kernels.lattice import find_smallest_below
open({str(luggage)!r}, "wb").write(pickle.dumps(KernelBundle([find_smallest_below])))
"""
    place.start(ready=pack).communicate(timeout=300)
    there = Place(tmp_path / "there")
    unpack = f"import pickle; pickle.load(open({str(luggage)!r}, 'rb'))"
    assert there.call(ready=unpack) == "brought"
    assert there.call("another version", ready=unpack) == "compiled"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forked_process_has_kernels_too(place):
    forked = """
from shoal.kernels.hilbert import hilbert_keys
hilbert_keys(np.zeros((1, 1), np.uint32), 1)
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    print(json.dumps({"found": 2, "parent": 1}), flush=True)
    os._exit(0)
"""
    script = forked + "sys.stdout = open(os.devnull, 'w')"
    assert place.call(ready=script.replace("parent", "forked")) == "forked"
    assert len(place.files()) == 2


def test_a_half_written_file_is_never_seen(monkeypatch, own):
    """Nor does it stay where the disk is full."""
    from shoal.kernels.store import Store

    store = Store()
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        assert not store.keep_kernel(f"some{ENDING}", b"content")
    assert [path for path in own.rglob("*") if path.is_file()] == []
    assert store.keep_kernel(f"some{ENDING}", b"content")
    assert store.find_kernel(f"some{ENDING}") == (b"content", False)


def test_old_builds_make_room(monkeypatch, own):
    from shoal.kernels import store

    for number in range(store._BUILDS + 3):
        monkeypatch.setattr(store, "_STAMP", str(number))
        assert store.Store().keep_kernel(f"some{ENDING}", b"content")
        os.utime(store.Store().folder, (number, number))
    assert len(store.list_builds()) == store._BUILDS + 1
    assert store.Store().find_kernel(f"some{ENDING}") == (b"content", False)


@pytest.mark.exhaustive
def test_what_is_ahead_is_known(monkeypatch, own):
    shop = compiled._ProcessKernels()
    monkeypatch.setattr(compiled, "_SHOP", shop)
    assert [task.kernel for task in compiled.list_missing_tasks([lattice.find_smallest_below])] == [
        "lattice.find_smallest_below"
    ]
    assert compiled.get_compile_progress() is None
    compiled.prepare_kernels([lattice.find_smallest_below, lattice.raise_bounds])
    standing = compiled.get_compile_progress()
    assert (standing.done, standing.total, standing.share) == (0, 2, 0.0)
    assert str(standing) == "compiling kernels, once for this version: 0 of 2"
    for task in compiled.list_tasks([lattice.find_smallest_below, lattice.raise_bounds]):
        assert shop.compiler_pool.submit_task(task, urgent=True).result() is not None
    assert compiled.list_missing_tasks([lattice.find_smallest_below, lattice.raise_bounds]) == []
    assert compiled.get_compile_progress() is None
    shop.compiler_pool.close_processes()
