"""``python -m shoal`` is ``shoal``.

Signals are answered from here on: to load the command line takes long enough to be interrupted.
"""

from __future__ import annotations

import os
import signal
from typing import Any, NoReturn


def main() -> None:
    """Load the command line and run it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup or a shell's '&' may have asked
            signal.signal(number, _leave)
    from shoal.cli import main as run  # noqa: PLC0415

    run()


def _leave(number: int, frame: Any) -> NoReturn:
    os.write(2, b"interrupted; no unfinished file is left behind\n")
    os._exit(130)


if __name__ == "__main__":
    main()
