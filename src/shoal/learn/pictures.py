"""What learning shows: pictures, drawn by plotly, and results on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.report.pictures import cell


def needed(lost: Mapping[str, float]) -> Any:
    """How much of each column is still needed, the most first."""
    import plotly.graph_objects as go  # noqa: PLC0415  slow to load

    order = sorted(lost, key=lambda name: (-lost[name], name))
    figure = go.Figure(go.Bar(x=[1 - lost[name] for name in order], y=order, orientation="h"))
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title="detail still needed")
    return figure.update_layout(title="What has to be collected", height=160 + 22 * len(order))


def searched(results: pl.DataFrame, front: pl.DataFrame, score: str, raw: float, baseline: float) -> Any:
    """Score against k, a line for each l, and score against loss with the Pareto front."""
    import plotly.graph_objects as go  # noqa: PLC0415  slow to load
    from plotly.subplots import make_subplots  # noqa: PLC0415

    done = results.filter(pl.col("status") == "done").sort("k")
    figure = make_subplots(
        1, 2, subplot_titles=(f"{score} by k and l", f"{score} by loss"), shared_yaxes=True
    )
    keys = ["l", "models", "algorithm", "quasi", "sensitive"]
    varying = [key for key in keys if done[key].n_unique() > 1]
    for _, line in done.group_by(keys, maintain_order=True):
        name = ", ".join(f"{key} {line[key][0]}" for key in varying) or "score"
        spread = {"type": "data", "array": line["score_std"].to_list()}
        figure.add_scatter(
            x=line["k"].to_list(), y=line["score"].to_list(), error_y=spread, name=name, col=1, row=1
        )
    texts = [f"k {k}, l {diverse or 1}" for k, diverse in done.select("k", "l").iter_rows()]
    figure.add_scatter(
        x=done["ncp"].to_list(),
        y=done["score"].to_list(),
        text=texts,
        mode="markers",
        name="all",
        col=2,
        row=1,
    )
    best = front.sort("ncp")
    figure.add_scatter(
        x=best["ncp"].to_list(),
        y=best["score"].to_list(),
        mode="lines+markers",
        name="Pareto front",
        col=2,
        row=1,
    )
    for value, name in ((raw, "raw"), (baseline, "baseline")):
        figure.add_trace(
            go.Scatter(x=[0, 1], y=[value, value], mode="lines", line_dash="dot", name=name), row=1, col=2
        )
    figure.update_xaxes(title="k", col=1, row=1)
    return figure.update_xaxes(title="NCP", col=2, row=1)


def show_results(
    console: Console,
    results: pl.DataFrame,
    score: str,
    raw: float | None,
    baseline: float | None,
    best: Mapping[str, Any],
) -> None:
    """Results on a terminal: a line for every configuration, and the one to take."""
    same = [key for key in ("models", "algorithm", "quasi", "sensitive") if results[key].n_unique() == 1]
    keys = [key for key in ("k", "l", "models", "algorithm", "quasi", "sensitive") if key not in same]
    figures = ["score", "score_std", "deletion_ratio", "ncp", "seconds"]
    table = Table(*keys, score, "spread", "deleted", "ncp", "seconds", "", box=None, pad_edge=False)
    for row in results.iter_rows(named=True):
        mark = row["reason"] if row["reason"] else "" if row["status"] == "done" else row["status"]
        style = "bold" if best and all(row[key] == best[key] for key in keys) else ""
        table.add_row(*(Text(cell(row[key])) for key in (*keys, *figures)), Text(mark), style=style)
    console.print(table)
    if raw is not None and baseline is not None:
        console.print(f"raw rows {raw:.4f}, commonest class or mean {baseline:.4f} ({score})")
    if best:
        console.print(f"take k = {best['k']}" + (f", l = {best['l']}" if best["l"] else ""))
    else:
        console.print("no configuration is feasible and meets the target")
