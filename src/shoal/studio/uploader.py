"""A place in a page to drop a file on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path

from nicegui import context, events, ui

from shoal.errors import ShoalError
from shoal.studio.state import StudioWorkspace, safe_name
from shoal.studio.uploads import format_size
from shoal.support.language import translate as _
from shoal.support.language import translate_message

# Quasar's own head would put the input into the button and leave it without a name. Here it has a
# label, and the button asks for it.
_HEAD = """
<div class="drop-here {looks}">
  <q-icon name="upload_file" size="{size}" aria-hidden="true" />
  <div class="strong drop-words">{words}</div>
  <label class="hidden-label">{words}<q-uploader-add-trigger /></label>
  <q-btn unelevated no-caps class="button outline" icon="folder_open" @click="props.pickFiles"
    aria-label="{choose}: {words}">{choose}</q-btn>
</div>
"""
_UNDER_WAY = """
<q-linear-progress v-if="props.isUploading" :value="props.uploadProgress" aria-label="{words}" />
"""


def draw_uploader(
    workspace: StudioWorkspace,
    use: Callable[[Path], Awaitable[None]],
    label: str = "",
    kinds: str = "",
    most: int | None = None,
    name: Callable[[str], str] = safe_name,
    large: bool = False,
) -> ui.upload:
    """Draw it.

    Parameters
    ----------
    use : async function of a path
        What is done with the file. It also removes the file once that is no longer needed.
    label : str
        What the place is for. It goes into the page as markup, so it must be a text of the studio's own.
    kinds : str
        Suffixes that can be chosen, as ``.csv,.txt``.
    most : int, optional
        Bytes of a file; never more than can still be uploaded.
    name : function of a str
        What the file is called here, after what it was called there.
    large : bool
        Whether the place is the main one of the page.
    """
    uploads, client = workspace.uploads, context.client
    free = min(uploads.free_bytes, most or uploads.free_bytes)

    async def save_upload(event: events.UploadEventArguments) -> None:
        try:
            path = await uploads.save_file(event.file, name(event.file.name))
        except ShoalError as error:
            _notify_error(translate_message(str(error)))
            return
        # What is done with the file may draw this place anew, and it must not depend on that.
        with client.content:
            await use(path)

    def report_failure() -> None:
        made.reset()  # or the file that was not taken would stand in the way of the next
        _notify_error(_explain_rejection(uploads.free_bytes, most))

    made = ui.upload(
        auto_upload=True,
        max_file_size=max(free, 1),
        on_upload=save_upload,
        on_rejected=lambda: _notify_error(_explain_rejection(free, most)),
    )
    # FastAPI remembers the address of every uploader for long, and with it what that holds: the whole page.
    client.on_delete(made._upload_handlers.clear)
    # The guard refuses what there is no room for, if the page did not know that yet.
    made.on("failed", report_failure, args=[])
    looks, size = ("", "40px") if large else ("small-drop", "24px")
    words = escape(label or _("Drop a file here"))
    choose = escape(_("Choose a file"))
    made.add_slot("header", _HEAD.format(looks=looks, size=size, words=words, choose=choose))
    made.add_slot("list", _UNDER_WAY.format(words=escape(_("Uploading"))))
    return made.props(f"flat accept={kinds}" if kinds else "flat").classes("drop")


def _notify_error(words: str) -> None:
    ui.notify(words, type="negative", multi_line=True, timeout=0, close_button=_("Close"))


def _explain_rejection(free: int, most: int | None) -> str:
    if most is not None and free == most:
        return _("This file is larger than {most}, or of another kind.", most=format_size(most))
    return _(
        "This file is larger than the {free} that can still be uploaded, or of another kind. "
        "Start the studio with more room, as in --uploads 10GB, or with the name of the "
        "table, which copies nothing.",
        free=format_size(free),
    )
