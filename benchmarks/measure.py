"""What the benchmarks share: CPU time, memory, tables of figures beside their limits.

Machines are shared and noisy: times are CPU times, the least of several runs, and what is claimed are ratios
between alternatives measured in one run.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[2] / "shared" / "data"
ADULT = DATA / "adult" / "adult.csv"
ADULT_QUASI = (
    "age",
    "work_class",
    "education_num",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)


def need(path: Path) -> Path:
    """The path of a reference table, or the end of the benchmark where it is absent."""
    if not path.exists():
        print(f"skipped: the reference tables are not beside the checkout ({path.name})")
        sys.exit(0)
    return path


def cpu(work: Callable[[], object], times: int = 15) -> float:
    """CPU seconds of ``work``, the least of several runs, after one to warm up."""
    work()
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def peak_memory() -> int:
    """Most bytes that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass(frozen=True)
class Usage:
    """What a command used."""

    cpu: float
    peak: int
    """Bytes."""
    output: str


def command(*arguments: str, times: int = 1) -> Usage:
    """Run ``shoal`` with arguments; the least CPU of several runs."""
    return _measure_runs(("-m", "shoal", *arguments), times)


def run_python(program: str, *arguments: str, times: int = 1) -> Usage:
    """Run a program of Python with arguments; the least CPU of several runs."""
    return _measure_runs(("-c", program, *arguments), times)


def _measure_runs(arguments: Sequence[str], times: int) -> Usage:
    return min((_run(arguments) for _ in range(times)), key=lambda run: run.cpu)


def _run(arguments: Sequence[str]) -> Usage:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"python {' '.join(arguments)} ended with {process.returncode}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, output)


def measure_phases(*arguments: str) -> tuple[Usage, dict[str, int]]:
    """Run ``shoal`` with arguments; what it used, and the most bytes it had in memory in each phase."""
    line = [sys.executable, "-m", "shoal", "--log", "json", *arguments]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seen, peaks, ended = [0], {}, threading.Event()

    def watch() -> None:
        pages = Path(f"/proc/{process.pid}/statm")
        while not ended.wait(0.01):
            with suppress(OSError, IndexError):
                now = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                seen[0] = max(seen[0], now)

    watcher = threading.Thread(target=watch)
    watcher.start()
    told = []
    for text in process.stderr or ():
        told.append(text)
        event = json.loads(text) if text.startswith("{") else {}
        if event.get("event") == "phase":
            peaks[event["phase"]], seen[0] = seen[0], 0
    _, status, used = os.wait4(process.pid, 0)
    ended.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"shoal {' '.join(arguments)} ended with {process.returncode}: {''.join(told[-3:])}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, ""), peaks


class Figures:
    """Figures beside their limits; `close` ends the benchmark with an error if one is above."""

    def __init__(self, title: str) -> None:
        print(f"\n{title}")
        self.broken: list[str] = []

    def add(self, name: str, value: float, unit: str = "", limit: float | None = None) -> None:
        verdict = "" if limit is None else f"   limit {limit:g}{'' if value <= limit else '   ABOVE'}"
        print(f"  {name:<58} {value:>12.4g} {unit}{verdict}", flush=True)
        if limit is not None and value > limit:
            self.broken.append(name)

    def close(self) -> None:
        if self.broken:
            sys.exit(f"above the limit: {', '.join(self.broken)}")
