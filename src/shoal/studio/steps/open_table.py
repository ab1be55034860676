"""Step 1: a table, from a file that is dragged in, named on the command line, or made as a sample."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from nicegui import events, ui

from shoal.errors import ShoalError
from shoal.samples import SAMPLES
from shoal.studio import theme
from shoal.studio.grid import Grid
from shoal.studio.page import Page
from shoal.studio.state import Source, Workspace
from shoal.table import ReadOptions

_LIMIT = 2_000_000_000
_KINDS = ".csv,.tsv,.txt,.parquet,.xlsx,.jsonl,.ndjson,.arrow,.feather,.gz,.zst"


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


def show(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.heading(
        "Open a table", "A table of people, one row each. It stays on this computer, and is never changed."
    )
    if workspace.failure:
        theme.note(workspace.failure, "bad").style("margin-bottom: 16px")
    if workspace.busy:
        _waiting(workspace.busy)
        return
    if workspace.source is None:
        _choose(page)
        return
    _preview(page, workspace.source)


def _waiting(what: str) -> None:
    with theme.card(), theme.box("rowed"):
        ui.spinner(size="28px").props('aria-hidden="true"')
        theme.text(what, "strong", role="status")


def _choose(page: Page) -> None:
    with theme.card("Your own table", "CSV, Parquet or Excel, also compressed; up to 2 GB."):
        _uploader(page)
    sample = SAMPLES["hospital"]
    made_up = f"A made-up hospital register: {sample.rows:,} people who do not exist."
    with theme.card("Or try it with a sample", made_up):
        theme.button("Take the sample", lambda: _sample(page), "outline", icon="science")


def _uploader(page: Page) -> None:
    async def uploaded(event: events.UploadEventArguments) -> None:
        path = page.workspace.place(event.file.name)
        await event.file.save(path)
        await _open(page, path)

    made = ui.upload(
        auto_upload=True,
        max_files=1,
        max_file_size=_LIMIT,
        on_upload=uploaded,
        on_rejected=lambda: ui.notify("This file is too large, or of another kind.", type="negative"),
    )
    made.props(f"flat accept={_KINDS}").classes("drop")
    made.add_slot("header", _DROP)
    made.add_slot("list", _UNDER_WAY)


async def _sample(page: Page) -> None:
    page.workspace.busy = "Making the sample"
    page.changed()
    await _open(page, await asyncio.to_thread(page.workspace.sample), sample=True)


async def _open(page: Page, path: Path, reading: ReadOptions | None = None, sample: bool = False) -> None:
    workspace = page.workspace
    workspace.busy, workspace.failure = f"Reading {path.name}", ""
    page.changed()
    try:
        source = await asyncio.to_thread(workspace.load, path, reading, sample)
    except ShoalError as error:
        workspace.failure, workspace.busy = str(error), ""
    else:
        workspace.take(source)
    page.changed()


def _preview(page: Page, source: Source) -> None:
    workspace = page.workspace
    heads = [
        workspace.profiles[n].head() if n in workspace.profiles else {"name": n} for n in source.table.names
    ]
    with theme.card():
        with theme.box("rowed spread").style("margin-bottom: 14px"):
            with theme.box(""):
                theme.text(source.name, "", "h2")
                theme.text(_facts(source), "soft small")
            theme.button("Open another", lambda: _other(page), "outline", icon="folder_open")
        Grid("table", source.rows, heads, height=min(13, source.rows) * 30)
    _reading(page, source)
    if not workspace.profiles and not workspace.failure:
        ui.timer(0.05, lambda: count(workspace, source), once=True)
    theme.forward(None, "Describe the columns", "describe", True)


async def count(workspace: Workspace, source: Source) -> None:
    """Count the columns for their heads."""
    await workspace.once("profiles", lambda: workspace.count(source), workspace.profiles.update)


def _facts(source: Source) -> str:
    facts = f"{source.rows:,} rows, {len(source.table.names)} columns"
    origin = source.table.origin
    if origin.format == "text":
        named = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}.get(
            origin.delimiter, origin.delimiter
        )
        facts += f"; text in {origin.encoding}, cells divided by {named}"
    return facts + ("; made-up people" if source.sample else "")


def _other(page: Page) -> None:
    with ui.dialog() as dialog, ui.card().style("max-width: 460px"):
        theme.text("Open another table?", "", "h2")
        theme.text("What you have chosen and run with this one is given up.", "soft")
        with theme.box("rowed").style("align-self: end"):
            theme.button("Stay here", dialog.close, "flat")
            theme.button("Give up and open", _closing(page, dialog))
    dialog.open()


def _closing(page: Page, dialog: ui.dialog) -> Callable[[], None]:
    def close() -> None:
        dialog.close()
        page.workspace.leave()
        page.changed()

    return close


def _reading(page: Page, source: Source) -> None:
    """How the file is read, for those who see that it was read wrongly."""
    if source.table.origin.format not in ("text", "excel"):
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

        async def again() -> None:
            try:
                reading = ReadOptions(
                    delimiter.value or None, encoding.value or None, header.value, tuple(na.value.split())
                )
            except ShoalError as error:
                ui.notify(str(error), type="negative")
                return
            await _open(page, source.path, reading, source.sample)

        theme.button("Read again", again, "outline")
