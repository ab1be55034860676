"""A lesson as one page that needs nothing from elsewhere."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from shoal.teach.player.drawings import Drawing, draw_lesson

if TYPE_CHECKING:
    from shoal.teach.lessons.lesson import Lesson


def build_page(lesson: Lesson) -> str:
    """The page, with everything in it."""
    drawing = draw_lesson(lesson)
    names = (*lesson.table.names, *([lesson.table.sensitive_name] if lesson.table.sensitive else []))
    parts = {
        "title": escape(drawing.title),
        "summary": escape(drawing.summary),
        "legend": escape(drawing.legend),
        "width": str(drawing.width),
        "height": str(drawing.height),
        "last": str(len(lesson.steps) - 1),
        "header": "".join(f'<th scope="col">{escape(name)}</th>' for name in names),
        "css": _read_part("player.css"),
        "js": _read_part("player.js"),
        "data": _encode_data(lesson, drawing),
    }
    page = _read_part("player.html")
    head, *rest = page.split("{")
    # One pass, so that a brace in a part stays what it is.
    return head + "".join(_fill_part(part, parts) for part in rest)


def _fill_part(text: str, parts: dict[str, str]) -> str:
    name, _, after = text.partition("}")
    return parts[name] + after


def embed_page(lesson: Lesson) -> str:
    """The page in a frame of its own, so that its style and a notebook's leave each other alone."""
    return (
        f'<iframe srcdoc="{escape(build_page(lesson))}" style="width: 100%; height: 42rem; border: 0" '
        f'title="{escape(lesson.name)}"></iframe>'
    )


def _encode_data(lesson: Lesson, drawing: Drawing) -> str:
    """What the script reads; tables and shapes that last over several steps are written once."""
    tables = list(dict.fromkeys(step.cells for step in lesson.steps))
    place = {cells: number for number, cells in enumerate(tables)}
    data = {
        "people": lesson.table.people,
        "sensitive": lesson.table.sensitive,
        "tables": tables,
        "steps": [
            {
                "kind": step.kind,
                "text": step.text,
                "table": place[step.cells],
                "left": left,
                "centre": centre,
                "figures": [(name, str(value)) for name, value in step.figures.items()],
            }
            for step, left, centre in zip(
                lesson.steps, drawing.find_lefts(), drawing.find_centres(), strict=True
            )
        ],
        "width": drawing.width,
        "height": drawing.height,
        "shapes": drawing.list_lifetimes(),
    }
    # An end tag in a value would end the script.
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _read_part(name: str) -> str:
    return (files("shoal.teach.player") / name).read_text("utf-8")
