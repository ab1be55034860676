"""Exact search: states, CPU and proven gap from 4 to 100 rows; evolution beside partitioning."""

from __future__ import annotations

import time

import polars as pl

import shoal
from measure import ADULT, ADULT_QUASI, DATA, Figures, need

SIZES = {
    ("classes", 2): (4, 8, 12, 16, 20, 30, 40, 60, 80, 100),
    ("classes", 3): (4, 8, 12, 16, 20, 30, 40, 60),
    ("matching", 2): (4, 6, 8, 10, 15, 20, 25, 30),
}
SECONDS = 120.0
QUASI = ("age", "education", "sex", "marital-status")


def main() -> None:
    grow()
    evolve()


def grow() -> None:
    """Solve the first rows of Adult, four columns with hierarchies for three."""
    frame = pl.read_csv(need(DATA / "adult" / "adult_9col.csv"), separator=";", n_rows=100)
    trees = {name: DATA / "adult" / "hierarchies" / f"{name}.csv" for name in QUASI[1:]}
    for (semantics, k), sizes in SIZES.items():
        figures = Figures(f"semantics = {semantics}, k = {k}")
        for size in sizes:
            algorithm = shoal.MinGen(semantics=semantics, seconds=SECONDS)
            begin = time.process_time()
            report = shoal.anonymize(
                frame.head(size), quasi=QUASI, k=k, hierarchies=trees, algorithm=algorithm
            ).report
            spent = time.process_time() - begin
            best = report.loss["value"]
            gap = 100 * max(best - report.lower_bound, 0.0) / best if best else 0.0
            figures.add(f"{size} rows: CPU", spent, "s", {(2, 40): 60.0}.get((k, size)))
            figures.add(
                f"{size} rows: proven gap", gap, "%", 5.0 if semantics == "classes" and k == 2 else None
            )
            figures.add(f"{size} rows: states", report.nodes or 0)
        figures.close()


def evolve() -> None:
    """Evolution on 1,000 rows, beside every other way to partition them."""
    frame = pl.read_csv(need(ADULT), null_values="?").drop_nulls().select(ADULT_QUASI).head(1000)
    others = [
        f"mondrian(mode={mode},cut={cut})" for mode in ("strict", "relaxed") for cut in ("nearest", "greedy")
    ]
    figures = Figures("Adult, the first 1,000 complete rows, 8 columns, k = 5: loss in percent")
    losses = {}
    for algorithm in others:
        losses[algorithm] = shoal.anonymize(frame, quasi=ADULT_QUASI, k=5, algorithm=algorithm).report.ncp
        figures.add(algorithm, 100 * losses[algorithm], "%")
    shoal.anonymize(frame.head(50), quasi=ADULT_QUASI, k=5, algorithm="genetic(generations=1)")  # compiles
    begin = time.process_time()
    bred = shoal.anonymize(frame, quasi=ADULT_QUASI, k=5, algorithm="genetic").report
    figures.add("genetic: CPU", time.process_time() - begin, "s", 60.0)
    figures.add("genetic", 100 * bred.ncp, "%", 100 * min(losses.values()))
    figures.close()


if __name__ == "__main__":
    main()
