"""The frontier between loss and risk: by plotly for a page, and as a plain drawing."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil, log10
from typing import Any

import polars as pl

_COLOURS = ("#4363d8", "#e6194b", "#3cb44b", "#f58231", "#911eb4", "#9a6324", "#008080", "#808000", "#800000")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LEGEND = 760, 420, 70, 50, 60, 170


def figure(done: pl.DataFrame, front: pl.DataFrame, loss: str) -> Any:
    """Loss against k, a line for each algorithm and l, and loss against the greatest risk with the front."""
    from plotly.subplots import make_subplots  # noqa: PLC0415  slow to load

    drawn = make_subplots(
        1, 2, subplot_titles=(f"{loss} by k", f"{loss} by greatest risk"), shared_yaxes=True
    )
    for number, (name, line) in enumerate(_lines(done)):
        colour = _COLOURS[number % len(_COLOURS)]
        k, lost = line["k"].to_list(), line["loss"].to_list()
        risk = line["max_risk"].to_list()
        texts = [f"{name}, k {each}" for each in k]
        drawn.add_scatter(x=k, y=lost, name=name, mode="lines+markers", line_color=colour, row=1, col=1)
        points = {"mode": "markers", "marker_color": colour, "showlegend": False}
        drawn.add_scatter(x=risk, y=lost, text=texts, row=1, col=2, **points)
    best = front.sort("max_risk")
    x, y = best["max_risk"].to_list(), best["loss"].to_list()
    drawn.add_scatter(x=x, y=y, name="front", mode="lines", line_dash="dot", row=1, col=2)
    drawn.update_xaxes(title="k", row=1, col=1)
    drawn.update_xaxes(title="risk of the row that is easiest to re-identify", row=1, col=2)
    return drawn.update_yaxes(rangemode="tozero")


def drawing(done: pl.DataFrame, front: pl.DataFrame, loss: str, title: str) -> str:
    """Loss against k as SVG; what no other setting beats has a ring."""
    ks = done["k"].to_list() or [1]
    most = _round_up(max([*done["loss"].to_list(), 1e-9]))
    low, high = log10(min(ks)), log10(max(ks))

    def place(k: int, lost: float) -> tuple[float, float]:
        across = 0.5 if high == low else (log10(k) - low) / (high - low)
        wide = _WIDTH - _LEFT - _LEGEND - 20
        return _LEFT + 10 + across * wide, _TOP + (1 - lost / most) * (_HEIGHT - _TOP - _BOTTOM)

    unbeaten = set(front.select("algorithm", "k", "l").iter_rows())
    parts = [*_frame(sorted(set(ks)), most, loss, title, place)]
    for number, (name, line) in enumerate(_lines(done)):
        colour = _COLOURS[number % len(_COLOURS)]
        points = [place(k, lost) for k, lost in line.select("k", "loss").iter_rows()]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        keys = line.select("algorithm", "k", "l").iter_rows()
        for (x, y), key in zip(points, keys, strict=True):
            ring = ' stroke="#000" stroke-width="2"' if key in unbeaten else ""
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"{ring}/>')
        y = _TOP + 20 * number
        parts.append(f'<rect x="{_WIDTH - _LEGEND}" y="{y - 9}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(_WIDTH - _LEGEND + 18, y + 2, name))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        'role="img" font-family="sans-serif" font-size="12">'
    )
    back = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", back, *parts, "</svg>", ""])


def _frame(ks: list[int], most: float, loss: str, title: str, place: Any) -> Iterator[str]:
    """Title, axes, and lines to read off by."""
    yield _text(_LEFT, 22, title, size=15)
    right, bottom = _WIDTH - _LEGEND - 10, _HEIGHT - _BOTTOM
    for step in range(5):
        value = most * step / 4
        _, y = place(ks[0], value)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(_LEFT - 8, y + 4, f"{value:.4g}", anchor="end")
    for k in ks:
        x, _ = place(k, 0.0)
        yield _text(x, bottom + 18, str(k), anchor="middle")
    yield _text((_LEFT + right) / 2, bottom + 42, "k; a ring: no other setting beats it", anchor="middle")
    yield _text(14, _TOP - 12, loss)


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _lines(done: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The settings that differ in k only, and what they have in common."""
    several = done["l"].n_unique() > 1
    for (algorithm, diverse), line in done.sort("k").group_by("algorithm", "l", maintain_order=True):
        yield f"{algorithm}{f', l {diverse or 1}' if several else ''}", line


def _round_up(value: float) -> float:
    """The next 1, 2, 2.5, 4, 5 or 10 times a power of ten."""
    power = 10.0 ** ceil(log10(value) - 1)
    return next(step * power for step in (1, 2, 2.5, 4, 5, 10) if step * power >= value * 0.999999)
