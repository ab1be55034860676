"""The default at 1, 3 and 10 million made rows: growth, and loss and CPU beside those of nearest cuts."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench_growth import QUASI, K, make
from measure import Figures, peak_memory
from shoal.algorithms import Algorithm, Problem
from shoal.algorithms.auto import Auto
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Recoding

SIZES = (1_000_000, 3_000_000, 10_000_000)


def main() -> None:
    figures = Figures(f"Made rows ({', '.join(QUASI)}), k = {K}")
    per_row: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            problem, _ = make(Path(folder) / f"{size}.parquet", size)
            auto, lost = searched(problem, Auto())
            nearest, most = searched(problem, Mondrian(cut="nearest"))
            per_row.append(auto / problem.table.weight.size)
            figures.add(f"{size:,} rows: distinct rows", problem.table.weight.size)
            figures.add(f"{size:,} rows: auto, CPU per distinct row", 1e6 * per_row[-1], "µs")
            limit = 2.0 if size == SIZES[-1] else None  # smaller tables have time to spare
            figures.add(f"{size:,} rows: auto, CPU over that of nearest", auto / nearest, "x", limit)
            figures.add(f"{size:,} rows: auto, loss", 100 * lost, "%", 100 * most)
            figures.add(f"{size:,} rows: peak memory so far", peak_memory() / 2**30, "GB", 8.0)
    figures.add("growth per distinct row, 1 to 10 million rows", per_row[-1] / per_row[0], "x", 1.3)
    figures.close()


def searched(problem: Problem, algorithm: Algorithm) -> tuple[float, float]:
    """CPU seconds, the less of two searches, and the loss."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        proposal = algorithm.search(problem)
        spent.append(time.process_time() - start)
    recoding = Recoding.from_proposal(proposal, problem.domains)
    return min(spent), LOSSES["ncp"]().measure(recoding, problem.weights).value


if __name__ == "__main__":
    main()
