"""The studio from Python: open it on a frame, and take the release that somebody chooses there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from shoal.engines.api import run
from shoal.engines.release import Release
from shoal.errors import InputError
from shoal.recipes.recipe import Recipe
from shoal.studio.process import ChildProcess
from shoal.studio.worker import ERRORS
from shoal.support.typed_frames import FrameT
from shoal.table import read_table, write_table
from shoal.table.formats import import_optional

_ENDED = "the studio ended before a release was returned: in its last step, press 'Return this release'"


def studio(
    source: FrameT, *, browser: bool = True, on_address: Callable[[str], object] = print
) -> Release[FrameT]:
    """Open the studio on a table, wait, and return the release that is chosen in its last step.

    The studio has a process of its own, on this computer only, and ends when the release is returned or the
    call is interrupted. The release is made again here, by the recipe that was chosen, on ``source`` itself:
    its frame is of the same kind.

    Parameters
    ----------
    source : path or frame
        The table.
    browser : bool
        Whether a page is opened in the browser.
    on_address : callable
        Called with the address of the page.

    Raises
    ------
    shoal.errors.InputError
        When the table cannot be read, or the studio ends without a release.
    """
    import_optional("nicegui", "'shoal[studio]'")
    with tempfile.TemporaryDirectory(prefix="shoal-studio-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        process = ChildProcess(
            "shoal.studio.handover",
            str(_write_source(source, folder)),
            name,
            "browser" if browser else "none",
            errors=folder / ERRORS,
        )
        try:
            recipe = _wait_for_recipe(process, folder, on_address)
            return run(replace(recipe, input=None, output=None), source)
        finally:
            process.kill()
            process.wait_for_code()


def _write_source(source: object, folder: Path) -> Path:
    """The file of a table; of a frame, a copy that its owner alone can read."""
    if isinstance(source, str | Path):
        return Path(source).absolute()
    path = folder / "table.parquet"
    write_table(read_table(source).frame, path, private=True)
    return path


def _wait_for_recipe(process: ChildProcess, folder: Path, on_address: Callable[[str], object]) -> Recipe:
    failed = ""
    for told in process.read_messages():
        failed = told.get("error", failed)
        if "address" in told:
            on_address(told["address"])
        if "recipe" in told:
            return Recipe.from_toml(Path(told["recipe"]))
    raise InputError(failed.replace(f"{folder}/", "") or _ENDED)
