"""Runs: each in a process of its own, with what it says and what it made."""

from __future__ import annotations

import json
import signal
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal

from shoal.assessment.usefulness import CODES
from shoal.engines.api import verify
from shoal.errors import RecipeError, ShoalError
from shoal.privacy import Model, move_population
from shoal.recipes.recipe import Recipe
from shoal.report.whole_release import accept_in_page
from shoal.studio.attacking import ATTACK_ERRORS, AttackRun
from shoal.studio.insight import CLASSES, ROWS
from shoal.studio.keys import KEY
from shoal.studio.private import make_folder, write_text
from shoal.studio.process import ChildProcess
from shoal.studio.worker import ERRORS, RECIPE, RELEASE, REPORT, RESULT, TREES
from shoal.support.files import whole_file
from shoal.support.language import current_language
from shoal.support.language import translate as _
from shoal.table import Table, read_table
from shoal.verification.findings import Finding, accept_findings
from shoal.verification.verifier import Verification, may_release_nothing

PACK = f"{RELEASE}.zip"
"""All files of a folder in one."""
TAKEN = {RECIPE, REPORT, RESULT, TREES, ERRORS, ROWS, CLASSES, CODES, ATTACK_ERRORS, KEY, RELEASE, PACK}
"""Names in the folder of a run that no table may have."""

State = Literal["waiting", "running", "done", "failed", "cancelled", "saved"]
"""A saved run came with a project: what it found is known, and its files are not there."""


