"""Simulated attacks on a run, in a process of their own: ``python -m shoal.studio.attacking FOLDER ...``.

The page starts an `AttackRun` and looks at it from time to time. It stays responsive, and can
break the attack off.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shoal.assessment.attacks import attack_held_out
from shoal.assessment.attacks.simulation import attack_tables
from shoal.engines.prepare import known_to_all
from shoal.errors import ShoalError
from shoal.recipes.recipe import Recipe
from shoal.studio.process import ChildProcess
from shoal.studio.worker import RECIPE, ProgressSender, end_with_parent, send_message
from shoal.table import read_table

ATTACK_ERRORS = "attack-errors.txt"
PEOPLE = 1000
HELD_BACK = 0.2


@dataclass(eq=False)
class AttackRun:
    """All attacks on the release of one run."""

    folder: Path
    """Of the run."""
    held_back: float = HELD_BACK
    """Share of the people who are left out of a second release, as control group; 0 attacks the first."""
    people: int = PEOPLE
    """How many of each group are attacked, at most."""
    state: Literal["running", "done", "failed", "cancelled"] = "running"
    doing: str = "starting"
    done: float = 0.0
    error: str = ""
    found: dict[str, Any] = field(default_factory=dict)
    """`Attacks.to_dict`, each attack with its grade, once it is done."""
    _process: ChildProcess | None = field(default=None, repr=False)

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._carry_out, daemon=True).start()

    def _carry_out(self) -> None:
        arguments = (str(self.folder), str(self.held_back), str(self.people))
        errors = self.folder / ATTACK_ERRORS
        if self._is_cancelled():  # and the folder may be gone
            return
        self._process = ChildProcess("shoal.studio.attacking", *arguments, errors=errors)
        # `cancel` may have run since the check above, when there was no process to kill yet.
        if self._is_cancelled():
            self._process.kill()
        for told in self._process.read_messages():
            self._apply_message(told)
        code = self._process.wait_for_code()
        if self.state == "running":
            self.error = self.error or ("" if self.found else f"the attack broke off (exit code {code})")
            self.state = "done" if self.found else "failed"

    def _is_cancelled(self) -> bool:
        return self.state == "cancelled"

    def cancel(self) -> None:
        """Break off."""
        if self.state == "running":
            self.state = "cancelled"
            if self._process is not None:
                self._process.kill()

    def _apply_message(self, told: dict[str, Any]) -> None:
        self.doing, self.done = told.get("doing", self.doing), told.get("done", self.done)
        self.error, self.found = told.get("error", self.error), told.get("found", self.found)


def main() -> None:
    """Attack the run in the folder that is named."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    folder, held_back, people = sys.argv[1:]
    try:
        send_message(found=attack_release(Path(folder), float(held_back), int(people)))
    except ShoalError as error:
        send_message(error=str(error))
        sys.exit(error.exit_code)


def attack_release(folder: Path, held_back: float, people: int) -> dict[str, Any]:
    """Attack the release in a folder, or another one by the same recipe with people held back."""
    recipe, tell = Recipe.from_toml(folder / RECIPE), ProgressSender()
    original = read_table(recipe.input, recipe.reading)
    if held_back:
        found = attack_held_out(recipe, original, held_back, people, recipe.seed, tell)
    else:
        assert recipe.output is not None
        # The worker writes every release as Parquet, too, where no delimiter has to be guessed.
        release = read_table(Path(recipe.output).with_suffix(".parquet"), recipe.reading)
        columns = known_to_all(recipe, original.names, always=True)
        roles = (recipe.quasi, recipe.sensitive)
        found = attack_tables(
            release, original, None, roles, columns, people, recipe.seed, tell, person=recipe.person
        )
    plain = found.to_dict()
    for outcome, each in zip(found.outcomes, plain["attacks"], strict=True):
        each["grade"] = outcome.grade
    return plain


if __name__ == "__main__":
    main()
