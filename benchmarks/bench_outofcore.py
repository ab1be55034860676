"""Out of core: 5 million made rows as in memory, and (--full) 50 million within 2 GB, beside a plain copy.

`--sensitive 20000000 2GB` does so many rows with a sensitive column and l = 3, and nothing else: the most
memory of every step.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from bench_growth import QUASI, K
from measure import Figures, Usage, command, measure_phases
from shoal.support.parameters import byte_count
from shoal.table.samples import write_sample

EQUAL, LARGE = 5_000_000, 50_000_000
MEMORY = "2GB"
COPY = """
import duckdb, sys
duckdb.execute("SET enable_progress_bar = false")
duckdb.execute(f"COPY (FROM '{sys.argv[1]}') TO '{sys.argv[2]}' (FORMAT parquet)")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "--sensitive" in sys.argv:
            rows, memory = sys.argv[sys.argv.index("--sensitive") + 1 :][:2]
            watched(Path(folder), int(rows), memory)
            return
        compared(Path(folder))
        if "--full" in sys.argv:
            measured(Path(folder), LARGE)


def compared(folder: Path) -> None:
    """The release of both engines, row by row."""
    figures = Figures(f"{EQUAL:,} made rows ({', '.join(QUASI)}), k = {K}")
    table = made(folder, EQUAL)
    memory = anonymized(table, folder / "memory.parquet")
    disk = anonymized(table, folder / "disk.parquet", "--memory", MEMORY)
    unequal = sum(
        not pl.read_parquet(folder / "memory.parquet", columns=[name]).equals(
            pl.read_parquet(folder / "disk.parquet", columns=[name])
        )
        for name in pl.read_parquet_schema(folder / "memory.parquet")
    )
    figures.add("columns in which the engines differ", unequal, "", 0)
    figures.add("in memory: CPU", memory.cpu, "s")
    figures.add("out of core: CPU", disk.cpu, "s")
    figures.add("in memory: peak", memory.peak / 1e9, "GB")
    figures.add("out of core: peak", disk.peak / 1e9, "GB")
    figures.close()


def measured(folder: Path, rows: int) -> None:
    """Memory, and CPU as a multiple of that of a copy."""
    figures = Figures(f"{rows:,} made rows, --memory {MEMORY}")
    table = made(folder, rows)
    used = anonymized(table, folder / "release.parquet", "--memory", MEMORY)
    copy = copied(table, folder / "copy.parquet")
    figures.add("file", table.stat().st_size / 1e9, "GB")
    figures.add("peak", used.peak / 1e9, "GB", 3.0)
    figures.add("CPU", used.cpu, "s")
    figures.add("CPU of a copy by DuckDB", copy, "s")
    figures.add("CPU as a multiple of the copy", used.cpu / copy, "x", 10.0)
    figures.close()


def watched(folder: Path, rows: int, memory: str) -> None:
    """Memory step by step, with a sensitive column and all other columns kept."""
    figures = Figures(f"{rows:,} made rows, -s diagnosis -l 3 --others keep --memory {memory}")
    table = made(folder, rows)
    roles = ("-q", ",".join(QUASI), "--identifier", "patient_id,name", "-s", "diagnosis", "--others", "keep")
    how = ("-k", str(K), "-l", "3", "--algorithm", "mondrian", "--threads", "1", "--memory", memory)
    used, peaks = measure_phases(
        "anonymize", str(table), *roles, *how, "-o", str(folder / "release.parquet"), "--quiet"
    )
    named = byte_count("memory", memory) / 1e9
    for phase, peak in peaks.items():
        figures.add(f"{phase}: peak", peak / 1e9, "GB", named)
    figures.add("peak", used.peak / 1e9, "GB", named)
    figures.add("CPU", used.cpu, "s")
    figures.close()


def made(folder: Path, rows: int) -> Path:
    path = folder / f"{rows}.parquet"
    write_sample("hospital", path, rows)
    return path


def anonymized(table: Path, output: Path, *more: str) -> Usage:
    roles = ("-q", ",".join(QUASI), "--identifier", "patient_id,name")
    how = ("-k", str(K), "--algorithm", "mondrian", "--set", "cut=nearest", "--threads", "1")
    return command("anonymize", str(table), *roles, *how, "-o", str(output), "--quiet", *more)


def copied(table: Path, copy: Path) -> float:
    """CPU seconds of DuckDB for a copy of the file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", COPY, str(table), str(copy)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
