"""The programs of the comparison: where each is found, how it is called, and how it writes a cell.

A program is named by an environment variable: an interpreter of an environment that has it, a jar or a
binary. Without the variable it is left out, and the page says so. Nothing is installed or built here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from .counting import Notation
from .tables import Task

DRIVERS = Path(__file__).parent / "drivers"
LIMIT = 0.05
"""The share of rows that programs with one level for the whole table may leave out."""
HEAP = "3000m"


@dataclass(frozen=True)
class Call:
    """A command that reads the table and writes a release, and what must be done before and after."""

    line: list[str]
    after: Callable[[str], None] | None = None
    """Makes the release from what the command printed."""


@dataclass(frozen=True)
class Program:
    """A program, with one of its settings."""

    name: str
    title: str
    """As the page names it."""
    kind: str
    """``trees``: needs hierarchies; ``flat``: knows none; ``any``."""
    recoding: str
    """``local``, ``levels`` (one level for the whole table), ``means`` or ``cells``."""
    variable: str
    """Names the program; empty for Shoal."""
    call: Callable[[Task, int, Path], Call | str]
    """The command for a table and k, or why there is none."""
    notation: Notation
    version: Callable[[], str]

    def find_reason_to_skip(self, task: Task) -> str | None:
        """Why it cannot release this table; None if it can."""
        if self.variable and self.variable not in os.environ:
            return f"not here ({self.variable} is not set)"
        if self.kind == "trees" and task.has_other_than("tree"):
            return "needs a hierarchy for every column"
        if self.kind == "flat" and task.has("tree"):
            return "knows no hierarchies"
        if self.recoding == "means" and task.has_other_than("number"):
            return "is for numbers alone"
        return None


def _shoal(*settings: str, most: int = 0) -> Callable[[Task, int, Path], Call | str]:
    def call(task: Task, k: int, out: Path) -> Call | str:
        if task.name == "small":
            return "the small table is for exact search"
        if most and task.rows > most:
            return f"tried up to {most:,} rows"
        return Call([*_shoal_line(task, k, out), *settings])

    return call


def _shoal_line(task: Task, k: int, out: Path) -> list[str]:
    line = [sys.executable, "-m", "shoal", "anonymize", str(task.csv), "-q", ",".join(task.kinds)]
    for name, kind in task.kinds.items():
        line += ["--type", f"{name}=string"] if kind == "category" else []
    trees = ["--hierarchies", str(task.trees)] if task.has("tree") else []
    return [*line, *trees, "-k", str(k), "-o", str(out), "--quiet"]


def _shoal_exact(task: Task, k: int, out: Path) -> Call | str:
    if task.name != "small":
        return "for tables of some rows"
    exact = ["--algorithm", "mingen", "--set", "semantics=matching", "--loss", "certainty"]
    return Call([*_shoal_line(task, k, out), *exact])


@cache
def _shoal_version() -> str:
    from shoal import __version__

    return __version__


def _python(variable: str, driver: str) -> list[str]:
    return [os.environ[variable], str(DRIVERS / driver)]


def _ask_version(variable: str, driver: str) -> Callable[[], str]:
    def ask() -> str:
        return _print_of([*_python(variable, driver), "--version"])

    return ask


def _print_of(line: list[str]) -> str:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "version unknown"


@cache
def _compile_arx() -> Path:
    """The driver, compiled once a run; that is not measured."""
    folder = Path(mkdtemp(prefix="peers-arx-"))
    line = ["javac", "-nowarn", "-cp", os.environ["ARX_JAR"], "-d", str(folder), str(DRIVERS / "Arx.java")]
    subprocess.run(line, check=True, capture_output=True)
    return folder


def _arx(*how: str) -> Callable[[Task, int, Path], Call]:
    def call(task: Task, k: int, out: Path) -> Call:
        path = f"{os.environ['ARX_JAR']}:{_compile_arx()}"
        java = ["java", f"-Xmx{HEAP}", "-cp", path, "Arx"]
        return Call([*java, str(task.csv), str(task.trees), str(out), str(k), *how])

    return call


def _anjana(task: Task, k: int, out: Path) -> Call:
    line = _python("ANJANA_PYTHON", "run_anjana.py")
    return Call([*line, str(task.csv), str(task.trees), str(out), str(k), f"{100 * LIMIT:g}"])


def _anonypy(task: Task, k: int, out: Path) -> Call:
    line = _python("ANONYPY_PYTHON", "run_anonypy.py")
    return Call([*line, str(task.csv), str(out), str(k), ",".join(task.list_columns("number"))])


def _toolkit(task: Task, k: int, out: Path) -> Call | str:
    if not task.has_target:
        return "wants a column to predict"
    line = _python("APT_PYTHON", "run_toolkit.py")
    target, text = task.folder / "target.csv", ",".join(task.list_columns("category"))
    return Call([*line, str(task.csv), str(target), str(out), str(k), text])


def _openmed(task: Task, k: int, out: Path) -> Call:
    line = _python("OPENMED_PYTHON", "run_openmed.py")
    return Call([*line, str(task.csv), str(task.trees), str(out), str(k), str(LIMIT)])


def _mondrian(*settings: str) -> Callable[[Task, int, Path], Call | str]:
    def call(task: Task, k: int, out: Path) -> Call | str:
        if _has_commas(task):
            return "reads no cells with commas"
        given, bare = task.folder / "mondrian.csv", out.with_suffix(".bare")
        if not given.exists():
            names, *rows = task.csv.read_text("utf-8").splitlines()
            numbers = ", ".join(str(i) for i in range(len(task.kinds)))
            head = f"{names.replace(',', ', ')}\n{numbers}\n"
            given.write_text(head + "\n".join(row.replace(",", ", ") for row in rows) + "\n", "utf-8")

        def add_head(_: str) -> None:
            out.write_text(",".join(task.kinds) + "\n" + bare.read_text("utf-8"), "utf-8")
            bare.unlink()

        line = [os.environ["MONDRIAN_C"], "-i", str(given), "-o", str(bare), "-k", str(k), *settings]
        return Call(line, add_head)

    return call


def _has_commas(task: Task) -> bool:
    with task.csv.open(encoding="utf-8") as rows:
        return any('"' in row for row in rows)


def _mg_ga(mode: str) -> Callable[[Task, int, Path], Call | str]:
    def call(task: Task, k: int, out: Path) -> Call | str:
        if task.name != "small":
            return "does not finish tables of more than some rows"
        domains = task.folder / "domains.txt"
        domains.write_text(_write_domains(task), "utf-8")
        types = ",".join("i" if kind == "number" else "s" for kind in task.kinds.values())

        def read_first_table(printed: str) -> None:
            table = printed.split("===RESULTS===")[1].strip().split("\n\n")[0].splitlines()
            rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table if "|" in line]
            out.write_text("".join(",".join(row) + "\n" for row in rows), "utf-8")

        given = [f"--mode={mode}", f"--input={task.csv}", f"--domains={domains}", f"--types={types}"]
        quasi = f"-s={','.join('q' for _ in task.kinds)}"
        line = [os.environ["MG_GA"], *given, quasi, "--metric=c", f"--k={k}", "--single-thread"]
        return Call([*line, *(["--iterations=1000"] if mode == "ga" else [])], read_first_table)

    return call


def _write_domains(task: Task) -> str:
    lines = []
    for name in task.list_columns("tree"):
        groups: dict[str, list[str]] = {}
        for row in (task.trees / f"{name}.csv").read_text("utf-8").splitlines():
            leaf, group, _ = row.split(";")
            groups.setdefault(group, []).append(leaf)
        lines += [f"{name}/{group}: {', '.join(leaves)}\n" for group, leaves in groups.items()]
    return "".join(lines)


def _sdcmicro(how: str) -> Callable[[Task, int, Path], Call]:
    def call(task: Task, k: int, out: Path) -> Call:
        line = [os.environ["SDCMICRO_RSCRIPT"], str(DRIVERS / "run_sdcmicro.R")]
        return Call([*line, str(task.csv), str(out), str(k), ",".join(task.list_columns("number")), how])

    return call


def _sdcmicro_version() -> str:
    return _print_of([os.environ["SDCMICRO_RSCRIPT"], str(DRIVERS / "run_sdcmicro.R"), "--version"])


def _read_version(variable: str) -> Callable[[], str]:
    """Programs that do not tell their version: a second variable does."""
    return lambda: os.environ.get(f"{variable}_VERSION", "not stated")


LABELS = Notation()
SHOAL = Notation(between=("-", ".."), among=", ")
TILDES = Notation(between=("~",), among="~", in_order=False)
APART = Notation(in_order=False)
POINTS = Notation(values=True)

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        Program("shoal", "Shoal", "any", "local", "", _shoal(most=2_000_000), SHOAL, _shoal_version),
        Program(
            "shoal-quick",
            "Shoal, `seconds=0.6`",
            "any",
            "local",
            "",
            _shoal("--set", "seconds=0.6", most=2_000_000),
            SHOAL,
            _shoal_version,
        ),
        Program(
            "shoal-mondrian",
            "Shoal, `mondrian`",
            "any",
            "local",
            "",
            _shoal("--algorithm", "mondrian", most=2_000_000),
            SHOAL,
            _shoal_version,
        ),
        Program(
            "shoal-memory",
            "Shoal, `--memory 2GB`",
            "any",
            "local",
            "",
            lambda task, k, out: (
                _shoal("--memory", "2GB")(task, k, out) if task.rows > 200_000 else "for large tables"
            ),
            SHOAL,
            _shoal_version,
        ),
        Program("shoal-exact", "Shoal, `mingen`", "any", "local", "", _shoal_exact, SHOAL, _shoal_version),
        Program(
            "shoal-lattice",
            "Shoal, `lattice`",
            "trees",
            "levels",
            "",
            _shoal(
                "--algorithm", "lattice", "--loss", "generalised", "--suppress", str(LIMIT), most=2_000_000
            ),
            SHOAL,
            _shoal_version,
        ),
        Program(
            "shoal-means",
            "Shoal, `microaggregate`",
            "flat",
            "means",
            "",
            _shoal("--algorithm", "microaggregate"),
            POINTS,
            _shoal_version,
        ),
        Program(
            "arx-local",
            "ARX, local",
            "trees",
            "local",
            "ARX_JAR",
            _arx("local", "100"),
            LABELS,
            _read_version("ARX_JAR"),
        ),
        Program(
            "arx-finest",
            "ARX, local, a row a step",
            "trees",
            "local",
            "ARX_JAR",
            _arx("local", "0"),
            LABELS,
            _read_version("ARX_JAR"),
        ),
        Program(
            "arx-levels",
            "ARX",
            "trees",
            "levels",
            "ARX_JAR",
            _arx(str(LIMIT)),
            LABELS,
            _read_version("ARX_JAR"),
        ),
        Program(
            "anjana",
            "anjana",
            "trees",
            "levels",
            "ANJANA_PYTHON",
            _anjana,
            APART,
            _ask_version("ANJANA_PYTHON", "run_anjana.py"),
        ),
        Program(
            "openmed",
            "OpenMed",
            "trees",
            "levels",
            "OPENMED_PYTHON",
            _openmed,
            APART,
            _ask_version("OPENMED_PYTHON", "run_openmed.py"),
        ),
        Program(
            "mondrian-c",
            "Mondrian in C",
            "flat",
            "local",
            "MONDRIAN_C",
            _mondrian(),
            TILDES,
            _read_version("MONDRIAN_C"),
        ),
        Program(
            "mondrian-c-relaxed",
            "Mondrian in C, relaxed",
            "flat",
            "local",
            "MONDRIAN_C",
            _mondrian("--relaxed"),
            TILDES,
            _read_version("MONDRIAN_C"),
        ),
        Program(
            "anonypy",
            "anonypy",
            "flat",
            "local",
            "ANONYPY_PYTHON",
            _anonypy,
            APART,
            _ask_version("ANONYPY_PYTHON", "run_anonypy.py"),
        ),
        Program(
            "toolkit",
            "ai-privacy-toolkit",
            "flat",
            "local",
            "APT_PYTHON",
            _toolkit,
            POINTS,
            _ask_version("APT_PYTHON", "run_toolkit.py"),
        ),
        Program(
            "mg", "MG-GA, brute force", "any", "local", "MG_GA", _mg_ga("mg"), LABELS, _read_version("MG_GA")
        ),
        Program(
            "ga", "MG-GA, genetic", "any", "local", "MG_GA", _mg_ga("ga"), LABELS, _read_version("MG_GA")
        ),
        Program(
            "sdcmicro",
            "sdcMicro, `kAnon`",
            "flat",
            "cells",
            "SDCMICRO_RSCRIPT",
            _sdcmicro("suppress"),
            LABELS,
            _sdcmicro_version,
        ),
        Program(
            "sdcmicro-mdav",
            "sdcMicro, MDAV",
            "flat",
            "means",
            "SDCMICRO_RSCRIPT",
            _sdcmicro("mdav"),
            POINTS,
            _sdcmicro_version,
        ),
    )
}
