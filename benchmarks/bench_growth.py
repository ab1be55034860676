"""Search at 300 thousand, 3 million and (--full) 30 million made rows: CPU per distinct row must not grow."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from measure import Figures, peak_memory
from shoal.algorithms import Problem
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.encoding import Column, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.privacy import KAnonymity
from shoal.table.samples import write_sample

QUASI = ("age", "sex", "postcode", "education", "occupation", "marital_status")
SIZES = (300_000, 3_000_000, 30_000_000)
K = 10
ALLOWANCE = 1.05  # "at most linear", within what the clock can tell


def main() -> None:
    sizes = SIZES if "--full" in sys.argv else SIZES[:2]
    per_row: dict[str, list[float]] = {"nearest": [], "greedy": []}
    figures = Figures(f"Made rows ({', '.join(QUASI)}), k = {K}")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            problem, collapse = make(Path(folder) / f"{size}.parquet", size)
            distinct = problem.table.weight.size
            figures.add(f"{size:,} rows: distinct rows", distinct)
            figures.add(f"{size:,} rows: collapsing, CPU", collapse, "s")
            for cut, spent in per_row.items():
                seconds = search(problem, cut)
                spent.append(seconds / distinct)
                figures.add(f"{size:,} rows: {cut}, CPU", seconds, "s")
                figures.add(f"{size:,} rows: {cut}, CPU per distinct row", 1e6 * spent[-1], "µs")
            figures.add(f"{size:,} rows: peak memory so far", peak_memory() / 2**20, "MB")
    for cut, spent in per_row.items():
        for before, after, size in zip(spent, spent[1:], sizes[1:], strict=False):
            figures.add(f"{cut}: growth per distinct row up to {size:,} rows", after / before, "x", ALLOWANCE)
    figures.close()


def make(path: Path, rows: int) -> tuple[Problem, float]:
    """A problem of so many rows, and the CPU seconds that collapsing them takes."""
    write_sample("hospital", path, rows)
    encoded = [encode_column(pl.read_parquet(path, columns=[name])[name], Column(name)) for name in QUASI]
    path.unlink()
    coded = CodedRows(
        tuple(column.codes for column in encoded), tuple(column.domain.size for column in encoded)
    )
    domains = tuple(column.domain for column in encoded)
    problem = Problem(domains, coded, (), (KAnonymity(K),), "ncp", np.ones(len(domains)))
    start = time.process_time()
    _ = problem.table
    return problem, time.process_time() - start


def search(problem: Problem, cut: str) -> float:
    """CPU seconds of a search, the less of two."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        Mondrian(cut=cut).search(problem)
        spent.append(time.process_time() - start)
    return min(spent)


if __name__ == "__main__":
    main()
