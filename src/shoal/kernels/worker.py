"""A process that compiles kernels for another one, which asks on standard input and reads the answers.

A process of its own, because numba compiles one function at a time and for one kind of processor, and what
else the caller compiles with numba is none of our business.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import signal
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, cast

from numba.core import codegen
from numba.core.serialize import dumps

LENGTH = 8  # bytes that say how long a message is
_LITTER = 1_000_000  # objects that are left behind before garbage is looked for: some 300 MB


def send_message(stream: BinaryIO, content: bytes) -> None:
    """Write a message."""
    stream.write(len(content).to_bytes(LENGTH, "little") + content)
    stream.flush()


def receive_message(stream: BinaryIO) -> bytes:
    """Read a message; EOFError where the other side has left."""
    length = stream.read(LENGTH)
    content = stream.read(int.from_bytes(length, "little")) if len(length) == LENGTH else b""
    if not content:
        raise EOFError
    return content


def main() -> None:
    """Compile what is asked for, one kernel after another, until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    gc.disable()  # to look for garbage again and again takes an eighth of the time
    compile_once()
    asked: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read_questions, args=(asked,), daemon=True).start()
    while True:
        send_message(answers, _answer_question(asked.get()))
        if gc.get_count()[0] > _LITTER:
            gc.collect()


def _read_questions(asked: SimpleQueue[bytes]) -> None:
    while True:
        try:
            asked.put(receive_message(sys.stdin.buffer))
        except EOFError:
            os._exit(0)  # in the midst of compiling, too


def _answer_question(question: bytes) -> bytes:
    """A compiled kernel, pickled; or why there is none."""
    module, name, signature = pickle.loads(question)
    try:
        importlib.import_module(module)
        compiled = importlib.import_module("shoal.kernels.compiled")
        compiled.compile_here()
        return b"+" + compile_kernel(compiled.KERNELS[name], signature)
    except Exception as error:
        return b"-" + f"{type(error).__name__}: {error}".encode()


_WANTED: set[str] = set()
"""Names of the kernels that somebody asked for."""


def compile_once() -> None:
    """Let numba optimise and translate only what was asked for.

    It does so with every function that a kernel calls, and then again with the whole, which holds them all.
    Nothing is run in this process, so that is a third of its time for nothing. The order of optimising has no
    influence on results: without ``fastmath`` each step rounds as it is written.
    """
    library = cast("Any", codegen.JITCodeLibrary)
    optimise, translate = library._optimize_final_module, library._finalize_final_module

    def optimise_wanted(self: Any) -> None:
        if self.name in _WANTED:
            optimise(self)

    def translate_wanted(self: Any) -> None:
        if self.name in _WANTED:
            translate(self)
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    library._optimize_final_module, library._finalize_final_module = optimise_wanted, translate_wanted
    cast("Any", codegen.JITCPUCodegen).set_env = lambda self, name, environment: None  # for what is run


def compile_kernel(kernel: Any, signature: tuple[Any, ...]) -> bytes:
    """Compile a kernel in this process."""
    _WANTED.add(kernel.py_func.__qualname__)
    kernel.compile(signature)
    found = kernel.overloads[signature]
    if found.library.has_dynamic_globals or found.lifted:
        raise ValueError("this kernel holds addresses of this process")
    library, described, *rest = found._reduce()
    rest[4] = ""  # the annotated source, which nobody asks for
    return cast("bytes", cast("Any", dumps)((library, described, *rest)))
