"""Charts as SVG text: no script, colours from the page's style sheet, so both themes and paper get theirs.

Every function takes figures that are counted already, draws a handful of shapes, and escapes its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from shoal.support.arithmetic import log10
from shoal.support.language import format_number
from shoal.support.language import translate as _

WIDE, NARROW = 752, 362  # units of a drawing; a line of text is 12 of them high
_LINE = 20  # height of a line with its gap
# No font is measured: the page has no script, and the reader's font is not known here.
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


def draw_bars(title: str, lines: Sequence[Bar], kinds: Sequence[str], width: int = NARROW) -> str:
    """Lying bars, one of each kind per line; ``kinds`` are classes of the style sheet."""
    left, right = _measure_margin(line.label for line in lines), _measure_margin(line.note for line in lines)
    # Bars are relative to the longest one; 1 where all are 0.
    longest = max((value for line in lines for value in line.values), default=0.0) or 1.0
    span, thick = width - left - right, 12 / len(kinds)
    # Two bars share the height of one, so the pair needs some more distance to the next.
    step = _LINE if len(kinds) == 1 else _LINE + 2
    drawn = []
    for i, line in enumerate(lines):
        top = i * step + 4
        drawn += [
            _draw_label(line.label, left - 8, top + 10),
            _draw_text(line.note, width - right + 6, top + 10, "n"),
        ]
        for j, (value, kind) in enumerate(zip(line.values, kinds, strict=True)):
            size = max(value, 0.0) / longest * span
            drawn.append(_draw_box(left, top + j * thick, size, thick - (len(kinds) > 1), kind, line))
    return _wrap_drawing(title, width, step * len(lines) + 6, drawn)


def draw_stacks(title: str, lines: Sequence[Stack]) -> str:
    """Lying bars that are made of parts."""
    left, right = _measure_margin(line.label for line in lines), _measure_margin(line.note for line in lines)
    span = WIDE - left - right
    drawn = []
    for i, line in enumerate(lines):
        top, start = i * (_LINE + 6) + 4, float(left)
        drawn += [
            _draw_label(line.label, left - 8, top + 13),
            _draw_text(line.note, WIDE - right + 6, top + 13, "n"),
        ]
        for value, kind, name in line.parts:
            # What a browser shows when the pointer rests on the part.
            told = Bar(f"{line.label}, {name}", (), format_number(value, ".1%"))
            drawn.append(_draw_box(start, top, value * span, _LINE - 2, kind, told))
            start += value * span
    return _wrap_drawing(title, WIDE, (_LINE + 6) * len(lines) + 6, drawn)


def draw_columns(
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
    ticks, top = _choose_ticks(max((*standing, *line), default=0.0))
    span, high = width - left - 8, bottom - 12
    step = span / max(len(names), 1)
    drawn = [*_draw_scale(ticks, top, left, width - 8, bottom, high)]
    for i, (name, value) in enumerate(zip(names, standing, strict=True)):
        size = value / top * high
        note = format_number(value, ".1%") + (_("; after {share:.1%}", share=line[i]) if line else "")
        # A share of the width, or thin columns would vanish in their gaps.
        gap = min(2.0, step * 0.15)
        box = _draw_box(left + i * step + gap / 2, bottom - size, step - gap, size, kind, Bar(name, (), note))
        drawn.append(box)
    if line:
        ends = [(left + i * step, bottom - value / top * high) for i, value in enumerate(line)]
        path = "".join(f"{'ML'[i > 0]}{x:.1f} {y:.1f}h{step:.2f}" for i, (x, y) in enumerate(ends))
        drawn.append(f'<path class="line after" d="{path}"/>')
    drawn += [
        _draw_text(name, x, bottom + 16, anchor) for x, name, anchor in _choose_axis_labels(names, left, step)
    ]
    drawn.append(_draw_text(below, left + span / 2, height - 4, "m axis"))
    return _wrap_drawing(title, width, height, drawn)


def draw_small_columns(title: str, values: Sequence[float], notes: Sequence[str], kind: str = "after") -> str:
    """Standing bars without axes, as small as a word, with what a browser shows when the pointer rests."""
    width, height = 132, 32
    step, longest = width / max(len(values), 1), max(values, default=0.0) or 1.0
    # What is there can be seen, however little it is beside the longest.
    sizes = [max(value / longest * height, 1.0) if value else 0.0 for value in values]
    bars = (
        _draw_box(
            at * step,
            height - size,
            step - min(2.0, step * 0.15),
            size,
            kind,
            Bar(note, (), format_number(value, ",.0f")),
        )
        for at, (size, value, note) in enumerate(zip(sizes, values, notes, strict=True))
    )
    return _wrap_drawing(title, width, height, bars)


def draw_curves(title: str, series: Sequence[tuple[str, Sequence[tuple[float, float]]]], mark: float) -> str:
    """Shares (upward) that grow with a number from 1 on (to the right, by powers of ten), in steps.

    ``mark`` is a number to draw a line at.
    """
    height, left, bottom, width = 240, 44, 196, WIDE
    most = max(x for _, points in series for x, _ in points)
    # 2 % more, so that the last step is not drawn on the edge; at least one decade of axis.
    decades = max(1.0, log10(max(most, mark)) * 1.02)
    span, high = width - left - 16, bottom - 16
    drawn = [*_draw_scale([0, 0.25, 0.5, 0.75, 1.0], 1.0, left, width - 16, bottom, high)]

    def project_point(x: float, y: float) -> tuple[float, float]:
        # y grows downwards in SVG.
        return left + log10(max(x, 1.0)) / decades * span, bottom - y * high

    # Over many decades only the powers of ten have space for their numbers.
    digits = (1, 2, 5) if decades < 5 else (1,)
    steps = [digit * 10**power for power in range(int(decades) + 1) for digit in digits]
    drawn += [
        _draw_text(format_number(step, ","), x, bottom + 16, "m")
        for step in steps
        if (x := project_point(step, 0)[0]) <= width - 16
    ]
    x = project_point(mark, 0)[0]
    drawn.append(f'<path class="mark" d="M{x:.1f} {bottom}V16"/>')
    drawn.append(_draw_text(format_number(mark, ",.0f"), x + 4, bottom - 6, "s mark"))
    for kind, points in series:
        (first, low), *rest = [project_point(*point) for point in points]
        path = f"M{first:.1f} {low:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
        # All rows are counted by the last point, so the line goes on flat to the right.
        drawn.append(f'<path class="line {kind}" d="{path}H{width - 16}"/>')
    drawn.append(_draw_text(_("rows that look the same"), left + span / 2, height - 6, "m axis"))
    return _wrap_drawing(title, width, height, drawn)


def draw_plane(
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
    span, high = width - left - 26, bottom - 34
    # 6 % more, so that what a page puts at the outermost points is not cut off.
    (steps, most), (ticks, top) = (
        _choose_ticks(max((p[i] for p in points), default=0.0) * 1.06) for i in (0, 1)
    )

    def project_point(point: tuple[float, float]) -> tuple[float, float]:
        return left + point[0] / most * span, bottom - point[1] / top * high

    drawn = [*_draw_scale(ticks, top, left, width - 26, bottom, high)]
    drawn += [
        _draw_text(
            f"{format_number(100 * step, '.4g')} %", project_point((step, 0))[0], bottom + 17, "m soft"
        )
        for step in steps
    ]
    path = "".join(f"{'ML'[i > 0]}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(map(project_point, line)))
    drawn.append(f'<path class="line front" d="{path}"/>' if path else "")
    drawn += [_draw_text(across, left + span / 2, height - 12, "m axis"), _draw_text(up, 4, 16, "s axis")]
    # Shares, not units: the drawing is scaled with the page, and what lies on it has to follow.
    places = [(x / width, y / height) for x, y in map(project_point, points)]
    return _wrap_drawing(title, width, height, drawn), places


def draw_legend(pairs: Iterable[tuple[str, str]]) -> str:
    """What the colours mean, as a line of HTML; pairs of a class of the style sheet and a text."""
    items = (
        f'<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="{kind}" width="10" height="10"/>'
        f"</svg>{escape(text)}</span>"
        for kind, text in pairs
    )
    return f'<p class="legend">{"".join(items)}</p>'


def _measure_margin(texts: Iterable[str]) -> int:
    longest = max((min(len(text), _LONGEST) for text in texts), default=0)
    return int(longest * _CHARACTER) + 12


def _choose_ticks(most: float) -> tuple[list[float], float]:
    """A few round shares from 0 to just above ``most``, and the last of them."""
    most = most or 1.0
    # The exponent from its decimal text: a logarithm could fall on either side of a power of ten,
    # and then two processors would draw different ticks.
    unit = 10 ** int(f"{most:e}".partition("e")[2])
    # most / unit is below 10, so the last step always fits; at most four steps, five ticks.
    step = next(unit * s for s in (0.25, 0.5, 1.0, 2.5) if most / (unit * s) <= 4)
    count = -(-most // step)
    return [step * i for i in range(int(count) + 1)], step * count


def _draw_scale(
    ticks: Sequence[float], top: float, left: float, right: float, bottom: float, high: float
) -> Iterator[str]:
    for tick in ticks:
        y = bottom - tick / top * high
        yield f'<path class="grid" d="M{left} {y:.1f}H{right}"/>'
        yield _draw_text(f"{format_number(100 * tick, '.4g')} %", left - 6, y + 4, "e soft")


def _choose_axis_labels(names: Sequence[str], left: float, step: float) -> Iterator[tuple[float, str, str]]:
    """The names that fit below their columns, at even distances, with their places and anchors.

    Where not all have, a name begins where its column does; the last one has its place if it is no number.
    """
    widest = max((min(len(name), 16) for name in names), default=1) * _CHARACTER + 10
    # Rounded up: every so many columns there is enough width for one name.
    every = max(1, int(-(-widest // step)))
    if every == 1:
        yield from ((left + (i + 0.5) * step, _shorten_string(name, 16), "m") for i, name in enumerate(names))
        return
    end = left + len(names) * step
    # Such as 'missing', which is no point of the scale and would otherwise often be skipped.
    last = names[-1] if names[-1].isalpha() else ""
    span = end - (len(last) * _CHARACTER + 10 if last else 0)
    for i in range(0, len(names), every):
        if left + i * step + widest - 10 <= span:
            yield left + i * step, _shorten_string(names[i], 16), "s soft"
    yield end, last, "e soft"


def _draw_box(x: float, y: float, width: float, height: float, kind: str, line: Bar) -> str:
    told = escape(f"{line.label}: {line.note}")
    # A share that rounds below 0 would be an error in SVG.
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect class="{kind}" {place}><title>{told}</title></rect>'


def _draw_label(text: str, x: float, y: float) -> str:
    # A shortened label can still be read in full as a tool tip.
    whole = f"<title>{escape(text)}</title>" if len(text) > _LONGEST else ""
    return f'<text class="e" x="{x:.1f}" y="{y:.1f}">{escape(_shorten_string(text, _LONGEST))}{whole}</text>'


def _draw_text(text: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>' if text else ""


def _shorten_string(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _wrap_drawing(title: str, width: int, height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
