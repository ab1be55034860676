"""Search on Adult: CPU as a multiple of one group-by over the same codes, and the loss of every cut."""

from __future__ import annotations

import polars as pl

import shoal
from measure import ADULT, ADULT_QUASI, Figures, cpu, need
from shoal.algorithms import Problem
from shoal.algorithms.mondrian import Mondrian
from shoal.codespace.encoding import Column, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions

LIMITS = {"classic": None, "nearest": 6.0, "greedy": 15.0}
K = 10


def main() -> None:
    frame = pl.read_csv(need(ADULT), null_values="?").drop_nulls().select(ADULT_QUASI)
    encoded = [encode_column(frame[name], Column(name)) for name in ADULT_QUASI]
    rows = CodedRows(
        tuple(column.codes for column in encoded), tuple(column.domain.size for column in encoded)
    )
    coded = pl.DataFrame({name: column.codes for name, column in zip(ADULT_QUASI, encoded, strict=True)})
    group_by = cpu(lambda: coded.group_by(ADULT_QUASI).len())

    figures = Figures(f"Adult, {frame.height:,} rows, 8 columns, k = {K}: CPU of the search, with collapsing")
    figures.add("one polars group_by over the coded rows", 1000 * group_by, "ms")
    for cut, limit in LIMITS.items():
        spent = cpu(lambda cut=cut: Mondrian(cut=cut).search(problem(encoded, rows)))
        figures.add(f"{cut}", 1000 * spent, "ms")
        figures.add(f"{cut}, as a multiple of the group_by", spent / group_by, "x", limit)

    losses = Figures("Loss in percent of the detail, by k")
    for cut in LIMITS:
        for k in (2, 5, 10, 25, 50, 100):
            recipe = Recipe(
                ADULT_QUASI,
                (KAnonymity(k),),
                input=str(ADULT),
                reading=ReadOptions(na=("?",)),
                missing="drop",
                algorithm=Mondrian(cut=cut),
                loss="span-ncp",
            )
            report = shoal.run(recipe).report
            losses.add(f"{cut}, k = {k}: ncp", 100 * report.ncp, "%")
            losses.add(f"{cut}, k = {k}: span-ncp", 100 * report.loss["value"], "%")
    figures.close()


def problem(encoded: list, rows: CodedRows) -> Problem:
    import numpy as np

    domains = tuple(column.domain for column in encoded)
    return Problem(domains, rows, (), (KAnonymity(K),), "ncp", np.ones(len(domains)))


if __name__ == "__main__":
    main()
