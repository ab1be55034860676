"""Draws the pictures of teaching/code-space.md and teaching/mondrian.md; a test draws and compares them.

Run it after a change that moves a figure: ``python docs/make_teaching.py``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import shoal

sys.path.insert(0, str(Path(__file__).parent))
from make_exact_search import GREY, PINK, TEAL, drawing, text

SCHOOLS = shoal.Hierarchy.from_tree(
    {"school": ["none", "primary", "secondary"], "university": ["bachelor", "master"]}, root="any"
)
PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 29, 38, 41, 47],
        "education": ["primary", "secondary", "primary", "bachelor", "master", "master"],
        "town": ["Alta", "Bree", "Alta", "Corn", "Bree", "Corn"],
    }
)
LEVELS = (
    "no schooling",
    "primary",
    "lower secondary",
    "upper secondary",
    "vocational",
    "bachelor",
    "master",
    "doctorate",
)
BOX = f'fill="{TEAL}" fill-opacity="0.25" stroke="{TEAL}"'


def main(folder: Path) -> None:
    """Draw everything into a folder."""
    pictures = {
        "code-space-tree": tree(),
        "code-space-columns": columns(),
        "mondrian-k": panels(by_day(), [(50, "greedy"), (20, "greedy"), (5, "greedy")]),
        "mondrian-cuts": panels(by_education(), [(10, "classic"), (10, "nearest"), (10, "greedy")]),
    }
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text(picture, "utf-8")


def tree() -> str:
    """Every node of a hierarchy as a bar over the codes below it."""
    width, parts = 110, []
    for level in range(SCHOOLS.height, -1, -1):
        y = 16 + 52 * (SCHOOLS.height - level)
        for first, last, name in nodes(level):
            left, right = 30 + width * first, 30 + width * (last + 1)
            parts += [
                f'<rect x="{left + 4}" y="{y}" width="{right - left - 8}" height="34" rx="4" {BOX}/>',
                text((left + right) / 2, y + 22, f"{name}  [{first}, {last}]" if level else name, "middle"),
            ]
    parts += [
        text(30 + width * (code + 0.5), 192, str(code), "middle", PINK) for code in range(len(SCHOOLS.leaves))
    ]
    return drawing(620, 206, parts, "Every node of a tree is an interval of codes")


def nodes(level: int) -> Iterator[tuple[int, int, str]]:
    """The nodes of a level: first code, last code, name."""
    leaf = 0
    while leaf < len(SCHOOLS.leaves):
        low, high = (int(end) for end in SCHOOLS.extent(level, leaf))
        yield low, high, SCHOOLS.names[level][int(SCHOOLS.nodes[level, leaf])]
        leaf = high + 1


def columns() -> str:
    """Three kinds of columns as strips of codes, and what one class covers in each."""
    release = shoal.anonymize(
        PEOPLE, quasi=PEOPLE.columns, k=3, hierarchies={"education": SCHOOLS}, algorithm="mondrian"
    )
    orders = {
        "age": sorted(PEOPLE["age"]),
        "education": list(SCHOOLS.leaves),
        "town": ["Alta", "Bree", "Corn"],
    }
    parts = []
    for row, (column, order) in enumerate(orders.items()):
        y = 24 + 66 * row
        label = str(release.frame[column][0])
        held = {order.index(value) for value in PEOPLE[column][:3]}
        low, high = covered(column, label, held)
        parts.append(text(86, y + 21, column, "end"))
        for code, value in enumerate(order):
            x = 100 + 84 * code
            inside = low <= code <= high
            parts += [
                f'<rect x="{x}" y="{y}" width="80" height="32" rx="4" fill="{TEAL if inside else GREY}" '
                f'fill-opacity="{0.35 if inside else 0.1}" stroke="{TEAL if inside else GREY}"/>',
                text(x + 40, y + 21, str(value), "middle", TEAL if code in held else GREY),
            ]
        parts.append(text(100, y + 47, f"released as {label}", colour=PINK))
    return drawing(640, 216, parts, "What one class of three rows covers in three kinds of columns")


def covered(column: str, label: str, held: set[int]) -> tuple[int, int]:
    """The codes that a released value stands for."""
    if column == "education":
        level = next(level for level, names in enumerate(SCHOOLS.names) if label in names)
        low, high = SCHOOLS.extent(level, min(held))
        return int(low), int(high)
    return min(held), max(held)


def by_day() -> pl.DataFrame:
    """People as points: their age, and the day on which they came."""
    people = shoal.sample("hospital", rows=400).drop_nulls(["age", "admission_date"])
    return people.select("age", y=(pl.col("admission_date") - pl.col("admission_date").min()).dt.total_days())


def by_education() -> pl.DataFrame:
    """Likewise: their age, and how far they went to school."""
    people = shoal.sample("hospital", rows=400).drop_nulls(["age", "education"])
    ranks = {name: rank for rank, name in enumerate(LEVELS)}
    return people.select("age", y=pl.col("education").replace_strict(ranks, return_dtype=pl.Int64))


def panels(frame: pl.DataFrame, settings: list[tuple[int, str]]) -> str:
    """The classes of several runs side by side, as boxes around their rows."""
    parts = []
    for place, (k, cut) in enumerate(settings):
        parts += panel(frame, 20 + 212 * place, k, cut)
    return drawing(652, 262, parts, "Classes as boxes around their rows")


def panel(frame: pl.DataFrame, left: float, k: int, cut: str) -> Iterator[str]:
    """One run: a point per row, a box per class."""
    release = shoal.anonymize(frame, quasi=["age", "y"], k=k, algorithm=f"mondrian(cut={cut})")
    widest, highest = (float(str(frame[name].max())) for name in ("age", "y"))
    room = 0.35 if highest < 10 else 1  # rows of the same level are drawn beside each other

    def across(age: float) -> float:
        return left + 200 * age / widest

    def down(y: float) -> float:
        return 206 - 192 * y / highest

    for age, y in sorted(set(release.frame.rows())):
        (x1, x2), (y1, y2) = ends(age), ends(y)
        wide, high = across(x2) - across(x1) + 2, down(y1 - room) - down(y2 + room)
        corner = f'x="{across(x1) - 1:.1f}" y="{down(y2 + room):.1f}"'
        yield f'<rect {corner} width="{wide:.1f}" height="{high:.1f}" {BOX}/>'
    for number, (age, y) in enumerate(frame.rows()):
        aside = 1.6 * room * (number * 37 % 101 / 101 - 0.5)
        yield f'<circle cx="{across(age):.1f}" cy="{down(y + aside):.1f}" r="1.5" fill="{PINK}"/>'
    report = release.report
    yield text(left, 238, f"k = {k}, {cut}: {report.classes} classes,")
    yield text(left, 256, f"{100 * report.ncp:.1f} % of the detail lost")


def ends(label: object) -> tuple[int, int]:
    """The ends of a released range."""
    found = [int(number) for number in re.findall(r"\d+", str(label))]
    return found[0], found[-1]


if __name__ == "__main__":
    main(Path(__file__).parent / "teaching")
