"""People who have several rows: CPU of whole runs as a multiple of one group-by over the same columns.

The laboratory values of 15,666 people, with their age and sex: every class has five people, and their rows
are not linked. The table is taken as polars reads it from a file; after `rechunk`, where all of a column lies
in one piece, a group-by takes half as long.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

import shoal
from measure import DATA, Figures, cpu, need
from shoal.algorithms.mondrian import Mondrian

QUASI = ["age", "male", "days", "test"]
K = 5
LIMIT = 10.0
LOST = 0.0019  # of the detail, by the prototype


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        read(DATA / "people").write_csv(Path(folder) / "events.csv")
        rows = pl.read_csv(Path(folder) / "events.csv")
    people, whole = rows["id"].n_unique(), rows.rechunk()
    group_by = cpu(lambda: rows.group_by(QUASI).len())
    figures = Figures(f"{rows.height:,} events of {people:,} people, 4 columns, k = {K}: whole runs")
    figures.add("one polars group_by over the columns", 1000 * group_by, "ms")
    figures.add("the same after rechunk", 1000 * cpu(lambda: whole.group_by(QUASI).len()), "ms")
    for cut in ("nearest", "greedy"):
        spent = cpu(lambda cut=cut: anonymize(rows, Mondrian(cut=cut)), 5)
        figures.add(f"Mondrian, {cut}", 1000 * spent, "ms")
        figures.add(f"Mondrian, {cut}, as a multiple of the group_by", spent / group_by, "x", LIMIT)
        limit = 100 * LOST + 0.005 if cut == "greedy" else None
        figures.add(f"Mondrian, {cut}: lost", 100 * anonymize(rows, Mondrian(cut=cut)).report.ncp, "%", limit)
    rows_only = cpu(lambda: anonymize(rows, Mondrian(), person=None, identifier=["id"]), 3)
    figures.add("Mondrian, greedy, where rows are counted", 1000 * rows_only, "ms")
    figures.close()


def read(folder: Path) -> pl.DataFrame:
    """The events, each with the age and the sex of its person."""
    people = pl.read_csv(need(folder / "nafld_people.csv"), infer_schema_length=None, null_values="NA")
    events = pl.read_csv(need(folder / "nafld_labs.csv.gz"), infer_schema_length=None, null_values="NA")
    return events.join(people, on="id", maintain_order="left").select("id", *QUASI)


def anonymize(rows: pl.DataFrame, algorithm: Mondrian, **roles: object) -> shoal.Release:
    return shoal.anonymize(rows, **{"quasi": QUASI, "person": "id", "k": K, "algorithm": algorithm, **roles})


if __name__ == "__main__":
    main()
