"""``shoal cache``: what is kept, remove it, compile everything."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.kernels import compiled, every, lattice
from shoal.kernels.store import make_build_name


@pytest.fixture
def cache(monkeypatch, tmp_path, tmp_path_factory):
    """An empty cache, and two small kernels in place of all."""
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("spare")))
    shop = compiled._ProcessKernels()
    monkeypatch.setattr(compiled, "_SHOP", shop)
    small = (lattice.find_smallest_below, lattice.raise_bounds)
    some = {name: kernel for name, kernel in compiled.KERNELS.items() if kernel in small}
    monkeypatch.setattr(every, "KERNELS", some)
    yield tmp_path / "cache"
    shop.compiler_pool.close_processes()


@pytest.mark.slow
def test_kernels_are_compiled_listed_and_removed(shoal, cache):
    assert "nothing is kept" in shoal.succeeds("cache", "info")
    assert shoal.succeeds("cache", "warm") == "compiled 2 kernels; 0 were there\n"
    assert shoal.succeeds("cache", "warm") == "compiled 0 kernels; 2 were there\n"
    text = shoal.succeeds("cache", "info")
    assert str(cache / "kernels") in text
    assert make_build_name() in text
    assert "2 kernels" in text
    found = json.loads(shoal.succeeds("cache", "info", "--json"))
    assert found["build"] == make_build_name()
    (kept,) = found["kept"]
    assert (kept["kernels"], kept["now"], kept["folder"]) == (
        2,
        True,
        str(cache / "kernels" / make_build_name()),
    )
    assert shoal.succeeds("cache", "clear").startswith("removed 2 kernels, 0.")
    assert not (cache / "kernels").exists()
    assert shoal.succeeds("cache", "clear", "--quiet") == ""


@pytest.mark.exhaustive
def test_a_folder_that_takes_nothing_is_named(shoal, cache):
    cache.write_text("a file where a folder should be")
    said = shoal.fails(2, "cache", "warm")
    assert said.startswith(f"error: nothing can be kept in {cache / 'kernels'}: set SHOAL_CACHE to a folder")


# Whole commands where something is wrong with the cache. In each of them the release is the same.

WATCHED = """
import atexit, json, os, resource, sys, tempfile
from shoal.__main__ import main

# This folder or none: Python would otherwise try /tmp next, where other runs keep their kernels.
tempfile.tempdir = os.environ["TMPDIR"]

if largest := int(os.environ.get("LARGEST", 0)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

def tell():
    from shoal.kernels.compiled import count_kernel_origins
    json.dump(count_kernel_origins(), sys.stderr)

atexit.register(tell)
main()
"""
LINE = ("anonymize", "people.csv", "-q", "age,sex", "-s", "illness", "-k", "3", "--others", "drop")
TABLE = "age,sex,illness\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(15))


class Circumstances:
    """A folder with a table, a cache and a folder for temporary files; commands that run there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache, self.spare = folder, folder / "cache", folder / "spare"
        self.spare.mkdir()
        (folder / "people.csv").write_text(TABLE, "utf-8")

    def start(self, to: str = "release.csv", limit: int | None = None) -> subprocess.Popen[str]:
        """A command; ``limit`` is how many bytes a file can have before the disk is full."""
        folders = {"SHOAL_CACHE": str(self.cache), "TMPDIR": str(self.spare), "HOME": str(self.folder)}
        line = [sys.executable, "-c", WATCHED, *LINE, "-a", "mondrian", "-o", to, "--quiet"]
        limited = {} if limit is None else {"LARGEST": str(limit)}
        return subprocess.Popen(
            line, cwd=self.folder, env=os.environ | folders | limited, stderr=subprocess.PIPE, text=True
        )

    def run(self, **how: Any) -> dict[str, int]:
        """Where the kernels of a command came from."""
        return self.end(self.start(**how))

    def end(self, process: subprocess.Popen[str]) -> dict[str, int]:
        said = process.communicate(timeout=900)[1]
        assert process.returncode == 0, said
        return json.loads(said)

    def kernels(self) -> list[Path]:
        return sorted(self.cache.rglob("*.kernel"))


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> Circumstances:
    """A run with nothing wrong, and what it keeps."""
    here = Circumstances(tmp_path_factory.mktemp("usual"))
    assert here.run()["compiled"] > 0
    assert here.run()["compiled"] == 0
    return here


@pytest.fixture
def place(tmp_path, usual) -> Iterator[Circumstances]:
    """Another folder, whose release must be that of the usual one."""
    here = Circumstances(tmp_path)
    yield here
    expected = (usual.folder / "release.csv").read_bytes()
    released = [path.read_bytes() for path in tmp_path.glob("release*.csv")]
    assert released == [expected] * max(len(released), 1)


@pytest.mark.exhaustive
def test_no_folder_can_be_written_to(place):
    """As where the install and the home are read-only: every run compiles, and none fails."""
    place.cache.write_text("a file where a folder should be")
    place.spare.rmdir()
    place.spare.write_text("another one")
    found = place.run()
    assert found["compiled"] > 0 == found["kept"]


@pytest.mark.exhaustive
def test_a_full_disk(place):
    """Nothing is kept, not even a part; the release itself is small enough."""
    found = place.run(limit=4_000)
    assert found["compiled"] > 0 == found["kept"]
    assert place.kernels() == []
    assert list(place.cache.rglob("*.tmp")) == []


@pytest.mark.exhaustive
def test_damaged_files(place, usual):
    shutil.copytree(usual.cache, place.cache)
    for number, path in enumerate(place.kernels()):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if number % 2 else data[:-9] + bytes(9))
    found = place.run()
    assert found["compiled"] > 0 == found["kept"]
    assert [path.stat().st_size for path in place.kernels()] == [
        path.stat().st_size for path in usual.kernels()
    ]


@pytest.mark.exhaustive
def test_a_cache_that_can_only_be_read_is_used(place, usual):
    """As in an image in which an administrator has warmed it."""
    shutil.copytree(usual.cache, place.cache)
    for path in (place.cache, *place.cache.rglob("*")):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    found = place.run()
    for path in (place.cache, *place.cache.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    assert (found["compiled"], found["here"]) == (0, 0)
    assert found["kept"] > 0


@pytest.mark.exhaustive
def test_another_version_beside_it(place, usual):
    shutil.copytree(usual.cache, place.cache)
    (own,) = {path.parent for path in place.kernels()}
    own.rename(own.with_name("0.0.9-cpython-311-000000000000"))
    assert place.run()["compiled"] > 0
    assert len({path.parent for path in place.kernels()}) == 2
    assert place.run()["compiled"] == 0


@pytest.mark.exhaustive
def test_many_commands_at_once_on_an_empty_cache(place, usual):
    """Thirty of one kernel are tried in tests/unit/kernels/test_compiled.py; these are whole commands."""
    running = [place.start(to=f"release{number}.csv") for number in range(6)]
    found = [place.end(process) for process in running]
    assert sum(each["compiled"] for each in found) == len(place.kernels()) == len(usual.kernels())
    assert len(list(place.folder.glob("release*.csv"))) == 6
