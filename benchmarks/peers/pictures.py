"""The pictures of the page: loss against processor time of every table, and time and memory against rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COLOURS = (
    "#1f77b4",
    "#d62728",
    "#2ca02c",
    "#9467bd",
    "#ff7f0e",
    "#17becf",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#000000",
    "#3f51b5",
    "#9e9d24",
    "#ad1457",
    "#00695c",
    "#5d4037",
)
WIDTH, HEIGHT, ACROSS = 460, 330, 2
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 30, 46


@dataclass(frozen=True)
class Line:
    """What one program did, from point to point."""

    program: str
    points: tuple[tuple[float, float, str], ...]
    """To the right, upwards, and what a reader is told of the point."""


@dataclass(frozen=True)
class Panel:
    """A picture of its own; both scales are logarithmic."""

    title: str
    right: str
    up: str
    lines: tuple[Line, ...]


def draw(panels: Sequence[Panel]) -> str:
    """All panels, two in a row, with one legend below."""
    programs = list(dict.fromkeys(line.program for panel in panels for line in panel.lines))
    shades = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(programs)}
    rows = math.ceil(len(panels) / ACROSS)
    width, bottom = ACROSS * WIDTH, rows * HEIGHT
    height = bottom + 22 * math.ceil(len(programs) / 4) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        place = (number % ACROSS * WIDTH, number // ACROSS * HEIGHT)
        parts.append(f'<g transform="translate({place[0]},{place[1]})">')
        parts += _draw_panel(panel, shades)
        parts.append("</g>")
    for number, name in enumerate(programs):
        x, y = LEFT + number % 4 * 215, bottom + 18 + number // 4 * 22
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{shades[name]}"/>')
        parts.append(f'<text x="{x + 10}" y="{y}">{_escape(name.replace("`", ""))}</text>')
    return "\n".join((*parts, "</svg>", ""))


def _draw_panel(panel: Panel, shades: dict[str, str]) -> Iterable[str]:
    points = [point for line in panel.lines for point in line.points]
    x0, x1 = _bounds(point[0] for point in points)
    y0, y1 = _bounds(point[1] for point in points)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        down = (y1 - math.log10(y)) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        return LEFT + across, TOP + down

    yield f'<text x="{LEFT}" y="18" font-size="15">{_escape(panel.title)}</text>'
    low, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value in _ticks(x0, x1):
        x = place(value, 10**y0)[0]
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{low}" stroke="#e4e4e4"/>'
        yield f'<text x="{x:.1f}" y="{low + 16}" text-anchor="middle">{_write(value)}</text>'
    for value in _ticks(y0, y1):
        y = place(10**x0, value)[1]
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_write(value)}</text>'
    yield f'<text x="{(LEFT + right) / 2}" y="{low + 34}" text-anchor="middle">{_escape(panel.right)}</text>'
    middle = (TOP + low) / 2
    yield f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
    yield f"{_escape(panel.up)}</text>"
    for line in panel.lines:
        placed = [(*place(x, y), said) for x, y, said in line.points]
        path, shade = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in placed), shades[line.program]
        yield f'<polyline points="{path}" fill="none" stroke="{shade}" stroke-width="1.5"/>'
        for x, y, said in placed:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{shade}">'
            yield f"<title>{_escape(said)}</title></circle>"


def _bounds(values: Iterable[float]) -> tuple[float, float]:
    logs = [math.log10(value) for value in values]
    return min(logs) - 0.08, max(logs) + 0.08


def _ticks(low: float, high: float) -> list[float]:
    span = high - low
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if span < 0.8 else (1, 2, 5) if span < 2.5 else (1,)
    wide = range(math.floor(low), math.ceil(high) + 1)
    return [
        step * 10.0**power
        for power in wide
        for step in steps
        if low <= math.log10(step * 10.0**power) <= high
    ]


def _write(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
