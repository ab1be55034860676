"""Starting: what ``shoal --help`` and the first import cost beside a bare interpreter."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from measure import Figures

TIMES = 7
SHOWN = 8
# Times a bare interpreter; typer makes up nearly all of the help.
HELP, FACE, API = 30.0, 3.0, 110.0


def main() -> None:
    figures = Figures("Starting, CPU beside that of python -c pass")
    bare = cpu("-c", "pass")
    figures.add("python -c pass, CPU", bare * 1000, "ms")
    starts = {
        "import shoal": (("-c", "import shoal"), FACE),
        "shoal --version": (("-m", "shoal", "--version"), HELP),
        "shoal --help": (("-m", "shoal", "--help"), HELP),
        "shoal.anonymize, loaded and not called": (("-c", "import shoal; shoal.anonymize"), API),
    }
    for name, (arguments, limit) in starts.items():
        spent = cpu(*arguments)
        figures.add(f"{name}, CPU", spent * 1000, "ms")
        figures.add(f"{name}, to a bare interpreter", spent / bare, "x", limit)
    print("\n  what takes longest of 'import shoal.cli', cumulated (python -X importtime):")
    for milliseconds, module in slowest("shoal.cli"):
        print(f"  {module:<58} {milliseconds:>12.1f} ms")
    figures.close()


def cpu(*arguments: str) -> float:
    """CPU seconds of an interpreter from start to end, the least of several runs."""
    return min(once(arguments) for _ in range(TIMES))


def once(arguments: tuple[str, ...]) -> float:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"python {' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def slowest(module: str) -> list[tuple[float, str]]:
    """The modules whose import takes longest, what they import included."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", f"import {module}"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = re.findall(r"^import time: +\d+ \| +(\d+) \|( +)(\S+)$", done.stderr, re.MULTILINE)
    return sorted(((int(spent) / 1000, name) for spent, _, name in lines), reverse=True)[:SHOWN]


if __name__ == "__main__":
    main()
