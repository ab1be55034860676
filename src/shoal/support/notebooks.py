"""What a notebook shows: results as small pieces of HTML, and a bar while something takes long.

The pieces have no script and load nothing. Texts of a table are escaped: they are never markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import Any

from shoal.support.progress import Progress, silent

_STYLE = (
    ".shoal-note{font-family:system-ui,sans-serif;max-width:60em;line-height:1.45}"
    ".shoal-note h3{margin:.2em 0 .4em;font-size:1.1em}.shoal-note p{margin:.3em 0}"
    ".shoal-note table{border-collapse:collapse;margin:.5em 0;font-variant-numeric:tabular-nums}"
    ".shoal-note th,.shoal-note td{text-align:left!important;padding:.2em .8em .2em 0;vertical-align:top;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}"
    ".shoal-note .soft{opacity:.75}.shoal-note .bad{font-weight:700}"
    ".shoal-note pre{white-space:pre-wrap;margin:.5em 0}.shoal-note progress{width:20em;max-width:100%}"
)
_PAUSE = 0.2  # seconds between two drawings of a bar
_LONGEST = 200  # characters of a cell


def draw_note(title: str, parts: Iterable[str]) -> str:
    """A result: its title, and parts that the functions below drew."""
    return f'<div class="shoal-note"><style>{_STYLE}</style><h3>{escape(title)}</h3>{"".join(parts)}</div>'


def draw_words(text: str, kind: str = "") -> str:
    """A sentence; ``soft`` or ``bad``, if it is to look other than usual."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def draw_grid(heads: Sequence[str], rows: Iterable[Sequence[object]], most: int = 30) -> str:
    """A table of texts, the first rows of it."""
    listed = list(rows)
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_shorten(cell))}</td>' for cell in row)}</tr>" for row in listed[:most]
    )
    more = draw_words(f"{len(listed) - most:,} more", "soft") if len(listed) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def draw_text(text: str) -> str:
    """Text as it stands in a file."""
    return f"<pre>{escape(text)}</pre>"


def fold(title: str, part: str) -> str:
    """A part that is shown when its title is pressed."""
    return f"<details><summary>{escape(title)}</summary>{part}</details>"


def _shorten(cell: object) -> str:
    text = "" if cell is None else str(cell)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@contextmanager
def follow_progress(on_progress: Progress | None) -> Iterator[Progress]:
    """What is told of progress: by the function that was given, or in a notebook by a bar."""
    if on_progress is not None and on_progress is not silent:
        yield on_progress
        return
    display = _find_display()
    if display is None:
        yield silent
        return
    bar = NotebookBar(display)
    try:
        yield bar
    finally:
        bar.remove()


def _find_display() -> Any:
    """What shows things in the notebook that this is, if it is one."""
    shell = sys.modules.get("IPython")
    found = getattr(shell, "get_ipython", lambda: None)()
    # In a terminal, IPython shows no HTML.
    if shell is None or getattr(found, "kernel", None) is None:
        return None
    return shell.display


class NotebookBar:
    """A bar that is drawn anew in its place, and gone at the end."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        # What takes no longer than this needs no bar.
        self._when = monotonic() + _PAUSE

    def __call__(self, doing: str, done: float) -> None:
        """Show what is being done and how much of it is."""
        now = monotonic()
        if now < self._when:
            return
        self._when = now + _PAUSE
        share = min(max(done, 0.0), 1.0)
        told = f"{escape(str(doing))} <progress max=1 value={share:.3f}></progress> {share:.0%}"
        self._draw(f'<div class="shoal-note"><style>{_STYLE}</style>{told}</div>')

    def remove(self) -> None:
        """Take it away, if it was ever shown."""
        if self._handle is not None:
            self._draw("")

    def _draw(self, html: str) -> None:
        drawn = self._display.HTML(html)
        if self._handle is None:
            self._handle = self._display.display(drawn, display_id=True)
        else:
            self._handle.update(drawn)
