"""The process around a command: exit codes, errors in one paragraph, and interrupts answered at once."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from shoal.errors import ChangedError, ShoalError, may_pass
from shoal.support.addresses import hide_secrets
from shoal.support.files import discard_unfinished

CLOSED_PIPE = 141
"""The exit code if nobody reads standard output any more, as `head`: what a shell says of any program that a
closed pipe ends."""
UNREADABLE = 4
"""The exit code for files that cannot be read or written, for those who ask for it."""
_tells_unreadable = [False]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INTERRUPTED = "interrupted; no unfinished file is left behind"
Command = Callable[[Sequence[str]], object]

last_words: list[Callable[[], object]] = []
"""What an interrupted command has to say before the process ends: what it found so far, as JSON if asked."""
last_acts: list[Callable[[], object]] = []
"""What has to be ended elsewhere when a command is interrupted, without a word."""
_drawn = [1]
"""Lines that a progress bar takes up; read by a signal handler, which can take no lock to ask the bar."""


def set_exit_codes(version: str) -> None:
    """Use the exit codes of a version: since 0.2 there is one for files that cannot be read or written."""
    _tells_unreadable[0] = version == "0.2"


def run_to_end(command: Command, arguments: Sequence[str]) -> tuple[int, str]:
    """Run a command to its end, whatever that is; returns the exit code and what is to be said about it.

    Who asked for JSON gets one object on standard output in any case.
    """
    try:
        command(arguments)
    except BrokenPipeError:
        return CLOSED_PIPE, ""
    except SystemExit as end:  # the way in which typer ends a command, and answers wrong usage
        if isinstance(end.__context__, BrokenPipeError):  # which typer would answer with 1
            return CLOSED_PIPE, ""
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        # Wrong usage, which typer has explained to people.
        if code and (explain := getattr(end.__context__, "format_message", None)):
            _print_json_error(arguments, code, "usage", make_printable(explain()))
        return code, ""
    except BaseException as error:
        code, text = explain_error(error)
        code = UNREADABLE if code == 2 and _tells_unreadable[0] and _is_about_files(error) else code
        _print_json_error(arguments, code, _find_code(error), text.removeprefix("error: "), error)
        _log_error(error, code, text.removeprefix("error: "))
        return code, traceback.format_exc() if "--debug" in arguments else f"{text}\n"
    return 0, ""


def _find_code(error: BaseException) -> str:
    """What kind of error it is, for programs."""
    if isinstance(error, ShoalError):
        return error.code
    return "memory" if isinstance(error, MemoryError) else "internal"


def _print_json_error(
    arguments: Sequence[str], exit_code: int, code: str, message: str, error: BaseException | None = None
) -> None:
    """Print an error as JSON, if that was asked for."""
    if "--json" not in arguments:
        return
    told = {"code": code, "message": message, "retry": may_pass(error), "exit_code": exit_code}
    told["kind"] = _find_kind(exit_code, error)
    findings = [finding.to_dict() for finding in getattr(error, "findings", ())]
    with suppress(OSError):  # nobody may be listening any more
        print(json.dumps({"error": told | ({"findings": findings} if findings else {})}), flush=True)


def _find_kind(exit_code: int, error: BaseException | None) -> str:
    """What a scheduler asks: is it the files, what was asked for, the goal, or Shoal itself?"""
    if error is not None and _is_about_files(error):
        return "files"
    return {2: "usage", 3: "goal"}.get(exit_code, "internal")


def _is_about_files(error: BaseException | None) -> bool:
    """Whether a file could not be read or written, or changed meanwhile."""
    if isinstance(error, ChangedError):
        return True
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _log_error(error: BaseException, code: int, message: str) -> None:
    """Tell the log of an error, if there is one."""
    from shoal.support.logs import log_event  # noqa: PLC0415  the help needs no log

    level = 40  # logging.ERROR
    log_event("error", message, level, code=_find_code(error), retry=may_pass(error), exit_code=code)


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
    """A text without secrets, and with its control characters spelt out.

    What stands in a table cannot command a terminal, and what somebody typed into an address is not repeated.
    """
    for path, name in shown_names.items():
        text = text.replace(path, name)
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", hide_secrets(text))


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

    last_acts.append(cancel_jobs)
    try:
        yield
    finally:
        last_acts.remove(cancel_jobs)


def remember_lines_drawn(lines: int) -> None:
    """Remember how many lines are to be cleared if the command is interrupted."""
    _drawn[0] = lines


def _end_process(number: int, frame: Any) -> NoReturn:
    """End the process without waiting for any thread."""
    discard_unfinished()
    for finish in (*last_acts, *last_words):
        with suppress(Exception):  # it may be interrupted anywhere
            finish()
    # A progress bar may have hidden the cursor and left its lines.
    lines = "\r\x1b[2K" + "\x1b[1A\x1b[2K" * (_drawn[0] - 1)
    tidy = f"{lines}\x1b[?25h" if sys.stderr.isatty() else ""
    with suppress(OSError):  # nobody may be listening any more
        os.write(2, f"{tidy}{INTERRUPTED}\n".encode())
        if "--json" in sys.argv and not last_words:  # these are an object already
            told = {"code": "interrupted", "message": INTERRUPTED, "retry": True, "exit_code": 128 + number}
            os.write(1, f"{json.dumps({'error': told})}\n".encode())
    os._exit(128 + number)
