"""Processes of the studio: each prints what it does, a line of JSON each (`worker.send_message`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.studio.private import open_private

_GRACE = 5.0  # seconds for a process that was killed to end


class ChildProcess:
    """``python -m MODULE ARGUMENTS``; what it writes to standard error goes to a file."""

    def __init__(self, module: str, *arguments: str, errors: Path) -> None:
        with open(errors, "w", opener=open_private) as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,  # which ends with the studio, and so does the process
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the studio, which ends its processes itself
            )

    @property
    def id(self) -> int:
        """Its number."""
        return self._process.pid

    def read_messages(self) -> Iterator[dict[str, Any]]:
        """What it says, until it ends."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    yield found

    def wait_for_code(self) -> int:
        """How it ended, once it has; its pipes are closed then."""
        with self._process:
            return self._process.wait()

    def kill(self) -> None:
        """End it, unless it has."""
        if self._process.poll() is None:
            self._process.kill()

    def wait_for_exit(self) -> None:
        """Wait until it writes no more."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
