"""``python -m shoal`` is ``shoal``.

Signals are answered from here on: to load the command line takes long enough to be interrupted.
"""

from __future__ import annotations

import gc
import os
import signal
from typing import Any, NoReturn


def main() -> None:
    """Load the command line and run it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup or a shell's '&' may have asked
            signal.signal(number, _exit_on_signal)
    # Modules are made of thousands of objects that stay: to look for garbage among them again and again is a
    # tenth of the time in which a command starts.
    # `collect_from_now_on` ends this when the command is loaded.
    gc.disable()
    gc.set_threshold(50_000, 20, 50)
    from shoal.cli import main as run  # noqa: PLC0415

    run()


def _exit_on_signal(number: int, frame: Any) -> NoReturn:
    # Without Python's streams and its clean-up: both may be in the middle of something.
    os.write(2, b"interrupted; no unfinished file is left behind\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