@dataclass(eq=False)
class Run:
    """One run of a recipe; its files are in a folder of its own."""

    number: int
    recipe: Recipe
    """As it is exported: its input and output are names beside it."""
    folder: Path
    name: str = ""
    """What the user calls it, beside its number."""
    started: datetime = field(default_factory=datetime.now)
    state: State = "waiting"
    doing: str = "waiting"
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
    attack: AttackRun | None = None
    """The last simulated attack on it."""
    verified: dict[str, Verification] = field(default_factory=dict)
    """What an outsider finds in the released files, by their names; empty until they are looked at."""
    unchecked: str = ""
    """Why they could not be looked at; empty if they could, or were not yet."""
    refused: list[dict[str, Any]] = field(default_factory=list)
    """The findings for which nothing was released, if that is why."""
    tables: Mapping[str, Path] = field(default_factory=dict, repr=False)
    """The files that the recipe names, by those names."""
    after: Run | None = field(default=None, repr=False)
    """The run that this one waits for."""
    _process: ChildProcess | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def start(self, tables: Mapping[str, Path]) -> None:
        """Begin once the run before is over; ``tables`` are the files that the recipe names."""
        self.tables = dict(tables)
        threading.Thread(target=self._wait_and_run, daemon=True).start()

    def _wait_and_run(self) -> None:
        # One run at a time: two would compete for memory and cores.
        while self.after is not None and self.after.state in ("waiting", "running"):
            sleep(0.1)
        # `cancel` takes the same lock: a run is cancelled before its process starts, or the
        # process is there to be killed.
        with self._lock:
            if self.state == "cancelled":
                return
            process = self._start_process()
        self._follow_process(process)

    def _start_process(self) -> ChildProcess:
        make_folder(self.folder)
        # Links, so that the run sees the very folder that 'shoal run' of the exported recipe would.
        for name, path in self.tables.items():
            (self.folder / name).symlink_to(path.resolve())
        write_text(self.folder / RECIPE, self.recipe.to_toml())
        self.state, self.doing = "running", "starting"
        self._process = ChildProcess("shoal.studio.worker", str(self.folder), errors=self.folder / ERRORS)
        return self._process

    @property
    def title(self) -> str:
        """Its number, with its name if it has one."""
        return self._add_name(_("Run {number}", number=self.number))

    @property
    def title_within(self) -> str:
        """The same within a sentence."""
        return self._add_name(_("run {number}", number=self.number))

    def _add_name(self, title: str) -> str:
        return f"{title}: {self.name}" if self.name else title

    @property
    def drawn(self) -> dict[str, Any]:
        """What Explore says and draws, in the language of the reader."""
        drawn: dict[str, Any] = self.figures["explore"][current_language()]
        return drawn

    @property
    def is_checked(self) -> bool:
        """Whether every promise was counted in the files, and holds."""
        return bool(self.verified) and all(file.holds for file in self.verified.values())

    @property
    def released_only(self) -> bool:
        """Whether it tells of the release and of nothing else (safepub)."""
        return self.recipe.uses_safepub

    def cancel(self) -> None:
        """Break off, and an attack on it as well."""
        with self._lock:
            if self.state in ("waiting", "running"):
                self.state = "cancelled"
                if self._process is not None:
                    self._process.kill()
        if self.attack is not None:  # which comes once the run is done
            self.attack.cancel()

    def wait_for_exit(self) -> None:
        """Wait until the process writes no more."""
        if self._process is not None:
            self._process.wait_for_exit()

    @property
    def process_id(self) -> int:
        """The process that it runs in."""
        return 0 if self._process is None else self._process.id

    def _list_release_paths(self) -> list[Path]:
        assert self.recipe.output is not None
        release = self.folder / self.recipe.output
        if self.recipe.events:
            return sorted(release.iterdir())
        return list(dict.fromkeys((release, release.with_suffix(".csv"), release.with_suffix(".parquet"))))

    def check_files(self) -> None:
        """Read the released files as an outsider would, and count; say so if that fails. May take long."""
        self.unchecked = ""
        try:
            self.verify_files()
        except ShoalError as error:
            self.unchecked = str(error)

    def verify_files(self) -> None:
        """Read the released files as an outsider would, and count. May take long."""
        # What is accepted may change later, so `findings` looks at it.
        recipe, found = replace(self.recipe, models=self._locate_models(), accept={}), {}
        if recipe.events:
            self._verify_folder(recipe)
            return
        for path in filter(Path.exists, self._list_release_paths()):
            # Detected again: an outsider does not know how the original was written.
            reading = replace(recipe.reading, delimiter=None, encoding=None, sheet=None)
            table = read_table(path, reading, may_be_empty=may_release_nothing(recipe.models))
            # The population is read as the run read it.
            found[path.name] = _verify_file(table, recipe)
        self.verified = found

    def _verify_folder(self, recipe: Recipe) -> None:
        """Join the files of several tables as an outsider would, and count; pack them if all holds."""
        paths = self._list_release_paths()
        found = verify(self.folder / RELEASE, recipe=recipe)
        if found.holds:
            with whole_file(self.folder / PACK, private=True) as stream, zipfile.ZipFile(stream, "w") as pack:
                for path in paths:
                    pack.write(path, f"{RELEASE}/{path.name}", zipfile.ZIP_DEFLATED)
        self.verified = {" and ".join(path.name for path in paths): found}

    def _locate_models(self) -> tuple[Model, ...]:
        return tuple(
            move_population(model, lambda path: str(self.folder / path)) for model in self.recipe.models
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the release as a whole gives away, by the run and by its files, with what was accepted."""
        told = {each["id"]: Finding.from_dict(each) for each in self.report.get("findings", self.refused)}
        # What the run said comes first; a file only adds findings that the run did not have.
        for file in self.verified.values():
            for finding in file.findings:
                told.setdefault(finding.id, finding)
        return accept_findings(list(told.values()), self.recipe.accept)

    def record_decision(self, finding: str, reason: str) -> None:
        """Accept a finding for a reason, or no longer where that is empty; recipe and report say so."""
        others = {name: why for name, why in self.recipe.accept.items() if name != finding}
        self.recipe = replace(self.recipe, accept=others | ({finding: reason} if reason else {}))
        if self.state != "done":  # no files that would have to say so
            return
        # Replaced in one step, since somebody may be downloading it.
        with whole_file(self.folder / RECIPE, private=True) as stream:
            stream.write(self.recipe.to_toml().encode())
        if not self.recipe.events:  # of which there is no page
            accept_in_page(self.folder / REPORT, self.recipe.accept)

    def list_files(self) -> dict[str, Path]:
        """What can be downloaded, by name: nothing before the files are counted, no release that fails."""
        if self.state != "done" or not self.verified:
            return {}
        released = [*self._list_release_paths(), self.folder / PACK] if self.is_checked else []
        made = [*released, self.folder / REPORT, self.folder / RECIPE, self.folder / TREES]
        return {path.name: path for path in made if path.exists()}

    def _follow_process(self, process: ChildProcess) -> None:
        begin, failed = monotonic(), ""
        for told in process.read_messages():
            failed, self.refused = told.get("error", failed), told.get("findings", self.refused)
            self._apply_message(told)
            self.seconds = monotonic() - begin
        code = process.wait_for_code()
        self.seconds = monotonic() - begin
        if self.state == "cancelled":  # a process that was killed has not failed
            return
        if code == 0:
            self._read_result()
        else:
            # The folder of a run is not the user's.
            self.error = failed.replace(f"{self.folder}/", "") or self._explain_crash(code)
            self.state = "failed"

    def _apply_message(self, told: dict[str, Any]) -> None:
        self.doing = told.get("doing", self.doing)
        self.done = told.get("done", self.done)
        best = (told.get("figures") or {}).get("best")
        self.best = self.best if best is None else best

    def _read_result(self) -> None:
        try:
            made = json.loads((self.folder / RESULT).read_text("utf-8"))
        except FileNotFoundError:  # the table was closed in this very moment
            self.state = "cancelled"
            return
        self.report, self.figures = made["report"], made["figures"]
        # The state comes last: a page that sees it reads report and figures at once.
        self.done, self.state = 1.0, "done"

    def _explain_crash(self, code: int) -> str:
        """What to say of a process that ended without a word."""
        if code == -signal.SIGKILL:  # as the system does when memory runs out
            return _(
                "The run was ended from outside, most likely because memory ran out. Close other programs "
                "and run again, or keep the rows on disk on the command line: shoal anonymize --memory 2GB."
            )
        last = (self.folder / ERRORS).read_text("utf-8", errors="replace").strip().splitlines()[-1:]
        why = f" ({last[0]})" if last else _(" (exit code {code})", code=code)
        return _(
            "This is a bug in Shoal{why}. The table and all settings are still here: choose "
            "another algorithm or goal and run again, and please report it with the recipe.",
            why=why,
        )


def _verify_file(table: Table, recipe: Recipe) -> Verification:
    """Count a released file as an outsider would."""
    try:
        return verify(table, recipe=recipe, options=recipe.reading)
    except RecipeError as error:
        # Nobody outside can count people. The run did, in the file that it wrote: what it found stands.
        if recipe.person is None or recipe.pseudonym:
            raise
        return Verification(True, table.rows, 0, 0, (), notes=(str(error),))
