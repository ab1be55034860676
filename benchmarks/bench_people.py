"""People who have several rows: CPU of whole runs as a multiple of one group-by over the same columns.

The laboratory values of 15,666 people, with their age and sex: every class has five people, and their rows
are not linked. The table is taken as polars reads it from a file; after `rechunk`, where all of a column lies
in one piece, a group-by takes half as long. With `--full`, pseudonyms keep the rows of a person together, and
an attacker knows one or two of them; and the people and their tests are anonymized as two linked tables, for
a quarter, half and all of the people.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
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
    for knows, limit in ((1, 0.70), (2, None)) if "--full" in sys.argv else ():
        measure_linked(figures, rows, knows, limit)
    if "--full" in sys.argv:
        measure_growth(figures)
    rows_only = cpu(lambda: anonymize(rows, Mondrian(), person=None, identifier=["id"]), 3)
    figures.add("Mondrian, greedy, where rows are counted", 1000 * rows_only, "ms")
    figures.close()


def measure_linked(figures: Figures, rows: pl.DataFrame, knows: int, limit: float | None) -> None:
    """What it costs to protect from somebody who knows some rows of a person, which are linked."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {"pseudonym": True, "key_file": Path(folder) / "key", "knows": knows, "algorithm": "auto"}
        found: list[shoal.Release] = []
        spent = cpu(lambda: found.append(anonymize(rows, **asked)), 1)
    report = found[0].report
    figures.add(f"linked, knows {knows}", spent, "s")
    figures.add(f"linked, knows {knows}: lost", 100 * report.ncp, "%", limit)
    figures.add(f"linked, knows {knows}: rows left out", 100 * report.suppressed_rows / report.rows, "%")


def measure_growth(figures: Figures) -> None:
    """How the time of linked tables grows with their people, of whom an attacker knows one test."""
    people, labs = read_tables(DATA / "people")
    spent: list[tuple[int, float]] = []
    for share in (4, 2, 1):
        some = people.head(people.height // share)
        theirs = labs.join(some, on="id", how="semi", maintain_order="left")
        spent.append((theirs.height, cpu(lambda some=some, theirs=theirs: link_tables(some, theirs), 1)))
        figures.add(f"linked tables, knows 1, {theirs.height:,} events", spent[-1][1], "s")
    for (fewer, before), (more, after) in pairwise(spent):
        factor = f"{more / fewer:.2f} times the events"
        figures.add(f"linked tables, knows 1: {factor}", after / before, "x")


def link_tables(people: pl.DataFrame, labs: pl.DataFrame) -> shoal.Release:
    quasi = ["age", "male", "labs.days", "labs.test"]
    with tempfile.TemporaryDirectory() as folder:
        linked = {"events": {"labs": labs}, "pseudonym": True, "key_file": Path(folder) / "key"}
        return shoal.anonymize(people, quasi=quasi, person="id", k=K, others="drop", **linked)


def read_tables(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The people and their laboratory tests."""
    people = pl.read_csv(need(folder / "nafld_people.csv"), infer_schema_length=None, null_values="NA")
    events = pl.read_csv(need(folder / "nafld_labs.csv.gz"), infer_schema_length=None, null_values="NA")
    return people, events


def read(folder: Path) -> pl.DataFrame:
    """The events, each with the age and the sex of its person."""
    people, events = read_tables(folder)
    return events.join(people, on="id", maintain_order="left").select("id", *QUASI)


def anonymize(rows: pl.DataFrame, algorithm: Mondrian | str, **roles: object) -> shoal.Release:
    return shoal.anonymize(rows, **{"quasi": QUASI, "person": "id", "k": K, "algorithm": algorithm, **roles})


if __name__ == "__main__":
    main()
