"""A place in a page to drop a file on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from nicegui import events, ui

from shoal.errors import ShoalError
from shoal.studio.state import StudioWorkspace, safe_name
from shoal.studio.uploads import format_size


def draw_uploader(
    workspace: StudioWorkspace,
    use: Callable[[Path], Awaitable[None]],
    label: str = "",
    kinds: str = "",
    most: int | None = None,
    name: Callable[[str], str] = safe_name,
) -> ui.upload:
    """Draw it.

    Parameters
    ----------
    use : async function of a path
        What is done with the file. It also removes the file once that is no longer needed.
    kinds : str
        Suffixes that can be chosen, as ``.csv,.txt``.
    most : int, optional
        Bytes of a file; never more than can still be uploaded.
    name : function of a str
        What the file is called here, after what it was called there.
    """
    uploads = workspace.uploads
    free = min(uploads.free_bytes, most or uploads.free_bytes)

    async def save_upload(event: events.UploadEventArguments) -> None:
        try:
            path = await uploads.save_file(event.file, name(event.file.name))
        except ShoalError as error:
            _notify_error(str(error))
            return
        await use(path)

    def report_failure() -> None:
        made.reset()  # or the file that was not taken would stand in the way of the next
        _notify_error(_explain_rejection(uploads.free_bytes, most))

    made = ui.upload(
        label=label,
        auto_upload=True,
        max_file_size=max(free, 1),
        on_upload=save_upload,
        on_rejected=lambda: _notify_error(_explain_rejection(free, most)),
    )
    # The guard refuses what there is no room for, if the page did not know that yet.
    made.on("failed", report_failure, args=[])
    return made.props(f"flat accept={kinds}" if kinds else "flat").classes("drop")


def _notify_error(words: str) -> None:
    ui.notify(words, type="negative", multi_line=True, timeout=0, close_button="Close")


def _explain_rejection(free: int, most: int | None) -> str:
    if most is not None and free == most:
        return f"This file is larger than {format_size(most)}, or of another kind."
    return (
        f"This file is larger than the {format_size(free)} that can still be uploaded, or of another kind. "
        "Start the studio with more room, as in --uploads 10GB, or with the name of the table, which copies "
        "nothing."
    )
