"""The pieces that pages are made of, so that all of them look alike.

Texts that come from a table go into labels and the like, which show them as they are. Only
`draw_chart` takes markup: SVG of `shoal.report.svg`, which escapes its texts. The browser's sanitizer
checks it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from shoal.report.page import read_style_sheet as report_style
from shoal.support.language import translate as _

Kind = Literal["", "good", "warn", "bad"]

Look = Literal["primary", "outline", "flat"]
Way = str | Callable[..., Any]

_SHEETS = ("studio", "explore", "hierarchies")
_ICONS = {"": "info", "good": "check_circle", "warn": "warning", "bad": "error"}


@cache
def _load_style() -> str:
    here = files("shoal.studio")
    own = "".join(here.joinpath(f"{name}.css").read_text("utf-8") for name in _SHEETS)
    # Charts draw in the variables of the report's style sheet; which theme it is, this page decides.
    return report_style().replace("@media screen and (prefers-color-scheme: dark)", "@media not all") + own


def apply_style() -> None:
    """Give the page its look."""
    ui.add_css(_load_style())


def box(classes: str = "", tag: str = "div", **attributes: str) -> Element:
    """A plain box around other things; attributes may be any text, an underscore in their names is a dash."""
    made = ui.element(tag).classes(classes)
    for name, value in attributes.items():
        # Not by `props("name=value")`, which would parse quotes and blanks in the value.
        made.props[name.strip("_").replace("_", "-")] = value
    return made


def card(title: str = "", words: str = "", **attributes: str) -> Element:
    """A panel with a title."""
    made = box("card", "section", **attributes)
    with made:
        if title:
            text(title, "", "h2")
        if words:
            text(words, "soft small").style("margin-bottom: 12px")
    return made


class PlainText(TextElement):
    """Text in any tag, exactly as it is."""

    def __init__(self, content: str, tag: str) -> None:
        super().__init__(tag=tag, text=content)


def text(content: str, classes: str = "", tag: str = "div", **attributes: str) -> PlainText:
    """Text, exactly as it is."""
    made = PlainText(content, tag).classes(classes)
    for name, value in attributes.items():
        made.props[name.strip("_").replace("_", "-")] = value
    return made


def draw_heading(title: str, lead: str) -> None:
    """The head of a step."""
    text(title, "", "h1")
    text(lead, "lead", "p")


def note(content: str, kind: Kind = "") -> Element:
    """Something to know, in a coloured box."""
    with box(f"note {kind}", role="alert" if kind == "bad" else "note") as made:
        ui.icon(_ICONS[kind]).props("aria-hidden=true")
        text(content)
    return made


def badge(content: str, kind: str = "") -> Element:
    """A word in a coloured pill."""
    return text(content, f"badge {kind}", "span")


def draw_tiles(pairs: Sequence[tuple[str, str]]) -> None:
    """A few figures, each with what it means."""
    with box("tiles"):
        for big, what in pairs:
            with box("tile"):
                text(big, "big")
                text(what, "what")


def draw_table(heads: Sequence[str], rows: Sequence[Sequence[str]], classes: str = "") -> None:
    """A small table of texts."""
    # With the keyboard a table that is too wide can only be scrolled if it can have the focus.
    scroll = {
        "tabindex": "0",
        "role": "region",
        "aria_label": _("Table: {value}", value=", ".join(filter(None, heads))),
    }
    with box("scroll", **scroll), box(f"plain-table {classes}", "table"):
        with box("", "thead"), box("", "tr"):
            for head in heads:
                # An empty head of a table is a cell: a screen reader would announce it as a head.
                text(head, "", "th" if head else "td", **({"scope": "col"} if head else {}))
        with box("", "tbody"):
            for row in rows:
                with box("", "tr"):
                    for cell in row:
                        text(cell, "", "td")


def draw_chart(svg: str) -> Element:
    """A chart of `shoal.report.svg`."""
    return ui.html(svg).classes("shoal")


def label_control(control: Element, label: str) -> None:
    """Name an input that shows no label, for those who do not see where it stands."""
    control.props["for"] = f"input-{control.id}"
    text(label, "hidden-label", "label", for_=f"input-{control.id}")


def draw_code(content: str, name: str) -> None:
    """Text to copy."""
    with box("stacked"):
        with box("rowed spread"):
            text(name, "strong small")
            button(_("Copy"), lambda: _copy_to_clipboard(content), "flat", icon="content_copy")
        text(content, "code", tabindex="0")


def _copy_to_clipboard(content: str) -> None:
    ui.clipboard.write(content)
    ui.notify(_("Copied"), type="positive", timeout=1500)


def button(
    label: str,
    on_click: Callable[..., Any],
    look: Look = "primary",
    icon: str | None = None,
) -> ui.button:
    """A button; each page has one primary."""
    made = ui.button(label, on_click=on_click, icon=icon, color=None).props("unelevated no-caps")
    # By this key the focus is found again after a redraw.
    made.props["data-key"] = label
    return made.classes(f"button {look}")


def draw_step_buttons(back: Way | None, label: str, way: Way, ready: bool) -> ui.button:
    """The way on, at the foot of a step, and the way back: the names of steps, or what to do."""
    with box("forward"):
        if back is not None:
            _make_link_button(_("Back"), back, "flat", icon="arrow_back")
        else:
            ui.element("span")  # keeps the other button on the right
        made = _make_link_button(label, way).props("icon-right=arrow_forward")
        made.set_enabled(ready)
    return made


def _make_link_button(label: str, way: Way, look: Look = "primary", icon: str | None = None) -> ui.button:
    """A button that leads somewhere; to a step by a link, which works even while a page is drawn anew."""
    if callable(way):
        return button(label, way, look, icon)
    made = button(label, lambda: None, look, icon)
    made.props["href"] = way
    return made


def format_percent(share: float) -> str:
    """A share for people: no more digits than tell something, and neither none nor all unless it is."""
    if share in (0, 1):
        return _("{share:.0f} %", share=100 * share)
    # Rounded, a small risk would read as none and a large one as certain.
    if share < 0.001:
        return _("less than 0.1 %")
    if share > 0.999:
        return _("over 99.9 %")
    return (
        _("{share:.1f} %", share=100 * share)
        if share < 0.1 or share > 0.9
        else _("{share:.0f} %", share=100 * share)
    )
