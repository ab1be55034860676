"""Charts as SVG text: no script, colours from the page's style sheet, so both themes and paper get theirs.

Every function takes figures that are counted already, draws a handful of shapes, and escapes its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

WIDE, NARROW = 752, 362  # units of a drawing; a line of text is 12 of them high
_LINE = 20
_CHARACTER = 6.8  # mean width of one
_LONGEST = 26  # characters of a label


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a chart of bars that lie."""

    label: str
    values: tuple[float, ...]
    """The lengths of its bars."""
    note: str
    """What stands at its end."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One line of a chart of bars that are made of parts."""

    label: str
    parts: tuple[tuple[float, str, str], ...]
    """Share, class of the style sheet, and name of each part."""
    note: str


def bars(title: str, lines: Sequence[Bar], kinds: Sequence[str], width: int = NARROW) -> str:
    """Lying bars, one of each kind per line; ``kinds`` are classes of the style sheet."""
    left, right = _margin(line.label for line in lines), _margin(line.note for line in lines)
    longest = max((value for line in lines for value in line.values), default=0.0) or 1.0
    room, thick = width - left - right, 12 / len(kinds)
    step = _LINE if len(kinds) == 1 else _LINE + 2
    drawn = []
    for i, line in enumerate(lines):
        top = i * step + 4
        drawn += [_label(line.label, left - 8, top + 10), _text(line.note, width - right + 6, top + 10, "n")]
        for j, (value, kind) in enumerate(zip(line.values, kinds, strict=True)):
            size = max(value, 0.0) / longest * room
            drawn.append(_box(left, top + j * thick, size, thick - (len(kinds) > 1), kind, line))
    return _drawing(title, width, step * len(lines) + 6, drawn)


def stacks(title: str, lines: Sequence[Stack]) -> str:
    """Lying bars that are made of parts."""
    left, right = _margin(line.label for line in lines), _margin(line.note for line in lines)
    room = WIDE - left - right
    drawn = []
    for i, line in enumerate(lines):
        top, start = i * (_LINE + 6) + 4, float(left)
        drawn += [_label(line.label, left - 8, top + 13), _text(line.note, WIDE - right + 6, top + 13, "n")]
        for value, kind, name in line.parts:
            told = Bar(f"{line.label}, {name}", (), f"{value:.1%}")
            drawn.append(_box(start, top, value * room, _LINE - 2, kind, told))
            start += value * room
    return _drawing(title, WIDE, (_LINE + 6) * len(lines) + 6, drawn)


def columns(
    title: str,
    names: Sequence[str],
    standing: Sequence[float],
    line: Sequence[float] = (),
    *,
    kind: str = "before",
    width: int = NARROW,
    below: str = "",
) -> str:
    """Standing bars from left to right, and a line of steps over them; both are shares."""
    height, left, bottom = 188 if below else 172, 46, 150
    ticks, top = _ticks(max((*standing, *line), default=0.0))
    room, high = width - left - 8, bottom - 12
    step = room / max(len(names), 1)
    drawn = [*_scale(ticks, top, left, width - 8, bottom, high)]
    for i, (name, value) in enumerate(zip(names, standing, strict=True)):
        size = value / top * high
        note = f"{value:.1%}" + (f"; after {line[i]:.1%}" if line else "")
        gap = min(2.0, step * 0.15)
        box = _box(left + i * step + gap / 2, bottom - size, step - gap, size, kind, Bar(name, (), note))
        drawn.append(box)
    if line:
        ends = [(left + i * step, bottom - value / top * high) for i, value in enumerate(line)]
        path = "".join(f"{'ML'[i > 0]}{x:.1f} {y:.1f}h{step:.2f}" for i, (x, y) in enumerate(ends))
        drawn.append(f'<path class="line after" d="{path}"/>')
    drawn += [_text(name, x, bottom + 16, anchor) for x, name, anchor in _spread(names, left, step)]
    drawn.append(_text(below, left + room / 2, height - 4, "m axis"))
    return _drawing(title, width, height, drawn)


def curves(title: str, series: Sequence[tuple[str, Sequence[tuple[float, float]]]], mark: float) -> str:
    """Shares (upward) that grow with a number from 1 on (to the right, by powers of ten), in steps.

    ``mark`` is a number to draw a line at.
    """
    height, left, bottom, width = 240, 44, 196, WIDE
    most = max(x for _, points in series for x, _ in points)
    decades = max(1.0, log10(max(most, mark)) * 1.02)
    room, high = width - left - 16, bottom - 16
    drawn = [*_scale([0, 0.25, 0.5, 0.75, 1.0], 1.0, left, width - 16, bottom, high)]

    def place(x: float, y: float) -> tuple[float, float]:
        return left + log10(max(x, 1.0)) / decades * room, bottom - y * high

    digits = (1, 2, 5) if decades < 5 else (1,)
    steps = [digit * 10**power for power in range(int(decades) + 1) for digit in digits]
    drawn += [
        _text(f"{step:,}", x, bottom + 16, "m") for step in steps if (x := place(step, 0)[0]) <= width - 16
    ]
    x = place(mark, 0)[0]
    drawn.append(f'<path class="mark" d="M{x:.1f} {bottom}V16"/>')
    drawn.append(_text(f"{mark:,.0f}", x + 4, bottom - 6, "s mark"))
    for kind, points in series:
        (first, low), *rest = [place(*point) for point in points]
        path = f"M{first:.1f} {low:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
        drawn.append(f'<path class="line {kind}" d="{path}H{width - 16}"/>')
    drawn.append(_text("rows that look the same", left + room / 2, height - 6, "m axis"))
    return _drawing(title, width, height, drawn)


