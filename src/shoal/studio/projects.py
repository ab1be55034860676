"""Projects in the page: undo and redo, the log of decisions, saving, and those that were saved before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from nicegui import ui
from nicegui.context import context

from shoal.errors import ShoalError
from shoal.recipes.project import Project, find_projects_folder, list_projects, name_project_file
from shoal.recipes.recipe import Recipe
from shoal.studio import theme
from shoal.studio.journal import Journal
from shoal.studio.page import Page
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _

_MOST_LOGGED = 100  # decisions that the dialog lists, the latest ones
_MOST_RECENT = 5
_NO_ROWS = mark(
    "A project has the recipe, the hierarchies, every decision and the figures of the runs, and no rows of "
    "the table. Hierarchies and figures can name values of it: keep it as you keep the table."
)


def draw_project_buttons(page: Page) -> None:
    """Undo, redo, and the project; at the foot of the rail."""
    if not page.journal.decisions:
        return
    with theme.box("project-buttons"):
        for label, icon, steps, ready in (
            (_("Undo"), "undo", -1, page.journal.can_undo),
            (_("Redo"), "redo", 1, page.journal.can_redo),
        ):
            made = theme.button("", _make_mover(page, steps), "flat", icon=icon)
            made.props["aria-label"] = made.props["data-key"] = label
            made.set_enabled(ready)
            told = _name_next(page.journal, steps) if ready else ""
            made.tooltip(
                f"{label}: {told}" if told else _("Nothing to undo") if steps < 0 else _("Nothing to redo")
            )
        theme.button(_("Project"), lambda: _open_dialog(page), "flat", icon="inventory_2")


def _name_next(journal: Journal, steps: int) -> str:
    """What would be undone or done again."""
    which = journal.position if steps < 0 else journal.position + 1
    return "; ".join(journal.decisions[which].what[:2])


def _make_mover(page: Page, steps: int) -> Callable[[], None]:
    def move() -> None:
        page.journal.move(steps)
        page.mark_changed()

    return move


def _open_dialog(page: Page) -> None:
    """Name, save and download the project; its log."""
    journal, source = page.journal, page.workspace.source
    journal.name = journal.name or (Path(source.name).stem if source is not None else "project")
    # Outside the part that redraws: a change in another tab must not close the dialog.
    with context.client.content, ui.dialog() as dialog, theme.box("q-card project"):
        theme.text(_("Project"), "", "h2")
        theme.text(_(_NO_ROWS), "soft small")
        with theme.box("rowed"):
            name = ui.input(_("Name of the project"), value=journal.name).props("outlined dense maxlength=60")
            who = ui.input(_("Your name, for the log"), value=journal.who).props(
                "outlined dense maxlength=80"
            )

        def take_names() -> None:
            journal.name, journal.who = (name.value or "").strip(), (who.value or "").strip()

        name.on_value_change(take_names)
        who.on_value_change(take_names)
        _draw_log(journal)
        with theme.box("rowed spread"):
            theme.button(_("Close"), dialog.close, "flat")
            with theme.box("rowed"):
                theme.button(_("Download"), lambda: _download(journal), "outline", icon="download")
                theme.button(_("Save"), lambda: _save(journal), icon="save")
    dialog.props["aria-label"] = _("Project")
    dialog.on("hide", dialog.delete)  # or closed dialogs would stay in the page
    dialog.open()


def _draw_log(journal: Journal) -> None:
    theme.text(_("Who decided what"), "small strong")
    rows = [
        (
            datetime.fromisoformat(each.when).strftime("%Y-%m-%d %H:%M"),
            each.who or _("nobody named"),
            "; ".join(each.what) + (_(" (undone)") if place > journal.position else ""),
        )
        for place, each in enumerate(journal.decisions)
    ]
    with theme.box("log"):
        theme.draw_table((_("when"), _("who"), _("what")), rows[-_MOST_LOGGED:][::-1], "decisions")


def _save(journal: Journal) -> None:
    path = find_projects_folder() / name_project_file(journal.name)
    try:
        journal.build_project().save(path)
    except ShoalError as error:
        ui.notify(translate_message(str(error)), type="negative", multi_line=True)
        return
    ui.notify(_("Saved as {path}", path=path), type="positive", multi_line=True)


def _download(journal: Journal) -> None:
    file = name_project_file(journal.name)
    ui.download.content(journal.build_project().to_text().encode(), file, "application/json")


async def take_project(page: Page, path: Path, show: Callable[[Recipe | None], Awaitable[None]]) -> None:
    """Go on with a project, with the table that is open or else with the next."""
    workspace, recipe = page.workspace, None
    try:
        project = await asyncio.to_thread(Project.load, path)
        recipe = page.journal.take_project(project, path)
    except ShoalError as error:
        workspace.failure = str(error).replace(f"{path.parent}/", "")
    else:
        workspace.failure = ""
        workspace.taken = path.name
    finally:
        workspace.uploads.remove_file(path)
    await show(recipe)


def draw_recent_projects(page: Page, open_project: Callable[[Path], Awaitable[None]]) -> None:
    """The projects that were saved last, to go on with."""
    found = [path for path, _ in zip(list_projects(), range(_MOST_RECENT), strict=False)]
    if not found:
        return
    with theme.card(
        _("Recent projects"),
        _("They are in {find_projects_folder}.", find_projects_folder=find_projects_folder()),
        data_recent="projects",
    ):
        for path in found:
            _draw_recent(page, path, open_project)


def _draw_recent(page: Page, path: Path, open_project: Callable[[Path], Awaitable[None]]) -> None:
    def remove() -> None:
        path.unlink(missing_ok=True)
        page.mark_changed()

    with theme.box("rowed spread"):
        with theme.box(""):
            theme.text(path.stem, "strong")
            saved = datetime.fromtimestamp(path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
            theme.text(_("saved {saved}", saved=saved), "soft small")
        with theme.box("rowed"):
            made = theme.button(_("Open"), lambda: open_project(path), "outline", icon="folder_open")
            made.props["aria-label"] = _("Open the project {stem}", stem=path.stem)
            gone = theme.button("", remove, "flat", icon="delete").tooltip(_("Remove this project"))
            gone.props["aria-label"] = gone.props["data-key"] = _("Remove the project {stem}", stem=path.stem)
