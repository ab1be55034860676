"""What judging costs: reading a written release again, and looking at it as a whole, beside writing it.

``python benchmarks/bench_judge.py`` measures 30 thousand rows, ``--full`` 3 million as well.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import shoal
from measure import Figures, cpu
from shoal.table import write_table
from shoal.table.writers import choose_layout
from shoal.verification.findings import JudgedRelease, judge_release

ROLES = {
    "quasi": ["age", "sex", "postcode", "admission_date"],
    "sensitive": ["diagnosis"],
    "identifier": ["patient_id", "name"],
    "plain": ["education", "occupation", "marital_status", "cost"],
}
# How much judging may cost beside writing. Polars writes plain text and Arrow in less time than it takes to
# read the columns that are counted.
FORMATS = {"csv": 2, "csv.gz": 0.5, "csv.zst": 1.5, "parquet": 1.2, "arrow": 4, "jsonl": 5, "xlsx": 0.5}
SHEET = 1_000_000  # rows that a workbook takes


def main() -> None:
    figures = Figures("Judging what is written")
    for rows in (30_000, 3_000_000) if "--full" in sys.argv else (30_000,):
        measure(figures, rows, 5 if rows < 100_000 else 2)
    figures.close()


def measure(figures: Figures, rows: int, times: int) -> None:
    release = shoal.anonymize(shoal.sample("hospital", rows=rows), **ROLES, k=10, l=2, algorithm="mondrian")
    with tempfile.TemporaryDirectory() as name:
        for suffix, limit in FORMATS.items():
            if suffix == "xlsx" and rows > SHEET:
                continue
            path = Path(name) / f"release.{suffix}"
            layout = choose_layout(path, release.table.origin, None)
            written = cpu(lambda path=path: write_table(release.frame, path), times)
            judged = cpu(lambda path=path, layout=layout: release.judge(path, layout), times)
            figures.add(f"judging to writing, {rows:,} rows, .{suffix}", judged / written, "x", limit)
    recipe = release.recipe
    whole = JudgedRelease(release.frame, recipe.quasi, recipe.sensitive, recipe.models, release.columns)
    found = cpu(lambda: judge_release(whole), times)
    group = cpu(lambda: release.frame.group_by(release.frame.columns).len(), times)
    figures.add(f"findings to one group_by over all columns, {rows:,} rows", found / group, "x", 8.0)


if __name__ == "__main__":
    main()
