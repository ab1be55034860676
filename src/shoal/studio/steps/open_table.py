"""Step 1: a table, from a file that is dragged in, named on the command line, or made as a sample."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from nicegui import events, ui
from nicegui.context import context

from shoal.errors import RecipeError, ShoalError
from shoal.recipes.project import SUFFIX
from shoal.recipes.recipe import Recipe
from shoal.studio import theme
from shoal.studio.grid import Grid
from shoal.studio.page import Page
from shoal.studio.projects import draw_recent_projects, take_project
from shoal.studio.state import SourceTable, StudioWorkspace
from shoal.studio.uploader import draw_uploader
from shoal.studio.uploads import format_size
from shoal.support.language import translate as _
from shoal.support.language import translate_message
from shoal.table import ReadOptions
from shoal.table.formats import list_suffixes
from shoal.table.readers import list_sheets
from shoal.table.samples import SAMPLES


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        _("Open a table"),
        _("A table of people, one row each. It stays on this computer, and is never changed."),
    )
    if workspace.failure:
        theme.note(translate_message(workspace.failure), "bad").style("margin-bottom: 16px")
    draw_recipe_note(workspace)
    if workspace.busy:
        _draw_waiting(workspace.busy)
        return
    if workspace.source is None:
        _draw_choices(page)
        return
    _draw_preview(page, workspace.source)


def _draw_waiting(what: str) -> None:
    with theme.card(), theme.box("rowed"):
        ui.spinner(size="28px").props('aria-hidden="true"')
        theme.text(what, "strong", role="status")


def _draw_choices(page: Page) -> None:
    room = format_size(page.workspace.uploads.free_bytes)
    with theme.card(
        _("Your own table"),
        _("CSV, Parquet or Excel, also compressed; up to {room}. Or a recipe or a project.", room=room),
    ):
        _draw_uploader(page)
    draw_recent_projects(page, lambda path: receive_file(page, path))
    made_up = _(
        "A made-up hospital register: {rows:,} people who do not exist.", rows=SAMPLES["hospital"].rows
    )
    with theme.card(_("Or try it with a sample"), made_up), theme.box("rowed"):
        theme.button(_("Take the sample"), lambda: _open_sample(page, "hospital"), "outline", icon="science")
        theme.button(
            _("Take one with several rows per person"),
            lambda: _open_sample(page, "visits"),
            "flat",
            icon="group",
        )


def _draw_uploader(page: Page) -> None:
    kinds = ",".join((*list_suffixes(), ".toml", SUFFIX))
    draw_uploader(page.workspace, lambda path: receive_file(page, path), kinds=kinds, large=True)


async def _open_sample(page: Page, name: str) -> None:
    page.workspace.busy = _("Making the sample")
    page.mark_changed()
    await open_file(page, await asyncio.to_thread(page.workspace.make_sample, name), sample=True)


async def open_file(page: Page, path: Path, reading: ReadOptions | None = None, sample: bool = False) -> None:
    """Open a table, in place of the one that is open."""
    workspace = page.workspace
    workspace.busy, workspace.failure = _("Reading {name}", name=path.name), ""
    page.mark_changed()
    try:
        source = await asyncio.to_thread(workspace.load_table, path, reading, sample)
    except ShoalError as error:
        workspace.failure, workspace.busy = str(error), ""
        # What cannot be read must not count towards the limit of uploads.
        workspace.discard_file(path)
    else:
        workspace.use_source(source)
    page.mark_changed()


def _draw_preview(page: Page, source: SourceTable) -> None:
    workspace = page.workspace
    # Names alone at first. Types and bars follow when the columns are counted.
    heads = [
        workspace.profiles[n].describe_head() if n in workspace.profiles else {"name": n}
        for n in source.table.names
    ]
    with theme.card():
        with theme.box("rowed spread").style("margin-bottom: 14px"):
            with theme.box(""):
                theme.text(source.name, "", "h2")
                theme.text(_describe_file(source), "soft small")
            theme.button(_("Open another"), lambda: _confirm_another(page), "outline", icon="folder_open")
        Grid("table", source.rows, heads, height=min(13, source.rows) * 30)  # pixels: 30 a row
    _draw_read_options(page, source)
    if not workspace.profiles and not workspace.failure:
        ui.timer(0.05, lambda: count_columns(workspace, source), once=True)
    theme.draw_step_buttons(None, _("Describe the columns"), "describe", True)


async def count_columns(workspace: StudioWorkspace, source: SourceTable) -> None:
    """Count the columns for their heads."""
    await workspace.run_once("profiles", lambda: workspace.profile_columns(source), workspace.profiles.update)


def _describe_file(source: SourceTable) -> str:
    facts = _("{rows:,} rows, {count} columns", rows=source.rows, count=len(source.table.names))
    origin = source.table.origin
    if origin.format == "text":
        named = {",": _("comma"), ";": _("semicolon"), "\t": _("tab"), "|": _("bar")}.get(
            origin.delimiter, origin.delimiter
        )
        facts += _("; text in {encoding}, cells divided by {named}", encoding=origin.encoding, named=named)
    return facts + (_("; made-up people") if source.sample else "")


def _confirm_another(page: Page) -> None:
    async def close_table() -> None:
        page.workspace.close_table()
        page.mark_changed()

    ask_to_close(page, _("Close this table"), close_table)


def ask_to_close(page: Page, label: str, close: Callable[[], Awaitable[None]]) -> None:
    """Ask before the table that is open is given up for another."""
    client = context.client

    async def close_table() -> None:
        dialog.close()
        with client.content:  # the dialog is gone by now
            await close()

    # Outside the part that redraws: a change in another tab must not close the dialog.
    with context.client.content, ui.dialog() as dialog, theme.box("q-card reason"):
        theme.text(_("Open another table?"), "", "h2")
        theme.text(_("What you have chosen and run with this one is removed. Your file stays."), "soft")
        with theme.box("rowed spread"):
            theme.button(_("Keep this table"), dialog.close, "flat")
            theme.button(label, close_table)
    dialog.props["aria-label"] = _("Open another table")
    dialog.on("hide", dialog.delete)
    dialog.open()


async def receive_file(page: Page, path: Path) -> None:
    """Use a file that was dropped on any step: a recipe, or a table in place of the one that is open."""

    async def open_here() -> None:
        await open_file(page, path)
        page.open_step("open")

    if path.suffix.lower() == SUFFIX:
        await take_project(page, path, lambda recipe: _show_taken(page, recipe))
    elif path.suffix.lower() == ".toml":
        await take_recipe(page, path)
    elif page.workspace.source is None:
        await open_here()
    else:
        ask_to_close(page, _("Open {name}", name=path.name), open_here)


async def take_recipe(page: Page, path: Path) -> None:
    """Take over what a recipe file says."""
    workspace, wanted = page.workspace, None
    try:
        recipe = await asyncio.to_thread(_read_recipe, path)
        # A table of this name would be in the way of a run's own files; a recipe is none.
        workspace.take_recipe(recipe, path.name.removeprefix("table-"))
    except ShoalError as error:
        workspace.failure = str(error).replace(f"{path.parent}/", "")
    else:
        workspace.failure = ""
        wanted = recipe
    finally:
        workspace.uploads.remove_file(path)
    await _show_taken(page, wanted)


async def _show_taken(page: Page, recipe: Recipe | None = None) -> None:
    """Show the columns as a file says them, if need be of a table that is read in another way."""
    workspace, source = page.workspace, page.workspace.source
    reading = None if recipe is None else recipe.reading
    if source is not None and not workspace.failure and reading not in (None, source.reading):
        workspace.waiting = recipe  # for the table as the recipe reads it
        await open_file(page, source.path, reading, source.sample)
    page.mark_changed()
    page.open_step("describe" if source is not None and not workspace.failure else "open")


def _read_recipe(path: Path) -> Recipe:
    """A recipe that was uploaded."""
    # Of what it extends the studio would have to read a file that nobody uploaded.
    if re.search(r"^\s*[\"']?extends\b", path.read_text("utf-8", "replace"), re.MULTILINE):
        raise RecipeError(f"{path.name} extends another recipe: bring one that says everything itself")
    return Recipe.from_toml(path)


def draw_recipe_note(workspace: StudioWorkspace) -> None:
    """Say that a recipe was taken over, and what of it was not."""
    if workspace.waiting is not None and workspace.source is None:
        named = workspace.waiting.input
        table = f" {Path(named).name}" if named else ""
        theme.note(
            _("{taken} was read. Now open its table{table}.", taken=workspace.taken, table=table), "good"
        )
    elif workspace.taken:
        theme.note(_("Roles, goal and settings are those of {taken}.", taken=workspace.taken), "good")
    for each in workspace.left_behind:
        theme.note(
            _("The recipe names the hierarchies {name}: bring the file along below.", name=Path(each).name),
            "warn",
        )


def _draw_read_options(page: Page, source: SourceTable) -> None:
    """How the file is read, for those who see that it was read wrongly."""
    if source.table.origin.format not in ("text", "excel"):  # others need no guess
        return
    options = source.reading
    if source.table.origin.format == "excel":
        _draw_sheets(page, source)
    made = ui.expansion(_("Is something read wrongly?"), icon="tune").classes("card advanced")
    with made, theme.box("rowed").style("padding: 8px 0"):
        header = ui.switch(_("The first row has the names"), value=options.header)
        delimiter = ui.input(
            _("Delimiter"), value=options.delimiter or "", placeholder=_("found by itself")
        ).props("outlined dense")
        encoding = ui.input(
            _("Encoding"), value=options.encoding or "", placeholder=_("found by itself")
        ).props("outlined dense")
        na = ui.input(
            _("Texts that mean missing"), value=" ".join(options.na), placeholder=_("for example ? NA")
        ).props("outlined dense")
        decimal = ui.select(
            {".": _("a point: 1234.50"), ",": _("a comma: 1.234,50")},
            label=_("Decimals after"),
            value=options.decimal,
        ).props("outlined dense options-dense")

        async def read_again() -> None:
            try:
                reading = replace(
                    options,
                    delimiter=delimiter.value or None,
                    encoding=encoding.value or None,
                    header=header.value,
                    na=tuple(na.value.split()),
                    decimal=decimal.value,
                )
            except ShoalError as error:
                ui.notify(translate_message(str(error)), type="negative")
                return
            await open_file(page, source.path, reading, source.sample)

        theme.button(_("Read again"), read_again, "outline")


def _draw_sheets(page: Page, source: SourceTable) -> None:
    """The sheets of a workbook, to take another."""
    names = list_sheets(source.path)
    if len(names) < 2:
        return

    async def choose_sheet(event: events.ValueChangeEventArguments[str]) -> None:
        reading = replace(source.reading, sheet=event.value)
        await open_file(page, source.path, reading, source.sample)

    with theme.card():
        made = ui.select(
            names, label=_("Sheet"), value=source.reading.sheet or names[0], on_change=choose_sheet
        )
        made.props("outlined dense options-dense").style("max-width: 320px")
