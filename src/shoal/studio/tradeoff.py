"""What the goal costs for several sizes of groups: a curve that is rough at once, and exact a little later.

The rough curve is counted in a thread. The exact losses come from a process of their own, ``python -m
shoal.studio.tradeoff FOLDER SIZE ...``, one by one; whatever changes the curve ends it.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import sleep
from typing import Literal

from shoal.assessment.tradeoffs import (
    TradeoffPoint,
    check_curve,
    estimate_losses,
    join_curves,
    list_sizes,
    measure_losses,
    set_size,
    sort_by_use,
)
from shoal.engines.memory import MemoryEngine
from shoal.errors import ShoalError
from shoal.privacy import KAnonymity
from shoal.recipes.recipe import Recipe
from shoal.studio.private import make_folder, write_text
from shoal.studio.process import ChildProcess
from shoal.studio.state import StudioWorkspace
from shoal.studio.worker import ERRORS, RECIPE, end_with_parent, send_message
from shoal.table import Table

_PATIENCE = 1.5  # seconds without a change before the exact losses are begun


@dataclass(eq=False)
class Tradeoff:
    """The curve of one goal without its k."""

    recipe: Recipe
    """With a k that stands for all."""
    sizes: tuple[int, ...]
    chosen: int
    """The k whose exact loss is wanted first."""
    folder: Path
    rough: dict[int, float] = field(default_factory=dict)
    exact: dict[int, float | None] = field(default_factory=dict)
    """None where the goal cannot be met."""
    state: Literal["rough", "exact", "done", "ended"] = "rough"
    """What is being counted; ``ended`` if that was broken off or failed."""
    error: str = ""
    version: int = 0
    """How often something has come."""
    _process: ChildProcess | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def points(self) -> list[TradeoffPoint]:
        """The curve as it is known by now."""
        return join_curves(self.rough, self.exact)

    def start(self, table: Table, tables: Mapping[str, Path]) -> None:
        """Begin; ``tables`` are the files that the recipe names."""
        threading.Thread(target=self._carry_out, args=(table, dict(tables)), daemon=True).start()

    def _carry_out(self, table: Table, tables: Mapping[str, Path]) -> None:
        try:
            self.rough = estimate_losses(self.recipe, table, self.sizes)
        except ShoalError as error:
            self.error, self.state = str(error), "ended"
        self.version += 1
        sleep(_PATIENCE)
        with self._lock:
            if self._is_over():
                return
            process = self._process = self._start_process(tables)
        for told in process.read_messages():
            self.error = told.get("error", self.error)
            if "k" in told:
                self.exact[told["k"]] = told["loss"]
            self.version += 1
        process.wait_for_code()
        if not self._is_over():
            self.state = "done" if len(self.exact) == len(self.sizes) else "ended"
            self.version += 1
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_over(self) -> bool:
        return self.state == "ended"

    def _start_process(self, tables: Mapping[str, Path]) -> ChildProcess:
        self.state = "exact"
        make_folder(self.folder)
        for name, path in tables.items():
            (self.folder / name).symlink_to(path.resolve())
        write_text(self.folder / RECIPE, self.recipe.to_toml())
        order = map(str, sort_by_use(self.sizes, self.chosen))
        return ChildProcess("shoal.studio.tradeoff", str(self.folder), *order, errors=self.folder / ERRORS)

    def cancel(self) -> None:
        """Break off."""
        with self._lock:
            if self.state not in ("done", "ended"):
                self.state = "ended"
                if self._process is not None:
                    self._process.kill()


def renew_tradeoff(workspace: StudioWorkspace) -> Tradeoff:
    """The curve of what is chosen, begun anew if that is not what the last one was about.

    Raises
    ------
    RecipeError
        When there is no curve for what is chosen.
    """
    recipe, source = workspace.build_recipe(), workspace.source
    assert source is not None
    check_curve(recipe)
    chosen = next((model.k for model in recipe.models if isinstance(model, KAnonymity)), 2)
    sizes = tuple(list_sizes(source.rows, chosen))
    plain = replace(recipe, models=set_size(recipe.models, 2), accept={}, strict=False, output=None)
    last = workspace.tradeoff
    if last is not None and (last.recipe, last.sizes) == (plain, sizes):
        return last
    if last is not None:
        last.cancel()
    workspace.curves += 1
    made = Tradeoff(plain, sizes, chosen, workspace.folder / f"curve-{workspace.curves}")
    workspace.tradeoff = made
    made.start(source.table, workspace.list_tables(recipe))
    return made


def main() -> None:
    """Find the exact losses for the sizes that are named, of the recipe in a folder."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    recipe = Recipe.from_toml(Path(sys.argv[1]) / RECIPE)
    try:
        table = MemoryEngine(recipe).read(None)
        for k, loss in measure_losses(recipe, table, map(int, sys.argv[2:])):
            send_message(k=k, loss=loss)
    except ShoalError as error:
        send_message(error=str(error))
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
