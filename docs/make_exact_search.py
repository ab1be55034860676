"""Draws the pictures of teaching/exact-search.md from runs of Shoal; a test draws them again and compares.

Run it after a change that moves a figure: ``python docs/make_exact_search.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import shoal

JOBS = shoal.Hierarchy.from_tree(
    {"manual": ["cook", "mason", "plumber"], "office": ["clerk", "judge", "teacher"]}
)
PEOPLE = pl.DataFrame(
    {
        "age": [37, 50, 58, 44, 47],
        "sex": ["f", "m", "f", "m", "m"],
        "job": ["cook", "cook", "mason", "teacher", "plumber"],
    }
)
STEPS = {
    "all tables": 746_496,
    "brute force, cheapest first": 300_969,
    "tables of useful options": 1_050,
    "branch and bound": 31,
}
"""From the page, where they are checked."""
TEAL, PINK, GREY = "#00897b", "#d81b60", "#78909c"


def main(folder: Path) -> None:
    """Draw everything into a folder."""
    pictures = {"states": states(), "arcs": arcs(), "evolution": evolution()}
    for name, picture in pictures.items():
        (folder / f"exact-search-{name}.svg").write_text(picture, "utf-8")


def solve(frame: pl.DataFrame) -> shoal.Release:
    """The optimum by matching."""
    return shoal.anonymize(
        frame,
        quasi=frame.columns,
        k=2,
        loss="certainty",
        hierarchies={"job": JOBS},
        algorithm=shoal.MinGen(semantics="matching"),
    )


def states() -> str:
    """Bars: how many states each method looks at, on a logarithmic scale."""
    steps = {**STEPS, "Shoal, all optima included": solve(PEOPLE.head(4)).report.nodes or 0}
    parts = []
    for at, (name, count) in enumerate(steps.items()):
        y = 16 + 34 * at
        length = 360 * math.log10(count) / 6
        parts += [
            text(196, y + 15, name, "end"),
            f'<rect x="204" y="{y}" width="{length:.1f}" height="22" rx="3" fill="{TEAL}"/>',
            text(210 + length, y + 15, f"{count:,}"),
        ]
    return drawing(640, 190, parts, "How many states each method looks at")


def arcs() -> str:
    """Rows on a circle; an arrow from each row to everyone it covers."""
    release = solve(PEOPLE)
    labels = [" ".join(map(str, row)) for row in release.frame.rows()]
    n = PEOPLE.height
    place = [
        (320 + 130 * math.sin(2 * math.pi * i / n), 190 - 130 * math.cos(2 * math.pi * i / n))
        for i in range(n)
    ]
    parts = [
        arrow(place[i], place[j])
        for i in range(n)
        for j in range(n)
        if i != j and covers(labels[i], PEOPLE.row(j))
    ]
    for i, (x, y) in enumerate(place):
        side = "start" if x >= 319 else "end"
        shift = 22 if x >= 319 else -22
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="14" fill="{TEAL}"/>',
            text(x, y + 5, str(i + 1), "middle", "#ffffff"),
            text(x + shift, y - 2, " ".join(map(str, PEOPLE.row(i))), side),
            text(x + shift, y + 15, labels[i], side, PINK),
        ]
    return drawing(640, 350, parts, "Who each row could be")


def covers(label: str, person: tuple[int, str, str]) -> bool:
    """Whether a released row, as written, covers a person."""
    return all(within(cell, value) for cell, value in zip(label.split(), person, strict=True))


def within(cell: str, value: object) -> bool:
    """Whether a released cell covers a value."""
    if cell.startswith("["):
        low, high = cell.strip("[]").split("-")
        return int(low) <= int(str(value)) <= int(high)
    return cell in ("*", str(value)) or value in JOBS.to_tree().get(cell, [])


def evolution() -> str:
    """Best and mean loss of the evolution on the page, by generation."""
    frame = shoal.sample("hospital", rows=400).select("age", "sex", "education")
    report = shoal.anonymize(frame, quasi=frame.columns, k=5, algorithm="genetic(generations=60)").report
    best, mean = zip(*report.history, strict=True)
    low, high = min(best), max(mean)

    def points(values: Sequence[float]) -> str:
        steps = len(values) - 1
        heights = [20 + 180 * (high - value) / (high - low) for value in values]
        return " ".join(f"{60 + 540 * i / steps:.1f},{y:.1f}" for i, y in enumerate(heights))

    parts = [
        f'<polyline points="60,10 60,210 610,210" fill="none" stroke="{GREY}"/>',
        f'<polyline points="{points(mean)}" fill="none" stroke="{PINK}" stroke-width="2"/>',
        f'<polyline points="{points(best)}" fill="none" stroke="{TEAL}" stroke-width="2"/>',
        text(54, 25, f"{100 * high:.1f} %", "end"),
        text(54, 205, f"{100 * low:.1f} %", "end"),
        text(60, 228, "0"),
        text(600, 228, f"{len(best) - 1} generations", "end"),
        text(600, 40, "mean", "end", PINK),
        text(600, 60, "best", "end", TEAL),
    ]
    return drawing(640, 240, parts, "Best and mean loss by generation")


def arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """An arrow between two circles, bent a little so that two that face each other are told apart."""
    (ax, ay), (bx, by) = start, end
    dx, dy = bx - ax, by - ay
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    ax, ay, bx, by = ax + 16 * ux, ay + 16 * uy, bx - 20 * ux, by - 20 * uy
    cx, cy = (ax + bx) / 2 - 14 * uy, (ay + by) / 2 + 14 * ux
    path = f"M {ax:.1f} {ay:.1f} Q {cx:.1f} {cy:.1f} {bx:.1f} {by:.1f}"
    return f'<path d="{path}" fill="none" stroke="{GREY}" stroke-width="1.5" marker-end="url(#head)"/>'


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = GREY) -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def drawing(width: int, height: int, parts: Sequence[str], title: str) -> str:
    """A whole picture."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'font-family="sans-serif" font-size="13">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="{GREY}"/></marker></defs>'
    )
    return "\n".join([head, f"<title>{title}</title>", marker, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main(Path(__file__).parent / "teaching")
