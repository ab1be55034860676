"""Whole commands from start to end, and the first run after installing: what is compiled, and what it costs.

Figures are seconds of processor, of all processes together, and their ratios to ``python -c pass`` and to
importing polars. Python's own compiled files are there, as after installing. ``PYTHONPATH=OTHER/src`` before
the command measures another checkout in the same way: before and after.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Figures

# Times importing polars; a run that compiles nothing is mostly imports.
READY = 25.0

RUN = """
import json, os, sys
import shoal
from shoal.kernels import compiled
if sys.argv[1] == "few":
    people = shoal.sample("hospital", rows=15)
else:
    people = shoal.sample("hospital", rows=5000)
people = people.select("age", "sex", "education", "diagnosis")
settings = dict(quasi=["age", "sex", "education"], sensitive=["diagnosis"], k=5)
if sys.argv[1] == "mondrian":
    settings["algorithm"] = "mondrian"
shoal.anonymize(people, **settings)
compiled.get_compiler_pool().close_processes()
used = os.times()
spent = used.user + used.system + used.children_user + used.children_system
print(json.dumps({"spent": spent, **compiled.count_kernel_origins()}))
"""
RUNS = {
    "mondrian": "mondrian, 5,000 rows of three columns",
    "auto": "the default, 5,000 rows of three columns",
    "few": "the default, 15 rows of three columns",
}


GOAL = ("-q", "age,sex", "-s", "diagnosis", "-k", "3")
# Times importing polars.
COMMANDS = {
    "shoal --help": (("--help",), 1.0),
    "shoal anonymize --help": (("anonymize", "--help"), 4.0),
    "shoal verify of 15 rows": (("verify", "people.csv", *GOAL), 5.0),
    "shoal anonymize of 15 rows": (
        ("anonymize", "people.csv", *GOAL, "--others", "drop", "-o", "out.csv"),
        8.0,
    ),
}


def main() -> None:
    figures = Figures("Whole commands and the first run, CPU beside that of importing polars")
    with tempfile.TemporaryDirectory() as name:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(name) / "bytecode")
        bare, polars = spent_by("pass"), spent_by("import polars")
        figures.add("python -c pass, CPU", bare, "s")
        figures.add("import polars, CPU", polars, "s")
        figures.add("import polars and numpy, CPU", spent_by("import polars, numpy"), "s")
        measure_commands(figures, Path(name), bare, polars)
        for which, said in RUNS.items():
            cache = Path(name) / which
            first, again = run(which, cache), run(which, cache)
            size = sum(path.stat().st_size for path in cache.rglob("*.kernel"))
            figures.add(f"{said}: kernels compiled", first["compiled"], "")
            figures.add(f"{said}: their size", size / 1e6, "MB")
            figures.add(f"{said}: nothing there, CPU", first["spent"], "s")
            figures.add(f"{said}: kernels there, CPU", again["spent"], "s")
            figures.add(f"{said}: kernels there, to importing polars", again["spent"] / polars, "x", READY)
            if again["compiled"] or again["here"]:
                sys.exit(f"{said}: something was compiled although everything was there: {again}")
    figures.close()


def measure_commands(figures: Figures, folder: Path, bare: float, polars: float) -> None:
    """Commands with kernels there, the least of seven."""
    rows = (f"{20 + number},{'fm'[number % 2]},{'abc'[number % 3]}" for number in range(15))
    (folder / "people.csv").write_text("\n".join(["age,sex,diagnosis", *rows]), "utf-8")
    for said, (arguments, limit) in COMMANDS.items():
        spent = min(spent_on(folder, ("-m", "shoal", *arguments)) for _ in range(7))
        figures.add(f"{said}, CPU", spent, "s")
        figures.add(f"{said}, to a bare interpreter", spent / bare, "x")
        figures.add(f"{said}, to importing polars", spent / polars, "x", limit)


def spent_on(folder: Path, arguments: tuple[str, ...]) -> float:
    """Seconds of processor of an interpreter from start to end, in a folder."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):  # verify finds that the input does not meet the goal
        sys.exit(f"python {' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def run(which: str, cache: Path) -> dict[str, float]:
    """A run in a new process with a cache of its own: what it took, and where its kernels came from."""
    environment = {**os.environ, "SHOAL_CACHE": str(cache)}
    line = [sys.executable, "-c", RUN, which]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def spent_by(code: str) -> float:
    """Seconds of processor of a new process, the least of five."""
    return min(spent_on(Path(), ("-c", code)) for _ in range(5))


if __name__ == "__main__":
    main()
