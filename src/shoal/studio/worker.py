"""One run, in a process of its own: ``python -m shoal.studio.worker FOLDER``.

It does what ``shoal run recipe.toml`` does in that folder, and says on standard output, a line of JSON each,
what it is doing. The page that waits for it stays awake, and a run that is broken off leaves nothing behind
but its folder.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import zipfile
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from shoal.assessment.usefulness import write_codes
from shoal.engines.api import run
from shoal.engines.release import Release
from shoal.errors import ShoalError
from shoal.recipes.equivalent import hierarchy_files
from shoal.recipes.recipe import Recipe
from shoal.studio.figures import build_figures
from shoal.studio.insight import write_rows
from shoal.studio.private import close_to_others, write_text
from shoal.table.hierarchies.arx import render_arx

RECIPE, REPORT, RESULT, ERRORS = "recipe.toml", "report.html", "result.json", "errors.txt"
TREES = "hierarchies.zip"
RELEASE = "release"
"""The folder with the files of several tables."""
_PAUSE = 0.1  # seconds between two lines about the same


def main() -> None:
    """Run the recipe in the folder that is named."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    folder = Path(sys.argv[1])
    try:
        _carry_out(folder)
    except ShoalError as error:
        findings = [finding.to_dict() for finding in getattr(error, "findings", ())]
        send_message(error=str(error), code=error.exit_code, findings=findings)
        sys.exit(error.exit_code)
    except MemoryError:
        send_message(error="not enough memory for this table", code=1)
        sys.exit(1)
    finally:
        close_to_others(folder)


def _carry_out(folder: Path) -> None:
    release = run(Recipe.from_toml(folder / RECIPE), on_progress=ProgressSender())
    send_message(doing="report", done=0.0)
    assert release.recipe.output is not None
    figures: dict[str, Any] = {}
    if release.recipe.events:
        close_to_others(folder / RELEASE)
    else:
        _write_views(folder, release)
        figures = build_figures(release)
    _write_trees(folder, release.recipe)
    result = {"report": release.report.to_dict(), "figures": figures}
    write_text(folder / RESULT, json.dumps(result))


def _write_views(folder: Path, release: Release) -> None:
    """What there is of a release of one table only: further formats, the page of the report, its rows."""
    assert release.recipe.output is not None
    for suffix in (".csv", ".parquet"):
        other = Path(release.recipe.output).with_suffix(suffix)
        if not other.exists():
            release.write(other)
    release.report.to_html(folder / REPORT)
    write_rows(release, folder)
    write_codes(release, folder)


def _write_trees(folder: Path, recipe: Recipe) -> None:
    """The hierarchies as files, for the command line and Python."""
    if not recipe.trees:
        return
    with zipfile.ZipFile(folder / TREES, "w", zipfile.ZIP_DEFLATED) as pack:
        for column, path in hierarchy_files(recipe).items():
            pack.writestr(path, render_arx(column, recipe.trees[column]))


class ProgressSender:
    """Passes on what a search says, but not more often than anybody can read."""

    def __init__(self) -> None:
        self._last, self._when = "", 0.0

    def __call__(self, doing: str, done: float) -> None:
        """Pass on what is being done and how much of it is."""
        now = monotonic()
        if str(doing) == self._last and now - self._when < _PAUSE:
            return
        self._last, self._when = str(doing), now
        told = getattr(doing, "figures", None)
        send_message(doing=str(doing), done=done, figures=None if told is None else asdict(told))


def send_message(**what: Any) -> None:
    """Tell the studio something."""
    print(json.dumps(what), flush=True)


def end_with_parent() -> None:
    """Standard input ends when the studio does, however that happened."""
    while os.read(0, 4096):  # not sys.stdin, whose lock a process that ends would wait for
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
