"""The studio for a program that waits for a release: ``python -m shoal.studio.handover FILE FOLDER BROWSER``.

It says on standard output, a line of JSON each, where the page is and which recipe was chosen. It ends with
the program that started it, and all of its files are in the folder.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from shoal.errors import ShoalError
from shoal.studio.server import serve_studio
from shoal.studio.worker import RECIPE, send_message

_UPLOADS = "2GB"


def main() -> None:
    """Open the studio on the file that is named."""
    file, folder, browser = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "browser"
    tempfile.tempdir = folder  # or files would stay if this process were killed
    at_end: list[Callable[[], object]] = []
    threading.Thread(target=_end_with_parent, args=(at_end, folder), daemon=True).start()
    try:
        serve_studio(
            file,
            0,
            browser,
            lambda text: send_message(address=text.split()[4]),
            at_end.append,
            _UPLOADS,
            lambda run: send_message(recipe=str(run / RECIPE)),
        )
    except ShoalError as error:
        send_message(error=str(error))
        sys.exit(error.exit_code)


def _end_with_parent(at_end: list[Callable[[], object]], folder: str) -> None:
    """Standard input ends when the program does, however that happened."""
    while os.read(0, 4096):
        pass
    for finish in at_end:
        finish()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()
