"""The process around a command: exit codes, errors in one paragraph, and interrupts answered at once."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from shoal.errors import ShoalError
from shoal.support.files import discard_unfinished

CLOSED_PIPE = 141
"""The exit code if nobody reads standard output any more, as `head`: what a shell says of any program that a
closed pipe ends."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
Command = Callable[[Sequence[str]], object]

last_words: list[Callable[[], object]] = []
"""What an interrupted command has to say before the process ends, such as what it found so far."""
_drawn = [1]
"""Lines that a progress bar takes up; read by a signal handler, which can take no lock to ask the bar."""


def run_to_end(command: Command, arguments: Sequence[str]) -> tuple[int, str]:
    """Run a command to its end, whatever that is; returns the exit code and what is to be said about it."""
    try:
        command(arguments)
    except BrokenPipeError:
        return CLOSED_PIPE, ""
    except SystemExit as end:  # the way in which typer ends a command, and answers wrong usage
        if isinstance(end.__context__, BrokenPipeError):  # which typer would answer with 1
            return CLOSED_PIPE, ""
        return end.code if isinstance(end.code, int) else int(end.code is not None), ""
    except BaseException as error:
        code, text = explain_error(error)
        return code, traceback.format_exc() if "--debug" in arguments else f"{text}\n"
    return 0, ""


def explain_error(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and what went wrong in one paragraph."""
    if isinstance(error, ShoalError):
        return error.exit_code, f"error: {make_printable(str(error))}"
    if isinstance(error, MemoryError):
        return 1, "error: not enough memory for this table"
    if isinstance(error, OSError):  # those about files are ShoalErrors by now; this is about standard output
        return 2, f"error: the output cannot be shown: {error.strerror or error}"
    what = f"{type(error).__name__}: {make_printable(str(error))}"
    return 1, f"error: this is a bug in Shoal ({what}); run again with --debug to report it"


shown_names: dict[str, str] = {}
"""Files that have another name for people, such as what came through standard input."""


def make_printable(text: str) -> str:
    """A text with its control characters spelt out: what stands in a table cannot command a terminal."""
    for path, name in shown_names.items():
        text = text.replace(path, name)
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def collect_from_now_on() -> None:
    """Begin to look for garbage, if that was switched off, but not among all that has been loaded so far."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def run_process(command: Command) -> NoReturn:
    """Run a command on the arguments of this process, and leave with its exit code.

    The command has a thread of its own. A signal is answered by the main thread, which only waits, and so at
    once: the command may be deep in a compiler or a kernel, where Python would not listen for seconds.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup or a shell's '&' may have asked
            signal.signal(number, _end_process)
    outcome: list[tuple[int, str]] = []
    work = threading.Thread(target=lambda: outcome.append(run_to_end(command, sys.argv[1:])), daemon=True)
    work.start()
    while work.is_alive():
        # With a limit: on Windows a signal would not interrupt a wait without one.
        work.join(0.1)
    for number in (signal.SIGINT, signal.SIGTERM):  # all is done: Python's own end would let them kill it
        signal.signal(number, signal.SIG_IGN)
    code, text = outcome[0]
    sys.stderr.write(text)
    sys.exit(_give_up_unwritten(code))


def _give_up_unwritten(code: int) -> int:
    """Forget what standard output did not take, of which Python would complain once more; the exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE if isinstance(error, BrokenPipeError) else code
    return code


@contextmanager
def cancel_cluster(is_used: bool) -> Iterator[None]:
    """Let an interrupt also end what runs on a cluster, if one is used."""
    if not is_used:
        yield
        return
    from shoal.engines.spark.session import cancel_jobs  # noqa: PLC0415  few need it, and it is slow to load

    last_words.append(cancel_jobs)
    try:
        yield
    finally:
        last_words.remove(cancel_jobs)


def remember_lines_drawn(lines: int) -> None:
    """Remember how many lines are to be cleared if the command is interrupted."""
    _drawn[0] = lines


def _end_process(number: int, frame: Any) -> NoReturn:
    """End the process without waiting for any thread."""
    discard_unfinished()
    for say in last_words:
        with suppress(Exception):  # it may be interrupted anywhere
            say()
    # A progress bar may have hidden the cursor and left its lines.
    lines = "\r\x1b[2K" + "\x1b[1A\x1b[2K" * (_drawn[0] - 1)
    tidy = f"{lines}\x1b[?25h" if sys.stderr.isatty() else ""
    with suppress(OSError):  # nobody may be listening any more
        os.write(2, f"{tidy}interrupted; no unfinished file is left behind\n".encode())
    os._exit(130)
