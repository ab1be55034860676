"""Risk figures, sets of columns and suggestions, in CPU seconds."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import shoal
from measure import ADULT, ADULT_QUASI, Figures, command, cpu, need
from shoal.assessment.risks import measure_column_sets
from shoal.table import Table, read_table

ROWS = 1_000_000


def main() -> None:
    wide = made()
    figures = Figures(f"Sets of columns: {ROWS:,} rows, {len(wide.names)} columns")
    measure_column_sets(read_table(wide.frame[:100]), wide.names)
    for largest in (2, 3, 4):
        begin = time.process_time()
        found = measure_column_sets(wide, wide.names, largest=largest)
        spent = time.process_time() - begin
        sets = len(wide.names) + sum(size.seen for size in found.sizes)
        figures.add(f"up to {largest} columns, {sets:,} sets", spent, "s CPU", 60)
    one = cpu(lambda: wide.frame.group_by(["age", "postcode", "sex", "education"]).len(), 3)
    figures.add("one of those sets by a group-by of polars", one, "s CPU")
    figures.add("the same number of them, so reckoned", one * sets, "s CPU")
    begin = time.process_time()
    shoal.risk(wide.frame, ["age", "sex", "postcode"], ["diagnosis"], identifier=["patient_id", "name"])
    figures.add("all of shoal.risk", time.process_time() - begin, "s CPU", 60)
    adult = need(ADULT)
    figures.add(
        "shoal suggest, Adult, the whole command", command("suggest", str(adult), "--json").cpu, "s CPU", 5
    )
    line = ("risk", str(adult), "-q", ",".join(ADULT_QUASI), "-s", "class", "--json")
    figures.add("shoal risk, Adult, the whole command", command(*line).cpu, "s CPU", 10)
    figures.close()


def made() -> Table:
    """The shipped sample with four more columns: fifteen of all kinds."""
    rng = np.random.default_rng(0)
    frame = shoal.sample("hospital", rows=ROWS)
    more = {f"code_{size}": pl.Series(rng.integers(0, size, ROWS)) for size in (2, 3, 5, 20)}
    return read_table(frame.with_columns(**more))


if __name__ == "__main__":
    main()
