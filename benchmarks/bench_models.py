"""Enforcing privacy models in Mondrian on Adult, and measuring all of them on three million rows."""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np
import polars as pl

import shoal
from measure import DATA, Figures, cpu, need
from shoal.algorithms import Problem
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.encoding import Column, build_dictionary, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.privacy import ValueScale, for_columns, number_distinct_values, parse_model
from shoal.table.hierarchies import Hierarchy, read_hierarchies

TABLE = DATA / "adult" / "adult_9col.csv"
TREES = DATA / "adult" / "hierarchies"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
SENSITIVE = "occupation"
GOALS = [
    "distinct-l(l=3)",
    "entropy-l(l=3)",
    "recursive-cl(c=4,l=3)",
    "t(t=0.2)",
    "t(t=0.2,distance=hierarchical)",
    "basic-beta(beta=2)",
    "enhanced-beta(beta=2)",
    "delta-disclosure(delta=2)",
    "delta-disclosure(delta=2,form=lenient)",
    "alpha-k(alpha=0.5,k=5)",
]
PYCANON = [
    "alpha_k_anonymity",
    "l_diversity",
    "entropy_l_diversity",
    "recursive_c_l_diversity",
    "t_closeness",
    "basic_beta_likeness",
    "enhanced_beta_likeness",
    "delta_disclosure",
]


def main() -> None:
    adult = pl.read_csv(need(TABLE), separator=";", infer_schema=False)
    enforcing(adult)
    measuring(adult)


def enforcing(adult: pl.DataFrame) -> None:
    trees = read_hierarchies(TREES, adult.columns)
    make = problems(adult, trees)
    figures = Figures(f"Adult, {adult.height:,} rows, trees, k = 5 and a model: CPU of the search")
    alone = cpu(lambda: Mondrian().search(make()))
    figures.add("k alone", 1000 * alone, "ms")
    for goal in GOALS:
        spent = cpu(lambda goal=goal: Mondrian().search(make(goal)))
        figures.add(f"{goal}, as a multiple of k alone", spent / alone, "x", 3.0)
    losses = Figures("Loss in percent of the detail")
    for goal in ["k(k=5)", *GOALS]:
        columns = {"quasi": QUASI, "sensitive": [SENSITIVE], "hierarchies": str(TREES)}
        report = shoal.anonymize(adult.select(*QUASI, SENSITIVE), k=5, models=[goal], **columns).report
        losses.add(f"{goal}: {report.classes:,} classes", 100 * report.ncp, "%")
    figures.close()


def problems(adult: pl.DataFrame, trees: dict[str, Hierarchy]):
    """Makes problems of k = 5 and some model, new ones each time, as what they work out is kept."""
    encoded = [encode_column(adult[name], Column(name, hierarchy=trees[name])) for name in QUASI]
    values, codes, missing = build_dictionary(adult[SENSITIVE])
    number, scale = number_distinct_values(values, missing, Column(SENSITIVE, hierarchy=trees[SENSITIVE]))
    domains = tuple(column.domain for column in encoded)
    rows = CodedRows(
        tuple(column.codes for column in encoded),
        tuple(domain.size for domain in domains),
        (number.astype(np.uint32)[codes],),
        (int(number.max()) + 1,),
    )
    scales: dict[str, ValueScale] = {SENSITIVE: scale}

    def make(*goals: str) -> Problem:
        models = for_columns(map(parse_model, ("k(k=5)", *goals)), [SENSITIVE])
        weights = np.ones(len(domains))
        return Problem(domains, rows, (SENSITIVE,), models, "ncp", weights, scales=scales)

    return make


def measuring(adult: pl.DataFrame) -> None:
    quasi, column = [*QUASI, SENSITIVE], ["salary-class"]
    many = pl.concat([adult] * 100).with_columns(pl.col("age").shuffle(0), pl.col("education").shuffle(1))
    figures = Figures("Measuring every model")
    ours = cpu(lambda: shoal.measure(many, quasi, column), 2)
    figures.add(f"{many.height:,} rows", ours, "s CPU")
    try:
        from pycanon import anonymity
    except ImportError:
        print("  pyCANON is not installed: pip install --no-deps pycanon==1.3.6")
        return
    warnings.simplefilter("ignore")
    frame = adult.to_pandas()
    run = [getattr(anonymity, name) for name in PYCANON]
    begin = process_time()  # once, without warming up: it takes minutes
    for function in run:
        function(frame, quasi, column)
    theirs = process_time() - begin
    figures.add(f"pyCANON, {adult.height:,} rows", theirs, "s CPU")
    figures.add("ours, as a multiple of pyCANON's on a hundredth of the rows", ours / theirs, "x", 1.0)
    figures.close()


if __name__ == "__main__":
    main()
