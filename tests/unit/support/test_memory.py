"""What the system tells about the memory of this process."""

import sys

import pytest

from shoal.support import memory
from shoal.support.memory import measure_resident_memory, return_free_memory


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_memory_of_this_process_is_known():
    return_free_memory()
    assert measure_resident_memory() > 1_000_000


def test_elsewhere_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "Path", lambda _: tmp_path / "absent")
    assert measure_resident_memory() is None
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    return_free_memory()
