"""Pictures that stand alone: points and lines on two axes, and pages with them that need nothing else.

They are SVG with colours of their own; the charts of a report, in ``svg.py``, take those of its page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.support.arithmetic import first_digit, log10
from shoal.support.files import whole_file
from shoal.support.language import format_number
from shoal.support.language import translate as _

_COLOURS = ("#4363d8", "#e6194b", "#3cb44b", "#f58231", "#911eb4", "#9a6324", "#008080", "#808000", "#800000")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LEGEND = 760, 420, 70, 50, 60, 170
_RIGHT = _WIDTH - _LEGEND - 10


@dataclass(frozen=True, slots=True)
class Picture:
    """Drawings as SVG, which a notebook shows."""

    drawings: tuple[str, ...]

    def _repr_html_(self) -> str:
        return "\n".join(self.drawings)

    def to_svg(self) -> str:
        """One drawing with all of them below each other, for a file."""
        parts, below = [], 0
        for drawing in self.drawings:
            found = re.search(r'viewBox="0 0 \d+ (\d+)"', drawing)
            assert found is not None
            parts.append(drawing.replace("<svg ", f'<svg y="{below}" height="{found[1]}" ', 1))
            below += int(found[1])
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {below}" width="{_WIDTH}">'
        return "\n".join([head, *parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class Line:
    """Points that belong together."""

    name: str
    points: Sequence[tuple[float, float]]
    notes: Sequence[str] = ()
    """What each point says when it is pointed at; its figures where nothing is said."""
    ringed: frozenset[int] = frozenset()
    """Which points have a ring."""
    spread: Sequence[float] = ()
    """How far each point may be off, up and down."""
    dots: bool = True
    """Whether the points are drawn."""
    stroke: str = "solid"
    """How they are joined: ``solid``, ``dotted`` or ``none``."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where figures stand on an axis, from 0 to 1."""

    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = log10(low), log10(high), log10(value)
        return 0.5 if high == low else (at - low) / (high - low)


def draw_lines(
    title: str, across: str, up: str, lines: Sequence[Line], *, logarithmic: bool = False, zero: bool = True
) -> str:
    """Lines on two axes, as SVG.

    Parameters
    ----------
    across, up : str
        What the axes are.
    logarithmic : bool
        Whether the axis to the right is of powers, and has a mark for each of its figures.
    zero : bool
        Whether the axis upward begins at 0.
    """
    points = [point for line in lines for point in line.points] or [(1.0, 0.0)]
    heights = [at for _, at in points]
    for line in lines:
        ends = zip(line.points, line.spread, strict=False)
        heights += [at + sign * off for (_, at), off in ends for sign in (-1, 1)]
    x, y = _x_scale([at for at, _ in points], logarithmic), _y_scale(heights, zero)
    marks = sorted({at for at, _ in points}) if logarithmic else _steps(x)
    parts = [*_draw_frame(title, across, up, marks, x, y)]
    for number, line in enumerate(lines):
        parts += _draw_line(line, _COLOURS[number % len(_COLOURS)], x, y)
        parts += _draw_key(line.name, _COLOURS[number % len(_COLOURS)], _TOP + 20 * number)
    return _draw_whole(title, _HEIGHT, parts)


def draw_bars(title: str, across: str, bars: Sequence[tuple[str, float]]) -> str:
    """Shares as lying bars, as SVG."""
    left, width, parts = 200, _WIDTH - 300, [_text(20, 22, title, size=15)]
    for number, (name, share) in enumerate(bars):
        y = _TOP + 22 * number
        parts.append(_text(left - 8, y + 12, name if len(name) <= 26 else f"{name[:25]}…", anchor="end"))
        told = f"<title>{escape(name)}: {format_number(share, '.1%')}</title>"
        size = f'width="{max(share, 0) * width:.1f}" height="16"'
        parts.append(f'<rect x="{left}" y="{y}" {size} fill="{_COLOURS[0]}">{told}</rect>')
        parts.append(_text(left + max(share, 0) * width + 6, y + 12, format_number(share, ".0%")))
    bottom = _TOP + 22 * len(bars) + 24
    parts.append(_text(left + width / 2, bottom, across, anchor="middle"))
    return _draw_whole(title, bottom + 20, parts)


