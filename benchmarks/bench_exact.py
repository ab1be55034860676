"""Exact search: states, CPU and proven gap as tables grow from 4 to 100 rows; evolution beside partitioning.

Writes the figures of the first part as a plot, out/bench_exact.html.
"""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl

import shoal
from measure import ADULT, ADULT_QUASI, DATA, Figures, need

SIZES = {
    ("classes", 2): (4, 8, 12, 16, 20, 30, 40, 60, 80, 100),
    ("classes", 3): (4, 8, 12, 16, 20, 30, 40, 60),
    ("matching", 2): (4, 6, 8, 10, 15, 20, 25, 30),
}
SECONDS = 120.0
QUASI = ("age", "education", "sex", "marital-status")
OUT = Path(__file__).parents[1] / "out"


def main() -> None:
    rows = grow()
    draw(rows)
    evolve()


def grow() -> pl.DataFrame:
    """Solve the first rows of Adult, four columns with hierarchies for three."""
    frame = pl.read_csv(need(DATA / "adult" / "adult_9col.csv"), separator=";", n_rows=100)
    trees = {name: DATA / "adult" / "hierarchies" / f"{name}.csv" for name in QUASI[1:]}
    records = []
    for (semantics, k), sizes in SIZES.items():
        figures = Figures(f"semantics = {semantics}, k = {k}")
        for size in sizes:
            algorithm = shoal.MinGen(semantics=semantics, seconds=SECONDS)
            begin = time.process_time()
            report = shoal.anonymize(
                frame.head(size), quasi=QUASI, k=k, hierarchies=trees, algorithm=algorithm
            ).report
            spent = time.process_time() - begin
            best = report.loss["value"]
            gap = 100 * max(best - report.lower_bound, 0.0) / best if best else 0.0
            figures.add(f"{size} rows: CPU", spent, "s", {(2, 40): 60.0}.get((k, size)))
            figures.add(
                f"{size} rows: proven gap", gap, "%", 5.0 if semantics == "classes" and k == 2 else None
            )
            figures.add(f"{size} rows: states", report.nodes or 0)
            records.append((f"{semantics}, k = {k}", size, spent, gap, report.nodes or 0))
        figures.close()
    return pl.DataFrame(records, ["search", "rows", "CPU seconds", "gap in percent", "states"], orient="row")


def draw(rows: pl.DataFrame) -> None:
    """One curve per search: CPU, states and gap over the number of rows."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    measures = ("CPU seconds", "states", "gap in percent")
    figure = make_subplots(rows=1, cols=3, subplot_titles=measures)
    colours = ("#00796b", "#c2185b", "#f9a825")
    for (search,), part in rows.group_by("search", maintain_order=True):
        colour = colours[rows["search"].unique(maintain_order=True).to_list().index(search)]
        for column, measure in enumerate(measures, start=1):
            curve = go.Scatter(
                x=part["rows"], y=part[measure], name=str(search), line={"color": colour},
                legendgroup=str(search), showlegend=column == 1, mode="lines+markers",
            )  # fmt: skip
            figure.add_trace(curve, row=1, col=column)
    figure.update_yaxes(type="log", col=1).update_yaxes(type="log", col=2)
    figure.update_xaxes(title="rows")
    OUT.mkdir(exist_ok=True)
    figure.write_html(OUT / "bench_exact.html", include_plotlyjs=True)
    print("\nthe plot is in out/bench_exact.html")


def evolve() -> None:
    """Evolution on 1,000 rows, beside every other way to partition them."""
    frame = pl.read_csv(need(ADULT), null_values="?").drop_nulls().select(ADULT_QUASI).head(1000)
    others = [
        f"mondrian(mode={mode},cut={cut})" for mode in ("strict", "relaxed") for cut in ("nearest", "greedy")
    ]
    figures = Figures("Adult, the first 1,000 complete rows, 8 columns, k = 5: loss in percent")
    losses = {}
    for algorithm in others:
        losses[algorithm] = shoal.anonymize(frame, quasi=ADULT_QUASI, k=5, algorithm=algorithm).report.ncp
        figures.add(algorithm, 100 * losses[algorithm], "%")
    shoal.anonymize(frame.head(50), quasi=ADULT_QUASI, k=5, algorithm="genetic(generations=1)")  # compiles
    begin = time.process_time()
    bred = shoal.anonymize(frame, quasi=ADULT_QUASI, k=5, algorithm="genetic").report
    figures.add("genetic: CPU", time.process_time() - begin, "s", 60.0)
    figures.add("genetic", 100 * bred.ncp, "%", 100 * min(losses.values()))
    figures.close()


if __name__ == "__main__":
    main()
