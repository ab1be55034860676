"""Run the benchmarks one after another and put what they print on one page, out/benchmarks.md.

``python benchmarks/run.py`` runs all of them, ``python benchmarks/run.py import,report`` two.
"""

from __future__ import annotations

import ast
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "out" / "benchmarks.md"
PACKAGES = ("shoal", "numba", "numpy", "polars", "scikit-learn", "scipy")


def main(only: str = "") -> None:
    scripts = chosen([name for name in only.split(",") if name])
    PAGE.parent.mkdir(exist_ok=True)
    parts, broken = [head()], []
    for script in scripts:
        print(f"== {script.name}", flush=True)
        code, printed = run(script)
        parts.append(section(script, code, printed))
        broken += [script.name] if code else []
        PAGE.write_text(
            "\n".join(parts), "utf-8"
        )  # what is measured is kept, should the next one be interrupted
    print(f"\nwritten to {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}")
    if broken:
        sys.exit(f"above a limit, or failed: {', '.join(broken)}")


def chosen(names: Sequence[str]) -> list[Path]:
    """The scripts of these names; all of them where none is named."""
    every = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in names if name not in every]
    if unknown:
        sys.exit(f"there is no benchmark '{unknown[0]}'; there are {', '.join(every)}")
    return [path for name, path in every.items() if not names or name in names]


def run(script: Path) -> tuple[int, str]:
    """Run one, showing what it prints while it does; returns its exit code and all of that."""
    command, lines = [sys.executable, str(script)], []
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, encoding="utf-8", **both) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def head() -> str:
    """When and on what it was measured."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"""# Benchmarks

{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {processor()}; Python {platform.python_version()}; {versions}.
Times are CPU times unless a line says otherwise, the least of several runs.
"""


def processor() -> str:
    """The model of the processor, where it can be told."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(models)} x {models[0]}" if models else platform.processor() or platform.machine()


def section(script: Path, code: int, printed: str) -> str:
    """What a script is for, its command, and what it printed."""
    purpose = (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").partition("\n")[0]
    ended = "" if code == 0 else f"\n**It ended with {code}.**\n"
    title = f"## {script.stem.removeprefix('bench_')}\n\n`python benchmarks/{script.name}`: {purpose}\n"
    return f"{title}{ended}\n```text\n{printed.strip()}\n```\n"


if __name__ == "__main__":
    main(*sys.argv[1:2])
