"""Small tables: how much more `auto` loses than the proved optimum, where one is found in 20 seconds."""

from __future__ import annotations

import time

import polars as pl

import shoal
from measure import DATA, Figures, need

SIZES = (30, 60, 100, 200)
TREES = ("education", "sex", "marital-status")
TABLES = {
    "adult": ("adult_9col.csv", ";", ("age", *TREES), 0),
    "informs": ("informs.csv", ",", ("DOBYY", "SEX", "RACEX", "EDUCYEAR", "marry"), 0),
    "cup": ("cup.csv", ";", ("AGE", "GENDER", "INCOME", "STATE", "NGIFTALL"), 0),
    # its first rows count up, and are not like the others
    "creditcard": ("creditcard.csv", ";", ("LIMIT_BAL", "SEX", "EDUCATION", "AGE", "PAY_0"), 1000),
    "microaggregation": ("census.csv", ",", ("AGI", "FEDTAX", "PTOTVAL"), 0),
}
PARTS = (2, 4)  # 200 rows each; places that the budget was not tuned on
PROOF = "mingen(sets=true,seconds=20)"


def main() -> None:
    every = [compare(name, k) for name in ("hospital", *TABLES) for k in (2, 3)]
    for figures in every:
        figures.close()


def compare(name: str, k: int) -> Figures:
    """What `auto` loses beyond the optimum, for every size and place where that is proved."""
    figures = Figures(f"{name}, k = {k}")
    more = []
    for rows in SIZES:
        for place in PARTS:
            frame = read_part(name, rows, place)
            trees = {
                each: DATA / "adult" / "hierarchies" / f"{each}.csv" for each in TREES if name == "adult"
            }
            goal = {"quasi": frame.columns, "k": k, "hierarchies": trees}
            exact = shoal.anonymize(frame, algorithm=PROOF, **goal).report
            begin = time.process_time()
            found = shoal.anonymize(frame, **goal).report
            spent = time.process_time() - begin
            if exact.optimal:
                more.append(100 * (found.ncp / exact.ncp - 1))
                figures.add(f"{rows} rows, part {place}: more", more[-1], "%", 1.0)
            figures.add(f"{rows} rows, part {place}: CPU", spent, "s")
    figures.add("proved", float(len(more)), f"of {len(SIZES) * len(PARTS)}")
    figures.add("mean", sum(more) / max(len(more), 1), "%")
    figures.add("worst", max(more, default=0.0), "%", 1.0)
    return figures


def read_part(name: str, rows: int, place: int) -> pl.DataFrame:
    """So many rows of a table, from a place of it; of the sample, by a seed."""
    if name == "hospital":
        frame = shoal.sample("hospital", rows=rows, seed=20 + place)
        return frame.select("age", "sex", "education", "postcode")
    file, delimiter, quasi, first = TABLES[name]
    path = need(DATA / name / file)
    frame = pl.read_csv(path, separator=delimiter, infer_schema_length=None)
    return frame.slice(first + 200 * place, rows).select(quasi)


if __name__ == "__main__":
    main()