def plane(
    title: str,
    points: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float]],
    across: str,
    up: str,
) -> tuple[str, list[tuple[float, float]]]:
    """A plane of two shares with a dashed line in it, and where points lie on it.

    The points are not drawn, so that a page can put something there that can be chosen: their places are
    shares of the width and of the height of the drawing.
    """
    height, left, bottom, width = 300, 52, 248, WIDE
    room, high = width - left - 26, bottom - 34
    (steps, most), (ticks, top) = (_ticks(max((p[i] for p in points), default=0.0) * 1.06) for i in (0, 1))

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return left + point[0] / most * room, bottom - point[1] / top * high

    drawn = [*_scale(ticks, top, left, width - 26, bottom, high)]
    drawn += [_text(f"{100 * step:.4g} %", place((step, 0))[0], bottom + 17, "m soft") for step in steps]
    path = "".join(f"{'ML'[i > 0]}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(map(place, line)))
    drawn.append(f'<path class="line front" d="{path}"/>' if path else "")
    drawn += [_text(across, left + room / 2, height - 12, "m axis"), _text(up, 4, 16, "s axis")]
    places = [(x / width, y / height) for x, y in map(place, points)]
    return _drawing(title, width, height, drawn), places


def legend(pairs: Iterable[tuple[str, str]]) -> str:
    """What the colours mean, as a line of HTML; pairs of a class of the style sheet and a text."""
    items = (
        f'<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="{kind}" width="10" height="10"/>'
        f"</svg>{escape(text)}</span>"
        for kind, text in pairs
    )
    return f'<p class="legend">{"".join(items)}</p>'


def _margin(texts: Iterable[str]) -> int:
    longest = max((min(len(text), _LONGEST) for text in texts), default=0)
    return int(longest * _CHARACTER) + 12


def _ticks(most: float) -> tuple[list[float], float]:
    """A few round shares from 0 to just above ``most``, and the last of them."""
    most = most or 1.0
    unit = 10 ** int(f"{most:e}".partition("e")[2])
    step = next(unit * s for s in (0.25, 0.5, 1.0, 2.5) if most / (unit * s) <= 4)
    count = -(-most // step)
    return [step * i for i in range(int(count) + 1)], step * count


def _scale(
    ticks: Sequence[float], top: float, left: float, right: float, bottom: float, high: float
) -> Iterator[str]:
    for tick in ticks:
        y = bottom - tick / top * high
        yield f'<path class="grid" d="M{left} {y:.1f}H{right}"/>'
        yield _text(f"{100 * tick:.4g} %", left - 6, y + 4, "e soft")


def _spread(names: Sequence[str], left: float, step: float) -> Iterator[tuple[float, str, str]]:
    """The names that have room below their columns, evenly spread, with their places and anchors.

    Where not all have, a name begins where its column does; the last one has its place if it is no number.
    """
    widest = max((min(len(name), 16) for name in names), default=1) * _CHARACTER + 10
    every = max(1, int(-(-widest // step)))
    if every == 1:
        yield from ((left + (i + 0.5) * step, _short(name, 16), "m") for i, name in enumerate(names))
        return
    end = left + len(names) * step
    last = names[-1] if names[-1].isalpha() else ""
    room = end - (len(last) * _CHARACTER + 10 if last else 0)
    for i in range(0, len(names), every):
        if left + i * step + widest - 10 <= room:
            yield left + i * step, _short(names[i], 16), "s soft"
    yield end, last, "e soft"


def _box(x: float, y: float, width: float, height: float, kind: str, line: Bar) -> str:
    told = escape(f"{line.label}: {line.note}")
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect class="{kind}" {place}><title>{told}</title></rect>'


def _label(text: str, x: float, y: float) -> str:
    whole = f"<title>{escape(text)}</title>" if len(text) > _LONGEST else ""
    return f'<text class="e" x="{x:.1f}" y="{y:.1f}">{escape(_short(text, _LONGEST))}{whole}</text>'


def _text(text: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>' if text else ""


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _drawing(title: str, width: int, height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
