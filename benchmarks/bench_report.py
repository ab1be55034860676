"""The report: what a page costs beside the run that it is about, how large it is, and what attacks cost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from measure import Figures, command

ROLES = ("-q", "age,sex,postcode,admission_date", "-s", "diagnosis,cost", "--identifier", "patient_id,name")


def main() -> None:
    figures = Figures("Pages and attacks")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = page(figures, folder, 100_000)
        large = page(figures, folder, 1_000_000)
        figures.add("size of the page, 1,000,000 rows to 100,000", large / small, "x", 1.5)
        attack(figures, folder, 1_000_000)
    figures.close()


def page(figures: Figures, folder: Path, rows: int) -> int:
    """A run with and without a page; returns the size of that."""
    table, report = str(folder / f"{rows}.csv"), folder / f"{rows}.html"
    command("sample", "hospital", "--rows", str(rows), "-o", table, "--quiet")
    run = (
        "anonymize",
        table,
        *ROLES,
        "-k",
        "10",
        "-a",
        "mondrian",
        "--quiet",
        "-o",
        str(folder / f"r{rows}.csv"),
    )
    command(*run)
    plain = command(*run, times=3)
    drawn = command(*run, "--report", str(report), times=3)
    figures.add(f"CPU with a page to without, {rows:,} rows", drawn.cpu / plain.cpu, "x", 2.0)
    figures.add(f"memory with a page to without, {rows:,} rows", drawn.peak / plain.peak, "x", 1.5)
    return report.stat().st_size


def attack(figures: Figures, folder: Path, rows: int) -> None:
    arguments = (
        "attack",
        str(folder / f"r{rows}.csv"),
        "--original",
        str(folder / f"{rows}.csv"),
        *ROLES[:4],
    )
    figures.add(
        f"1,000 attacks of each kind, {rows:,} rows, CPU", command(*arguments, "--quiet").cpu, "s", 60
    )


if __name__ == "__main__":
    main()
