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
}
PROOF = "mingen(sets=true,seconds=20)"


def main() -> None:
    for name in ("hospital", *TABLES):
        for k in (2, 3):
            compare(name, k)


def compare(name: str, k: int) -> None:
    """What `auto` loses beyond the optimum, for every size and place where that is proved."""
    figures = Figures(f"{name}, k = {k}")
    for rows in SIZES:
        for place in (0, 1):
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
                figures.add(f"{rows} rows, part {place}: more", 100 * (found.ncp / exact.ncp - 1), "%", 1.0)
            figures.add(f"{rows} rows, part {place}: CPU", spent, "s")
    figures.close()


def read_part(name: str, rows: int, place: int) -> pl.DataFrame:
    """So many rows of a table: from its beginning, or 200 rows further on."""
    if name == "hospital":
        frame = shoal.sample("hospital", rows=rows, seed=place)
        return frame.select("age", "sex", "education", "postcode")
    file, delimiter, quasi, first = TABLES[name]
    path = need(DATA / name / file)
    frame = pl.read_csv(path, separator=delimiter, infer_schema_length=None)
    return frame.slice(first + 200 * place, rows).select(quasi)


if __name__ == "__main__":
    main()
