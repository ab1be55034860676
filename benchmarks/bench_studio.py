"""The studio: what the curve of a goal costs and how right it is; long use; 3 million rows in the browser.

The second part makes twenty runs and loads two hundred pages in one studio, and measures the server's
memory on the way. The third measures CPU and memory of the server until the preview is there, and to
scroll. ``python benchmarks/bench_studio.py curve long large`` names the parts; without names all run.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from measure import ADULT, ADULT_QUASI, Figures, cpu, need
from shoal import KAnonymity
from shoal.assessment.tradeoffs import (
    estimate_losses,
    join_curves,
    list_sizes,
    measure_losses,
    sort_by_use,
)
from shoal.recipes.recipe import Recipe
from shoal.table import read_table
from shoal.table.samples import write_sample

ROWS = 3_000_000
LIMIT = 10.0  # CPU seconds to the preview
SCREENS = 40
CURVE = 1.0  # CPU seconds until the first curve is there
LONG_ROWS = 1_000
RUNS, LOADS = 20, 200
GROWTH = 0.1  # of the memory after half of the runs, or of the loads, that the other half may add
TESTS = Path(__file__).parents[1] / "tests"
TICK = os.sysconf("SC_CLK_TCK")


def load(name: str, path: Path) -> Any:
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spent(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory(process: int, which: str) -> float:
    """Gigabytes that a process has (VmRSS) or had at most (VmHWM)."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith(which))


def measure_curve() -> None:
    """The first curve: its CPU as a multiple of a group-by over the same columns, and its error."""
    table = read_table(need(ADULT))
    recipe = Recipe(quasi=ADULT_QUASI, models=(KAnonymity(2),), others="drop")
    sizes = list_sizes(table.rows)
    figures = Figures(f"the curve of a goal, Adult, {table.rows:,} rows, {len(sizes)} sizes of groups")
    group = cpu(lambda: table.frame.group_by(ADULT_QUASI).len())
    first = cpu(lambda: estimate_losses(recipe, table, sizes), times=5)
    figures.add("CPU of the first curve", first, "s", CURVE)
    figures.add("CPU of the first curve, over a group-by", first / group, "times")
    rough = estimate_losses(recipe, table, sizes)
    exact = {k: loss for k, loss in measure_losses(recipe, table, sizes) if loss is not None}
    figures.add("largest error, all estimated", _find_error(rough, exact, {}), "of the loss")
    for known in (1, 3, 5):
        order = sort_by_use(sizes, 5)[:known]
        error = _find_error(rough, exact, {k: exact[k] for k in order})
        figures.add(f"largest error of the others, {known} exact", error, "of the loss")
    sample = estimate_losses(recipe, table, sizes, rows=table.rows // 3)
    figures.add(
        "largest error, a third of the rows sampled", _find_error(sample, rough, {}), "of the rough loss"
    )
    figures.close()


def _find_error(rough: dict[int, float], exact: dict[int, float], known: dict[int, float]) -> float:
    """How far an estimate is from the exact loss, at most, as a share of it."""
    points = join_curves(rough, dict(known))
    return max(abs(each.loss / exact[each.k] - 1) for each in points if not each.exact)


def main() -> None:
    parts = sys.argv[1:] or ["curve", "long", "large"]
    if "curve" in parts:
        measure_curve()
    if not {"long", "large"} & set(parts):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        driver = load("chromium", TESTS / "conftest.py").chromium(folder / "profile")
        if driver is None:
            print("skipped: there is no chromium")
            sys.exit(0)
        try:
            if "long" in parts:
                measure_long_use(folder, driver)
            for suffix in ("csv", "parquet") if "large" in parts else ():
                measured(folder, driver, suffix)
        finally:
            driver.quit()


def measure_long_use(folder: Path, driver: Any) -> None:
    """Memory of the server over many runs and many page loads; the second half of each may add little."""
    table = folder / "few.csv"
    write_sample("hospital", table, LONG_ROWS)
    studio = load("hand", TESTS / "browser" / "studio" / "conftest.py")
    server = studio.Server(str(table), folder=folder)
    try:
        hand, process = studio.Hand(driver, server, folder), server.process.pid
        figures = Figures(f"{RUNS} runs of {LONG_ROWS:,} rows and {LOADS} page loads in one studio")
        make_runs(hand, lambda part: _note_memory(figures, process, f"{part} of the runs"))
        before = memory(process, "VmRSS")
        for at in range(LOADS):
            hand.open(("open", "describe", "goal", "run", "explore", "release")[at % 6])
            hand.until(lambda: driver.find_elements("css selector", ".forward"), "the foot of the step")
            if at + 1 == LOADS // 2:
                before = _note_memory(figures, process, "half of the page loads")
        after = _note_memory(figures, process, "all page loads")
        figures.add("growth over the second half of the page loads", after / before - 1, "", GROWTH)
        figures.close()
    finally:
        server.stop()


def make_runs(hand: Any, note: Callable[[str], float]) -> None:
    """Twenty runs, each of another size of groups; after half of them and after all memory is noted."""
    hand.open("describe")
    hand.sees("recognisable columns")
    for at in range(RUNS):
        hand.open("goal")
        hand.type("people at least look alike in every group (k-anonymity)", str(at + 2))
        hand.press("On to the run", then="Start a run")
        hand.start_run()
        hand.until(lambda done=at + 1: hand.text().count("of the detail lost") == done, f"run {at + 1}")
        if at + 1 in (RUNS // 2, RUNS):
            note("half" if at + 1 < RUNS else "all")


def _note_memory(figures: Figures, process: int, after: str) -> float:
    found = memory(process, "VmRSS")
    figures.add(f"memory after {after}", found, "GB")
    return found


def measured(folder: Path, driver: Any, suffix: str) -> None:
    table = folder / f"people.{suffix}"
    write_sample("hospital", table, ROWS)
    studio = load("hand", TESTS / "browser" / "studio" / "conftest.py")
    server = studio.Server(str(table), folder=folder)
    try:
        figures = Figures(
            f"{ROWS:,} rows of the sample in the studio, {suffix}, {table.stat().st_size / 1e6:.0f} MB"
        )
        hand, process = studio.Hand(driver, server, folder), server.process.pid
        figures.add("CPU until the page can be opened", spent(process), "s", LIMIT)
        hand.open("open")
        hand.sees("P00000001")
        figures.add("CPU until rows are shown", spent(process), "s", LIMIT)
        hand.until(lambda: driver.execute_script("return document.querySelector('.grid-bars rect')"), "heads")
        figures.add("CPU until types, missing and histograms are shown", spent(process), "s", LIMIT)
        figures.add("memory after that", memory(process, "VmRSS"), "GB")
        figures.add("memory at most", memory(process, "VmHWM"), "GB")
        scroll(hand, figures, process)
        figures.close()
    finally:
        server.stop()


def scroll(hand: Any, figures: Figures, process: int) -> None:
    """From the first row to the last, a screen at a time."""
    before = spent(process)
    script = (
        "const box = document.querySelector('.grid-box'); box.scrollTop = box.scrollHeight * arguments[0]"
    )
    for at in range(SCREENS + 1):
        hand.driver.execute_script(script, at / SCREENS)
        time.sleep(0.15)
    hand.until(lambda: f"P{ROWS:08d}" in hand.text(), "the last row")
    figures.add("CPU to scroll to another screen", (spent(process) - before) / SCREENS * 1000, "ms")


if __name__ == "__main__":
    main()
