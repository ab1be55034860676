"""Kernels that are asked for together are compiled at the same time, each by one process."""

from contextlib import nullcontext
from threading import Barrier

import pytest

from shoal.kernels import workshop
from shoal.kernels.workshop import CompilerPool, CompileTask


class EmptyStore:
    """A store that has nothing and keeps nothing."""

    def lock_kernel(self, _file):
        return nullcontext()

    def find_kernel(self, _file):
        return None

    def keep_kernel(self, _file, _content):
        return False


def make_task(name):
    return CompileTask("module", name, (), name)


@pytest.fixture
def compile_together(monkeypatch):
    """A pool of two processes; a kernel named ``both`` is compiled once another process compiles one too."""
    meeting = Barrier(2, timeout=60)

    class Process:
        def compile_task(self, task):
            if task.kernel.startswith("both"):
                meeting.wait()
            return task.kernel.encode()

        def end_process(self):
            pass

    monkeypatch.setattr(workshop, "_CompilerProcess", Process)
    monkeypatch.setattr(workshop, "_count_processors", lambda: 2)
    pool = CompilerPool(EmptyStore())

    def compile_kernels(*names):
        futures = [pool.submit_task(make_task(name)) for name in names]
        return [future.result(60) for future in futures]

    return compile_kernels


def test_from_the_start(compile_together):
    assert compile_together("both one", "both two") == [b"both one", b"both two"]


def test_after_one_that_was_alone(compile_together):
    assert compile_together("first") == [b"first"]
    assert compile_together("both one", "both two") == [b"both one", b"both two"]
    assert compile_together("both three", "both four", "last") == [b"both three", b"both four", b"last"]
