"""Whole commands: CPU and memory as a user meets them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from measure import ADULT, ADULT_QUASI, Figures, command, need

ROWS = 3_000_000
MADE = ("age", "sex", "postcode", "education", "occupation", "marital_status")


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
        "--missing",
        "drop",
        "-k",
        "10",
        "--json",
    )
    command(*arguments)  # compiles, the first time
    figures.add("shoal anonymize, Adult, CPU", command(*arguments, times=5).cpu, "s", 2.5)


def made(figures: Figures, folder: Path) -> None:
    """Nine columns of made rows, as CSV."""
    import polars as pl

    raw, table = folder / "raw.csv", folder / "made.csv"
    command("sample", "hospital", "--rows", str(ROWS), "-o", str(raw), "--quiet")
    pl.scan_csv(raw, infer_schema=False).drop("patient_id", "name").sink_csv(table)
    raw.unlink()
    used = command(
        "anonymize",
        str(table),
        "-o",
        str(folder / "out.csv"),
        "--quasi",
        ",".join(MADE),
        "-k",
        "10",
        "--json",
    )
    size = table.stat().st_size
    figures.add(f"{ROWS:,} rows x 9 columns: input", size / 2**20, "MB")
    figures.add(f"{ROWS:,} rows x 9 columns: CPU", used.cpu, "s")
    for phase, seconds in json.loads(used.output)["seconds"].items():
        figures.add(f"{ROWS:,} rows x 9 columns: {phase}, seconds by the clock", seconds, "s")
    figures.add(f"{ROWS:,} rows x 9 columns: peak memory", used.peak / 2**20, "MB")
    figures.add(f"{ROWS:,} rows x 9 columns: bytes of memory per byte of input", used.peak / size, "", 10.0)


if __name__ == "__main__":
    main()
