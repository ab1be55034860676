"""Spark on two local workers: 10 million made rows (--full: 50 as well), beside one machine and one groupBy.

CPU seconds of all processes of the cluster; bytes that went through a shuffle, from Spark's own status store;
the driver's memory at several sizes. A low budget makes the search go level by level.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from bench_growth import QUASI, K
from bench_outofcore import anonymized, made
from measure import Figures

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "spark"))

from conftest import Cluster, free_port

SMALL, MIDDLE, LARGE = 1_000_000, 10_000_000, 50_000_000
ROLES = {
    "quasi": list(QUASI),
    "identifier": ["patient_id", "name"],
    "k": K,
    "algorithm": "mondrian(cut=nearest)",
}


class Bench:
    """A cluster, and what it has used so far."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder, cores=1, memory="4g")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.port": str(free_port()),
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "FATAL",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.executor.memory": "3g",
            "spark.sql.shuffle.partitions": "16",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        }
        builder = SparkSession.builder.master(self.cluster.master_url).appName("bench")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()

    def cpu(self) -> float:
        """CPU seconds of this process, the driver's JVM, and the cluster with its Python workers."""
        return sum(map(seconds, [os.getpid(), *below(os.getpid())]))

    def shuffled(self) -> int:
        """Bytes that all stages so far have written for others to read."""
        base = self.spark.sparkContext.uiWebUrl
        where = f"{base}/api/v1/applications/{self.spark.sparkContext.applicationId}/stages"
        with urllib.request.urlopen(where) as answer:
            return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))

    def used(self, work: Callable[[], Any]) -> tuple[float, float, int, Any]:
        """CPU and clock seconds and shuffled bytes of some work, and what came of it."""
        cpu, clock, bytes_ = self.cpu(), time.perf_counter(), self.shuffled()
        found = work()
        time.sleep(1)  # the status store hears of stages a little later
        return self.cpu() - cpu, time.perf_counter() - clock, self.shuffled() - bytes_, found


def seconds(process: int) -> float:
    """CPU seconds of a process and of the children that it has waited for; none if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def below(process: int) -> list[int]:
    """All processes under a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(above, []).append(int(entry.name))
    found, todo = [], [process]
    while todo:
        todo += (under := children.get(todo.pop(), []))
        found += under
    return found


def peak_of(work: Callable[[], Any]) -> tuple[int, Any]:
    """Most bytes that this process has in memory during some work, and what came of it."""
    Path("/proc/self/clear_refs").write_text("5")  # begins to look for the most anew
    found = work()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")), found


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = Bench(folder)
        try:
            measured(bench, folder, SMALL, 100_000)  # and warm
            measured(bench, folder, MIDDLE, 1_000_000)
            if "--full" in sys.argv:
                measured(bench, folder, LARGE, 1_000_000)
        finally:
            bench.spark.stop()
            bench.cluster.stop()


def measured(bench: Bench, folder: Path, rows: int, budget: int) -> None:
    """One size: groupBy, level by level, one machine; and that both releases are the same."""
    from shoal.spark import anonymize

    figures = Figures(f"{rows:,} made rows, k = {K}, level by level with {budget:,} rows at once")
    table = made(folder, rows)
    frame = bench.spark.read.parquet(str(table))
    grouped, _, grouped_bytes, different = bench.used(lambda: frame.groupBy(*QUASI).count().count())
    figures.add("distinct rows", different)
    figures.add("one groupBy: CPU", grouped, "s")
    figures.add("one groupBy: shuffled bytes per row", grouped_bytes / rows)
    output = folder / f"spark{rows}.parquet"
    cpu, clock, shuffled, (driver, release) = bench.used(
        lambda: peak_of(lambda: anonymize(frame, **ROLES, driver_rows=budget, output=str(output)))
    )
    figures.add("Spark: CPU", cpu, "s")
    figures.add("Spark: rows per CPU second", rows / cpu)
    figures.add("Spark: rows per second of the clock", rows / clock)
    figures.add("Spark: shuffled bytes per row", shuffled / rows)
    figures.add("Spark: CPU as a multiple of one groupBy", cpu / grouped, "x")
    figures.add("Spark: peak of the driver's Python, whose Java has 2 GB at most", driver / 1e9, "GB")
    for phase, spent in release.report.seconds.items():
        figures.add(f"Spark: {phase}, share of the clock", spent / release.report.seconds["total"])
    print(f"  {release.report.notes[-1]}", flush=True)
    release.unpersist()
    local = anonymized(table, folder / "local.parquet")
    figures.add("one machine: CPU", local.cpu, "s")
    figures.add("one machine: peak", local.peak / 1e9, "GB")
    figures.add("Spark: CPU as a multiple of one machine", cpu / local.cpu, "x")
    figures.add("classes of which the sizes differ", unequal(output, folder / "local.parquet"), "", 0)
    figures.close()
    for path in (*output.iterdir(), table, folder / "local.parquet"):
        path.unlink()


def unequal(spark: Path, local: Path) -> int:
    """Released combinations of quasi-identifiers that are not in both releases equally often."""
    sizes = [
        pl.scan_parquet(where).group_by(list(QUASI)).len().collect(engine="streaming")
        for where in (f"{spark}/*.parquet", local)
    ]
    return sizes[0].join(sizes[1], on=[*QUASI, "len"], how="anti", nulls_equal=True).height


if __name__ == "__main__":
    main()
