"""Draws imports.svg: which package imports which, read from the source; a test draws and compares it.

Run it after a change of the packages: ``python docs/make_imports.py``.

A package stands below everything that it imports. An arrow that follows from two others is left out: if the
report imports recipes and recipes import algorithms, no arrow goes from the report to algorithms.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from make_exact_search import GREY, TEAL, drawing, text

SOURCE = Path(__file__).parents[1] / "src" / "shoal"
WIDTH, HEIGHT, GAP, STEP = 118, 30, 22, 62
LIGHT, DARK = "#e0f2f1", "#263238"  # of a box and its name: legible on white and on black paper


def read_imports() -> dict[str, set[str]]:
    """The packages that every package imports, at once or late, but not for types alone."""
    graph: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package not in ("__init__", "__main__"):
            graph.setdefault(package, set()).update(find_packages(ast.parse(path.read_text("utf-8"))))
    return {package: found & graph.keys() - {package} for package, found in graph.items()}


def find_packages(tree: ast.AST) -> Iterator[str]:
    """The packages of ``shoal`` that the imports of a file name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if "." in node.module else [f"shoal.{each.name}" for each in node.names]
            yield from (name.split(".")[1] for name in names if name.startswith("shoal."))


def reduce_graph(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without the arrows that follow from others."""
    reach: dict[str, set[str]] = {}
    for package in TopologicalSorter(graph).static_order():
        reach[package] = graph[package].union(*(reach[each] for each in graph[package]))
    return {
        package: {each for each in found if not any(each in reach[other] for other in found - {each})}
        for package, found in graph.items()
    }


def place_packages(graph: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """The centre of every box: a row per distance from the packages that import nothing."""
    row: dict[str, int] = {}
    for package in TopologicalSorter(graph).static_order():
        row[package] = max((row[each] + 1 for each in graph[package]), default=0)
    rows = [sorted(name for name in row if row[name] == level) for level in range(max(row.values()) + 1)]
    widest = max(map(len, rows))
    centre = {
        name: ((widest - len(names) + 1 + 2 * place) * (WIDTH + GAP) / 2, STEP * level + HEIGHT)
        for level, names in enumerate(rows)
        for place, name in enumerate(names)
    }
    for name, (x, y) in centre.items():  # aside, where an arrow would cross a box of the row above
        if any(row[each] < row[name] - 1 and centre[each][0] == x for each in graph[name]):
            centre[name] = (x + WIDTH + GAP, y)
    return centre


def draw_imports() -> str:
    """The picture, as SVG."""
    arrows = reduce_graph(read_imports())
    centre = place_packages(arrows)
    lines = [
        f'<path d="M{centre[a][0]:g} {centre[a][1] - HEIGHT / 2:g} L{centre[b][0]:g} '
        f'{centre[b][1] + HEIGHT / 2:g}" stroke="{GREY}" fill="none" marker-end="url(#head)"/>'
        for a in sorted(arrows)
        for b in sorted(arrows[a])
    ]
    boxes = [
        f'<rect x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        f'fill="{LIGHT}" stroke="{TEAL}"/>{text(x, y + 4, name, "middle", DARK)}'
        for name, (x, y) in sorted(centre.items())
    ]
    width = round(max(x for x, _ in centre.values()) + WIDTH / 2 + GAP / 2)
    height = round(max(y for _, y in centre.values()) + HEIGHT)
    return drawing(width, height, [*lines, *boxes], "Which package imports which")


if __name__ == "__main__":
    Path(__file__).with_name("imports.svg").write_text(draw_imports(), encoding="utf-8")
