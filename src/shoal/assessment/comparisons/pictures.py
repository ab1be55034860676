"""The frontier between loss and risk, drawn."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from shoal.report.pictures import Line, Picture, draw_lines


def draw_comparison(done: pl.DataFrame, front: pl.DataFrame, loss: str) -> Picture:
    """Loss against k, a line for each algorithm and l, and loss against the greatest risk with the front."""
    across = "risk of the row that is easiest to re-identify"
    by_risk = draw_lines(f"{loss} by greatest risk", across, loss, [*_risks(done), _front(front)])
    return Picture((draw_by_k(done, front, loss, f"{loss} by k"), by_risk))


def draw_by_k(done: pl.DataFrame, front: pl.DataFrame, loss: str, title: str) -> str:
    """Loss against k as SVG; what no other setting beats has a ring."""
    unbeaten = set(front.select("algorithm", "k", "l").iter_rows())
    lines = [
        Line(
            name,
            [(float(k), lost) for k, lost in line.select("k", "loss").iter_rows()],
            _notes(name, line),
            frozenset(
                at for at, key in enumerate(line.select("algorithm", "k", "l").iter_rows()) if key in unbeaten
            ),
        )
        for name, line in _group_lines(done)
    ]
    return draw_lines(title, "k; a ring: no other setting beats it", loss, lines, logarithmic=True)


def _risks(done: pl.DataFrame) -> Iterator[Line]:
    for name, line in _group_lines(done):
        points = list(line.select("max_risk", "loss").iter_rows())
        yield Line(name, points, _notes(name, line), stroke="none")


def _front(front: pl.DataFrame) -> Line:
    best = front.sort("max_risk", maintain_order=True)
    return Line("front", list(best.select("max_risk", "loss").iter_rows()), dots=False, stroke="dotted")


def _notes(name: str, line: pl.DataFrame) -> list[str]:
    return [f"{name}, k {k}: {lost:.4g}" for k, lost in line.select("k", "loss").iter_rows()]


def _group_lines(done: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The settings that differ in k only, and what they have in common."""
    several = done["l"].n_unique() > 1
    for (algorithm, diverse), line in done.sort("k", maintain_order=True).group_by(
        "algorithm", "l", maintain_order=True
    ):
        yield f"{algorithm}{f', l {diverse or 1}' if several else ''}", line
