"""Run one program on one table: its processor time, its memory, and what it released."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError

from .counting import count
from .programs import DRIVERS, PROGRAMS, Program
from .tables import Table, Task, prepare

Cell = dict[str, Any]
"""What came of one program on one table with one k."""
SECOND_COUNT = 200_000
"""pyCANON counts releases of at most so many rows."""


@dataclass(frozen=True)
class Limits:
    """What a cell may use before it is stopped."""

    seconds: float = 120.0
    """Of processor time, of all its processes."""
    bytes: int = 3_000_000_000
    """In memory at a time."""


@dataclass(frozen=True)
class Usage:
    """What a command used, and how it ended."""

    cpu: float
    peak: int
    stopped: str
    """``time``, ``memory`` or empty."""
    code: int
    printed: str
    said: str


def run_limited(line: Sequence[str], limits: Limits, folder: Path) -> Usage:
    """Run a command in a session of its own and stop it, with its children, at the limits."""
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as printed, err.open("wb") as said:
        process = subprocess.Popen(line, stdout=printed, stderr=said, start_new_session=True)
        peak, stopped = 0, ""
        while True:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            spent, held = _look_at(process.pid)
            peak = max(peak, held)
            reason = "time" if spent > limits.seconds else "memory" if held > limits.bytes else ""
            if reason and not stopped:
                stopped = reason
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    # The kernel's peak is exact, but begins with what this process held when it started the other.
    exact = used.ru_maxrss * 1024
    peak = max(peak, exact) if exact > 1.05 * _own_peak() else peak
    texts = (path.read_text("utf-8", errors="replace") for path in (out, err))
    return Usage(used.ru_utime + used.ru_stime, peak, stopped, process.returncode, *texts)


def _own_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _look_at(session: int) -> tuple[float, int]:
    """Processor seconds and bytes in memory of all processes of a session, as they are now."""
    ticks, pages = 0, 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (OSError, IndexError):
                continue  # it has ended meanwhile
            if int(fields[3]) == session:
                # Its own time, and that of its children which have ended.
                ticks += sum(map(int, fields[11:15]))
                pages += int(fields[21])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")


def measure(program: Program, task: Task, k: int, limits: Limits, folder: Path) -> Cell:
    """One cell: what was used, lost and kept safe; or why there is no figure."""
    reason = program.find_reason_to_skip(task)
    call = reason or program.call(task, k, folder / "release.csv")
    if isinstance(call, str):
        return {"status": "skipped", "reason": call}
    folder.mkdir(parents=True, exist_ok=True)
    release = folder / "release.csv"
    release.unlink(missing_ok=True)
    used = run_limited(call.line, limits, folder)
    cell: Cell = {"cpu": round(used.cpu, 2), "peak": used.peak, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    if used.stopped:
        return {"status": f"over {used.stopped}", **cell}
    try:
        if used.code == 0 and call.after is not None:
            call.after(used.printed)
        if used.code != 0 or not release.exists():
            return {"status": "failed", "reason": _last_line(used), **cell}
        found = count(task.csv, release, task.kinds, task.trees, program.notation)
    except (ValueError, IndexError, PolarsError) as error:
        return {"status": "failed", "reason": f"its release cannot be read: {error}"[:200], **cell}
    return {"status": "done", **cell, **asdict(found), **_count_again(release, task, limits, folder)}


def _last_line(used: Usage) -> str:
    lines = [line.strip() for line in used.said.splitlines() if line.strip()]
    return (lines[-1] if lines else f"exit code {used.code}")[:200]


def _count_again(release: Path, task: Task, limits: Limits, folder: Path) -> Cell:
    """The k of the release by pyCANON, where it is here and the table is not too large for it."""
    if "PYCANON_PYTHON" not in os.environ or task.rows > SECOND_COUNT:
        return {}
    line = [os.environ["PYCANON_PYTHON"], str(DRIVERS / "run_pycanon.py"), str(release)]
    used = run_limited(line, limits, folder)
    return {"pycanon": int(used.printed)} if used.code == 0 and used.printed.strip().isdigit() else {}


class Results:
    """The cells, kept in a file after every one, so that a run that was broken off goes on."""

    def __init__(self, file: Path) -> None:
        self.file = file
        stored = json.loads(file.read_text("utf-8")) if file.exists() else {}
        self.cells: dict[str, Cell] = stored.get("cells", {})
        self.about: Cell = stored.get("about", {})

    def save(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        half = self.file.with_suffix(".part")
        text = json.dumps({"about": self.about, "cells": self.cells}, indent=1, ensure_ascii=False)
        half.write_text(text + "\n", "utf-8")
        half.replace(self.file)


def describe_machine(limits: Limits) -> Cell:
    """What the figures hang on."""
    facts = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.partition(":")[2].strip() for line in facts if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model or platform.processor() or "unknown",
        "cores": os.cpu_count(),
        "memory": memory,
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "seconds": limits.seconds,
        "bytes": limits.bytes,
    }


def run(
    tables: Sequence[Table],
    programs: Sequence[str],
    results: Results,
    limits: Limits,
    work: Path,
    again: bool,
    say: Callable[[str], None],
) -> None:
    """Fill the cells that are missing, one at a time; of a table the largest k first."""
    results.about.update(describe_machine(limits), date=f"{datetime.now(UTC):%Y-%m-%d}")
    results.about.setdefault("versions", {})
    results.about.setdefault("tables", {})
    for name in programs:
        if not PROGRAMS[name].variable or PROGRAMS[name].variable in os.environ:
            results.about["versions"][name] = PROGRAMS[name].version()
    for table in tables:
        wanted = [
            (name, k, key)
            for name in programs
            for k in table.ks
            if _is_wanted(results.cells.get(key := f"{table.name} {name} {k}"), PROGRAMS[name], again)
        ]
        if wanted:
            task = prepare(table, work / table.name)
            if isinstance(task, str):
                say(f"SKIPPED: {table.title}: {task}")
                continue
            results.about["tables"][table.name] = _describe_table(table, task)
            for name, k, key in wanted:
                cell = _spare(results, table, name, k) or measure(
                    PROGRAMS[name], task, k, limits, work / "cell"
                )
                results.cells[key] = cell
                results.save()
                say(f"{key}: {_sum_up(cell)}")
            _free(table, work)


def _is_wanted(cell: Cell | None, program: Program, again: bool) -> bool:
    """Whether a cell is still to be filled: also one that was skipped because the program was not here."""
    here = not program.variable or program.variable in os.environ
    return cell is None or again or (cell["status"] == "skipped" and here)


def _spare(results: Results, table: Table, name: str, k: int) -> Cell | None:
    """A cell that need not be tried: smaller k, or more rows, of what took too long."""
    for larger in (own for own in table.ks if own > k):
        before = results.cells.get(f"{table.name} {name} {larger}", {})
        if str(before.get("status", "")).startswith("over"):
            return {"status": before["status"], "reason": f"as with k = {larger}; not tried"}
    family, _, rest = table.name.partition("-")
    size, _, suffix = rest.partition("-")
    for key, before in results.cells.items():
        own, program, _ = key.split(" ")
        other = own.removeprefix(f"{family}-").partition("-")
        alike = own.startswith(f"{family}-") and other[2] == suffix and program == name
        smaller = alike and size.isdigit() and other[0].isdigit() and int(other[0]) < int(size)
        if smaller and str(before["status"]).startswith("over"):
            return {"status": before["status"], "reason": f"as with {int(other[0]):,} rows; not tried"}
    return None


def _describe_table(table: Table, task: Task) -> Cell:
    return {"title": table.title, "rows": task.rows, "ks": list(table.ks), "kinds": dict(task.kinds)}


def _free(table: Table, work: Path) -> None:
    """Large tables leave the disk once they are done."""
    if table.rows >= 1_000_000:
        shutil.rmtree(work / table.name, ignore_errors=True)
    shutil.rmtree(work / "cell", ignore_errors=True)


def _sum_up(cell: Cell) -> str:
    if cell["status"] != "done":
        return f"{cell['status']} {cell.get('reason', '')}".strip()
    return (
        f"{cell['cpu']:.2f} s, {cell['peak'] / 1e6:.0f} MB, lost {100 * cell['ncp']:.2f} %, "
        f"smallest class {cell['smallest']}, {cell['rows'] - cell['released']} rows suppressed"
    )