def draw_heat_maps(
    title: str,
    names: tuple[str, str],
    labels: tuple[Sequence[str], Sequence[str]],
    shares: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> str:
    """Two fields side by side, before and after: the darker, the more rows have both values; as SVG."""
    down, across = labels
    left, cell, gap = 130, min(250 // max(len(across), 1), 60), 40
    wide, high = cell * len(across), 26 * len(down)
    most = max(float(shares[0].max(initial=0.0)), float(shares[1].max(initial=0.0)), 1e-12)
    parts = [_text(20, 22, title, size=15)]
    for side, (when, table) in enumerate(zip((_("before"), _("after")), shares, strict=True)):
        at = left + side * (wide + gap)
        parts.append(_text(at, _TOP - 6, when))
        for row, each in enumerate(table.tolist()):
            parts += _draw_fields(at, _TOP + 26 * row, cell, each, most, (down[row], across))
        parts += [
            f'<g transform="translate({at + cell * (number + 0.5):.1f} {_TOP + high + 12}) rotate(35)">'
            f"{_text(0, 0, _shorten(name))}</g>"
            for number, name in enumerate(across)
        ]
    parts += [_text(left - 8, _TOP + 26 * row + 17, _shorten(name), "end") for row, name in enumerate(down)]
    parts.append(
        _text(20, _TOP - 6, _("{down} by {across}", down=_shorten(names[0]), across=_shorten(names[1])))
    )
    return _draw_whole(title, _TOP + high + 90, parts)


def _draw_fields(
    x: float, y: float, cell: float, shares: Sequence[float], most: float, names: tuple[str, Sequence[str]]
) -> Iterator[str]:
    for number, (share, name) in enumerate(zip(shares, names[1], strict=True)):
        told = f"<title>{escape(names[0])}, {escape(name)}: {format_number(share, '.2%')}</title>"
        place = f'x="{x + cell * number:.1f}" y="{y}" width="{cell - 1:.1f}" height="25"'
        shade = f'fill="{_COLOURS[0]}" fill-opacity="{share / most:.3f}" stroke="#ccc"'
        yield f"<rect {place} {shade}>{told}</rect>"


def _shorten(text: str) -> str:
    return text if len(text) <= 17 else f"{text[:16]}…"


def _x_scale(values: Sequence[float], logarithmic: bool) -> _Scale:
    if logarithmic:
        return _Scale(min(values), max(values), True)
    return _Scale(0.0, _round_up(max(*values, 1e-9)))


def _y_scale(values: Sequence[float], zero: bool) -> _Scale:
    if zero:
        return _Scale(0.0, _round_up(max([*values, 1e-9])))
    margin = (max(values) - min(values)) * 0.1 or 0.05
    return _Scale(min(values) - margin, max(values) + margin)


def _steps(scale: _Scale) -> list[float]:
    return [scale.low + (scale.high - scale.low) * step / 4 for step in range(5)]


def _across(at: float) -> float:
    return _LEFT + 10 + at * (_RIGHT - _LEFT - 10)


def _upward(at: float) -> float:
    return _TOP + (1 - at) * (_HEIGHT - _TOP - _BOTTOM)


def _draw_frame(
    title: str, across: str, up: str, marks: Sequence[float], x: _Scale, y: _Scale
) -> Iterator[str]:
    """Title, axes, and lines to read off by."""
    bottom = _HEIGHT - _BOTTOM
    yield _text(_LEFT, 22, title, size=15)
    for value in _steps(y):
        at = _upward(y.place(value))
        yield f'<line x1="{_LEFT}" y1="{at:.1f}" x2="{_RIGHT}" y2="{at:.1f}" stroke="#ddd"/>'
        yield _text(_LEFT - 8, at + 4, f"{value:.4g}", anchor="end")
    for value in marks:
        yield _text(_across(x.place(value)), bottom + 18, f"{value:.4g}", anchor="middle")
    yield _text((_LEFT + _RIGHT) / 2, bottom + 42, across, anchor="middle")
    yield _text(14, _TOP - 12, up)


def _draw_line(line: Line, colour: str, x: _Scale, y: _Scale) -> Iterator[str]:
    places = [(_across(x.place(a)), _upward(y.place(b))) for a, b in line.points]
    if line.stroke != "none":
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        dash = ' stroke-dasharray="2 4"' if line.stroke == "dotted" else ""
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for (a, __), (__, value), off in zip(places, line.points, line.spread, strict=False):
        ends = _upward(y.place(value - off)), _upward(y.place(value + off))
        yield f'<path d="M{a:.1f} {ends[0]:.1f}V{ends[1]:.1f}" stroke="{colour}"/>'
    if not line.dots:
        return
    for number, (a, b) in enumerate(places):
        ring = ' stroke="#000" stroke-width="2"' if number in line.ringed else ""
        figures = " ".join(f"{figure:.4g}" for figure in line.points[number])
        told = line.notes[number] if line.notes else f"{line.name}: {figures}"
        dot = f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"{ring}>'
        yield f"{dot}<title>{escape(told)}</title></circle>"


def _draw_key(name: str, colour: str, y: float) -> Iterator[str]:
    yield f'<rect x="{_WIDTH - _LEGEND}" y="{y - 9}" width="12" height="12" fill="{colour}"/>'
    yield _text(_WIDTH - _LEGEND + 18, y + 2, name)


def _draw_whole(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" '
        'role="img" font-family="sans-serif" font-size="12">'
    )
    back = f'<rect width="{_WIDTH}" height="{height:.0f}" fill="#fff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", back, *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _round_up(value: float) -> float:
    """The next 1, 2, 2.5, 4, 5 or 10 times a power of ten."""
    power = float(f"1e{first_digit(value)}")
    return next(step * power for step in (1, 2, 2.5, 4, 5, 10) if step * power >= value * 0.999999)


def write_page(
    path: Path, title: str, picture: Picture, rows: pl.DataFrame, words: Sequence[str] = ()
) -> None:
    """A page with words, a picture and a table, which needs nothing from elsewhere and has no script."""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows.columns)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(format_cell(value))}</td>' for value in row)}</tr>"
        for row in rows.iter_rows()
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.2em .6em;text-align:left}"
        "svg{max-width:100%}</style>"
        f"<h1>{escape(title)}</h1>{''.join(f'<p>{escape(word)}</p>' for word in words)}"
        f"{picture._repr_html_()}<table><tr>{head}</tr>{body}</table></html>"
    )
    with whole_file(path) as stream:
        stream.write(page.encode())


def format_cell(value: Any) -> str:
    """A figure in a table of results; nothing where there is none."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
