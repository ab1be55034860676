"""Pictures of what learning finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from shoal.report.pictures import Line, Picture, draw_bars, draw_lines


def draw_needed(lost: Mapping[str, float]) -> Picture:
    """How much of each column is still needed, the most first."""
    order = sorted(lost, key=lambda name: (-lost[name], name))
    bars = [(name, 1 - lost[name]) for name in order]
    return Picture((draw_bars("What has to be collected", "detail still needed", bars),))


def draw_search(
    results: pl.DataFrame, front: pl.DataFrame, score: str, raw: float, baseline: float
) -> Picture:
    """Score against k, a line for each l, and score against loss with the Pareto front."""
    done = results.filter(pl.col("status") == "done").sort("k", maintain_order=True)
    by_k = draw_lines(f"{score} by k", "k", score, [*_by_goal(done)], logarithmic=True, zero=False)
    best = list(front.sort("ncp", maintain_order=True).select("ncp", "score").iter_rows())
    texts = [f"k {k}, l {diverse or 1}" for k, diverse in done.select("k", "l").iter_rows()]
    lines = [
        Line("all", list(done.select("ncp", "score").iter_rows()), texts, stroke="none"),
        Line("Pareto front", best),
        *(
            Line(name, [(0.0, value), (1.0, value)], dots=False, stroke="dotted")
            for name, value in (("raw", raw), ("baseline", baseline))
        ),
    ]
    return Picture((by_k, draw_lines(f"{score} by loss", "NCP", score, lines, zero=False)))


def _by_goal(done: pl.DataFrame) -> Iterator[Line]:
    """The configurations that differ in k only; scores have a spread where they are of several splits."""
    keys = ["l", "models", "algorithm", "quasi", "sensitive", "training"]
    varying = [key for key in keys if done[key].n_unique() > 1]
    for _, line in done.group_by(keys, maintain_order=True):
        name = ", ".join(f"{key} {line[key][0]}" for key in varying) or "score"
        points = [(float(k), score) for k, score in line.select("k", "score").iter_rows()]
        yield Line(name, points, spread=line["score_std"].fill_null(0.0).to_list())
