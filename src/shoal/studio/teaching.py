"""Lessons on the table that is open, if it is small enough to watch."""

from __future__ import annotations

from html import escape

from shoal.errors import ShoalError
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.state import StudioWorkspace
from shoal.support.language import translate as _
from shoal.teach import LESSONS
from shoal.teach.player.page import build_page

MOST_ROWS = 30
_QUICK = {"brute-force": {"limit": 500_000}, "evolution": {"generations": 200}}  # while somebody waits


def draw_lessons(page: Page) -> None:
    """Offer the players of all lessons, each in a tab of its own; nothing for a larger table."""
    source = page.workspace.source
    if source is None or source.rows > MOST_ROWS or page.workspace.events:  # lessons are about one table
        return
    words = _("This table is small enough to see how a search works on it, step by step.")
    with theme.card(_("Watch it at work"), words, data_part="lessons"), theme.box("rowed"):
        for name, entry in LESSONS.items():
            # Relative: the key stands before it.
            link = f"teach/{name}"
            label = name.replace("-", " ").capitalize()
            theme.text(label, "link-button", "a", href=link, target="_blank", title=entry.help)


def build_lesson(workspace: StudioWorkspace, name: str) -> str | None:
    """The player of a lesson on the table that is open; None if there is none."""
    source = workspace.source
    if name not in LESSONS or source is None or source.rows > MOST_ROWS or workspace.events:
        return None
    quasi, sensitive = workspace.of_role("quasi"), workspace.of_role("sensitive")
    said = [int(each.values.get("k", 2)) for each in workspace.goal.models if each.name == "k"]
    try:
        return build_page(
            LESSONS[name].run(
                source.table,
                min([*said, source.rows]),
                quasi=quasi or None,
                sensitive=sensitive[0] if sensitive else None,
                types={column: workspace.type_of(column) for column in quasi},
                hierarchies={column: tree for column, tree in workspace.trees.items() if column in quasi},
                weights={column: workspace.choices[column].weight for column in quasi},
                **_QUICK.get(name, {}),
            )
        )
    except ShoalError as error:
        return f"<!doctype html><title>{escape(name)}</title><p>{escape(str(error))}</p>"
