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
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal.hierarchies import Hierarchy

RECIPE, REPORT, RESULT, ERRORS = "recipe.toml", "report.html", "result.json", "errors.txt"
TREES, TREE = "hierarchies.zip", "hierarchy.csv"
_PAUSE = 0.1  # seconds between two lines about the same


def main() -> None:
    """Run the recipe in the folder that is named."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        _carry_out(Path(sys.argv[1]))
    except ShoalError as error:
        say(error=str(error), code=error.exit_code)
        sys.exit(error.exit_code)
    except MemoryError:
        say(error="not enough memory for this table", code=1)
        sys.exit(1)


def _carry_out(folder: Path) -> None:
    from shoal.api import run  # noqa: PLC0415  what is slow to load is loaded once somebody listens
    from shoal.recipe import Recipe  # noqa: PLC0415
    from shoal.studio.figures import figures  # noqa: PLC0415
    from shoal.studio.insight import write_rows  # noqa: PLC0415

    release = run(Recipe.from_toml(folder / RECIPE), on_progress=Teller())
    say(doing="report", done=0.0)
    assert release.recipe.output is not None
    for suffix in (".csv", ".parquet"):
        other = Path(release.recipe.output).with_suffix(suffix)
        if not other.exists():
            release.write(other)
    release.report.to_html(folder / REPORT)
    write_rows(release, folder)
    _write_trees(folder, release.recipe.trees)
    result = {"report": release.report.to_dict(), "figures": figures(release)}
    (folder / RESULT).write_text(json.dumps(result), "utf-8")


def _write_trees(folder: Path, trees: Mapping[str, Hierarchy]) -> None:
    """The hierarchies as files, for the command line and Python."""
    from shoal.equivalent import HIERARCHIES  # noqa: PLC0415
    from shoal.hierarchies import write_hierarchy  # noqa: PLC0415

    if not trees:
        return
    with zipfile.ZipFile(folder / TREES, "w", zipfile.ZIP_DEFLATED) as pack:
        for column, tree in trees.items():
            write_hierarchy(tree, folder / TREE)
            pack.write(folder / TREE, f"{HIERARCHIES}/{column}.csv")


class Teller:
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
        say(doing=str(doing), done=done, figures=None if told is None else asdict(told))


def say(**what: Any) -> None:
    """Tell the studio something."""
    print(json.dumps(what), flush=True)


def end_with_parent() -> None:
    """Standard input ends when the studio does, however that happened."""
    while os.read(0, 4096):  # not sys.stdin, whose lock a process that ends would wait for
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
