"""Loss against risk: a drawing with points to look at or to choose, and a list of the same beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui.element import Element

from shoal.report import svg
from shoal.studio import theme
from shoal.support.language import translate as _

Place = tuple[float, float]
"""Shares of the width and the height of the drawing."""


def draw_risk_plane(
    title: str,
    points: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float]],
    draw_points: Callable[[list[Place]], object],
    choices: Sequence[Callable[[], object]],
    **attributes: str,
) -> None:
    """Draw points of risk and loss, a line through some of them, and what draws each in the list.

    The drawing itself has no points: `draw_points` puts elements of the page at their places, which
    are inside of an element with these attributes.
    """
    drawn, places = svg.draw_plane(
        title, points, line, _("highest risk that a person is found"), _("detail lost")
    )
    with theme.box("frontier-box"):
        with theme.box("frontier"):
            theme.draw_chart(drawn)
            with theme.box("frontier-points", **attributes):
                draw_points(places)
        with theme.box("frontier-list", "ul"):
            for draw_choice in choices:
                with theme.box("", "li"):
                    draw_choice()


def draw_choice(
    number: int, here: bool, key: str, choose: Callable[[], object], draw_words: Callable[[], object]
) -> Element:
    """Draw a line of the list, which is a button; by its key the focus is found again after a redraw."""
    kind = f"run-choice {'here' if here else ''}"
    with theme.box(kind, "button", aria_pressed=str(here).lower()) as made:
        theme.text(str(number), "number", "span")
        with theme.box("", "span"):
            draw_words()
    made.props["data-key"] = key
    made.on("click", choose)
    return made


def place_element(made: Element, at: Place) -> None:
    """Put an element at a place of the drawing."""
    made.style(f"left: {100 * at[0]:.2f}%; top: {100 * at[1]:.2f}%")
