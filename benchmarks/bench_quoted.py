"""Figures that single pages quote: later rows, a population, estimated risks, distinct rows of the sample."""

from __future__ import annotations

import polars as pl

import shoal
from measure import ADULT, DATA, Figures, need
from shoal.assessment.risks.attackers import compute_expected_share

NINE = DATA / "adult" / "adult_9col.csv"
TREES = DATA / "adult" / "hierarchies"
SIX = ["sex", "age", "race", "marital-status", "education", "native-country"]
SEVEN = [*SIX, "workclass"]
RISKY = ["age", "work_class", "education", "marital_status", "race", "sex", "native_country"]


def main() -> None:
    nine = pl.read_csv(need(NINE), separator=";")
    later_rows(nine)
    population(nine)
    estimated_risk()
    distinct_rows()


def later_rows(nine: pl.DataFrame) -> None:
    figures = Figures("apply: rows that the classes of 20,000 rows of Adult stand for, k = 5, six columns")
    shuffled = nine.sample(fraction=1.0, shuffle=True, seed=0).select(SIX)
    first, later = shuffled[:20_000], shuffled[20_000:]
    for name, trees in (("with hierarchies", {each: TREES / f"{each}.csv" for each in SIX}), ("without", {})):
        release = shoal.anonymize(first, quasi=SIX, k=5, hierarchies=trees)
        applied = release.saved_recoding().apply(later, earlier=release.frame, suppress=1.0)
        figures.add(f"{name}: of {later.height:,}", later.height - applied.suppressed_rows, "rows")


def population(nine: pl.DataFrame) -> None:
    figures = Figures("population: 3,000 rows of Adult, all of them as population, seven columns with trees")
    table = nine.sample(3000, seed=1).select(SEVEN)
    trees = {each: TREES / f"{each}.csv" for each in SEVEN}
    everybody = nine.select(SEVEN)
    goals = {
        "k = 20": [shoal.KAnonymity(20)],
        "k-map 20": [shoal.KMap(20, everybody)],
        "k-map 20, k = 2": [shoal.KMap(20, everybody), shoal.KAnonymity(2)],
    }
    for name, models in goals.items():
        release = shoal.anonymize(table, quasi=SEVEN, models=models, hierarchies=trees, algorithm="mondrian")
        figures.add(f"{name}: lost", 100 * release.report.ncp, "%")


def estimated_risk() -> None:
    figures = Figures("risk: the average over rows of 1/F on samples of Adult, seven columns")
    frame = pl.read_csv(need(ADULT), infer_schema=False)
    size = frame.select(people=pl.len().over(RISKY))
    for share in (0.02, 0.05, 0.10, 0.25, 0.50):
        drawn = frame.with_columns(size["people"]).sample(fraction=share, seed=0)
        found = shoal.risk(drawn.drop("people"), RISKY, sampling_fraction=share, largest=1)
        figures.add(f"{share:.0%}: truth", (1 / drawn["people"]).mean())
        figures.add(f"{share:.0%}: Pitman's model", found.journalist.average if found.journalist else 0.0)
        sizes = found.records["class_size"].to_numpy()
        figures.add(
            f"{share:.0%}: alpha = 0, as mu-Argus", float(compute_expected_share(sizes, 0.0, share).mean())
        )


def distinct_rows() -> None:
    figures = Figures("sample: distinct combinations of quasi-identifiers")
    quasi = ["age", "sex", "postcode", "education", "occupation", "marital_status"]
    for rows in (5_000, 100_000, 1_000_000):
        people = shoal.sample("hospital", rows=rows)
        month = people.with_columns(pl.col("admission_date").dt.truncate("1mo"))
        kinds = {
            "all seven": people.select(*quasi, "admission_date"),
            "date by month": month.select(*quasi, "admission_date"),
            "without the date": people.select(quasi),
            "age, sex and postcode": people.select(quasi[:3]),
        }
        for name, frame in kinds.items():
            figures.add(f"{rows:,} rows, {name}", frame.n_unique())


if __name__ == "__main__":
    main()
