"""The diagrams of the lessons: for every step a list of shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from shoal.teach.lessons.lesson import Lesson, LessonStep

Shape = tuple[Any, ...]
"""Its kind, its style, and its places: `circle` x y r, `line` x1 y1 x2 y2, `rect` x y width height, `text` x
y words anchor, `curve` and `arrow` with their points."""
# What lies above what, since a shape that lasts keeps its place while others come and go.
_LAYERS = {"rect": 0, "curve": 1, "line": 2, "arrow": 2, "circle": 4, "text": 5}
_STYLE_LAYERS = {"cover": 2, "axis": 3, "path": 3, "knife": 3, "now": 3, "frame": 6}


class LessonPicture(NamedTuple):
    """Width, height, the shapes of every step; what part of a wider picture is visible, and looked at."""

    width: int
    height: int
    frames: list[list[Shape]]
    lefts: list[int] | None = None
    centres: list[int] | None = None


class Theme(NamedTuple):
    """What is said around a diagram, and how it is drawn."""

    title: str
    summary: str
    legend: str
    draw: Callable[[Lesson], LessonPicture]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The diagram of a whole lesson."""

    title: str
    summary: str
    legend: str
    width: int
    height: int
    frames: list[list[Shape]]
    lefts: list[int] | None
    centres: list[int] | None

    def find_lefts(self) -> list[int]:
        """Per step, where the visible part begins."""
        return self.lefts or [0] * len(self.frames)

    def find_centres(self) -> list[int]:
        """Per step, how far across the visible part somebody should look; a narrow screen scrolls there."""
        return self.centres or [0] * len(self.frames)

    def list_lifetimes(self) -> list[list[Any]]:
        """Every shape once, with the first and the last step of each time that it is seen."""
        found: list[list[Any]] = []
        alive: dict[Shape, list[Any]] = {}
        for number, frame in enumerate(self.frames):
            now: dict[Shape, list[Any]] = {}
            for shape in dict.fromkeys(frame):
                entry = alive.get(shape)
                if entry is None:
                    entry = [number, number, *shape]
                    found.append(entry)
                entry[1] = number
                now[shape] = entry
            alive = now
        return sorted(found, key=lambda entry: _STYLE_LAYERS.get(entry[3], _LAYERS[entry[2]]))


def draw_lesson(lesson: Lesson) -> Drawing:
    """Draw every step of a lesson."""
    theme = THEMES[lesson.name]
    return Drawing(theme.title, theme.summary, theme.legend, *theme.draw(lesson))


@dataclass(slots=True)
class _Node:
    depth: int
    parent: int | None
    first: int
    """The step at which it appears."""
    marks: dict[int, str]
    """What became of it, by step."""
    x: float = 0.0


