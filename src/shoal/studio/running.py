"""Runs: each in a process of its own, with what it says and what it made."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal

from shoal.privacy import Model, read_population, relocated
from shoal.recipe import Recipe
from shoal.run import known_to_all
from shoal.studio.attacking import ATTACK_ERRORS, Attack
from shoal.studio.insight import CLASSES, ROWS
from shoal.studio.process import Process
from shoal.studio.worker import ERRORS, RECIPE, REPORT, RESULT, TREE, TREES
from shoal.table import read
from shoal.verify import Verification, verify_table

TAKEN = {RECIPE, REPORT, RESULT, TREES, TREE, ERRORS, ROWS, CLASSES, ATTACK_ERRORS}
"""Names in the folder of a run that no table may have."""

State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(eq=False)
class Run:
    """One run of a recipe; its files are in a folder of its own."""

    number: int
    recipe: Recipe
    """As it is exported: its input and output are names beside it."""
    folder: Path
    started: datetime = field(default_factory=datetime.now)
    state: State = "waiting"
    doing: str = "waiting for the run before it"
    done: float = 0.0
    best: float | None = None
    """The least loss that the search has found so far."""
    error: str = ""
    """What went wrong, and what to do."""
    seconds: float = 0.0
    report: dict[str, Any] = field(default_factory=dict)
    """`Report.to_dict`, once it is done."""
    figures: dict[str, Any] = field(default_factory=dict)
    """What `shoal.studio.figures` counted, once it is done."""
    attack: Attack | None = None
    """The last simulated attack on it."""
    verified: dict[str, Verification] = field(default_factory=dict)
    """What an outsider finds in the released files, by their names; empty until they are looked at."""
    after: Run | None = field(default=None, repr=False)
    """The run that this one waits for."""
    _process: Process | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def start(self, tables: Mapping[str, Path]) -> None:
        """Begin once the run before is over; ``tables`` are the files that the recipe names."""
        threading.Thread(target=self._begin, args=(dict(tables),), daemon=True).start()

    def _begin(self, tables: Mapping[str, Path]) -> None:
        while self.after is not None and self.after.state in ("waiting", "running"):
            sleep(0.1)
        with self._lock:
            if self.state == "cancelled":
                return
            process = self._spawn(tables)
        self._listen(process)

    def _spawn(self, tables: Mapping[str, Path]) -> Process:
        self.folder.mkdir(parents=True)
        # Links, so that the run sees the very folder that 'shoal run' of the exported recipe would.
        for name, path in tables.items():
            (self.folder / name).symlink_to(path.resolve())
        (self.folder / RECIPE).write_text(self.recipe.to_toml(), "utf-8")
        self.state, self.doing = "running", "starting"
        self._process = Process("shoal.studio.worker", str(self.folder), errors=self.folder / ERRORS)
        return self._process

    def cancel(self) -> None:
        """Break off, and an attack on it as well."""
        with self._lock:
            if self.state in ("waiting", "running"):
                self.state = "cancelled"
                if self._process is not None:
                    self._process.kill()
        if self.attack is not None:  # which comes once the run is done
            self.attack.cancel()

    def gone(self) -> None:
        """Wait until the process writes no more."""
        if self._process is not None:
            self._process.gone()

    @property
    def process_id(self) -> int:
        """The process that it runs in."""
        return 0 if self._process is None else self._process.id

    def _releases(self) -> list[Path]:
        assert self.recipe.output is not None
        release = self.folder / self.recipe.output
        return list(dict.fromkeys((release, release.with_suffix(".csv"), release.with_suffix(".parquet"))))

    def verify(self) -> None:
        """Read the released files as an outsider would, and count. May take long."""
        recipe, found = self.recipe, {}
        for path in filter(Path.exists, self._releases()):
            table = read(path, replace(recipe.reading, delimiter=None, encoding=None))
            known = known_to_all(recipe, table.names)
            people = read_population(self._models(), recipe.quasi, recipe.reading)
            found[path.name] = verify_table(
                table, recipe.quasi, recipe.sensitive, recipe.models, known, people
            )
        self.verified = found

    def _models(self) -> tuple[Model, ...]:
        return tuple(relocated(model, lambda path: str(self.folder / path)) for model in self.recipe.models)

    def files(self) -> dict[str, Path]:
        """What can be downloaded, by name."""
        if self.state != "done":
            return {}
        made = [*self._releases(), self.folder / REPORT, self.folder / RECIPE, self.folder / TREES]
        return {path.name: path for path in made if path.exists()}

    def _listen(self, process: Process) -> None:
        begin, failed = monotonic(), ""
        for told in process.said():
            failed = told.get("error", failed)
            self._hear(told)
            self.seconds = monotonic() - begin
        code = process.exit_code()
        self.seconds = monotonic() - begin
        if self.state == "cancelled":
            return
        if code == 0:
            self._finish()
        else:
            self.error = failed or self._crashed(code)
            self.state = "failed"

    def _hear(self, told: dict[str, Any]) -> None:
        self.doing = told.get("doing", self.doing)
        self.done = told.get("done", self.done)
        best = (told.get("figures") or {}).get("best")
        self.best = self.best if best is None else best

    def _finish(self) -> None:
        made = json.loads((self.folder / RESULT).read_text("utf-8"))
        self.report, self.figures = made["report"], made["figures"]
        self.done, self.state = 1.0, "done"

    def _crashed(self, code: int) -> str:
        """What to say of a process that ended without a word."""
        if code == -signal.SIGKILL:
            return (
                "The run was ended from outside, most likely because memory ran out. Close other programs "
                "and run again, or keep the rows on disk on the command line: shoal anonymize --memory 2GB."
            )
        last = (self.folder / ERRORS).read_text("utf-8", errors="replace").strip().splitlines()[-1:]
        why = f" ({last[0]})" if last else f" (exit code {code})"
        return (
            f"This is a bug in Shoal{why}. The table and all settings are still here: choose another "
            "algorithm or goal and run again, and please report it with the recipe."
        )
