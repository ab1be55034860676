"""Step 1: a table, from a file that is dragged in, named on the command line, or made as a sample."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from shoal.errors import ShoalError
from shoal.studio import theme
from shoal.studio.grid import Grid
from shoal.studio.page import Page
from shoal.studio.state import SourceTable, StudioWorkspace
from shoal.studio.uploader import draw_uploader
from shoal.studio.uploads import format_size
from shoal.table import ReadOptions
from shoal.table.formats import list_suffixes
from shoal.table.samples import SAMPLES

# Templates for two slots of Quasar's uploader, instead of its tool bar and its list of files.
_DROP = """
<div class="drop-here">
  <q-icon name="upload_file" size="40px" aria-hidden="true" />
  <div class="strong">Drop a file here</div>
  <q-btn unelevated no-caps class="button outline" icon="folder_open" @click="props.pickFiles">
    Choose a file<q-uploader-add-trigger />
  </q-btn>
</div>
"""
_UNDER_WAY = """
<q-linear-progress v-if="props.isUploading" :value="props.uploadProgress" aria-label="Uploading" />
"""


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        "Open a table", "A table of people, one row each. It stays on this computer, and is never changed."
    )
    if workspace.failure:
        theme.note(workspace.failure, "bad").style("margin-bottom: 16px")
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
    with theme.card("Your own table", f"CSV, Parquet or Excel, also compressed; up to {room}."):
        _draw_uploader(page)
    sample = SAMPLES["hospital"]
    made_up = f"A made-up hospital register: {sample.rows:,} people who do not exist."
    with theme.card("Or try it with a sample", made_up):
        theme.button("Take the sample", lambda: _open_sample(page), "outline", icon="science")


def _draw_uploader(page: Page) -> None:
    made = draw_uploader(page.workspace, lambda path: _open_file(page, path), kinds=",".join(list_suffixes()))
    made.add_slot("header", _DROP)
    made.add_slot("list", _UNDER_WAY)


async def _open_sample(page: Page) -> None:
    page.workspace.busy = "Making the sample"
    page.mark_changed()
    await _open_file(page, await asyncio.to_thread(page.workspace.make_sample), sample=True)


async def _open_file(
    page: Page, path: Path, reading: ReadOptions | None = None, sample: bool = False
) -> None:
    workspace = page.workspace
    workspace.busy, workspace.failure = f"Reading {path.name}", ""
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
            theme.button("Open another", lambda: _confirm_another(page), "outline", icon="folder_open")
        Grid("table", source.rows, heads, height=min(13, source.rows) * 30)  # pixels: 30 a row
    _draw_read_options(page, source)
    if not workspace.profiles and not workspace.failure:
        ui.timer(0.05, lambda: count_columns(workspace, source), once=True)
    theme.draw_step_buttons(None, "Describe the columns", "describe", True)


async def count_columns(workspace: StudioWorkspace, source: SourceTable) -> None:
    """Count the columns for their heads."""
    await workspace.run_once("profiles", lambda: workspace.profile_columns(source), workspace.profiles.update)


def _describe_file(source: SourceTable) -> str:
    facts = f"{source.rows:,} rows, {len(source.table.names)} columns"
    origin = source.table.origin
    if origin.format == "text":
        named = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}.get(
            origin.delimiter, origin.delimiter
        )
        facts += f"; text in {origin.encoding}, cells divided by {named}"
    return facts + ("; made-up people" if source.sample else "")


def _confirm_another(page: Page) -> None:
    with ui.dialog() as dialog, ui.card().style("max-width: 460px"):
        theme.text("Open another table?", "", "h2")
        theme.text("What you have chosen and run with this one is given up.", "soft")
        with theme.box("rowed").style("align-self: end"):
            theme.button("Stay here", dialog.close, "flat")
            theme.button("Give up and open", _make_closer(page, dialog))
    dialog.open()


def _make_closer(page: Page, dialog: ui.dialog) -> Callable[[], None]:
    def close_table() -> None:
        dialog.close()
        page.workspace.close_table()
        page.mark_changed()

    return close_table


def _draw_read_options(page: Page, source: SourceTable) -> None:
    """How the file is read, for those who see that it was read wrongly."""
    if source.table.origin.format not in ("text", "excel"):  # others need no guess
        return
    options = source.reading
    made = ui.expansion("Is something read wrongly?", icon="tune").classes("card advanced")
    with made, theme.box("rowed").style("padding: 8px 0"):
        header = ui.switch("The first row has the names", value=options.header)
        delimiter = ui.input("Delimiter", value=options.delimiter or "", placeholder="found by itself").props(
            "outlined dense"
        )
        encoding = ui.input("Encoding", value=options.encoding or "", placeholder="found by itself").props(
            "outlined dense"
        )
        na = ui.input(
            "Texts that mean missing", value=" ".join(options.na), placeholder="for example ? NA"
        ).props("outlined dense")

        async def read_again() -> None:
            try:
                reading = ReadOptions(
                    delimiter.value or None, encoding.value or None, header.value, tuple(na.value.split())
                )
            except ShoalError as error:
                ui.notify(str(error), type="negative")
                return
            await _open_file(page, source.path, reading, source.sample)

        theme.button("Read again", read_again, "outline")
