"""What k of any m columns costs on creditcard, 24 columns, k = 5, beside k of all; --svg FILE draws it.

The written file is grouped by every set of m columns, so that the goal does not depend on a count of Shoal's.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import shoal
from measure import DATA, Figures, need

K = 5
GOALS = {"1": "k-of-any(m=1,k=5)", "2": "k-of-any(m=2,k=5)", "3": "k-of-any(m=3,k=5)", "all": "k(k=5)"}
WIDTH, HEIGHT, LEFT, FOOT, TOP = 640, 260, 60, 40, 20


class Run(NamedTuple):
    """One goal."""

    known: str
    loss: float
    fewest: int
    """Rows that are equal in the set of columns in which fewest are."""
    cpu: float


def main() -> None:
    table = pl.read_csv(need(DATA / "creditcard" / "creditcard.csv"), separator=";")
    figures, runs = Figures("creditcard, 24 columns, k = 5"), []
    for known, goal in GOALS.items():
        runs.append(run(table, known, goal))
        assert runs[-1].fewest >= K
        figures.add(f"{known} columns known", 100 * runs[-1].loss, "%")
        figures.add(f"{known} columns known, CPU", runs[-1].cpu, "s")
    figures.close()
    if "--svg" in sys.argv:
        Path(sys.argv[sys.argv.index("--svg") + 1]).write_text(picture(runs), "utf-8")


def run(table: pl.DataFrame, known: str, goal: str) -> Run:
    """Anonymize by `auto`, and count in the file."""
    with tempfile.TemporaryDirectory() as folder:
        path, begin = Path(folder) / "release.csv", time.process_time()
        made = shoal.anonymize(table, quasi=table.columns, models=[goal], output=path)
        cpu = time.process_time() - begin
        written = pl.read_csv(path, infer_schema=False)
    number = [written[name].rank("dense").to_numpy().astype(np.int64) for name in table.columns]
    many = len(number) if known == "all" else int(known)
    fewest = min(count_fewest(chosen) for chosen in combinations(number, many))
    return Run(known, made.report.ncp, fewest, cpu)


def count_fewest(columns: tuple[np.ndarray, ...]) -> int:
    """Fewest rows that are equal in all of these columns."""
    key, most = np.zeros(columns[0].size, np.int64), 1
    for column in columns:
        size = int(column.max()) + 1
        if most * size >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            most = int(key.max()) + 1
        key, most = key * size + column, most * size
    return int(np.unique(key, return_counts=True)[1].min())


def picture(runs: list[Run]) -> str:
    """A bar for every goal."""
    most = max(each.loss for each in runs) * 1.15
    step = (WIDTH - LEFT) / len(runs)
    floor = HEIGHT - FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="13">',
        "<title>Detail lost against the number of columns that somebody knows</title>",
        f'<line x1="{LEFT}" y1="{floor}" x2="{WIDTH}" y2="{floor}" stroke="#888"/>',
        f'<text x="0" y="{TOP}" fill="#888">NCP</text>',
    ]
    for at, each in enumerate(runs):
        tall = (floor - TOP) * each.loss / most
        x = LEFT + at * step + step / 4
        parts += [
            f'<rect x="{x:.0f}" y="{floor - tall:.1f}" width="{step / 2:.0f}" height="{tall:.1f}" '
            'fill="#4363d8"/>',
            f'<text x="{x + step / 4:.0f}" y="{floor - tall - 6:.1f}" text-anchor="middle" '
            f'fill="#888">{each.loss:.4f}</text>',
            f'<text x="{x + step / 4:.0f}" y="{floor + 20}" text-anchor="middle" fill="#888">'
            f"{each.known} known</text>",
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