def draw_tree(lesson: Lesson) -> LessonPicture:
    """The search tree: a node for every decision, the current branch in colour."""
    nodes, current = _grow_tree(lesson.steps)
    leaves = _place_nodes(nodes)
    levels = max((node.depth for node in nodes), default=0) + 1
    height = 40 + min(34 * levels, 420)
    # A tree too wide to be read is shown in part, and the part moves on by whole pages.
    across, down = min(max(560 / max(leaves - 1, 1), 18), 120), (height - 40) / max(levels - 1, 1)
    page = 360

    def place(node: _Node) -> tuple[float, float]:
        return round(80 + node.x * across, 1), round(20 + node.depth * down, 1)

    frames: list[list[Shape]] = []
    lefts: list[int] = []
    centres: list[int] = []
    for number, at in enumerate(current):
        x = 0.0 if at is None else place(nodes[at])[0]
        left = max(0, int((x - 200) // page) * page) if at is not None else (lefts or [0])[-1]
        seen = _draw_nodes(nodes, number, _list_ancestors(nodes, at), place)
        parts = _list_parts(lesson.steps[number], left, height)
        frames.append([*_label_levels(lesson, levels, down, left), *seen, *parts])
        lefts.append(left)
        centres.append(0 if at is None else round(x - left))
    room = 150 if lesson.name == "program" else 0
    return LessonPicture(660, height + room, frames, lefts, centres)


def _grow_tree(steps: Sequence[LessonStep]) -> tuple[list[_Node], list[int | None]]:
    """The nodes in the order in which they appear, and the current one of every step."""
    nodes: list[_Node] = []
    path: list[int] = []
    current: list[int | None] = []
    before: LessonStep | None = None
    for number, step in enumerate(steps):
        if step.depth is not None:
            is_same = before is not None and before.depth == step.depth and before.cells == step.cells
            if step.kind == "change" or not is_same:
                path = path[: step.depth]
                nodes.append(_Node(step.depth, path[-1] if path else None, number, {}))
                path.append(len(nodes) - 1)
            nodes[path[-1]].marks[number] = step.kind
            before = step
        current.append(path[-1] if path and step.depth is not None else None)
    return nodes, current


def _place_nodes(nodes: list[_Node]) -> int:
    """Leaves side by side, every other node above the middle of its children; gives the number of leaves."""
    children: list[list[_Node]] = [[] for _ in nodes]
    for node in nodes:
        if node.parent is not None:
            children[node.parent].append(node)
    leaves = 0
    for node, below in zip(nodes, children, strict=True):
        if not below:
            node.x, leaves = leaves, leaves + 1
    for node, below in reversed(list(zip(nodes, children, strict=True))):
        if below:
            node.x = (below[0].x + below[-1].x) / 2
    return leaves


def _list_ancestors(nodes: Sequence[_Node], at: int | None) -> set[int]:
    found = set()
    while at is not None:
        found.add(at)
        at = nodes[at].parent
    return found


def _draw_nodes(
    nodes: Sequence[_Node], number: int, path: set[int], place: Callable[[_Node], tuple[float, float]]
) -> Iterator[Shape]:
    seen = [(i, node) for i, node in enumerate(nodes) if node.first <= number]
    for i, node in seen:
        if node.parent is not None:
            yield "line", "path" if i in path else "line", *place(nodes[node.parent]), *place(node)
    for i, node in seen:
        x, y = place(node)
        kind = next((mark for step, mark in reversed(node.marks.items()) if step <= number), "change")
        if kind.startswith("cut"):
            yield "text", "cross", x, y + 4, "✕", "middle"
        elif kind in ("best", "unsafe"):
            yield "circle", kind, x, y, 6
        else:
            yield "circle", "change" if i in path else "dot", x, y, 5 if i in path else 3


def _label_levels(lesson: Lesson, levels: int, down: float, left: int) -> Iterator[Shape]:
    rows = len(lesson.table.people)
    for level in range(levels):
        if lesson.name == "brute-force":
            words = lesson.table.names[level // rows] if level % rows == 0 else ""
        else:
            words = f"row {level + 1}" if lesson.name == "bounds" else ""
        if words:
            yield "text", "soft", left + 4, round(24 + level * down, 1), words, "start"


def _list_parts(step: LessonStep, left: int, top: int) -> Iterator[Shape]:
    """What a mixed-integer program takes at this step: a bar as long as the part of each group."""
    if step.picture is None:
        return
    fixed = [("1", rows) for rows in step.picture["fixed"]]
    for number, (part, rows) in enumerate([*fixed, *step.picture["parts"]][:14]):
        x, y = left + 20 + 320 * (number // 7), top + 14 + 19 * (number % 7)
        share = float(Fraction(part))
        yield "rect", "box", x, y - 11, 100, 14
        yield "rect", "v2" if number < len(fixed) else "v0", x, y - 11, round(100 * share, 1), 14
        words = f"{part} of {{{', '.join(map(str, rows))}}}" + (" fixed" if number < len(fixed) else "")
        yield "text", "", x + 108, y, words, "start"


def draw_evolution(lesson: Lesson) -> LessonPicture:
    """Curves of the whole run, uncovered as far as it has gone; and the population, the fittest first."""
    history = lesson.steps[-1].picture["history"]
    top = max(each["best"] for each in history) * 1.05
    left, right, bottom = 40, 440, 250

    def across(generation: float) -> float:
        return round(left + (right - left) * generation / max(len(history) - 1, 1), 1)

    def down(share: float) -> float:
        return round(bottom - (bottom - 20) * min(share, 1), 1)

    def trace_curve(key: str, of: float) -> str:
        thin = max(1, len(history) // 200)
        kept = sorted({*range(0, len(history), thin), len(history) - 1})
        return " ".join(f"{across(g)},{down(history[g][key] / of)}" for g in kept)

    still: list[Shape] = [
        ("curve", "axis", f"{left},15 {left},{bottom} {right},{bottom}"),
        ("curve", "share", trace_curve("safe", 1)),
        ("curve", "mean", trace_curve("mean", top)),
        ("curve", "top", trace_curve("best", top)),
        ("text", "soft", left - 4, 24, f"{top:.1f}", "end"),
        ("text", "soft", left, bottom + 16, "0", "middle"),
        ("text", "soft", right, bottom + 16, f"{len(history) - 1} generations", "end"),
        ("text", "soft", 470, bottom + 16, "the population", "start"),
    ]
    frames = []
    for step in lesson.steps:
        x = across(step.picture["generation"])
        crowd = step.picture["crowd"]
        gap = 180 / max(len(crowd) - 1, 1)
        frame = [*still, ("rect", "cover", x + 1, 10, round(right - x + 6, 1), bottom - 9)]
        frame += [
            ("circle", "best" if is_safe else "unsafe", round(470 + gap * rank, 1), down(fitness / top), 2.5)
            for rank, (fitness, is_safe) in enumerate(crowd)
        ]
        frames.append(frame)
    return LessonPicture(660, 280, frames)


def draw_pairs(lesson: Lesson) -> LessonPicture:
    """Rows on the left, people on the right, and an arrow from each row to everybody whom it covers."""
    rows = len(lesson.table.people)
    height = 40 + 56 * rows
    frames = []
    for step in lesson.steps:
        frame: list[Shape] = []
        order = {"arc": 0, "good": 1, "now": 2}
        for i, j, style in sorted(step.picture["arcs"], key=lambda arc: order[arc[2]]):
            y1, y2 = 48 + 56 * i, 48 + 56 * j
            frame.append(("arrow", style, f"M 236 {y1} L 424 {y2}"))
        for i, (cells, person) in enumerate(zip(step.cells, lesson.table.people, strict=True)):
            y = 48 + 56 * i
            frame += [
                ("circle", "best", 220, y, 13),
                ("text", "on", 220, y + 4, str(i + 1), "middle"),
                ("text", "", 200, y + 4, " ".join(cells), "end"),
                ("circle", "change", 440, y, 13),
                ("text", "on", 440, y + 4, str(i + 1), "middle"),
                ("text", "", 460, y + 4, " ".join(person), "start"),
            ]
        frame += [("text", "soft", 220, 20, "row", "middle"), ("text", "soft", 440, 20, "person", "middle")]
        frames.append(frame)
    return LessonPicture(660, height, frames)


def draw_circle(lesson: Lesson) -> LessonPicture:
    """Rows on a circle, and an arrow from each to every other one that it covers."""
    rows = len(lesson.table.people)
    middle, radius = (330, 175), 125
    angles = [2 * pi * i / rows for i in range(rows)]
    places = [(middle[0] + radius * sin(angle), middle[1] - radius * cos(angle)) for angle in angles]
    style = {"arc": "arc", "good": "good", "now": "now", "cut": "lost"}
    frames = []
    for step in lesson.steps:
        order = {"arc": 0, "cut": 1, "good": 2, "now": 3}
        arcs = sorted(step.picture["arcs"], key=lambda arc: order[arc[2]])
        frame: list[Shape] = [("arrow", style[kind], _bend(places[i], places[j])) for i, j, kind in arcs]
        for i, (x, y) in enumerate(places):
            is_right = x >= middle[0] - 1
            frame += [
                ("circle", "best", round(x, 1), round(y, 1), 14),
                ("text", "on", round(x, 1), round(y + 4, 1), str(i + 1), "middle"),
                (
                    "text",
                    "",
                    round(x + (22 if is_right else -22), 1),
                    round(y + 4, 1),
                    " ".join(step.cells[i]),
                    "start" if is_right else "end",
                ),
            ]
        frames.append(frame)
    return LessonPicture(660, 350, frames)


def _bend(start: tuple[float, float], end: tuple[float, float]) -> str:
    """An arrow between two circles, bent so that two that face each other are told apart."""
    (ax, ay), (bx, by) = start, end
    length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5 or 1
    ux, uy = (bx - ax) / length, (by - ay) / length
    cx, cy = (ax + bx) / 2 - 16 * uy, (ay + by) / 2 + 16 * ux
    return (
        f"M {ax + 16 * ux:.1f} {ay + 16 * uy:.1f} Q {cx:.1f} {cy:.1f} {bx - 17 * ux:.1f} {by - 17 * uy:.1f}"
    )


def draw_options(lesson: Lesson) -> LessonPicture:
    """A point for every way to write the row: whom it covers across, what it loses upwards."""
    steps = lesson.steps
    people = steps[-1].picture["people"] if steps else 1
    highest = max([loss for _, loss in steps[-1].picture["points"]] or [1]) or 1

    def place(covered: int, loss: float) -> tuple[float, float]:
        return round(60 + 540 * covered / people, 1), round(300 - 270 * loss / highest, 1)

    still: list[Shape] = [("curve", "axis", "50,20 50,305 640,305")]
    still += [("text", "soft", place(n, 0)[0], 322, str(n), "middle") for n in range(1, people + 1)]
    still += [
        ("text", "soft", 345, 340, "people covered", "middle"),
        ("text", "soft", 44, 30, f"{highest:g}", "end"),
        ("text", "soft", 44, 300, "0", "end"),
        ("text", "soft", 56, 18, "loss", "start"),
    ]
    frames = []
    for step in steps:
        k, points = step.picture["k"], step.picture["points"]
        edge = place(k, 0)[0] - 270 / people
        frame = [*still, ("line", "lost", edge, 20, edge, 305)]
        frame += [
            ("circle", "dot", *place(*point), 4) for point in points if point not in step.picture["kept"]
        ]
        frame += [("circle", "best", *place(*point), 6) for point in step.picture["kept"]]
        frame.append(("circle", "frame", *place(*points[-1]), 10))
        frames.append(frame)
    return LessonPicture(660, 350, frames)


def draw_plane(lesson: Lesson) -> LessonPicture:
    """People as points, classes as boxes around them, and the cut that was just made."""
    points = lesson.steps[0].picture["points"]
    xs: list[float] = [x for x, _ in points]
    ys: list[float] = [y for _, y in points]

    def across(x: float) -> float:
        return round(60 + 560 * (x - min(xs)) / ((max(xs) - min(xs)) or 1), 1)

    def down(y: float) -> float:
        return round(320 - 280 * (y - min(ys)) / ((max(ys) - min(ys)) or 1), 1)

    def surround(rows: Sequence[int]) -> tuple[float, float, float, float]:
        left, right = min(across(xs[row]) for row in rows), max(across(xs[row]) for row in rows)
        top, bottom = min(down(ys[row]) for row in rows), max(down(ys[row]) for row in rows)
        return left - 8, top - 8, right - left + 16, bottom - top + 16

    still: list[Shape] = [
        ("curve", "axis", "40,20 40,340 645,340"),
        ("text", "soft", 340, 360, lesson.table.names[0], "middle"),
        ("text", "soft", 46, 16, lesson.table.names[1], "start"),
        ("text", "soft", across(min(xs)), 358, f"{min(xs):g}", "middle"),
        ("text", "soft", across(max(xs)), 358, f"{max(xs):g}", "middle"),
        ("text", "soft", 34, down(min(ys)) + 4, f"{min(ys):g}", "end"),
        ("text", "soft", 34, down(max(ys)) + 4, f"{max(ys):g}", "end"),
    ]
    dots: list[Shape] = [("circle", "unsafe", across(x), down(y), 4) for x, y in points]
    frames = []
    for step in lesson.steps:
        frame = [*still, *(("rect", "box", *surround(rows)) for rows in step.picture["boxes"])]
        if step.picture["current"]:
            frame.append(("rect", "current", *surround(step.picture["current"])))
        if step.picture["line"]:
            column, place, rows = step.picture["line"]
            x, y, w, h = surround(rows)
            # Half-way to the next value, so that the line goes through nobody.
            beyond = min((points[row][column] for row in rows if points[row][column] > place), default=place)
            half = (place + beyond) / 2
            ends = (
                (across(half), y, across(half), y + h) if column == 0 else (x, down(half), x + w, down(half))
            )
            frame.append(("line", "knife", *ends))
        frames.append([*frame, *dots])
    return LessonPicture(660, 368, frames)


def draw_bars(lesson: Lesson) -> LessonPicture:
    """One bar for everybody and one per class, divided by their sensitive values."""
    values = lesson.steps[0].picture["values"]
    most = max(len(step.picture["shares"]) for step in lesson.steps)
    height = 70 + 40 * most
    frames = []
    for step in lesson.steps:
        frame: list[Shape] = []
        for line, shares in enumerate(step.picture["shares"]):
            y, x = 46 + 40 * line, 110.0
            frame.append(("text", "", 102, y + 17, "everybody" if line == 0 else f"class {line}", "end"))
            for number, share in enumerate(shares):
                if share:
                    frame.append(("rect", f"v{number % 5}", round(x, 1), y, round(520 * share, 1), 26))
                    x += 520 * share
            if line == step.picture["current"]:
                frame.append(("rect", "frame", 107, y - 3, 526, 32))
        for number, value in enumerate(values):
            x = 110 + 104 * (number % 5)
            frame += [
                ("rect", f"v{number % 5}", x, 10 + 14 * (number // 5), 11, 11),
                ("text", "soft", x + 16, 20 + 14 * (number // 5), value, "start"),
            ]
        frames.append(frame)
    return LessonPicture(660, height, frames)


_TREE = "● a cell is written; ✕ the branch is cut; a large dot is a new best table."
THEMES = {
    "brute-force": Theme(
        "Brute force",
        "Every cell is written in every way, column by column. A branch is cut if nothing good can follow.",
        _TREE,
        draw_tree,
    ),
    "evolution": Theme(
        "Evolution",
        "The best tenth of the tables survives and has children. The table shown is the fittest one.",
        "Curves: best fitness (solid, above), mean fitness (solid, below), share of safe tables (dashed). "
        "Dots: the tables, the fittest first; green ones are safe, pink ones are not.",
        draw_evolution,
    ),
    "matching": Theme(
        "Who could be who",
        "An answer gives everybody one row that covers them. A row's k-score counts its people over all "
        "answers.",
        "Thick: this answer. Green: part of an answer so far. Grey: not yet.",
        draw_pairs,
    ),
    "components": Theme(
        "Strongly connected components",
        "An arrow belongs to some answer exactly if it lies on a cycle.",
        "Thick: the cycle. Green: on a cycle. Dashed: on none.",
        draw_circle,
    ),
    "dominance": Theme(
        "Dominance",
        "What a row covers and what it loses is all that matters. Most ways to write it are useless.",
        "Ringed: the way in question. Large dots are kept. Left of the dashed line are too few people.",
        draw_options,
    ),
    "bounds": Theme(
        "Bounds",
        "Row by row, the cheapest way first. What is lost so far and the least that must follow is a bound.",
        "● a row is written; ✕ the branch is cut; a large dot is a new best table.",
        draw_tree,
    ),
    "program": Theme(
        "A mixed-integer program",
        "Which groups are taken? If groups may be taken in part, the answer is quick and gives a bound.",
        "● a relaxation; ✕ the branch is cut; a large dot is a new best table.",
        draw_tree,
    ),
    "mondrian": Theme(
        "Mondrian's cuts",
        "Each box is cut at the median of its wider column, as long as k people are left on both sides.",
        "Dots are people, boxes are classes, and the dashed line is the cut.",
        draw_plane,
    ),
    "diversity": Theme(
        "l-diversity and t-closeness",
        "k says how many people share a class; l and t say what their class gives away about them.",
        "One bar per class, divided by sensitive values; the framed one is looked at.",
        draw_bars,
    ),
}
