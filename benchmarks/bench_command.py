"""Whole commands: CPU and memory as a user meets them, beside polars, which reads, groups and writes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from measure import ADULT, ADULT_QUASI, Figures, Usage, command, need, run_python

ROWS = 3_000_000
SIZES = (30_000, 300_000, ROWS)
AIMS = {"csv": 1.6, "parquet": 1.4}
MADE = ("age", "sex", "postcode", "education", "occupation", "marital_status")
BY_POLARS = """
import sys, polars as pl
source, target, *names = sys.argv[1:]
is_text = source.endswith("csv")
frame = pl.read_csv(source, infer_schema=False) if is_text else pl.read_parquet(source)
frame.group_by(names).len()
(frame.write_csv if is_text else frame.write_parquet)(target)
"""


def main() -> None:
    figures = Figures("Whole commands, kernels compiled")
    figures.add("shoal --help, CPU", command("--help", times=5).cpu, "s", 0.5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adult(figures, folder)
        made(figures, folder)
    figures.close()


def adult(figures: Figures, folder: Path) -> None:
    arguments = (
        "anonymize",
        str(need(ADULT)),
        "-o",
        str(folder / "adult.csv"),
        "--quasi",
        ",".join(ADULT_QUASI),
        "--na",
        "?",
        "--others",
        "drop",
        "--missing",
        "drop",
        "-k",
        "10",
        "--json",
    )
    command(*arguments)  # compiles, the first time
    figures.add("shoal anonymize, Adult, CPU", command(*arguments, times=5).cpu, "s", 5.0)


def made(figures: Figures, folder: Path) -> None:
    """Nine columns of made rows, as CSV and as Parquet; in one run, since machines are noisy."""
    for rows in SIZES:
        times = 3 if rows < ROWS else 1
        for table in write_tables(folder, rows):
            kind = table.suffix[1:]
            named = f"{rows:,} rows x 9 columns, {kind}"
            plain = run_python(BY_POLARS, str(table), str(folder / f"plain.{kind}"), *MADE, times=times)
            used = anonymize(table, folder / f"out.{kind}", times)
            figures.add(f"{named}: polars reads, groups and writes, CPU", plain.cpu, "s")
            figures.add(f"{named}: CPU", used.cpu, "s")
            # Below a million rows the start of the program is most of it.
            aim = AIMS[kind] if rows == ROWS else None
            print(f"  {named}: {used.cpu / plain.cpu:.2f} times polars" + (f", aim {aim}" if aim else ""))
            if rows == ROWS:
                describe_phases(figures, named, used, table)


def write_tables(folder: Path, rows: int) -> list[Path]:
    """The table in both formats."""
    import polars as pl

    raw, tables = folder / "raw.csv", [folder / "made.csv", folder / "made.parquet"]
    command("sample", "hospital", "--rows", str(rows), "-o", str(raw), "--quiet")
    cells = pl.scan_csv(raw, infer_schema=False).drop("patient_id", "name")
    cells.sink_csv(tables[0])
    cells.sink_parquet(tables[1])
    raw.unlink()
    return tables


def anonymize(table: Path, output: Path, times: int) -> Usage:
    roles = ("--quasi", ",".join(MADE), "--others", "keep")
    return command("anonymize", str(table), "-o", str(output), *roles, "-k", "10", "--json", times=times)


def describe_phases(figures: Figures, named: str, used: Usage, table: Path) -> None:
    size = table.stat().st_size
    figures.add(f"{named}: input", size / 2**20, "MB")
    for phase, seconds in json.loads(used.output)["seconds"].items():
        figures.add(f"{named}: {phase}, seconds by the clock", seconds, "s")
    figures.add(f"{named}: peak memory", used.peak / 2**20, "MB")
    if table.suffix == ".csv":
        figures.add(f"{named}: bytes of memory per byte of input", used.peak / size, "", 10.0)


if __name__ == "__main__":
    main()
