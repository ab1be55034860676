"""Kernels that have to be compiled: several at once, each in one process, kept for the next time."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Condition, Thread
from time import perf_counter
from typing import Any, NamedTuple, cast

from numba.core.serialize import dumps

from shoal.kernels.store import Store, choose_target_settings
from shoal.kernels.worker import receive_message, send_message

_MOST = 8  # processes: each takes some 400 MB
_IDLE = 5.0  # seconds after which a process that has nothing to do ends
# The same search path, so that the process finds this very package. numba loads scipy where there is one, to
# compile functions of linear algebra, which no kernel calls.
_START = """
import sys
sys.path[:] = {path!r}
sys.modules["scipy"] = None
from shoal.kernels.worker import main
main()
"""
# Nobody reads what numba says, and to colour it takes time.
_PLAIN = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}


class CompileTask(NamedTuple):
    """A kernel to be compiled."""

    module: str
    kernel: str
    """Its name among all kernels."""
    signature: tuple[Any, ...]
    file: str
    """The name under which it is kept."""


class CompileProgress(NamedTuple):
    """How far compiling is."""

    done: int
    total: int
    seconds: float
    """Since the first of them was asked for."""

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""
        return self.done / self.total

    def __str__(self) -> str:
        left = self.seconds * (self.total - self.done) / max(self.done, 1)
        about = f", about {max(left, 1.0):.0f} s left" if self.done else ""
        return f"compiling kernels, once for this version: {self.done} of {self.total}{about}"


class _CompilerProcess:
    """A process that compiles."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_PLAIN, **choose_target_settings()},
        )

    def compile_task(self, task: CompileTask) -> bytes:
        """Have a kernel compiled; OSError, EOFError or ValueError where that is impossible."""
        process = cast("Any", self._process)
        send_message(process.stdin, cast("Any", dumps)((task.module, task.kernel, task.signature)))
        answer = receive_message(process.stdout)
        if answer[:1] != b"+":
            raise ValueError(answer[1:].decode())
        return answer[1:]

    def end_process(self) -> None:
        """Let it go."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                cast("Any", pipe).close()
        self._process.wait()


class CompilerPool:
    """Has kernels compiled in as many processes as there are processors."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.compiled = 0
        """How many kernels were compiled for this process."""
        self.awaited = 0
        """How many another process compiled in the meantime."""
        self.held: dict[str, bytes] = {}
        """Kernels that could not be kept anywhere else."""
        self.troubles: list[str] = []
        self.on_change: Callable[[CompileProgress], None] | None = None
        self._workers: set[_CompilerProcess] = set()
        self._waiting: deque[CompileTask] = deque()
        self._ordered: dict[str, Future[bytes | None]] = {}
        self._changed = Condition()
        self._threads = self._idle = 0
        self._done = self._total = 0
        self._begun = 0.0
        atexit.register(self.close_processes)

    def close_processes(self) -> None:
        """End all processes: nobody is there any more who would take what they compile."""
        for worker in list(self._workers):
            worker.end_process()

    def submit_task(self, task: CompileTask, urgent: bool = False) -> Future[bytes | None]:
        """Have a kernel compiled some time, or next; the result is None where that is impossible."""
        with self._changed:
            if task.file in self._ordered:
                if urgent and task in self._waiting:
                    self._waiting.remove(task)
                    self._waiting.appendleft(task)
                return self._ordered[task.file]
            future = self._ordered[task.file] = Future[bytes | None]()
            # Everything asked for before is done: progress starts over.
            if self._done == self._total:
                self._done, self._total, self._begun = 0, 0, perf_counter()
            self._total += 1
            self._waiting.append(task) if not urgent else self._waiting.appendleft(task)
            # An idle thread takes one task, and is idle until it has: others get a thread of their own.
            if self._idle < len(self._waiting) and self._threads < _count_processors():
                self._threads += 1
                Thread(target=self._run_tasks, daemon=True).start()
            self._changed.notify()
        self._notify_progress()
        return future

    def get_progress(self) -> CompileProgress | None:
        """How far compiling is; None when there is nothing to do."""
        with self._changed:
            if self._done == self._total:
                return None
            return CompileProgress(self._done, self._total, perf_counter() - self._begun)

    def _notify_progress(self) -> None:
        standing = self.get_progress()
        if self.on_change is not None and standing is not None:
            self.on_change(standing)

    def _run_tasks(self) -> None:
        """What a thread does: with a process of its own, one task after another."""
        worker: _CompilerProcess | None = None
        while (task := self._wait_for_task()) is not None:
            content = None
            try:
                with self.store.lock_kernel(task.file):
                    # Another process may have compiled it while this one waited for the lock.
                    found = self.store.find_kernel(task.file)
                    if found is None:
                        worker = worker or self._start_worker()
                        content = self._keep_kernel(task, worker.compile_task(task))
                    else:
                        self.awaited += 1
                        content = found[0]
            except (OSError, EOFError, ValueError) as error:
                self.troubles.append(f"{task.kernel}: {error}")
                self._end_worker(worker)
                worker = None
            self._finish_task(task, content)
        self._end_worker(worker)

    def _start_worker(self) -> _CompilerProcess:
        worker = _CompilerProcess()
        self._workers.add(worker)
        return worker

    def _end_worker(self, worker: _CompilerProcess | None) -> None:
        if worker is not None:
            worker.end_process()
            self._workers.discard(worker)

    def _keep_kernel(self, task: CompileTask, content: bytes) -> bytes:
        """What was compiled, written down for the next time; or held for this time, where that fails."""
        self.compiled += 1
        if not self.store.keep_kernel(task.file, content):
            self.held[task.file] = content
        return content

    def _wait_for_task(self) -> CompileTask | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting, timeout=_IDLE)
            self._idle -= 1
            if self._waiting:
                return self._waiting.popleft()
            # Under the same lock as the look at the queue, so that no task is left without a
            # thread.
            self._threads -= 1
            return None

    def _finish_task(self, task: CompileTask, content: bytes | None) -> None:
        with self._changed:
            self._done += 1
            # A later request finds the kernel in the store or in `held`.
            future = self._ordered.pop(task.file)
        self._notify_progress()
        future.set_result(content)


def _count_processors() -> int:
    """How many processes to compile in."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST)
